"""Doubts about the data of many kernels, each kind said once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kprof.ranking import Group

NAMED = 3  # kernels listed by number; the rest is counted
_NUMBER = re.compile(r"\b\d[\d.,]*")

_Note = tuple[int, str]  # kernel index, message


def doubts(groups: Sequence[Group], *, more: str | None = None) -> Iterator[str]:
    """Say each kind of doubt once, in the words of the kernel with most GPU time.

    Numbers belong to the kernels named before them: the others that have the same doubt with
    other numbers are named apart.

    Args:
        groups: kernels by GPU time, as :func:`kprof.ranking.ranked` orders them.
        more: the option that shows what is said of each group's longest launch, if there is one.
    """
    longest = {group.kernel.index for group in groups}
    for notes in _by_check(groups).values():
        message = notes[0][1]
        same = sorted(index for index, text in notes if text == message)
        others = [note for note in notes if note[1] != message]
        hint = more if all(index in longest for index, _ in others) else None
        shown = f"{hint} shows them" if hint else "the JSON has each"
        likewise = f" ({_likewise(message, others)}; {shown})" if others else ""
        yield f"{_named(same)}: {message}{likewise}"


def _by_check(groups: Sequence[Group]) -> dict[str, list[_Note]]:
    """Collect the notes of each check; those of the kernel with most GPU time come first."""
    found: dict[str, list[_Note]] = {}
    for group in groups:
        # The longest launch stands for the group elsewhere, so it does here.
        for kernel in sorted(group.members, key=lambda member: member is not group.kernel):
            for note in kernel.quality:
                found.setdefault(note.check, []).append((kernel.index, note.message))
    return found


def _likewise(message: str, others: Sequence[_Note]) -> str:
    alike = all(_wording(text) == _wording(message) for _, text in others)
    what = "numbers" if alike else "details"
    return f"likewise, with other {what}: {_named(sorted(index for index, _ in others))}"


def _wording(message: str) -> str:
    return _NUMBER.sub("0", message)


def _named(indices: Sequence[int]) -> str:
    more = f" and {len(indices) - NAMED} more" if len(indices) > NAMED else ""
    return ", ".join(f"#{index}" for index in indices[:NAMED]) + more
