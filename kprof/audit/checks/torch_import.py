"""Whether torch can be imported, and what stands behind the message where it cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kprof.audit import derive, matrix, remedies
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped, unknown


@dataclass(frozen=True, slots=True)
class _Failure:
    pattern: str
    cause: str
    advice: str


_FAILURES = (
    _Failure(
        r"GLIBCXX_\d|CXXABI_\d",
        "the C++ library that is found first is older than torch needs",
        "Use the environment's own libstdc++: leave its directory out of LD_LIBRARY_PATH, or "
        "update it (conda install -c conda-forge libstdcxx-ng)",
    ),
    _Failure(
        r"version `?GLIBC_\d",
        "this Linux is older than the torch build needs",
        "Take an older torch, a newer distribution, or a container",
    ),
    _Failure(
        r"partially initialized module 'torch'|module 'torch' has no attribute '(?:Tensor|version)'",
        "a file or directory named torch hides the real one",
        "Rename torch.py or the directory torch beside the program, and delete its __pycache__",
    ),
    _Failure(
        r"libnvJitLink|__nvJitLink",
        "cuSPARSE of the wheel finds an nvJitLink that is older than itself",
        "Reinstall torch with its NVIDIA packages, and start without LD_LIBRARY_PATH",
    ),
    _Failure(
        r"undefined symbol: nccl",
        "an older NCCL is loaded than torch was built with",
        "Give torch the NCCL it pins; leave other copies out of LD_LIBRARY_PATH",
    ),
    _Failure(
        r"iJIT_NotifyEvent",
        "this torch from conda needs an MKL older than the one installed",
        "Pin MKL: conda install 'mkl<2024.1'",
    ),
    _Failure(
        r"compiled using NumPy 1|numpy\.core\.multiarray failed|_ARRAY_API not found",
        "NumPy 2 is installed, and this torch was built for NumPy 1",
        "Pin NumPy ('numpy<2') or take a newer torch",
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
        r"cannot open shared object",
        "a library that torch needs is not there",
        "Reinstall torch with its dependencies",
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
    advice = known.advice if known else "Reinstall torch with its dependencies"
    return Verdict(
        "error",
        f"torch cannot be imported{cause}: {derive.brief(line, 160)}",
        derive.values(facts, "torch", "env.LD_LIBRARY_PATH"),
        Remedy(advice, _reinstall(facts)),
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


def _reinstall(facts: Facts) -> tuple[str, ...]:
    python = remedies.python(facts)
    cuda = derive.torch_cuda(facts)
    index = f" --index-url {matrix.index_url(f'cu{cuda[0]}{cuda[1]}')}" if cuda else ""
    return (f"{python} -m pip install --force-reinstall torch{index}",)
