from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kprof.model import Collection, KernelReport, QualityNote, Report, Skipped, Source
from kprof.text import ROWS, summary
from tests.report_fixture import VECTOR_ADD, WHOLE, surveyed, timed


def test_it_says_what_a_person_needs(report: Report) -> None:
    text = summary(report, width=100)
    assert "tile.ncu-rep: 2 kernels, NVIDIA H200, 1.21 ms of GPU time" in text
    assert "1 kernel without a duration" in text
    assert "0  1.21 ms  100.0 %  Shared memory   94.1 %  transpose_tiled<float, 32>" in text
    assert "HIGH shared-bank-conflicts: Shared-memory loads conflict 32-way" in text
    assert "34,603,008 wavefronts" in text
    assert "transpose.cu:42" in text
    assert "Pad the tile by one column" in text
    assert "fixing it: 1.6–2.4× as fast, estimated" in text.replace("\n", " ")
    assert "! #0: Too short for steady clocks." in text
    assert "thread-divergence" in text
    assert "threads_per_instruction" in text


def test_a_cut_off_file_says_so(report: Report) -> None:
    assert "! The file is cut off" in summary(report)
    whole = replace(report, source=replace(report.source, truncated=False), notes=())
    assert "!" not in summary(replace(whole, kernels=()))


def test_a_failed_target_says_so(report: Report) -> None:
    failed = replace(report, source=replace(report.source, target_exit=3))
    assert "! The profiled program failed with exit status 3." in summary(failed)


def test_unknown_stays_unknown(report: Report, unmeasured: KernelReport) -> None:
    text = summary(replace(report, kernels=(unmeasured,), collection=Collection()), width=200)
    assert "1  unknown  unknown  Unknown  unknown" in " ".join(text.split("\n"))
    assert "GPU time unknown" in text
    assert "clock and cache control not recorded" in " ".join(text.split())
    assert "What limits each kernel is unknown" in text
    assert " 0 " not in text


def test_what_nobody_knows_is_said_once_for_all(report: Report, unmeasured: KernelReport) -> None:
    unknown = [replace(unmeasured, index=n, demangled=f"k{n}") for n in range(1, 9)]
    text = summary(replace(report, kernels=(report.kernels[0], *unknown)), width=200)
    assert text.count("is unknown: the report lacks the counters") == 1
    assert "What limits 8 of 9 kernels is unknown" in text
    every = summary(replace(report, kernels=tuple(unknown)), width=200, verbose=1)
    assert every.count("nothing is known to be wrong or right") == 8


def test_the_rest_of_what_nobody_knows_is_counted_as_the_rest(
    report: Report, unmeasured: KernelReport
) -> None:
    told = replace(unmeasured, clear=("a",))
    rest = replace(unmeasured, index=2, demangled="k2")
    text = summary(replace(report, kernels=(told, rest)), width=200)
    assert "What limits 1 more kernel of 2 is unknown" in text


def test_a_time_that_is_not_the_kernels_is_the_reason(
    report: Report, unmeasured: KernelReport
) -> None:
    doubt = QualityNote("inflated-duration", "the busiest SM was hardly active")
    foreign = replace(unmeasured, quality=(doubt,))
    text = summary(replace(report, kernels=(foreign,)), width=200)
    assert "What limits each kernel is unknown: the time measured is not their own." in text
    alone = summary(replace(report, kernels=(replace(foreign, clear=("a",)),)), width=200)
    assert "unknown: the time measured is not its own." in alone


def test_no_finding_counts_what_could_not_be_evaluated(
    report: Report, transpose: KernelReport
) -> None:
    clean = replace(transpose, findings=(), clear=("a", "b"))
    text = summary(replace(report, kernels=(clean,)), width=200)
    assert "No rule found a cause: 2 rules had the data and found nothing, 1 rule could not" in text
    all_known = replace(clean, skipped=())
    assert "could not" not in summary(replace(report, kernels=(all_known,)), width=200)


