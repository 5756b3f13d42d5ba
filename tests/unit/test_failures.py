from __future__ import annotations

from pathlib import Path

import pytest

from kprof.collect import failures
from kprof.collect.command import Options, ncu_argv
from kprof.collect.progress import NcuLog
from kprof.collect.run import Collected
from kprof.errors import CountersForbidden, KprofError, NcuFailed, NothingProfiled

TARGET = ("./a.out",)


def why(
    text: str,
    *,
    options: Options | None = None,
    status: int = 0,
    target_exit: int | None = 0,
    signum: int | None = None,
    timed_out: bool = False,
    hung: str | None = None,
) -> KprofError:
    log = NcuLog()
    log.feed(text)
    collected = Collected(None, log, status, target_exit, signum, timed_out, 1.0, hung)
    asked = options or Options()
    argv = ncu_argv("/bin/false", asked, TARGET, report=Path("r.ncu-rep"), log=Path("l"))
    error = failures.why(collected, argv, TARGET, asked)
    assert "\n" not in error.message
    assert error.hint
    return error


MEMORY = (
    "Insufficient free memory for profiling on the device",
    "Insufficient memory and disk space to save context state!",
    "Unable to create backup storage for kernel replay!",
    "Failed to save memory for replay.",
    "Unhandled C++ exception: bad allocation",
)


# Every line is one that an ncu wrote.
@pytest.mark.parametrize(
    ("line", "kind", "cause"),
    [
        ("ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
         "Counters on the target device 0.", CountersForbidden, "ERR_NVGPUCTRPERM"),
        ("Profiling failed because a driver resource was unavailable. Ensure that no other tool "
         "(like DCGM) is concurrently collecting profiling data.", NcuFailed, "another tool"),
        ("Cuda driver is not compatible with Nsight Compute.", NcuFailed, "installed NVIDIA driver"),
        ("Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver "
         "library is loaded.", NcuFailed, "driver library"),
        ("Cannot lock GPU clock frequencies on MIG! Try locking the clocks externally", NcuFailed,
         "clocks cannot be locked"),
        ("unrecognised option '--nvtx'. Use --help for further details.", NcuFailed, "--nvtx"),
        ("Option '--section .*' did not match any section.", NcuFailed, "--section"),
        ("Failed to prepare kernel for profiling", NcuFailed, "Failed to prepare kernel"),
        *((line, NcuFailed, "too little memory") for line in MEMORY),
    ],
)  # fmt: skip
def test_what_ncu_says_is_translated(line: str, kind: type[KprofError], cause: str) -> None:
    text = (
        "==PROF== Connected to process 1 (/a.out)\n"
        f"==ERROR== {line}\n==WARNING== No kernels were profiled.\n"
    )
    error = why(text, status=1, target_exit=None)
    assert type(error) is kind
    assert cause in error.message


def test_available_kernels_are_listed_short() -> None:
    names = "".join(f"{n}. kernel_{n}_{'x' * 100}\n" for n in range(1, 9))
    error = why(
        f"==WARNING== No kernels were profiled.\nAvailable Kernels:\n{names}",
        options=Options(kernel="gemm", launch_skip=3),
    )
    assert isinstance(error, NothingProfiled)
    assert "--kernel gemm with --launch-skip 3 matched no launch" in error.message
    assert "and 3 more" in error.message


def test_no_launch_without_and_with_a_filter() -> None:
    text = "==PROF== Connected to process 1 (/a.out)\n==WARNING== No kernels were profiled.\n"
    assert "launched no kernel" in why(text).message
    assert "--nvtx forward matched no launch" in why(text, options=Options(nvtx="forward")).message


AVAILABLE = "==WARNING== No kernels were profiled.\nAvailable Kernels:\n"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"


@pytest.mark.parametrize("kernel", [None, "nccl", "AllReduce"])
def test_communication_alone_is_said_to_be_left_out(kernel: str | None) -> None:
    error = why(f"{AVAILABLE}1. {NCCL}\n", options=Options(kernel=kernel))
    assert isinstance(error, NothingProfiled)
    assert "only communication between GPUs was there to measure" in error.message
    assert "ncclDevKernel_AllReduce" in error.message
    assert error.hint is not None
    assert "--with-communication" in error.hint


def test_a_filter_that_means_communication_is_told_what_is_left_out() -> None:
    error = why(f"{AVAILABLE}1. {NCCL}\n2. gemm(int)\n", options=Options(kernel="AllReduce"))
    assert "only communication" in error.message
    assert "gemm" not in error.message


