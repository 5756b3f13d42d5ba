from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kprof.reader.opinions import clean, nvtx_ranges, opinions


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        (
            "See @section:SourceCounters:Warp Stall Sampling (All Samples)@ for  more.\n",
            "See Warp Stall Sampling (All Samples) for more.",
        ),
        (
            "The @url:Kernel Profiling Guide:https://docs.nvidia.com/x/index.html#ref@ says so.",
            "The Kernel Profiling Guide says so.",
        ),
        ("@url:fused:https://docs.nvidia.com/#a@, higher", "fused, higher"),
        ("mail me@example.com: nothing here", "mail me@example.com: nothing here"),
        ("", ""),
    ],
)
def test_markup_becomes_words(markup: str, words: str) -> None:
    assert clean(markup) == words


@dataclass
class Action:
    results: list[dict[str, Any]]
    state: Any = None

    def rule_results_as_dicts(self) -> list[dict[str, Any]]:
        return self.results

    def nvtx_state(self) -> Any:
        return self.state

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed here")


def _result(message: str, kind: int, title: str = "Title") -> dict[str, Any]:
    return {
        "rule_identifier": "CPIStall",
        "name": "Warp Stall",
        "rule_message": {"title": title, "message": message, "type": kind},
    }


def test_failed_rules_are_not_shown() -> None:
    traceback = "Rule failed\n/home/someone/Documents/Sections/Launch.py:45"
    found = opinions(Action([_result("Good advice.", 2), _result(traceback, 4), _result("", 1)]))
    assert [(one.rule, one.title, one.message) for one in found] == [
        ("CPIStall", "Title", "Good advice.")
    ]


def test_a_rule_without_title_or_message() -> None:
    (found,) = opinions(Action([_result("Look.", 1, title=""), {"name": "Bare"}]))
    assert found.title == "Warp Stall"


@dataclass
class Domain:
    ranges: tuple[str, ...]

    def push_pop_ranges(self) -> tuple[str, ...]:
        return self.ranges


class State:
    domain = (Domain(("outer", "inner </script>")), None, Domain(("other",)))

    def domains(self) -> tuple[int, ...]:
        return (0, 1, 2)

    def domain_by_id(self, identity: int) -> Domain | None:
        return self.domain[identity]


def test_ranges_outermost_first() -> None:
    assert nvtx_ranges(Action([], State())) == ("outer", "inner </script>", "other")
    assert nvtx_ranges(Action([])) == ()
