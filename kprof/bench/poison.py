"""Memory that shows when nobody wrote it. Runs in the worker.

A variant that allocates its result gets memory that was used before, perhaps by a right result.
An allocator gives what was freed last or fits best; both were just filled here, whatever the type
of the result. It is no certainty: memory fresh from the system is all zeros, and the C library
takes blocks of less than some kilobytes from elsewhere.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

_SIZES = (8, 4, 2, 1)  # bytes per element that a result may have, whatever the reference has
_BLOCKS = 3  # of each size: a variant may allocate others before its result
NAN = 0xFF  # in every byte it is NaN, in every floating-point type
_ODD = 0x7E  # 126 in int8; huge in every longer type, of floating point too


def spoil(wanted: Any, further: Iterable[int] = ()) -> None:
    """Leave marks in the memory that a result allocated next is likely to get.

    Args:
        wanted: the reference's result, whose shape the result will have.
        further: bytes of results that are known to be allocated.
    """
    torch = sys.modules["torch"]
    sizes = (16, *_SIZES) if wanted.is_complex() else _SIZES
    counts = dict.fromkeys([*(wanted.numel() * size for size in sizes), *further])
    mark = mark_for(wanted, wanted)
    # All together reach further blocks; one size after the other finds each time the memory that
    # the variant will find.
    held = [_filled(torch, count, mark, wanted.device) for count in counts]
    del held
    for count in counts:
        _filled(torch, count, mark, wanted.device)


def allocated(result: Any) -> list[int]:
    """Return the bytes of memory that a result lies in; none where it has no plain memory."""
    # Sparse, quantized and other tensors answer with whichever of these; then sizes are guessed.
    with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError):
        return [int(result.untyped_storage().nbytes())]
    return []


def _filled(torch: Any, count: int, mark: int, device: Any) -> list[Any]:
    try:
        return [
            torch.full((count,), mark, dtype=torch.uint8, device=device) for _ in range(_BLOCKS)
        ]
    except RuntimeError:  # what does not fit here does not fit for a variant either
        return []


def mark_for(result: Any, wanted: Any) -> int:
    """Return a byte that is wrong wherever it is left in a result of this one's type."""
    if result.is_floating_point() or result.is_complex():
        return NAN
    if result.dtype == sys.modules["torch"].bool:  # the rarer value
        return int(2 * int((wanted != 0).sum()) < wanted.numel())
    return _ODD
