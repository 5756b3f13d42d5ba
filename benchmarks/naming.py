"""Which of NVIDIA's rule results would name the cause that a sample is planted with.

Generous on purpose: a result counts when somebody who acts on it would find the cause, also where
its words are about the symptom. What a result says decides, not which section it is of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """A result of one of NVIDIA's rules.

    Attributes:
        rule: identifier, e.g. ``CPIStall``.
        title: e.g. ``Barrier Stalls``; the rule's name where the result has none.
        message: cleaned of markup.
        saved_pct: the estimate as it is stored: percent of the time saved, None without one.
    """

    rule: str
    title: str
    message: str
    saved_pct: float | None = None


@dataclass(frozen=True)
class Naming:
    """Results that count as naming a cause.

    Attributes:
        why: in a few words.
        results: pattern of ``rule: title`` from the start; with a second pattern, only results
            whose message holds that.
    """

    why: str
    results: tuple[tuple[str, str], ...]

    def names(self, result: Result) -> bool:
        """Say whether a result names the cause."""
        return any(
            re.match(head, f"{result.rule}: {result.title}") and re.search(words, result.message)
            for head, words in self.results
        )


# Said of nearly every kernel that is not at a roof, or of every kernel (compression): no cause.
GENERIC = re.compile(
    r"IssueSlotUtilization|HighPipeUtilization: (Low|Balanced)|MemoryL2Compression"
    r"|AchievedOccupancy|SOLFPRoofline: Roofline|PMSamplingData|CPIStall: Warp Stall"
)
_BUSY_PIPE = (r"HighPipeUtilization: (Very )?High", "")
_COMPUTE = (r"SOLBottleneck: High", r"Compute Workload Analysis")
_THROTTLED = (r"CPIStall: Math Pipe", "")
_SMALL = (r"(SOLBottleneck|LaunchConfiguration): Small Grid", "")
_LOADS = (r"CPIStall: Long Scoreboard", "")
_OCCUPANCY = Naming(
    "the rule for theoretical occupancy, whichever resource it blames",
    ((r"TheoreticalOccupancy", ""),),
)


def is_generic(result: Result) -> bool:
    """Say whether the rules say this of nearly every kernel."""
    return GENERIC.match(f"{result.rule}: {result.title}") is not None


NAMING: dict[str, Naming] = {
    "achieved-occupancy-gap": Naming(
        "achieved below theoretical occupancy, or the imbalance behind it",
        ((r"AchievedOccupancy", ""), (r"WorkloadImbalance", "")),
    ),
    "atomic-contention": Naming(
        "any result that speaks of atomics, or of the queue that they fill",
        ((r"", r"(?i)\batomic"), (r"CPIStall: Lg Throttle", "")),
    ),
    "barrier-stalls": Naming(
        "waits at a barrier, or the advice for kernels with __syncthreads()",
        ((r"CPIStall: Barrier", ""), (r"LaunchConfiguration", r"__syncthreads")),
    ),
    "cluster-limited-occupancy": Naming(
        "the rule for theoretical occupancy, or any result that speaks of clusters",
        ((r"TheoreticalOccupancy", ""), (r"", r"(?i)\bcluster")),
    ),
    "compute-bound": Naming(
        "a busy pipe, waits for it, or compute as the busier half",
        (_BUSY_PIPE, _COMPUTE, _THROTTLED),
    ),
    "dependency-stalls": Naming("waits for a fixed latency", ((r"CPIStall: Wait", ""),)),
    "fp64-usage": Naming(
        "FP64 beside FP32, or a busy pipe that is said to be FP64",
        ((r"SOLFPRoofline: FP64/32", ""), (_BUSY_PIPE[0], r"FP64"), (r"FPInstructions: FP64", "")),
    ),
    "grid-too-small": Naming("the grid is small", (_SMALL,)),
    "instruction-cache-misses": Naming(
        "waits for instructions or for constants", ((r"CPIStall: (No Instruction|Imc)", ""),)
    ),
    "integer-bound": Naming(
        "a busy pipe that is said to execute integers", ((_BUSY_PIPE[0], r"(?i)\binteger"),)
    ),
    "issue-bound": Naming(
        "more eligible warps than slots, a busy pipe, or compute as the busier half",
        ((r"CPIStall: Not Selected", ""), _BUSY_PIPE, _COMPUTE),
    ),
    "l1-bandwidth-bound": Naming(
        "L1 as the busiest memory, its access pattern, or its full queue",
        (
            (r"SOLBottleneck: High", r"\bL1\b"),
            (r"MemoryCacheAccessPattern: L1TEX", ""),
            (r"CPIStall: Lg Throttle", ""),
        ),
    ),
    "l2-bandwidth-bound": Naming(
        "L2 as the busiest memory, or its access pattern",
        ((r"SOLBottleneck: High", r"\bL2\b"), (r"MemoryCacheAccessPattern: L2", "")),
    ),
    "launch-overhead-bound": Naming("so little work that the grid is small", (_SMALL,)),
    "local-memory-traffic": Naming(
        "the access pattern of local memory, or the queue that it shares with global memory",
        ((r"MemoryCacheAccessPattern: \w+ Local", ""), (r"CPIStall: Lg Throttle", "")),
    ),
    "low-l2-reuse": Naming(
        "the access pattern of L2, or any result about its hit rate",
        ((r"MemoryCacheAccessPattern: L2", ""), (r"", r"(?i)L2 hit rate")),
    ),
    "memory-fence-stalls": Naming("waits at a fence", ((r"CPIStall: Membar", ""),)),
    "memory-latency-bound": Naming(
        "waits for loads, or latency as the bottleneck",
        (_LOADS, (r"SOLBottleneck: Latency", "")),
    ),
    "narrow-global-access": Naming(
        "the full queue (its advice is to load wider), or the access pattern of L1",
        ((r"CPIStall: Lg Throttle", ""), (r"MemoryCacheAccessPattern: L1TEX Global", "")),
    ),
    "occupancy-limited-by-block-size": _OCCUPANCY,
    "occupancy-limited-by-registers": _OCCUPANCY,
    "occupancy-limited-by-shared-memory": _OCCUPANCY,
    "partition-camping": Naming(
        "slices of L2 or of device memory out of balance",
        ((r"WorkloadImbalance: (L2|DRAM)", ""),),
    ),
    "remote-memory-traffic": Naming(
        "any result about memory of the host or of another GPU",
        ((r"MemoryApertureUsage", ""), (r"", r"(?i)system memory|peer memory")),
    ),
    "shared-atomic-contention": Naming(
        "conflicts in shared memory, waits for it, or any result that speaks of atomics",
        (
            (r"SharedMemoryConflicts|UncoalescedSharedAccess", ""),
            (r"CPIStall: (Short Scoreboard|Mio)", ""),
            (r"", r"(?i)\batomic"),
        ),
    ),
    "shared-bank-conflicts": Naming(
        "conflicts or uncoalesced accesses in shared memory",
        ((r"SharedMemoryConflicts|UncoalescedSharedAccess", ""),),
    ),
    "special-function-bound": Naming(
        "a busy XU pipe, or waits whose text speaks of special math instructions",
        ((_BUSY_PIPE[0], r"\bXU\b"), (r"CPIStall: (Mio|Short Scoreboard)", r"special math")),
    ),
    "synchronous-tile-copy": Naming("waits for the loads of the copy", (_LOADS,)),
    "tail-effect": Naming(
        "the tail, or SMs out of balance",
        ((r"LaunchConfiguration: Tail", ""), (r"WorkloadImbalance: SM", "")),
    ),
    "tensor-core-bound": Naming(
        "a busy pipe, waits for it, or compute as the busier half",
        (_BUSY_PIPE, _COMPUTE, _THROTTLED),
    ),
    "tensor-cores-unused": Naming(
        "any result that speaks of tensor cores", ((r"", r"(?i)\btensor"),)
    ),
    "tensor-pipe-underused": Naming(
        "waits for a fixed latency (that of the matrix instruction), or for its operands",
        ((r"CPIStall: (Wait|Long Scoreboard|Short Scoreboard)", ""), (r"", r"(?i)\btensor")),
    ),
    "thread-divergence": Naming("few active threads", ((r"ThreadDivergence", ""),)),
    "uncoalesced-global-access": Naming(
        "uncoalesced accesses, or an access pattern of global memory",
        ((r"UncoalescedGlobalAccess", ""), (r"MemoryCacheAccessPattern: \w+ Global", "")),
    ),
    "unfused-multiply-add": Naming("instructions that are not fused", ((r"FPInstructions", ""),)),
    "unpacked-half": Naming(
        "a busy pipe that is said to be half precision",
        ((_BUSY_PIPE[0], r"FP16|half"), (r"FPInstructions: FP16", "")),
    ),
    "workload-imbalance": Naming(
        "work out of balance, or the occupancy that it costs",
        ((r"WorkloadImbalance", ""), (r"AchievedOccupancy", "")),
    ),
}  # fmt: skip
