"""What a bench file says: the variants of one operator, its reference, its inputs and its cost.

A bench file is ordinary Python that ``kprof bench FILE`` runs in the target's interpreter::

    import torch
    from kprof import bench

    library = bench.cuda("add.cu")  # compiled by kprof, called through ctypes
    bench.shapes("1048576", "16777216")

    @bench.inputs
    def inputs(shape, generator):
        return tuple(torch.rand(*shape, device=generator.device, generator=generator) for _ in "ab")

    @bench.output
    def output(a, b):
        return torch.empty_like(a)

    @bench.cost
    def cost(a, b):
        return bench.Cost(bytes=12 * a.numel(), flops=a.numel())

    @bench.reference
    def reference(a, b):  # gets its floating-point inputs in float64
        return a + b

    @bench.variant
    def torch_add(a, b, out):
        return torch.add(a, b, out=out)

    @bench.variant(block=(128, 256))  # one run for every value
    def simple(a, b, out, block):
        library.add_simple(a, b, out, a.numel(), block)

Standard library alone: this runs where kprof's own dependencies may not be.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from kprof.bench.launchers import Library

__all__ = [
    "Cost",
    "DefinitionError",
    "Shape",
    "Suite",
    "Variant",
    "check_shapes",
    "cost",
    "cuda",
    "inputs",
    "output",
    "reference",
    "shapes",
    "tolerance",
    "variant",
]

Function = TypeVar("Function", bound=Callable[..., Any])
# Digits that C's long long holds, as launchers get them; Python itself refuses 4,301 of them.
_NUMBER = r"\d{1,18}"
_SHAPE = re.compile(rf"{_NUMBER}(?:[x×]{_NUMBER})*(?:,[A-Za-z_]\w*=-?{_NUMBER})*")
_RESERVED = "[](),"  # they set parameters apart, and the names that kprof gives
_MAX_SIZE = 2**40  # elements: a shape of more is a slip of the finger
# Relative and absolute error that a result may have, by type; integers must be equal. Single
# precision is kprof's promise (docs/bench.md), the others follow from their shorter mantissa.
TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2, "bfloat16": 3e-2}


class DefinitionError(Exception):
    """A bench file that says too little, twice the same or something that cannot be."""


@dataclass(frozen=True)
class Shape:
    """What a variant works on: sizes, and the operator's own whole-number options.

    Written ``1x64x128x128`` or ``1x12x128x128,kernel=5,stride=2``. It iterates and indexes as its
    sizes do.

    Attributes:
        sizes: each at least 1.
        options: what the bench file reads with :meth:`get`.
    """

    sizes: tuple[int, ...]
    options: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Understand a shape as it is written.

        Raises:
            DefinitionError: it is none.
        """
        words = "".join(text.split())
        if not _SHAPE.fullmatch(words):
            raise DefinitionError(f"{text!r} is no shape; write 1x64x128x128 or 4096,kernel=5")
        first, *rest = words.split(",")
        sizes = tuple(int(size) for size in re.split("[x×]", first))
        pairs = (word.split("=") for word in rest)
        total = 1
        for size in sizes:
            total *= size
        if not 0 < total <= _MAX_SIZE:
            raise DefinitionError(f"{text!r} has {total} elements; 1 to 2^40 are possible")
        return cls(sizes, {name: int(value) for name, value in pairs})

    def get(self, name: str, default: int) -> int:
        """Return an option, or the default where the shape does not name it."""
        return self.options.get(name, default)

    def __getitem__(self, place: int) -> int:
        return self.sizes[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __str__(self) -> str:
        options = "".join(f",{name}={value}" for name, value in self.options.items())
        return "x".join(map(str, self.sizes)) + options


@dataclass(frozen=True)
class Cost:
    """What the operator must do at least, whatever the algorithm: it sets the roof.

    Attributes:
        bytes: to read every input once and write every output once.
        flops: operations; adds and multiplies 1, FMA 2. None where they do not matter.
        precision: ``fp32`` or ``fp64``: of the operations, for the roof.

    Raises:
        DefinitionError: a number is none that something can cost.
    """

    bytes: float
    flops: float | None = None
    precision: str = "fp32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", _amount("bytes", self.bytes))
        if self.flops is not None:
            object.__setattr__(self, "flops", _amount("flops", self.flops))
        if not isinstance(self.precision, str):
            raise DefinitionError(f"cost: precision={self.precision!r:.60} is no name like 'fp32'")


