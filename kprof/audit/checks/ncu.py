"""Whether Nsight Compute is there, works, and knows the GPU."""

from __future__ import annotations

import dataclasses
import re

from kprof.audit import derive, matrix, remedies, said
from kprof.audit.devices import Device, devices, need_devices
from kprof.audit.facts import Facts, Unknown
from kprof.audit.ncu_install import install_ncu, other_install
from kprof.audit.references import rule
from kprof.audit.verdict import Remedy, Status, Verdict, check, ok, skipped

_NOT_THERE_LOGGED = (
    r"\bncu: (?:command )?not found|No such file or directory: '(?:[^'\n]{0,200}/)?ncu'"
)
_STUB_LOGGED = (
    r"Nsight Compute is not installed|nsight-compute directory is not found"
    r"|launcher without the tool behind it"
)
# It answers --version well, but not as ncu does: npm's npm-check-updates is called ncu, too.
_ANOTHER_PROGRAM = r"exit status 0, said: ([^\n)]{1,80})\)"
_TOO_OLD_LOGGED = r"Cuda driver is not compatible with Nsight Compute"
_REPORT_READER = (
    "Nsight Compute, Python report interface: a report is read by its own or a later version "
    "<https://docs.nvidia.com/nsight-compute/CustomizationGuide/index.html> [derived]"
)


@check("ncu.missing", "Nsight Compute", hurts=("profile",))
def missing(facts: Facts) -> Verdict:
    """Profiling needs ncu; running, building and reading reports do not."""
    line = derive.logged(facts, _NOT_THERE_LOGGED)
    other = other_install(facts)
    if facts.absent("ncu") and other is None:
        message = "there is no ncu: it is not on PATH and in none of the usual places"
    elif line or facts.absent("ncu"):
        where = f"; there is {derive.brief(other[0], 80)}" if other else ""
        message = f"ncu is not on PATH{where}"
    else:
        path = facts.need_text("ncu.path")
        return ok(f"ncu is {derive.brief(path, 100)}")
    remedy = (
        Remedy("Name it", (f"kprof profile --ncu {remedies.quoted(other[0], 'NCU')} TARGET",))
        if other
        else install_ncu(facts)
    )
    return Verdict(
        "error",
        message,
        (*derive.values(facts, "ncu", "toolkits", "env.PATH"), *([line] if line else ())),
        remedy,
        rule("ncu_launcher"),
    )


@check("ncu.launcher_stub", "ncu is the real one", hurts=("profile",))
def launcher_stub(facts: Facts) -> Verdict:
    """The toolkit's bin/ncu is a script that stays behind where the tool is not installed."""
    line = derive.logged(facts, _STUB_LOGGED)
    if line is None and facts.absent("ncu"):
        return skipped("there is no ncu")
    path, version = facts.text("ncu.path"), facts.text("ncu.version")
    if line is None:
        if version is not None:
            return ok(f"ncu {derive.brief(version, 30)} answers")
        facts.need_text("ncu.path")
        if not (facts.absent("ncu.version") or facts.text("ncu.error")):
            raise Unknown("ncu.version")
    where = derive.brief(path or "ncu", 100)
    other = re.search(_ANOTHER_PROGRAM, facts.text("ncu.error") or "")
    what = (
        f"another program of that name (it calls itself {derive.brief(other[1], 30)}), no Nsight "
        "Compute"
        if other
        else "a launcher without Nsight Compute behind it, or does not start"
    )
    return Verdict(
        "error",
        f"{where} is {what}",
        (*derive.values(facts, "ncu"), *([line] if line else ())),
        _use_other(facts) or install_ncu(facts),
        rule("ncu_launcher"),
    )


def _use_other(facts: Facts) -> Remedy | None:
    other = other_install(facts)
    if other is None:
        return None
    path = remedies.quoted(other[0], "NCU")
    return Remedy(
        f"ncu {derive.brief(other[1], 30)} is installed too: use it",
        (f"kprof profile --ncu {path} TARGET",),
    )