def test_rules_without_data_are_named_with_what_they_lack(
    report: Report, transpose: KernelReport
) -> None:
    lacking = tuple(Skipped(f"rule-{n}", (f"metric_{n}", "common")) for n in range(12))
    text = summary(replace(report, kernels=(replace(transpose, skipped=lacking),)), width=400)
    assert "Not evaluated: rule-0, rule-1, rule-10" in text
    assert "Data not in the report: common, metric_0" in text
    assert "5 more" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("verbose", [0, 1])
def test_no_line_is_wider_than_the_terminal(
    report: Report, transpose: KernelReport, width: int, verbose: int
) -> None:
    long = replace(transpose, index=12345, demangled="void f<" + "g<int>, " * 150 + "h>(int)")
    text = summary(replace(report, kernels=(long, *report.kernels)), width=width, verbose=verbose)
    assert max(map(len, text.splitlines())) <= width


def test_no_escape_without_colour_and_none_from_the_report(report: Report) -> None:
    assert "\x1b" not in summary(report, color=False)
    assert "\x1b[1m" in summary(report, color=True)
    assert "?[31m" in summary(report, color=True, width=200)


def test_a_doubt_is_told_once_with_the_kernels_it_concerns(
    report: Report, transpose: KernelReport
) -> None:
    kernels = tuple(replace(transpose, index=n, demangled=f"k{n}") for n in range(5))
    text = summary(replace(report, kernels=kernels))
    assert text.count("Too short") == 1
    assert "! #0, #1, #2 and 2 more: Too short for steady clocks." in text
    assert summary(replace(report, kernels=kernels), verbose=1).count("! Too short") == 5


def test_a_doubt_with_other_numbers_is_told_of_the_kernel_with_most_gpu_time(
    report: Report, transpose: KernelReport
) -> None:
    def clocked(index: int, ghz: str, duration_s: float) -> KernelReport:
        note = QualityNote("clock-state", f"SM clock was {ghz} GHz")
        return replace(
            transpose, index=index, demangled=f"k{index}", duration_s=duration_s, quality=(note,)
        )

    short = [clocked(index, "0.78", 1e-6) for index in range(4)]
    kernels = (*short, clocked(4, "1.28", 1e-3), clocked(5, "1.28", 1e-5))
    text = summary(replace(report, kernels=kernels), width=200)
    assert (
        "! #4, #5: SM clock was 1.28 GHz (likewise, with other numbers: #0, #1, #2 and 1 more; "
        "-v shows them)\n"
    ) in text
    assert "0.78" not in text


def test_launches_that_are_alike_keep_their_own_numbers(
    report: Report, transpose: KernelReport
) -> None:
    kernels = tuple(
        replace(transpose, index=n, quality=(QualityNote("clock-state", f"clock was 1.{n} GHz"),))
        for n in range(3)
    )
    alike = replace(report, kernels=kernels)
    line = "! #0: clock was 1.0 GHz (likewise, with other numbers: #1, #2; the JSON has each)"
    assert line in summary(alike, width=200)
    assert f"  {line}" in summary(alike, width=200, verbose=1)


def test_a_doubt_in_other_words_is_not_passed_off_as_other_numbers(
    report: Report, transpose: KernelReport
) -> None:
    notes = (QualityNote("above-roof", "dram reads 101 %"), QualityNote("above-roof", "l2 moved"))
    kernels = tuple(
        replace(transpose, index=n, demangled=f"k{n}", quality=(note,))
        for n, note in enumerate(notes)
    )
    text = summary(replace(report, kernels=kernels), width=200)
    assert "! #0: dram reads 101 % (likewise, with other details: #1; -v shows them)" in text


def test_one_kernel_beyond_the_discussed_is_counted_too(
    report: Report, transpose: KernelReport
) -> None:
    small = replace(transpose, index=1, demangled="small", duration_s=1e-6)
    text = summary(replace(report, kernels=(transpose, small)))
    assert "\n1 more kernel: -v shows it\n" in text