@pytest.mark.parametrize(
    "options", [Options(kernel="softmax"), Options(kernel="softmax", with_communication=True)]
)
def test_other_filters_that_match_nothing_are_not_blamed_on_communication(
    options: Options,
) -> None:
    error = why(f"{AVAILABLE}1. {NCCL}\n2. gemm(int)\n", options=options)
    assert "--kernel softmax matched no launch" in error.message


def test_a_program_that_never_starts_the_profiler() -> None:
    text = "==PROF== Connected to process 1 (/a.out)\n==WARNING== No kernels were profiled.\n"
    assert "cudaProfilerStart" in why(text, options=Options(from_start=False)).message


def test_a_hung_kernel_is_named_with_ways_around_it() -> None:
    error = why("", status=9, target_exit=9, hung="void spin<float>...")
    assert "ncu got no further with void spin<float>..." in error.message
    assert error.hint is not None
    assert "--kernel '^(?!.*void spin<float>)'" in error.hint
    assert "--as-in-app" in error.hint
    assert "--kernel-timeout" in error.hint


@pytest.mark.parametrize(
    ("mode", "ways"),
    [
        ("kernel", [True, True]),
        ("application", [False, True]),
        ("range", [False, False]),
        ("app-range", [False, False]),
    ],
)
def test_no_way_is_proposed_to_who_has_taken_it(mode: str, ways: list[bool]) -> None:
    for name in ("spin", "ncclDevKernel_AllReduce"):
        hint = why("", hung=name, options=Options(replay_mode=mode, with_communication=True)).hint
        assert hint is not None
        assert ("--as-in-app" in hint) == (ways[0] and name == "spin")
        assert ("--replay-mode range" in hint) == ways[1]


def test_hung_communication_is_known_for_what_it_is() -> None:
    error = why("", hung="ncclDevKernel_AllReduce", options=Options(with_communication=True))
    assert error.hint is not None
    assert error.hint.startswith("it waits for other GPUs")


def test_a_hang_says_what_is_lost_with_it() -> None:
    line = '==PROF== Profiling "k" - {}: 0%....50%....100% - 9 passes\n'
    assert "the kernel measured before is lost" in why(line.format(0), hung="spin").message
    both = "".join(map(line.format, range(2)))
    assert "the 2 kernels measured before are lost" in why(both, hung="spin").message


def test_low_memory_is_noted_where_there_is_a_report() -> None:
    log = NcuLog()
    log.feed(
        "==WARNING== Backing up device memory in system memory. Kernel replay might be slow. "
        'Consider using "--replay-mode application" to avoid memory save-and-restore.\n'
        f"==ERROR== {MEMORY[0]}\n"
    )
    missing, slow = failures.notes(Collected(Path("r"), log, 0, 0, None, False, 1.0))
    assert missing.startswith("ncu could not measure everything: there is too little memory")
    assert "saved it elsewhere, which is slow" in slow
    assert all("--as-in-app" in note for note in (missing, slow))


def test_child_processes() -> None:
    text = (
        "==WARNING== No kernels were profiled.\n==WARNING== Profiling kernels launched by child "
        "processes requires the --target-processes all option.\n"
    )
    assert "child processes" in why(text).message


def test_ended_by_time_or_signal() -> None:
    assert "stopped before" in why("", timed_out=True, status=-15).message
    assert "stopped before" in why("", signum=2, status=1).message


@pytest.mark.parametrize("how", [{"timed_out": True}, {"signum": 15}, {}])
def test_what_was_measured_is_not_denied(how: dict[str, int]) -> None:
    line = '==PROF== Profiling "k" - 0: 0%....50%....100% - 9 passes\n'
    message = why(line, **how).message  # type: ignore[arg-type]
    assert ("stopped before ncu had written its report; the kernel it" in message) == bool(how)
    assert ("ncu measured 1 kernel, but its report is missing or empty" in message) != bool(how)


def test_ncu_killed() -> None:
    message = why("", status=-9, target_exit=None).message
    assert message == "ncu ended with status -9, as after SIGKILL"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (3, "status 3"),
        (11, "status 11, as after SIGSEGV (segmentation fault)"),
        (139, "status 139, as after SIGSEGV (segmentation fault)"),
        (137, "status 137, as after SIGKILL"),
        (130, "status 130, as after Ctrl-C"),
    ],
)
def test_exit_status_in_words(status: int, text: str) -> None:
    assert failures.exit_text(status) == text


def test_an_error_that_nobody_knows_is_passed_on_as_it_is() -> None:
    log = NcuLog(errors=["Something new happened to kernel 3."])
    ended = Collected(None, log, 0, 0, None, False, 1.0)
    assert failures.notes(ended) == (
        "ncu could not measure everything; it says: Something new happened to kernel 3.",
    )
