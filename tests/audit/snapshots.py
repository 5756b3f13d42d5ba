"""Snapshots for the tests of checks, and the verdict of one check on one of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from kprof.audit.facts import Facts
from kprof.audit.judge import audit
from kprof.audit.verdict import Verdict

SMI_FAILED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running."
)


def gpu(name: str, capability: str, **more: object) -> dict[str, object]:
    return {"name": name, "compute_capability": capability, **more}


RTX_4090 = gpu("NVIDIA GeForce RTX 4090", "8.9")
A100 = gpu("NVIDIA A100-SXM4-80GB", "8.0")
H100 = gpu("NVIDIA H100 80GB HBM3", "9.0")


def machine(**parts: Any) -> dict[str, Any]:
    """A Linux machine, outside a container, with the given parts of a snapshot.

    ``os`` is merged into the machine's own, the others are taken as they are.
    """
    found: dict[str, Any] = {
        "os": {
            "system": "linux", "arch": "x86_64", "distro": "ubuntu 24.04", "container": None,
            "sandbox": None, "wsl": None, "jetson": None, "secure_boot": False,
        }
    }  # fmt: skip
    found["os"].update(parts.pop("os", {}))
    found.update(copy.deepcopy(parts))
    return found


def driver(version: str, cuda: str | None = None, **more: object) -> dict[str, object]:
    """A driver that is loaded and answers."""
    return {
        "version": version,
        "module_version": version,
        "modules_loaded": ["nvidia", "nvidia_uvm"],
        **({"cuda_version": cuda} if cuda else {}),
        **more,
    }


def judged(check: str, facts: Mapping[str, Any]) -> Verdict:
    """Return one check's verdict."""
    found = {one.check.id: one.verdict for one in audit(Facts(facts)).results}
    return found[check]


def errors(facts: Mapping[str, Any]) -> list[str]:
    """Return the ids of the checks that call a snapshot wrong, the primary first."""
    return [one.check.id for one in audit(Facts(facts)).errors]


def assert_proven(verdict: Verdict) -> None:
    """What is called wrong comes with proof, a remedy and a source, on one line."""
    assert verdict.evidence
    assert verdict.remedy is not None
    assert verdict.remedy.text
    assert "https://" in (verdict.source or "")
    assert "\n" not in verdict.message


def one_sided(cases: Iterable[tuple[str, str, Mapping[str, Any]]]) -> set[str]:
    """Return the checks that are not seen firing, passing and at a loss."""
    seen: dict[str, set[str]] = {}
    for name, status, _facts in cases:
        seen.setdefault(name, set()).add({"skipped": "ok", "warning": "error"}.get(status, status))
    return {name for name, statuses in seen.items() if len(statuses) < 3}
