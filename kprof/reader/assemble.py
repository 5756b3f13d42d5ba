"""The answers of the reading process as one :class:`~kprof.model.profile.Profile`."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

from kprof.model.profile import Collection, Device, Kernel, Profile, Source
from kprof.reader.job import NO_MEMORY, Lost, Outcome, Part

_PASSES = "profiler__replayer_passes"
_PLAN_ONLY = "dram__bytes.sum"


def assemble(source: Source, outcome: Outcome, notes: Sequence[str]) -> Profile:
    """Join the parts of a report, in launch order."""
    devices, kernels = _joined(outcome.parts)
    cut_off = sum(part.cut_off for part in outcome.parts)
    return Profile(
        source=replace(source, truncated=source.truncated or cut_off > 0 or bool(outcome.lost)),
        collection=_collection(kernels, counters=any(part.counters for part in outcome.parts)),
        devices=devices,
        kernels=kernels,
        notes=(*notes, *_cut_off_note(cut_off), *_lost_notes(outcome)),
    )


def _cut_off_note(cut_off: int) -> tuple[str, ...]:
    return (
        (f"Left out because they are not complete in the file: {_kernels(cut_off)}.",)
        if cut_off
        else ()
    )


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"


def _joined(parts: Sequence[Part]) -> tuple[tuple[Device, ...], tuple[Kernel, ...]]:
    found: dict[tuple[object, ...], Device] = {}
    for part in parts:
        found.update({key: device for key, device in part.devices.items() if key not in found})
    position = {key: index for index, key in enumerate(found)}
    kernels = []
    for part in parts:
        indices = [position[key] for key in part.devices]
        for kernel in part.kernels:
            device = indices[kernel.device]
            same = device == kernel.device
            kernels.append(kernel if same else replace(kernel, device=device))
    return tuple(found.values()), tuple(kernels)


def _collection(kernels: Sequence[Kernel], *, counters: bool) -> Collection:
    passes = [kernel.metrics[_PASSES] for kernel in kernels if _PASSES in kernel.metrics]
    return Collection(
        passes=round(max(passes)) if passes else None,
        depth=_depth(kernels) if counters else "survey",
    )


def _depth(kernels: Sequence[Kernel]) -> str:
    """Recognise kprof's own plans: exact byte totals, which no section has, and no breakdown."""
    own = [k for k in kernels if _PLAN_ONLY in k.metrics and not k.breakdowns]
    if not own:
        return "sections"
    return "standard" if any(kernel.opcodes for kernel in own) else "quick"


def _lost_notes(outcome: Outcome) -> list[str]:
    notes = [_lost_note(gap) for gap in outcome.lost]
    if outcome.undescribed:
        notes.append(
            "Some instructions are shown without their text: NVIDIA's report library broke on them."
        )
    return notes


def _lost_note(gap: Lost) -> str:
    """Say which kernels are missing and why, as one sentence."""
    several = gap.stop - gap.start > 1
    which = f"Kernels {gap.start} to {gap.stop - 1}" if several else f"Kernel {gap.start}"
    return f"{which} could not be read: {death(gap.status)}."


def death(status: int) -> str:
    """Say how a reading process ended."""
    if status == NO_MEMORY:
        return "the reader ran out of memory"
    if status >= 0:
        return "its contents cannot be decoded"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"NVIDIA's report library broke ({name})"
