"""NVIDIA's library of metrics, ``libnvperf_host``, as ``ncu-report`` ships it. Needs no GPU.

What is called here is described in the CUDA toolkit's ``nvperf_host.h`` and ``nvperf_cuda_host.h``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

_KERNEL_PROFILING = 1  # NVPA_ACTIVITY_KIND_PROFILER


class _Params(ctypes.Structure):
    """What every call of the library takes: its own size, an unused pointer, then its fields."""

    _fields_: ClassVar[Sequence[tuple[str, Any]]] = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
    )


class _Chips(_Params):
    _fields_ = (("names", ctypes.POINTER(ctypes.c_char_p)), ("count", ctypes.c_size_t))


class _ScratchSize(_Params):
    _fields_ = (
        ("chip", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("needed", ctypes.c_size_t),
    )


class _Evaluator(_Params):
    _fields_ = (
        ("scratch", ctypes.c_char_p),
        ("scratch_size", ctypes.c_size_t),
        ("chip", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_size_t),
        ("evaluator", ctypes.c_void_p),
    )


class _Lookup(_Params):
    _fields_ = (
        ("evaluator", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_uint8),
        ("index", ctypes.c_size_t),
    )


class _Request(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_size_t),
        ("kind", ctypes.c_uint8),
        ("rollup", ctypes.c_uint8),
        ("submetric", ctypes.c_uint16),
    )


class _Conversion(_Params):
    _fields_ = (
        ("evaluator", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("request", ctypes.POINTER(_Request)),
        ("request_size", ctypes.c_size_t),
    )


class _Dependencies(_Params):
    _fields_ = (
        ("evaluator", ctypes.c_void_p),
        ("requests", ctypes.POINTER(_Request)),
        ("request_count", ctypes.c_size_t),
        ("request_size", ctypes.c_size_t),
        ("stride", ctypes.c_size_t),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("count", ctypes.c_size_t),
        ("optional_names", ctypes.POINTER(ctypes.c_char_p)),
        ("optional_count", ctypes.c_size_t),
    )


class _RawMetric(_Params):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("isolated", ctypes.c_uint8),
        ("keep_instances", ctypes.c_uint8),
    )


class _Creation(_Params):
    _fields_ = (
        ("activity", ctypes.c_int),
        ("chip", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("config", ctypes.c_void_p),
    )


class _Config(_Params):
    _fields_ = (("config", ctypes.c_void_p),)


class _Group(_Params):
    _fields_ = (("config", ctypes.c_void_p), ("most_passes", ctypes.c_size_t))


class _Addition(_Params):
    _fields_ = (
        ("config", ctypes.c_void_p),
        ("metrics", ctypes.POINTER(_RawMetric)),
        ("count", ctypes.c_size_t),
    )


class _Passes(_Params):
    _fields_ = (("config", ctypes.c_void_p), ("count", ctypes.c_size_t))


def _used(struct: type[_Params]) -> int:
    """Return the size up to the last field's end, by which the library tells versions apart."""
    last = getattr(struct, (struct._fields_ or _Params._fields_)[-1][0])
    return int(last.offset + last.size)


class Library:
    """NVIDIA's library of metrics."""

    def __init__(self, path: Path) -> None:
        """Load it from a file."""
        self._library = ctypes.CDLL(str(path))
        listed = _Chips()
        if not self._call("NVPW_InitializeHost", _Params()) or not self._call(
            "NVPW_GetSupportedChipNames", listed
        ):
            raise SystemExit(f"{path} cannot be initialised")
        # It answers for chips it has dropped too, but no longer fully.
        self._chips = {listed.names[index].decode() for index in range(listed.count)}

    def having(self, chip: str, names: Iterable[str]) -> set[str] | None:
        """Return which of the base names a chip has, None for a chip the library does not list."""
        with self._evaluator(chip) as evaluator:
            if evaluator is None:
                return None
            return {name for name in names if self._knows(evaluator, name)}

    def passes(self, chip: str, metrics: Iterable[str]) -> int | None:
        """Return in how many replay passes a chip counts these metrics of its hardware.

        None for a chip the library does not list. Names it does not know count for nothing: ncu
        takes them from elsewhere.
        """
        with self._evaluator(chip) as evaluator:
            if evaluator is None:
                return None
            raw = {name for metric in metrics for name in self._raw(evaluator, metric)}
        return self._scheduled(chip, sorted(raw))

    @contextmanager
    def _evaluator(self, chip: str) -> Iterator[int | None]:
        size = _ScratchSize(chip=chip.encode())
        if chip not in self._chips or not self._call(
            "NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", size
        ):
            yield None
            return
        scratch = ctypes.create_string_buffer(size.needed)
        place = ctypes.cast(scratch, ctypes.c_char_p)
        made = _Evaluator(scratch=place, scratch_size=size.needed, chip=chip.encode())
        worked = self._call("NVPW_CUDA_MetricsEvaluator_Initialize", made)
        yield made.evaluator if worked else None

    def _raw(self, evaluator: int, metric: str) -> set[bytes]:
        """Return the counters that a metric is computed from."""
        request, size = _Request(), _Request.submetric.offset + _Request.submetric.size
        wanted = ctypes.pointer(request)
        asked = _Conversion(
            evaluator=evaluator, name=metric.encode(), request=wanted, request_size=size
        )
        if not self._call("NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest", asked):
            return set()
        found = _Dependencies(
            evaluator=evaluator, requests=wanted, request_count=1, request_size=size,
            stride=ctypes.sizeof(_Request),
        )  # fmt: skip
        self._must("NVPW_MetricsEvaluator_GetMetricRawDependencies", found)
        names = (ctypes.c_char_p * found.count)()
        found.names, found.optional_count = names, 0
        self._must("NVPW_MetricsEvaluator_GetMetricRawDependencies", found)
        return {name for name in names if name is not None}

    def _scheduled(self, chip: str, raw: Sequence[bytes]) -> int:
        made = _Creation(activity=_KERNEL_PROFILING, chip=chip.encode())
        self._must("NVPW_CUDA_RawMetricsConfig_Create_V2", made)
        metrics = (_RawMetric * len(raw))()
        for metric, name in zip(metrics, raw, strict=True):
            metric.size, metric.name = _used(_RawMetric), name
            metric.isolated = metric.keep_instances = 1
        config = made.config
        counted = _Passes(config=config)
        try:
            self._must("NVPW_RawMetricsConfig_BeginPassGroup", _Group(config=config))
            added = _Addition(config=config, metrics=metrics, count=len(raw))
            self._must("NVPW_RawMetricsConfig_AddMetrics", added)
            self._must("NVPW_RawMetricsConfig_EndPassGroup", _Config(config=config))
            self._must("NVPW_RawMetricsConfig_GetNumPasses_V2", counted)
        finally:
            self._must("NVPW_RawMetricsConfig_Destroy", _Config(config=config))
        return int(counted.count)

    def _must(self, function: str, params: _Params) -> None:
        if not self._call(function, params):
            raise SystemExit(f"{function} failed")

    def _knows(self, evaluator: int, name: str) -> bool:
        lookup = _Lookup(evaluator=evaluator, name=name.encode())
        return self._call("NVPW_MetricsEvaluator_GetMetricTypeAndIndex", lookup)

    def _call(self, function: str, params: _Params) -> bool:
        params.size = _used(type(params))
        return bool(getattr(self._library, function)(ctypes.byref(params)) == 0)
