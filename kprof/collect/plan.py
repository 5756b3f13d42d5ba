"""Which metrics to ask ncu for, in as few replay passes as the hardware allows.

The plan is the union of what the rules require, plus what the report itself shows. On an H200
with ncu 2025.3.1 ``standard`` takes 8 passes and ``quick`` 5, where ``--set full`` takes 38
(docs/decisions/0005 has the cost of each group, and other chips).
"""

from __future__ import annotations

from dataclasses import dataclass

from kprof import metrics as m
from kprof.collect import chips
from kprof.collect.chips import Chip
from kprof.quantity import Quantity, Way
from kprof.rule import Rule, registry

# One or more units of every class; together with the rest they share passes. Left out because
# they cost passes of their own: tag-stage details, uniform and texture pipes, MIO queues.
PLANNED_UNITS = (
    "dram__throughput",
    "dram__cycles_active",
    "lts__t_sectors",
    "lts__d_sectors",
    "lts__t_tag_requests",
    "lts__lts2xbar_cycles_active",
    "lts__xbar2lts_cycles_active",
    "l1tex__m_xbar2l1tex_read_sectors",
    "l1tex__m_l1tex2xbar_req_cycles_active",
    "l1tex__data_pipe_lsu_wavefronts",
    "l1tex__data_bank_reads",
    "l1tex__data_bank_writes",
    "l1tex__lsuin_requests",
    "l1tex__lsu_writeback_active",
    "sm__inst_executed",
    "sm__issue_active",
    "sm__inst_executed_pipe_lsu",
    "sm__inst_executed_pipe_xu",
    "sm__pipe_alu_cycles_active",
    "sm__pipe_fma_cycles_active",
    "sm__pipe_fmaheavy_cycles_active",
    "sm__pipe_fp64_cycles_active",
    "sm__pipe_tensor_cycles_active",
    "sm__pipe_tensor_cycles_active_v2",
    "sm__pipe_tensor_subpipe_hmma_cycles_active",
    "sm__pipe_tc_cycles_active",
)
# Fits into the passes of ``standard``; ``quick`` would need one more. The address unit leads in
# kernels that index constant memory. The TMA pipe fits alone, both together cost a pass.
STANDARD_UNITS = ("sm__inst_executed_pipe_adu",)
_CLOCKS = (
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.avg.per_second",
    "sm__cycles_elapsed.max",
    "dram__cycles_elapsed.avg.per_second",
    "lts__cycles_elapsed.avg.per_second",
    "l1tex__cycles_elapsed.avg.per_second",
    "sm__cycles_active.avg",
    "sm__cycles_active.max",
)
_TRAFFIC = (
    "dram__bytes.sum",
    "dram__bytes.sum.peak_sustained",
    "lts__lts2xbar_cycles_active.sum",
    "lts__lts2xbar_cycles_active.sum.peak_sustained",
    "l1tex__lsu_writeback_active_mem_lgds.sum",
    "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained",
    "l1tex__lsu_writeback_active_mem_lg.sum",
    "l1tex__lsu_writeback_active_mem_lg.sum.peak_sustained",
)
_STALLS = (
    "group:smsp__pcsamp_warp_stall_reasons_not_issued",
    "smsp__pcsamp_sample_count",
)
_OPCODES = (
    "sass__inst_executed_per_opcode",
    "sass__inst_executed_per_opcode_with_modifier_all",
)
_SHOWN = (
    m.ACHIEVED_OCCUPANCY,
    m.ISSUE_ACTIVE,
    m.ELIGIBLE_WARPS,
    *m.FP32_INSTRUCTIONS,
    *m.FP64_INSTRUCTIONS,
    *m.FP16_INSTRUCTIONS,
    m.SHARED_WAVEFRONTS,
    m.SHARED_WAVEFRONTS_IDEAL,
    m.SHARED_WAVEFRONTS_HARDWARE,
    m.L1_WAVEFRONTS,
    m.GLOBAL_SECTORS,
    m.GLOBAL_SECTORS_IDEAL,
    m.LOCAL_SECTORS,
    m.SPILL_INSTRUCTIONS,
    m.L1_HIT,
    m.L2_HIT,
    m.DRAM_CHANNEL_UNEVENNESS,
)
# Executed instructions and threads from the instrumented code: the hardware ratio of the same
# thing costs a pass of its own.
_DIVERGENCE = ("inst_executed", "thread_inst_executed", "thread_inst_executed_true")
_PEAKS = tuple(
    f"sm__sass_thread_inst_executed_op_{operation}_pred_on.sum.peak_sustained"
    for operation in ("ffma", "dfma", "hfma")
)
# Peaks cost no pass. Every spelling of every chip with sparse matrices: ncu keeps those it knows.
_TENSOR_PEAK = "sm__ops_path_tensor_{}.sum.peak_sustained"
_TENSOR_PEAKS = tuple(
    _TENSOR_PEAK.format(path)
    for path in (
        "op_hgmma_src_fp16_sparsity_off",
        "op_hgmma_src_bf16_dst_fp32_sparsity_off",
        "op_hgmma_src_tf32_dst_fp32_sparsity_off",
        "op_hmma_src_fp16_dst_fp32_sparsity_off",
        "op_hmma_src_fp16_dst_fp16_sparsity_off",
        "op_hmma_src_bf16_dst_fp32_sparsity_off",
        "op_hmma_src_tf32_dst_fp32_sparsity_off",
        "op_igmma_src_int8_sparsity_off",
        "op_imma_src_int8_sparsity_off",
        "src_fp16_dst_fp32_sparsity_off",
        "src_fp16_dst_fp16_sparsity_off",
        "src_bf16_dst_fp32_sparsity_off",
        "src_tf32_dst_fp32_sparsity_off",
        "src_int8_sparsity_off",
        "src_fp8_sparsity_off",
        "src_fp8_dst_fp32_sparsity_off",
        "src_fp64",
    )
)
# Volta and Turing: where these are the dense peaks. On later chips they are the sparse ones.
_TENSOR_PEAKS_BEFORE_SPARSITY = tuple(
    _TENSOR_PEAK.format(path)
    for path in (
        "src_fp16_dst_fp32",
        "src_fp16_dst_fp16",
        "src_fp16_bf16_tf32_dst_fp32",
        "src_int8",
    )
)

