"""Which CUDA toolkit a build takes, and how to get one of another version."""

from __future__ import annotations

from dataclasses import dataclass

from kprof.audit import derive, packages, remedies, repository
from kprof.audit.facts import Facts
from kprof.audit.toolkit_choice import compiles
from kprof.audit.verdict import Remedy

_USUAL = "/usr/local/cuda"
ARCHIVE = "https://developer.nvidia.com/cuda-toolkit-archive"
_INSTALLERS = {
    "ubuntu": "sudo apt-get install -y cuda-toolkit-{major}-{minor}",
    "debian": "sudo apt-get install -y cuda-toolkit-{major}-{minor}",
    "rhel": "sudo dnf install -y cuda-toolkit-{major}-{minor}",
    "fedora": "sudo dnf install -y cuda-toolkit-{major}-{minor}",
    "suse": "sudo zypper install -y cuda-toolkit-{major}-{minor}",
}


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A CUDA toolkit.

    Attributes:
        root: its directory, "" when not known.
        version: its version as numbers, (12, 4).
        found: how it was found: ``CUDA_HOME``, ``PATH``, ``/usr/local/cuda``, ``conda``, ...
    """

    root: str
    version: tuple[int, ...]
    found: str

    def __str__(self) -> str:
        where = f" in {derive.brief(self.root, 80)}" if self.root else ""
        return f"CUDA {self.version[0]}.{self.version[1]}{where}"


def toolkits(facts: Facts) -> tuple[Toolkit, ...]:
    """Return the toolkits of known version."""
    found = []
    for one in facts.items("toolkits") or ():
        version = derive.release(one.text("version"))
        if version:
            found.append(Toolkit(one.text("root") or "", version, one.text("source") or ""))
    return tuple(found)


def home(facts: Facts) -> tuple[str, str] | None:
    """Return the variable that names the toolkit and its value: CUDA_HOME, then CUDA_PATH."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        value = facts.text(f"env.{variable}")
        if value:
            return variable, value
    return None


def used_by_builds(facts: Facts) -> Toolkit | None:
    """Return the toolkit that torch builds extensions with; None where that is not known.

    The order is torch's: CUDA_HOME or CUDA_PATH, the nvcc on PATH, /usr/local/cuda.
    Source: torch 2.13, torch/utils/cpp_extension.py.
    """
    known = toolkits(facts)
    named = home(facts)
    if named is not None:
        return named_toolkit(facts, named)
    version = derive.release(facts.text("nvcc.version"))
    if version and facts.flag("nvcc.on_path") is not False:
        behind = next(
            (one for one in known if one.found == "PATH" and one.version == version), None
        )
        return behind or Toolkit(_root_of(facts.text("nvcc.path")), version, "PATH")
    usual = ("PATH", _USUAL)
    return next((one for one in known if one.found in usual or one.root == _USUAL), None)


def named_toolkit(facts: Facts, named: tuple[str, str]) -> Toolkit | None:
    """Return the toolkit that CUDA_HOME or CUDA_PATH names; None where none is known there."""
    variable, value = named
    root = value.rstrip("/")
    known = toolkits(facts)
    exact = next((one for one in known if one.root.rstrip("/") == root), None)
    linked = next((one for one in known if variable in one.found), None)
    usual = next((one for one in known if root == one.found == _USUAL), None)
    return exact or linked or usual


def use_toolkit(facts: Facts, wanted: tuple[int, int], *, same_minor: bool = False) -> Remedy:
    """Return how to build with a toolkit of a version: one that is here, else how to install it.

    Args:
        facts: the snapshot.
        wanted: its version.
        same_minor: whether one of the same major version is not enough.
    """
    exact = [one for one in toolkits(facts) if one.version == wanted and one.root]
    major = [one for one in toolkits(facts) if _near(facts, one, wanted)]
    for one in exact or ([] if same_minor else major):
        path = remedies.quoted(one.root, "/usr/local/cuda")
        return Remedy(
            f"Build with {one}, which is here",
            (f"export CUDA_HOME={path}", f"export PATH={path}/bin:$PATH"),
        )
    return install_toolkit(facts, wanted)


def _near(facts: Facts, one: Toolkit, wanted: tuple[int, int]) -> bool:
    """Say whether a toolkit of the same major version does: it has to know the GPUs, too."""
    return bool(one.root) and one.version[0] == wanted[0] and compiles(facts, one.version)


def install_toolkit(facts: Facts, wanted: tuple[int, int]) -> Remedy:
    """Return how to install a toolkit beside what is here."""
    name = f"{wanted[0]}.{wanted[1]}"
    if facts.text("python.environment") == "conda":
        return Remedy(
            f"Install the CUDA {name} toolkit into this conda environment",
            (
                f"conda install -y -c nvidia/label/cuda-{name}.0 cuda-toolkit",
                "export CUDA_HOME=$CONDA_PREFIX",
            ),
        )
    distro = facts.text("os.distro")
    command = _INSTALLERS.get(packages.family(distro) or "")
    use = (
        f"export CUDA_HOME=/usr/local/cuda-{name}",
        f"export PATH=/usr/local/cuda-{name}/bin:$PATH",
    )
    if command is None:
        return Remedy(
            f"Install the CUDA {name} toolkit: download its runfile from {ARCHIVE}, which is for "
            "every Linux, run it and name the toolkit",
            (f"sudo sh cuda_{name}.*_linux*.run --silent --toolkit", *use),
            "root",
        )
    install = command.format(major=wanted[0], minor=wanted[1])
    return Remedy(
        f"Install the CUDA {name} toolkit (from NVIDIA's package repository: {ARCHIVE}) and name it",
        (*repository.add(distro, derive.machine(facts)), install, *use),
        "root",
    )


def _root_of(nvcc: str | None) -> str:
    return nvcc.removesuffix("/bin/nvcc") if nvcc and nvcc.endswith("/bin/nvcc") else ""
