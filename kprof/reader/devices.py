"""GPUs and launch configurations."""

from __future__ import annotations

from collections.abc import Mapping

from kprof.model.profile import Device, Dim3, Launch
from kprof.reader.library import Action
from kprof.reader.values import number, text

_ATTRIBUTE = "device__attribute_"
_MAJOR, _MINOR = "compute_capability_major", "compute_capability_minor"
_SMS = "multiprocessor_count"
# Two equal GPUs in one machine are two devices. `launch__device_id` is no help: an unfinished
# kernel lacks it.
_IDENTITY = (_MAJOR, _MINOR, _SMS, "pci_domain_id", "pci_bus_id", "pci_device_id")
# What a launch configuration is read from.
LAUNCH = (
    *(f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"),
    "launch__registers_per_thread",
    *(f"launch__shared_mem_per_block_{part}" for part in ("static", "dynamic", "driver")),
    "launch__stream_id",
    "launch__waves_per_multiprocessor",
    "launch__cluster_size",
)


class Devices:
    """The GPUs seen so far, each once.

    Attributes:
        found: by what tells them apart, in order of appearance.
    """

    def __init__(self) -> None:
        """Start with none."""
        self.found: dict[tuple[object, ...], Device] = {}
        self._index: dict[tuple[object, ...], int] = {}

    def index(self, action: Action) -> int:
        """Return the index of the GPU a kernel ran on, adding it when it is new."""
        key = (
            text(action, _ATTRIBUTE + "display_name"),
            *(_attribute(action, name) for name in _IDENTITY),
        )
        if key not in self._index:
            self._index[key] = len(self.found)
            self.found[key] = _device(action)
        return self._index[key]


def _device(action: Action) -> Device:
    names = action.metric_names()
    short = [name.removeprefix(_ATTRIBUTE) for name in names if name.startswith(_ATTRIBUTE)]
    values = {name: _attribute(action, name) for name in sorted(short)}
    attributes = {name: value for name, value in values.items() if value is not None}
    major, minor = attributes.get(_MAJOR), attributes.get(_MINOR)
    sms = attributes.get(_SMS)
    return Device(
        name=text(action, _ATTRIBUTE + "display_name") or "unknown GPU",
        compute_capability=None if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        sm_count=int(sms) if sms else None,
        attributes=attributes,
    )


def _attribute(action: Action, name: str) -> float | None:
    metric = action.metric_by_name(_ATTRIBUTE + name)
    value = None if metric is None else number(metric)
    return value if isinstance(value, float) else None


def launch(metrics: Mapping[str, float]) -> Launch | None:
    """Return the launch configuration, None when the report has neither grid nor block."""
    grid, block = _dim3(metrics, "grid"), _dim3(metrics, "block")
    if grid is None and block is None:
        return None
    shared = "launch__shared_mem_per_block_"
    return Launch(
        grid=grid,
        block=block,
        registers_per_thread=_whole(metrics, "launch__registers_per_thread"),
        shared_static_bytes=_whole(metrics, shared + "static"),
        shared_dynamic_bytes=_whole(metrics, shared + "dynamic"),
        shared_driver_bytes=_whole(metrics, shared + "driver"),
        stream=_whole(metrics, "launch__stream_id"),
        waves_per_sm=metrics.get("launch__waves_per_multiprocessor"),
        cluster_size=_whole(metrics, "launch__cluster_size"),
    )


def _dim3(metrics: Mapping[str, float], what: str) -> Dim3 | None:
    x, y, z = (_whole(metrics, f"launch__{what}_dim_{axis}") for axis in "xyz")
    return None if x is None or y is None or z is None else (x, y, z)


def _whole(metrics: Mapping[str, float], name: str) -> int | None:
    value = metrics.get(name)
    return None if value is None else round(value)
