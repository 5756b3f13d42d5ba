"""Which of the lines that inlined code belongs to somebody can change: none of the toolkit's."""

from __future__ import annotations

import re

from kprof.model import Place, Spot

# Where CUDA's headers are installed: by NVIDIA's packages, by pip, and by the HPC SDK.
_TOOLKIT = re.compile(
    r"/cuda(?:-[0-9.]+)?/include/|-linux/include/|/site-packages/nvidia/|/hpc_sdk/"
    r"|NVIDIA GPU Computing Toolkit|^/usr/include/",
    re.IGNORECASE,
)


def own(place: Place) -> Spot | None:
    """Return the innermost line of a place that is not in a header of CUDA's.

    The place's own line where the report does not tell what it was inlined into, or where all of
    it is the toolkit's; None without line information.
    """
    if not place.file or not place.line:
        return None
    # Not further in than the report's own line: that one would be credited with more than it cost.
    here = Spot(place.file, place.line)
    around = place.chain[place.chain.index(here) :] if here in place.chain else (here,)
    return next((spot for spot in around if not _TOOLKIT.search(spot.file)), here)


def named(place: Place, *, path: bool = False) -> str:
    """Name a place by file and line, the line that can be changed first: ``a.cu:3 (mma.hpp:634)``.

    Empty without line information.

    Args:
        place: what is named.
        path: give the line that can be changed with its file's whole path.
    """
    spot = own(place)
    if spot is None:
        return ""
    inner = f"{_short(str(place.file))}:{place.line}"
    outer = f"{_short(spot.file)}:{spot.line}"
    shown = f"{spot.file}:{spot.line}" if path else outer
    return shown if outer == inner else f"{shown} ({inner})"


def _short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]
