"""Where kprof's own options end and the target's begin."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import click


class TargetCommand(click.Command):
    """A command whose line ends in a target; ``-m MODULE`` is a target too.

    click would read on for options after ``-m MODULE``. With ``--`` put behind it, what follows
    reaches the module untouched.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Mark the end of kprof's options, then parse."""
        names: dict[str, bool] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option):
                takes = not (param.is_flag or param.count)
                names.update(dict.fromkeys((*param.opts, *param.secondary_opts), takes))
        return super().parse_args(ctx, end_options_at_module(args, names))


def end_options_at_module(args: Sequence[str], takes_value: Mapping[str, bool]) -> list[str]:
    """Insert ``--`` behind the first ``-m MODULE`` that stands among kprof's own options.

    Args:
        args: the command line behind ``kprof profile``.
        takes_value: option name to whether a value follows it.
    """
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] not in ("-", "--"):
        name, width = _option(args[index], takes_value)
        index += width
        if name in ("-m", "--module") and index <= len(args):
            return [*args[:index], "--", *args[index:]]
    return list(args)


def regex(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse what no engine accepts, before the target has run for nothing.

    ncu has an engine of its own, to which an unmatched brace is an error too.
    """
    if value is None:
        return None
    try:
        re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"{value!r} is not a regular expression: {error}") from error
    # Neither escaped ones nor those in a [class] count.
    bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "", value, flags=re.DOTALL)
    if bare.count("{") != bare.count("}"):
        raise click.BadParameter(f"{value!r} has an unmatched brace; a literal one is \\{{ or \\}}")
    return value


def finite(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    """Refuse ``nan`` and ``inf``, which are floats but no durations and no errors."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


def _option(word: str, takes_value: Mapping[str, bool]) -> tuple[str, int]:
    # The option that decides how many words belong together, and that number.
    if word.startswith("--"):
        name, has_value, _ = word.partition("=")
        return name, 2 if takes_value.get(name, False) and not has_value else 1
    for position, letter in enumerate(word[1:], start=1):
        if takes_value.get(f"-{letter}", False):  # -qm MODULE, -oDIR
            return f"-{letter}", 1 if word[position + 1 :] else 2
    return word, 1
