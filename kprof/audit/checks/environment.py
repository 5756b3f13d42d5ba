"""Environment variables that hide the GPU or put the wrong library first."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from kprof.audit import derive, gpustate
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import cuda_error
from kprof.audit.search_path import without
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_ENVIRONMENT_VARIABLES = (
    "CUDA C++ Programming Guide, CUDA environment variables "
    "<https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables> "
    "[nvidia-doc]"
)
_SHADOWING = (
    "report of a toolkit on LD_LIBRARY_PATH under torch "
    "<https://github.com/pytorch/pytorch/issues/121222> [third-party]"
)

_PATH_MAX = 4096  # characters of a path, as limits.h has it

_STUB_LOGGED = r"stub library|stub libcuda\.so|failed to connect to the CUDA driver"
_ORDINAL_LOGGED = r"invalid device ordinal"

# Libraries whose version is the toolkit's, so that it can be held against torch's CUDA.
_TOOLKIT_VERSIONED = ("libcudart", "libcublas", "libcublasLt", "libnvrtc", "libnvJitLink")
_TOOLKIT_LIBRARIES = (*_TOOLKIT_VERSIONED, "libcufft", "libcurand", "libcusolver", "libcusparse")
_TOOLKIT_DIRECTORY = re.compile(r"/cuda(?:-[\d.]+)?(?:/|$)|/cudnn|/nvidia/hpc_sdk/")
_SYMBOL_LOGGED = (
    r"(?:undefined symbol|symbol lookup error|not defined in file|version `lib).{0,300}"
    r"(?:cublas|cudart|cusparse|cusolver|cufft|nvrtc|nvJitLink)"
)
_CRASH_LOGGED = (
    r"segmentation fault|core dumped|SIGSEGV|undefined symbol|symbol lookup error"
    r"|not defined in file|CUBLAS_STATUS_|CUSPARSE_STATUS_|CUSOLVER_STATUS_|CUFFT_[A-Z]"
)


@check(
    "env.stub_libcuda",
    "stub libcuda",
    hurts=("profile", "run"),
    explains=(
        "driver.missing", "driver.nvml_mismatch", "driver.too_old_for_torch",
        "driver.too_old_for_toolkit", "gpu.missing", "torch.import_error", "ncu.lib",
        "ncu.driver_too_old", "ncu.early_exit",
    ),
)  # fmt: skip
def stub_libcuda(facts: Facts) -> Verdict:
    """The stub is there to link against; every call into it fails with error 34."""
    path, kind = facts.text("libcuda.path"), facts.text("libcuda.kind")
    line = gpustate.error_logged(facts, 34, _STUB_LOGGED)
    stubs = [one for one in derive.library_path(facts) or () if _is_stub_directory(one)]
    if kind == "stub" or (path and _is_stub_directory(path)) or line:
        return _stub_found(facts, path, line, stubs)
    if stubs:
        return Verdict(
            "warning",
            f"LD_LIBRARY_PATH holds the directory of stub libraries {derive.brief(stubs[0])}: "
            "a program may load the stub libcuda instead of the driver",
            derive.values(facts, "env.LD_LIBRARY_PATH", "libcuda"),
            without(facts, stubs),
            cuda_error(34),
        )
    if facts.absent("libcuda"):
        return skipped("no libcuda was found at all")
    if path is None and kind is None:
        raise Unknown("libcuda.path")
    return ok(f"libcuda is the real one: {derive.brief(path or kind or '')}")


def _stub_found(facts: Facts, path: str | None, line: str | None, stubs: list[str]) -> Verdict:
    where = f" ({derive.brief(path)})" if path else ""
    return Verdict(
        "error",
        f"programs load the stub libcuda{where} instead of the driver's: every CUDA call fails",
        (*derive.values(facts, "libcuda", "env.LD_LIBRARY_PATH"), *([line] if line else ())),
        without(facts, stubs)
        or Remedy("Take the directory named stubs out of LD_LIBRARY_PATH and of /etc/ld.so.conf.d"),
        cuda_error(34),
    )


def _is_stub_directory(path: str) -> bool:
    return "stubs" in PurePosixPath(path).parts


@check(
    "env.cuda_visible_devices_hides",
    "CUDA_VISIBLE_DEVICES",
    hurts=("profile", "run"),
    live=True,
    explains=("gpu.missing", "env.device_ordinal", "driver.uvm_stale"),
)
def cuda_visible_devices_hides(facts: Facts) -> Verdict:
    """The list ends at its first entry that names no GPU; what follows stays hidden."""
    value = facts.text("env.CUDA_VISIBLE_DEVICES")
    if value is None:
        if facts.sub("env") is None:
            raise Unknown("env.CUDA_VISIBLE_DEVICES")
        return ok("CUDA_VISIBLE_DEVICES is not set")
    if gpustate.driverless(facts):
        return skipped("no driver runs here: there is nothing that CUDA_VISIBLE_DEVICES could hide")
    wanted = _entries(value)
    count = _gpu_count(facts, wanted)
    if count == 0:
        return skipped("there is no GPU that CUDA_VISIBLE_DEVICES could hide")
    shown = _shown(wanted, count)
    if shown == len(wanted):
        return ok(f"CUDA_VISIBLE_DEVICES={derive.brief(value)} names GPUs that are there")
    return _hidden(facts, value, wanted[shown], shown, count)


def _entries(value: str) -> list[str]:
    """Return the entries; an empty one at the end, as in ``0,``, hides nothing."""
    first, *rest = [one.strip() for one in value.split(",")]
    while rest and not rest[-1]:
        rest.pop()
    return [first, *rest]


def _gpu_count(facts: Facts, wanted: list[str]) -> int | None:
    listed = derive.gpus(facts)
    if listed is not None:
        return len(listed)
    if gpustate.no_gpu(facts):
        return 0
    if any(one.isdecimal() for one in wanted[:1]):
        raise Unknown("gpus")
    return None


def _shown(wanted: list[str], count: int | None) -> int:
    for position, one in enumerate(wanted):
        by_name = one.startswith(("GPU-", "MIG-"))
        by_index = one.isdecimal() and len(one) < 6 and (count is None or int(one) < count)
        if not (by_name or by_index):
            return position
    return len(wanted)


def _hidden(facts: Facts, value: str, first: str, shown: int, count: int | None) -> Verdict:
    gpus = "the GPUs" if count is None else f"this machine's {count} GPU{'s' * (count != 1)}"
    why = f"{derive.brief(first)!r} is no GPU here" if first else "it is empty"
    setting = f"CUDA_VISIBLE_DEVICES={derive.brief(value)}"
    evidence = derive.values(facts, "env.CUDA_VISIBLE_DEVICES", "gpus")
    failed = gpustate.error_logged(facts, 101, f"{_ORDINAL_LOGGED}|No CUDA GPUs are available")
    if shown and failed is None and shown == count:
        return ok(f"{setting} shows all of {gpus}; {why}, and nothing follows that could be hidden")
    if shown and failed is None:
        message = f"{setting} shows only its first {shown} of {gpus}: {why}"
        return Verdict("warning", message, evidence, _show_gpus(facts), _ENVIRONMENT_VARIABLES)
    hides = f"shows only its first {shown} of {gpus}" if shown else f"hides {gpus} from CUDA"
    return Verdict(
        "error",
        f"{setting} {hides}: {why}",
        (*evidence, *([failed] if failed else ())),
        _show_gpus(facts),
        _ENVIRONMENT_VARIABLES,
    )


def _show_gpus(facts: Facts) -> Remedy:
    if (facts.text("job.source") or "").startswith("SLURM"):
        return Remedy(
            "The scheduler set it for this job: ask for a GPU when you submit it",
            ("srun --gres=gpu:1 --pty bash",),
        )
    return Remedy(
        "Unset it, or name GPUs that are there (counted from 0)",
        ("unset CUDA_VISIBLE_DEVICES",),
    )


@check("env.device_ordinal", "device number", hurts=("profile", "run"))
def device_ordinal(facts: Facts) -> Verdict:
    """A program may only ask for devices 0 to (visible GPUs - 1)."""
    line = gpustate.error_logged(facts, 101, _ORDINAL_LOGGED)
    if line is None:
        facts.need_text("log")
        return ok("the program asked for no GPU number that is not there")
    listed = derive.gpus(facts)
    seen = "fewer GPUs" if listed is None else f"{len(listed)} GPU{'s' * (len(listed) != 1)}"
    return Verdict(
        "error",
        f"the program asks for a GPU number that it does not see: there are {seen}, "
        "numbered from 0 among those that CUDA_VISIBLE_DEVICES shows",
        (*derive.values(facts, "env.CUDA_VISIBLE_DEVICES"), line),
        Remedy("Start fewer processes, use device 0, or show the program more GPUs"),
        cuda_error(101),
    )


@check(
    "env.ld_library_path_shadow",
    "LD_LIBRARY_PATH",
    hurts=("profile", "run"),
    explains=("torch.import_error",),
)
def ld_library_path_shadow(facts: Facts) -> Verdict:
    """A wheel brings its own CUDA libraries; LD_LIBRARY_PATH puts a toolkit's before them."""
    entries = derive.library_path(facts)
    line = derive.logged(facts, _SYMBOL_LOGGED)
    foreign = _foreign(facts, entries or ())
    if foreign:
        return _mixed(facts, foreign)
    toolkits = [one for one in entries or () if _TOOLKIT_DIRECTORY.search(one)]
    if line and (toolkits or entries is None):
        return _symbol_missing(facts, line, toolkits)
    if entries is None:
        raise Unknown("env.LD_LIBRARY_PATH")
    if not toolkits:
        return ok("LD_LIBRARY_PATH names no CUDA libraries")
    if derive.loaded(facts) is None:
        raise Unknown("loaded_libraries")
    return ok("LD_LIBRARY_PATH names CUDA libraries, but the program loads none from there")


