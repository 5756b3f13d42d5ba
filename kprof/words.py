"""Plain words for the terms of the model: bounds, stall reasons, pipes, severities.

A term that is not listed (a new chip's pipe, a plug-in's resource) reads as itself with
underscores as spaces, so nothing is ever lost for want of a word.
"""

from __future__ import annotations

from kprof.model import Finding, KernelReport, Occupancy, Speedup
from kprof.units import count, percent, speedup

BOUNDS = {
    "dram": "DRAM",
    "l2": "L2 cache",
    "l1": "L1 cache",
    "shared": "Shared memory",
    "fp64": "FP64",
    "fp32": "FP32",
    "fp16": "FP16",
    "tensor": "Tensor cores",
    "int": "Integer",
    "xu": "Special functions",
    "issue": "Issue slots",
    "latency": "Latency",
    "launch": "Launch size",
    "balanced": "Balanced",
    "unknown": "Unknown",
    "unprofiled": "Not profiled in depth",  # no bound of the model: see limit()
}

_BUSY = {
    "dram": "DRAM bandwidth",
    "l2": "L2 cache bandwidth",
    "l1": "The L1 cache",
    "shared": "Shared memory",
    "fp64": "The FP64 pipe",
    "fp32": "The FP32 pipe",
    "fp16": "The FP16 pipe",
    "tensor": "The tensor pipe",
    "int": "The integer pipe",
    "xu": "The special-function pipe",
    "issue": "The instruction issue rate",
}

_RESOURCES = {
    "dram": "DRAM",
    "l2": "the L2 cache",
    "l1": "the L1 cache",
    "shared": "shared memory",
    "issue": "instruction issue",
    "math": "a math pipe",
    "int": "the integer pipe",
    "xu": "the special-function pipe",
    "fp64": "the FP64 pipe",
    "fp32": "the FP32 pipe",
    "fp16": "the FP16 pipe",
    "tensor": "the tensor pipe",
}

_STALLS = {
    "long_scoreboard": "waiting for global or local memory",
    "short_scoreboard": "waiting for shared memory or special functions",
    "mio_throttle": "shared-memory and special-function queue full",
    "lg_throttle": "global-memory queue full",
    "tex_throttle": "texture queue full",
    "math_pipe_throttle": "math pipe busy",
    "barrier": "waiting at a block barrier",
    "membar": "waiting at a memory fence",
    "wait": "fixed-latency dependency",
    "no_instruction": "instruction fetch",
    "no_instructions": "instruction fetch",
    "branch_resolving": "resolving a branch",
    "imc_miss": "constant-cache miss",
    "drain": "draining stores at exit",
    "dispatch_stall": "dispatcher stalled",
    "sleeping": "sleeping",
    "gmma": "waiting for warp-group matrix instructions",
    "warpgroup_arrive": "waiting for the warp group",
    "not_selected": "ready, another warp was picked",
    "selected": "issuing",
    "misc": "other reasons",
}

_OPENINGS = {
    "latency": "No unit reached 60 %, and no rule explains why with the data there is",
    "launch": "No unit reached 60 %, and no rule explains why with the data there is",
    "unknown": "What was busy is not known, and no rule explains the time with the data there is",
}

# The limit where no unit is busy on average, by the rule that found it.
_ELSEWHERE = {
    "tail-effect": "SMs without work are the limit",
    "workload-imbalance": "SMs without work are the limit",
    "cluster-limited-occupancy": "SMs without work are the limit",
    "remote-memory-traffic": "The link to memory outside this GPU is the limit",
    "partition-camping": "One slice of the memory system is the limit",
    "atomic-contention": "Atomic updates that wait for each other are the limit",
}

