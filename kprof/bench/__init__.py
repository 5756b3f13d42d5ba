"""Comparing variants of one operator: what bench files import, and the engine behind the command.

``from kprof import bench`` in a bench file gives the names of :mod:`kprof.bench.api`.
"""

from __future__ import annotations

from kprof.bench.api import (
    Cost,
    DefinitionError,
    Shape,
    check_shapes,
    cost,
    cuda,
    inputs,
    output,
    reference,
    shapes,
    tolerance,
    variant,
)

__all__ = [
    "Cost",
    "DefinitionError",
    "Shape",
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
