"""Remedies on Windows itself, where neither a Linux shell nor its package managers are."""

from __future__ import annotations

import re

from kprof.audit import derive
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

DRIVERS = "https://www.nvidia.com/drivers"
_PLAIN = re.compile(r"[\w:\\./~-]{1,300}")
_SPACED = re.compile(r"[\w:\\./~ ()-]{1,300}")
# Programs that the doctor names and that Windows has too.
_COMMON = re.compile(
    r"(?:& )?(?:\S*python\S*|'[^']*python[^']*'|conda|ncu|nvidia-smi|nvcc|kprof|docker|wsl) ",
    re.IGNORECASE,
)


def quoted(path: str, otherwise: str = "python") -> str:
    """Return a snapshot's path as PowerShell runs it; cmd takes what needs no quotes, too.

    Args:
        path: the text, from anywhere.
        otherwise: what to write where it is no path that anybody would type.
    """
    if _PLAIN.fullmatch(path):
        return path
    return f"& '{path}'" if _SPACED.fullmatch(path) else otherwise


def install_driver(branch: int) -> Remedy:
    """Return how to update the driver on Windows."""
    return Remedy(
        f"Install a driver of R{branch} or newer from {DRIVERS} (as administrator), then restart.",
        (),
        "root",
    )


def open_counters() -> Remedy:
    """Return how to open the performance counters.

    Source: NVIDIA development tools, ERR_NVGPUCTRPERM, Windows
    <https://developer.nvidia.com/nvidia-development-tools-solutions-ERR_NVGPUCTRPERM-permission-issue-performance-counters>.
    """
    return Remedy(
        "Open the NVIDIA Control Panel as administrator, turn on Desktop > Enable Developer "
        "Settings, then under Developer > Manage GPU Performance Counters allow access to all "
        "users. Once: start the terminal as administrator.",
        (),
        "root",
    )


def portable(facts: Facts, remedy: Remedy) -> Remedy:
    """Return a remedy without the commands that only Linux has, where this is Windows itself."""
    if not derive.native_windows(facts):
        return remedy
    kept = tuple(one for one in remedy.commands if _COMMON.match(f"{one} ") and "$" not in one)
    others = tuple(portable(facts, one) for one in remedy.alternatives)
    text = remedy.text
    if len(kept) < len(remedy.commands):
        text = f"{text.rstrip('.')}. (The commands for it are Linux's; this is Windows.)"
    return Remedy(text, kept, remedy.who, others)
