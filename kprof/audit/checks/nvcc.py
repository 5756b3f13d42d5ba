"""Whether nvcc is there, and whether the driver takes what it writes."""

from __future__ import annotations

import re

from kprof.audit import derive, gpustate, matrix, packages, remedies
from kprof.audit.devices import devices
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import cuda_error, rule
from kprof.audit.toolkit_choice import wanted_cuda
from kprof.audit.toolkit_install import home, install_toolkit, toolkits, use_toolkit
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_MISSING_LOGGED = (
    r"nvcc: (?:command )?not found|nvcc(?: compiler)? (?:was )?not found|No such file.{0,40}\bnvcc\b"
    r"|(?:Could|Can) ?not find nvcc|CMAKE_CUDA_COMPILER.{0,80}(?:not found|NOTFOUND|not set)"
    r"|No CMAKE_CUDA_COMPILER could be found"
)
_REFUSED_LOGGED = r"unsupported toolchain"
_INVALID_LOGGED = r"a PTX JIT compilation failed"
_DISTRO_PACKAGE = (
    "Debian and Ubuntu, package nvidia-cuda-toolkit "
    "<https://packages.ubuntu.com/search?keywords=nvidia-cuda-toolkit> [measured]"
)


@check("nvcc.missing", "nvcc", hurts=("build",), vital=("build",))
def missing(facts: Facts) -> Verdict:
    """Running and profiling need no nvcc, so its absence alone matters only to builds.

    Where a toolkit is there all the same it is a warning: somebody meant to build.
    """
    line = derive.logged(facts, _MISSING_LOGGED)
    on_path = facts.flag("nvcc.on_path")
    path = facts.text("nvcc.path")
    if line is None and not facts.absent("nvcc"):
        facts.need_text("nvcc.path")
        if on_path is not False or home(facts):
            version = facts.text("nvcc.version") or "of unknown version"
            return ok(f"nvcc {derive.brief(version, 20)} is {derive.brief(path or '', 80)}")
    there = f"; there is {derive.brief(path, 80)}, which is not on PATH" if path else ""
    wanted = bool(path or home(facts) or toolkits(facts))
    return Verdict(
        "error" if line else "warning" if wanted else "skipped",
        f"there is no nvcc on PATH{there}: CUDA code cannot be built",
        (*derive.values(facts, "nvcc", "toolkits", "env.PATH"), *([line] if line else ())),
        _put_on_path(facts),
        rule("extension_home"),
    )


def _put_on_path(facts: Facts) -> Remedy:
    path = facts.text("nvcc.path")
    if path and path.endswith("/bin/nvcc"):
        root = remedies.quoted(path.removesuffix("/bin/nvcc"), "/usr/local/cuda")
        return Remedy("Put it on PATH", (f"export PATH={root}/bin:$PATH",))
    return use_toolkit(facts, wanted_cuda(facts))


@check("nvcc.distro_package", "nvcc of the distribution", hurts=("build",))
def distro_package(facts: Facts) -> Verdict:
    """A distribution's nvcc is of the CUDA version that was new when the distribution was."""
    path = facts.text("nvcc.path")
    sources = {one.root: one.found for one in toolkits(facts)}
    if path is None and "distro" not in sources.values():
        if facts.absent("nvcc"):
            return skipped("there is no nvcc")
        raise Unknown("nvcc.path")
    if not (_is_distro(facts, path) or _wins(facts, sources)):
        return ok(f"nvcc is NVIDIA's own: {derive.brief(path or '', 80)}")
    version = derive.brief(facts.text("nvcc.version") or "", 20)
    torch = derive.torch_cuda(facts)
    other = f"; torch is built for CUDA {torch[0]}.{torch[1]}" if torch else ""
    return Verdict(
        "warning",
        f"nvcc {version} at {derive.brief(path or '/usr/bin/nvcc', 80)} is the distribution's, "
        f"which is often old{other}",
        derive.values(facts, "os.distro", "nvcc", "toolkits", "torch.cuda"),
        install_toolkit(facts, wanted_cuda(facts)),
        _DISTRO_PACKAGE,
    )


def _is_distro(facts: Facts, path: str | None) -> bool:
    family = packages.family(facts.text("os.distro"))
    in_system = path in ("/usr/bin/nvcc", "/usr/lib/nvidia-cuda-toolkit/bin/nvcc")
    return in_system and family in (None, "ubuntu", "debian", "appliance")


def _wins(facts: Facts, sources: dict[str, str]) -> bool:
    path = facts.text("nvcc.path") or "/usr/bin/nvcc"
    root = path.removesuffix("/bin/nvcc")
    return sources.get(root) == "distro"


