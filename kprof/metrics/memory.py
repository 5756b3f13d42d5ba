"""Traffic per level, shared memory, global and local accesses, caches.

Formulas are those of NVIDIA's own roofline sections
(``SpeedOfLight_HierarchicalSingleRooflineChart``, ncu 2025.3).
"""

from __future__ import annotations

from kprof.metrics import opcodes
from kprof.metrics.execution import NS
from kprof.metrics.hardware import elapsed
from kprof.quantity import Quantity, Way, either, plain


def _traffic(
    name: str, counter: str, meaning: str, scale: float = 1.0, extra: tuple[Way, ...] = ()
) -> Quantity:
    """Bytes from an exact total, else from a rate and the duration (section-set reports)."""
    exact = Way((counter,), lambda total: total * scale, converts=scale != 1.0)
    rate = Way(
        (counter + ".per_second", "gpu__time_duration.sum"),
        lambda per_second, ns: per_second * scale * ns * NS,
    )
    return Quantity(name, meaning, "byte", (exact, *extra, rate))


def _sum(*names: str) -> Way:
    return Way(names, lambda *values: sum(values))


DRAM_BYTES = _traffic(
    "dram_bytes",
    "dram__bytes.sum",
    "bytes moved between L2 and device memory",
    extra=(
        _sum("dram__bytes_read.sum", "dram__bytes_write.sum"),
        _sum("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
    ),
)
L2_BYTES = _traffic(
    "l2_bytes",
    "lts__lts2xbar_cycles_active.sum",
    "bytes returned from L2 to the SMs (32 per active return cycle)",
    scale=32.0,
)
_WRITEBACK = (
    "l1tex__lsu_writeback_active_mem_lgds.sum",
    "l1tex__lsu_writeback_active_mem_lg.sum",
    "l1tex__lsu_writeback_active.sum",
)
L1_BYTES = Quantity(
    "l1_bytes",
    "bytes returned from L1 to the registers (128 per active write-back cycle)",
    "byte",
    tuple(
        way for counter in _WRITEBACK for way in _traffic("l1_bytes", counter, "", scale=128.0).ways
    ),
)
DRAM_PEAK = plain(
    "dram_peak",
    "dram__bytes.sum.peak_sustained",
    "device memory peak per memory clock",
    "byte/cycle",
)
L2_PEAK = plain(
    "l2_peak",
    "lts__lts2xbar_cycles_active.sum.peak_sustained",
    "L2 return cycles at peak, per L2 clock",
    "",
)
L1_PEAK = either(
    "l1_peak",
    tuple(f"{counter}.peak_sustained" for counter in _WRITEBACK),
    "L1 write-back cycles at peak, per SM clock",
    "",
)

SHARED_WAVEFRONTS = plain(
    "shared_wavefronts",
    "memory_l1_wavefronts_shared",
    "shared-memory wavefronts the accessed addresses need",
    "wavefront",
)
SHARED_WAVEFRONTS_IDEAL = plain(
    "shared_wavefronts_ideal",
    "memory_l1_wavefronts_shared_ideal",
    "wavefronts of the same accesses without bank conflicts, by access width",
    "wavefront",
)
SHARED_WAVEFRONTS_HARDWARE = plain(
    "shared_wavefronts_hardware",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared-memory wavefronts the data stage counted",
    "wavefront",
)
L1_WAVEFRONTS = Quantity(
    "l1_wavefronts",
    "all wavefronts through the L1 data stage",
    "wavefront",
    (
        Way(("l1tex__data_pipe_lsu_wavefronts.sum",), float),
        # One wavefront per SM and cycle at peak.
        Way(
            (elapsed("l1tex__data_pipe_lsu_wavefronts"), "l1tex__cycles_elapsed.sum"),
            lambda pct, cycles: pct / 100.0 * cycles,
        ),
        Way(
            (
                elapsed("l1tex__data_pipe_lsu_wavefronts"),
                "sm__cycles_elapsed.avg.per_second",
                "gpu__time_duration.sum",
                "device__attribute_multiprocessor_count",
            ),
            lambda pct, hertz, ns, sms: pct / 100.0 * hertz * ns * NS * sms,
        ),
    ),
)

GLOBAL_SECTORS = plain(
    "global_sectors",
    "memory_l2_theoretical_sectors_global",
    "32-byte sectors the global accesses touch, before any cache",
    "sector",
)
GLOBAL_SECTORS_IDEAL = plain(
    "global_sectors_ideal",
    "memory_l2_theoretical_sectors_global_ideal",
    "sectors the same accesses would touch fully coalesced",
    "sector",
)
LOCAL_SECTORS = plain(
    "local_sectors",
    "memory_l2_theoretical_sectors_local",
    "32-byte sectors of local memory (spills, indexed arrays, stack)",
    "sector",
)
SPILL_INSTRUCTIONS = plain(
    "spill_instructions",
    "sass__inst_executed_register_spilling",
    "warp instructions that spill or refill registers",
    "inst",
)
WARP_INSTRUCTIONS = either(
    "warp_instructions",
    ("smsp__inst_executed.sum", "inst_executed"),
    "instructions executed, per warp",
    "inst",
)
L1_HIT = plain("l1_hit", "l1tex__t_sector_hit_rate.pct", "sectors found in L1", "%")
L2_SIZE = plain("l2_size", "device__attribute_l2_cache_size", "what L2 holds", "byte")
L2_HIT = plain("l2_hit", "lts__t_sector_hit_rate.pct", "sectors found in L2", "%")
GLOBAL_ATOMICS = Quantity(
    "global_atomics",
    "atomic updates of global memory (ATOM, ATOMG, RED, REDG), predicated-on threads only",
    "inst",
    (Way((opcodes.GLOBAL_ATOMICS,), float, asked=(opcodes.THREAD_OPCODES,)),),
)

# Fit into the passes of ``standard``, measured on an H200.
L2_SLICE_UNEVENNESS = Quantity(
    "l2_slice_unevenness",
    "sectors of the busiest L2 slice over the mean",
    "",
    (
        Way(("lts__t_sectors.max", "lts__t_sectors.avg"), lambda most, mean: most / mean),
        Way(("lts__cycles_active.max", "lts__cycles_active.avg"), lambda most, mean: most / mean),
    ),
)
DRAM_CHANNEL_UNEVENNESS = Quantity(
    "dram_channel_unevenness",
    "active cycles of the busiest channel of device memory over the mean",
    "",
    (Way(("dram__cycles_active.max", "dram__cycles_active.avg"), lambda most, mean: most / mean),),
)
_MISSES = "lts__t_sectors_srcunit_tex{}_lookup_miss.sum"
SYSMEM_MISSES = either(
    "sysmem_misses",
    (_MISSES.format("_aperture_sysmem"),),
    "sectors that L2 fetches from the host's memory",
    "sector",
)
PEER_MISSES = either(
    "peer_misses",
    (_MISSES.format("_aperture_peer"),),
    "sectors that L2 fetches from another GPU",
    "sector",
)
L2_MISSES = either("l2_misses", (_MISSES.format(""),), "sectors L2 does not have", "sector")
