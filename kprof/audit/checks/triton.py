"""Whether Triton's assembler knows the GPU, and Triton fits torch."""

from __future__ import annotations

import re

from kprof.audit import derive, matrix, remedies
from kprof.audit.coverage import label
from kprof.audit.devices import Device, dotted, need_devices
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_UNKNOWN_TARGET = (
    r"ptxas fatal.{0,40}Value 'sm_\d{2,3}[af]?' is not defined for option 'gpu-name'"
    r"|ptxas .{0,200}Unsupported \.version [\d.]{1,6}; current version is"
)
_PTXAS_SOURCE = (
    "Triton, third_party/nvidia/backend/compiler.py; triton-lang/triton issues 8539 and 10331 "
    "<https://github.com/triton-lang/triton/issues/10331> [third-party]"
)
# From this release on GPUs of capability 10.0 and later get an assembler of their own.
_SECOND_PTXAS = (3, 6)
_BLACKWELL = (10, 0)

_MISMATCH_LOGGED = (
    r"cannot import name '\w{1,60}' from 'triton|No module named 'triton\.\w"
    r"|Cannot find a working triton installation|module 'triton\S{0,60}' has no attribute"
)
_TRITON_MISSING = r"No module named 'triton'|Cannot find a working triton installation"


@check("triton.ptxas_too_old", "Triton's assembler knows the GPU", hurts=("run", "profile"))
def ptxas_too_old(facts: Facts) -> Verdict:
    """Triton compiles for exactly this GPU with the ptxas it brings, whatever toolkit is there."""
    line = derive.logged(facts, _UNKNOWN_TARGET)
    if line is not None:
        return _refused(facts, line)
    if _triton_absent(facts):
        return skipped("Triton is not installed")
    found = need_devices(facts)
    name, version = _ptxas(facts, found[0])
    have = derive.release(version)
    if have is None:
        raise Unknown(name)
    unknown = [one for one in found if (first := _first(one)) is not None and have < first]
    if not unknown:
        gpus = ", ".join(str(one) for one in found[:3])
        return ok(f"Triton's ptxas {derive.brief(version or '', 20)} knows {gpus}")
    return _too_old(facts, unknown[0], derive.brief(version or "", 20), None)


def _triton_absent(facts: Facts) -> bool:
    return facts.absent("triton") or facts.absent("triton.version")


def _ptxas(facts: Facts, device: Device) -> tuple[str, str | None]:
    """Return the name and value of the fact that tells which assembler this GPU gets."""
    if device.capability >= _BLACKWELL:
        own = facts.text("triton.ptxas_blackwell_version")
        if own is not None:
            return "triton.ptxas_blackwell_version", own
        release = derive.release(facts.text("triton.version"))
        if release is not None and release >= _SECOND_PTXAS:
            return "triton.ptxas_blackwell_version", None
    return "triton.ptxas_version", facts.text("triton.ptxas_version")


def _first(device: Device) -> tuple[int, ...] | None:
    known = matrix.architecture(device.capability)
    if known is None or known.confidence.startswith(matrix.UNSOURCED):
        return None
    return derive.release(known.a_since or known.first_cuda)


def _refused(facts: Facts, line: str) -> Verdict:
    target = re.search(r"sm_(\d{1,2})(\d)[af]?", line)
    if target is None:
        return _older_than_triton(facts, line)
    device = Device(target[0], (int(target[1]), int(target[2])), None)
    version = facts.text("triton.ptxas_version") or facts.text("triton.ptxas_blackwell_version")
    return _too_old(facts, device, derive.brief(version or "", 20), line)


def _older_than_triton(facts: Facts, line: str) -> Verdict:
    """Judge an assembler that a variable put in place of the bundled one."""
    found = re.search(r"\.version ([\d.]+).{0,40}?'([\d.]+)'", line)
    versions = f" (PTX {found[1]}; it reads up to {found[2]})" if found else ""
    return Verdict(
        "error",
        f"the ptxas that Triton uses is older than the code Triton writes{versions}",
        (*derive.values(facts, "triton", "env.TRITON_PTXAS_PATH"), line),
        Remedy(
            "Let Triton use the ptxas that it brings",
            ("unset TRITON_PTXAS_PATH TRITON_PTXAS_BLACKWELL_PATH",),
        ),
        _PTXAS_SOURCE,
    )