@check(
    "ncu.chip_unsupported",
    "ncu knows the GPU",
    hurts=("profile",),
    explains=("ncu.prepare", "ncu.lib", "ncu.no_kernels"),
)
def chip_unsupported(facts: Facts) -> Verdict:
    """An ncu older than the GPU does not know it, and a new one drops the oldest GPUs."""
    line = said.line(facts, "ncu.chip_unsupported")
    if line is None and facts.absent("ncu"):
        return skipped("there is no ncu")
    version = facts.text("ncu.version")
    if line is not None:
        return _refuses(facts, "error", _only_device(facts), version, line)
    found = need_devices(facts)
    if version is None and not facts.texts("ncu.chips"):
        raise Unknown("ncu.version")
    answers = [(one, _profiles(facts, one, version)) for one in found]
    refused = [one for one, profiles in answers if profiles is False]
    if refused:
        status: Status = "error" if len(refused) == len(found) else "warning"
        return _refuses(facts, status, refused[0], version, None)
    if any(profiles is None for _one, profiles in answers):
        raise Unknown(f"whether ncu {derive.brief(version or '?', 20)} profiles {found[0]}")
    return ok(f"ncu {derive.brief(version or '', 20)} profiles {found[0]}")


def _profiles(facts: Facts, device: Device, version: str | None) -> bool | None:
    """Ask the version table first: a chip in ncu's own list can be refused (Volta).

    A list of a few chips is no whole list: against it the table has the last word.
    """
    fact = matrix.ncu_supports(version, device.capability, device.chip) if version else None
    known = fact.value if fact is not None and fact.certain else None
    chips = {chip.lower() for chip in facts.texts("ncu.chips") or ()}
    if known is False or (known and len(chips) < _WHOLE_LIST):
        return bool(known)
    listed = _is_listed(chips, device)
    return listed if listed is not None else known


def _is_listed(chips: set[str], device: Device) -> bool | None:
    """Say whether ncu's list has the chip, or without its name one of its family (ga10x)."""
    family = _FAMILIES.get(device.capability)
    if not chips or family is None:
        return None
    relatives = any(re.fullmatch(family, chip) for chip in chips)
    if device.chip is None or device.chip in chips or not relatives:
        return relatives
    return None if len(chips) < _WHOLE_LIST else False


_WHOLE_LIST = 8  # ncu 2022.3 knows about 20 chips

# Compute capability -> the names of its chips, as `ncu --list-chips` prints them.
# Source: Nsight Compute release notes, list of supported chips.
_FAMILIES = {
    (7, 0): "gv100",
    (7, 2): "gv11b",
    (7, 5): "tu1..",
    (8, 0): "ga100",
    (8, 6): "ga10[1-9]",
    (8, 7): "ga10b",
    (8, 9): "ad10.",
    (9, 0): "gh100",
    (10, 0): r"gb10\d",
    (10, 3): r"gb11\d",
    (11, 0): "gb10b",
    (12, 0): r"gb20\d",
    (12, 1): "gb20[bc]",
}


def _refuses(
    facts: Facts, status: Status, device: Device | None, version: str | None, line: str | None
) -> Verdict:
    name = f"ncu {derive.brief(version, 20)}" if version else "this ncu"
    gpu = str(device or next(iter(devices(facts)), "this GPU"))
    return Verdict(
        status,
        f"{name} does not profile {gpu}{_since(device, version)}",
        (*derive.values(facts, "ncu", "gpus"), *([line] if line else ())),
        _matching(facts, device),
        said.source("ncu.chip_unsupported"),
    )


def _only_device(facts: Facts) -> Device | None:
    found = devices(facts)
    return found[0] if len(found) == 1 else None


def _since(device: Device | None, version: str | None) -> str:
    """Return since when, or until when, an ncu does; "" where that contradicts or is not known."""
    if device is None:
        return ""
    if _true(matrix.ncu_never(device.capability)):
        return ": none does"
    dropped, have = matrix.ncu_dropped(device.capability), derive.release(version)
    gone = derive.release(dropped.value) if dropped and dropped.certain else None
    if dropped and have and gone and have >= gone:
        return f": the last that did came before {dropped.value}"
    return _first(device, have)


def _first(device: Device, have: tuple[int, ...] | None) -> str:
    needed = matrix.ncu_needed_for(device.capability, device.chip)
    listed = matrix.ncu_listed_in(device.capability, device.chip)
    known = needed or listed
    if known is None or not known.certain or (have and have >= (derive.release(known.value) or ())):
        return ""
    chip = f" {device.chip.upper()}" if device.chip else ""
    return f": {known.value} is the first that knows{chip or ' it'}" if needed else (
        f": {known.value} does"
    )  # fmt: skip


