"""Nsight Compute: which version comes with what and profiles what, and what its messages mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from kprof.audit import table
from kprof.audit.architectures import Capability, parsed
from kprof.audit.table import Fact


@dataclass(frozen=True, slots=True)
class NcuMessage:
    """A message of ncu, and what is behind it.

    Attributes:
        id: the check it belongs to, or a name in the same form.
        pattern: matches the message; None for a fault without one.
        cause: what happened.
        fixes: what to do, likeliest first.
        severity: ``error`` or ``warning``.
        source: where that is written down.
        confidence: one word, see :class:`kprof.audit.table.Fact`.
    """

    id: str
    pattern: re.Pattern[str] | None
    cause: str
    fixes: tuple[str, ...]
    severity: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class CudaError:
    """An error code of the CUDA runtime.

    Attributes:
        code: its number; the driver's API uses the same one.
        name: ``cudaErrorNoDevice``.
        driver_name: ``CUDA_ERROR_NO_DEVICE``, None where the driver's API has none.
        meaning: what it says.
        look_at: what to look at, likeliest first.
        source: where that is written down.
        confidence: one word, see :class:`kprof.audit.table.Fact`.
    """

    code: int
    name: str
    driver_name: str | None
    meaning: str
    look_at: tuple[str, ...]
    source: str
    confidence: str


def ncu_for_cuda(cuda: str) -> Fact | None:
    """Return the ncu that comes with a toolkit, ``"2024.1.1"`` for 12.4.1.

    Source: Nsight Compute's release history; package manifests from 12.5 on.
    """
    return table.fact(table.at_most("ncu_toolkits", "cuda", cuda), "ncu")


def ncu_supports(ncu_version: str, capability: Capability, chip: str | None = None) -> Fact | None:
    """Say whether an ncu profiles a GPU; None where that is not known.

    Chips of one capability came at different times (GB202 before GB207): without the chip the
    answer is certain only where it is the same for all of them.

    Source: Nsight Compute's release notes; chip lists of two versions.
    """
    version = table.number(ncu_version)
    if version is None:
        return None
    answers = [_profiles(version, row) for row in _rows(capability, chip)]
    if not answers or any(answer is None for answer in answers):
        return None
    return answers[0] if len({answer.value for answer in answers if answer}) == 1 else None


def ncu_needed_for(capability: Capability, chip: str | None = None) -> Fact | None:
    """Return the ncu that a GPU needs at least, ``"2025.1"`` for 10.0; None where not sourced.

    Without the chip it is the one that the first chip of the capability needs.
    """
    return _earliest(row for row in _rows(capability, chip) if not row.get("listed"))


def ncu_listed_in(capability: Capability, chip: str | None = None) -> Fact | None:
    """Return an ncu whose list has a GPU, where the first one that has is not sourced.

    ``"2026.1"`` for 12.1: an earlier one may profile it too.
    """
    return _earliest(row for row in _rows(capability, chip) if row.get("listed"))


def _earliest(rows: Iterable[table.Row]) -> Fact | None:
    known = [row for row in rows if "first" in row]
    return table.fact(min(known, key=lambda row: Version(row["first"])), "first") if known else None


def ncu_never(capability: Capability) -> Fact | None:
    """Return True for a GPU that no ncu profiles, None where none is known to be left out."""
    known = [row for row in _rows(capability, None) if row.get("never")]
    return table.fact(known[0], "never") if known else None


def ncu_dropped(capability: Capability) -> Fact | None:
    """Return the ncu from which on a GPU is refused, ``"2020.1"`` for 6.1; None for none."""
    known = [row for row in _rows(capability, None) if "dropped" in row]
    return table.fact(known[0], "dropped") if known else None


@cache
def ncu_messages() -> tuple[NcuMessage, ...]:
    """Return ncu's known messages, the more specific before the more general.

    Source: strings of ncu 2022.3.0 and 2024.1.1; the Profiling Guide.
    """
    return tuple(
        NcuMessage(
            id=row["id"],
            pattern=re.compile("|".join(row["patterns"])) if row["patterns"] else None,
            cause=row["cause"],
            fixes=tuple(row["fixes"]),
            severity=row["severity"],
            source=table.cited(row),
            confidence=row["confidence"],
        )
        for row in table.rows("ncu_messages")
    )


@cache
def cuda_errors() -> tuple[CudaError, ...]:
    """Return the error codes of the table.

    Source: driver_types.h of CUDA 13.2; the driver API's CUresult.
    """
    return tuple(
        CudaError(
            code=row["code"],
            name=row["name"],
            driver_name=row.get("driver_name"),
            meaning=row["meaning"],
            look_at=tuple(row["look_at"]),
            source=table.cited(row),
            confidence=row["confidence"],
        )
        for row in table.rows("cuda_errors")
    )


def cuda_error(code: int | str) -> CudaError | None:
    """Return an error by its number or by its name in the runtime's or the driver's API."""
    wanted = str(code).strip().lower()
    for error in cuda_errors():
        names = (str(error.code), error.name, error.driver_name or error.name)
        if wanted in map(str.lower, names):
            return error
    return None


def _rows(capability: Capability, chip: str | None) -> list[table.Row]:
    known = [row for row in table.rows("ncu_chips") if parsed(row["capability"]) == capability]
    named = [row for row in known if chip and chip.lower() in row.get("chips", ())]
    return named or known


def _profiles(version: Version, row: table.Row) -> Fact | None:
    if row.get("never"):
        return table.of(row, False)
    if "dropped" in row and version >= Version(row["dropped"]):
        return table.of(row, False)
    if "absent_below" in row and version < Version(row["absent_below"]):
        return table.of(row, False)
    if "first" in row and version >= Version(row["first"]):
        return table.of(row, True)
    return None
