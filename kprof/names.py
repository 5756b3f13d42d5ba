"""Kernel names short enough to read: C++ names run to well over a thousand characters."""

from __future__ import annotations

import json
import re

ELLIPSIS = "…"

_QUALIFIER = re.compile(r"(?:[A-Za-z_]\w*|\(anonymous namespace\)|<unnamed>|\{anonymous\})::")
_TYPES = "int|bool|unsigned int|long|unsigned long|char"
_CAST = re.compile(rf"(?:\((?:{_TYPES})\)|(?<=[<,])(?:{_TYPES})=)(?=-?\d)")  # (int)4, int=4
_VOID = re.compile(r"(?<=[<,] )void |(?<=<)void (?=\w)")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")
_OPEN, _CLOSE = "(<[{", ")>]}"


def short(demangled: str, width: int) -> str:
    """Return a kernel's name in at most ``width`` columns, its most telling part kept.

    Return type, parameters and namespaces go first; then the template arguments are cut.
    """
    name = _QUALIFIER.sub("", _signature(printable(demangled)))
    name = _VOID.sub("", _CAST.sub("", name))
    if len(name) <= width:
        return name
    base, bracket, _ = name.partition("<")
    if bracket and len(base) + 4 <= width:
        return name[: width - 2] + ELLIPSIS + ">"
    return name[: max(0, width - 1)] + ELLIPSIS


def function(demangled: str) -> str:
    """Return a function's own name, as ncu tells it: no namespaces, template arguments, types."""
    name = _signature(demangled)
    base = name if name.startswith("operator") else _before_template(name)
    return base.rpartition("::")[2] or name


def _before_template(name: str) -> str:
    if not name.endswith(">"):
        return name
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += (name[place] == ">") - (name[place] == "<")
        if depth == 0:
            return name[:place]
    return name


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: every control character becomes ``?``."""
    return "".join(char if char.isprintable() else "?" for char in text)


def json_printable(text: str) -> str:
    """Return JSON text that says the same and cannot steer a terminal or an editor.

    JSON escapes the first control characters alone; here every other one, and what turns the
    reading direction or does not show at all, is escaped too.
    """
    return _BEYOND_ASCII.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def one_line(text: str) -> str:
    """Return text as one printable line: nothing that was read may steer the terminal."""
    return printable(" ".join(text.split()))


def _signature(name: str) -> str:
    """Drop the parameter list at the end and the return type at the start."""
    if name.endswith(")"):
        opening = _opening(name)
        if opening > 0 and name[opening:] != "(anonymous namespace)":
            name = name[:opening]
    depth = 0
    for place, char in enumerate(name):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == " " and depth == 0 and not name.startswith("operator", place + 1 - 9):
            return name[place + 1 :].strip() or name
    return name.strip()


def _opening(name: str) -> int:
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += (name[place] == ")") - (name[place] == "(")
        if depth == 0:
            return place
    return -1
