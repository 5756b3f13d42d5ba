"""What an image asks of the host: ``NVIDIA_REQUIRE_CUDA``, ``cuda>=12.8 brand=tesla,driver>=535``.

Alternatives are separated by blanks, the conditions of one by commas.

Source: NVIDIA Container Toolkit, environment variables
<https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html>.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable

from packaging.version import Version

from kprof.audit import derive, gpustate, matrix
from kprof.audit.facts import Facts

_CONDITION = re.compile(r"(cuda|driver|arch|brand)(>=|<=|!=|=|<|>)([\w.]{1,40})")
_LONGEST = 8000
_COMPARE: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def satisfied(facts: Facts, text: str) -> bool | None:
    """Say whether the host meets one of the alternatives; None when it cannot be said."""
    alternatives = text[:_LONGEST].split()
    return _any(
        _all(_met(facts, one) for one in alternative.split(",")) for alternative in alternatives
    )


def host_cuda(facts: Facts) -> str | None:
    """Return the CUDA version of the host's driver itself, which no compat library raises."""
    branch = derive.driver_branch(facts)
    own = matrix.branch_cuda(branch) if branch is not None else None
    return str(own.value) if own is not None and own.certain else derive.reported_cuda(facts)


def _met(facts: Facts, condition: str) -> bool | None:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        return None
    name, sign, value = found.groups()
    if name == "brand":
        return _is_brand(facts, value)
    have = _have(facts, name)
    wanted = derive.version(value)
    if have is None or wanted is None:
        return None
    return _COMPARE[sign](have, wanted)


def _have(facts: Facts, name: str) -> Version | None:
    if name == "cuda":
        return derive.version(host_cuda(facts))
    if name == "driver":
        return derive.version(derive.driver_version(facts))
    known = [gpu.capability for gpu in derive.gpus(facts) or () if gpu.capability]
    return Version(".".join(map(str, min(known)))) if known else None


def _is_brand(facts: Facts, brand: str) -> bool | None:
    if gpustate.data_center(facts):
        return brand in ("tesla", "nvidia")
    if gpustate.forward_compatible(facts) is False:
        return brand.startswith(("geforce", "titan"))
    return None


def _all(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    if False in known:
        return False
    return None if None in known else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    if True in known:
        return True
    return None if None in known or not known else False
