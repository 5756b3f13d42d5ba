"""What rich draws, as plain text: for terminals, pipes and files alike."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

NARROWEST = 40  # columns


def drawn(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """Return the parts as text of ``width`` columns, each line without blanks at its end.

    Args:
        parts: one below the other; texts are taken as they are, without rich's markup. One that
            is not to be wrapped, a command, may be wider.
        width: columns.
        color: whether to write terminal escapes.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
    )
    for part in parts:
        console.print(part, crop=False)  # what may not be wrapped stays whole
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())
