"""What a bench file says that its operator costs. Runs in the worker."""

from __future__ import annotations

from typing import Any

from kprof.bench.api import Cost, DefinitionError, Suite


def least(suite: Suite, inputs: tuple[Any, ...]) -> Cost | None:
    """Return the cost of some inputs, None where the bench file has none.

    Raises:
        DefinitionError: it fails or returns something else.
    """
    from kprof.bench.checking import said

    if suite.cost is None:
        return None
    try:
        found = suite.cost(*inputs)
    except DefinitionError:  # names the cost already
        raise
    except Exception as error:
        raise DefinitionError(f"cost failed: {said(error)}") from error
    if not isinstance(found, Cost):
        raise DefinitionError(f"cost returned {found!r:.60}, not a bench.Cost")
    return found


def told(cost: Cost | None) -> dict[str, Any]:
    """Return a cost as it is told to the other process."""
    if cost is None:
        return {"bytes": None, "flops": None, "precision": None}
    return {"bytes": cost.bytes, "flops": cost.flops, "precision": cost.precision}
