"""Run the rules over a profile and put the verdict together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from kprof import (
    limiter,
    occupancy_curves,
    ordering,
    quality,
    roofline,
    sharedmem,
    source_text,
    source_view,
    stall_tree,
    stalls,
)
from kprof import metrics as m
from kprof.model import (
    Caches,
    ClockHz,
    Collection,
    Confidence,
    DeviceReport,
    Finding,
    Kernel,
    KernelReport,
    Profile,
    Report,
    Resource,
    Severity,
    Skipped,
    SourceFile,
    Throughput,
)
from kprof.rule import Rule, registry

SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low", "info")
WORDS = tuple(get_args(alias) for alias in (Severity, Confidence, Resource))
PIPES = ("fma", "alu", "fp64", "fp16", "xu", "tensor")
PIPE_METRICS = {
    "lsu": "sm__inst_executed_pipe_lsu",
    "adu": "sm__inst_executed_pipe_adu",
    "cbu": "sm__inst_executed_pipe_cbu_pred_on_any",
    "uniform": "sm__inst_executed_pipe_uniform",
    "tex": "sm__inst_executed_pipe_tex",
    "tma": "sm__pipe_tma_cycles_active",
}


def diagnose(
    profile: Profile,
    rules: Sequence[Rule] | None = None,
    *,
    kernel: re.Pattern[str] | None = None,
) -> Report:
    """Diagnose every kernel of a profile.

    Args:
        profile: what the reader returned.
        rules: the rules to run; the whole catalogue when None.
        kernel: keep only kernels whose demangled name this pattern is found in.
    """
    catalogue = registry() if rules is None else tuple(rules)
    if kernel is not None:
        kept = (item for item in profile.kernels if kernel.search(item.demangled or item.name))
        profile = replace(profile, kernels=tuple(kept))
    most = source_view.allowances(profile.kernels)
    reports = tuple(
        _kernel_report(item, catalogue, profile.collection, shown)
        for item, shown in zip(profile.kernels, most, strict=True)
    )
    return Report(
        source=profile.source,
        collection=profile.collection,
        devices=tuple(_device_report(profile, index) for index in range(len(profile.devices))),
        kernels=reports,
        notes=profile.notes,
        files=_files(profile),
    )


def _files(profile: Profile) -> tuple[SourceFile, ...]:
    """Return the texts that belong to the kernels left."""
    wanted = frozenset(source_text.named(profile)) if profile.files else frozenset()
    return tuple(item for item in profile.files if item.file in wanted)


def _kernel_report(
    kernel: Kernel, rules: Sequence[Rule], how: Collection, most: tuple[int, int]
) -> KernelReport:
    roof = roofline.roofline(kernel)
    bound = limiter.bound(kernel)
    found, clear, skipped = _run(kernel, rules)
    return KernelReport(
        index=kernel.index,
        name=kernel.name,
        demangled=kernel.demangled,
        device=kernel.device,
        workload=kernel.workload,
        bound=bound,
        launch=kernel.launch,
        nvtx=kernel.nvtx,
        duration_s=kernel.duration_s,
        limiter=limiter.limiter(kernel),
        depth=how.depth,
        throughput=_throughput(kernel),
        occupancy=occupancy_curves.occupancy_report(kernel),
        caches=Caches(m.L1_HIT.read(kernel.metrics), m.L2_HIT.read(kernel.metrics)),
        stalls=stalls.stalls(kernel),
        pipes=_pipes(kernel),
        shared_memory=sharedmem.shared_memory(kernel),
        roofline=roof,
        findings=ordering.ordered(found, bound),
        clear=clear,
        skipped=skipped,
        quality=quality.quality(kernel, roof, how),
        opinions=kernel.opinions,
        source=source_view.source_view(kernel, most),
        stall_tree=stall_tree.stall_tree(kernel),
    )


def findings(kernel: Kernel, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Return what these rules find, in their order."""
    return tuple(_run(kernel, rules)[0])


