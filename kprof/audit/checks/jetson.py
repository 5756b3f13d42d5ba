"""Whether a Jetson has the torch that was built for it."""

from __future__ import annotations

from kprof.audit import derive, matrix
from kprof.audit.coverage import coverage, label
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.torch_install import jetson_torch, needs_jetson_wheel
from kprof.audit.verdict import Verdict, check, ok, skipped


@check(
    "jetson.generic_wheel",
    "torch built for this board",
    hurts=("run", "profile"),
    explains=(
        "driver.too_old_for_torch", "torch.cpu_only", "torch.arch_missing", "torch.import_error",
        "torch.cudnn_shadowed", "nvcc.arch_missing",
    ),
)  # fmt: skip
def generic_wheel(facts: Facts) -> Verdict:
    """PyTorch's own builds for aarch64 are for servers; Orin and Xavier need NVIDIA's.

    Thor (JetPack 7) runs the builds for servers from CUDA 13 on.
    """
    if not (derive.jetson(facts) or needs_jetson_wheel(facts)):
        if not facts.known("os.jetson"):
            raise Unknown("os.jetson")
        return skipped("this is no Jetson")
    if not needs_jetson_wheel(facts):
        return ok("this board runs PyTorch's own builds for aarch64")
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    version = facts.need_text("torch.version")
    found = coverage(facts)
    if not _is_generic(facts) or (found and found.source is None and not found.missing):
        return ok(f"torch {derive.brief(version, 40)} is built for this board")
    board = derive.brief(facts.text("os.jetson") or "this Jetson", 40)
    return Verdict(
        "error",
        f"torch {derive.brief(version, 40)} is PyTorch's build for aarch64 servers; "
        f"{board} needs the one built for its JetPack",
        derive.values(facts, "os.jetson", "gpus", "torch.version", "torch.cuda", "driver.version"),
        jetson_torch(facts),
        rule("tegra_wheels"),
    )


def _is_generic(facts: Facts) -> bool:
    """Say whether it is one of PyTorch's own builds; NVIDIA's are labelled ``nv24.8`` or a hash.

    PyPI's builds without CUDA may have no label, and NVIDIA's are of the board's CUDA.
    """
    if label(facts) == "cpu" or matrix.cuda_of(label(facts)) is not None:
        return True
    if label(facts):
        return False
    torch, board = derive.torch_cuda(facts), derive.driver_cuda(facts)
    newer = torch is not None and board is not None and torch[0] > board[0]
    return newer or facts.absent("torch.cuda")
