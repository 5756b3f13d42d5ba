"use strict";
// Light and dark, and the mark that scripts run here. Who draws by hand listens for kprof-theme.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const remembered = () => { try { return localStorage.getItem("kprof-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const nameIt = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const changed = () => { nameIt(); dispatchEvent(new Event("kprof-theme")); };
  const saved = remembered();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  nameIt();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("kprof-theme", root.dataset.theme); } catch { /* a file: page may not store */ }
    changed();
  });
  system.addEventListener("change", changed);
})();