@dataclass(frozen=True)
class Variant:
    """One way to compute the operator.

    Attributes:
        name: as ``--variants`` takes it.
        function: called with the inputs, ``out`` if it has such a parameter, and its parameters.
        parameters: values to try for each; every combination is run.
        takes_out: whether the function writes into ``out`` rather than returning its result.
    """

    name: str
    function: Callable[..., Any]
    parameters: Mapping[str, tuple[Any, ...]]
    takes_out: bool

    def settings(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the parameters; one empty one without any."""
        for values in itertools.product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))


@dataclass
class Suite:
    """Everything that a bench file said."""

    file: str = ""
    variants: dict[str, Variant] = field(default_factory=dict)
    inputs: Callable[..., Any] | None = None
    output: Callable[..., Any] | None = None
    cost: Callable[..., Cost] | None = None
    reference: Callable[..., Any] | None = None
    reference_in_double: bool = True
    shapes: tuple[Shape, ...] = ()
    check_shapes: tuple[Shape, ...] = ()
    tolerance: float | None = None
    libraries: list[Library] = field(default_factory=list)

    def check(self) -> None:
        """Raise :class:`DefinitionError` for what no run can do without."""
        if not self.variants:
            raise DefinitionError("it marks no variant; put @bench.variant above a function")
        if self.inputs is None:
            raise DefinitionError("it makes no inputs; put @bench.inputs above a function")
        if self.reference is None:
            raise DefinitionError("it has no reference; put @bench.reference above a function")


# What the bench file that is being run says; the worker takes it afterwards.
current = Suite()


@overload
def variant(function: Function, /) -> Function: ...
@overload
def variant(
    *, name: str | None = None, **parameters: Sequence[Any]
) -> Callable[[Function], Function]: ...
def variant(
    function: Function | None = None, /, *, name: str | None = None, **parameters: Sequence[Any]
) -> Any:
    """Mark a way to compute the operator.

    The function gets what ``@bench.inputs`` returned. If it has a parameter ``out``, that is what
    ``@bench.output`` returned, filled with NaN before every check, and the function writes there;
    else it returns its result. It leaves its inputs as they are.

    Args:
        function: with ``@bench.variant`` alone.
        name: the function's name with ``-`` for ``_`` by default.
        parameters: keyword arguments and the values to try; the first is the default.

    Raises:
        DefinitionError: the name is taken or cannot be, or a parameter has no values.
    """

    def mark(function: Function) -> Function:
        called = _called(name or function.__name__.replace("_", "-"))
        if called in current.variants:
            raise DefinitionError(f"two variants are named {called}")
        tried = {key: _values(key, values) for key, values in parameters.items()}
        current.variants[called] = Variant(called, function, tried, _takes(function, "out"))
        return function

    return mark if function is None else mark(function)


@overload
def reference(function: Function) -> Function: ...
@overload
def reference(*, double: bool = True) -> Callable[[Function], Function]: ...
def reference(function: Function | None = None, *, double: bool = True) -> Any:
    """Mark what the variants' results are compared with; it returns its result.

    Args:
        function: with ``@bench.reference`` alone.
        double: give it its floating-point tensors in float64. With False it gets what the
            variants get: a library that has no float64.
    """

    def mark(function: Function) -> Function:
        _once("reference", current.reference)
        current.reference, current.reference_in_double = function, double
        return function

    return mark if function is None else mark(function)


def inputs(function: Function) -> Function:
    """Mark what makes inputs: ``inputs(shape, generator)`` → tuple of tensors and plain values.

    Called anew for every check, with a :class:`Shape` and a seeded ``torch.Generator`` whose
    ``device`` is where the tensors belong. Take every random number from it.
    """
    _once("maker of inputs", current.inputs)
    current.inputs = function
    return function


def output(function: Function) -> Function:
    """Mark what makes the place for a result: ``output(*inputs)`` → an empty tensor."""
    _once("maker of outputs", current.output)
    current.output = function
    return function


def cost(function: Function) -> Function:
    """Mark what counts the least work: ``cost(*inputs)`` → :class:`Cost`."""
    _once("cost", current.cost)
    current.cost = function
    return function


def shapes(*texts: str) -> None:
    """Name the shapes that are timed where the command line names none."""
    current.shapes = tuple(map(Shape.parse, texts))


def check_shapes(*texts: str) -> None:
    """Name further shapes whose results are checked, but not timed.

    Without them: all sizes 1, sizes that fill tiles exactly, and ragged ones, of as many
    dimensions as the first shape has.
    """
    current.check_shapes = tuple(map(Shape.parse, texts))


def tolerance(error: float) -> None:
    """Set the relative and absolute error that counts as right, for all types."""
    if not 0.0 <= error < math.inf:
        raise DefinitionError(f"a tolerance of {error} cannot be")
    current.tolerance = float(error)


def cuda(source: str, *flags: str) -> Library:
    """Name a CUDA source with ``extern "C"`` launchers; kprof compiles it before the run.

    Args:
        source: file, relative to the bench file's folder.
        flags: further ones for nvcc, e.g. ``-DTILE=32``.

    Returns:
        A library whose attributes are the launchers: :class:`kprof.bench.launchers.Library`.
    """
    library = Library(Path(source), tuple(flags))
    current.libraries.append(library)
    return library


def _amount(name: str, value: Any) -> float:
    """Return a number of any library as one of Python's."""
    number = math.nan
    if not isinstance(value, str | bytes):
        with contextlib.suppress(TypeError, ValueError, OverflowError, RuntimeError):
            number = float(value)
    if not 0.0 <= number < math.inf:
        raise DefinitionError(f"cost: {name}={value!r:.60} is no finite number from 0 on")
    return number


def _once(what: str, there: object) -> None:
    if there is not None:
        raise DefinitionError(f"it has a second {what}")


def _called(name: object) -> str:
    fine = isinstance(name, str) and name.strip() == name and name.isprintable()
    if isinstance(name, str) and fine and not any(letter in _RESERVED for letter in name):
        return name
    raise DefinitionError(
        f"no variant can be called {name!r}: one printable line without any of {_RESERVED}"
    )


def _values(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise DefinitionError(f"the parameter {name} needs a tuple of values to try")
    return tuple(values)


def _takes(function: Callable[..., Any], name: str) -> bool:
    code = getattr(function, "__code__", None)
    return (
        code is not None and name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )
