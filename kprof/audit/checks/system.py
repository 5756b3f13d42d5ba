"""Services that CUDA waits for: the fabric manager of NVSwitch systems, MPS."""

from __future__ import annotations

import dataclasses
import re

from kprof.audit import derive, gpustate, packages, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NOT_READY = r"system not yet initialized"
_VERSIONS = r"driver interface version ([\d.]{3,20}) (?:don.t|doesn.t) match with driver version ([\d.]{3,20})"
_NO_MPS = r"MPS (?:client failed to connect|server is not ready)|mps control daemon"
_SERVICE = "nvidia-fabricmanager"
_STATUS = f"systemctl status {_SERVICE}"


@check(
    "system.fabricmanager",
    "fabric manager",
    hurts=("profile", "run"),
    live=True,
    explains=("gpu.missing", "driver.uvm_stale", "driver.hmm_kaslr"),
)
def fabricmanager(facts: Facts) -> Verdict:
    """On NVSwitch systems CUDA starts only once the fabric manager, of the driver's version, ran."""
    versions = derive.logged(facts, _VERSIONS)
    if versions is not None:
        return _other_version(facts, versions)
    line = gpustate.error_logged(facts, 802, _NOT_READY)
    state = facts.text(f"services.{_SERVICE}")
    if line is not None:
        return _waiting(facts, state, line)
    if gpustate.works(facts):
        return ok("CUDA does not wait for a fabric manager")
    return _by_service(facts, state) if gpustate.switched(facts) else _no_switch(facts)


def _by_service(facts: Facts, state: str | None) -> Verdict:
    if derive.in_container(facts):
        return skipped("the fabric manager is the host's")
    if state in ("running", "active"):
        return ok("the fabric manager runs")
    if state is None and not facts.absent(f"services.{_SERVICE}"):
        raise Unknown(f"services.{_SERVICE}")
    return _waiting(facts, state, gpustate.cuda_failure(facts))


def _no_switch(facts: Facts) -> Verdict:
    if derive.gpus(facts) is None and not gpustate.no_gpu(facts):
        raise Unknown("gpus")
    return skipped("these GPUs do not hang on an NVSwitch")


def _waiting(facts: Facts, state: str | None, line: str | None) -> Verdict:
    shown = derive.brief(state, 20) if state else None
    if shown in ("running", "active"):
        service = "it runs, but not with this driver's version or not yet ready"
    elif derive.in_container(facts) or shown is None:
        service = "it is not running, or of another version than the driver"
    else:
        service = "it has failed" if shown == "failed" else f"it is {shown}"
    return Verdict(
        "error" if line or state else "warning",
        f"CUDA waits for {_SERVICE}: {service}",
        (
            *derive.values(facts, "services", "gpus", "driver.version"),
            *((line,) if line else ()),
        ),
        _start(facts, state),
        references.cuda_error(802) if line else references.FABRIC_MANAGER,
    )


def _start(facts: Facts, state: str | None) -> Remedy:
    """Return how to bring the service up: it is started where it is known to be installed."""
    install = _install(facts)
    if state is None or state in ("running", "active") or derive.in_container(facts):
        return install
    begin = Remedy(
        f"Start {_SERVICE}, which is installed; its state says why where it does not come up.",
        (packages.START_FABRICMANAGER, _STATUS),
        "root",
    )
    return dataclasses.replace(begin, alternatives=(install,))


def _install(facts: Facts) -> Remedy:
    branch = derive.driver_branch(facts) or remedies.LTS_BRANCH
    version = derive.driver_version(facts)
    of_version = f" of exactly version {derive.brief(version, 30)}" if version else ""
    distro = packages.host_distro(facts)
    return remedies.on_host(
        facts,
        f"Install {_SERVICE}{of_version} and start it; then look at its state.",
        (*packages.fabricmanager(distro, branch, version), _STATUS),
        request=f"CUDA answers 802 (system not yet initialized): {_SERVICE}{of_version} has to run "
        "on the host.",
    )


def _other_version(facts: Facts, line: str) -> Verdict:
    found = re.search(_VERSIONS, line, re.IGNORECASE)
    manager, driver = found.groups() if found else ("another version", "its own")
    return Verdict(
        "error",
        f"{_SERVICE} is of version {manager}, the driver {driver}: they must be the same",
        (*derive.values(facts, "services", "driver.version"), line),
        _install(facts),
        references.FABRIC_MANAGER,
    )


@check("system.mps", "MPS", hurts=("profile", "run"), live=True)
def mps(facts: Facts) -> Verdict:
    """With CUDA_MPS_PIPE_DIRECTORY set, CUDA looks for the MPS daemon there."""
    line = gpustate.error_logged(facts, 805, _NO_MPS)
    if line is None:
        if facts.text("services.mps") == "running":
            return ok("MPS is running, and no program missed it; see ncu.mps for profiling")
        if facts.sub("services") is None:
            raise Unknown("services.mps")
        return ok("MPS is not running")
    return Verdict(
        "error",
        "CUDA cannot reach the MPS daemon",
        (*derive.values(facts, "env.CUDA_MPS_PIPE_DIRECTORY", "services"), line),
        Remedy(
            "Start the daemon as the user that it serves.",
            ("nvidia-cuda-mps-control -d",),
            alternatives=(Remedy("Go without MPS.", ("unset CUDA_MPS_PIPE_DIRECTORY",)),),
        ),
        references.cuda_error(805),
    )
