"""The part of the audit that decides whether profiling can work, in well under a second.

Only what files, libcuda and ncu itself tell: nothing imports torch or asks nvidia-smi. What is not
seen in time is unknown, and unknown stops nobody: ncu has the last word.
"""

from __future__ import annotations

from pathlib import Path

from kprof.audit.facts import Facts
from kprof.audit.judge import Audit, audit
from kprof.audit.probes.machine import Machine
from kprof.audit.probes.run import probe
from kprof.collect.find import Ncu

PROBES = frozenset(
    {
        "operating_system", "kernel_modules", "kernel_driver", "pci", "device_nodes", "libcuda",
        "privileges", "writable_places", "environment", "container_runtime", "ncu", "ncu_report",
        "job",
    }
)  # fmt: skip
BUDGET_S = 0.75


def preflight(machine: Machine, ncu: Ncu | None = None) -> Audit:
    """Audit a machine for profiling, as far as that takes no time.

    Args:
        machine: where the target will run.
        ncu: the one that the user named, None for the one that is found.
    """
    if ncu is None:
        return audit(Facts(probe(machine, PROBES, BUDGET_S)["facts"]), "profile")
    return _with(machine, {"path": str(ncu.path), "version": ncu.version})


def after_refusal(machine: Machine, said: str) -> Audit:
    """Audit a machine on which ncu has just refused to work.

    Args:
        machine: where it ran.
        said: its own message.
    """
    return _with(machine, {"error": said})


def _with(machine: Machine, ncu: dict[str, str]) -> Audit:
    facts = probe(machine, PROBES - {"ncu"}, BUDGET_S)["facts"]
    return audit(Facts({**facts, "ncu": ncu}), "profile")


def found_ncu(audited: Audit) -> Ncu | None:
    """Return the ncu that the audit saw working, the same that a search would take."""
    path, version = audited.facts.text("ncu.path"), audited.facts.text("ncu.version")
    return Ncu(Path(path).absolute(), version) if path and version else None
