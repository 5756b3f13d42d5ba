"""Whether half-precision instructions work on one value or on two.

``HFMA2`` multiplies and adds two pairs. The mnemonic is the same where one lane is thrown away.
"""

from __future__ import annotations

import re

from kprof.model import Kernel

SCALAR = 0.5  # of the half instructions. kprof's own, unsourced.
_HALF = re.compile(r"^(?:@!?U?P\w+ )?(HFMA2|HADD2|HMUL2)[.\w]* R\w+, (.*)$")
_REGISTER = re.compile(r"R\d+\S*")
_ONE = re.compile(r"\.H([01])_H\1")
_LOADS = ("LDG", "LDS", "LD.")
_NARROW = re.compile(r"\.[US]16\b")


def scalar_share(kernel: Kernel) -> tuple[float | None, bool]:
    """Return the share (0..1) of half instructions on one value, and whether their text says so.

    Without text: the share of loads that are 16 bits wide. None where neither is known.
    """
    texts = [row.sass for row in (kernel.code or kernel.instructions)]
    known = [one for text in texts if (one := is_scalar(text)) is not None]
    if known:
        return sum(known) / len(known), True
    loads = {name: n for name, n in kernel.opcodes_full.items() if name.startswith(_LOADS)}
    total = sum(loads.values())
    narrow = sum(n for name, n in loads.items() if _NARROW.search(name))
    return (narrow / total, False) if total else (None, False)


def is_scalar(sass: str) -> bool | None:
    """Say whether a half instruction works on one value, None for other instructions.

    ``HFMA2 R0, R2.H0_H0, R3.H0_H0, R4.H1_H1`` does; ``HFMA2 R5, -RZ, RZ, 0, 0`` is a constant.
    """
    match = _HALF.match(sass)
    if match is None or sass.split()[0].startswith("HADD2.F32"):
        return None
    sources = _REGISTER.findall(match[2])
    return all(_ONE.search(source) for source in sources) if sources else None
