"""Whether torch can be imported, and what stands behind the message where it cannot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from kprof.audit import derive, remedies, torch_install
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped, unknown


@dataclass(frozen=True, slots=True)
class _Failure:
    """A way to fail: how it is told, its cause, what to do, and the commands for that, if any."""

    pattern: str
    cause: str
    advice: str
    fix: Callable[[Facts], tuple[str, ...]] | None = None


def _own_libraries(facts: Facts) -> tuple[str, ...]:
    """Return how to have the environment's own libraries found first, with a C++ library of today."""
    unset = ("unset LD_LIBRARY_PATH",) if derive.library_path(facts) else ()
    if facts.text("python.environment") == "conda":
        return (*unset, "conda install -y -c conda-forge libstdcxx-ng")
    return unset


def _who_hides_it(facts: Facts) -> tuple[str, ...]:
    find = "import importlib.util as u; print(u.find_spec('torch').origin)"
    return (f"{remedies.python(facts)} -c {shlex.quote(find)}",)


def _pin_numpy(facts: Facts) -> tuple[str, ...]:
    if torch_install.is_condas(facts):
        return ("conda install -y 'numpy<2'",)
    return (f"{remedies.python(facts)} -m pip install 'numpy<2'",)


def _pin_mkl(_facts: Facts) -> tuple[str, ...]:
    return ("conda install -y 'mkl<2024.1'",)


def _afresh(facts: Facts) -> tuple[str, ...]:
    """Return how to install the same build once more, and start without other libraries."""
    unset = ("unset LD_LIBRARY_PATH",) if derive.library_path(facts) else ()
    return (*unset, *torch_install.same_build(facts))


# What torch's wheels bring along; other libraries are the system's.
_BROUGHT = (
    r"lib(?:cudnn|nccl|cupti|cublas|cudart|cusparse|cusolver|cufft|curand|nvrtc|nvJitLink|nvshmem"
    r"|nvToolsExt|cufile|torch|c10|caffe2|shm|gomp-)[\w.-]{0,60}"
)
_UNKNOWN = _Failure("", "", "Reinstall torch with its dependencies", torch_install.same_build)
_FAILURES = (
    _Failure(
        r"GLIBCXX_\d|CXXABI_\d",
        "the C++ library that is found first is older than torch needs",
        "Use the environment's own libstdc++: leave its directory out of LD_LIBRARY_PATH, or "
        "update it (conda install -c conda-forge libstdcxx-ng)",
        _own_libraries,
    ),
    _Failure(
        r"version `?GLIBC_\d",
        "this Linux is older than the torch build needs",
        "Take an older torch, a newer distribution, or a container",
    ),
    _Failure(
        r"partially initialized module 'torch'|module 'torch' has no attribute '(?:Tensor|version)'",
        "a file or directory named torch hides the real one",
        "Rename torch.py or the directory torch beside the program, and delete its __pycache__; "
        "this shows which one it is",
        _who_hides_it,
    ),
    _Failure(
        r"libnvJitLink|__nvJitLink",
        "cuSPARSE of the wheel finds an nvJitLink that is older than itself",
        "Reinstall torch with its NVIDIA packages, and start without LD_LIBRARY_PATH",
        _afresh,
    ),
    _Failure(
        r"undefined symbol: nccl",
        "an older NCCL is loaded than torch was built with",
        "Give torch the NCCL it pins; leave other copies out of LD_LIBRARY_PATH",
        _afresh,
    ),
    _Failure(
        r"iJIT_NotifyEvent",
        "this torch from conda needs an MKL older than the one installed",
        "Pin MKL",
        _pin_mkl,
    ),
    _Failure(
        r"compiled using NumPy 1|numpy\.core\.multiarray failed|_ARRAY_API not found",
        "NumPy 2 is installed, and this torch was built for NumPy 1",
        "Pin NumPy ('numpy<2') or take a newer torch",
        _pin_numpy,
    ),
    _Failure(
        r"cannot allocate memory in static TLS block",
        "another library is loaded before torch and takes the thread-local storage it needs",
        "Import torch first",
    ),
    _Failure(
        r"Illegal instruction|SIGILL",
        "this processor lacks instructions that the torch build uses",
        "Take another build of torch, or build it from source",
    ),
    _Failure(
        rf"{_BROUGHT}: cannot open shared object",
        "a library that torch needs is not there",
        "Reinstall torch with its dependencies",
        torch_install.same_build,
    ),
    _Failure(
        r"cannot open shared object",
        "a library of the system that torch needs is not there",
        "Install the system's package that holds this library, or a torch that does not need it: "
        "PyTorch's wheels do not bring it",
    ),
)
_IMPORT_LOGGED = (
    r"(?:ImportError|OSError): .{0,300}(?:/torch/lib/|libtorch\w*\.so|libc10\w*\.so|nvJitLink)"
    r"|(?:Import|Attribute)Error: partially initialized module 'torch'"
)
_LIBRARY_MISSING = (
    r"(?:ImportError|OSError): lib(?:cudnn|nccl|cupti|cublas|cudart|cusparse|nvrtc|nvshmem)"
    r"[\w.-]{0,40}: cannot open shared object"
)


@check("torch.import_error", "torch can be imported", hurts=("run", "profile"))
def import_error(facts: Facts) -> Verdict:
    """What the import itself says, with the cause where the message is a known one."""
    text = facts.text("torch.import_error")
    if text and re.search(r"No module named ['\"]?torch['\"]?(?![\w.])", text):
        return skipped("torch is not installed")
    line = _last_line(text) if text else _import_logged(facts)
    if line is None:
        if derive.torch_absent(facts):
            return skipped("torch is not installed")
        facts.need_text("torch.version")
        return _ended(facts.text("torch.import"))
    known = next((one for one in _FAILURES if re.search(one.pattern, text or line)), None)
    cause = f" ({known.cause})" if known else ""
    told = known or _UNKNOWN
    return Verdict(
        "error",
        f"torch cannot be imported{cause}: {derive.brief(line, 160)}",
        derive.values(facts, "torch", "env.LD_LIBRARY_PATH"),
        Remedy(told.advice, told.fix(facts) if told.fix else ()),
        "the import's own message",
    )


def _ended(how: str | None) -> Verdict:
    if how == "not ended":
        return unknown(
            "importing torch did not end within a minute; python -X importtime -c 'import torch' "
            "shows where it stays"
        )
    if how == "not waited for":
        return unknown(
            "torch's libraries were not loaded in time; kprof doctor --import-torch waits for up "
            "to a minute"
        )
    return ok("torch can be imported")


def _import_logged(facts: Facts) -> str | None:
    """Return the line of a failed import; a library can be missing to an extension as well."""
    works = facts.flag("torch.cuda_available") is not None
    missing = None if works else derive.logged(facts, _LIBRARY_MISSING)
    return derive.logged(facts, _IMPORT_LOGGED) or missing


def _last_line(text: str) -> str:
    lines = [line for line in text[-4000:].splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
