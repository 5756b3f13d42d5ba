"use strict";
// Copy buttons beside what is meant to be copied; without scripts the text can be selected.
(() => {
  const copied = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { return false; }
  };
  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  document.querySelectorAll("button[data-copy]").forEach((button) => {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      const done = await copied(source.textContent);
      if (!done) select(source);
      button.textContent = done ? "Copied" : "Selected: press Ctrl-C";
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  });
  // Paper cannot unfold.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
})();
