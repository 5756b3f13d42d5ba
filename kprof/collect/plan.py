"""Which metrics to ask ncu for, in as few replay passes as the hardware allows.

The plan is the union of what the rules require, plus what the report itself shows. On an H200
with ncu 2025.3.1 ``standard`` takes 9 passes and ``quick`` 5, where ``--set full`` takes 38
(docs/decisions/0005 has the cost of each group). ncu drops names that a chip does not have.
"""

from __future__ import annotations

from kprof import metrics as m
from kprof.quantity import Quantity
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
)
# Executed instructions and threads from the instrumented code: the hardware ratio of the same
# thing costs a pass of its own.
_DIVERGENCE = ("inst_executed", "thread_inst_executed", "thread_inst_executed_true")
_PEAKS = tuple(
    f"sm__sass_thread_inst_executed_op_{operation}_pred_on.sum.peak_sustained"
    for operation in ("ffma", "dfma", "hfma")
)
# Peaks cost no pass. Every spelling of every chip: ncu keeps those it knows.
_TENSOR_PEAKS = tuple(
    f"sm__ops_path_tensor_{path}.sum.peak_sustained"
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

_QUICK = (
    *_CLOCKS,
    *_TRAFFIC,
    *(m.elapsed(base) for base in PLANNED_UNITS),
    *_PEAKS,
    *_TENSOR_PEAKS,
)
_QUICK_SHOWN = (m.ACHIEVED_OCCUPANCY, m.ISSUE_ACTIVE, m.ELIGIBLE_WARPS, m.L1_HIT, m.L2_HIT)


def metrics_for(depth: str, rules: tuple[Rule, ...] | None = None) -> tuple[str, ...]:
    """Return the metric names to collect at a depth, in a stable order.

    Args:
        depth: ``quick`` (utilisation, traffic, occupancy), ``standard`` (every rule fed) or
            ``full`` (ncu's own full set; the names returned are those it lacks).
        rules: rules whose requirements to cover; the whole catalogue when None.
    """
    if depth == "quick":
        return _unique((*_QUICK, *_first_ways(_QUICK_SHOWN)))
    catalogue = registry() if rules is None else rules
    required = [quantity for item in catalogue for quantity in item.requires]
    return _unique(
        (
            *_QUICK,
            *(m.elapsed(base) for base in STANDARD_UNITS),
            *_first_ways((*_SHOWN, *(q for q in required if _must_be_asked_for(q)))),
            *_DIVERGENCE,
            *_STALLS,
            *_OPCODES,
        )
    )


def _must_be_asked_for(quantity: Quantity) -> bool:
    """Say whether ncu has to be told: launch values are free, maxima and ratios planned above."""
    if isinstance(quantity, m.Largest) or not quantity.collected:
        return False
    covered = {*_QUICK, *_DIVERGENCE, *_STALLS}
    return not any(
        all(name in covered or name.startswith(("launch__", "device__", "smsp__pcsamp"))
            for name in way.metrics)
        for way in quantity.ways
    )  # fmt: skip


def _first_ways(quantities: tuple[Quantity, ...]) -> tuple[str, ...]:
    return tuple(name for quantity in quantities for name in quantity.ways[0].metrics)


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
