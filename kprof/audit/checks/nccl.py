"""Whether the NCCL that torch loads is one it can work with."""

from __future__ import annotations

from pathlib import PurePosixPath

from kprof.audit import derive, matrix, torch_install
from kprof.audit.coverage import label
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.search_path import without
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_LOGGED = r"undefined symbol: nccl|NCCL version mismatch|symbol lookup error.{0,200}nccl"


@check(
    "torch.nccl_shadowed",
    "NCCL is torch's own",
    hurts=("run", "profile"),
    explains=("torch.import_error",),
)
def nccl_shadowed(facts: Facts) -> Verdict:
    """Two NCCLs in one process, or one older than torch was built with; a newer one serves."""
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    line = derive.logged(facts, _LOGGED)
    libraries = [one for one in derive.loaded(facts) or () if one.name.startswith("libnccl")]
    versions = sorted({found for one in libraries if (found := derive.release(one.version, 3))})
    if not versions:
        if facts.known("torch.cuda") and derive.torch_cuda(facts) is None:
            return skipped("torch is built without CUDA")
        raise Unknown("loaded_libraries.libnccl")
    shown = [".".join(map(str, one)) for one in versions]
    pinned = _pinned(facts)
    if len(versions) > 1:
        places = ", ".join(derive.brief(one.path, 90) for one in libraries[:3])
        message = f"one process loads NCCL {' and '.join(shown[:3])}: {places}"
        return _wrong(facts, "error", message, libraries, line)
    if pinned is not None and versions[0] < (derive.release(pinned, 3) or versions[0]):
        message = f"torch was built with NCCL {pinned} and loads {shown[0]}"
        return _wrong(facts, "error" if line else "warning", message, libraries, line)
    return ok(f"torch loads one NCCL, {shown[0]}")


def _pinned(facts: Facts) -> str | None:
    release = matrix.torch_release(facts.text("torch.version") or "")
    known = release is not None and label(facts) in ("", release.pypi_variant)
    return release.nccl if release is not None and known else None


def _wrong(
    facts: Facts, status: str, message: str, libraries: list[derive.Library], line: str | None
) -> Verdict:
    directories = [str(PurePosixPath(one.path).parent) for one in libraries]
    return Verdict(
        "error" if status == "error" else "warning",
        message,
        (
            *derive.values(facts, "torch.version", "loaded_libraries", "env.LD_LIBRARY_PATH"),
            *derive.values(facts, "env.LD_PRELOAD"),
            *([line] if line else ()),
        ),
        without(facts, directories)
        or Remedy(
            "Keep other copies of NCCL out of LD_LIBRARY_PATH and LD_PRELOAD, and install torch "
            "with the NCCL it pins",
            torch_install.same_build(facts),
        ),
        rule("nccl_collision"),
    )
