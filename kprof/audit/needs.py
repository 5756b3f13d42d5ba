"""Which driver a CUDA version needs, and whether this machine's is new enough for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kprof.audit import derive, gpustate, matrix, references, remedies
from kprof.audit.compat_install import install_compat
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, skipped

_FOUND = r"(?:driver on your system|driver).{0,40}too old \(found version (\d{4,6})\)"
_TOO_OLD = r"CUDA driver version is insufficient for CUDA runtime version"


@dataclass(frozen=True, slots=True)
class Need:
    """What a CUDA version asks of the driver.

    Attributes:
        enough: whether the driver is new enough, None when it cannot be said.
        least: the first driver that is, ``525.60.13``; None where only CUDA's major is compared.
        have: the driver that is there, for people; None where neither its version nor its CUDA's
            is known.
        source: where the rule is written down.
    """

    enough: bool | None
    least: str | None
    have: str | None
    source: str | None

    @property
    def runs(self) -> str:
        """The driver that is there, as the subject of a sentence."""
        return self.have or "the driver"

    @property
    def gap(self) -> str:
        """What is there instead of the driver that is needed, as a clause."""
        return f"this is {self.have}" if self.have else "the one here is older"

    @property
    def wanted(self) -> str:
        """The driver to have, for people."""
        return f"driver {self.least} or newer" if self.least else "a newer driver"

    @property
    def branch(self) -> int:
        """The branch to install: the long-term one, if it is new enough."""
        return max(remedies.LTS_BRANCH, self.first_branch)

    @property
    def first_branch(self) -> int:
        """The first branch that would do, 0 when it is not known."""
        found = derive.release(self.least, 1)
        return found[0] if found else 0

    @property
    def because(self) -> str:
        """Why, as a sentence for the host's admin."""
        return f"The software here needs {self.wanted}; {self.gap}."


def of(facts: Facts, major: int) -> Need:
    """Say what CUDA ``major`` needs here, by minor-version compatibility.

    A forward-compatibility libcuda counts as the driver where the GPU allows it. Windows' drivers
    are numbered on their own, Jetson's too: there the CUDA version they report decides.
    """
    system = "windows" if _is_windows(facts) else "linux"
    least = matrix.min_driver(major, system) or _before_the_table(major, system)
    source = str(least) if least else references.rule("minor_compatibility")
    shown = _shown(facts)
    version = derive.version(_effective(facts))
    if least is not None and least.certain and version is not None:
        needed = derive.version(str(least.value))
        if needed is not None:
            return Need(version >= needed, str(least.value), shown, source)
    reported = derive.release(derive.reported_cuda(facts))
    if reported is None or major > _newest():
        return Need(None, str(least.value) if least else None, shown, source)
    return Need(reported[0] >= major, str(least.value) if least else None, shown, source)


def install(facts: Facts, need: Need, cuda: tuple[int, int]) -> Remedy:
    """Return how to get a driver that is enough for a CUDA version, or what can stand in for it."""
    driver = remedies.install_driver(
        facts, need.branch, least=need.first_branch, because=need.because
    )
    return remedies.either(driver, install_compat(facts, cuda))


def unknown(facts: Facts) -> Verdict:
    """Return that there is no driver to judge, or raise :class:`Unknown` where it is not known."""
    if gpustate.driverless(facts):
        return skipped("no driver runs here")
    raise Unknown("driver.version")


def _before_the_table(major: int, system: str) -> matrix.Fact | None:
    """CUDA before 11 runs on every driver that runs 11: newer drivers run what is older."""
    return matrix.min_driver(11, system) if major < 11 else None


def _newest() -> int:
    return max(int(one.split(".")[0]) for one in matrix.toolkits())


def _is_windows(facts: Facts) -> bool:
    return derive.wsl(facts) or facts.text("os.system") == "windows"


def _effective(facts: Facts) -> str | None:
    compat = gpustate.compat_library(facts)
    if compat and gpustate.forward_compatible(facts) is not False:
        return facts.text("libcuda.version")  # where it is not known, its CUDA version decides
    return derive.driver_version(facts)


def _shown(facts: Facts) -> str | None:
    version, cuda = derive.driver_version(facts), derive.reported_cuda(facts)
    if version is None and cuda is None:
        return None
    name = f"driver {derive.brief(version, 30)}" if version else "the driver"
    return f"{name} (CUDA {derive.brief(cuda, 12)})" if cuda else name


def complaint(facts: Facts) -> tuple[str, int | None] | None:
    """Return the line in which a program calls the driver too old, with the CUDA major it found.

    The CUDA runtime answers 35 (insufficient driver) also where it finds no driver at all, so 35
    proves nothing there. Source: CUDA runtime API, cudaErrorInsufficientDriver
    <https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html>.
    """
    line = derive.logged(facts, _FOUND)
    if line is not None:
        found = re.search(_FOUND, line, re.IGNORECASE)
        return line, int(found[1]) // 1000 if found else None
    if gpustate.driverless(facts):
        return None
    line = gpustate.error_logged(facts, 35, _TOO_OLD)
    return (line, None) if line else None
