"""The text of SASS instructions, bought sparingly.

The library disassembles a whole module to print one instruction: 20 to 80 ms for a kernel of
torch, where everything else about that kernel takes 8 ms. So launches of the same function share
one disassembly, the kernels with most GPU time go first, and a budget in bytes of device code
(not in seconds: two readings of a file must be equal) ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kprof.model.profile import Instruction, Kernel
from kprof.reader.instructions import EXECUTED, MEMORY, start_of
from kprof.reader.library import Action

# Twelve of torch's larger modules (5 MB each); far more than any single program of one's own.
BUDGET_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Draft:
    """A kernel whose instructions still lack their text.

    Attributes:
        action: where to read it from.
        kernel: everything else, with ``instructions`` empty.
        rows: counters by absolute program counter.
        starts: start addresses of its functions, ascending.
    """

    action: Action
    kernel: Kernel
    rows: dict[int, dict[str, float]]
    starts: list[int]

    def offset(self, pc: int) -> int:
        """Return a program counter relative to its function's start."""
        return pc - start_of(pc, self.starts)


def finish(drafts: Sequence[Draft], *, budget: int, module_bytes: int) -> list[Kernel]:
    """Return the kernels with their instructions, as many as affordable with text.

    Args:
        drafts: kernels of one report.
        budget: bytes of device code to disassemble at most.
        module_bytes: bytes of one module.
    """
    texts: dict[int, dict[int, str]] = {}
    for group in _groups(drafts):
        text: dict[int, str] = {}
        if budget >= module_bytes:
            budget -= module_bytes
            text = _disassemble(group)
        texts.update(dict.fromkeys((draft.kernel.index for draft in group), text))
    return [_finished(draft, texts.get(draft.kernel.index, {})) for draft in drafts]


def _groups(drafts: Sequence[Draft]) -> list[list[Draft]]:
    """Return the launches of each function, the functions with most GPU time first."""
    groups: dict[object, list[Draft]] = {}
    for draft in drafts:
        if draft.rows:
            groups.setdefault(_fingerprint(draft), []).append(draft)
    return sorted(groups.values(), key=lambda group: (-_time(group), group[0].kernel.index))


def _time(group: Iterable[Draft]) -> float:
    return sum(draft.kernel.duration_s or 0.0 for draft in group)


def _fingerprint(draft: Draft) -> object:
    """Tell functions apart; the name is not enough (Triton tunes many variants of one name)."""
    sizes = (draft.action.metric_by_name(name) for name in (*MEMORY, *EXECUTED))
    return (
        draft.kernel.demangled,
        draft.kernel.device,
        draft.kernel.launch and draft.kernel.launch.registers_per_thread,
        frozenset(draft.kernel.opcodes_full),
        tuple(metric and metric.num_instances() for metric in sizes),
        len(draft.starts),
    )


def _disassemble(group: Sequence[Draft]) -> dict[int, str]:
    """Return the text by offset of every instruction that any launch of the group has."""
    leader = group[0]
    start = leader.starts[0]
    if len(leader.starts) > 1:  # a graph: offsets of different functions overlap
        return {}
    offsets = sorted({draft.offset(pc) for draft in group for pc in draft.rows})
    texts = ((offset, leader.action.sass_by_pc(start + offset)) for offset in offsets)
    return {offset: text.strip() for offset, text in texts if text and text.strip() != "???"}


def _finished(draft: Draft, text: dict[int, str]) -> Kernel:
    found = tuple(_instruction(draft, pc, text) for pc in sorted(draft.rows))
    return replace(draft.kernel, instructions=found) if found else draft.kernel


def _instruction(draft: Draft, pc: int, text: dict[int, str]) -> Instruction:
    offset = draft.offset(pc)
    info = draft.action.source_info(pc)
    file = info.file_name() if info is not None else ""
    line = info.line() if info is not None else 0
    return Instruction(
        pc=offset,
        sass=text.get(offset, ""),
        file=file or None,
        line=line if file and line > 0 else None,
        values=draft.rows[pc],
    )
