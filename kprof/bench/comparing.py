"""Is a result the reference's, element by element? Runs in the worker."""

from __future__ import annotations

import math
from typing import Any

from kprof.bench.api import TOLERANCE
from kprof.bench.nested import is_tensor


def compared(torch: Any, got: Any, wanted: Any, tolerance: float | None) -> dict[str, Any]:
    """Compare a result with the reference's, element by element."""
    if not is_tensor(got):
        return wrong(f"it returned {type(got).__name__}, not a tensor")
    if got.shape != wanted.shape:
        return wrong(f"its result is {_sizes(got)}, the reference's {_sizes(wanted)}")
    allowed = _allowed(got) if tolerance is None else tolerance
    if got.is_complex() or wanted.is_complex():
        got, wanted = (torch.view_as_real(each.to(torch.complex128)) for each in (got, wanted))
    got, wanted, error = _differences(got, wanted)
    size = wanted.abs()
    # Equal infinities have no difference, and a NaN that the reference has too is right.
    same = (error == 0) | (got == wanted) & error.isnan() | (got.isnan() & wanted.isnan())
    error = torch.where(same, torch.zeros_like(error), error)
    # Nothing is nearly infinite: what is tolerated would be infinite too.
    near = wanted.isfinite() & (error <= allowed + allowed * size)
    bad = ~(same | near)
    result = {
        "status": "ok",
        "tolerance": allowed,
        "max_abs_error": _largest(error),
        # Where the reference is smaller than what is tolerated, the absolute error counts.
        "max_rel_error": _largest(error / size.clamp(min=max(allowed, 1e-300))),
    }
    count = int(bad.sum())
    return result if not count else result | wrong(_first(torch, got, wanted, bad, count))


def worse(right: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return both outcomes as one: the other if it is wrong, else the larger errors."""
    if not right or other["status"] != "ok":
        return other
    keys = ("max_abs_error", "max_rel_error")
    larger = {key: max(right[key] or 0.0, other[key] or 0.0) for key in keys}
    return {**right, **larger}


def wrong(message: str) -> dict[str, Any]:
    """Return the outcome of a wrong result."""
    return {"status": "wrong", "message": message}


def unchanged(torch: Any, now: Any, before: Any) -> bool:
    """Say whether a tensor is what it was, to the last bit: NaN and every type included."""
    if (now.shape, now.dtype) != (before.shape, before.dtype):
        return False
    return bool(torch.equal(_bytes(torch, now), _bytes(torch, before)))


def _bytes(torch: Any, value: Any) -> Any:
    plain = value.detach()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_quantized:
        plain = plain.int_repr()
    # Conjugates and negatives may be marks on the same memory.
    plain = plain.resolve_conj().resolve_neg()
    return plain.contiguous().reshape(-1).view(torch.uint8)


def _differences(got: Any, wanted: Any) -> tuple[Any, Any, Any]:
    """Return both in float64, and how far they are apart: of integers to the last digit."""
    if got.is_floating_point() or wanted.is_floating_point():
        got, wanted = got.double(), wanted.double()
        return got, wanted, (got - wanted).abs()
    return got.double(), wanted.double(), (got.long() - wanted.long()).double().abs()


def _first(torch: Any, got: Any, wanted: Any, bad: Any, count: int) -> str:
    flat = int(bad.flatten().to(torch.uint8).argmax())
    one, other = float(got.flatten()[flat]), float(wanted.flatten()[flat])
    unwritten = int((bad & got.isnan()).sum())
    said = f"{count:,} of {bad.numel():,} elements are wrong"
    if unwritten:
        return f"{said}; {unwritten:,} are NaN: not written, or from outside the inputs"
    return (
        f"{said}; the first, {_place(flat, tuple(bad.shape))}, is {one:.7g} instead of {other:.7g}"
    )


def _place(flat: int, sizes: tuple[int, ...]) -> str:
    place = []
    for size in reversed(sizes):
        flat, at = divmod(flat, size)
        place.append(at)
    return str(list(reversed(place)))


def _allowed(got: Any) -> float:
    kind = got.real.dtype if got.is_complex() else got.dtype
    return TOLERANCE.get(str(kind).removeprefix("torch."), 0.0)


def _largest(values: Any) -> float | None:
    # JSON has no NaN; what has no largest error has wrong elements, which are told.
    largest = float(values.max()) if values.numel() else 0.0
    return largest if math.isfinite(largest) else None


def _sizes(value: Any) -> str:
    return "x".join(map(str, value.shape)) or "a scalar"
