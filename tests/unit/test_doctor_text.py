from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.audit import Facts
from kprof.audit.verdict import Remedy, Verdict
from kprof.doctor_result import result
from kprof.doctor_text import summary
from tests.doctor_fixture import CLEAN, COMMAND, DRIVER, REPORT, VERDICTS, audited


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_the_cause_stands_first_with_its_fix_and_who_can_run_it() -> None:
    shown = summary(REPORT, width=100)
    assert lines(shown)[0] == "kprof doctor: 3 errors, 1 warning"
    assert lines(shown)[1].startswith("  GPU 8 × NVIDIA H200; driver 470.86 (CUDA 11.4);")
    first = next(line for line in lines(shown) if line.startswith("ERROR"))
    assert first == "ERROR driver.too_old_for_torch  the primary cause"
    assert "  torch 2.1.0+cu121 needs driver 525.60.13 or newer, this one is 470.86" in shown
    assert "  who  the admin of the host, outside this container" in shown
    assert "      $ sudo apt-get install nvidia-driver-580\n      $ sudo reboot\n" in shown
    assert shown.index("sudo reboot") < shown.index("torch.slow")


def test_it_says_when_the_machine_was_looked_at() -> None:
    assert "; seen 2026-11-29 22:00 UTC\n" in summary(REPORT, width=200)
    assert "; seen" not in summary(replace(REPORT, taken=None), width=200)


def test_other_problems_take_one_line_each_errors_first() -> None:
    shown = summary(REPORT, width=300)
    rows = [line for line in lines(shown) if line.startswith(("ERROR  ", "WARNING"))]
    assert [row.split()[1] for row in rows] == [
        "torch.import_error", "torch.slow", "env.multiple_toolkits",
    ]  # fmt: skip
    assert rows[0].endswith("(follows from the primary cause)")
    assert "unset CUDA_HOME" not in shown


def two_causes(verbose: int = 0) -> str:
    other = Remedy("Get a newer ncu.", ("install ncu",), alternatives=(DRIVER,))
    second = ("ncu.chip_unsupported", Verdict("error", "ncu is old", ("seen",), other))
    return summary(result(audited((*VERDICTS, second))), width=100, verbose=verbose)


def test_a_second_cause_has_its_fix_in_brief() -> None:
    shown = two_causes()
    assert (
        "ERROR ncu.chip_unsupported  a cause of its own\n"
        "  ncu is old\n"
        "  fix  Get a newer ncu.\n"
        "  who  you\n"
        "      $ install ncu\n\n"
    ) in shown
    assert shown.index("the primary cause") < shown.index("a cause of its own")
    assert shown.index("$ install ncu") < shown.index("torch.slow")
    assert shown.count("ncu.chip_unsupported") == 1
    assert "saw  seen" not in shown
    assert shown.count("a cause of its own") == 1


def test_verbose_has_all_of_a_second_cause() -> None:
    shown = two_causes(verbose=1)
    assert f"      $ install ncu\n  or   {DRIVER.text}\n" in shown
    assert "saw  seen" in shown


def test_what_is_fine_or_unknown_is_a_count() -> None:
    shown = summary(REPORT, width=100)
    assert "1 ok, 1 unknown for lack of facts, 1 not applying here" in shown
    assert "(-v lists them" in shown
    assert "ncu.perm" not in shown


def test_verbose_shows_evidence_fixes_and_every_check() -> None:
    shown = summary(REPORT, width=100, verbose=1)
    assert "saw  driver.version = 470.86" in shown
    assert "rule CUDA release notes, table 2 <https://docs.nvidia.com/cuda/>, confirmed" in shown
    assert "$ unset CUDA_HOME" in shown
    assert "not known: driver.params.RmProfilingAdminOnly" in " ".join(shown.split())
    for name, _ in VERDICTS:
        assert name in shown
    assert "-v" not in lines(shown)[-1]


def test_alternatives_have_commands_of_their_own() -> None:
    shown = summary(REPORT, width=100, verbose=1)
    assert (
        f"      $ {COMMAND}\n"
        "  or   Install driver R580, then reboot.\n"
        "  who  root on this machine\n"
        "      $ sudo apt-get install -y nvidia-driver-580-open\n"
        "      $ sudo reboot now\n"
    ) in shown


def test_a_clean_machine_is_told_so() -> None:
    shown = summary(CLEAN)
    assert lines(shown)[0] == "kprof doctor: no problem found"
    assert "ERROR" not in shown
    assert "1 ok" in shown
    assert lines(summary(replace(CLEAN, purpose="run")))[0].endswith(
        "no problem found for running CUDA programs"
    )


def test_no_fact_is_unknown_and_not_fine() -> None:
    shown = summary(result(audited((("a.b", Verdict("unknown", "not known: gpus")),), Facts({}))))
    assert "nothing is known of the machine" in shown
    assert "0 ok" not in shown
    assert "1 unknown for lack of facts" in shown


@pytest.mark.parametrize("width", [1, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("verbose", [0, 1])
def test_only_commands_are_wider_than_the_terminal(width: int, verbose: int) -> None:
    long = Verdict("error", "x" * 300, ("y" * 300,), Remedy("z" * 300, (COMMAND,)))
    report = result(audited((*VERDICTS, ("an.error_with_a_rather_long_name_of_its_own", long))))
    shown = summary(report, width=width, verbose=verbose)
    wide = {line.strip() for line in lines(shown) if len(line) > max(width, 40)}
    allowed = {COMMAND, "sudo apt-get install nvidia-driver-580", *DRIVER.commands}
    assert wide <= {f"$ {command}" for command in allowed}


def test_commands_are_whole_in_the_narrowest_terminal() -> None:
    assert f"$ {COMMAND}\n" in summary(REPORT, width=40, verbose=1)


@pytest.mark.parametrize("verbose", [0, 1])
def test_nothing_steers_the_terminal(verbose: int) -> None:
    shown = summary(REPORT, verbose=verbose)
    assert all(line.isprintable() for line in lines(shown))
    assert not any(line.startswith("ERROR fake") for line in lines(shown))
    assert "\x1b[" in summary(REPORT, color=True)
    assert "\x1b[31mred" not in summary(REPORT, color=True, verbose=verbose)


def test_markup_of_rich_is_text() -> None:
    verdict = Verdict("error", "[red]no[/red] [link=x]y[/link] :smile:", ("[/]",))
    shown = summary(result(audited((("a.b", verdict),))), verbose=1)
    assert "[red]no[/red] [link=x]y[/link] :smile:" in shown
    assert "saw  [/]" in shown


def test_faults_of_a_snapshot_are_named_the_first_of_many() -> None:
    report = replace(CLEAN, faults=tuple(f"fact{n} is not text" for n in range(7)))
    shown = summary(report)
    assert "! in the snapshot, fact0 is not text: not used" in shown
    assert "! and 2 more (-v)" in shown
    assert "fact6" in summary(report, verbose=1)


def test_probes_that_failed_are_told_to_who_asks() -> None:
    report = replace(CLEAN, facts={"errors": {"nvml": "no answer within 6.0 s\x1b", "x": 7}})
    assert "! nvml could not be seen: no answer within 6.0 s?" in summary(report, verbose=1)
    assert "could not be seen" not in summary(report)