def _foreign(facts: Facts, entries: tuple[str, ...]) -> list[derive.Library]:
    """Return the toolkit's libraries that are loaded in place of the wheel's own.

    They show by the wheel's other libraries beside them, or by a version that is not torch's. An
    image whose torch was built on its toolkit loads everything from there, and all agrees.
    """
    known = [one for one in derive.loaded(facts) or () if _stem(one.name) in _TOOLKIT_LIBRARIES]
    own = {one.path for one in known if _is_own(one.path, facts)}
    roots = {one.rstrip("/") for one in entries}
    others = (one for one in known if one.path not in own)
    foreign = [one for one in others if _is_below(one.path, roots)]
    return foreign if own or any(_misfits(facts, one) for one in foreign) else []


def _is_below(path: str, folders: set[str]) -> bool:
    path = path[:_PATH_MAX]
    return any(path[: slash.start()] in folders for slash in re.finditer("/", path))


def _stem(name: str) -> str:
    return name.split(".so", 1)[0]


def _is_own(path: str, facts: Facts) -> bool:
    if re.search(r"/(?:site|dist)-packages/", path):
        return True
    python = PurePosixPath(facts.text("python.executable") or "/")
    prefix = f"{python.parent.parent}/"
    is_environment = facts.text("python.environment") in ("conda", "venv")
    return is_environment and path.startswith(prefix)


