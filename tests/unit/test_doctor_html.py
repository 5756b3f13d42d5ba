from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kprof.audit import Facts
from kprof.audit.verdict import Remedy, Verdict
from kprof.doctor_html import FACTS, linked, render, shown
from kprof.doctor_result import result
from kprof.doctor_words import machine
from tests.doctor_fixture import CLEAN, COMMAND, DRIVER, HOSTILE, REPORT, VERDICTS, audited
from tests.page_parser import Page


@pytest.fixture(scope="module")
def html() -> str:
    return render(REPORT)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_it_is_whole_and_loads_nothing(html: str, page: Page) -> None:
    assert html.lstrip().startswith("<!doctype html>")
    assert page.open == []
    assert page.loading == []
    assert not re.search(r"@import|url\(", html)
    assert max(page.ids.values()) == 1
    inside = {link for link in page.links if link.startswith("#")}
    assert {link[1:] for link in inside} <= set(page.ids)
    assert len(html) < 200_000


def test_it_is_the_same_bytes_again(html: str) -> None:
    assert render(REPORT) == html


def test_the_cause_comes_first_with_fix_and_who(page: Page) -> None:
    text = page.visible
    assert text.index("3 errors, 1 warning") < text.index("The primary cause")
    assert text.index("The primary cause") < text.index("525.60.13") < text.index("Checks Result")
    cause = text[text.index("The primary cause") : text.index("Checks Result")]
    assert "Who can: the admin of the host, outside this container" in cause
    assert "sudo apt-get install nvidia-driver-580 sudo reboot" in cause
    assert "driver.version = 470.86" in cause


def test_every_check_is_on_it(page: Page) -> None:
    for item in REPORT.checks:
        assert item.check in page.visible
        assert " ".join(item.message.split()) in page.visible
    assert "1 check could not be judged: a fact is missing" in page.visible


def test_the_text_for_the_admin_is_ready_to_send(html: str) -> None:
    (ready,) = re.findall(r'<pre id="letter-1"[^>]*>(.*?)</pre>', html, re.DOTALL)
    assert ready.startswith(
        "Hello,\n\nthis is about the machine [name of the machine].\n\n"
        "The host needs NVIDIA driver R580. Please run the commands below on the host.\n\n  sudo"
    )
    assert ready.count("Thank you!") == 1
    assert ready.index("sudo reboot") < ready.index("Thank you!") < ready.index("What kprof")
    assert "kprof doctor saw on 2026-11-29 22:00 UTC (check driver.too_old_for_torch):" in ready
    assert "Inside this container" not in ready
    assert "\n  sudo apt-get install nvidia-driver-580\n  sudo reboot\n" in ready
    assert "  GPU: 8 × NVIDIA H200\n" in ready
    assert 'data-copy="letter-1"' in html


def test_alternatives_are_copied_apart(html: str) -> None:
    blocks = dict(re.findall(r'<pre id="([\w-]+)"[^>]*>(.*?)</pre>', html, re.DOTALL))
    assert blocks["fix-2"] == COMMAND
    assert blocks["fix-2-or-1"] == "\n".join(DRIVER.commands)
    assert 'data-copy="fix-2-or-1"' in html
    assert "<b>Or:</b> Install driver R580, then reboot." in html


def test_the_fix_of_a_second_cause_is_open(html: str) -> None:
    own = (("a.b", Verdict("error", "one")), ("c.d", Verdict("error", "two", (), DRIVER)))
    assert '<details class="fold" open><summary>Fix' in render(result(audited(own)))
    assert '<details class="fold" open>' not in html, "those follow, or are warnings"


def test_a_letter_asks_for_what_others_can_do_and_for_nothing_else() -> None:
    mine = Remedy("Run it as root once.", ("sudo once",), "you")
    theirs = Remedy("Open them for a session.", ("open them",), "root")
    remedy = Remedy("Open them for good.", ("for good",), "root", (mine, theirs))
    html = render(result(audited((("a.b", Verdict("error", "closed", (), remedy)),))))
    (ready,) = re.findall(r'<pre id="letter-1"[^>]*>(.*?)</pre>', html, re.DOTALL)
    assert "Or: Open them for a session.\n\n  open them\n" in ready
    assert "sudo once" not in ready


def test_who_can_help_himself_gets_no_letter() -> None:
    verdict = Verdict("error", "m", (), Remedy("Do it.", (COMMAND,)))
    assert "To send" not in render(result(audited((("a.b", verdict),))))


def test_a_remedy_for_root_becomes_a_letter_too() -> None:
    verdict = Verdict("error", "the driver is old", (), Remedy("Update it.", (COMMAND,), "root"))
    html = render(result(audited((("a.b", verdict),))))
    assert (
        "Hello,\n\nI want to run CUDA programs on the machine [name of the machine], and cannot:\n"
        "the driver is old.\n\nWhat would help: Update it.\n\n  pip install torch"
    ) in html


def test_a_letter_says_what_it_is_for() -> None:
    verdict = Verdict("error", "closed", (), Remedy("Open.", (), "root"))
    report = result(audited((("ncu.perm", verdict),)))
    assert "I want to profile GPU kernels with Nsight Compute on the machine" in render(report)
    driver = result(audited((("driver.missing", verdict),)))
    assert "I want to run CUDA programs on the machine" in render(driver)
    assert "I want to profile GPU kernels" in render(replace(driver, purpose="profile"))


