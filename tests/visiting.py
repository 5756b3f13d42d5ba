"""Pages in a real browser that is cut off from every network."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("KPROF_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")  # fmt: skip
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
CONTRAST = 4.5  # WCAG AA for text

MEASURE = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let up = element; up; up = up.parentElement) {
      const colour = rgb(getComputedStyle(up).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest('svg, script, style, .visually-hidden')) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < LIMIT) low.push(`${element.className || element.tagName} ${ratio.toFixed(2)}`);
  }
  return [...new Set(low)];
}""".replace("LIMIT", str(CONTRAST))


class Visit:
    """An open page, what it asked the network for and what it complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.route(re.compile(r"^(?!file:)"), lambda route: route.abort())

    def _hear(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def drawn(self) -> Any:
        self.page.wait_for_selector(".plot .scatterlayer .trace")
        return self.page

    def quiet(self) -> bool:
        return not self.complaints and all(url.startswith("file:") for url in self.requests)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser."""
    from playwright import sync_api

    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visitor:
    """Opens pages by name, each in a context of its own, and closes them all."""

    def __init__(self, browser: Any, files: dict[str, Path]) -> None:
        self.browser = browser
        self.files = files
        self.contexts: list[Any] = []

    def __call__(
        self,
        name: str = "full",
        *,
        width: int = 1280,
        scheme: str = "light",
        script: bool = True,
        fragment: str = "",
    ) -> Visit:
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=script,
        )
        context.set_default_timeout(15_000)
        self.contexts.append(context)
        visit = Visit(context.new_page())
        visit.page.goto(self.files[name].as_uri() + fragment)
        return visit

    def leave(self) -> None:
        """Close every page."""
        for context in self.contexts:
            context.close()
