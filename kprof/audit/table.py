"""The version table: ``matrix.json``, read once, with the source of every row.

The queries over it are in the modules beside this one; :mod:`kprof.audit.matrix` gathers them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from packaging.version import InvalidVersion, Version

UNSOURCED = "UNSOURCED"
LONGEST = 100  # characters of a version: it may come from a snapshot that anybody wrote

Row = Mapping[str, Any]  # of the table; its columns are checked by tests/audit/test_matrix.py


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of the table.

    Attributes:
        value: what the table says.
        source: where it is written down, title and address; "" for a row without a source.
        confidence: one word of the table's ``confidence`` list. :data:`UNSOURCED` never gives a
            verdict: see :attr:`certain`.
        date: the month it was looked up, ``2026-11``.
        note: what to know beside it, "" for nothing.
    """

    value: Any
    source: str
    confidence: str
    date: str
    note: str = ""

    @property
    def certain(self) -> bool:
        """Whether a verdict may rest on it."""
        return not self.confidence.startswith(UNSOURCED)

    def __str__(self) -> str:
        return f"{self.source} [{self.confidence}, {self.date}]"


@cache
def _matrix() -> dict[str, Any]:
    text = resources.files("kprof.audit").joinpath("matrix.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def rows(table: str) -> tuple[Row, ...]:
    """Return a table's rows in their order, oldest first."""
    return tuple(_matrix()["tables"][table])


@cache
def words() -> frozenset[str]:
    """Return the words of all tables in lower case: names of products, words of messages."""
    return frozenset(re.findall(r"[a-z]{3,}", json.dumps(_matrix()["tables"]).lower()))


def tables() -> tuple[str, ...]:
    """Return the names of the tables."""
    return tuple(_matrix()["tables"])


def sources() -> dict[str, tuple[str, str]]:
    """Return every source's title and address by its key."""
    return {key: (entry["title"], entry["url"]) for key, entry in _matrix()["sources"].items()}


def confidences() -> dict[str, str]:
    """Return the words for confidence with their meaning."""
    return dict(_matrix()["confidence"])


def table_date() -> str:
    """Return the month in which the table was put together."""
    return str(_matrix()["date"])


def find(table: str, **wanted: object) -> Row | None:
    """Return the first row whose columns have these values."""
    for row in rows(table):
        if all(row.get(column) == value for column, value in wanted.items()):
            return row
    return None


def fact(row: Row | None, column: str) -> Fact | None:
    """Return a row's value with its source, None without a row or without a value in it."""
    return None if row is None or column not in row else of(row, row[column])


def of(row: Row, value: Any) -> Fact:
    """Return a value that follows from a row, with the row's source."""
    return Fact(value, cited(row), row["confidence"], row["date"], row.get("note", ""))


def cited(row: Row) -> str:
    """Return a row's sources as titles with addresses."""
    known = sources()
    return "; ".join(f"{known[key][0]} <{known[key][1]}>" for key in row["source"])


def number(text: str | None) -> Version | None:
    """Return a version that compares, None for text that is none."""
    if not text or len(text) > LONGEST:
        return None
    try:
        return Version(text.strip())
    except InvalidVersion:
        return None


def minor(text: str) -> str:
    """Return the first two numbers of a version, ``12.4`` of ``12.4.1``; "" for none."""
    found = number(text)
    return f"{found.major}.{found.minor}" if found else ""


def at_most(table: str, column: str, version: str) -> Row | None:
    """Return the last row of the same minor release that is not later than ``version``.

    A version of two numbers stands for the minor release's first one.
    """
    wanted = number(version)
    same = [row for row in rows(table) if minor(row[column]) == minor(version)]
    if wanted is None or not same:
        return None
    return [row for row in same if Version(row[column]) <= wanted or row is same[0]][-1]


def rule(name: str) -> Fact | None:
    """Return a rule of the table ``rules``: its sentence, with the source.

    ``Fact.value`` is the sentence; rules that name a first version have it in :func:`rule_value`.
    """
    return fact(find("rules", rule=name), "text")


def rule_value(name: str) -> Fact | None:
    """Return the version that a rule names, ``565`` for ``cap_perfmon``."""
    return fact(find("rules", rule=name), "value")