@check(
    "nvcc.ptx_newer_than_driver",
    "the driver compiles nvcc's PTX",
    hurts=("profile", "run"),
    live=True,
)
def ptx_newer_than_driver(facts: Facts) -> Verdict:
    """Minor-version compatibility covers machine code, and not PTX newer than the driver's CUDA."""
    line = gpustate.error_logged(facts, 222, _REFUSED_LOGGED)
    nvcc, driver = derive.release(facts.text("nvcc.version")), derive.driver_cuda(facts)
    if line is not None:
        return _ptx_refused(facts, nvcc, driver, line)
    if facts.absent("nvcc"):
        return skipped("there is no nvcc")
    if nvcc is None or driver is None:
        raise Unknown("nvcc.version" if nvcc is None else "driver.cuda_version")
    have, reads = f"{nvcc[0]}.{nvcc[1]}", f"{driver[0]}.{driver[1]}"
    if nvcc[0] > driver[0]:
        return skipped(f"nvcc {have} is of another major version than the driver's CUDA {reads}")
    if not _newer_ptx(nvcc, driver):
        return ok(f"the driver (CUDA {reads}) compiles the PTX of nvcc {have}")
    return Verdict(
        "warning",
        f"nvcc {have} writes PTX that the driver (CUDA {reads}) does not compile: "
        "programs run only if they hold machine code for the GPU",
        derive.values(facts, "nvcc", "driver.version", "driver.cuda_version", "gpus"),
        _machine_code(facts, driver),
        rule("ptx_limit"),
    )


def _newer_ptx(nvcc: tuple[int, ...], driver: tuple[int, int]) -> bool:
    """Compare PTX versions: 12.5 and 12.6 write the same one. Unknown ones compare by CUDA."""
    written = matrix.ptx_isa(f"{nvcc[0]}.{nvcc[1]}")
    read = matrix.ptx_isa(f"{driver[0]}.{driver[1]}")
    if written and read and written.certain and read.certain:
        newer, older = derive.release(written.value), derive.release(read.value)
        return newer is not None and older is not None and newer > older
    return nvcc > driver


def _ptx_refused(
    facts: Facts, nvcc: tuple[int, ...] | None, driver: tuple[int, int] | None, line: str
) -> Verdict:
    reads = f"the driver, which compiles PTX up to CUDA {driver[0]}.{driver[1]}," if driver else (
        "the driver"
    )  # fmt: skip
    is_newer = nvcc is not None and driver is not None and _newer_ptx(nvcc, driver)
    by = f"nvcc {nvcc[0]}.{nvcc[1]}" if nvcc and is_newer else "a newer compiler"
    return Verdict(
        "error",
        f"{reads} refuses the program's PTX: it was written by {by}",
        (
            *derive.values(facts, "nvcc", "driver.version", "driver.cuda_version", "toolkits"),
            line,
        ),
        _machine_code(facts, driver),
        rule("ptx_limit"),
    )


def _machine_code(facts: Facts, driver: tuple[int, int] | None) -> Remedy:
    branch = matrix.branch_of_cuda(facts.text("nvcc.version") or "")
    update = f", or update the driver to R{branch.value}" if branch and branch.certain else ""
    older = f", or build with CUDA {driver[0]}.{driver[1]}" if driver else ""
    options = " ".join(
        f"-gencode arch=compute_{major}{minor},code=sm_{major}{minor}"
        for major, minor in sorted({one.capability for one in devices(facts)})[:4]
    )
    return Remedy(
        f"Build machine code for the GPU instead of PTX alone{older}{update}",
        (f"nvcc {options or '-arch=native'} ...",),
    )


@check("nvcc.ptx_invalid", "PTX for this GPU", hurts=("profile", "run"))
def ptx_invalid(facts: Facts) -> Verdict:
    """PTX for one architecture only, such as sm_90a, compiles for no other."""
    line = gpustate.error_logged(facts, 218, _INVALID_LOGGED)
    if line is None:
        facts.need_text("log")
        return ok("the driver found no invalid PTX")
    gpus = ", ".join(str(one) for one in devices(facts)[:3])
    here = f" for {gpus}" if gpus else ""
    return Verdict(
        "error",
        f"the driver cannot compile the program's PTX{here}: PTX for one architecture only "
        "(sm_90a and its like) runs on exactly that one",
        (*derive.values(facts, "gpus", "nvcc"), line),
        _machine_code(facts, None),
        f"{rule('architecture_specific')}; {cuda_error(218)}",
    )


def named_architectures(line: str) -> list[tuple[int, int]]:
    """Return the capabilities in a compiler's message, (12, 0) for ``compute_120``."""
    found = re.findall(r"(?:compute|sm)_(\d{1,2})(\d)[af]?\b", line)
    return [(int(major), int(minor)) for major, minor in found]
