"""What the report says in words: NVIDIA's own rule results and NVTX ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kprof.model.profile import Opinion
from kprof.reader.library import FAILED_RULE, Action

# @section:SourceCounters:Source Counters@ and @url:Guide:https://...@ link inside ncu's window.
_SECTION = re.compile(r"@section:[^:@]*:([^@]*)@")
_URL = re.compile(r"@url:([^@]*?):(?:https?|file):[^@]*@")
_OTHER = re.compile(r"@[a-z]+:([^@]*)@")
_SPACES = re.compile(r"\s+")


def opinions(action: Action) -> tuple[Opinion, ...]:
    """Return the rule results in the report's order, without those of rules that failed.

    The text of a failed rule may hold a traceback with somebody's home path.
    """
    return tuple(_opinions(action))


def _opinions(action: Action) -> Iterator[Opinion]:
    for result in action.rule_results_as_dicts() or ():
        message = result.get("rule_message") or {}
        words = clean(str(message.get("message") or ""))
        if message.get("type") == FAILED_RULE or not words:
            continue
        rule = str(result.get("rule_identifier") or result.get("name") or "")
        title = clean(str(message.get("title") or result.get("name") or ""))
        yield Opinion(rule=rule, title=title, message=words)


def clean(message: str) -> str:
    """Replace link markup by the words it shows, and runs of white space by one space."""
    for pattern in (_SECTION, _URL, _OTHER):
        message = pattern.sub(lambda match: match.group(1), message)
    return _SPACES.sub(" ", message).strip()


def nvtx_ranges(action: Action) -> tuple[str, ...]:
    """Return the names of the push/pop ranges around a kernel, outermost first."""
    state = action.nvtx_state()
    if state is None:
        return ()
    domains = (state.domain_by_id(identity) for identity in state.domains())
    return tuple(
        str(name) for domain in domains if domain is not None for name in domain.push_pop_ranges()
    )
