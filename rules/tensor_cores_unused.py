"""A matrix product that does not use the tensor cores."""

from __future__ import annotations

from dataclasses import dataclass

from kprof import estimate, tensor
from kprof import metrics as m
from kprof.evidence import OWN, busy, derived, measured
from kprof.limiter import BUSY_PCT, limiter, runs_matrix_instructions
from kprof.model import Finding, Kernel
from kprof.quantity import Quantity
from kprof.roofline import FLOP_PER_FMA, HALVES, ceilings
from kprof.rule import rule
from kprof.sass.products import OF_TWO_FACTORS, two_factor_share

IDLE_PCT = 1.0  # of the tensor pipe. kprof's own, unsourced.
# A product of matrices is nothing but multiply-adds. Other kernels with tiles in shared memory
# (n-body, filters with window functions) have additions and multiplications of their own. Unsourced.
FUSED = 0.9
# Wavefronts from shared memory per multiply-add of a warp: a register tile of 8 x 8 needs 0.06 to
# 0.25, one of 1 x 1 two. Less is arithmetic on registers, more is no product. kprof's own, unsourced.
FED = (0.02, 4.0)
WORTH = 1.3  # times as fast at the tensor roof, or it is no advice. kprof's own, unsourced.


@dataclass(frozen=True)
class Kind:
    """Arithmetic on CUDA cores, and the tensor types that could take it over."""

    name: str
    counts: tuple[Quantity, Quantity, Quantity]
    flop: float
    pipes: tuple[str, ...]
    tensor: tuple[str, ...]
    opcode: str
    change: str


KINDS = {
    "fp32": Kind("FP32", m.FP32_INSTRUCTIONS, FLOP_PER_FMA, ("fma",), ("tf32",), "FFMA",
                 "TF32 keeps FP32's range with 10 bits of mantissa"),
    "fp16": Kind("FP16", m.FP16_INSTRUCTIONS, FLOP_PER_FMA * HALVES, ("fp16", "fma"), ("fp16",), "HFMA2",
                 "the same FP16 inputs, with sums in FP32"),
    "fp64": Kind("FP64", m.FP64_INSTRUCTIONS, FLOP_PER_FMA, ("fp64",), ("fp64",), "DFMA",
                 "the same FP64 accuracy"),
}  # fmt: skip


