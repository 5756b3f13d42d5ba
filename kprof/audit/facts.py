"""What the probes saw: a snapshot, read without trust.

A snapshot is JSON that anybody may have written. Every fact is optional: an absent one is unknown.
What was looked for and is not there is ``null``, ``[]`` or ``{"path": null}``. A fact of the wrong
type counts as unknown and is named in :attr:`Facts.faults`, so that it is never a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from kprof.audit import form, moment
from kprof.errors import BadSnapshot

SCHEMA = "kprof.snapshot/1"
MAX_BYTES = 32 * 2**20
MAX_TEXT = 200_000  # characters of one fact that are looked at
_FAULTS_KEPT = 50

T = TypeVar("T")


class Unknown(Exception):
    """A fact that a check needs is not in the snapshot.

    Attributes:
        fact: its dotted name.
    """

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact


class Facts:
    """Typed access to a snapshot's facts by dotted name, ``facts.text("driver.version")``.

    Every reader returns None where the fact is absent, null or of another type; the ``need_``
    forms raise :class:`Unknown` then. :meth:`absent` tells "looked for and not there" from unknown.

    Attributes:
        faults: what was wrong with the snapshot, one line each.
        taken: when the machine was looked at, ``2026-11-29T22:00:00Z``; None when not known.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        prefix: str = "",
        faults: list[str] | None = None,
        taken: str | None = None,
    ) -> None:
        self._data = data
        self._prefix = prefix
        self.faults: list[str] = [] if faults is None else faults
        self.taken = taken

    def known(self, name: str) -> bool:
        """Say whether the snapshot has an entry of this name, null included."""
        return self._find(name)[0]

    def absent(self, name: str) -> bool:
        """Say whether it was looked for and is not there: null, [], "" or {"path": null}."""
        found, value = self._find(name)
        if not found:
            return False
        if isinstance(value, Mapping):
            return "path" in value and value["path"] is None
        return value is None or value in ([], "")

    def text(self, name: str) -> str | None:
        """Return a text; a number is none, since the version 12.10 as a number is 12.1."""
        value = self._value(name)
        if isinstance(value, str):
            return value[:MAX_TEXT]
        self._wrong(name, value, "text")
        return None

    def number(self, name: str) -> float | None:
        """Return a finite number."""
        value = self._value(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
            return value
        self._wrong(name, value, "a number")
        return None

    def flag(self, name: str) -> bool | None:
        """Return a truth value."""
        value = self._value(name)
        if isinstance(value, bool):
            return value
        self._wrong(name, value, "true or false")
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts; entries of another type are left out and named as faults."""
        value = self._value(name)
        if not isinstance(value, list):
            self._wrong(name, value, "a list")
            return None
        for entry in value:
            if not isinstance(entry, str):
                self._wrong(f"{name}[]", entry, "text")
        return tuple(entry[:MAX_TEXT] for entry in value if isinstance(entry, str))

    def items(self, name: str) -> tuple[Facts, ...] | None:
        """Return a list of objects; entries of another type are left out and named as faults."""
        value = self._value(name)
        if not isinstance(value, list):
            self._wrong(name, value, "a list")
            return None
        for entry in value:
            if not isinstance(entry, Mapping):
                self._wrong(f"{name}[]", entry, "an object")
        return tuple(
            Facts(entry, prefix=f"{self._prefix}{name}[{index}].", faults=self.faults)
            for index, entry in enumerate(value)
            if isinstance(entry, Mapping)
        )

    def sub(self, name: str) -> Facts | None:
        """Return an object's facts."""
        value = self._value(name)
        if not isinstance(value, Mapping):
            self._wrong(name, value, "an object")
            return None
        return Facts(value, prefix=f"{self._prefix}{name}.", faults=self.faults)

    def entries(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the name and text of an object's entries whose values are texts, such as env's.

        Keys may hold dots (``files``): they are taken as they are.
        """
        value = self._value(name)
        if not isinstance(value, Mapping):
            self._wrong(name, value, "an object")
            return
        for key, entry in value.items():
            if isinstance(entry, str):
                yield key, entry[:MAX_TEXT]

    def member(self, name: str, key: str) -> Facts | None:
        """Return the object stored under a key that may hold dots or slashes, as in ``files``."""
        value = self._value(name)
        entry = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(entry, Mapping):
            return Facts(entry, prefix=f"{self._prefix}{name}.{key}.", faults=self.faults)
        return None

    def need_text(self, name: str) -> str:
        """Return a text, or raise :class:`Unknown`."""
        return self._need(self.text(name), name)

    def need_number(self, name: str) -> float:
        """Return a number, or raise :class:`Unknown`."""
        return self._need(self.number(name), name)

    def need_flag(self, name: str) -> bool:
        """Return a truth value, or raise :class:`Unknown`."""
        return self._need(self.flag(name), name)

    def need_texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, or raise :class:`Unknown`."""
        return self._need(self.texts(name), name)

    def need_items(self, name: str) -> tuple[Facts, ...]:
        """Return a list of objects, or raise :class:`Unknown`."""
        return self._need(self.items(name), name)

    def raw(self) -> dict[str, Any]:
        """Return the facts as they were read, for JSON."""
        return dict(self._data)

    def _need(self, value: T | None, name: str) -> T:
        if value is None:
            raise Unknown(f"{self._prefix}{name}")
        return value

    def _value(self, name: str) -> Any:
        return self._find(name)[1]

    def _find(self, name: str) -> tuple[bool, Any]:
        here: Any = self._data
        for part in name.split("."):
            if not isinstance(here, Mapping) or part not in here:
                return False, None
            here = here[part]
        return True, here

    def _wrong(self, name: str, value: Any, wanted: str) -> None:
        if value is None or value in ([], ""):  # looked for and not there
            return
        fault = f"{self._prefix}{name} is not {wanted}"
        if fault not in self.faults and len(self.faults) < _FAULTS_KEPT:
            self.faults.append(fault)


def parse(text: str, *, path: str = "snapshot") -> Facts:
    """Read a snapshot.

    Args:
        text: the JSON.
        path: its name, for messages.

    Raises:
        BadSnapshot: it is no JSON, or no snapshot of a schema this version knows.
    """
    try:
        data = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise BadSnapshot(
            f"{path} is not JSON ({_short(error)})", hint="kprof doctor --save FILE writes one"
        ) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, str) or not schema.startswith("kprof.snapshot/"):
        raise BadSnapshot(
            f"{path} is no snapshot: it has no schema {SCHEMA}",
            hint="kprof doctor --save FILE writes one",
        )
    if schema != SCHEMA:
        raise BadSnapshot(
            f"{path} has the schema {schema[:40]!r}; this kprof reads {SCHEMA}",
            hint="update kprof, or save the snapshot again with this version",
        )
    facts = data.get("facts")
    if not isinstance(facts, dict):
        raise BadSnapshot(
            f"{path} has no facts", hint="its key facts must be an object; see docs/doctor.md"
        )
    kept, faults = form.checked(facts)
    taken = moment.read(data.get("taken"))
    if taken is None and data.get("taken") is not None:
        faults.append("taken is not a time such as 2026-11-29T22:00:00Z")
    return Facts(kept, faults=faults, taken=taken)


def _short(error: BaseException) -> str:
    return str(error).split("\n", 1)[0][:120] or type(error).__name__
