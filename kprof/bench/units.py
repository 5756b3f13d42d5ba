"""Units: a variant with one choice of its parameters. Standard library alone: runs in the worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kprof.bench.api import DefinitionError, Suite, Variant

COPY, TWIN = "(copy)", "(twin)"  # no variant can be called so: what comparisons need besides


@dataclass(frozen=True)
class Unit:
    """A variant with one choice of its parameters.

    Attributes:
        variant: what to call.
        parameters: the choice.
    """

    variant: Variant
    parameters: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Name and choice as one word: ``tiled[block=128]``."""
        return label(self.variant.name, self.parameters)

    def described(self) -> dict[str, Any]:
        """Return what the other process needs to know."""
        shown = {name: _plain(value) for name, value in self.parameters.items()}
        return {"label": self.label, "variant": self.variant.name, "parameters": shown}

    def bound(self, inputs: tuple[Any, ...], out: Any) -> Callable[[], Any]:
        """Return a call without arguments that returns the result."""
        function, extra = self.variant.function, dict(self.parameters)
        if not self.variant.takes_out:
            return lambda: function(*inputs, **extra)

        def call() -> Any:
            function(*inputs, out=out, **extra)
            return out

        return call


def units(suite: Suite, overrides: Mapping[str, Sequence[Any]]) -> list[Unit]:
    """Return every unit of a suite.

    Args:
        suite: what the bench file said.
        overrides: values to try in place of the file's own, for variants with that parameter.

    Raises:
        DefinitionError: two would have one name.
    """
    found: list[Unit] = []
    for variant in suite.variants.values():
        tried = {name: overrides.get(name, values) for name, values in variant.parameters.items()}
        changed = Variant(variant.name, variant.function, tried, variant.takes_out)  # type: ignore[arg-type]
        found += [Unit(changed, setting) for setting in changed.settings()]
    names = [unit.label for unit in found]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"two choices of parameters are named {name}")
    return found


def label(variant: str, parameters: Mapping[str, Any]) -> str:
    """Return a unit's name as one word."""
    said = ",".join(f"{name}={_written(value)}" for name, value in parameters.items())
    return f"{variant}[{said}]" if said else variant


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _written(value)


def _written(value: Any) -> str:
    """Return what stands for a value, of characters that every output can hold."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
