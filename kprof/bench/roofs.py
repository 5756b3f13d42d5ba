"""What a device cannot exceed, from its own clocks and sizes."""

from __future__ import annotations

from kprof.bench.result import BenchDevice

# FP32 and FP64 multiply-adds per SM and clock by compute capability: CUDA C++ Programming Guide,
# table "Throughput of Native Arithmetic Instructions".
# <https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions>
_PER_CLOCK = {
    "7.0": (64, 32), "7.5": (64, 2), "8.0": (64, 32), "8.6": (128, 2),
    "8.9": (128, 2), "9.0": (128, 64), "10.0": (128, 64), "12.0": (128, 2),
}  # fmt: skip
_FLOP_PER_FMA = 2.0
_PLACES = {"fp32": 0, "fp64": 1}


def ceilings(device: BenchDevice) -> dict[str, float]:
    """Return the roofs that are known: ``dram`` in byte/s, ``fp32`` and ``fp64`` in FLOP/s."""
    found = {"dram": device.dram_bytes_per_s} if device.dram_bytes_per_s else {}
    rates = _PER_CLOCK.get(device.compute_capability or "")
    if rates and device.sm_count and device.sm_clock_hz:
        clock = device.sm_count * device.sm_clock_hz * _FLOP_PER_FMA
        found |= {name: rates[place] * clock for name, place in _PLACES.items()}
    return found


def binding(
    roofs: dict[str, float], moved: float | None, flops: float | None, precision: str | None
) -> tuple[str, float] | None:
    """Return the roof that needs most time for the work, and that time in seconds.

    None when the bytes, or the roof that they need, are unknown.
    """
    if not moved or "dram" not in roofs:
        return None
    times = {"dram": moved / roofs["dram"]}
    if flops and precision in roofs:
        times[precision] = flops / roofs[precision]
    name = max(times, key=lambda key: times[key])
    return name, times[name]
