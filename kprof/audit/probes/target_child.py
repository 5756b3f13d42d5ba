"""What the target's interpreter says about itself: a script that runs inside it.

``python target_child.py look``, ``load-torch``, ``import-torch``, ``count LIBCUDART`` or ``version FAMILY LIBRARY`` prints
the facts so far as a line that begins with ``kprof-facts:`` and is JSON, so that a hang or a crash
loses only what comes after it; whatever else gets printed (by ``sitecustomize``, by torch) is passed
over. Standard library alone, and readable for every interpreter from Python 3.7 on.
"""

from __future__ import annotations

import os
import sys

# A script's folder is searched first, and no module beside this one may stand for the target's.
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - nothing else is loaded yet
if __name__ == "__main__" and sys.path and sys.path[0] == _HERE:
    del sys.path[0]

import importlib  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import warnings  # noqa: E402
from typing import Any  # noqa: E402

MARK = "kprof-facts:"
_MAX_TEXT = 2000
_CUDA_LIBRARY = re.compile(
    r"\s(/\S*/lib(?:cudart|cudnn|nccl|cublas)[^/\s]*\.so[^/\s]*)$", re.MULTILINE
)

# The function of each library that gives its version as one number, and whether it does so
# through a pointer. Source: cuda_runtime_api.h, cudnn_version.h and nccl.h of NVIDIA's packages.
_VERSION_FUNCTIONS = {
    "libcudart": ("cudaRuntimeGetVersion", True),
    "libcudnn": ("cudnnGetVersion", False),
    "libnccl": ("ncclGetVersion", True),
}


def look() -> dict[str, Any]:
    """Return where this interpreter lives, and from where it would load torch."""
    return {
        "executable": sys.executable,
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "path": [os.path.abspath(entry) for entry in sys.path if os.path.isdir(entry)],  # noqa: PTH100, PTH112
        "torch": _folder_of("torch"),
    }


class _Watch:
    """Ends the process when torch's libraries are loaded, which is early in its import.

    What remains is Python, takes most of the time and fails rarely. Python asks its finders for
    every further module: the first question after ``torch._C`` is the moment.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Find nothing; see the class."""
        torch = sys.modules.get("torch")
        if getattr(torch, "_C", None) is not None:
            _emit({**_said_by_libraries(torch), "import": "libraries loaded"})
            os._exit(0)


def load_torch() -> dict[str, Any]:
    """Begin to import torch, until its libraries are loaded."""
    sys.meta_path.insert(0, _Watch())
    return import_torch()


def import_torch() -> dict[str, Any]:
    """Import torch and return what it says, or the error."""
    try:
        torch = importlib.import_module("torch")
        facts = {**_said_by(torch), **_said_by_libraries(torch)}
        _emit(facts)  # what follows talks to the driver
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            facts["cuda_available"] = bool(torch.cuda.is_available())
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return {"path": None, "version": None}
        return {"import_error": _told(error), "import": "failed"}
    except BaseException as error:  # noqa: BLE001 - extensions raise and exit as they like
        return {"import_error": _told(error), "import": "failed"}
    facts["import"] = "done"
    said = [str(one.message) for one in caught if "CUDA" in str(one.message)]
    return {**facts, "cuda_warning": said[0][:_MAX_TEXT]} if said else facts


def count_devices(library: str) -> dict[str, Any]:
    """Ask a CUDA runtime library for the number of devices, as ``torch.cuda.is_available`` does."""
    import ctypes

    runtime = ctypes.CDLL(library)
    count = ctypes.c_int(0)
    code = int(runtime.cudaGetDeviceCount(ctypes.byref(count)))
    answer: dict[str, Any] = {"code": code, "count": count.value if code == 0 else 0}
    for key, name in (("name", "cudaGetErrorName"), ("text", "cudaGetErrorString")):
        function = getattr(runtime, name)
        function.restype = ctypes.c_char_p
        answer[key] = (function(code) or b"").decode(errors="replace")
    return answer


def version_of(family: str, library: str) -> dict[str, Any]:
    """Ask a library for its version, as the one number it gives."""
    import ctypes

    name, by_pointer = _VERSION_FUNCTIONS[family]
    function = getattr(ctypes.CDLL(library), name)
    if not by_pointer:
        function.restype = ctypes.c_size_t
        return {"number": int(function())}
    number = ctypes.c_int(0)
    failed = function(ctypes.byref(number))
    return {"number": None if failed else number.value}


def _folder_of(package: str) -> str | None:
    try:
        spec = importlib.util.find_spec(package)
    except Exception:  # noqa: BLE001 - import hooks raise as they like
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return os.path.abspath(places[0]) if places else None  # noqa: PTH100


def _said_by(torch: Any) -> dict[str, Any]:
    return {
        "path": os.path.dirname(torch.__file__),  # noqa: PTH120 - pathlib is not loaded here
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
    }


def _said_by_libraries(torch: Any) -> dict[str, Any]:
    found = {"arch_list": _architectures(torch), "cudnn": _compiled_cudnn(torch)}
    facts: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
    return {**facts, "libraries": _mapped()}


def _architectures(torch: Any) -> list[str] | None:
    # torch.cuda.get_arch_list() is empty where there is no usable GPU; its source is not.
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return (flags() or "").split() if flags is not None else None


def _compiled_cudnn(torch: Any) -> str | None:
    module = getattr(torch._C, "_cudnn", None)
    compiled = getattr(module, "getCompileVersion", None)
    return ".".join(str(part) for part in compiled()) if compiled is not None else None


def _mapped() -> list[str]:
    try:
        with open("/proc/self/maps") as file:  # noqa: PTH123 - pathlib is not loaded here
            return sorted(set(_CUDA_LIBRARY.findall(file.read())))
    except OSError:
        return []


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_MAX_TEXT]


def _main(mode: str, *arguments: str) -> None:
    modes: dict[str, Any] = {
        "look": look,
        "load-torch": load_torch,
        "import-torch": import_torch,
        "count": count_devices,
        "version": version_of,
    }
    try:
        answer = modes[mode](*arguments)
    except Exception as error:  # noqa: BLE001 - the answer says what happened
        answer = {"failed": _told(error)}
    _emit(answer)
    # What torch and CUDA do at exit takes time and tells nothing.
    os._exit(0)


def _emit(facts: dict[str, Any]) -> None:
    sys.stdout.write(f"\n{MARK}{json.dumps(facts)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(*sys.argv[1:])
