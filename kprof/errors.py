"""The errors kprof raises on purpose.

::

    KprofError                  a known failure: one line of cause, one line of what to do next
    ├── UnreadableReport        a file that is not a report, or one the reader could not open
    ├── NcuNotFound             no working Nsight Compute command line on this machine
    ├── NotReady                profiling cannot work here, found before the target starts
    ├── NcuFailed               ncu ran and could not profile
    │   ├── CountersForbidden   ERR_NVGPUCTRPERM: this user may not read the GPU's counters
    │   └── NothingProfiled     the target ran, no kernel was recorded
    ├── TargetNotFound          the program to profile does not exist or cannot be executed
    ├── OutputExists            refusing to overwrite a file or directory
    ├── OutputNotWritable       the place to write to cannot be written
    ├── UnknownRule             a rule name that is not in the catalogue
    ├── BadRule                 a rule file given by --rules-dir that cannot be loaded
    ├── UnknownSample           a sample kernel name that does not exist
    ├── NvccNotFound            no CUDA compiler on this machine
    ├── BadBench                a bench file that cannot be used, or a variant or shape it lacks
    ├── BenchFailed             no variant could be run
    ├── BadSnapshot             a file that is not an environment snapshot
    └── BuildFailed             a sample kernel that could not be built or started

The library raises these; only ``kprof.cli`` turns them into a message and an exit status.
"""

from __future__ import annotations

__all__ = [
    "BadBench",
    "BadRule",
    "BadSnapshot",
    "BenchFailed",
    "BuildFailed",
    "CountersForbidden",
    "KprofError",
    "NcuFailed",
    "NcuNotFound",
    "NotReady",
    "NothingProfiled",
    "NvccNotFound",
    "OutputExists",
    "OutputNotWritable",
    "TargetNotFound",
    "UnknownRule",
    "UnknownSample",
    "UnreadableReport",
]


class KprofError(Exception):
    """A failure kprof knows about.

    Attributes:
        message: one line that names the cause.
        hint: one line that says what to do next, or None where nothing can be advised.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the cause as the exception's text and the advice beside it."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UnreadableReport(KprofError):
    """The file is missing, is not an Nsight Compute report, or broke the reader."""


class NcuNotFound(KprofError):
    """No ``ncu`` was found, or only a launcher script without the tool behind it."""


class NotReady(KprofError):
    """Profiling cannot work on this machine as it is; the doctor's check names the cause."""


class NcuFailed(KprofError):
    """``ncu`` started and ended without a usable report."""


class CountersForbidden(NcuFailed):
    """The driver refuses performance counters to this user (ERR_NVGPUCTRPERM)."""


class NothingProfiled(NcuFailed):
    """The target ran but no kernel was recorded."""


class TargetNotFound(KprofError):
    """The program to profile does not exist or is not executable."""


class OutputExists(KprofError):
    """An explicit output already exists and ``--force`` was not given."""


class OutputNotWritable(KprofError):
    """The output file or directory cannot be created or written."""


class UnknownRule(KprofError):
    """The rule name is not in the catalogue."""


class BadRule(KprofError):
    """A rule file could not be imported or declares no usable rule."""


class UnknownSample(KprofError):
    """The sample kernel's name does not exist, or names several where one is needed."""


class NvccNotFound(KprofError):
    """There is no CUDA compiler on this machine."""


class BuildFailed(KprofError):
    """A sample kernel could not be built, or its program could not be started."""


class BadSnapshot(KprofError):
    """The file is no environment snapshot, or one of a version this kprof does not read."""


class BadBench(KprofError):
    """The bench file cannot be used, or has no such variant, parameter or shape."""


class BenchFailed(KprofError):
    """The process that runs the variants ended before any of them could be tried."""
