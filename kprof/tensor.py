"""Tensor-core operations and roofs by input type and instruction path.

Hardware counters for operations by type cost five passes more; the opcode mix costs one and is
exact, because a matrix instruction's shape is in its name. On an H200 the two agree to the last
operation for HMMA, HGMMA, TF32 and FP16 (tests/unit/test_tensor.py).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from kprof import metrics as m
from kprof.model import Kernel

# Warp-level shapes as SASS spells them: M, N and K run together.
WARP_SHAPES: dict[str, tuple[int, int, int]] = {
    "884": (8, 8, 4),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "88128": (8, 8, 128),
    "1684": (16, 8, 4),
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "168128": (16, 8, 128),
    "168256": (16, 8, 256),
}
WARPS_PER_GROUP = 4  # a warpgroup instruction is counted once per warp
_GROUP_SHAPE = re.compile(r"^(\d+)x(\d+)x(\d+)$")
_DEFAULT_TYPE = {
    "HMMA": "fp16",
    "HGMMA": "fp16",
    "IMMA": "int8",
    "IGMMA": "int8",
    "QMMA": "fp8",
    "QGMMA": "fp8",
    "DMMA": "fp64",
    "BMMA": "int1",
    "BGMMA": "int1",
}
# Turing's only floating-point input goes by a name made for all chips.
_ONE_TYPE = {"fp16_bf16_tf32": "fp16"}
FIRST_WITH_SPARSITY = 8.0  # compute capability, major
# ncu's name for the path of each opcode; the others have one path only.
_PATH = {"HMMA": "hmma", "HGMMA": "hgmma", "IMMA": "imma", "IGMMA": "igmma"}


def operations(kernel: Kernel) -> dict[str, float]:
    """Return operations of the launch by input type (FLOP, or OP for integers).

    Empty when the kernel has no tensor instruction, or when neither counters nor an opcode mix
    were collected; :func:`is_known` tells the two apart.
    """
    return _from_counters(kernel.metrics) or _from_opcodes(kernel.opcodes_full)


def is_known(kernel: Kernel) -> bool:
    """Say whether the report can tell how many tensor operations there were.

    From the opcode mix, from counters by type, or because the tensor pipe never ran.
    """
    if kernel.opcodes or kernel.opcodes_full or m.TENSOR_PCT.read(kernel.metrics) == 0.0:
        return True
    return any(
        m.TENSOR_OPS.match(name) and not name.endswith("peak_sustained") for name in kernel.metrics
    )


def peaks(kernel: Kernel) -> dict[str, float]:
    """Return dense operations per SM clock at peak: ``fp16``, and ``fp16_mma`` for a slower path.

    On Hopper only ``wgmma`` (HGMMA) reaches the full rate; ``mma.sync`` and WMMA (HMMA) have a
    lower roof of their own, named with ``_mma``.
    """
    found: dict[str, float] = {}
    slow: dict[str, float] = {}
    major = kernel.metrics.get("device__attribute_compute_capability_major")
    never_sparse = major is not None and major < FIRST_WITH_SPARSITY
    for name, value in kernel.metrics.items():
        counted = _counted(name)
        if not counted or not counted[1] or value <= 0.0:
            continue
        kind, path, dense = _parse_path(counted[0])
        if not dense and not never_sparse:
            continue
        if path in {"hmma", "imma"}:
            slow[kind] = max(value, slow.get(kind, 0.0))
        else:
            found[kind] = max(value, found.get(kind, 0.0))
    for kind, value in slow.items():
        fastest = found.setdefault(kind, value)
        if value < fastest:
            found[f"{kind}_mma"] = value
    return found


def path_peak(kernel: Kernel, kind: str) -> tuple[str, float] | None:
    """Return the roof's name and peak for this type on the path the kernel's instructions take."""
    known = peaks(kernel)
    slow = f"{kind}_mma"
    if slow in known and uses_warp_level_mma(kernel):
        return slow, known[slow]
    return (kind, known[kind]) if kind in known else None


def uses_warp_level_mma(kernel: Kernel) -> bool:
    """Say whether most matrix instructions are warp-level (HMMA, IMMA), not warpgroup-level."""
    work: dict[bool, float] = defaultdict(float)
    for name, count in kernel.opcodes_full.items():
        per_instruction = _operations_of(name)
        if per_instruction:
            work[name.split(".")[0] in {"HMMA", "IMMA"}] += per_instruction[1] * count
    return work[True] > work[False]


def _from_counters(metrics: Mapping[str, float]) -> dict[str, float]:
    generic: dict[str, float] = defaultdict(float)
    by_path: dict[str, float] = defaultdict(float)
    for name, value in metrics.items():
        counted = _counted(name)
        if not counted or counted[1] or value <= 0.0:
            continue
        path = counted[0]
        # Generic names contain the per-path ones and the sparse/dense split: never add them up.
        if path.startswith("src_") and "_sparsity_" not in path:
            generic[_parse_path(path)[0]] += value
        elif path.startswith("op_"):
            by_path[_parse_path(path)[0]] += value
    return dict(generic) or dict(by_path)


def _from_opcodes(opcodes: Mapping[str, float]) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for name, count in opcodes.items():
        found = _operations_of(name)
        if found:
            totals[found[0]] += found[1] * count
    return {kind: value for kind, value in totals.items() if value > 0.0}


@lru_cache(maxsize=4096)
def _counted(name: str) -> tuple[str, bool] | None:
    """Split a tensor metric's name into its path and whether it is a peak; None for others."""
    match = m.TENSOR_OPS.match(name)
    return (match["path"], match["peak"] is not None) if match else None


def _operations_of(opcode: str) -> tuple[str, float] | None:
    """Return input type and operations of one warp's share of a matrix instruction."""
    mnemonic, *modifiers = opcode.split(".")
    if mnemonic not in _DEFAULT_TYPE:
        return None
    kind = _type_of(mnemonic, modifiers)
    for modifier in modifiers:
        if modifier in WARP_SHAPES:
            rows, columns, depth = WARP_SHAPES[modifier]
            return kind, 2.0 * rows * columns * depth
        group = _GROUP_SHAPE.match(modifier)
        if group:
            rows, columns, depth = (int(part) for part in group.groups())
            return kind, 2.0 * rows * columns * depth / WARPS_PER_GROUP
    return None


def _type_of(mnemonic: str, modifiers: list[str]) -> str:
    for modifier, kind in (("BF16", "bf16"), ("TF32", "tf32"), ("S4", "int4"), ("U4", "int4")):
        if modifier in modifiers:
            return kind
    return _DEFAULT_TYPE[mnemonic]


@lru_cache(maxsize=1024)
def _parse_path(path: str) -> tuple[str, str, bool]:
    """Split ``op_hmma_src_fp16_dst_fp32_sparsity_off`` into type, path and whether it is dense."""
    dense = not path.endswith("_sparsity_on")
    base = re.sub(r"_sparsity_(on|off)$", "", path)
    operation = re.match(r"op_([a-z]+)_", base)
    kind = re.search(r"src_(.+?)(_dst_.*)?$", base)
    # A generic Hopper peak without a split is the sparse one, twice the dense peak.
    if operation is None and base == path and kind is not None and kind[1] not in {"fp64", "int1"}:
        dense = False
    name = kind[1] if kind else base
    return _ONE_TYPE.get(name, name), (operation[1] if operation else ""), dense