@rule(
    requires=[
        *m.COVERAGE,
        m.TENSOR_PCT,
        *m.FP32_INSTRUCTIONS,
        *m.FP64_INSTRUCTIONS,
        *m.FP16_INSTRUCTIONS,
        m.SHARED_WAVEFRONTS,
    ]
)
def tensor_cores_unused(kernel: Kernel) -> Finding | None:
    """## What it detects

    The FP32, FP16 or FP64 pipe is the limit, its work looks like a product of matrices (nearly nothing
    but multiply-adds, fed from tiles in shared memory), no matrix instruction runs, and the GPU has a
    faster tensor path for that type.

    ## Why it matters

    Tensor cores multiply matrices 2 (FP64) to 15 times (FP16) as fast as the other pipes. A kernel at
    90 % of the FP32 pipe is at a seventh of what the chip offers for the same product in TF32.

    ## How to fix it

    Use the library first: cuBLAS, cuDNN, CUTLASS. In PyTorch a product of FP32 matrices needs
    permission:

    ```python
    torch.backends.cuda.matmul.allow_tf32 = True   # or torch.set_float32_matmul_precision("high")
    ```

    In a kernel of one's own `wmma`, `mma.sync` or Triton's `tl.dot(a, b, input_precision="tf32")`.
    Convolutions over channels are products of matrices too.

    ## Known problems

    TF32 rounds inputs to 10 bits of mantissa: some results need FP32, and then this is the price (or
    three TF32 products that together have it: 3xTF32 in CUTLASS). What the kernel computes is inferred
    from its mix, and where the SASS is known from the operands of its multiply-adds: polynomials,
    recurrences, reductions and n-body do not fire; a direct convolution may. Very small matrices do not fill an instruction. Kernels that are limited by
    memory are left to that rule. FP32 has no tensor path on compute capability 7.x.

    ## References

    Peaks: `sm__ops_path_tensor_*.sum.peak_sustained` of the report itself, the dense ones. All
    thresholds (90 % fused, wavefronts per multiply-add, 75 % of two factors, 1.3 times) are kprof's own.
    """
    top = limiter(kernel)
    if top is None or top.pct < BUSY_PCT or _uses_them(kernel):
        return None
    kind = KINDS.get(top.resource)
    if kind is None:
        return None
    fused, fed = fused_share(kernel, kind), wavefronts_per_fma(kernel, kind)
    if fused < FUSED or not FED[0] <= fed <= FED[1]:
        return None
    factors = two_factor_share(kernel.instructions, kind.opcode)
    if factors is not None and factors < OF_TWO_FACTORS:
        return None
    faster = times_as_fast(kernel, kind)
    if faster is None or faster < WORTH:
        return None
    # The share of the time that multiply-adds at the tensor roof would not need.
    saved = estimate.pressure(kernel, kind.pipes) * (1.0 - 1.0 / faster)
    relieved = {*kind.pipes, "issue", "control", "alu"}
    speedup = estimate.gain(kernel, saved, relieved)
    early = estimate.ends_early(kernel, saved, relieved)
    ends = (
        f" The gain ends before that: {estimate.next_in_line(kernel, relieved)}." if early else ""
    )
    return Finding(
        rule="tensor-cores-unused",
        severity=estimate.severity(speedup),
        confidence="medium",
        headline=f"The tensor cores are idle: this looks like a product of matrices on the {kind.name} pipe, and the "
        f"{kind.tensor[0].upper()} tensor path is {faster:.1f} times as fast",
        detail=f"{100 * fused:.0f} % of its {kind.name} instructions are multiply-adds on tiles in shared memory; {kind.change}.{ends}",
        estimated_speedup=speedup,
        resource="math",
        evidence=(
            busy(top),
            *measured(kernel, m.TENSOR_PCT, IDLE_PCT, OWN, side="below"),
            derived(
                "multiply-adds of all arithmetic",
                100.0 * fused,
                "%",
                100.0 * FUSED,
                OWN,
                side="at least",
            ),
            derived(
                "tensor roof over the roof of the pipe in use",
                faster,
                "",
                WORTH,
                OWN,
                side="at least",
            ),
        ),
        refuted_by="results that need more mantissa than the tensor type has, or work that is no product "
        "of matrices",
        advice=(
            'Call cuBLAS, cuDNN or CUTLASS for it; in PyTorch allow TF32: torch.set_float32_matmul_precision("high").',
            "In your own kernel use Triton's tl.dot, WMMA or mma.sync (wgmma on compute capability 9.0).",
            f"Check the accuracy: {kind.change}.",
        ),
    )


def fused_share(kernel: Kernel, kind: Kind) -> float:
    """Return the share (0..1) of multiply-adds in the arithmetic of this type."""
    add, multiply, fused = (quantity.read(kernel.metrics) or 0.0 for quantity in kind.counts)
    total = add + multiply + fused
    return fused / total if total else 0.0


def wavefronts_per_fma(kernel: Kernel, kind: Kind) -> float:
    """Return shared-memory wavefronts per multiply-add of a whole warp."""
    fused = kind.counts[2].read(kernel.metrics) or 0.0
    wavefronts = m.SHARED_WAVEFRONTS.read(kernel.metrics) or 0.0
    return 32.0 * wavefronts / fused if fused else 0.0


def times_as_fast(kernel: Kernel, kind: Kind) -> float | None:
    """Return the tensor roof over the pipe's roof, None where the report has not both."""
    roofs, paths = ceilings(kernel), tensor.peaks(kernel)
    tensors = (roofs.get(f"tensor_{name}") for name in kind.tensor if name in paths)
    known = [roof for roof in tensors if roof is not None]
    pipe = roofs.get(kind.name.lower())
    return max(known) / pipe if known and pipe else None


def _uses_them(kernel: Kernel) -> bool:
    """Say whether matrix instructions run, by the opcodes, else by the pipe."""
    known = runs_matrix_instructions(kernel)
    return (m.TENSOR_PCT.read(kernel.metrics) or 0.0) >= IDLE_PCT if known is None else known
