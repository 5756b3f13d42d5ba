"""What the executed instructions are, by opcode: shares of the mix in the terms of rules."""

from __future__ import annotations

from kprof.model import Kernel


def share(kernel: Kernel, prefixes: tuple[str, ...]) -> float | None:
    """Return the share (0..1) of executed warp instructions with these beginnings of opcodes.

    None where the mix was not collected.
    """
    total = sum(kernel.opcodes.values())
    if not total:
        return None
    return sum(n for name, n in kernel.opcodes.items() if name.startswith(prefixes)) / total


def parts(kernel: Kernel, groups: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the share (0..1) of each group in the executed instructions of all groups.

    By opcode with modifiers, each counted in the first group that one of whose beginnings it has;
    groups without instructions are left out, largest first.
    """
    counts = dict.fromkeys(groups, 0.0)
    for opcode, executed in kernel.opcodes_full.items():
        group = next((g for g, begins in groups.items() if opcode.startswith(begins)), None)
        if group is not None:
            counts[group] += executed
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {group: count / total for group, count in ranked if count} if total else {}


def mnemonic(sass: str) -> str:
    """Return an instruction's opcode with modifiers: ``@!P0 IMAD.WIDE R2, ...`` is ``IMAD.WIDE``."""
    words = sass.split()
    if words and words[0].startswith("@"):
        words = words[1:]
    return words[0] if words else ""
