"""The device that variants run on: name, sizes and peaks, from the driver. Runs in the worker."""

from __future__ import annotations

import ctypes
from typing import Any

# CUdevice_attribute, cuda.h.
_SMS, _CLOCK_KHZ, _DRAM_KHZ, _BUS_BITS, _L2_BYTES = 16, 13, 36, 37, 38
_TRANSFERS = 2  # double data rate: two a clock, as the driver counts it for GDDR and HBM


def described(torch: Any, device: Any) -> dict[str, Any]:
    """Return the device's facts; what the driver does not tell is None."""
    if device.type != "cuda":
        return {"kind": device.type, "name": device.type.upper()}
    properties = torch.cuda.get_device_properties(device)
    return {
        "kind": "cuda",
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "cuda": torch.version.cuda,
        **_attributes(torch.cuda.current_device()),
    }


def _attributes(ordinal: int) -> dict[str, Any]:
    ask = _asker(ordinal)
    dram_khz, bits = ask(_DRAM_KHZ), ask(_BUS_BITS)
    clock_khz = ask(_CLOCK_KHZ)
    known = dram_khz is not None and bits is not None
    return {
        "sm_count": ask(_SMS),
        "sm_clock_hz": None if clock_khz is None else 1e3 * clock_khz,
        "l2_bytes": ask(_L2_BYTES),
        "dram_bytes_per_s": _TRANSFERS * 1e3 * dram_khz * bits / 8 if known else None,
    }


def _asker(ordinal: int) -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return lambda _attribute: None

    def ask(attribute: int) -> int | None:
        value = ctypes.c_int()
        status = driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, ordinal)
        return value.value if status == 0 and value.value > 0 else None

    return ask