def test_a_letter_does_not_ask_others_to_run_kprof() -> None:
    once = Remedy("Profile as root.", ("sudo kprof profile TARGET",), "root")
    commands = ("pause", "kprof profile TARGET", "tee /etc/modprobe.d/kprof-nvidia.conf")
    remedy = Remedy("Pause it.", commands, "root", (once,))
    html = render(result(audited((("ncu.busy", Verdict("error", "busy", (), remedy)),))))
    (ready,) = re.findall(r'<pre id="letter-1"[^>]*>(.*?)</pre>', html, re.DOTALL)
    assert "  pause\n  # (my profile runs here)\n  tee /etc/modprobe.d/kprof-nvidia.conf" in ready
    assert "kprof profile" not in ready
    assert "Profile as root" not in ready


def test_every_independent_error_gets_its_letter() -> None:
    root = Remedy("Ask for it.", (COMMAND,), "root")
    two = (("a.b", Verdict("error", "one", (), root)), ("c.d", Verdict("error", "two", (), root)))
    html = render(result(audited(two)))
    assert "and cannot:\none." in html
    assert "and cannot:\ntwo." in html


def test_a_clean_machine_has_no_cause() -> None:
    text = Page(render(CLEAN)).visible
    assert "No check found an error." in text
    assert "primary cause" not in text
    assert "What is unknown was not judged" in text


def test_nothing_from_a_snapshot_is_markup(html: str, page: Page) -> None:
    assert "</script><script>pwned" not in html
    assert html.count("&lt;/script&gt;&lt;script&gt;pwned=1") >= 3
    assert page.tags["script"] == 1
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "pwned=1" in page.visible


def test_facts_are_shown_as_saved_and_not_without_end(html: str) -> None:
    assert "&#34;cuda_version&#34;: &#34;11.4&#34;" in html
    assert json.loads(shown({"a": HOSTILE.replace("\x1b", "").replace("\x9b", "")}))
    big = render(replace(REPORT, facts={"log": "x" * 10 * FACTS}))
    assert len(big) < 2 * FACTS
    assert "cut here; the snapshot has all" in big


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        (
            "notes, table 2 <https://a.b/c?d=1#e>, confirmed",
            'notes, table 2 &lt;<a href="https://a.b/c?d=1#e">https://a.b/c?d=1#e</a>&gt;, confirmed',
        ),
        ("javascript:alert(1) <b>", "javascript:alert(1) &lt;b&gt;"),
        ('https://a.b/"onclick=x', '<a href="https://a.b/">https://a.b/</a>&#34;onclick=x'),
        ("see https://a.b/c.", 'see <a href="https://a.b/c">https://a.b/c</a>.'),
    ],
)
def test_addresses_of_a_source_are_links(text: str, shows: str) -> None:
    assert linked(text) == shows


def test_the_page_says_when_the_machine_was_looked_at(html: str, page: Page) -> None:
    assert "Looked at on 2026-11-29 22:00 UTC" in page.visible
    assert '<time datetime="2026-11-29T22:00:00Z">' in html
    undated = Page(render(replace(REPORT, taken=None))).visible
    assert "The snapshot does not say when" in undated


def test_what_is_known_to_be_absent_is_not_called_unknown() -> None:
    facts = Facts(
        {"lspci_gpus": [], "driver": {"modules_loaded": []}, "libcuda": {"path": None},
         "toolkits": [], "torch": None, "ncu": {"path": None}, "os": {"system": "linux"}}
    )  # fmt: skip
    html = render(result(audited(VERDICTS, facts)))
    head = html[html.index('<dl class="facts">') : html.index("</header>")]
    assert "unknown" not in head
    assert head.count("none found") == 5


@pytest.mark.parametrize(
    ("facts", "gpu", "driver"),
    [
        ({}, "unknown", "unknown"),
        ({"gpus": []}, "none found", "unknown"),
        ({"lspci_gpus": []}, "none found", "unknown"),
        ({"lspci_gpus": ["GA102", "AD102"], "gpus": []}, "GA102, AD102 (on the PCI bus)", "unknown"),
        ({"lspci_gpus": ["GA102"], "gpus": [{"name": "A"}]}, "A", "unknown"),
        ({"lspci_gpus": [], "os": {"wsl": 2}}, "unknown", "unknown"),
        ({"lspci_gpus": [], "os": {"jetson": "JetPack 6"}}, "unknown", "unknown"),
        ({"driver": {"modules_loaded": []}}, "unknown", "none found"),
        ({"driver": {"modules_loaded": []}, "os": {"wsl": 2}}, "unknown", "unknown"),
        ({"driver": {"modules_loaded": [], "version": "580.1"}}, "unknown", "580.1"),
    ],
)  # fmt: skip
def test_gpu_and_driver_in_short(facts: dict[str, object], gpu: str, driver: str) -> None:
    short = dict(machine(Facts(facts)))
    assert short["GPU"] == gpu
    assert short["driver"] == driver


def test_faults_of_the_snapshot_are_on_the_page() -> None:
    faulty = replace(CLEAN, faults=("gpus is not a list",))
    assert "In the snapshot, gpus is not a list: not used." in Page(render(faulty)).visible
