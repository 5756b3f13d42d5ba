"""From the runs of one profile to one report of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kprof.cli import place
from kprof.cli.packing import packed
from kprof.cli.runner import Stage
from kprof.cli.staged import Measured
from kprof.collect import failures
from kprof.collect.command import Options, readable
from kprof.collect.hang import hang
from kprof.collect.stages import Read
from kprof.collect.target import Target
from kprof.model import Device, Profile, Report
from kprof.reader.standby import Standby
from kprof.rule import Rule
from kprof.source_text import Lookup, with_source


def load(
    rules: Sequence[Rule],
    path: Path,
    sources: Lookup | None = None,
    standby: Standby | None = None,
) -> Profile:
    """Read a report with what these rules need, and the sources from it or from ``sources``.

    Args:
        rules: say what to read.
        path: the report.
        sources: where else source files are.
        standby: has a worker ready, None to start one.

    Raises:
        UnreadableReport: it cannot be read.
    """
    from kprof.reader import load as read

    wanted = [n for r in rules for q in r.requires for n in q.names]
    return with_source(read(path, extra_metrics=wanted, standby=standby), path, sources)


def files(measured: Measured, folder: Path) -> dict[Path, Path]:
    """Return ncu's reports to keep, each with the place where the user looks for it."""
    found: dict[Path, Path] = {}
    last = measured.last
    if last is not None and not last.empty and last.report.exists() and not _is_survey(measured):
        found[last.report] = folder / place.REPORT
        for number, further in enumerate(measured.more, start=2):
            found[further.report] = folder / f"report-{number}.ncu-rep"
    if _has_first_alone(measured) and measured.first.report.exists():
        found[measured.first.report] = folder / place.FIRST
    if measured.followed is not None and not measured.followed.empty:
        found[measured.followed.report] = folder / "follow-up.ncu-rep"
    survey = measured.surveyed
    if survey is not None and not survey.empty:
        kept = packed(survey.report) if packed(survey.report).exists() else survey.report
        found[kept] = folder / kept.name
    return found


def finished(done: Mapping[str, Stage], folder: Path) -> dict[Path, Path]:
    """Return the same where the runs were broken off in between: what each has left.

    Args:
        done: the runs that have ended, by name.
        folder: where the user looks.
    """
    names = {"trial": place.FIRST, "depth": place.REPORT, "rest": "report-2.ncu-rep"}
    return {
        stage.report: folder / names.get(name, stage.report.name)
        for name, stage in done.items()
        if not stage.empty and stage.report.exists()
    }


def report(
    measured: Measured,
    target: Target,
    options: Options,
    rules: Sequence[Rule],
    kept: Path,
    *,
    read: Read,
) -> Report:
    """Return the diagnosis of what was measured, among all that was timed.

    Args:
        measured: the runs.
        target: what was run.
        options: what was collected in depth.
        rules: to diagnose with.
        kept: where ncu's report will be.
        read: reads a report of a run in depth.

    Raises:
        UnreadableReport: ncu's report cannot be read.
    """
    from kprof.diagnosis import diagnose
    from kprof.whole import whole

    profile = _described(_profile(measured, read), measured, target, options)
    survey = measured.surveyed
    shown = kept.with_name(survey.report.name) if survey and _is_survey(measured) else kept
    source = replace(profile.source, path=readable(str(shown)))
    surveyed = measured.survey.devices if measured.survey is not None else ()
    devices, places = _with_surveyed(profile.devices, surveyed)
    diagnosed = diagnose(replace(profile, source=source, devices=devices), rules=rules)
    if measured.selection is None:
        return diagnosed
    return whole(diagnosed, measured.selection.on(places), cut_off=bool(ending(measured)))


def ending(measured: Measured) -> tuple[str, ...]:
    """Say how the runs ended, if not well."""
    lines = _ending(measured.first)
    last = measured.last
    if last is not None and last is not measured.first and not lines:
        lines = _ending(last)
    cut_short = [run for run in measured.more if run.stopped]
    # What a further run for open limiters lacks stands in the notes, unless the user ended it.
    if measured.followed is not None and measured.followed.collected.signum is not None:
        cut_short.append(measured.followed)
    further = (line for run in cut_short for line in _ending(run))
    return (*lines, *further, *_trouble(measured), *_first_alone(measured))


def signum(measured: Measured) -> int | None:
    """Return the signal that ended a run, None where none did."""
    runs = (*measured.more, measured.followed, measured.last, measured.trouble)
    return next((run.collected.signum for run in runs if run and run.collected.signum), None)


