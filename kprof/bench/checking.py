"""Are the variants right? Runs in the worker.

Every check has fresh random inputs. Outputs are full of NaN beforehand, so that an element nobody
writes shows, and both sides of inputs and outputs are guarded: a read outside brings NaN in, a
write outside leaves a trace.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from kprof.bench.api import TOLERANCE, Shape, Suite
from kprof.bench.units import Unit

# Elements on each side of a guarded tensor. A multiple of 256 bytes for every type, so that what
# is aligned stays so.
_GUARD = 256
_MARK = 77  # on both sides of an output; every type holds it exactly
_FRESH = 2  # inputs per shape


class Checker:
    """Checks every unit on every shape that was ordered."""

    def __init__(
        self, suite: Suite, device: Any, orders: Mapping[str, Any], tell: Callable[..., None]
    ) -> None:
        self._suite, self._device, self._orders, self._tell = suite, device, orders, tell

    def all(self, units: Mapping[str, Unit]) -> None:
        """Check in the order that was given, all units of a shape on the same inputs."""
        for text, labels in self._orders["checks"]:
            if labels:
                self._shape(text, [units[label] for label in labels])

    def _shape(self, text: str, units: list[Unit]) -> None:
        self._tell("begin", step="reference", shape=text)
        try:
            cases = [self._case(Shape.parse(text), trial) for trial in range(_FRESH)]
        except Exception as error:  # noqa: BLE001 - whatever a user's code raises
            survives(error)
            message = said(error)
            self._tell("no-reference", shape=text, message=message)
            return
        for unit in units:
            self._tell("begin", step="check", unit=unit.label, shape=text)
            self._tell("checked", unit=unit.label, shape=text, **self._outcome(unit, cases))

    def _case(self, shape: Shape, trial: int) -> tuple[tuple[Any, ...], Any]:
        inputs = fresh(self._suite, self._device, shape, self._orders["seed"] + trial)
        return inputs, expected(self._suite, inputs)

    def _outcome(self, unit: Unit, cases: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        try:
            for inputs, wanted in cases:
                result = worse(result, self._checked(unit, inputs, wanted))
        except NotImplementedError as error:
            return {"status": "unsupported", "message": str(error).split("\n")[0] or None}
        except Exception as error:  # noqa: BLE001 - whatever a user's code raises
            survives(error)
            return {"status": "failed", "message": said(error)}
        return result

    def _checked(self, unit: Unit, inputs: tuple[Any, ...], wanted: Any) -> dict[str, Any]:
        torch = _torch()
        guarded = tuple(map(with_nan_around, inputs))
        before = [value.clone() if is_tensor(value) else value for value in guarded]
        out, sides = self._place(unit, guarded)
        spoil(wanted)
        got = unit.bound(guarded, out)()
        synchronize(torch, self._device)
        found = compared(torch, got, wanted, self._orders["tolerance"] or self._suite.tolerance)
        return found | _trespasses(torch, guarded, before, sides)

    def _place(self, unit: Unit, inputs: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        if not unit.variant.takes_out:
            return None, ()
        if self._suite.output is None:
            raise TypeError("it takes out, but no function is marked with @bench.output")
        return _marked(self._suite.output(*inputs))


def fresh(suite: Suite, device: Any, shape: Shape, seed: int) -> tuple[Any, ...]:
    """Return inputs made from a seed."""
    torch = _torch()
    assert suite.inputs is not None  # noqa: S101 - Suite.check()
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    made = suite.inputs(shape, generator)
    return tuple(made) if isinstance(made, tuple | list) else (made,)


def expected(suite: Suite, inputs: tuple[Any, ...]) -> Any:
    """Return the reference's result."""
    assert suite.reference is not None  # noqa: S101 - Suite.check()
    double = [_in_double(value) if suite.reference_in_double else value for value in inputs]
    wanted = suite.reference(*double)
    if not is_tensor(wanted):
        raise TypeError(f"the reference returned {type(wanted).__name__}, not a tensor")
    return wanted


