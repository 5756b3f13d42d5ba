"""The units of the chip whose utilisation ncu reports, and what being busy there means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kprof.quantity import Quantity, Way

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"


def elapsed(base: str) -> str:
    """Return the full name of a unit's utilisation, percent of peak over elapsed cycles."""
    return base + ELAPSED


COMPUTE_SOL = Quantity(
    "compute_throughput",
    "NVIDIA's Compute (SM) Throughput: the busiest unit inside the SMs, memory front end included",
    "%",
    (Way((elapsed("sm__throughput"),), float),),
    collected=False,
)
MEMORY_SOL = Quantity(
    "memory_throughput",
    "NVIDIA's Memory Throughput: the busiest of L1, L2 and device memory",
    "%",
    (Way((elapsed("gpu__compute_memory_throughput"),), float),),
    collected=False,
)


@dataclass(frozen=True)
class Largest(Quantity):
    """A quantity that is the largest of whichever of its metrics are present."""

    def read(self, metrics: Mapping[str, float]) -> float | None:
        """Return the maximum over the metrics that are there, None when there is none."""
        values = [metrics[name] for name in self.names if name in metrics]
        return max(values) if values else None


def _largest(name: str, bases: Iterable[str], meaning: str) -> Largest:
    ways = tuple(Way((elapsed(base),), float) for base in bases)
    return Largest(name, meaning, "%", ways)


# Hardware units whose utilisation ncu reports, by what being busy there means. The classes are
# resolved to a bound in kprof.limiter. sm__pipe_shared is left out: it repeats the pipes it
# feeds. *_internal_activity are unnamed maxima that cannot be explained to anybody.
UNITS: dict[str, tuple[str, ...]] = {
    "dram": (
        "dram__throughput",
        "gpu__dram_throughput",
        "dram__cycles_active",
        "fbpa__dram_sectors",
    ),
    "l2": (
        "lts__t_sectors",
        "lts__d_sectors",
        "lts__t_tag_requests",
        "lts__lts2xbar_cycles_active",
        "lts__xbar2lts_cycles_active",
        "lts__d_sectors_fill_device",
        "lts__d_sectors_fill_sysmem",
        "lts__d_atomic_input_cycles_active",
        "lts__d_decomp_input_sectors",
        "l1tex__m_xbar2l1tex_read_sectors",
        "l1tex__m_xbar2l1tex_read_sectors_mem_dshared",
        "l1tex__m_l1tex2xbar_req_cycles_active",
        "syslts__t_sectors",
        "syslts__xbar2syslts_cycles_active",
        "syslts__syslts2xbar_cycles_active",
    ),
    "l1_data": (
        "l1tex__data_pipe_lsu_wavefronts",
        "l1tex__data_pipe_tex_wavefronts",
        "l1tex__data_bank_reads",
        "l1tex__data_bank_writes",
        "l1tex__lsu_writeback_active",
        "l1tex__tex_writeback_active",
        "l1tex__f_wavefronts",
        "l1tex__tmain_requests",
        "l1tex__texin_sm2tex_req_cycles_active",
    ),
    "l1_front": (
        "l1tex__lsuin_requests",
        "sm__inst_executed_pipe_lsu",
        "sm__inst_executed_pipe_tex",
        "sm__mio_inst_issued",
        "sm__mio_pq_read_cycles_active",
        "sm__mio_pq_write_cycles_active",
        "sm__mio2rf_writeback_active",
        "sm__pipe_tma_cycles_active",
        "sm__inst_executed_pipe_tma",
    ),
    "issue": (
        "sm__inst_executed",
        "sm__issue_active",
        "sm__inst_issued",
    ),
    "control": (
        "sm__inst_executed_pipe_adu",
        "sm__inst_executed_pipe_cbu",
        "sm__inst_executed_pipe_cbu_pred_on_any",
        "sm__inst_executed_pipe_uniform",
        "sm__inst_executed_pipe_ipa",
        "idc__request_cycles_active",
    ),
    "fma": (
        "sm__pipe_fma_cycles_active",
        "sm__pipe_fmaheavy_cycles_active",
        "sm__pipe_fmalite_cycles_active",
    ),
    "alu": ("sm__pipe_alu_cycles_active",),
    "fp64": ("sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"),
    "fp16": ("sm__pipe_fp16_cycles_active", "sm__inst_executed_pipe_fp16"),
    "xu": ("sm__inst_executed_pipe_xu", "sm__pipe_xu_cycles_active"),
    "tensor": (
        "sm__pipe_tensor_cycles_active",
        "sm__pipe_tensor_cycles_active_v2",
        "sm__pipe_tensor_op_hmma_cycles_active",
        "sm__pipe_tensor_op_hmma_cycles_active_v2",
        "sm__pipe_tensor_op_imma_cycles_active",
        "sm__pipe_tensor_op_dmma_cycles_active",
        "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
        "sm__pipe_tensor_subpipe_hmma_cycles_active",
        "sm__pipe_tensor_subpipe_imma_cycles_active",
        "sm__pipe_tensor_subpipe_dmma_cycles_active",
        "sm__pipe_tc_cycles_active",
    ),
}
UNIT_CLASS = {elapsed(base): kind for kind, bases in UNITS.items() for base in bases}

DRAM_PCT = _largest("dram_pct", UNITS["dram"], "device memory busy")
L2_PCT = _largest("l2_pct", UNITS["l2"], "busiest part of L2 or its crossbar")
L1_PCT = _largest(
    "l1_pct", (*UNITS["l1_data"], *UNITS["l1_front"]), "busiest part of L1 or its front end"
)
ISSUE_PCT = _largest("issue_pct", UNITS["issue"], "issue slots used")
FP64_PCT = _largest("fp64_pct", UNITS["fp64"], "FP64 pipe busy")
XU_PCT = _largest("xu_pct", UNITS["xu"], "special-function pipe busy")
TENSOR_PCT = _largest("tensor_pct", UNITS["tensor"], "tensor pipe busy")
FMA_PCT = _largest("fma_pct", UNITS["fma"], "FMA pipe busy")
L1_DATA_PCT = _largest("l1_data_pct", UNITS["l1_data"], "L1 / shared-memory data stage busy")
# Enough to say which unit is busiest: one look at every level a kernel can wait for.
COVERAGE = (DRAM_PCT, L2_PCT, L1_PCT, ISSUE_PCT)
