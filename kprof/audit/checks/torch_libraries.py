"""Whether torch, its libraries and the extensions beside it belong together."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from kprof.audit import derive, extension_install, matrix, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.search_path import without
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_CUDNN_CHECK = (
    "torch, torch/backends/cudnn/__init__.py: the same major version and no earlier minor one "
    "<https://github.com/pytorch/pytorch/blob/v2.13.0/torch/backends/cudnn/__init__.py>"
)
_CUDNN_LOGGED = (
    r"cuDNN version incompatibility|CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH"
    r"|libcudnn[\w.]{0,40}: (?:undefined symbol|version)|undefined symbol: cudnn"
    r"|could not load library libcudnn"
)
_CUDNN_CRASHED = r"segmentation fault|core dumped|CUDNN_STATUS_[A-Z]"
_CUDNN_NUMBERS = (
    r"compiled against \((\d+), (\d+), (\d+)\) but found runtime version \((\d+), (\d+), (\d+)\)"
)

# Libraries whose soname carries CUDA's major version; cuFFT, cuRAND and others count their own.
_LIBRARY_LOGGED = (
    r"\blib(?:cudart|cublas|cublasLt|cupti|nvrtc|nvJitLink|cusparse)\.so\.(\d{2})(?:\.\d+)?"
    r": cannot open shared object"
)
_COMPANION_LOGGED = r"PyTorch and torch\w+ were compiled with different CUDA"
_ABI_LOGGED = (
    r"undefined symbol: _Z\w{0,8}?(?:3c10|2at|5torch)|operator torchvision::nms does not exist"
)
_ABI_SOURCE = (
    "torch, C++ extensions: an extension is built against one release "
    "<https://docs.pytorch.org/docs/stable/cpp_extension.html>"
)


@check(
    "torch.cudnn_shadowed",
    "cuDNN is torch's own",
    hurts=("run", "profile"),
    explains=("env.ld_library_path_shadow", "torch.import_error"),
)
def cudnn_shadowed(facts: Facts) -> Verdict:
    """Half of cuDNN from elsewhere, or one older than torch was compiled with, crashes."""
    line = derive.logged(facts, _CUDNN_LOGGED)
    libraries = [one for one in derive.loaded(facts) or () if one.name.startswith("libcudnn")]
    versions = {found for one in libraries if (found := derive.release(one.version, 3))}
    built = derive.release(facts.text("torch.cudnn"), 3)
    if len(versions) > 1:
        return _cudnn_wrong(facts, _mixture(libraries), libraries, line)
    if built and versions and not _serves(max(versions), built):
        message = f"torch is built with cuDNN {_dotted(built)} and loads {_dotted(max(versions))}"
        return _cudnn_wrong(facts, message, libraries, line)
    crash = derive.logged(facts, _CUDNN_CRASHED)
    if crash and built and versions and max(versions) != built and not _from_wheel(libraries):
        message = f"torch is built with cuDNN {_dotted(built)} and loads {_dotted(max(versions))}"
        return _cudnn_wrong(facts, message, libraries, crash)
    if line:
        return _cudnn_wrong(facts, _cudnn_said(line), libraries, line)
    if facts.absent("torch.cudnn"):
        return skipped("this torch has no cuDNN")
    if not versions:
        raise Unknown("loaded_libraries.libcudnn")
    return ok(f"torch loads one cuDNN, {_dotted(max(versions))}")


def _serves(found: tuple[int, ...], built: tuple[int, ...]) -> bool:
    return found[0] == built[0] and found[1] >= built[1]


def _from_wheel(libraries: list[derive.Library]) -> bool:
    return all("-packages/" in one.path for one in libraries)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _mixture(libraries: list[derive.Library]) -> str:
    by_version = {one.version: one for one in libraries if one.version}
    parts = [
        f"{derive.brief(one.version or '', 20)} from {derive.brief(one.path, 90)}"
        for one in by_version.values()
    ]
    return f"one process loads parts of several cuDNN versions: {', '.join(parts[:3])}"


def _cudnn_said(line: str) -> str:
    found = re.search(_CUDNN_NUMBERS, line)
    if found is None:
        return "torch loads another cuDNN than the one it came with, or only parts of it"
    return (
        f"torch is built with cuDNN {_dotted((int(found[1]), int(found[2]), int(found[3])))} "
        f"and loads {_dotted((int(found[4]), int(found[5]), int(found[6])))}"
    )


def _cudnn_wrong(
    facts: Facts, message: str, libraries: list[derive.Library], line: str | None
) -> Verdict:
    directories = [str(PurePosixPath(one.path).parent) for one in libraries]
    remedy = without(facts, directories) or _reinstall_cudnn(facts)
    return Verdict(
        "error",
        message,
        (
            *derive.values(facts, "torch.cudnn", "env.LD_LIBRARY_PATH", "loaded_libraries"),
            *([line] if line else ()),
        ),
        remedy,
        _CUDNN_CHECK,
    )


def _reinstall_cudnn(facts: Facts) -> Remedy:
    release = matrix.torch_release(facts.text("torch.version") or "")
    cuda = derive.torch_cuda(facts)
    advice = (
        "Take other cuDNN copies out of LD_LIBRARY_PATH and /etc/ld.so.conf.d, and give torch "
        "the cuDNN it pins"
    )
    if release is None or cuda is None or f"{cuda[0]}.{cuda[1]}" != release.pypi_cuda:
        return Remedy(advice, ("unset LD_LIBRARY_PATH",))
    package = shlex.quote(f"nvidia-cudnn-cu{cuda[0]}=={release.cudnn}")
    python = remedies.python(facts)
    return Remedy(
        advice,
        (
            "unset LD_LIBRARY_PATH",
            f"{python} -m pip install --force-reinstall --no-deps {package}",
        ),
    )


@check(
    "torch.ext_cuda_major_mismatch",
    "extensions match torch's CUDA",
    hurts=("run", "profile"),
    explains=("torch.import_error", "env.ld_library_path_shadow"),
)
def ext_cuda_major_mismatch(facts: Facts) -> Verdict:
    """An extension loads the CUDA runtime of the major version that it was built with."""
    cuda = derive.torch_cuda(facts)
    line = derive.logged(facts, _LIBRARY_LOGGED)
    wanted = _wanted_major(line)
    wrong = _wrong_extensions(facts, cuda)
    if wrong:
        names = ", ".join(f"{name} ({_cuda_name(built)})" for name, built in wrong[:4])
        have = f"CUDA {cuda[0]}.{cuda[1]}" if cuda else "another CUDA"
        message = f"built for another CUDA major version than torch ({have}): {names}"
        return _mismatch(facts, message, extension_install.together(facts, *wrong[0]), line)
    if wanted is not None and (cuda is None or wanted != cuda[0]):
        have = f"torch is built for CUDA {cuda[0]}" if cuda else "torch brought another one"
        message = f"an extension needs the CUDA {wanted} runtime, which is not there: {have}"
        return _mismatch(facts, message, extension_install.together(facts, None, (wanted, 0)), line)
    companion = derive.logged(facts, _COMPANION_LOGGED)
    if companion:
        message = "torch and a package built beside it have different CUDA versions"
        return _mismatch(facts, message, extension_install.from_source(facts, None), companion)
    return _extensions_fit(facts, cuda)


def _extensions_fit(facts: Facts, cuda: tuple[int, int] | None) -> Verdict:
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    extensions = facts.need_items("extensions")
    if cuda is None:
        if facts.known("torch.cuda"):
            return skipped("torch is built without CUDA")
        raise Unknown("torch.cuda")
    return ok(f"{len(extensions)} compiled extensions, none of another CUDA major version")


def _wanted_major(line: str | None) -> int | None:
    found = re.search(_LIBRARY_LOGGED, line or "", re.IGNORECASE)
    return int(found[1]) if found else None


def _wrong_extensions(
    facts: Facts, cuda: tuple[int, int] | None
) -> list[tuple[str, tuple[int, int]]]:
    """Return the extensions that hold no code for torch's CUDA major version, and what they hold.

    Some packages bring a library for each major version and load the fitting one, as bitsandbytes.
    """
    if cuda is None:
        return []
    built: dict[str, set[tuple[int, int]]] = {}
    for extension in facts.items("extensions") or ():
        name, version = extension.text("package"), derive.release(extension.text("cuda"))
        if name and version:
            built.setdefault(derive.brief(name, 40), set()).add((version[0], version[1]))
    wrong = [
        (name, max(versions))
        for name, versions in built.items()
        if all(one[0] != cuda[0] for one in versions)
    ]
    return wrong + _wrong_companions(facts, cuda)


def _cuda_name(version: tuple[int, int]) -> str:
    """Return a version for people; a library's name tells the major version only, as minor 0."""
    return f"CUDA {version[0]}.{version[1]}" if version[1] else f"CUDA {version[0]}"


