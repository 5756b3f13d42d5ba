"""Warps wait for a tile to be copied instead of computing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kprof import metrics as m
from kprof import stall_rule
from kprof.estimate import severity
from kprof.evidence import OWN, busy, derived, measured, places, where
from kprof.metrics import accesses
from kprof.model import Finding, Instruction, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# kprof's own, unsourced: shares of the stalled time, and copies per warp.
WAIT_SHARE = 0.2
SURE_SHARE = 0.4
REPEATS = 2.0
AMPERE = 8.0  # cp.async came with compute capability 8.0 (CUDA C++ Programming Guide)
HOPPER = 9.0  # the Tensor Memory Accelerator with 9.0 (the same)
WARP = 32.0
EXECUTED = "inst_executed"
SAMPLES = m.SAMPLED_STALL_NOT_ISSUED.format("long_scoreboard")
LAST_REGISTER = re.compile(r",\s*(R\d+)\b[^,]*$")
FIRST_REGISTER = re.compile(r"^\S+\s+(R\d+)\b")
PREDICATE = re.compile(r"^@!?U?P\d\s+")


@rule(
    requires=[
        m.SHARED_STORES, m.ASYNC_COPIES, m.CAPABILITY_MAJOR, m.LONG_SCOREBOARD, m.GRID_BLOCKS,
        m.BLOCK_THREADS, *m.COVERAGE,
    ]
)  # fmt: skip
def synchronous_tile_copy(kernel: Kernel) -> Finding | None:
    """## What it detects

    Every warp copies several tiles from global to shared memory through registers, at least a
    fifth of the stalled time is spent at the stores that wait for what was loaded, no unit is busy,
    and the kernel has no asynchronous copies although the GPU has them (compute capability 8.0).

    ## Why it matters

    A load, a store of the same register and a barrier put the whole latency of memory between two
    tiles. Nobody in the block computes meanwhile; only other blocks of the SM can.

    ## How to fix it

    Begin the copy of the next tile before computing with the current one. `cp.async` needs no
    registers for it, the Tensor Memory Accelerator (9.0) no threads.

    ```cuda
    __pipeline_memcpy_async(&tile[next][i], &x[k + i], sizeof(float4));   // <cuda_pipeline.h>
    __pipeline_commit();
    compute(tile[current]);
    __pipeline_wait_prior(0);
    __syncthreads();
    ```

    In Triton set `num_stages` to 3 or more.

    ## Known problems

    What is converted or scaled between load and store cannot be copied as it is: then the wait
    is at that instruction and the rule is silent; load the next tile to registers early instead. A
    block that copies a single tile has nothing to overlap it with, and is not named. Where
    device memory or any other unit is busy, the copy is not what limits. `cp.async` moves 4, 8 or
    16 bytes, aligned to that size.

    ## References

    Asynchronous copies: CUDA C++ Programming Guide, "Asynchronous Data Copies". 60 %: NVIDIA rule
    SOLBottleneck (ncu 2025.3). A fifth of the stalled time, two copies per warp: kprof's own,
    unsourced.
    """
    top = stall_rule.waiting(kernel)
    if top is None or not _could_copy_asynchronously(kernel):
        return None
    copies = _tile_copies(kernel)
    share = _waiting(kernel, copies)
    if share < WAIT_SHARE:
        return None
    barrier = stalls(kernel).get("barrier", 0.0)
    speedup = stall_rule.gain(kernel, min(share + barrier, 1.0))
    found = places(
        kernel,
        lambda row: row.values.get(SAMPLES, 0.0) if row in copies else 0.0,
        of="the samples at tile copies",
    )
    return Finding(
        rule="synchronous-tile-copy",
        severity=severity(speedup),
        confidence="high" if share >= SURE_SHARE else "medium",
        headline=f"Nobody computes while a tile is copied: {100 * share:.0f} % of the stalled time waits to store "
        f"to shared memory what was just loaded{where(found)}",
        detail="Load, store and barrier follow each other, so the latency of global memory lies between "
        "any two tiles.",
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            busy(top),
            derived("stalls at tile copies", 100.0 * share, "%", 100.0 * WAIT_SHARE, OWN, side="at least"),
            derived("barrier stalls", 100.0 * barrier, "%"),
            *measured(kernel, m.SHARED_STORES),
            *measured(kernel, m.ASYNC_COPIES),
            *measured(kernel, m.ACHIEVED_OCCUPANCY),
        ),
        refuted_by="no change in time when the copies are left out (with wrong results), or when twice as "
        "many blocks run per SM",
        source=found,
        advice=_advice(kernel),
    )  # fmt: skip


def _could_copy_asynchronously(kernel: Kernel) -> bool:
    capability = m.CAPABILITY_MAJOR.read(kernel.metrics) or 0.0
    there = m.ASYNC_COPIES.read(kernel.metrics) or 0.0
    return capability >= AMPERE and not there and bool(m.SHARED_STORES.read(kernel.metrics))


def _tile_copies(kernel: Kernel) -> list[Instruction]:
    """Return the repeated shared-memory stores of a register that a global load filled."""
    warps = _warps(kernel)
    loaded: set[str] = set()
    found = []
    for row in kernel.instructions:
        text = PREDICATE.sub("", row.sass.strip()).rstrip(" ;")
        operation = accesses.operation(accesses.mnemonic(text))
        if operation == "LDG" and (register := FIRST_REGISTER.search(text)):
            loaded.add(register[1])
        elif operation == "STS" and (register := LAST_REGISTER.search(text)):
            repeated = row.values.get(EXECUTED, 0.0) >= REPEATS * warps
            if register[1] in loaded and repeated:
                found.append(row)
    return found


def _warps(kernel: Kernel) -> float:
    blocks, threads = (q.read(kernel.metrics) or 0.0 for q in (m.GRID_BLOCKS, m.BLOCK_THREADS))
    return blocks * -(-threads // WARP)


def _waiting(kernel: Kernel, rows: Iterable[Instruction]) -> float:
    """Return the share (0..1) of the stalled time that these rows wait for a load."""
    everywhere = kernel.metrics.get(SAMPLES)
    if not everywhere:
        return 0.0
    here = sum(row.values.get(SAMPLES, 0.0) for row in rows)
    return min(here / everywhere, 1.0) * stalls(kernel).get("long_scoreboard", 0.0)


def _advice(kernel: Kernel) -> tuple[str, ...]:
    own = [
        "Copy the next tile asynchronously while computing with the current one: `__pipeline_memcpy_async` or `cuda::memcpy_async` with two to four stages of shared memory.",
        "Without more shared memory: load the next tile into registers before the computation, store it after the barrier.",
        "Let more blocks run per SM, so that one computes while another copies.",
    ]
    if (m.CAPABILITY_MAJOR.read(kernel.metrics) or 0.0) >= HOPPER:
        own.insert(
            1,
            "On this GPU a single thread can copy a whole tile (TMA: `cuda::memcpy_async` with a barrier, or a tensor map).",
        )
    return tuple(own)