def _run(
    kernel: Kernel, rules: Iterable[Rule]
) -> tuple[list[Finding], tuple[str, ...], tuple[Skipped, ...]]:
    """Run the rules; one that lacks data or fails is named, and the others still run."""
    findings: list[Finding] = []
    clear: list[str] = []
    skipped: list[Skipped] = []
    inflated = limiter.has_inflated_duration(kernel)
    for item in rules:
        missing = ("the kernel's own duration",) if inflated else item.missing(kernel)
        if missing:
            skipped.append(Skipped(item.name, missing))
            continue
        try:
            found = _checked(item.check(kernel))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a rule may fail in any way; nothing else is lost
            skipped.append(
                Skipped(item.name, (f"the rule failed: {type(error).__name__}: {error}",))
            )
            continue
        if found is None:
            clear.append(item.name)
        else:
            findings.append(_graded(found, kernel))
    told = ordering.without_general(findings)
    clear += [item.rule for item in findings if item not in told]
    return told, tuple(clear), tuple(skipped)


def _graded(found: Finding, kernel: Kernel) -> Finding:
    """Take severity back where the kernel is too short to matter, or the cause is uncertain."""
    most: Severity = "high"
    if kernel.duration_s is not None and kernel.duration_s < limiter.LAUNCH_BOUND_S:
        most = "low"
    elif found.confidence == "low":
        most = "medium"
    if SEVERITIES.index(found.severity) >= SEVERITIES.index(most):
        return found
    return replace(found, severity=most)


def _checked(found: Finding | None) -> Finding | None:
    """Refuse a finding that nobody could read: a number that is none, a word of its own making."""
    if found is not None:
        if not isinstance(found, Finding):
            raise TypeError(f"it returned {type(found).__name__}, not a Finding")
        for word, known in zip(
            (found.severity, found.confidence, found.resource), WORDS, strict=True
        ):
            if word not in known:
                raise ValueError(f"{word!r} is not one of {', '.join(known)}")
        numbers = [evidence.value for evidence in found.evidence]
        if found.estimated_speedup is not None:
            numbers += [found.estimated_speedup.low, found.estimated_speedup.high]
        numbers += [place.share for place in found.source]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError("its finding holds NaN or infinity")
    return found


def _throughput(kernel: Kernel) -> Throughput:
    return Throughput(
        compute_pct=m.COMPUTE_SOL.read(kernel.metrics),
        memory_pct=m.MEMORY_SOL.read(kernel.metrics),
        dram_pct=m.DRAM_PCT.read(kernel.metrics),
        l2_pct=m.L2_PCT.read(kernel.metrics),
        l1_pct=m.L1_PCT.read(kernel.metrics),
    )


def _pipes(kernel: Kernel) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in PIPES:
        unit = limiter.busiest(kernel, (kind,))
        if unit is not None:
            found[kind] = unit.pct
    for name, base in PIPE_METRICS.items():
        value = kernel.metrics.get(m.elapsed(base))
        if value is not None:
            found[name] = value
    return found


def _device_report(profile: Profile, index: int) -> DeviceReport:
    """Return a GPU with the clocks and roofs of its longest kernels (the steadiest to read)."""
    device = profile.devices[index]
    mine = sorted(
        (kernel for kernel in profile.kernels if kernel.device == index),
        key=lambda kernel: -(kernel.duration_s or 0.0),
    )
    ceilings: dict[str, float] = {}
    for kernel in mine:
        for name, value in roofline.ceilings(kernel).items():
            ceilings.setdefault(name, value)
    return DeviceReport(
        name=device.name,
        compute_capability=device.compute_capability,
        sm_count=device.sm_count,
        clock_hz=ClockHz(
            sm=_first(m.SM_CLOCK.read(kernel.metrics) for kernel in mine),
            dram=_first(m.DRAM_CLOCK.read(kernel.metrics) for kernel in mine),
        ),
        ceilings=ceilings,
    )


def _first(values: Iterable[float | None]) -> float | None:
    return next((value for value in values if value is not None), None)
