"""Whether nvcc knows the GPU and accepts the host compiler."""

from __future__ import annotations

import re

from kprof.audit import derive, gpustate, matrix
from kprof.audit.checks.nvcc import named_architectures
from kprof.audit.coverage import coverage
from kprof.audit.devices import Device, devices, dotted, need_devices
from kprof.audit.facts import Facts, Unknown
from kprof.audit.gcc_install import older_compiler
from kprof.audit.references import rule
from kprof.audit.toolkit_install import use_toolkit
from kprof.audit.verdict import Remedy, Status, Verdict, check, ok, skipped

_ARCH_LOGGED = (
    r"Unsupported gpu architecture|Unknown CUDA arch \(|nvcc fatal.{0,60}Value 'sm_\d{2,3}"
    r"|unsupported CUDA gpu architecture"
)
_NO_KERNEL = r"no kernel image is available"
_COMPILER_LOGGED = (
    r"unsupported GNU version|gcc versions later than \d+ are not supported"
    r"|unsupported clang version|is greater than the maximum required version by CUDA"
)


@check("nvcc.arch_unsupported", "nvcc knows the GPU", hurts=("build",))
def arch_unsupported(facts: Facts) -> Verdict:
    """A toolkit compiles for the GPUs from its own time, and drops the oldest ones."""
    line = derive.logged(facts, _ARCH_LOGGED)
    if line is not None:
        return _refused(facts, line)
    if facts.absent("nvcc"):
        return skipped("there is no nvcc")
    version = facts.need_text("nvcc.version")
    nvcc = derive.release(version)
    if nvcc is None:
        raise Unknown("nvcc.version")
    found = need_devices(facts)
    wrong = [(one, why) for one in found if (why := _why_not(one, nvcc)) is not None]
    if not wrong:
        gpus = ", ".join(str(one) for one in found[:3])
        return ok(f"nvcc {derive.brief(version, 20)} compiles for {gpus}")
    device, why = wrong[0]
    mild = len(wrong) < len(found) or all(_near(one, nvcc) for one, _why in wrong)
    return _unsupported(facts, "warning" if mild else "error", device, why, None)


def _why_not(device: Device, nvcc: tuple[int, ...]) -> str | None:
    known = matrix.architecture(device.capability)
    if known is None or known.confidence.startswith(matrix.UNSOURCED):
        return None
    first, last = derive.release(known.first_cuda), derive.release(known.last_cuda)
    if first and nvcc < first:
        return f"CUDA {known.first_cuda} was the first for it"
    if last and nvcc > last:
        return f"CUDA {known.last_cuda} was the last for it"
    return None


def _near(device: Device, nvcc: tuple[int, ...]) -> bool:
    """Say whether nvcc compiles for an earlier GPU of the same major version, whose code runs."""
    return any(
        matrix.cubin_runs(one.arch, device.capability)
        and _why_not(Device("", one.capability, None), nvcc) is None
        for one in matrix.architectures()
    )


def _unsupported(
    facts: Facts, status: Status, device: Device, why: str, line: str | None
) -> Verdict:
    version = facts.text("nvcc.version")
    nvcc = f"nvcc {derive.brief(version, 20)}" if version else "this nvcc"
    return Verdict(
        status,
        f"{nvcc} does not compile for {device if device.capability > (0, 0) else device.name}: {why}",
        (
            *derive.values(facts, "nvcc", "gpus", "env.TORCH_CUDA_ARCH_LIST"),
            *([line] if line else ()),
        ),
        _other_toolkit(facts, device),
        known.source if (known := matrix.architecture(device.capability)) else None,
    )


def _other_toolkit(facts: Facts, device: Device) -> Remedy:
    known = matrix.architecture(device.capability)
    if known is None:
        return Remedy("Build with a toolkit that knows this architecture")
    first, last = derive.release(known.first_cuda), derive.release(known.last_cuda)
    torch = derive.torch_cuda(facts)
    if torch and first and torch >= first and (last is None or torch <= last):
        return use_toolkit(facts, torch, same_minor=True)
    nvcc = derive.release(facts.text("nvcc.version"))
    wanted = last if last and (nvcc is None or nvcc > last) else first
    if wanted is None:
        return Remedy("Build with a toolkit that knows this architecture")
    return use_toolkit(facts, (wanted[0], wanted[1]), same_minor=True)


def _refused(facts: Facts, line: str) -> Verdict:
    named = named_architectures(line) or _listed(line)
    if not named:
        return _unsupported(facts, "error", Device("this GPU", (0, 0), None), "it says so", line)
    device = next(
        (one for one in devices(facts) if one.capability == named[0]),
        Device("an architecture that the build asks for", named[0], None),
    )
    known = matrix.architecture(named[0])
    nvcc = derive.release(facts.text("nvcc.version"))
    why = _why_not(device, nvcc) if nvcc else None
    if why is None and known is not None:
        until = f" to {known.last_cuda}" if known.last_cuda else " on"
        why = f"toolkits from CUDA {known.first_cuda}{until} do"
    return _unsupported(facts, "error", device, why or "it does not know it", line)


