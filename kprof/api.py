"""The Python API, which ``import kprof`` shows as its own.

Read a report, say what limits each kernel, write it down::

    import kprof

    profile = kprof.load("x.ncu-rep")
    diagnosis = kprof.diagnose(profile)
    diagnosis.to_frame()              # pandas, one row per kernel
    kprof.render(diagnosis, "x.html")
    kprof.doctor()                    # what keeps CUDA, torch or ncu from working here
"""

from __future__ import annotations

import dataclasses
import html
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kprof.audit.verdict import Purpose
from kprof.doctor_result import DoctorReport
from kprof.model import Profile, Report

if TYPE_CHECKING:
    import pandas as pd

_FRAME_HEIGHT = 720  # pixels: the overview and the first verdicts, the rest scrolls


@dataclasses.dataclass(frozen=True)
class Diagnosis(Report):
    """A diagnosed profile: a :class:`kprof.model.Report` that can export and show itself.

    In a notebook it shows its report page. All of its data is in the fields of the report:
    ``diagnosis.kernels[0].bound``, ``diagnosis.kernels[0].findings``, …
    """

    def to_frame(self) -> pd.DataFrame:
        """Return one row per kernel as a pandas frame; units stand in the column names.

        Absent numbers are NaN (``<NA>`` for whole numbers), absent text is missing.
        """
        from kprof.export import to_frame

        return to_frame(self)

    def to_json(self) -> str:
        """Return the JSON that ``kprof analyze --format json`` writes (``kprof.report/1``)."""
        from kprof.export import to_json

        return to_json(self)

    def __str__(self) -> str:
        from kprof.text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from kprof.html import render as page

        return _framed(page(self), "kprof report")


@dataclasses.dataclass(frozen=True)
class Checkup(DoctorReport):
    """An audited environment, as :func:`doctor` returns it; a notebook shows its page.

    ``checkup.cause`` is the primary cause with its remedy, ``checkup.of("error")`` all errors,
    ``checkup.checks`` every check.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the document ``kprof.doctor/1`` as plain dicts, lists, numbers and strings."""
        from kprof.doctor_export import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """Return the JSON that ``kprof doctor --json`` writes (``kprof.doctor/1``)."""
        from kprof.doctor_export import to_json

        return to_json(self)

    def __str__(self) -> str:
        from kprof.doctor_text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from kprof.doctor_html import render as page

        return _framed(page(self), "kprof doctor")


def load(
    path: Path | str, *, timeout_s: float = 600, source_dirs: Sequence[Path | str] = ()
) -> Profile:
    """Read a report of Nsight Compute.

    Args:
        path: a ``.ncu-rep`` or ``.nsight-cuprof-report`` file, also as ``.xz`` or ``.gz``.
        timeout_s: give up after this many seconds.
        source_dirs: where source files are that the report does not hold.

    Returns:
        What was measured, in SI base units; nothing is judged yet.

    Raises:
        UnreadableReport: the file is missing, is no report, or broke the reader.
    """
    from kprof.reader import load as read
    from kprof.source_text import Lookup, with_source

    folders = tuple(Path(folder) for folder in source_dirs)
    return with_source(read(path, timeout_s=timeout_s), path, Lookup(folders))


def diagnose(
    profile: Profile, *, rules: Sequence[str] | None = None, rules_dir: Path | str | None = None
) -> Diagnosis:
    """Say what limits each kernel and what to change.

    Args:
        profile: from :func:`load`.
        rules: names of the rules to run, None for all.
        rules_dir: a directory of further rules.

    Raises:
        UnknownRule: a name in ``rules`` is in no catalogue.
        BadRule: a file in ``rules_dir`` cannot be loaded.
    """
    from kprof.diagnosis import diagnose as judge
    from kprof.rule import registry, select

    known = registry(Path(rules_dir) if rules_dir is not None else None)
    report = judge(profile, rules=known if rules is None else select(known, rules))
    return Diagnosis(**{f.name: getattr(report, f.name) for f in dataclasses.fields(report)})


def doctor(
    snapshot: Path | str | None = None,
    *,
    purpose: Purpose | None = None,
    python: str | None = None,
    import_torch: bool = False,
) -> Checkup:
    """Audit this machine, or a snapshot of another one: driver, toolkits, torch and ncu.

    Args:
        snapshot: a file that ``kprof doctor --save`` wrote; None looks at this machine.
        purpose: ``"profile"``, ``"run"``, ``"build"`` or ``"analyze"``: errors that do not hurt it
            do not count. None counts all.
        python: the interpreter whose torch is looked at; None for this one.
        import_torch: import torch there and let it start CUDA, in a process of its own.

    Raises:
        BadSnapshot: the file is no snapshot.
        TargetNotFound: ``python`` is no program, or no Python.
    """
    from kprof import doctor_input
    from kprof.audit import audit
    from kprof.collect.target import check_python, choose_python
    from kprof.doctor_result import document

    if snapshot is not None:
        seen = doctor_input.load(snapshot)
    else:
        interpreter = choose_python(python, os.environ)[0] if python else sys.executable
        if python:
            check_python(interpreter)
        seen = doctor_input.look(interpreter, import_torch=import_torch)
    report = document(audit(seen.facts, purpose), seen.shareable, seen.conceal)
    return Checkup(**{f.name: getattr(report, f.name) for f in dataclasses.fields(report)})


def render(diagnosis: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write a diagnosis to a file in the format its suffix stands for, and return the path.

    Args:
        diagnosis: from :func:`diagnose`.
        path: ``.html``, ``.json``, ``.csv``, ``.parquet``, ``.md``, ``.sarif`` or ``.txt``.
        force: overwrite an existing file.

    Raises:
        OutputExists: the file exists and ``force`` is not given.
        OutputNotWritable: the file cannot be written, or its suffix stands for no format.
    """
    from kprof import formats, output
    from kprof.errors import OutputNotWritable

    target = Path(path)
    name = output.format_of(target)
    if name is None:
        known = ", ".join(output.SUFFIXES.values())
        raise OutputNotWritable(
            f"the suffix of {target} says no format", hint=f"use one of {known}"
        )
    output.check_free(target, force=force)
    output.write(target, formats.render(name, formats.Job([diagnosis])), force=force)
    return target


def _framed(page: str, title: str) -> str:
    # A frame of its own: the page's styles and scripts stay out of the notebook's, and a
    # kernel's name cannot run script in it.
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts" width="100%" '
        f'height="{_FRAME_HEIGHT}" style="border:0" title="{title}"></iframe>'
    )
