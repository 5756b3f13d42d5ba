"""What the doctor's outputs say alike: who can fix it, the machine in short, the letter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kprof.audit import Facts, derive, gpustate
from kprof.audit.moment import shown
from kprof.audit.verdict import Purpose, Status, Who
from kprof.doctor_result import CheckResult, DoctorReport, Fix
from kprof.names import one_line
from kprof.units import UNKNOWN, count

ABSENT = "none found"
NAME_OF_MACHINE = "[name of the machine]"  # kprof takes it out of what it shows

_KPROF = re.compile(r"\bkprof [a-z]")
_QUOTED = re.compile(r': "(.+)"\s*$', re.DOTALL)

WHO: dict[Who, str] = {
    "you": "you",
    "root": "root on this machine",
    "host": "the admin of the host, outside this container",
    "windows": "you, on the Windows side",
    "provider": "the provider of this machine",
}
FOR: dict[Purpose, str] = {
    "profile": "profiling",
    "run": "running CUDA programs",
    "build": "building CUDA programs",
    "analyze": "reading reports",
}
WANT: dict[Purpose, str] = {
    "profile": "profile GPU kernels with Nsight Compute",
    "run": "run CUDA programs",
    "build": "build CUDA programs",
    "analyze": "read profiles of GPU kernels",
}
STATUS: dict[Status, str] = {
    "error": "error",
    "warning": "warning",
    "unknown": "unknown",
    "ok": "ok",
    "skipped": "skipped",
}


def headline(report: DoctorReport) -> str:
    """Say the result in one line: ``2 errors, 1 warning for profiling``."""
    if not report.judged:
        return "nothing could be judged"
    tally = report.tally()
    errors, warnings = tally["error"], tally["warning"]
    found = [count(errors, "error")] if errors else []
    found += [count(warnings, "warning")] if warnings else []
    aim = f" for {FOR[report.purpose]}" if report.purpose else ""
    return f"{', '.join(found) or 'no problem found'}{aim}"


def rest(report: DoctorReport) -> str:
    """Count the checks that found nothing: ``30 ok, 12 unknown, 8 do not apply``."""
    tally = report.tally()
    words = (
        ("ok", "ok"),
        ("unknown", "unknown for lack of facts"),
        ("skipped", "not applying here"),
    )
    parts = [f"{tally[status]} {said}" for status, said in words if tally[status]]  # type: ignore[index]
    return ", ".join(parts) or "no checks"


def fix_line(fix: Fix) -> str:
    """Return a remedy on one line: what to do, who can, the commands."""
    by = "" if fix.who == "you" else f" (by {WHO[fix.who]})"
    text = f"{sentence(one_line(fix.text))}{by}"
    commands = " && ".join(one_line(command) for command in fix.commands)
    return f"{text}: {commands}" if commands else text


def fix_lines(fix: Fix) -> Iterator[str]:
    """Yield a remedy line by line, each command on lines of its own: there to be copied."""
    by = "" if fix.who == "you" else f" (by {WHO[fix.who]})"
    yield f"{sentence(one_line(fix.text))}{by}{':' if fix.commands else ''}"
    yield from (line for command in fix.commands for line in command.split("\n"))
    for other in fix.alternatives:
        first, *more = fix_lines(other)
        yield f"Or: {first}"
        yield from more


def sentence(text: str) -> str:
    """Return text without its full stop."""
    return text.rstrip(" .")


def machine(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return what is known of the machine in a few pairs of name and value."""
    pairs = (
        ("GPU", _gpus(facts)),
        ("driver", _driver(facts)),
        ("CUDA toolkit", _first(facts, "toolkits", "version")),
        ("torch", _version(facts, "torch")),
        ("ncu", _version(facts, "ncu")),
        ("system", _system(facts)),
    )
    return tuple((name, one_line(value)[:200]) for name, value in pairs)


def failures(facts: Facts) -> tuple[str, ...]:
    """Return what the probes could not see, a line each."""
    said = (f"{name} could not be seen: {text[:300]}" for name, text in facts.entries("errors"))
    return tuple(one_line(line) for line in said)[:20]


def letter(item: CheckResult, report: DoctorReport) -> str | None:
    """Return a text to send to whoever can fix it; None where that is the user."""
    if item.remedy is None or item.remedy.who in ("you", "windows"):
        return None
    parts = (_request(item, item.remedy, report), ("", "Thank you!", ""), _seen(item, report))
    return "\n".join(line for part in parts for line in part) + "\n"


