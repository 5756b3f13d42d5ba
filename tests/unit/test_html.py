from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kprof.html import clip, fold, place, prepare, render
from kprof.model import (
    Bound,
    Evidence,
    KernelReport,
    Place,
    QualityNote,
    Report,
    Roofline,
    SharedMemory,
    Speedup,
    Spot,
)
from kprof.page import DETAILED
from kprof.templating import prose
from kprof.version import __version__
from kprof.words import verdict
from tests.page_parser import Page
from tests.report_fixture import (
    BARE,
    CEILINGS,
    LONG_NAME,
    PARTIAL,
    REPORT,
    SCRIPT_END,
    TRANSPOSE,
    UNKNOWN,
    VECTOR_ADD,
    many,
)
from tests.source_fixture import SOURCES

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def html() -> str:
    return render(REPORT)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def one(kernel: KernelReport) -> Page:
    return Page(render(replace(REPORT, kernels=(kernel,))))


def test_nothing_is_fetched(html: str, page: Page) -> None:
    assert page.loading == []
    own = re.sub(r'<script type="text/plain".*?</script>', "", html, flags=re.S)
    assert not re.search(r"<link|@import|url\(|<iframe|<img|<script[^>]+src|https?://", own)
    assert all(link.startswith("#") for link in page.links)


def test_every_link_leads_somewhere_on_the_page(page: Page) -> None:
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert set(page.ids.values()) == {1}


@pytest.mark.parametrize("report", [REPORT, BARE, many(2100, 400)], ids=["full", "bare", "many"])
def test_every_element_is_closed(report: Report) -> None:
    page = Page(render(report))
    assert page.open == []


def test_two_renders_are_the_same_bytes(html: str) -> None:
    assert render(REPORT) == html