@pytest.mark.parametrize(
    ("collection", "words"),
    [
        (Collection(9, "standard", "kernel", "none", "all"),
         "depth standard, 9 passes, clocks not locked, caches flushed before each pass"),
        (Collection(1, "sections", None, None, "none"),
         "collected with ncu's sections, 1 pass, caches kept warm, clock control not recorded"),
        (Collection(9, "standard", "application", "none", "none"),
         "depth standard, 9 passes, the program run again for every pass, clocks not locked, caches "
         "as the program leaves them"),
        (Collection(None, "survey", None, "reset", None),
         "durations only, clock control reset, cache control not recorded"),
        (Collection(), "ncu 2025.3.1.0, clock and cache control not recorded"),
    ],
)  # fmt: skip
def test_how_it_was_collected_is_said_as_far_as_it_is_recorded(
    report: Report, collection: Collection, words: str
) -> None:
    source = replace(report.source, ncu_version="2025.3.1.0")
    text = summary(replace(report, source=source, collection=collection), width=200)
    assert text.splitlines()[1].endswith(words)


def test_text_with_markup_is_shown_as_it_is(report: Report, transpose: KernelReport) -> None:
    odd = replace(transpose, quality=(QualityNote("x", "[bold]not bold[/bold] :smile:\nline"),))
    text = summary(replace(report, kernels=(odd,)))
    assert "[bold]not bold[/bold] :smile: line" in text


def test_many_kernels_show_the_top_and_count_the_rest(
    report: Report, transpose: KernelReport
) -> None:
    kernels = tuple(
        replace(transpose, index=n, demangled=f"kernel_{n}", duration_s=1e-3 * 0.9**n)
        for n in range(40)
    )
    many = replace(report, kernels=kernels)
    text = summary(many, width=100)
    assert "kernel_9" in text
    assert "kernel_10" not in text
    assert "and 30 more, 33.9 % of the time (-v lists all)" in text
    assert text.count("shared-bank-conflicts") == 5
    assert "\n35 more kernels: -v shows them\n" in text
    everything = summary(many, width=100, verbose=1)
    assert "kernel_39" in everything
    assert everything.count("HIGH shared-bank-conflicts") == 40
    assert "-v shows" not in everything


def test_alike_launches_are_one_row(many: Callable[[int], Report]) -> None:
    text = summary(many(7), width=120)
    assert "transpose_tiled<float, 32> ×7" in text
    assert text.count("HIGH shared-bank-conflicts") == 1


def test_an_empty_report_says_so(report: Report) -> None:
    empty = replace(report, kernels=(), devices=(), source=Source("a.ncu-rep", ""))
    assert "No kernel in this report." in summary(empty)
    assert "GPU unknown" in summary(empty)


def test_two_calls_give_the_same_text(report: Report) -> None:
    assert summary(report, verbose=1) == summary(report, verbose=1)


def test_a_whole_program_is_one_line() -> None:
    lines = summary(WHOLE, width=120).splitlines()
    assert lines[:2] == [
        "h200.ncu-rep: NVIDIA H200",
        "1,831 launches of 6 kernels, 40.5 ms of GPU time; "
        "2 kernels measured in depth cover 81.2 % of it, autotuning aside.",
    ]
    assert "every launch timed first, one by one, depth standard" in lines[2]
    survey = WHOLE.collection.survey
    assert survey is not None
    traced = replace(WHOLE.collection, survey=replace(survey, timed_by="cupti"))
    told = summary(replace(WHOLE, collection=traced), width=120)
    assert "every launch timed first, as the program runs alone, depth standard" in told


def test_a_ranked_kernel_shows_its_launches_and_its_share_of_the_program() -> None:
    text = summary(WHOLE, width=120)
    assert "0  16.0 ms  39.5 %  Shared memory   96.2 %  transpose_tile32 ×40\n" in text
    assert "1  10.0 ms  24.7 %  DRAM            91.7 %  vector_add ×60\n" in text


