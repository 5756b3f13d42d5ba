"""Whether the torch that is installed can use this machine's GPU at all."""

from __future__ import annotations

import re

from kprof.audit import derive, gpustate, matrix
from kprof.audit.coverage import Coverage, coverage, label
from kprof.audit.devices import devices, need_devices
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.remedies import quoted
from kprof.audit.torch_install import install_torch, needs_jetson_wheel
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NO_MODULE = r"No module named ['\"]?torch['\"]?(?![\w.])"
_NO_CUDA = r"Torch not compiled with CUDA enabled"
_NO_KERNEL = r"no kernel image is available"
_TORCH_SAYS_NO_CODE = (
    r"is not compatible with the current PyTorch installation"
    r"|does not include kernels for this GPU"
)
_ENVIRONMENTS = (
    "Python, virtual environments <https://docs.python.org/3/library/venv.html> [python-doc]"
)
_OTHER_BACKEND = re.compile(r"rocm|hip|xpu|ascend|musa|hpu")


@check(
    "torch.missing",
    "torch installed",
    hurts=("run", "profile"),
    explains=("torch.import_error", "triton.torch_mismatch", "torch.ext_cuda_major_mismatch"),
)
def missing(facts: Facts) -> Verdict:
    """A CUDA program needs no torch, so its absence alone is a warning."""
    line = derive.logged(facts, _NO_MODULE)
    if line is None and not derive.torch_absent(facts):
        return ok(f"torch {derive.brief(facts.need_text('torch.version'), 40)} is installed")
    python = facts.text("python.executable")
    where = derive.brief(python, 80) if python else "the target's Python"
    return Verdict(
        "error" if line else "warning",
        f"{where} has no torch: Python programs that use it do not start "
        "(a CUDA program needs none)",
        (*derive.values(facts, "torch", "python", "other_pythons"), *([line] if line else ())),
        _use_other(facts) or install_torch(facts),
        rule("wheels_layout"),
    )


def _use_other(facts: Facts) -> Remedy | None:
    for executable, torch in _other_torches(facts):
        if "+cpu" not in torch:
            return Remedy(
                f"{derive.brief(executable, 80)} has torch {derive.brief(torch, 40)}: use it",
                (f"kprof profile --python {quoted(executable)} TARGET",),
            )
    return None


def _other_torches(facts: Facts) -> list[tuple[str, str]]:
    mine = facts.text("python.executable")
    found = []
    for other in facts.items("other_pythons") or ():
        executable, torch = other.text("executable"), other.text("torch")
        if executable and torch and executable != mine:
            found.append((executable, torch))
    return found


@check(
    "torch.other_backend",
    "torch for another vendor's GPU",
    hurts=("run", "profile"),
    explains=("torch.cpu_only", "torch.arch_missing", "torch.ext_cuda_major_mismatch"),
)
def other_backend(facts: Facts) -> Verdict:
    """A build for ROCm or another accelerator does not see an NVIDIA GPU."""
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    version = facts.need_text("torch.version")
    if not (facts.text("torch.hip") or _OTHER_BACKEND.match(label(facts))):
        return ok(f"torch {derive.brief(version, 40)} is no build for another vendor's GPU")
    if not _has_gpu(facts):
        return skipped("this torch is for another vendor's GPU, and no NVIDIA GPU is known here")
    return Verdict(
        "error",
        f"torch {derive.brief(version, 40)} is built for another vendor's GPU; "
        "this machine's is NVIDIA's",
        derive.values(facts, "torch.version", "torch.hip", "torch.cuda", "gpus"),
        install_torch(facts),
        rule("wheels_layout"),
    )


@check(
    "torch.cpu_only",
    "torch has CUDA",
    hurts=("run", "profile"),
    explains=("torch.arch_missing", "torch.ext_cuda_major_mismatch", "gpu.missing"),
)
def cpu_only(facts: Facts) -> Verdict:
    """A build without CUDA beside a GPU; on a machine without one it is what one wants."""
    line = derive.logged(facts, _NO_CUDA)
    if line is None and derive.torch_absent(facts):
        return skipped("torch is not installed")
    if line is None and not _is_cpu_build(facts):
        return ok(f"torch has CUDA {derive.brief(facts.text('torch.cuda') or label(facts), 20)}")
    if line is None and not _has_gpu(facts):
        if derive.gpus(facts) is None:
            raise Unknown("gpus")
        return skipped("torch has no CUDA, and this machine has no NVIDIA GPU")
    version = facts.text("torch.version")
    name = f"torch {derive.brief(version, 40)}" if version else "this torch"
    gpus = ", ".join(str(one) for one in devices(facts)[:3])
    beside = f"; this machine has {gpus}" if gpus else ""
    return Verdict(
        "error",
        f"{name} is built without CUDA: it cannot use the GPU{beside}",
        (
            *derive.values(facts, "torch.version", "torch.cuda", "torch.cuda_available", "os.arch"),
            *([line] if line else ()),
        ),
        install_torch(facts),
        _why_cpu(facts),
    )


def _is_cpu_build(facts: Facts) -> bool:
    version = facts.need_text("torch.version")
    if facts.text("torch.hip") or _OTHER_BACKEND.match(label(facts)):
        return False
    if label(facts) == "cpu":
        return True
    if facts.text("torch.cuda") or derive.torch_cuda(facts):
        return False
    if not facts.known("torch.cuda"):
        raise Unknown(f"torch.cuda of torch {derive.brief(version, 40)}")
    return True


