"""The form of a snapshot: which fact is of which type.

Whatever has another one is taken out before anything is judged, and named: a fact that somebody
wrote down wrongly is unknown, never "not there".
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypeAlias

Scalar = Literal["text", "a number", "true or false"]
# A scalar, an object of known names, [what a list holds], or {ANY: what every name has}.
Form: TypeAlias = "Scalar | dict[str, Form] | list[Form]"

TEXT: Scalar = "text"  # a version too: the number 12.10 would be 12.1
NUMBER: Scalar = "a number"
FLAG: Scalar = "true or false"
ANY = "*"
OBJECT: dict[str, Form] = {}
NAMED, NAME = 200, 200  # faults that are named, characters of a fact's name
# What is looked at of a list, of an object of any names, and of a text in a list. No machine has
# more that matters, and every check reads them again.
ENTRIES, NAMES, TEXT_IN_LIST = 1000, 4000, 4096
_NEWEST_LAST = ("driver.dmesg",)  # lists of which the end counts

_FILE: dict[str, Form] = {
    "exists": FLAG, "writable": FLAG, "accessible": FLAG, "owner": TEXT, "open_error": TEXT,
}  # fmt: skip
_LIBRARY: dict[str, Form] = {"path": TEXT, "version": TEXT}

SNAPSHOT: dict[str, Form] = {
    "os": {
        "system": TEXT, "distro": TEXT, "distro_like": TEXT, "kernel": TEXT, "arch": TEXT,
        "wsl": NUMBER, "jetson": TEXT, "container": TEXT, "sandbox": TEXT, "secure_boot": FLAG,
    },
    "gpus": [
        {
            "name": TEXT, "compute_capability": TEXT, "memory_bytes": NUMBER, "mig": TEXT,
            "mig_devices": [OBJECT], "compute_mode": TEXT,
        }
    ],
    "lspci_gpus": [TEXT],
    "pci_drivers": [TEXT],
    "nvswitches": NUMBER,
    "driver": {
        "version": TEXT, "cuda_version": TEXT, "module_version": TEXT, "module_flavor": TEXT,
        "module_installed": {"version": TEXT}, "modules_loaded": [TEXT], "nvidia_smi_error": TEXT,
        "nvidia_smi_text": TEXT, "nvml_error": TEXT, "params": {"RmProfilingAdminOnly": NUMBER},
        "dmesg": [TEXT],
    },
    "libcuda": {
        "path": TEXT, "version": TEXT, "kind": TEXT, "init_code": NUMBER, "init_error": TEXT,
        "device_count": NUMBER, "capabilities": [TEXT],
    },
    "process": {"euid": NUMBER, "capabilities": [TEXT], "user_namespace": FLAG},
    "env": {ANY: TEXT},
    "toolkits": [{"root": TEXT, "version": TEXT, "source": TEXT}],
    "nvcc": {"path": TEXT, "version": TEXT, "on_path": FLAG},
    "host_compiler": {"name": TEXT, "version": TEXT, "path": TEXT, "source": TEXT},
    "python": {"executable": TEXT, "version": TEXT, "environment": TEXT},
    "other_pythons": [{"executable": TEXT, "torch": TEXT}],
    "job": {"ranks": NUMBER, "source": TEXT},
    "torch": {
        "version": TEXT, "cuda": TEXT, "cudnn": TEXT, "arch_list": [TEXT], "cuda_available": FLAG,
        "import": TEXT, "import_error": TEXT, "hip": TEXT,
        "cuda_error": {"code": NUMBER, "name": TEXT, "text": TEXT},
    },
    "loaded_libraries": {ANY: [_LIBRARY]},
    "packages": {ANY: TEXT},
    "extensions": [{"package": TEXT, "cuda": TEXT}],
    "triton": {"version": TEXT, "ptxas_version": TEXT, "ptxas_blackwell_version": TEXT},
    "ncu": {
        "path": TEXT, "version": TEXT, "chips": [TEXT], "error": TEXT,
        "installs": [{"path": TEXT, "version": TEXT}],
    },
    "ncu_report": {"version": TEXT},
    "services": {ANY: TEXT},
    "profilers": [{"name": TEXT, "pid": NUMBER}],
    "files": {ANY: _FILE},
    "container_runtime": {
        "nvidia": FLAG, "requires": TEXT, "gpus_flag": FLAG, "driver_capabilities": TEXT,
    },
    "log": TEXT,
    "errors": {ANY: TEXT},
}  # fmt: skip


class _Wrong(Exception):
    """A value is not of its form; the text says of which, and is empty where that is told."""


def checked(facts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a snapshot's facts without those of a wrong type, and what was wrong, a line each.

    Unknown names stay. What stands for "not there" (null, [] and "") is of every type.
    """
    faults: dict[str, None] = {}  # in order, each once
    kept = dict(_kept(facts, SNAPSHOT, "", faults))
    named = list(faults)
    left = len(named) - NAMED
    return kept, named if left <= 0 else [*named[:NAMED], f"{left} more facts are of a wrong type"]