# From here on a unit is at its roof, and nothing but less work for it helps: NVIDIA rule SOLBottleneck
# (ncu 2025.3) calls it high throughput.
_ROOF_PCT = 80.0
# Below this NVIDIA's rules (TheoreticalOccupancy, ncu 2025.3) ask for more warps.
_LOW_OCCUPANCY_PCT = 80.0
_ONLY = {
    "dram": "only fewer bytes from and to device memory help",
    "l2": "only fewer bytes between L2 and the SMs help",
    "l1": "only less work for the L1 cache helps",
    "shared": "only less work for shared memory helps",
    "issue": "only fewer instructions help",
}

NO_GAIN = "no gain expected from this alone"

_FULL_PCT = 99.9  # theoretical occupancy that leaves no warp slot empty
_PRECISIONS = {"fp64", "fp32", "fp16", "bf16", "tf32", "fp8", "fp4", "int8", "int4", "int1"}
_ACRONYMS = {
    "alu", "adu", "cbu", "fma", "fp16", "fp32", "fp64", "lsu", "xu", "tex", "tma", "dram", "l1",
    "l2", "gpu", "sm",
}  # fmt: skip


def spoken(term: str) -> str:
    """Return a term of the model as words: ``shared_memory`` is ``shared memory``."""
    words = term.replace("_", " ").split()
    return " ".join(word.upper() if word in _ACRONYMS else word for word in words)


def bound_label(bound: str) -> str:
    """Return a bound's short label: ``dram`` is ``DRAM``."""
    return BOUNDS.get(bound, spoken(bound))


def limit(kernel: KernelReport) -> str:
    """Return the kernel's bound; ``unprofiled`` where a survey timed it and did not look for one."""
    timed = kernel.depth == "survey" and kernel.bound == "unknown"
    return "unprofiled" if timed else kernel.bound


def stall_meaning(reason: str) -> str:
    """Return what warps with this stall reason wait for, empty where kprof has no word."""
    return _STALLS.get(reason, "")


def roof_label(roof: str) -> str:
    """Return a roof's label: ``tensor_bf16`` is ``Tensor BF16``, ``dram`` is ``DRAM``."""
    family, _, kind = roof.partition("_")
    if family == "tensor":
        parts = kind.split("_")
        return "Tensor " + " ".join(p.upper() if p in _PRECISIONS else p for p in parts)
    return {"dram": "DRAM", "l2": "L2", "l1": "L1"}.get(roof, roof.upper())


def traffic_label(level: str) -> str:
    """Say what a memory level's traffic counts; stores are not in the first two."""
    counted = {
        "dram": "DRAM (reads and writes)",
        "l2": "L2 to SM (reads)",
        "l1": "L1 to registers (reads)",
    }
    return counted.get(level, roof_label(level))


def unit_label(resource: str) -> str:
    """Return the name of a class of units: ``math`` is ``A math pipe``."""
    return BOUNDS.get(resource) or _RESOURCES.get(resource, spoken(resource)).capitalize()


def occupancy_limit(occupancy: Occupancy) -> str | None:
    """Say what limits the theoretical occupancy, None when that is not known."""
    if occupancy.limiters:
        return ", ".join(spoken(limiter) for limiter in occupancy.limiters)
    full = occupancy.theoretical_pct is not None and occupancy.theoretical_pct >= _FULL_PCT
    return "nothing: every warp slot can be filled" if full else None


def standing(finding: Finding) -> str:
    """Return a finding's severity, or what a statement without a problem says instead."""
    if finding.severity != "info":
        return finding.severity
    return "at the limit" if at_the_limit(finding) else "note"


def at_the_limit(finding: Finding) -> bool:
    """Whether a finding is the verdict that a unit is as busy as it gets, not a problem."""
    busy = finding.resource not in {"latency", "launch", "occupancy"}
    return finding.severity == "info" and busy and finding.rule.endswith("-bound")


def gain(estimate: Speedup) -> str:
    """Say what a fix could bring: ``up to 1.3× as fast, estimated``."""
    times = speedup(estimate.low, estimate.high)
    if times == speedup(1.0, 1.0):
        return NO_GAIN
    return f"{times} as fast, estimated"