def _too_old(facts: Facts, device: Device, version: str, line: str | None) -> Verdict:
    known = matrix.architecture(device.capability)
    needed = (known.a_since or known.first_cuda) if known else None
    since = f", which needs CUDA {needed}" if needed else ""
    release = facts.text("triton.version")
    triton = f"Triton {derive.brief(release, 30)}" if release else "Triton"
    return Verdict(
        "error",
        f"the ptxas {version or 'assembler'} that {triton} brings does not know "
        f"{device.name} (compute capability {dotted(device.capability)}){since}",
        (
            *derive.values(facts, "triton", "toolkits", "gpus", "env.TRITON_PTXAS_PATH"),
            *([line] if line else ()),
        ),
        _other_ptxas(facts, device, needed),
        f"{known.source}; {_PTXAS_SOURCE}" if known else _PTXAS_SOURCE,
    )


def _other_ptxas(facts: Facts, device: Device, needed: str | None) -> Remedy:
    wanted = derive.release(needed)
    for toolkit in facts.items("toolkits") or ():
        root, have = toolkit.text("root"), derive.release(toolkit.text("version"))
        if root and have and wanted and have >= wanted:
            path = remedies.quoted(f"{root.rstrip('/')}/bin/ptxas", "/usr/local/cuda/bin/ptxas")
            variables = _variables(facts, device)
            return Remedy(
                f"Let Triton use the ptxas of the CUDA {have[0]}.{have[1]} toolkit",
                tuple(f"export {variable}={path}" for variable in variables),
            )
    return Remedy(
        f"Install a newer Triton (with the torch it belongs to), or a CUDA {needed or ''} toolkit "
        "and point TRITON_PTXAS_PATH at its ptxas".replace("  ", " "),
        (f"{remedies.python(facts)} -m pip install --upgrade torch",),
    )


def _variables(facts: Facts, device: Device) -> tuple[str, ...]:
    release = derive.release(facts.text("triton.version"))
    if device.capability < _BLACKWELL or (release is not None and release < _SECOND_PTXAS):
        return ("TRITON_PTXAS_PATH",)
    if release is None:
        return ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
    return ("TRITON_PTXAS_BLACKWELL_PATH",)


@check("triton.torch_mismatch", "Triton fits torch", hurts=("run", "profile"))
def torch_mismatch(facts: Facts) -> Verdict:
    """Each torch is built for one Triton release; another minor one may lack what it imports."""
    line = derive.logged(facts, _MISMATCH_LOGGED)
    have = facts.text("triton.version") or facts.text("packages.triton")
    release = matrix.torch_release(facts.text("torch.version") or "")
    pinned = release.triton if release and _pins_triton(facts) else None
    if line is None:
        if derive.torch_absent(facts) or _triton_absent(facts):
            return skipped("torch and Triton are not both installed")
        return _compared(facts, have, pinned)
    name = f"Triton {derive.brief(have, 30)}" if have else "the Triton here"
    lacking = "there is no working Triton" if re.search(_TRITON_MISSING, line) else ""
    return Verdict(
        "error",
        lacking or f"torch asks {name} for something it does not have",
        (*derive.values(facts, "torch.version", "triton", "packages.triton"), line),
        _pin(facts, pinned),
        release.source if release else rule("wheels_layout"),
    )


def _pins_triton(facts: Facts) -> bool:
    return label(facts) == "" or matrix.cuda_of(label(facts)) is not None


def _compared(facts: Facts, have: str | None, pinned: str | None) -> Verdict:
    found, wanted = derive.release(have), derive.release(pinned)
    if have is None or found is None:
        raise Unknown("triton.version")
    if pinned is None or wanted is None:
        facts.need_text("torch.version")
        raise Unknown("which Triton this torch was built for (no release of the table)")
    if found == wanted:
        return ok(f"Triton {derive.brief(have, 30)} is the one torch was built for ({pinned})")
    torch = derive.brief(facts.text("torch.version") or "", 40)
    return Verdict(
        "warning",
        f"torch {torch} was built for Triton {pinned}, and Triton {derive.brief(have, 30)} is here: "
        "torch.compile may fail",
        derive.values(facts, "torch.version", "triton", "packages.triton"),
        _pin(facts, pinned),
        rule("wheels_layout"),
    )


def _pin(facts: Facts, pinned: str | None) -> Remedy:
    python = remedies.python(facts)
    if pinned is None:
        return Remedy(
            "Install torch again, with the Triton it pins",
            (f"{python} -m pip install --force-reinstall torch",),
        )
    return Remedy(
        f"Install Triton {pinned}, which this torch was built for",
        (f"{python} -m pip install triton=={pinned}",),
    )