_QUICK = (
    *_CLOCKS,
    *_TRAFFIC,
    *(m.elapsed(base) for base in PLANNED_UNITS),
    *_PEAKS,
)
_QUICK_SHOWN = (m.ACHIEVED_OCCUPANCY, m.ISSUE_ACTIVE, m.ELIGIBLE_WARPS, m.L1_HIT, m.L2_HIT)
# Named above under the spellings of today's chips; an older one may have only another way.
_TRAFFIC_SHOWN = (m.DRAM_BYTES, m.L2_BYTES, m.L1_BYTES, m.L1_PEAK)
# The same thing under the name of each chip: where one is there, the others are not missed.
_SPELLINGS = ("l1tex__lsu_writeback_active", "sm__ops_path_tensor")

# ncu's own sections for a GPU or an ncu that the table of metrics does not know. These names are
# in every release since 2022.1, the oldest whose list was found, under the same identifiers.
_QUICK_SECTIONS = (
    "SpeedOfLight",
    "SpeedOfLight_HierarchicalSingleRooflineChart",
    "LaunchStats",
    "Occupancy",
    "SchedulerStats",
    "MemoryWorkloadAnalysis",
)
_SECTIONS = {
    "quick": _QUICK_SECTIONS,
    "standard": (
        *_QUICK_SECTIONS,
        "SpeedOfLight_HierarchicalDoubleRooflineChart",
        "SpeedOfLight_HierarchicalHalfRooflineChart",
        "SpeedOfLight_HierarchicalTensorRooflineChart",
        "ComputeWorkloadAnalysis",
        "MemoryWorkloadAnalysis_Tables",
        "WarpStateStats",
        "InstructionStats",
        "SourceCounters",
    ),
    "full": (),  # the set is made of sections
}
# Beside the hardware counters: one pass samples stalls, one runs the patched code. Measured on an
# H200, as is the whole set: docs/decisions/0005.
_MORE_PASSES = {"quick": 0, "standard": 2}
_WHOLE_SET = {"GH100": 38}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask ncu for.

    Attributes:
        metrics: names for ``--metrics``; empty when sections are collected instead.
        sections: identifiers for ``--section``; empty when metrics are collected. Both are empty
            for ``full`` where the set has to do alone.
        notes: what is not collected and why, one sentence each.
        expected_passes: replay passes of a kernel as NVIDIA's library of metrics schedules them, None
            where it does not tell; ncu may take one more.
    """

    metrics: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    expected_passes: int | None = None


def metrics_for(
    depth: str, rules: tuple[Rule, ...] | None = None, chip: Chip | None = None
) -> tuple[str, ...]:
    """Return the metric names to collect at a depth, in a stable order.

    Args:
        depth: ``quick`` (utilisation, traffic, occupancy), ``standard`` (every rule fed) or
            ``full`` (ncu's own full set; the names returned are those it lacks).
        rules: rules whose requirements to cover; the whole catalogue when None.
        chip: the GPU's, to name only what it has; None for every spelling of every chip.
    """
    return tuple(name for name in _wanted(depth, rules, chip) if _exists(name, chip))


def plan_for(
    depth: str,
    rules: tuple[Rule, ...] | None = None,
    capability: str | tuple[int, int] | None = None,
    ncu_version: str | None = None,
) -> Plan:
    """Choose what to ask this ncu for on this GPU.

    Args:
        depth: as for :func:`metrics_for`.
        rules: as for :func:`metrics_for`.
        capability: compute capability, ``"9.0"`` or ``(9, 0)``; None when not known.
        ncu_version: as ncu prints it, e.g. ``2025.3.1.0``; None when not known.

    Returns:
        Metrics, or ncu's own sections where the table of metrics does not reach: a GPU it does
        not have, or an ncu older than any it was made with.
    """
    chip = None if capability is None else chips.chip_of(capability)
    reason = _out_of_reach(capability, chip, ncu_version)
    if reason is not None:
        return Plan(sections=_SECTIONS[depth], notes=(reason,))
    wanted = _wanted(depth, rules, chip)
    metrics = tuple(name for name in wanted if _exists(name, chip))
    return Plan(
        metrics=metrics,
        notes=_notes(chip, lost(wanted, metrics)),
        expected_passes=_expected(depth, chip, metrics),
    )


def in_ranges(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the metrics that ncu takes for what is more than one kernel.

    Without them are counters that it patches into the code: for a range, and for a CUDA graph as a
    whole, one of them ends ncu 2025.3 with an error.
    """
    return tuple(name for name in metrics if not name.startswith("sm__sass_"))


def lost(wanted: tuple[str, ...], metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that were left out with nothing of the same meaning in their place."""
    there = {_meaning(name) for name in metrics}
    return tuple(name for name in wanted if _meaning(name) not in there)


def _wanted(depth: str, rules: tuple[Rule, ...] | None, chip: Chip | None) -> tuple[str, ...]:
    if depth == "quick":
        return _unique(
            (*_QUICK, *_tensor_peaks(chip), *_ask((*_TRAFFIC_SHOWN, *_QUICK_SHOWN), chip))
        )
    catalogue = registry() if rules is None else rules
    required = [quantity for item in catalogue for quantity in item.requires]
    shown = (*_TRAFFIC_SHOWN, *_SHOWN, *(q for q in required if _must_be_asked_for(q)))
    return _unique(
        (
            *_QUICK,
            *_tensor_peaks(chip),
            *(m.elapsed(base) for base in STANDARD_UNITS),
            *_ask(shown, chip),
            *_DIVERGENCE,
            *_STALLS,
            *_OPCODES,
        )
    )


def _tensor_peaks(chip: Chip | None) -> tuple[str, ...]:
    sparse = any(_exists(name, chip) for name in _TENSOR_PEAKS)
    return _TENSOR_PEAKS if sparse else _TENSOR_PEAKS_BEFORE_SPARSITY


def _out_of_reach(
    capability: str | tuple[int, int] | None, chip: Chip | None, ncu_version: str | None
) -> str | None:
    """Say why single metrics cannot be chosen, None where they can."""
    instead = "ncu's own sections are collected instead, in more passes"
    if ncu_version is not None and chips.too_old(ncu_version):
        return f"ncu {ncu_version} is older than kprof's table of metrics ({chips.oldest_ncu()}): {instead}"
    if capability is not None and chip is None:
        shown = capability if isinstance(capability, str) else ".".join(map(str, capability))
        return f"compute capability {shown} is not in kprof's table of metrics: {instead}"
    return None


def _notes(chip: Chip | None, missing: tuple[str, ...]) -> tuple[str, ...]:
    if chip is None or not missing:
        return ()
    named = f"{chip.name}, as far as is known" if chip.inferred else chip.name
    listed = ", ".join(dict.fromkeys(map(_as_family, missing)))
    return (
        f"not measured, because compute capability {chip.capability} ({named}) has no such "
        f"counter: {listed}",
    )


def _expected(depth: str, chip: Chip | None, metrics: tuple[str, ...]) -> int | None:
    # What somebody's own rules need beside the catalogue may cost more.
    if chip is None or not set(metrics) <= set(metrics_for(depth, chip=chip)):
        return None
    if depth == "full":
        return _WHOLE_SET.get(chip.name)
    counted = chip.passes(depth)
    return None if counted is None else counted + _MORE_PASSES[depth]


def _exists(name: str, chip: Chip | None) -> bool:
    return chip is None or chip.has(name)


def _meaning(name: str) -> str:
    """Return what several spellings of one thing have in common."""
    return m.UNIT_CLASS.get(name) or _as_family(name)


def _as_family(name: str) -> str:
    """Return ``sm__ops_path_tensor*.sum.peak_sustained`` for each spelling of that."""
    prefix = next((prefix for prefix in _SPELLINGS if name.startswith(prefix)), None)
    return name if prefix is None else f"{prefix}*.{name.partition('.')[2]}"


def _must_be_asked_for(quantity: Quantity) -> bool:
    """Say whether ncu has to be told: launch values are free, maxima and ratios planned above."""
    if isinstance(quantity, m.Largest) or not quantity.collected:
        return False
    covered = {*_QUICK, *_DIVERGENCE, *_STALLS}
    return not any(
        all(name in covered or name.startswith(("launch__", "device__", "smsp__pcsamp"))
            for name in way.collects)
        for way in quantity.ways
    )  # fmt: skip


def _ask(quantities: tuple[Quantity, ...], chip: Chip | None) -> tuple[str, ...]:
    return tuple(name for item in quantities for name in _way(item, chip).collects)


def _way(quantity: Quantity, chip: Chip | None) -> Way:
    """Return the first way the chip has everything for; the first of all where it has none."""
    possible = (w for w in quantity.ways if all(_exists(name, chip) for name in w.collects))
    return next(possible, quantity.ways[0])


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
