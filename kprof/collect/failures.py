"""What a run of ncu without a usable report means, and what to do about it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from kprof import process
from kprof.collect.command import Options, communicates, leaves_out
from kprof.collect.hang import hang
from kprof.collect.run import Collected
from kprof.errors import CountersForbidden, KprofError, NcuFailed, NothingProfiled

_ASK_TIMEOUT_S = 10.0
_FULL_BELOW_BYTES = 1 << 20
_NAMES_SHOWN = 5
_ALONE = "kprof profile --dry-run prints the command, to be tried by itself"
_DEADLY = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV (segmentation fault)", 15: "SIGTERM"}
_SHELL = {128 + number: name for number, name in _DEADLY.items()} | {130: "Ctrl-C"}

_INSTEAD = (
    "--as-in-app needs no copies of device memory; or profile a smaller input, or free memory "
    "of the GPU and the host"
)

# What ncu says, and what it means: (pattern, cause, next step).
_KNOWN = (
    (
        re.compile(r"driver resource was unavailable|no other tool", re.IGNORECASE),
        "another tool holds the GPU's performance counters",
        "stop it and run again: another ncu or Nsight Systems, or DCGM (dcgmi profile --pause)",
    ),
    (
        re.compile(r"InterprocessLockFailed|inter-?process lock|lock file", re.IGNORECASE),
        "another ncu is running, or a lock file of another user is in the way",
        "wait for it, remove /tmp/nsight-compute-lock, or set TMPDIR to a folder of your own",
    ),
    (
        re.compile(r"driver is not compatible", re.IGNORECASE),
        "this ncu does not work with the installed NVIDIA driver",
        "update the driver, or use an ncu of the driver's age with --ncu PATH",
    ),
    (
        re.compile(r"LibraryNotLoaded|Failed to load Nsight Compute CUDA modules"),
        "ncu could not load a driver library that fits it",
        "update the driver, or use an ncu of the driver's age with --ncu PATH",
    ),
    (
        re.compile(r"not supported on (?:this )?device|GPU is not supported", re.IGNORECASE),
        "this ncu does not profile this GPU",
        "Nsight Compute needs compute capability 7.0 or newer, and a version that knows the GPU",
    ),
    (
        re.compile(r"lock GPU clock|lock clocks", re.IGNORECASE),
        "the GPU's clocks cannot be locked here",
        "leave --clock-control at none",
    ),
    (
        re.compile(
            r"Insufficient free memory for profiling|Insufficient memory and disk space to save"
            r"|Unable to create backup storage|Failed to save (?:memory for replay|context state)"
            r"|ContextSaveFailed|bad allocation|std::bad_alloc",
            re.IGNORECASE,
        ),
        "there is too little memory to save what the kernel overwrites, so that it can be replayed",
        _INSTEAD,
    ),
    (
        re.compile(r"No space left|disk (?:is )?full", re.IGNORECASE),
        "the disk is full",
        "free space where the report goes, or choose another place with -o",
    ),
    (
        re.compile(r"unrecogni[sz]ed option"),
        "this ncu does not know an option that kprof needs",
        "use a newer Nsight Compute (2023.1 or later), or correct --ncu-arg",
    ),
    (
        re.compile(r"(?:Option|argument).*(?:invalid|did not match)", re.IGNORECASE),
        "ncu refuses an option",
        "correct the option, or see ncu --help",
    ),
)


# Not a failure: (pattern, what it did to the run, next step).
_TROUBLE = (
    (
        re.compile(r"Backing up device memory in", re.IGNORECASE),
        "the GPU had too little free memory to save what kernels overwrite, so ncu saved it "
        "elsewhere, which is slow",
        _INSTEAD,
    ),
)


def why(
    collected: Collected, argv: Sequence[str], target: Sequence[str], options: Options
) -> KprofError:
    """Return the error for a run that gave no usable report.

    Args:
        collected: how it ended.
        argv: the whole command line, ncu's unless the target ran by itself.
        target: the part of it that is the target.
        options: what was asked.
    """
    said = collected.log.errors or collected.log.warnings
    by_ncu = len(argv) > len(target)
    if by_ncu and not said and collected.status != 0 and collected.signum is None:
        # An option ncu does not know ends it before it opens its log.
        said = _ask(argv[: len(argv) - len(target)])
    hung = hang(collected, options)
    if hung is not None:
        return _lost_with(hung, collected.log.profiled)
    known = _known(said)
    if known is not None:
        return known
    if by_ncu and _disk_full(argv):
        return NcuFailed("the disk is full", hint="free space, or choose another place with -o")
    if collected.log.profiled:
        return _lost(collected)
    if collected.signum is not None or collected.timed_out:
        return NothingProfiled(
            "stopped before the first kernel was measured",
            hint="give the run more time, or measure less with --depth quick or --kernel",
        )
    return _nothing(collected, options, said)


def notes(collected: Collected) -> tuple[str, ...]:
    """Return what the user must know about a run that did give a report."""
    errors = [text for text in collected.log.errors if "returned an error code" not in text]
    known = _known(errors)
    missing: tuple[str, ...] = ()
    if known is not None:
        missing = (f"ncu could not measure everything: {known.message}; {known.hint}",)
    elif errors:
        missing = (f"ncu could not measure everything; it says: {_short(errors[0])}",)
    slow = (
        f"{what}; {hint}"
        for pattern, what, hint in _TROUBLE
        if any(pattern.search(text) for text in collected.log.warnings)
    )
    return (*missing, *slow)


def _lost_with(error: NcuFailed, measured: int) -> NcuFailed:
    if not measured:
        return error
    lost = "the kernel" if measured == 1 else f"the {measured} kernels"
    return NcuFailed(
        f"{error.message}; {lost} measured before {'is' if measured == 1 else 'are'} lost",
        hint=error.hint,
    )


def _known(said: Sequence[str]) -> KprofError | None:
    if any("ERR_NVGPUCTRPERM" in text for text in said):
        return CountersForbidden(
            "the driver lets only administrators read this GPU's performance counters "
            "(ERR_NVGPUCTRPERM)",
            hint="kprof doctor says how to allow it on this machine",
        )
    for pattern, cause, hint in _KNOWN:
        for text in said:
            if pattern.search(text):
                return NcuFailed(f"{cause}; ncu says: {_short(text)}", hint=hint)
    return None


def _lost(collected: Collected) -> KprofError:
    count = collected.log.profiled
    measured = "the kernel" if count == 1 else f"the {count} kernels"
    if collected.signum is not None or collected.timed_out:
        return NcuFailed(
            f"stopped before ncu had written its report; {measured} it had measured "
            f"{'is' if count == 1 else 'are'} lost",
            hint="ncu saves after Ctrl-C or a signal to kprof alone, if it and the target answer; "
            "to need no stop, measure less with --launch-count or --kernel",
        )
    if collected.status != 0 and collected.target_exit is None:
        return NcuFailed(
            f"ncu ended with {exit_text(collected.status)}; the report of {measured} it measured "
            "is missing or empty",
            hint=_ALONE,
        )
    return NcuFailed(
        f"ncu measured {count} kernel{'' if count == 1 else 's'}, but its report is missing or "
        "empty",
        hint="see that the disk has space, and that nothing removes files below -o while it runs",
    )


def _nothing(collected: Collected, options: Options, said: Sequence[str]) -> KprofError:
    log = collected.log
    if log.available:
        return _unmatched(log.available, options)
    if collected.target_exit:
        return NothingProfiled(
            f"the target ended with {exit_text(collected.target_exit)} before its first kernel",
            hint="run it without kprof first: its own message is above",
        )
    failed = [text for text in said if "No kernels were profiled" not in text]
    if collected.status != 0 and failed:
        return NcuFailed(f"ncu could not profile: {_short(failed[0])}", hint=_ALONE)
    if collected.status != 0 and not log.nothing_profiled:
        return NcuFailed(f"ncu ended with {exit_text(collected.status)}", hint=_ALONE)
    if any("child processes" in text for text in said):
        return NothingProfiled(
            "the kernels run in child processes that ncu did not follow",
            hint="drop --target-processes from --ncu-arg",
        )
    return _no_work(collected, options)


def _unmatched(available: Sequence[str], options: Options) -> NothingProfiled:
    left_out = _left_out(available, options)
    if left_out:
        return NothingProfiled(
            "only communication between GPUs was there to measure, which is left out: "
            f"{_names(left_out)}",
            hint="ncu hangs on it when several GPUs take part; --with-communication measures it "
            "all the same",
        )
    return NothingProfiled(
        f"{_filter(options)} matched no launch; the target launched {_names(available)}",
        hint="--kernel REGEX is searched in the demangled name",
    )


def _left_out(available: Sequence[str], options: Options) -> list[str]:
    """Return the kernels that would have been measured, were they not for communication."""
    if not leaves_out(options):
        return []
    try:
        wanted = re.compile(options.kernel or "")
    except re.error:  # ncu's own grammar
        return []
    matching = [name for name in available if wanted.search(name)]
    return matching if all(map(communicates, matching)) else []


def _no_work(collected: Collected, options: Options) -> KprofError:
    if not collected.log.programs:
        return NothingProfiled(
            "the target did no CUDA work that ncu could see",
            hint="check that it uses the GPU (torch.cuda.is_available()) and reaches that code",
        )
    if not options.from_start:
        return NothingProfiled(
            "the target launched no kernel after cudaProfilerStart, or never called it",
            hint="drop --no-from-start, or call cudaProfilerStart before the kernels "
            "(torch.cuda.profiler.start())",
        )
    if any((options.kernel, options.nvtx, options.launch_skip)):
        return NothingProfiled(
            f"{_filter(options)} matched no launch",
            hint="run once without the filter to see which kernels there are",
        )
    return NothingProfiled(
        "the target used CUDA but launched no kernel",
        hint="check that it reaches its kernels and that every launch succeeds (cudaGetLastError)",
    )


def exit_text(status: int) -> str:
    """Return an exit status in words; ncu reports a deadly signal as its bare number."""
    name = _DEADLY.get(abs(status), _SHELL.get(status))
    return f"status {status}, as after {name}" if name else f"status {status}"


def _filter(options: Options) -> str:
    asked = (
        ("--kernel", options.kernel),
        ("--nvtx", options.nvtx),
        ("--launch-skip", options.launch_skip),
    )
    given = [f"{name} {value}" for name, value in asked if value]
    return " with ".join(given) or "ncu's filter"


def _names(available: Sequence[str]) -> str:
    unique = list(dict.fromkeys(_short(name, 60) for name in available))
    more = f" and {len(unique) - _NAMES_SHOWN} more" if len(unique) > _NAMES_SHOWN else ""
    return ", ".join(unique[:_NAMES_SHOWN]) + more


def _short(text: str, length: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _ask(options: Sequence[str]) -> list[str]:
    # With --version ncu checks its options and runs nothing.
    try:
        done = process.run(
            [*options, "--version"],
            timeout_s=_ASK_TIMEOUT_S,
            max_output_bytes=process.SHORT_OUTPUT_BYTES,
        )
    except OSError:
        return []
    text = (done.stdout + done.stderr).decode(errors="replace")
    return [line.removeprefix("==ERROR== ") for line in text.splitlines() if "==ERROR==" in line]


def _disk_full(argv: Sequence[str]) -> bool:
    report = Path(argv[argv.index("--export") + 1])
    try:
        return shutil.disk_usage(report.parent).free < _FULL_BELOW_BYTES
    except OSError:
        return False