def _listed(line: str) -> list[tuple[int, int]]:
    found = re.search(r"Unknown CUDA arch \((\d{1,2})\.(\d)", line)
    return [(int(found[1]), int(found[2]))] if found else []


@check("nvcc.arch_missing", "programs have code for the GPU", hurts=("profile", "run"))
def arch_missing(facts: Facts) -> Verdict:
    """A program without code for the GPU, where torch itself has it or is not there."""
    line = gpustate.error_logged(facts, 209, _NO_KERNEL)
    if line is None:
        facts.need_text("log")
        return ok("no program lacked code for the GPU")
    found = coverage(facts)
    if found is not None and found.missing:
        return skipped("torch itself has no code for the GPU: see torch.arch_missing")
    if found is None and not (facts.known("nvcc") or facts.known("toolkits")):
        return skipped("whether a compiled program lacks the code is not known")
    gpus = ", ".join(str(one) for one in devices(facts)[:3]) or "this GPU"
    lists = sorted({dotted(one.capability) for one in devices(facts)})
    flags = " ".join(
        f"-gencode arch=compute_{one.replace('.', '')},code=sm_{one.replace('.', '')}"
        for one in lists[:4]
    )
    return Verdict(
        "error",
        f"the program, or an extension, holds no code for {gpus}",
        (*derive.values(facts, "gpus", "nvcc", "torch.arch_list", "extensions"), line),
        Remedy(
            "Build it again for this GPU; a torch extension takes the list from the variable",
            (
                f"export TORCH_CUDA_ARCH_LIST={';'.join(lists)!r}"
                if lists
                else "nvcc -arch=native ...",
                f"nvcc {flags or '-arch=native'} ...",
            ),
        ),
        rule("cubin"),
    )


@check("nvcc.host_gcc_unsupported", "nvcc accepts the host compiler", hurts=("build",))
def host_gcc_unsupported(facts: Facts) -> Verdict:
    """GCC newer than nvcc was tested with is refused, unless nvcc is told to go on."""
    line = derive.logged(facts, _COMPILER_LOGGED)
    if line is None and facts.absent("nvcc"):
        return skipped("there is no nvcc")
    if line is None and _overridden(facts):
        return ok("the environment tells nvcc which compiler to take")
    name = facts.text("host_compiler.name") or "gcc"
    limit = _limit(facts, name)
    have = derive.release(facts.text("host_compiler.version"), 1)
    if line is None:
        if facts.absent("host_compiler"):
            return skipped("there is no host compiler")
        if limit is None or have is None:
            facts.need_text("nvcc.version")
            raise Unknown("host_compiler.version" if have is None else "which compilers nvcc takes")
        if have[0] <= limit.value:
            return ok(f"nvcc accepts {derive.brief(name, 20)} {have[0]} (up to {limit.value})")
    return _too_new(facts, name, limit, line)


def _overridden(facts: Facts) -> bool:
    flags = f"{facts.text('env.NVCC_PREPEND_FLAGS')} {facts.text('env.NVCC_APPEND_FLAGS')}"
    named = facts.text("env.NVCC_CCBIN") and facts.text("host_compiler.source") != "NVCC_CCBIN"
    return bool(named) or "allow-unsupported-compiler" in flags or "-ccbin" in flags


def _limit(facts: Facts, name: str) -> matrix.Fact | None:
    cuda = facts.text("nvcc.version") or ""
    fact = matrix.host_clang(cuda) if "clang" in name else matrix.host_gcc(cuda)
    return fact if fact is not None and fact.certain else None


def _too_new(facts: Facts, name: str, limit: matrix.Fact | None, line: str | None) -> Verdict:
    said = re.search(r"versions later than (\d{1,3})", line or "")
    highest = int(said[1]) if said else (limit.value if limit else None)
    version = derive.brief(facts.text("host_compiler.version") or "", 20)
    nvcc = derive.brief(facts.text("nvcc.version") or "", 20)
    upto = f" (it takes {derive.brief(name, 20)} up to {highest})" if highest else ""
    return Verdict(
        "error",
        f"nvcc {nvcc} refuses the host compiler {derive.brief(name, 20)} {version}{upto}".replace(
            "  ", " "
        ),
        (*derive.values(facts, "nvcc", "host_compiler", "os.distro"), *([line] if line else ())),
        older_compiler(facts, highest if highest and "clang" not in name else None),
        str(limit) if limit else rule("gcc_override"),
    )
