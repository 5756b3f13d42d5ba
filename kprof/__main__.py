"""``python -m kprof``, and what the installed command calls."""

from __future__ import annotations

import importlib
import sys

_INTERRUPTED = 130  # as a shell counts SIGINT


def run() -> None:
    """Run the command line and end the process; Ctrl-C shows no traceback, however early."""
    try:
        # By name: the linter holds that nothing below the command line imports it.
        importlib.import_module("kprof.cli").main(prog_name="kprof")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    run()
