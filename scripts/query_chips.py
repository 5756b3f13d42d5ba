"""Write kprof/collect/availability.json: which chips lack which hardware counter.

Asks the metrics evaluator of ``libnvperf_host``, which NVIDIA ships in ``ncu-report`` and describes
in the CUDA toolkit's ``nvperf_host.h`` and ``nvperf_cuda_host.h``. Needs no GPU. Run it after adding
a metric to the catalogue or the plan, or for a chip that a new ``ncu-report`` knows. A chip that
the library no longer knows keeps what the file says of it.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Sequence
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from kprof import metrics as m
from kprof.collect.chips import chip_of
from kprof.collect.plan import metrics_for

TABLE = Path(__file__).resolve().parents[1] / "kprof" / "collect" / "availability.json"


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
        if chip not in self._chips:
            return None
        size = _ScratchSize(chip=chip.encode())
        if not self._call("NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", size):
            return None
        scratch = ctypes.create_string_buffer(size.needed)
        place = ctypes.cast(scratch, ctypes.c_char_p)
        made = _Evaluator(scratch=place, scratch_size=size.needed, chip=chip.encode())
        if not self._call("NVPW_CUDA_MetricsEvaluator_Initialize", made):
            return None
        return {name for name in names if self._knows(made.evaluator, name)}

    def _knows(self, evaluator: int, name: str) -> bool:
        lookup = _Lookup(evaluator=evaluator, name=name.encode())
        return self._call("NVPW_MetricsEvaluator_GetMetricTypeAndIndex", lookup)

    def _call(self, function: str, params: _Params) -> bool:
        params.size = ctypes.sizeof(params)
        return bool(getattr(self._library, function)(ctypes.byref(params)) == 0)


def installed() -> Path | None:
    """Return the library beside the installed ``ncu_report``, None where it ships without."""
    spec = find_spec("ncu_report")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("libnvperf_host.so")
    return path if path.is_file() else None


def read_by_kprof(capabilities: Iterable[str]) -> list[str]:
    """Return the base name of every metric that kprof reads or asks for on any of these GPUs."""
    names = {name for quantity in m.quantities() for way in quantity.ways for name in way.metrics}
    names.update(metrics_for("standard"), m.UNIT_CLASS)
    for capability in capabilities:
        names.update(metrics_for("standard", chip=chip_of(capability)))
    return sorted({name.split(".")[0] for name in names})


def renewed(table: dict[str, Any], library: Library, version: str) -> dict[str, Any]:
    """Return the table as the library has it now."""
    names = read_by_kprof(table["chips"])
    found = {chip: library.having(chip, names) for chip in sorted(set(table["chips"].values()))}
    known = {chip: having for chip, having in found.items() if having is not None}
    hardware = set().union(*known.values())
    before = table["lacking"]
    lacking = {
        name: sorted(
            chip
            for chip in found
            if (name not in known[chip] if chip in known else chip in before.get(name, ()))
        )
        for name in names
        if name in hardware
    }
    return {**table, "ncu_report": version, "lacking": lacking}


def main() -> None:
    """Renew the table with the installed library."""
    path = installed()
    if path is None:
        raise SystemExit("ncu-report is not installed, or without libnvperf_host.so")
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    table = renewed(table, Library(path), distribution("ncu-report").version)
    rows = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(chips)}" for name, chips in table["lacking"].items()
    )
    head = {key: value for key, value in table.items() if key != "lacking"}
    text = json.dumps(head, indent=1).removesuffix("\n}")
    TABLE.write_text(f'{text},\n "lacking": {{\n{rows}\n }}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
