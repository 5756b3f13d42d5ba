"""What each part of the plan costs inside ncu: wall times with that part left out.

One run on one GPU. The variants take turns for some rounds, and each counts with its median: two
runs of the same command differ by several percent.

Run on a GPU machine: python benchmarks/ncu_costs.py [--rounds 3] [--only REGEX] [TARGET ARGS...]
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from profile_overhead import TARGET, started, timed

from kprof.cli.preflight import ready
from kprof.collect.command import Options, ncu_argv, shell
from kprof.collect.plan import plan_for

_DURATION = ("gpu__time_duration.sum",)


@dataclass(frozen=True, slots=True)
class Variant:
    """One ncu command.

    Attributes:
        name: of the variant.
        options: as kprof would take them.
        swap: words of the command line, one after the other, and what stands there instead.
    """

    name: str
    options: Options
    swap: tuple[str, str] = ("", "")


def _sampled(name: str) -> bool:
    return "pcsamp" in name


def _addresses(name: str) -> bool:
    return name.startswith("memory_")


def _opcodes(name: str) -> bool:
    return "per_opcode" in name


def _plain_opcodes(name: str) -> bool:
    return name.endswith("per_opcode")


def _counts(name: str) -> bool:
    return "inst_executed" in name.partition("__")[0]


def _patched(name: str) -> bool:
    return name.startswith("sass__") or _counts(name) or _addresses(name)


def sub_partitions(plan: Options) -> Options:
    """Return the plan with the address unit counted by SM sub-partition."""
    names = (
        name.replace("sm__inst_executed_pipe_adu", "smsp__inst_executed_pipe_adu")
        for name in plan.metrics
    )
    return replace(plan, metrics=tuple(names))


def variants(plan: Options) -> list[Variant]:
    """Return the plan itself, and what it is without each part."""

    def without(*parts: Callable[[str], bool]) -> Options:
        kept = (name for name in plan.metrics if not any(part(name) for part in parts))
        return replace(plan, metrics=tuple(kept))

    duration = replace(plan, metrics=_DURATION)
    return [
        Variant("plan", plan),
        Variant("no filter by name", replace(plan, with_communication=True)),
        Variant(
            "no children", plan, ("--target-processes all", "--target-processes application-only")
        ),
        Variant("no NVTX", plan, ("--nvtx ", "")),
        Variant("no code in the report", replace(plan, code=False)),
        Variant("no sampling", without(_sampled)),
        Variant("no addresses", without(_addresses)),
        Variant("no opcode mix", without(_opcodes)),
        Variant("no opcodes without modifiers", without(_plain_opcodes)),
        Variant("no counts per instruction", without(_counts)),
        Variant("address unit per sub-partition", sub_partitions(plan)),
        Variant("no patched code", without(_patched)),
        Variant("hardware counters alone", without(_patched, _sampled)),
        Variant("duration alone", duration),
        Variant("duration, unfiltered", replace(duration, with_communication=True)),
        Variant("duration of one launch", replace(duration, launch_count=1)),
    ]


def measure(variant: Variant, ncu: str, target: list[str], work: Path) -> float:
    """Return the wall time of one run in seconds; nothing of it stays on the disk."""
    report, log = work / "x.ncu-rep", work / "x.log"
    argv = shell(ncu_argv(ncu, variant.options, started(target), report=report, log=log))
    took = timed(*shlex.split(argv.replace(*variant.swap)))
    report.unlink()
    log.unlink()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="*", default=[str(TARGET)])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="variants whose name this is found in")
    given = parser.parse_args()
    if shutil.which("ncu") is None:
        raise SystemExit("ncu is not on PATH: this benchmark needs a GPU machine")
    found = ready()
    plan = plan_for("standard", None, found.capability, found.ncu.version)
    options = Options(metrics=plan.metrics, sections=plan.sections)
    chosen = [each for each in variants(options) if re.search(given.only, each.name)]
    took: dict[str, list[float]] = {each.name: [] for each in chosen}
    with tempfile.TemporaryDirectory() as folder:
        timed(*started(given.target))  # fills file caches
        for _ in range(given.rounds):
            for each in chosen:
                seconds = measure(each, str(found.ncu.path), given.target, Path(folder))
                took[each.name].append(seconds)
                print(f"{each.name}: {seconds:.2f} s", flush=True)
    for name, seconds in took.items():
        print(f"{name:28s} {median(seconds):6.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
