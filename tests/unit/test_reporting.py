"""The GPUs of several runs of one program."""

from __future__ import annotations

from kprof.cli.reporting import _with_surveyed
from kprof.model import Device

FIRST, SECOND = (Device("H200", "9.0", 132, {"pci_bus_id": bus}) for bus in (1.0, 2.0))
UNKNOWN = Device("unknown GPU", None, None)


def test_ncus_survey_knows_which_gpus_they_are() -> None:
    assert _with_surveyed([SECOND], [FIRST, SECOND]) == ((SECOND, FIRST), [1, 0])


def test_those_of_a_trace_come_in_order() -> None:
    assert _with_surveyed([SECOND], [UNKNOWN, UNKNOWN]) == ((SECOND, UNKNOWN), [0, 1])


def test_without_a_survey_nothing_changes() -> None:
    assert _with_surveyed([FIRST, SECOND], ()) == ((FIRST, SECOND), [])