def compared(torch: Any, got: Any, wanted: Any, tolerance: float | None) -> dict[str, Any]:
    """Compare a result with the reference's, element by element."""
    if not is_tensor(got):
        return _wrong(f"it returned {type(got).__name__}, not a tensor")
    if got.shape != wanted.shape:
        return _wrong(f"its result is {_sizes(got)}, the reference's {_sizes(wanted)}")
    allowed = _allowed(got) if tolerance is None else tolerance
    if got.is_complex() or wanted.is_complex():
        got, wanted = (torch.view_as_real(each.to(torch.complex128)) for each in (got, wanted))
    got, wanted, error = _differences(got, wanted)
    size = wanted.abs()
    # Equal infinities have no difference, and a NaN that the reference has too is right.
    same = (error == 0) | (got == wanted) & error.isnan() | (got.isnan() & wanted.isnan())
    error = torch.where(same, torch.zeros_like(error), error)
    bad = ~(same | (error <= allowed + allowed * size))
    result = {
        "status": "ok",
        "tolerance": allowed,
        "max_abs_error": _largest(error),
        # Where the reference is smaller than what is tolerated, the absolute error counts.
        "max_rel_error": _largest(error / size.clamp(min=max(allowed, 1e-300))),
    }
    count = int(bad.sum())
    return result if not count else result | _wrong(_first(torch, got, wanted, bad, count))


def _differences(got: Any, wanted: Any) -> tuple[Any, Any, Any]:
    """Return both in float64, and how far they are apart: of integers to the last digit."""
    if got.is_floating_point() or wanted.is_floating_point():
        got, wanted = got.double(), wanted.double()
        return got, wanted, (got - wanted).abs()
    return got.double(), wanted.double(), (got.long() - wanted.long()).double().abs()


def worse(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return both outcomes as one: the wrong one, else the larger errors."""
    if not one or other["status"] != "ok":
        return {**one, **other}
    if one["status"] != "ok":
        return one
    keys = ("max_abs_error", "max_rel_error")
    larger = {key: max(one[key] or 0.0, other[key] or 0.0) for key in keys}
    return {**one, **larger}


def with_nan_around(value: Any) -> Any:
    """Return a copy of an input with NaN before and after it in memory, where its type has NaN."""
    if not is_tensor(value):
        return value
    if not (value.is_contiguous() and value.is_floating_point()):
        return value.clone()
    flat = value.new_full((value.numel() + 2 * _GUARD,), float("nan"))
    inside = flat[_GUARD : _GUARD + value.numel()].view(value.shape)
    inside.copy_(value)
    return inside


def spoil(wanted: Any) -> None:
    """Leave NaN in the memory that a result allocated next is likely to get."""
    torch = _torch()
    if is_tensor(wanted):
        kinds = (torch.float32, torch.float16)
        left = [
            torch.full(wanted.shape, float("nan"), dtype=k, device=wanted.device) for k in kinds
        ]
        del left


def survives(error: BaseException) -> None:
    """Raise :class:`~kprof.bench.worker.Lost` when the GPU's context died of an error."""
    from kprof.bench.worker import Lost

    torch = _torch()
    if not torch.cuda.is_available():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        raise Lost(said(error)) from error


def synchronize(torch: Any, device: Any) -> None:
    """Wait for everything that was started."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def is_tensor(value: Any) -> bool:
    """Say whether a value is one of torch's tensors."""
    return isinstance(value, _torch().Tensor)


def _marked(out: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an output full of NaN, and the marked memory before and after it."""
    poison = float("nan") if out.is_floating_point() else -_MARK
    if not out.is_contiguous():
        return out.fill_(poison), ()
    flat = out.new_full((out.numel() + 2 * _GUARD,), _MARK)
    inside = flat[_GUARD : _GUARD + out.numel()].view(out.shape)
    inside.fill_(poison)
    return inside, (flat[:_GUARD], flat[_GUARD + out.numel() :])


def _trespasses(
    torch: Any, inputs: tuple[Any, ...], before: list[Any], sides: tuple[Any, ...]
) -> dict[str, Any]:
    if any(bool((side != _MARK).any()) for side in sides):
        return _wrong("it wrote outside its output")
    pairs = zip(inputs, before, strict=True)
    if any(is_tensor(now) and not _same(torch, now, was) for now, was in pairs):
        return _wrong("it changed its inputs")
    return {}


def _same(torch: Any, one: Any, other: Any) -> bool:
    equal = one == other
    return bool((equal | (one.isnan() & other.isnan()) if one.is_floating_point() else equal).all())


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


def _wrong(message: str) -> dict[str, Any]:
    return {"status": "wrong", "message": message}


def _in_double(value: Any) -> Any:
    if not is_tensor(value):
        return value
    if value.is_complex():
        return value.to(_torch().complex128)
    return value.double() if value.is_floating_point() else value


def _sizes(value: Any) -> str:
    return "x".join(map(str, value.shape)) or "a scalar"


def said(error: BaseException) -> str:
    """Return what went wrong in a user's code, and where."""
    from kprof.bench.api import current
    from kprof.bench.worker import explained

    return explained(error, current.file)


def _torch() -> Any:
    return sys.modules["torch"]
