"""What a GPU's name tells: its generation, compute capability and chip."""

from __future__ import annotations

import re
from functools import cache

from kprof.audit import table
from kprof.audit.architectures import Capability, parsed


def chip_of_name(name: str) -> str | None:
    """Return the chip that a name from lspci holds or a product is made with, ``gp104``."""
    row = _by_chip(name)
    if row is not None:
        return row[1]
    product = _by_product(name)
    return product.get("chip") if product else None


def generation_of_name(name: str) -> str | None:
    """Return the generation of ``NVIDIA Corporation GP104GL [Tesla P4]``: ``Pascal``."""
    found = _row(name)
    return str(found["generation"]) if found else None


def capability_of_name(name: str) -> Capability | None:
    """Return the compute capability of a GPU's name, as lspci or the driver gives it.

    Source: NVIDIA's lists of CUDA GPUs; the PCI ID repository for chips.
    """
    found = _row(name)
    return parsed(found["capability"]) if found else None


def _row(name: str) -> table.Row | None:
    chip = _by_chip(name)
    return chip[0] if chip else _by_product(name)


def _by_chip(name: str) -> tuple[table.Row, str] | None:
    for word in re.findall(r"[A-Za-z0-9]+", name):
        for chip, row in _chips().items():
            if re.fullmatch(rf"{chip}[a-z]*", word, re.IGNORECASE):
                return row, chip
    return None


def _by_product(name: str) -> table.Row | None:
    for pattern, row in _products():
        if pattern.search(name):
            return row
    return None


@cache
def _chips() -> dict[str, table.Row]:
    return {chip: row for row in table.rows("chips") for chip in row["chips"]}


@cache
def _products() -> tuple[tuple[re.Pattern[str], table.Row], ...]:
    return tuple(
        (re.compile(rf"\b(?:{row['pattern']})", re.IGNORECASE), row) for row in table.rows("names")
    )
