"""A kernel that ncu got no further with: why that happens, and what to do instead."""

from __future__ import annotations

import shlex

from kprof.collect.command import RANGES, Options, communicates
from kprof.collect.patterns import CUT, literal
from kprof.collect.run import Collected
from kprof.errors import NcuFailed
from kprof.names import one_line

_SLOW = "if it is only slow, give it more --kernel-timeout"
_NAME = 60


def hang(collected: Collected, options: Options) -> NcuFailed | None:
    """Return the error for a run that was ended because a kernel hung, else None.

    Args:
        collected: how the run ended.
        options: what was asked.
    """
    if collected.hung is None:
        return None
    name = one_line(collected.hung)
    shown = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return NcuFailed(
        f"ncu got no further with {shown}, and was stopped (--kernel-timeout)",
        hint=f"{_waits(name, options)}; {_SLOW}",
    )


def _waits(name: str, options: Options) -> str:
    if options.replay_mode in RANGES:
        return (
            "what runs in the range waits for something outside of it: choose another --nvtx RANGE"
        )
    # ncu itself proposes ranges to a launch that takes long: in one kernels run side by side.
    together = "measure all that wait for each other with --replay-mode range --nvtx RANGE"
    if communicates(name):
        return (
            "it waits for other GPUs, which ncu does not let run meanwhile: drop "
            f"--with-communication, or {together}"
        )
    kernel = literal(name.removesuffix(CUT))
    in_app = "try --as-in-app, " if options.replay_mode == "kernel" else ""
    return (
        "a kernel that waits for the CPU, for another kernel or for another GPU (NCCL, NVSHMEM) "
        "never ends when ncu runs it alone: leave it out, and those it waits for, with --kernel "
        f"{shlex.quote(f'^(?!.*{kernel})')}, {in_app}or {together}"
    )
