"""Kernels whose limiter stays open, and the few counters that would decide it.

What a unit outside the plan could say was looked for in 356 kernels whose reports hold every unit,
on eight compute capabilities: in none was one of them busier than the planned ones by more than
two points (docs/decisions/0016). So a further run is for kernels that those do not speak for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kprof import metrics as m
from kprof.collect.chips import Chip
from kprof.collect.plan import PLANNED_UNITS
from kprof.diagnosis import findings
from kprof.limiter import TEXTURE_BASES, bound, covers_every_level, has_inflated_duration
from kprof.model import Finding, Kernel
from kprof.ordering import KEEPS_A_PIPE_WAITING, RESOURCES
from kprof.rule import Rule
from kprof.stall_rule import STALL_SHARE
from kprof.stalls import MIN_SAMPLES, stalls, top_stall

# Whether two runs of a launch did the same work: they count in any pass.
SAME_WORK = ("gpu__time_duration.sum", "smsp__inst_executed.sum")
# Two counts of a launch's instructions that differ by more are not of the same work. kprof's own.
SAME_SHARE = 0.01
# Instructions that are fewer than this share of all do not fill a unit of theirs. kprof's own.
NOTABLE = 0.01


@dataclass(frozen=True, slots=True)
class Suspect:
    """What may limit a kernel and was not measured.

    Attributes:
        name: in words, to follow "its".
        metrics: full names of what would decide it, of those that the GPU has.
    """

    name: str
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Units:
    """Units that the plan leaves out for the passes they cost.

    Attributes:
        name: in words.
        bases: their counters.
        opcodes: how instructions begin that cannot do without them.
        reasons: what warps wait for when they are full.
        overrules: open whatever else was found: waiting for loads of theirs looks like latency.
    """

    name: str
    bases: tuple[str, ...]
    opcodes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    overrules: bool = False


# Opcodes: CUDA Binary Utilities, "Instruction Set Reference". Reasons: Nsight Compute Profiling
# Guide, "Warp Stall Reasons".
_UNITS = (
    _Units(
        "texture units",
        TEXTURE_BASES,
        opcodes=("TEX", "TLD", "TMML", "TXD", "TXQ", "SULD", "SUST", "SUATOM", "SURED"),
        reasons=("tex_throttle",),
        overrules=True,
    ),
    _Units(
        "tensor memory accelerator",
        ("sm__pipe_tma_cycles_active", "sm__inst_executed_pipe_tma",
         "l1tex__m_xbar2l1tex_read_sectors_mem_dshared"),
        opcodes=("UTMA", "UBLK"),
    ),
    _Units(
        "memory instruction queues",
        ("sm__mio_inst_issued", "sm__mio_pq_read_cycles_active", "sm__mio_pq_write_cycles_active",
         "sm__mio2rf_writeback_active", "idc__request_cycles_active"),
        reasons=("mio_throttle",),
    ),
    _Units(
        "branch and uniform pipes",
        ("sm__inst_executed_pipe_cbu_pred_on_any", "sm__inst_executed_pipe_uniform"),
        reasons=("branch_resolving",),
    ),
    _Units(
        "remaining pipes",
        ("sm__inst_executed_pipe_uniform", "sm__inst_executed_pipe_fp16",
         "sm__inst_executed_pipe_ipa", "sm__pipe_tensor_subpipe_imma_cycles_active",
         "sm__pipe_tensor_subpipe_dmma_cycles_active"),
        reasons=("math_pipe_throttle",),
    ),
)  # fmt: skip


def suspect(kernel: Kernel, rules: Sequence[Rule], chip: Chip) -> Suspect | None:
    """Return what to measure of a kernel to name its limiter, None where that is settled.

    None, too, where no counter that the GPU has would settle it.

    Args:
        kernel: measured with the plan's metrics.
        rules: those that may explain it.
        chip: the GPU's.
    """
    verdict = bound(kernel)
    if verdict == "unknown":
        return _level(kernel, chip)
    if verdict != "latency":
        return None
    pointed = [units for units in _UNITS if _points_to(kernel, units)]
    if any(map(_explains, findings(kernel, rules))):
        return _units(kernel, chip, [units for units in pointed if units.overrules])
    return _units(kernel, chip, pointed) or _reasons(kernel, chip)


def _explains(finding: Finding) -> bool:
    """Say whether a finding tells why nothing is busy."""
    if finding.severity == "info":
        return False
    return finding.resource in RESOURCES["latency"] or finding.rule in KEEPS_A_PIPE_WAITING


def _level(kernel: Kernel, chip: Chip) -> Suspect | None:
    """Ask once more for the units of the levels that gave no number."""
    if has_inflated_duration(kernel) or covers_every_level(kernel):
        return None
    planned = {m.elapsed(base) for base in PLANNED_UNITS}
    asked: list[str] = []
    for level in m.COVERAGE:
        if level.read(kernel.metrics) is None:
            there = [name for name in level.names if name in planned and chip.has(name)]
            if not there:  # it would stay open
                return None
            asked += there
    return Suspect("missing levels", tuple(asked))


def _units(kernel: Kernel, chip: Chip, found: Sequence[_Units]) -> Suspect | None:
    names = dict.fromkeys(m.elapsed(base) for units in found for base in units.bases)
    asked = tuple(name for name in names if chip.has(name) and name not in kernel.metrics)
    return Suspect(" and ".join(units.name for units in found), asked) if asked else None


def _points_to(kernel: Kernel, units: _Units) -> bool:
    stall = top_stall(kernel)
    waits = stall is not None and stall[1] >= STALL_SHARE and stall[0] in units.reasons
    executed = sum(n for name, n in kernel.opcodes.items() if name.startswith(units.opcodes))
    return waits or executed > NOTABLE * sum(kernel.opcodes.values())


def _reasons(kernel: Kernel, chip: Chip) -> Suspect | None:
    """Count why warps wait where the samples are too few: in more passes, but exactly."""
    samples = m.SAMPLES.read(kernel.metrics)
    if stalls(kernel) or samples is None or samples >= MIN_SAMPLES:
        return None
    names = (m.COUNTED_STALL.format(reason) for reason in m.STALL_REASONS)
    return Suspect("stall reasons", tuple(name for name in names if chip.has(name)))


def did_the_same(kernel: Kernel, other: Kernel) -> bool:
    """Say whether two runs of a launch executed the same number of instructions."""
    first = m.WARP_INSTRUCTIONS.read(kernel.metrics)
    second = m.WARP_INSTRUCTIONS.read(other.metrics)
    if not first or second is None:
        return False
    return abs(second - first) <= SAME_SHARE * first


def with_counters(kernel: Kernel, suspect: Suspect, others: Iterable[Kernel]) -> Kernel | None:
    """Return a kernel with its suspect's counters from another run.

    Args:
        kernel: as first measured; its own numbers stay.
        suspect: what was missing of it.
        others: launches of the same configuration in the other run.

    Returns:
        None where no launch did the same work, or none has any of the counters.
    """
    for other in others:
        found = {name: other.metrics[name] for name in suspect.metrics if name in other.metrics}
        if found and did_the_same(kernel, other):
            return replace(
                kernel,
                metrics={**found, **kernel.metrics},
                unusable={k: why for k, why in kernel.unusable.items() if k not in found},
                other_run=(*kernel.other_run, suspect.name),
            )
    return None