def _mixed(facts: Facts, foreign: list[derive.Library]) -> Verdict:
    first = foreign[0]
    line = derive.logged(facts, _CRASH_LOGGED)
    grave = line is not None or any(_misfits(facts, one) for one in foreign)
    version = f" {derive.brief(first.version, 20)}" if first.version else ""
    mine = f" of CUDA {derive.brief(cuda, 20)}" if (cuda := facts.text("torch.cuda")) else ""
    return Verdict(
        "error" if grave else "warning",
        f"LD_LIBRARY_PATH puts {first.name}{version} from {derive.brief(first.path)} "
        f"before the one that came with torch{mine}",
        (
            *derive.values(facts, "env.LD_LIBRARY_PATH", "loaded_libraries", "torch.cuda"),
            *([line] if line else ()),
        ),
        without(facts, [str(PurePosixPath(one.path).parent) for one in foreign]),
        _SHADOWING,
    )


def _misfits(facts: Facts, library: derive.Library) -> bool:
    found, wanted = derive.release(library.version), derive.torch_cuda(facts)
    if found is None or wanted is None or _stem(library.name) not in _TOOLKIT_VERSIONED:
        return False
    return found[0] != wanted[0] or found < wanted


def _symbol_missing(facts: Facts, line: str, toolkits: list[str]) -> Verdict:
    where = f": LD_LIBRARY_PATH names {derive.brief(toolkits[0])}" if toolkits else ""
    return Verdict(
        "error",
        f"a CUDA library of another version is loaded before the one torch brought{where}",
        (*derive.values(facts, "env.LD_LIBRARY_PATH"), line),
        without(facts, toolkits)
        or Remedy("Start without LD_LIBRARY_PATH; torch finds its own", ("unset LD_LIBRARY_PATH",)),
        _SHADOWING,
    )
