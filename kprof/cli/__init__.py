"""The command line: the only place that parses arguments, prints or exits.

Exit status: 0 clean, 1 a threshold was reached, 2 kprof could not do it, 130 Ctrl-C, 143 SIGTERM,
129 SIGHUP.
A command reports a threshold with ``ctx.exit(1)`` and a known failure by raising a
:class:`~kprof.errors.KprofError`; everything else that escapes is a bug and shows a traceback.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import sys
from typing import Any

import click

from kprof.cli import streams, system
from kprof.errors import KprofError
from kprof.version import __version__

INTERRUPTED = 130
COULD_NOT = 2
# What a shell reports for a program that SIGPIPE ended, as `kprof rules | head` may be.
PIPE_CLOSED = 141

# name: (where the command is, its line in `kprof --help`). The line is here so that the help
# imports no command.
COMMANDS = {
    "doctor": ("kprof.cli.doctor:doctor", "Find what keeps CUDA, torch or ncu from working."),
    "profile": ("kprof.cli.profile:profile", "Run a program under ncu, diagnose its kernels."),
    "analyze": ("kprof.cli.analyze:analyze", "Diagnose existing .ncu-rep reports."),
    "bench": ("kprof.cli.bench:bench", "Check and time the variants of an operator."),
    "rules": ("kprof.cli.rules:rules", "List the diagnosis rules, or explain one."),
    "samples": ("kprof.cli.samples:samples", "List, show, build and run the sample kernels."),
    "demo": ("kprof.cli.demo:demo", "Show the whole pipeline on this machine."),
}


class Failure(click.ClickException):
    """A known failure on its way to the user: cause, next step, exit status 2."""

    exit_code = COULD_NOT

    def __init__(self, error: KprofError) -> None:
        """Take cause and hint from the error."""
        super().__init__(error.message)
        self.hint = error.hint

    def show(self, file: Any = None) -> None:
        """Print ``Error: cause`` and ``Hint: next step`` to standard error."""
        click.echo(f"Error: {self.message}", file=file, err=True)
        if self.hint:
            click.echo(f"Hint: {self.hint}", file=file, err=True)


class Kprof(click.Group):
    """The ``kprof`` group: loads commands on demand, turns errors into exit statuses."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order a new user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - a wrong table is a bug
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        close = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and close and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; known failures become messages."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a closed pipe shows here rather than at interpreter exit
        except KprofError as error:
            raise Failure(error) from error
        except BrokenPipeError:
            streams.silence_stdout()
            ctx.exit(PIPE_CLOSED)
        return result

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line; as a program (standalone) always ends in ``SystemExit``."""
        if not standalone_mode:
            return super().main(*args, **{**extra, "standalone_mode": False})
        streams.prepare()
        with system.ending_on_signals():
            status = self._status(*args, **extra)
        gc.freeze()  # at its end Python would look for cycles in all that the system takes back
        sys.exit(status)

    def _status(self, *args: Any, **extra: Any) -> int:
        try:
            result = super().main(*args, **{**extra, "standalone_mode": False})
        except click.Abort:
            streams.complain("Interrupted")
            return INTERRUPTED
        except click.ClickException as error:
            streams.complain(error)
        except OSError as error:
            streams.complain(Failure(system.refused(error)))
        else:
            return result if isinstance(result, int) else 0
        return COULD_NOT


@click.group(cls=Kprof, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kprof", message="%(prog)s %(version)s")
def main() -> None:
    """Why is this GPU kernel slow, and what do I change?"""
