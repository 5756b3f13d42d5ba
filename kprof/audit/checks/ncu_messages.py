"""The rest of ncu's messages, each a check that speaks when the message was seen.

Their causes and fixes are rows of the version table, so a new message needs no new code.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.audit import matrix, said
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, registered

_EXPLAINS = {
    "ncu.lib": ("ncu.prepare", "ncu.no_kernels", "ncu.early_exit"),
    "ncu.libver": ("ncu.prepare",),
    "ncu.memory": ("ncu.prepare",),
    "ncu.savestate": ("ncu.prepare",),
    "ncu.child": ("ncu.no_kernels",),
    "ncu.script": ("ncu.no_kernels", "ncu.early_exit"),
    "ncu.early_exit": ("ncu.no_kernels",),
    "ncu.preinit": ("ncu.no_kernels",),
}

# What starts the target so; kprof follows child processes by itself.
_COMMANDS = {
    "ncu.no_kernels": ("kprof profile TARGET",),
    "ncu.child": ("kprof profile TARGET", "ncu --target-processes all TARGET"),
    "ncu.script": ("kprof profile TARGET", "ncu --target-processes all bash TARGET"),
    "ncu.preinit": ("unset LD_PRELOAD CUDA_INJECTION64_PATH",),
    "ncu.memory": ("kprof profile --replay-mode application TARGET",),
    "ncu.savestate": ("kprof profile --replay-mode application TARGET",),
    "ncu.clock": ("kprof profile --clock-control none TARGET",),
}


def _judge(name: str) -> Callable[[Facts], Verdict]:
    def judge(facts: Facts) -> Verdict:
        found = said.message(facts, name)
        if found is None:
            if not (facts.known("log") or facts.known("ncu.error")):
                raise Unknown("ncu.error")
            return ok("ncu did not say so")
        line, known = found
        first, *others = known.fixes
        rest = f". Or: {'; '.join(others)}" if others else ""
        return Verdict(
            "warning" if known.severity == "warning" else "error",
            known.cause,
            (line,),
            Remedy(f"{first[:1].upper()}{first[1:]}{rest}", _COMMANDS.get(name, ())),
            f"{known.source} [{known.confidence}]",
        )

    return judge


def _register() -> None:
    taken = {one.id for one in registered()}
    for known in matrix.ncu_messages():
        if known.id.startswith("ncu.") and known.id not in taken and known.pattern is not None:
            taken.add(known.id)
            title = f"ncu's message {known.id.removeprefix('ncu.').replace('_', ' ')}"
            explains = _EXPLAINS.get(known.id, ())
            check(known.id, title, hurts=("profile",), explains=explains)(_judge(known.id))


_register()