def test_a_duration_in_depth_is_told_from_the_programs() -> None:
    text = summary(WHOLE, width=120)
    assert "191 µs measured in depth, 167 µs in the program (average of 60 launches)" in text
    assert "measured in depth," not in summary(replace(WHOLE, kernels=(VECTOR_ADD,)))


def test_what_was_left_out_is_listed_with_why() -> None:
    text = summary(WHOLE, width=200)
    rest = text[text.index("Not profiled in depth\n") : text.index("#0 transpose")]
    assert rest.splitlines()[1:] == [
        "1 kernel (600 launches, 21.0 % of GPU time): "
        "launched in a search for the best configuration (autotuning)",
        "#     time   share  kernel",
        "2  8.50 ms  21.0 %  tried_matmul ×600",
        "1 kernel (30 launches, 12.3 % of GPU time): "
        "chosen, but the run in depth did not measure them",
        "#     time   share  kernel",
        "3  5.00 ms  12.3 %  gone_softmax ×30",
        "2 kernels (1,101 launches, 2.5 % of GPU time): "
        "smaller shares than those chosen (`--coverage` and `--top` say how many are)",
        "#    time  share  kernel",
        "4  900 µs  2.2 %  small_scale ×1,100",
        "5  100 µs  0.2 %  small_copy",
        "",
    ]
    assert "nknown" not in text


def test_small_kernels_beyond_the_top_are_counted() -> None:
    text = summary(surveyed(300), width=120)
    assert text.count("tiny_") == ROWS - 2
    assert "300 kernels (600 launches, 1.1 % of GPU time): smaller shares" in text
    assert "292 of them with -v" in " ".join(text.split())
    assert summary(surveyed(300), width=120, verbose=1).count("tiny_") == 300


def test_a_survey_that_was_cut_off_says_so() -> None:
    survey = WHOLE.collection.survey
    assert survey is not None
    cut = replace(survey, complete=False, in_depth=0, covered=0.0, tuning_launches=0, tuning_s=0.0)
    kernels = tuple(replace(timed(i, f"k{i}", 2, 1e-3, None)) for i in range(3))
    collection = replace(WHOLE.collection, depth="survey", survey=cut)
    text = " ".join(summary(replace(WHOLE, collection=collection, kernels=kernels)).split())
    assert "At least 1,831 launches of 6 kernels" in text
    assert "none was measured in depth." in text
    assert "! The survey was cut off after 1,831 launches" in text
    assert "only durations were recorded" in text
    assert "is unknown" not in text


def test_a_survey_without_a_duration_does_not_make_one_up() -> None:
    survey = WHOLE.collection.survey
    assert survey is not None
    blank = replace(survey, total_s=0.0, covered=0.0, tuning_s=0.0)
    text = summary(replace(WHOLE, collection=replace(WHOLE.collection, survey=blank)), width=120)
    assert "6 kernels, GPU time unknown; 2 kernels measured in depth." in text


def test_rules_that_lacked_data_are_counted_among_what_was_measured() -> None:
    lacking = replace(WHOLE.kernels[1], skipped=WHOLE.kernels[0].skipped)
    text = summary(replace(WHOLE, kernels=(WHOLE.kernels[0], lacking, *WHOLE.kernels[2:])))
    assert "Not evaluated on any kernel: tensor-core-bound" in text


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("application", "the program run again for every pass"),
        ("range", "each range replayed and measured as a whole"),
        ("app-range", "each range measured as a whole"),
    ],
)
def test_a_replay_that_is_not_of_kernels_says_what_it_means(
    report: Report, mode: str, words: str
) -> None:
    collection = replace(report.collection, replay_mode=mode)
    assert words in " ".join(summary(replace(report, collection=collection)).split())
    assert words not in summary(report)
