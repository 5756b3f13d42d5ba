from __future__ import annotations

import time

import pytest

from kprof.collect.progress import Event, NcuLog

LOG = """==PROF== Connected to process 4711 (/usr/bin/python3)
==PROF== Profiling "vector_add" - 0: 0%....50%....100% - 9 passes
==PROF== Profiling "void k<"a" - 3>(int)" - 1: 0%....50%....100% - 12 passes
==PROF== Profiling "one" - 2: 0%....50%....100% - 1 pass
==PROF== Disconnected from process 4711
==PROF== Report: /runs/x y.ncu-rep
"""
EVENTS = [
    Event("connected", "/usr/bin/python3"),
    Event("started", "vector_add"),
    Event("finished", "vector_add", 9),
    Event("started", 'void k<"a" - 3>(int)'),
    Event("finished", 'void k<"a" - 3>(int)', 12),
    Event("started", "one"),
    Event("finished", "one", 1),
    Event("report", "/runs/x y.ncu-rep"),
]


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_events_do_not_depend_on_how_the_log_arrives(size: int) -> None:
    log = NcuLog()
    events = [e for at in range(0, len(LOG), size) for e in log.feed(LOG[at : at + size])]
    assert events + log.close() == EVENTS
    assert (log.profiled, log.passes) == (3, 12)


def test_a_kernel_is_known_before_its_line_ends() -> None:
    log = NcuLog()
    assert log.feed('==PROF== Profiling "k" - 0: 0%') == [Event("started", "k")]
    assert log.feed("....50%") == []
    assert log.feed("....100% - 9 passes\n") == [Event("finished", "k", 9)]


def test_percentages_on_a_line_of_their_own() -> None:
    log = NcuLog()
    events = log.feed('==PROF== Profiling "k" - 0: \n0%....50%....100% - 9 passes\n')
    assert events == [Event("started", "k"), Event("finished", "k", 9)]


def test_an_interrupted_kernel_is_not_finished() -> None:
    # As ncu 2021.3 wrote it when it was signalled while it measured.
    log = NcuLog()
    log.feed(
        '==PROF== Profiling "a" - 19: 0%....50%....100% - 19 passes\n'
        '==PROF== Profiling "a" - 20: 0%..==PROF== Received signal\n'
        "==PROF== Trying to shutdown target application\n - 3 passes\n"
        '==ERROR== Failed to profile "a" in process 25093\n'
        "==ERROR== The application returned an error code (15).\n"
        "==PROF== Report: /x.ncu-rep\n"
    )
    assert log.profiled == 1
    assert log.target_status == 15
    assert len(log.errors) == 2


def test_filter_that_matched_nothing() -> None:
    log = NcuLog()
    log.feed(
        "==WARNING== No kernels were profiled.\nAvailable Kernels:\n"
        "1. wmma_kernel\n2. void k<float, 2>(float const*, int)\n"
    )
    assert log.nothing_profiled
    assert log.available == ["wmma_kernel", "void k<float, 2>(float const*, int)"]


def test_a_last_line_without_its_end_counts() -> None:
    log = NcuLog()
    assert log.feed("==ERROR== ERR_NVGPUCTRPERM - no") == []
    assert log.close() == [Event("error", "ERR_NVGPUCTRPERM - no")]
    assert log.errors == ["ERR_NVGPUCTRPERM - no"]


def test_the_same_kernel_again_is_another_one() -> None:
    log = NcuLog()
    line = '==PROF== Profiling "k" - {}: 0%....50%....100% - 2 passes\n'
    log.feed("".join(line.format(number) for number in range(5)))
    assert log.profiled == 5


@pytest.mark.parametrize(
    "start", ['"k": 0%', '"k" - 0: 0%', '"k" - 0 (1/3): 0%', '"k" - 0: \n0%..', '"k": 0%..\n']
)
def test_a_kernel_is_replayed_from_its_first_percent_to_its_passes(start: str) -> None:
    log = NcuLog()
    log.feed("==PROF== Connected to process 1 (a)\n")
    assert log.replaying is None
    log.feed(f"==PROF== Profiling {start}")
    assert log.replaying == "k"
    log.feed("....50%")
    assert log.replaying == "k"
    assert log.feed("....100% - 9 passes\n")[-1] == Event("finished", "k", 9)
    assert log.replaying is None


def test_ncu_doubting_a_kernel_does_not_end_it() -> None:
    # As ncu 2022 and later write it.
    log = NcuLog()
    log.feed(
        '==PROF== Profiling "sgemm": 0%..\n==WARNING== Launching the workload is taking more time '
        "than expected. If this continues to hang, terminate the profile\n"
    )
    assert log.replaying == "sgemm"
    assert log.feed("..50%....100% - 8 passes\n") == [Event("finished", "sgemm", 8)]


@pytest.mark.parametrize(
    "end",
    [
        '==ERROR== Failed to profile "k" in process 7',
        "==PROF== Disconnected from process 7",
    ],
)
def test_nothing_is_replayed_after_a_failure(end: str) -> None:
    log = NcuLog()
    log.feed('==PROF== Connected to process 7 (a)\n==PROF== Profiling "k" - 0: 0%')
    log.feed(f"\n{end}\n")
    assert log.replaying is None


def test_another_process_that_ends_does_not_end_the_kernel() -> None:
    log = NcuLog()
    log.feed("==PROF== Connected to process 7 (a)\n==PROF== Connected to process 8 (b)\n")
    log.feed('==PROF== Profiling "k" - 0: 0%\n==PROF== Disconnected from process 8\n')
    assert log.replaying == "k"


def test_a_line_without_percentages_is_no_replay() -> None:
    # Application replay: the program runs on, and how long it takes between kernels is its own.
    log = NcuLog()
    log.feed('==PROF== Profiling "k" - 0: Application replay pass 1\n')
    assert log.replaying is None


def test_the_same_kernel_again_without_numbers() -> None:
    log = NcuLog()
    log.feed('==PROF== Profiling "k": 0%....50%....100% - 2 passes\n' * 3)
    assert log.profiled == 3


def test_only_the_first_of_endless_warnings_are_kept() -> None:
    log = NcuLog()
    events = log.feed("".join(f"==WARNING== {n}\n" for n in range(5000)))
    assert len(events) == 5000
    assert log.warnings[:2] == ["0", "1"]
    assert len(log.warnings) <= 1000


def test_a_log_of_50_000_kernels_is_read_in_a_moment() -> None:
    line = '==PROF== Profiling "void k<float>(float*)" - {}: 0%....50%....100% - 1 pass\n'
    text = "".join(line.format(number) for number in range(50_000))
    log = NcuLog()
    began = time.process_time()
    for at in range(0, len(text), 1 << 16):
        log.feed(text[at : at + (1 << 16)])
    assert log.profiled == 50_000
    assert time.process_time() - began < 5  # 0.2 s where it was written