def _true(fact: matrix.Fact | None) -> bool:
    return fact is not None and fact.certain and fact.value is True


def _matching(facts: Facts, device: Device | None) -> Remedy:
    """Return an ncu that is here and profiles the GPU, or which one to install."""
    for install in facts.items("ncu.installs") or ():
        path, version = install.text("path"), install.text("version")
        known = matrix.ncu_supports(version, device.capability, device.chip) if (
            version and device
        ) else None  # fmt: skip
        if path and known is not None and known.certain and known.value:
            return Remedy(
                f"ncu {derive.brief(version or '', 20)} is here and does: use it",
                (f"kprof profile --ncu {remedies.quoted(path, 'NCU')} TARGET",),
            )
    return install_ncu(facts, (device,) if device else None)


@check(
    "ncu.driver_too_old",
    "the driver serves ncu",
    hurts=("profile",),
    live=True,
    explains=("ncu.prepare",),
)
def driver_too_old(facts: Facts) -> Verdict:
    """NVIDIA publishes no minimum driver per ncu: only ncu's own word is a verdict."""
    line = said.line(facts, "ncu.driver_too_old") or derive.logged(facts, _TOO_OLD_LOGGED)
    version, driver = facts.text("ncu.version"), derive.driver_version(facts)
    if line is not None:
        return _driver_refused(facts, version, driver, line)
    if facts.absent("ncu"):
        return skipped("there is no ncu")
    needed, major = _major_of(version or facts.need_text("ncu.version"))
    have = derive.driver_cuda(facts)
    if have is None:
        raise Unknown("driver.cuda_version")
    if major is None or have[0] < major:
        raise Unknown(
            f"whether driver {derive.brief(driver or '?', 20)} serves ncu "
            f"{derive.brief(version or '', 20)}{needed}: NVIDIA publishes no minimum"
        )
    return ok(f"driver {derive.brief(driver or '', 20)} is of ncu's CUDA major version or later")


def _major_of(version: str) -> tuple[str, int | None]:
    """Return the CUDA major version of the toolkit that brought an ncu, and words for it."""
    wanted = derive.release(version)
    for cuda in matrix.toolkits():
        fact = matrix.ncu_for_cuda(cuda)
        if fact is not None and fact.certain and derive.release(fact.value) == wanted:
            return f" (of CUDA {cuda})", int(cuda.split(".")[0])
    return "", None


def _driver_refused(facts: Facts, version: str | None, driver: str | None, line: str) -> Verdict:
    install = install_ncu(facts)
    name = f"ncu {derive.brief(version, 20)}" if version else "ncu"
    which = f"driver {derive.brief(driver, 20)}" if driver else "the driver"
    return Verdict(
        "error",
        f"{which} is too old for {name}",
        (*derive.values(facts, "ncu", "driver.version", "driver.cuda_version"), line),
        dataclasses.replace(
            install, text=f"Update the driver, or use an ncu of its CUDA version. {install.text}"
        ),
        said.source("ncu.driver_too_old"),
    )


@check("ncu.report_reader_older", "kprof reads what ncu writes", hurts=("profile", "analyze"))
def report_reader_older(facts: Facts) -> Verdict:
    """A report is written by ncu and read by the ncu-report package; an older reader may not."""
    if facts.absent("ncu"):
        return skipped("there is no ncu")
    writer = facts.text("ncu.version")
    reader = facts.text("ncu_report.version") or facts.text("packages.ncu-report")
    if writer is None or reader is None:
        raise Unknown("ncu.version" if writer is None else "ncu_report.version")
    writes, reads = derive.release(writer), derive.release(reader)
    if writes is None or reads is None:
        raise Unknown("ncu.version" if writes is None else "ncu_report.version")
    if reads >= writes:
        return ok(
            f"ncu-report {derive.brief(reader, 20)} reads reports of ncu {derive.brief(writer, 20)}"
        )
    return Verdict(
        "warning",
        f"ncu {derive.brief(writer, 20)} writes the reports, and ncu-report "
        f"{derive.brief(reader, 20)} that reads them is older: it may miss parts or fail",
        derive.values(facts, "ncu.version", "ncu_report.version", "packages.ncu-report"),
        Remedy("Update the reader", ("python -m pip install --upgrade ncu-report",)),
        _REPORT_READER,
    )