def has_foreign_duration(kernel: KernelReport) -> bool:
    """Say whether no verdict is drawn because the duration is not the kernel's own (gate Q10)."""
    return any(note.check == "inflated-duration" for note in kernel.quality)


def verdict(kernel: KernelReport) -> str:
    """Say in one sentence what limits the kernel, without advice."""
    if limit(kernel) == "unprofiled":
        return "Not profiled in depth: only its duration is known."
    if kernel.bound == "unknown":
        why = "the report lacks the counters that would tell"
        if has_foreign_duration(kernel):
            why = "the time measured is not its own"
        return f"What limits this kernel is unknown: {why}."
    if kernel.bound in _BUSY:
        tail = f", at {percent(kernel.limiter.pct)} of its peak" if kernel.limiter else ""
        return f"{_BUSY[kernel.bound]} is the limit{tail}."
    elsewhere = _elsewhere(kernel) if kernel.bound == "latency" else None
    if elsewhere is not None:
        return f"{elsewhere}{_busiest(kernel, 'only ', 'on average ')}."
    causes = {
        "latency": "Latency is the limit",
        "launch": "The launch is too small to keep the GPU busy",
    }
    cause = causes.get(kernel.bound, "No single unit is the limit")
    return f"{cause}{_busiest(kernel, 'only ' if kernel.bound in causes else '')}."


def _elsewhere(kernel: KernelReport) -> str | None:
    """Say what the limit is where the first finding knows that it is not latency."""
    first = kernel.findings[0] if kernel.findings else None
    if first is None or first.severity not in {"high", "medium"}:
        return None
    return _ELSEWHERE.get(first.rule)


def standstill(kernel: KernelReport) -> tuple[str, ...]:
    """Say what is no use to try: what a unit at its roof leaves, and more warps where it is full.

    Both are statements about the kernel as it is; a finding can still take work from the unit.
    """
    top = kernel.limiter
    if top is None or kernel.bound not in _BUSY or top.pct < _ROOF_PCT:
        return ()
    only = _ONLY.get(kernel.bound, "only fewer or cheaper operations help")
    said = [f"At the roof: {only}."]
    allowed, reached = kernel.occupancy.theoretical_pct, kernel.occupancy.achieved_pct
    known = [pct for pct in (allowed, reached) if pct is not None]
    if known and min(known) < _LOW_OCCUPANCY_PCT:
        said.append(
            f"Occupancy is enough here, at {percent(min(known), 0)}: more warps would wait for the same unit."
        )
    return tuple(said)


def unexplained(kernel: KernelReport) -> str:
    """Say plainly that no rule found a cause, how far that goes and what to collect."""
    done, lacking = len(kernel.clear), len(kernel.skipped)
    advice = _collect(kernel, lacking)
    if not done:
        return f"No rule had the data it needs: nothing is known to be wrong or right. {advice}"
    opening = _OPENINGS.get(kernel.bound, "No rule found a cause")
    found = f"{count(done, 'rule')} had the data and found nothing"
    rest = f", {count(lacking, 'rule')} could not be evaluated: not a clean bill" if lacking else ""
    return f"{opening}: {found}{rest}. {advice}".strip()


def _collect(kernel: KernelReport, lacking: int) -> str:
    if (lacking or not kernel.clear) and kernel.depth not in {"standard", "full"}:
        return "`kprof profile --depth standard` collects what the rules need."
    if lacking or not kernel.clear:
        return "The counters they lack were not to be had from this launch."
    return (
        "" if kernel.bound in _BUSY else "The stall reasons and the source are where to look next."
    )


def _busiest(kernel: KernelReport, only: str, on_average: str = "") -> str:
    if kernel.limiter is None:
        return ""
    unit = _RESOURCES.get(kernel.limiter.resource, spoken(kernel.limiter.resource))
    return f": {on_average}the busiest unit, {unit}, reached {only}{percent(kernel.limiter.pct)} of its peak"