def test_what_is_prepared_is_not_done_again(html: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare()
    monkeypatch.setattr("jinja2.Environment.compile", None)
    monkeypatch.setattr("gzip.compress", None)
    assert render(replace(REPORT, kernels=())) != html
    assert render(replace(REPORT, source=replace(REPORT.source, path="other"))) != html


def test_hostile_names_stay_text(html: str, page: Page) -> None:
    assert SCRIPT_END not in html
    assert SCRIPT_END in " ".join(page.text)
    assert "a & b <c>" in page.visible
    assert "<lambda()#1>::operator()&&(T1 const&) const" in page.visible
    assert page.tags["script"] == 3


def test_a_long_name_is_whole_in_its_section_and_short_elsewhere(html: str, page: Page) -> None:
    assert len(LONG_NAME) > 1400
    assert page.visible.count(LONG_NAME) == 1
    assert "vectorized_elementwise_kernel<4, BinaryFunctor<float, float, pair<" in page.visible


@pytest.mark.parametrize("report", [REPORT, BARE, many(300, 30)], ids=["full", "bare", "many"])
def test_absent_reads_unknown(report: Report) -> None:
    page = Page(render(report))
    assert "unknown" in page.visible
    assert not re.search(r"\bNone\b|\bnan\b|\binf\b|\bNaN\b|Undefined|\be[+-]\d\d", page.visible)


def test_an_unmeasured_kernel_shows_no_zero_and_no_praise() -> None:
    text = one(replace(UNKNOWN, name="k", demangled="k()")).visible
    section = text[text.index("What limits this kernel is unknown") :]
    assert "No rule had the data it needs: nothing is known to be wrong or right." in section
    assert "kprof profile --depth standard collects what the rules need." in section
    assert not re.search(r"\b0(\.0)? %|\b0 B\b|\b0 FLOP", section)
    assert "dram-bandwidth-bound lacks dram_pct" in section


def test_verdict_comes_first_then_findings_then_metrics(page: Page) -> None:
    section = page.visible[page.visible.rindex("Shared memory is the limit, at 96.2 %") :]
    order = [
        section.index(part)
        for part in (
            "shared-bank-conflicts",
            "Shared-memory loads at transpose.cu:41",
            "What to change",
            "Pad the tile by one column",
            "memory_l1_wavefronts_shared",
            "What would prove this wrong",
            "Throughput",
            "Second opinion",
        )
    ]
    assert order == sorted(order)


def test_a_finding_shows_all_it_rests_on(page: Page) -> None:
    text = page.visible
    assert "2.4–3.6× estimated speed-up" in text
    assert "high confidence" in text
    assert "excess share of shared wavefronts 93.9 % 10.0 % kprof" in text
    assert "69,206,016 wavefronts for context" in text
    assert "LDS R7, [R4] +0x230 96.9 %" in text
    assert "67,108,864 2,097,152 32-way" in text


def test_no_estimate_is_said_not_left_out() -> None:
    finding = replace(TRANSPOSE.findings[0], estimated_speedup=None)
    assert "no honest estimate" in one(replace(TRANSPOSE, findings=(finding,))).visible


def test_metrics_carry_their_units(page: Page) -> None:
    text = page.visible
    for shown in (
        "Duration 191 µs",
        "Grid 262144 × 1 × 1 blocks",
        "Registers 16 per thread",
        "Shared memory, static per block 4,096 B",
        "DRAM (reads and writes) 805 MB 4.21 TB/s 4.81 TB/s 0.0833 FLOP/B",
        "Tensor BF16 137 GFLOP",
        "38 registers per thread 7 blocks/SM, 87.5 %",
        "SM 1.98 GHz",
    ):
        assert shown in text


def test_the_header_says_how_it_was_collected(page: Page) -> None:
    for shown in (
        "NVIDIA H200", "132 SMs", "compute capability 9.0", "Nsight Compute 2025.3.1.0", "9 passes",
        "depth standard", "the GPU chose its clocks", "flushed before every pass",
        "python samples.py --n 8192", f"kprof {__version__}",
    ):  # fmt: skip
        assert shown in page.visible


def test_doubts_stand_before_everything_else() -> None:
    text = Page(render(BARE)).visible
    top = text[: text.index("Where the GPU time goes")]
    assert "This report is cut off or damaged." in top
    assert "exit status 139" in top
    assert "This is the recorded demo, replayed" in top
    assert "unknown number of passes" in top


def test_quality_stands_before_the_findings(page: Page) -> None:
    text = page.visible
    assert text.index("62 % of its maximum") < text.rindex("There are too few bytes in flight")


def test_ranked_by_time_with_what_could_be_saved(page: Page) -> None:
    text = page.visible
    table = text[text.index("Kernels by GPU time") :]
    names = ["vectorized_elementwise", "transpose_tile32", "vector_add", "depthwise", "lambda"]
    order = [table.index(name) for name in names]
    assert order == sorted(order)
    assert "1.39 ms 1 of 5 kernels have no duration" in text
    # 412.6 µs become 171.9 µs at 2.4 times and 114.6 µs at 3.6 times.
    assert "240 µs – 300 µs 17.3 – 21.5 % of GPU time" in text


def test_an_estimate_that_starts_at_no_gain_says_up_to() -> None:
    finding = replace(VECTOR_ADD.findings[0], estimated_speedup=Speedup(1.0, 1.1))
    assert "up to 17 µs" in one(replace(VECTOR_ADD, findings=(finding,))).visible


def test_findings_across_kernels_link_to_them() -> None:
    finding = replace(TRANSPOSE.findings[0], rule="fusion-candidate", kernels=(1, 2))
    page = Page(render(replace(REPORT, findings=(finding,))))
    assert "Across kernels" in page.visible
    assert page.links.count("#k1") > Page(render(REPORT)).links.count("#k1")


def test_without_a_roofline_plotly_stays_out() -> None:
    html = render(BARE)
    assert len(html) < 0.1 * MEGABYTE
    assert 'id="plotly-packed"' not in html


def test_data_is_json_without_a_way_out(html: str) -> None:
    found = re.search(r'<script type="application/json" id="kprof-data">(.*?)</script>', html)
    assert found is not None
    figure = json.loads(found[1])["rooflines"]["0"]
    markers = [trace for trace in figure["data"] if trace["meta"]["kind"] == "kernels"]
    assert {index for trace in markers for index in trace["customdata"]} == {1, 2, 3}


def test_the_drawing_needs_no_script(page: Page) -> None:
    assert page.tags["polygon"] == 3
    assert "Tensor BF16 / FP16 989 TFLOP/s" in page.visible
    assert "DRAM 4.80 TB/s" in page.visible


def test_no_marker_lies_over_a_label(html: str) -> None:
    assert html.rindex("<polygon") < html.index('class="roof-label"')


def test_what_the_chart_leaves_out_is_named(page: Page) -> None:
    reason = "because it does no floating-point arithmetic"
    assert f"Not on the chart: #0 transpose_tile32 , {reason}" in page.visible
    assert "because its duration is not in the report" in page.visible
    assert "#k0" in page.links


def test_without_any_roofline_every_kernel_is_still_named() -> None:
    page = Page(render(replace(REPORT, kernels=(UNKNOWN,))))
    assert "because its duration is not in the report" in page.visible
    assert f"#k{UNKNOWN.index}" in page.links
    assert "#roofline" in page.links


def test_a_kernel_without_one_levels_traffic_is_named_at_that_level() -> None:
    html = render(PARTIAL)
    assert "because its L2 traffic is not in the report" in Page(html).visible
    assert '<div class="absentees" data-level="l2" hidden>' in html


def test_a_point_above_the_roof_is_hollow_and_explained() -> None:
    note = QualityNote("above-roof", "the kernel sits at 130 % of its dram roof")
    html = render(replace(REPORT, kernels=(replace(VECTOR_ADD, quality=(note,)),)))
    assert 'class="mark hollow"' in html
    assert '"circle-open"' in html
    assert "Hollow markers lie above a roof" in Page(html).visible
    assert "ollow" not in Page(render(replace(REPORT, kernels=(VECTOR_ADD,)))).visible


def test_75_kernels_fit_in_six_megabytes() -> None:
    assert len(render(many(75, 75)).encode()) < 6 * MEGABYTE


@pytest.mark.parametrize("distinct", [400, 2100])
def test_thousands_of_kernels_stay_usable(distinct: int) -> None:
    html = render(many(2100, distinct))
    page = Page(html)
    assert len(html.encode()) < 10 * MEGABYTE
    assert html.count('<details class="kernel"') == DETAILED
    assert f"shown as {distinct} entries".replace("2100", "2,100") in page.visible or (
        distinct == 2100 and "2,100 in this report" in page.visible
    )
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_alike_launches_are_listed_with_their_own_numbers() -> None:
    text = Page(render(many(300, 10))).visible
    assert "30 launches alike" in text
    assert "shown as 10 entries" in text


@pytest.mark.parametrize(
    ("file", "line", "shown"),
    [
        ("/a/b/k.cu", 41, "k.cu:41"),
        ("C:\\src\\k.cu", 3, "k.cu:3"),
        ("k.cu", None, "k.cu"),
        (None, 7, "no line information"),
    ],
)
def test_place(file: str | None, line: int | None, shown: str) -> None:
    assert place(file, line) == shown


@pytest.mark.parametrize(
    ("wavefronts", "ideal", "shown"),
    [(64, 2, "32-way"), (63, 2, "31.5-way"), (2, 2, "1-way"), (4, 0, "unknown")],
)
def test_fold(wavefronts: float, ideal: float, shown: str) -> None:
    assert fold(wavefronts, ideal) == shown


def test_clip_keeps_both_ends() -> None:
    text = "a" * 50 + "b" * 50
    assert clip(text, 30) == "a" * 20 + "…" + "b" * 9
    assert clip("short", 30) == "short"


def test_unused_roofs_of_special_paths_are_left_out() -> None:
    ceilings = {**CEILINGS, "tensor_int1": 1.7e16, "tensor_bf16_mma": 7.1e14}
    device = replace(REPORT.devices[0], ceilings=ceilings)
    text = Page(render(replace(REPORT, devices=(device,)))).visible
    assert "INT1" not in text
    assert "BF16 mma" not in text
    assert "Tensor TF32 495 TFLOP/s" in text


def test_no_gain_is_not_a_speed_up() -> None:
    finding = replace(TRANSPOSE.findings[0], estimated_speedup=Speedup(1.0, 1.01))
    text = one(replace(TRANSPOSE, findings=(finding,))).visible
    assert "no gain expected from this alone" in text
    assert "1.0×" not in text


@pytest.mark.parametrize("bound", ["latency", "launch", "balanced"])
def test_verdict_names_the_busiest_unit(bound: Bound) -> None:
    text = verdict(replace(VECTOR_ADD, bound=bound))
    assert "the busiest unit, DRAM, reached" in text
    assert "91.7 % of its peak" in text
    assert "busiest" not in verdict(replace(VECTOR_ADD, bound=bound, limiter=None))


def test_a_roofline_without_a_single_number_is_one_unknown() -> None:
    text = one(replace(UNKNOWN, roofline=Roofline())).visible
    assert "unknown : the report lacks the counters of a roofline" in text


def test_code_in_prose_is_set_as_code_and_stays_text() -> None:
    assert prose("use `a<b>` & `c`") == "use <code>a&lt;b&gt;</code> &amp; <code>c</code>"
    assert prose("a lone ` mark") == "a lone ` mark"


def test_an_instruction_nobody_could_disassemble_says_so() -> None:
    where = replace(TRANSPOSE.findings[0].source[0], sass="")
    finding = replace(TRANSPOSE.findings[0], source=(where,))
    assert "not disassembled +0x230" in one(replace(TRANSPOSE, findings=(finding,))).visible


def test_doubts_show_on_the_folded_section_and_remarks_do_not() -> None:
    notes = (
        QualityNote("above-roof", "the kernel sits at 130 % of its roof"),
        QualityNote("short-kernel", "1.0 µs is short"),
        QualityNote("no-line-info", "no line information"),
    )
    text = one(replace(VECTOR_ADD, quality=notes)).visible
    assert text.count("2 doubts about the data") == 2  # in the table and on the section
    assert text.index("Doubts about the data") < text.rindex("What would prove this wrong")
    assert "no line information no-line-info" in text
    only_context = one(replace(VECTOR_ADD, quality=notes[2:])).visible
    assert "oubts about the data" not in only_context


def test_kernels_are_numbered_as_the_terminal_does() -> None:
    kernels = (replace(VECTOR_ADD, index=0), replace(TRANSPOSE, index=7))
    html = render(replace(REPORT, kernels=kernels))
    text = Page(html).visible
    table = text[text.index("Kernels by GPU time") :]
    assert table.index("7 transpose_tile32") < table.index("0 vector_add")
    assert '<span class="rank">#7</span>' in html
    assert "Not on the chart: #7 transpose_tile32" in text
    assert "<b>#0 vector_add</b>" in json.loads(f'"{_hover_of(html)}"')


def _hover_of(html: str) -> str:
    found = re.search(r'"text":\["(.*?)"\]', html)
    assert found is not None
    return found[1]


def test_start_here_says_what_to_change(page: Page) -> None:
    text = page.visible
    start = text[text.index("Start here") : text.index("Kernels by GPU time")]
    assert "Change: Pad the tile by one column" in start
    assert "shared-bank-conflicts in #0 transpose_tile32" in start
    assert "numbers of the first" not in start


def test_start_here_says_whose_numbers_it_shows() -> None:
    kernels = tuple(replace(TRANSPOSE, index=i, duration_s=1e-4 * (9 - i)) for i in range(5))
    text = Page(render(replace(REPORT, kernels=kernels))).visible
    assert "and 2 more: saving of all, numbers of the first" in text


def test_start_here_looks_past_a_limit_that_is_reached() -> None:
    cause = TRANSPOSE.findings[0]
    reached = replace(cause, rule="dram-bandwidth-bound", severity="info", estimated_speedup=None)
    text = Page(
        render(replace(REPORT, kernels=(replace(TRANSPOSE, findings=(reached, cause)),)))
    ).visible
    start = text[text.index("Start here") : text.index("Kernels by GPU time")]
    assert "shared-bank-conflicts in #0" in start


def test_start_here_leaves_out_what_is_not_worth_it() -> None:
    tiny = replace(VECTOR_ADD, duration_s=1e-7)
    text = Page(render(replace(REPORT, kernels=(TRANSPOSE, tiny)))).visible
    start = text[text.index("Start here") : text.index("Kernels by GPU time")]
    assert "dram-bandwidth-bound" not in start
    assert "Left out: 1 rule whose fix is estimated to save less than 0.1 % of GPU time" in start


def test_the_busiest_unit_has_a_name(page: Page) -> None:
    assert re.search(r"96\.2 % Shared memory 93\.4 %", page.visible)


def test_what_was_not_collected_or_not_used_takes_one_line() -> None:
    missing = "two Speed Of Light percentages were not collected."
    assert missing in one(TRANSPOSE).visible
    assert missing not in one(VECTOR_ADD).visible
    idle = one(replace(VECTOR_ADD, shared_memory=SharedMemory(0.0, 0.0, 0.0))).visible
    assert "Shared memory Not used" in idle
    assert "Wavefronts needed" not in idle


def test_several_kernels_left_out_read_as_several() -> None:
    twice = (TRANSPOSE, replace(TRANSPOSE, index=1))
    text = Page(render(replace(REPORT, kernels=twice))).visible
    assert "because they do no floating-point arithmetic" in text


def test_a_link_leads_to_the_line_that_it_names() -> None:
    header = Spot("/usr/local/cuda/include/device_atomic_functions.hpp", 112)
    inlined = Place(
        header.file, 112, "REDG", 16, 0.5, (header, Spot("/src/bad.cu", 11)), share_of="the updates"
    )
    finding = replace(TRANSPOSE.findings[0], source=(inlined,))
    kernel = replace(SOURCES.kernels[0], findings=(finding,))
    text = render(replace(SOURCES, kernels=(kernel,)))
    assert 'data-file="/src/bad.cu" data-line="11"' in text
    assert 'title="/src/bad.cu">bad.cu:11 (device_atomic_functions.hpp:112)<' in text
    assert "Share of the updates" in text


def test_a_threshold_has_its_side_and_says_where_it_is_not_met() -> None:
    evidence = (Evidence("l1_data_pct", 37.6, "%", 40.0, "kprof", "at least"),)
    finding = replace(TRANSPOSE.findings[0], evidence=evidence)
    text = one(replace(TRANSPOSE, findings=(finding,))).visible
    assert "at least 40.0 %, not met" in text


def test_at_the_limit_there_is_something_left_to_gain() -> None:
    finding = replace(
        TRANSPOSE.findings[0],
        rule="dram-bandwidth-bound",
        severity="info",
        resource="dram",
        estimated_speedup=Speedup(1.0, 1.1),
    )
    text = one(replace(TRANSPOSE, findings=(finding,))).visible
    assert "left to gain: up to 1.1×" in text
    assert "estimated speed-up" not in text
