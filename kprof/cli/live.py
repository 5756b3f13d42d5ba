"""Progress while ncu runs, on standard error: never on the target's standard output."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from kprof.collect.progress import Event

if TYPE_CHECKING:
    from rich.text import Text

# Every kernel gets a line until there are this many; then a line now and then.
EACH = 20
_EVERY_S = 10.0
_NAME_WIDTH = 60


@dataclass(slots=True)
class Progress:
    """What has been measured so far, and how it is told."""

    say: Callable[[str], None]
    verbose: bool = False
    each: int = EACH
    finished: int = 0
    running: str | None = None
    began: float = field(default_factory=time.monotonic)
    kernel_began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)

    def __call__(self, event: Event) -> None:
        """Take in one event of ncu's log."""
        now = time.monotonic()
        if event.kind == "started":
            self.running, self.kernel_began = event.text, now
        elif event.kind == "finished":
            self.running = None
            self.finished += 1
            self._tell_kernel(event, now)
        elif self.verbose:
            self.say(f"ncu {event.kind}: {event.text}")

    def _tell_kernel(self, event: Event, now: float) -> None:
        if self.finished <= self.each or self.verbose or now - self.told >= _EVERY_S:
            self.told = now
            took = f"{now - self.kernel_began:.1f} s"
            self.say(
                f"  kernel {self.finished}: {_clip(event.text)}: "
                f"{_passes(event.passes)} in {took}, {now - self.began:.0f} s so far"
            )

    def status(self) -> Text:
        """Return the line that moves."""
        from rich.text import Text

        now = time.monotonic()
        what = (
            f"measuring {_clip(self.running)} for {now - self.kernel_began:.0f} s"
            if self.running
            else "waiting for the next kernel"
        )
        count = f"{self.finished} kernel{'' if self.finished == 1 else 's'}"
        return Text(f"{count} in {now - self.began:.0f} s, {what}", style="dim", no_wrap=True)


@contextlib.contextmanager
def progress(
    *, quiet: bool, verbose: bool, color: bool, each: int = EACH
) -> Iterator[Callable[[Event], None]]:
    """Show progress: a moving line on a terminal, plain lines in a pipe, nothing when quiet.

    Args:
        quiet: show nothing.
        verbose: every kernel, and ncu's own messages.
        color: whether the moving line may be colored.
        each: kernels that get a line of their own; then there is one now and then.
    """
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield Progress(lambda line: click.echo(line, err=True), verbose, each)
    else:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, no_color=not color, highlight=False, markup=False)
        shown = Progress(console.print, verbose, each)
        # The target writes to the same terminal by itself: its streams are not redirected.
        with Live(
            console=console,
            get_renderable=shown.status,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield shown


def _passes(count: int | None) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


def _clip(name: str) -> str:
    # ncu shortens names itself; nothing in one may steer the terminal.
    clean = "".join(char if char.isprintable() else "?" for char in name)
    return clean if len(clean) <= _NAME_WIDTH else clean[: _NAME_WIDTH - 1] + "…"
