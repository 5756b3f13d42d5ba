"""Occupancy: what was reached, what the launch allows, what limits it, what would change it."""

from __future__ import annotations

import math

from kprof import metrics as m
from kprof.model import Kernel, Launch, Occupancy, WhatIf

FULL_PCT = 99.9
WARP = 32
# (curve, launch field, name of the change, unit)
_CURVES = {
    "registers": ("launch__occupancy_per_register_count", "registers per thread"),
    "shared_memory": ("launch__occupancy_per_shared_mem_size", "bytes of shared memory per block"),
}
_BY_SIZE = "launch__occupancy_per_block_size"
# Block size and places for blocks are both a matter of how many threads a block has.
_SIZES = frozenset({"block_size", "block_count"})


def occupancy(kernel: Kernel) -> Occupancy:
    """Return theoretical and achieved occupancy with every limiter that ties for the smallest."""
    return Occupancy(
        theoretical_pct=m.THEORETICAL_OCCUPANCY.read(kernel.metrics),
        achieved_pct=m.ACHIEVED_OCCUPANCY.read(kernel.metrics),
        limiters=limiters(kernel),
        what_if=tuple(
            dict.fromkeys(
                found for name in limiters(kernel) if (found := _what_if(kernel, name)) is not None
            )
        ),
    )


def limiters(kernel: Kernel) -> tuple[str, ...]:
    """Return the limits that tie for the fewest blocks per SM.

    Empty at full occupancy (nothing limits) and when the limits are unknown. ``block_size`` is
    the warp slots running out, ``block_count`` the block slots. What a block does not use up is
    named only where nothing else limits.
    """
    theoretical = m.THEORETICAL_OCCUPANCY.read(kernel.metrics)
    if theoretical is not None and theoretical >= FULL_PCT:
        return ()
    limits = {
        name: kernel.metrics[metric]
        for name, metric in m.OCCUPANCY_LIMITS.items()
        if metric in kernel.metrics
    }
    if not limits:
        return ()
    smallest = min(limits.values())
    tied = tuple(name for name, blocks in limits.items() if blocks == smallest)
    return tuple(name for name in tied if _is_used_up(kernel, name, tied)) or tied


def _is_used_up(kernel: Kernel, name: str, tied: tuple[str, ...]) -> bool:
    """Say whether changing what else ties would leave this limit in the way.

    ncu gives barriers the number of block slots. Where a block declares no shared memory, the driver
    sizes what it reserves by the blocks that fit anyway.
    """
    if name == "barriers":
        return "block_count" not in tied
    return name != "shared_memory" or not declares_no_shared_memory(kernel)


def declares_no_shared_memory(kernel: Kernel) -> bool:
    """Say whether all shared memory of a block is the driver's own."""
    launch = kernel.launch
    if launch is None:
        return False
    return launch.shared_static_bytes == 0 and launch.shared_dynamic_bytes == 0


def blocks_per_sm(kernel: Kernel) -> int | None:
    """Return how many blocks one SM holds at once, None when unknown."""
    limits = [
        kernel.metrics[metric] for metric in m.OCCUPANCY_LIMITS.values() if metric in kernel.metrics
    ]
    return int(min(limits)) if limits else None


def _what_if(kernel: Kernel, name: str) -> WhatIf | None:
    """Return the smallest change of one resource that brings more warps, from ncu's curve."""
    if name in _SIZES:
        return _other_size(kernel)
    if name not in _CURVES or kernel.launch is None or kernel.launch.block is None:
        return None
    metric, noun = _CURVES[name]
    now = _current(kernel.launch, name)
    points = kernel.curves.get(metric, ())
    if now is None or not points:
        return None
    warps = math.ceil(math.prod(kernel.launch.block) / WARP)
    here = [y for x, y in points if x <= now]
    if not here or not warps:
        return None
    better = [(x, y) for x, y in points if 0 < x < now and y > here[-1]]
    maximum = kernel.metrics.get("device__attribute_max_warps_per_multiprocessor")
    if not better or not maximum:
        return None
    x, y = max(better)
    return WhatIf(
        change=f"{x - now:+,.0f} {noun} (to {x:,.0f})".replace("-", "\u2212"),
        blocks_per_sm=int(y // warps),
        occupancy_pct=100.0 * y / maximum,
    )


def _other_size(kernel: Kernel) -> WhatIf | None:
    """Return the block size nearest to this one with which most warps are resident."""
    threads = m.BLOCK_THREADS.read(kernel.metrics)
    maximum = kernel.metrics.get("device__attribute_max_warps_per_multiprocessor")
    points = [(x, y) for x, y in kernel.curves.get(_BY_SIZE, ()) if x % WARP == 0 and x > 0]
    if not threads or not maximum or not points:
        return None
    most = max(y for _, y in points)
    here = [y for x, y in points if x <= threads]
    if not here or most <= here[-1]:
        return None
    x = min((x for x, y in points if y == most), key=lambda size: abs(size - threads))
    return WhatIf(
        change=f"{x - threads:+,.0f} threads per block (to {x:,.0f})".replace("-", "\u2212"),
        blocks_per_sm=int(most // (x / WARP)),
        occupancy_pct=100.0 * most / maximum,
    )


def _current(launch: Launch, name: str) -> float | None:
    if name == "registers":
        registers = launch.registers_per_thread
        return None if registers is None else float(registers)
    parts = (launch.shared_static_bytes, launch.shared_dynamic_bytes)
    known = [part for part in parts if part is not None]
    return float(sum(known)) if known else None