def _kept(
    facts: Mapping[str, Any], forms: Mapping[str, Form], prefix: str, faults: dict[str, None]
) -> Iterator[tuple[str, Any]]:
    if ANY in forms and len(facts) > NAMES:
        faults[
            f"{prefix.rstrip('.')[:NAME]} has {len(facts)} names: the first {NAMES} are read"
        ] = None
        facts = dict(islice(facts.items(), NAMES))
    for key, value in facts.items():
        form = forms.get(key, forms.get(ANY))
        name = f"{prefix}{key}"
        with _told(name, faults):
            yield key, value if form is None else _value(value, form, name, faults)


@contextlib.contextmanager
def _told(name: str, faults: dict[str, None]) -> Iterator[None]:
    try:
        yield
    except _Wrong as wrong:
        if str(wrong):
            faults[f"{name[:NAME]} is not {wrong}"] = None


def _value(value: Any, form: Form, name: str, faults: dict[str, None]) -> Any:
    if value is None or value in ([], ""):
        return value
    if isinstance(form, dict):
        if not isinstance(value, Mapping):
            raise _Wrong("an object")
        return dict(_kept(value, form, f"{name}.", faults))
    if isinstance(form, list):
        return _list(value, form[0], name, faults)
    if not _is(value, form):
        raise _Wrong(form)
    return value


def _list(value: Any, form: Form, name: str, faults: dict[str, None]) -> list[Any]:
    if not isinstance(value, list):
        raise _Wrong("a list")
    kept: list[Any] = []
    for place, entry in enumerate(_some(value, name, faults)):
        with _told(f"{name}[]", faults):
            kept.append(_entry(entry, form, f"{name}[{place}]", faults))
    if not kept:  # an empty list would say that there is none
        raise _Wrong
    return kept


def _some(value: list[Any], name: str, faults: dict[str, None]) -> list[Any]:
    if len(value) <= ENTRIES:
        return value
    last = name in _NEWEST_LAST
    which = "last" if last else "first"
    faults[f"{name[:NAME]} has {len(value)} entries: the {which} {ENTRIES} are read"] = None
    return value[-ENTRIES:] if last else value[:ENTRIES]


def _entry(entry: Any, form: Form, name: str, faults: dict[str, None]) -> Any:
    if isinstance(form, dict) and not isinstance(entry, Mapping):
        raise _Wrong("an object")
    if isinstance(form, str) and not _is(entry, form):
        raise _Wrong(form)
    if isinstance(entry, str) and len(entry) > TEXT_IN_LIST:
        which = f"{name.rpartition('[')[0][:NAME]}[]"
        faults[f"{which} is longer than {TEXT_IN_LIST} characters: the rest is not read"] = None
        return entry[:TEXT_IN_LIST]
    return _value(entry, form, name, faults)


def _is(value: Any, form: Scalar) -> bool:
    if form == FLAG:
        return isinstance(value, bool)
    if form == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return isinstance(value, str)
