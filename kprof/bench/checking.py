"""Are the variants right? Runs in the worker.

Every check has fresh random inputs. Outputs are full of NaN beforehand, so that an element nobody
writes shows, and both sides of inputs and outputs are guarded: a read outside brings NaN in, a
write outside leaves a trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kprof.bench.api import DefinitionError, Shape, Suite
from kprof.bench.comparing import compared, unchanged, worse, wrong
from kprof.bench.nested import is_tensor, mapped, tensors
from kprof.bench.poison import NAN, allocated, mark_for, spoil
from kprof.bench.units import Unit

# Elements on each side of a guarded tensor. A multiple of 256 bytes for every type, so that what
# is aligned stays so.
_GUARD = 256
_MARK = 77  # on both sides of an output
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
        places: list[int] = []
        try:
            for inputs, wanted in cases:
                result = worse(result, self._checked(unit, inputs, wanted, places))
                if result["status"] == "wrong":  # whatever it would do next
                    return result
        except NotImplementedError as error:
            return {"status": "unsupported", "message": str(error).split("\n")[0] or None}
        except Exception as error:  # noqa: BLE001 - whatever a user's code raises
            survives(error)
            return {"status": "failed", "message": said(error)}
        return result

    def _checked(
        self, unit: Unit, inputs: tuple[Any, ...], wanted: Any, places: list[int]
    ) -> dict[str, Any]:
        """Run once; ``places`` are the bytes of its results' memory, as far as they are known."""
        torch = _torch()
        guarded = mapped(with_nan_around, inputs)
        before = [value.clone() for value in tensors(guarded)]
        out, sides = self._place(unit, guarded, wanted)
        spoil(wanted, places)
        got = unit.bound(guarded, out)()
        synchronize(torch, self._device)
        places += allocated(got)
        found = compared(torch, got, wanted, self._tolerance())
        return found | _trespasses(torch, guarded, before, sides)

    def _tolerance(self) -> float | None:
        asked: float | None = self._orders["tolerance"]
        return self._suite.tolerance if asked is None else asked

    def _place(
        self, unit: Unit, inputs: tuple[Any, ...], wanted: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        if not unit.variant.takes_out:
            return None, ()
        if self._suite.output is None:
            raise TypeError("it takes out, but no function is marked with @bench.output")
        return _marked(self._suite.output(*inputs), wanted)


def fresh(suite: Suite, device: Any, shape: Shape, seed: int) -> tuple[Any, ...]:
    """Return inputs made from a seed.

    Raises:
        DefinitionError: the shape has an option that making them did not read: misspelt, it would
            be the default that is measured.
    """
    torch = _torch()
    assert suite.inputs is not None  # noqa: S101 - Suite.check()
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    options = _Options(shape.options)
    made = suite.inputs(replace(shape, options=options), generator)
    options.refuse_unread()
    return tuple(made) if isinstance(made, tuple | list) else (made,)


class _Options(Mapping[str, int]):
    """A shape's options, and which of them were asked for."""

    def __init__(self, given: Mapping[str, int]) -> None:
        self._given = given
        self._asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> int:
        self._asked[name] = None
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        self._asked.update(dict.fromkeys(self._given))
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def refuse_unread(self) -> None:
        unread = [name for name in self._given if name not in self._asked]
        if unread:
            known = f"its inputs read {', '.join(self._asked)}" if self._asked else "there is none"
            raise DefinitionError(f"no option of a shape is named {unread[0]}; {known}")


def expected(suite: Suite, inputs: tuple[Any, ...]) -> Any:
    """Return the reference's result."""
    assert suite.reference is not None  # noqa: S101 - Suite.check()
    # Copies: it may work in place, and must not reach what the variants get.
    own = mapped(_in_double if suite.reference_in_double else _copied, inputs)
    wanted = suite.reference(*own)
    if not is_tensor(wanted):
        raise TypeError(f"the reference returned {type(wanted).__name__}, not a tensor")
    return wanted.detach().clone()  # it may give the same memory every time


def with_nan_around(value: Any) -> Any:
    """Return a copy of an input with NaN before and after it in memory, where its type has NaN."""
    if not (value.is_contiguous() and value.is_floating_point()):
        return value.clone()
    flat = value.new_full((value.numel() + 2 * _GUARD,), float("nan"))
    inside = flat[_GUARD : _GUARD + value.numel()].view(value.shape)
    inside.copy_(value)
    return inside


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


def _marked(out: Any, wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an output that is wrong everywhere, and the marked memory before and after it."""
    mark = mark_for(out, wanted)
    if not out.is_contiguous():
        return out.fill_(float("nan") if mark == NAN else mark), ()
    flat = out.new_full((out.numel() + 2 * _GUARD,), _MARK)
    inside = flat[_GUARD : _GUARD + out.numel()]
    inside.view(_torch().uint8).fill_(mark)
    return inside.view(out.shape), (flat[:_GUARD], flat[_GUARD + out.numel() :])


def _trespasses(
    torch: Any, inputs: tuple[Any, ...], before: list[Any], sides: tuple[Any, ...]
) -> dict[str, Any]:
    # Compared as it was written: a type may hold something else than the number.
    if not all(unchanged(torch, side, torch.full_like(side, _MARK)) for side in sides):
        return wrong("it wrote outside its output")
    now = list(tensors(inputs))
    if len(now) != len(before) or not all(
        unchanged(torch, one, other) for one, other in zip(now, before, strict=True)
    ):
        return wrong("it changed its inputs")
    return {}


def _copied(value: Any) -> Any:
    return value.clone()


def _in_double(value: Any) -> Any:
    kind = _torch().complex128 if value.is_complex() else _torch().float64
    real = value.is_complex() or value.is_floating_point()
    return value.to(kind, copy=True) if real else value.clone()


def said(error: BaseException) -> str:
    """Return what went wrong in a user's code, and where."""
    from kprof.bench.api import current
    from kprof.bench.worker import explained

    return explained(error, current.file)


def _torch() -> Any:
    return sys.modules["torch"]