def _request(item: CheckResult, fix: Fix, report: DoctorReport) -> Iterator[str]:
    yield from ("Hello,", "")
    written = _QUOTED.search(fix.text)  # some remedies are letters already
    if written:
        yield from (f"this is about the machine {NAME_OF_MACHINE}.", "")
        yield written[1].removesuffix("Thank you!").rstrip()
    else:
        yield f"I want to {_aim(item, report)} on the machine {NAME_OF_MACHINE}, and cannot:"
        yield from (f"{sentence(item.message)}.", "", f"What would help: {fix.text}")
    yield from _asked(fix)
    for other in fix.alternatives:
        if _for_others(other):
            yield from ("", f"Or: {other.text}")
            yield from _asked(other)


def _aim(item: CheckResult, report: DoctorReport) -> str:
    """Return what the writer is kept from: what the audit was for, else the most that fails."""
    purposes = [report.purpose, *("run", "build", "profile", "analyze")]
    return next((WANT[one] for one in purposes if one in item.hurts), "use the GPU")


def _for_others(fix: Fix) -> bool:
    """Say whether a letter may ask for it: not for what its writer does, nor to run kprof."""
    own = fix.commands and all(map(_KPROF.search, fix.commands))
    return fix.who not in ("you", "windows") and not own


def _asked(fix: Fix) -> Iterator[str]:
    if fix.commands:
        yield ""
    for command in fix.commands:
        own = _KPROF.search(command)
        yield from (
            ["  # (my profile runs here)"] if own else (f"  {x}" for x in command.split("\n"))
        )


def _seen(item: CheckResult, report: DoctorReport) -> Iterator[str]:
    on = f" on {shown(report.taken)}" if report.taken else ""
    yield from (f"What kprof doctor saw{on} (check {item.check}):", "")
    yield f"  {item.message}"
    known = machine(Facts(report.facts))
    yield from (f"  {name}: {value}" for name, value in known if value != UNKNOWN)
    yield from (f"  {line}" for line in item.evidence)
    if item.source:
        yield from ("", f"Source: {item.source}")


def _gpus(facts: Facts) -> str:
    listed = derive.gpus(facts)
    if not listed:
        return _on_the_bus(facts, UNKNOWN if listed is None else ABSENT)
    names = Counter(gpu.name or "unnamed" for gpu in listed)
    said = [f"{number} × {name}" if number > 1 else name for name, number in names.items()]
    return ", ".join(said)


def _on_the_bus(facts: Facts, otherwise: str) -> str:
    """Return the GPUs that the driver does not list, as the PCI bus shows them."""
    if _hidden(facts):
        return otherwise
    bus = gpustate.on_bus(facts)
    bus = gpustate.on_bus(facts)
    if not bus:
        return ABSENT if bus is not None else otherwise
    return f"{', '.join(bus)} (on the PCI bus)"


def _hidden(facts: Facts) -> bool:
    """Say whether the bus and the modules are not shown here: WSL, Jetson, a sandbox."""
    return derive.wsl(facts) or derive.jetson(facts) or facts.text("os.sandbox") is not None


def _driver(facts: Facts) -> str:
    version = derive.driver_version(facts)
    if version is None:
        known = facts.absent("driver") or facts.absent("driver.version")
        gone = gpustate.driverless(facts) and not _hidden(facts)
        return ABSENT if known or gone else UNKNOWN
    cuda = derive.reported_cuda(facts)
    return f"{version} (CUDA {cuda})" if cuda else version


def _first(facts: Facts, name: str, key: str) -> str:
    if facts.absent(name):
        return ABSENT
    versions = [item.text(key) for item in facts.items(name) or ()]
    return ", ".join(dict.fromkeys(text for text in versions if text)) or UNKNOWN


def _version(facts: Facts, name: str) -> str:
    if facts.absent(name) or facts.absent(f"{name}.version"):
        return ABSENT
    return facts.text(f"{name}.version") or UNKNOWN


def _system(facts: Facts) -> str:
    parts = [facts.text("os.distro") or facts.text("os.system"), facts.text("os.arch")]
    parts += [facts.text("os.jetson"), facts.text("os.container"), facts.text("os.sandbox")]
    parts += ["WSL"] if derive.wsl(facts) else []
    return ", ".join(part for part in parts if part) or UNKNOWN