def _why_cpu(facts: Facts) -> str | None:
    release = matrix.torch_release(facts.text("torch.version") or "")
    if release is not None and facts.text("os.arch") == "aarch64" and not release.aarch64_cuda:
        return f"PyPI's torch {release.version} for aarch64 has no CUDA: {release.source}"
    return rule("wheels_layout")


def _has_gpu(facts: Facts) -> bool:
    return bool(derive.gpus(facts) or facts.texts("lspci_gpus"))


@check(
    "torch.arch_missing",
    "torch has code for the GPU",
    hurts=("run", "profile"),
    explains=("nvcc.arch_missing",),
)
def arch_missing(facts: Facts) -> Verdict:
    """Code for the same major and an earlier minor capability runs; so does PTX, compiled forward."""
    said = derive.logged(facts, _TORCH_SAYS_NO_CODE)
    line = said or (
        gpustate.error_logged(facts, 209, _NO_KERNEL) if _is_about_torch(facts) else None
    )
    found = None if _has_no_cuda(facts) else coverage(facts)
    if found is not None and (found.missing or not said):
        return _judged(facts, found, line)
    if line:
        return _only_logged(facts, line)
    if _has_no_cuda(facts):
        return skipped("there is no torch with CUDA whose code could be looked at")
    need_devices(facts)
    if facts.texts("torch.arch_list") == ():
        raise Unknown("torch.arch_list (empty: CUDA did not come up)")
    raise Unknown("torch.arch_list")


def _is_about_torch(facts: Facts) -> bool:
    """Say whether a missing kernel image is torch's: it is there, or nothing else is known."""
    return bool(facts.text("torch.version")) or not (
        facts.known("torch") or facts.known("nvcc") or facts.known("toolkits")
    )


def _has_no_cuda(facts: Facts) -> bool:
    return derive.torch_absent(facts) or label(facts) == "cpu" or facts.absent("torch.cuda")


def _judged(facts: Facts, found: Coverage, line: str | None) -> Verdict:
    archs = derive.brief(" ".join(found.archs), 100)
    if not found.missing:
        gpus = ", ".join(str(one) for one in found.covered[:3])
        return ok(f"torch has code for {gpus}", *derive.values(facts, "torch.arch_list"))
    gpus = ", ".join(str(one) for one in found.missing[:3])
    version = derive.brief(facts.text("torch.version") or "", 40)
    origin = "" if found.source is None else " by PyTorch's build scripts"
    return Verdict(
        "warning" if found.covered and line is None else "error",
        f"torch {version} has no code for {gpus}: it is built for {archs}{origin}",
        (
            *derive.values(facts, "torch.version", "torch.arch_list", "gpus"),
            *([line] if line else ()),
        ),
        install_torch(facts),
        found.source or rule("tegra_wheels" if _tegra(facts) else "cubin"),
    )


def _tegra(facts: Facts) -> bool:
    return needs_jetson_wheel(facts)


def _only_logged(facts: Facts, line: str) -> Verdict:
    named = re.search(r"(.{0,80}?) with CUDA capability (sm_\d{2,3})", line)
    gpu = f"{derive.brief(named[1], 60)} ({named[2]})" if named else "this GPU"
    return Verdict(
        "error",
        f"torch, or an extension of it, has no code for {gpu}: it is built for other architectures",
        (*derive.values(facts, "torch.version", "torch.arch_list", "gpus"), line),
        install_torch(facts),
        rule("cubin"),
    )


@check("torch.multiple_environments", "which Python has which torch", hurts=("run", "profile"))
def multiple_environments(facts: Facts) -> Verdict:
    """Several interpreters with a torch are no fault, until the wrong one is used."""
    facts.need_items("other_pythons")
    others = _other_torches(facts)
    mine = facts.text("torch.version")
    differ = [one for one in others if one[1] != mine]
    if not differ:
        return ok("no other Python with another torch was found")
    if not _in_trouble(facts):
        return ok(f"torch {derive.brief(mine or '?', 40)} works; other Pythons have their own")
    better = next((one for one in differ if "+cpu" not in one[1]), differ[0])
    python = derive.brief(facts.text("python.executable") or "the target's Python", 80)
    have = f"torch {derive.brief(mine, 40)}" if mine else "no torch"
    return Verdict(
        "warning",
        f"{python} has {have}, {derive.brief(better[0], 80)} has torch "
        f"{derive.brief(better[1], 40)}: the wrong one may be in use",
        derive.values(facts, "python", "torch.version", "other_pythons"),
        Remedy(
            "Start the program with the interpreter you mean, or install into this one",
            (f"kprof doctor --python {quoted(better[0])}",),
        ),
        _ENVIRONMENTS,
    )


def _in_trouble(facts: Facts) -> bool:
    found = coverage(facts)
    return bool(
        _has_no_cuda(facts)
        or facts.text("torch.import_error")
        or facts.flag("torch.cuda_available") is False
        or (found is not None and found.missing)
        or derive.logged(facts, f"{_NO_MODULE}|{_NO_CUDA}|{_NO_KERNEL}|{_TORCH_SAYS_NO_CODE}")
    )