def _is_survey(measured: Measured) -> bool:
    return measured.last is not None and (
        measured.last.options.depth == "survey" or measured.last.empty
    )


def _profile(measured: Measured, read: Read) -> Profile:
    last = measured.last
    if measured.survey is not None and (last is None or _is_survey(measured)):
        # All of its kernels come from the selection, which has counted them.
        return replace(measured.survey, kernels=())
    if last is None:
        raise ValueError("nothing was measured")
    deep = measured.deep or read(last.report)
    return join([deep, *(read(stage.report) for stage in measured.more)])


def join(profiles: Sequence[Profile]) -> Profile:
    """Return one profile of several runs of one program: the kernels of all, numbered on."""
    first, *others = profiles
    devices = list(first.devices)
    kernels = list(first.kernels)
    notes = list(first.notes)
    files = {item.file: item for profile in reversed(profiles) for item in profile.files}
    for profile in others:
        places = [_place(devices, device) for device in profile.devices]
        start = max((kernel.index for kernel in kernels), default=-1) + 1
        kernels += [
            replace(kernel, index=start + kernel.index, device=places[kernel.device])
            for kernel in profile.kernels
        ]
        notes += [note for note in profile.notes if note not in notes]
    return replace(
        first,
        devices=tuple(devices),
        kernels=tuple(kernels),
        notes=tuple(notes),
        files=tuple(files.values()),
    )


def _with_surveyed(
    deep: Sequence[Device], surveyed: Sequence[Device]
) -> tuple[tuple[Device, ...], list[int]]:
    """Return the GPUs of both runs, and where among them those of the survey are.

    A trace does not know which GPUs they are: they are taken in the order in which they appear.
    """
    devices = list(deep)
    places = []
    for index, device in enumerate(surveyed):
        known = device.compute_capability is not None
        if not known and index >= len(devices):
            devices.append(device)
        places.append(_place(devices, device) if known else index)
    return tuple(devices), places


def _place(devices: list[Device], device: Device) -> int:
    if device not in devices:
        devices.append(device)
    return devices.index(device)


def _described(profile: Profile, measured: Measured, target: Target, options: Options) -> Profile:
    last = measured.last or measured.first
    log = last.collected.log
    source = replace(
        profile.source,
        command=tuple(readable(word) for word in target.argv),
        target_exit=measured.first.collected.target_exit,
    )
    survey = _is_survey(measured)
    collection = replace(
        profile.collection,
        depth="survey" if survey else options.depth,
        clock_control=options.clock_control,
        cache_control="none" if survey else options.cache_control,
        replay_mode=options.replay_mode,
        passes=profile.collection.passes or log.passes or None,
    )
    noted = (*profile.notes, *failures.notes(last.collected), *ending(measured))
    return replace(profile, source=source, collection=collection, notes=noted)


def _trouble(measured: Measured) -> tuple[str, ...]:
    stage = measured.trouble
    if stage is None:
        return ()
    if stage.stopped:
        lines = _ending(stage)
    else:
        what = "depth" if stage.options.depth != "survey" else "the survey"
        why = failures.why(stage.collected, stage.argv, stage.target, stage.options)
        lines = (f"a later run of the target, for {what}, gave nothing: {why.message}",)
    if measured.survey is not None or measured.last is None:
        return lines
    seen = measured.last.collected.log.profiled
    return (*lines, f"the program launched more than the first {seen} kernels that are shown here")


def _has_first_alone(measured: Measured) -> bool:
    """Say whether the first launches were measured in depth, and then only a part of a survey."""
    first = measured.first
    deep = first.options.depth != "survey" and not first.empty
    return deep and _is_survey(measured)


def _first_alone(measured: Measured) -> tuple[str, ...]:
    if not _has_first_alone(measured):
        return ()
    return (f"the first launches were measured in depth: kprof analyze {place.FIRST} shows them",)


def _ending(stage: Stage) -> tuple[str, ...]:
    kept = "the report holds what was measured until then"
    ended = stage.collected
    if ended.signum is not None:
        return (f"interrupted; {kept}",)
    if ended.timed_out:
        return (f"stopped after {ended.elapsed_s:.0f} s by --timeout; {kept}",)
    hung = hang(ended, stage.options)
    if hung is not None:
        return (f"{hung.message}; {kept}; {hung.hint}",)
    if ended.target_exit:
        return (f"the target ended with {failures.exit_text(ended.target_exit)}; {kept}",)
    if ended.status != 0:
        return (f"ncu ended with {failures.exit_text(ended.status)}; {kept}",)
    return ()