def _wrong_companions(facts: Facts, cuda: tuple[int, int]) -> list[tuple[str, tuple[int, int]]]:
    found = []
    for name in extension_install.COMPANIONS:
        built = re.search(r"\+cu(\d{2})(\d)\b", (facts.text(f"packages.{name}") or "")[:100])
        if built and int(built[1]) != cuda[0]:
            found.append((name, (int(built[1]), int(built[2]))))
    return found


def _mismatch(facts: Facts, message: str, remedy: Remedy, line: str | None) -> Verdict:
    return Verdict(
        "error",
        message,
        (
            *derive.values(facts, "torch.version", "torch.cuda", "extensions", "packages"),
            *([line] if line else ()),
        ),
        remedy,
        rule("wheels_layout"),
    )


@check(
    "torch.ext_abi_mismatch",
    "extensions match torch's release",
    hurts=("run", "profile"),
    explains=("torch.import_error",),
)
def ext_abi_mismatch(facts: Facts) -> Verdict:
    """An extension looks for a C++ function that this release of torch does not have."""
    line = derive.logged(facts, _ABI_LOGGED)
    if line is None:
        facts.need_text("log")
        return ok("no extension looks for functions that this torch lacks")
    found = re.search(
        r"([\w.-]{1,80}?)(?:\.cpython[\w-]{0,60}|\.abi3)?\.so: undefined symbol", line
    )
    name = f"{found[1]} " if found else ""
    version = facts.text("torch.version")
    mine = f" (installed is {derive.brief(version, 40)})" if version else ""
    return Verdict(
        "error",
        f"the extension {name}was built for another release of torch{mine}",
        (*derive.values(facts, "torch.version", "packages"), line),
        extension_install.from_source(facts, None),
        _ABI_SOURCE,
    )
