"""How a container gets at the performance counters: what to ask the admin of its host."""

from __future__ import annotations

from kprof.audit import derive, remedies
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

OPTION = "nvidia NVreg_RestrictProfilingToAdminUsers=0"
_CAPABILITY = "--cap-add=SYS_ADMIN"
# A capability counts only for the root of the host itself, not for that of a user namespace.
_ROOTFUL = {
    "docker": f"docker run --gpus all --userns=host {_CAPABILITY} IMAGE",
    "podman": f"sudo podman run --device nvidia.com/gpu=all {_CAPABILITY} IMAGE",
}
_POD = (
    'kubectl patch deployment NAME --type=json -p=\'[{"op":"add","path":'
    '"/spec/template/spec/containers/0/securityContext","value":{"capabilities":'
    '{"add":["SYS_ADMIN"]}}}]\''
)
_WITH_THE_RIGHT = {
    "docker": f"docker run --gpus all {_CAPABILITY} IMAGE",
    "podman": f"sudo podman run --device nvidia.com/gpu=all {_CAPABILITY} IMAGE",
    "apptainer": "sudo apptainer exec --nv --add-caps CAP_SYS_ADMIN IMAGE COMMAND",
    "kubernetes": _POD,
}


def from_the_host(facts: Facts) -> Remedy:
    """Return what opens the counters to this container.

    Source: NVIDIA development tools, ERR_NVGPUCTRPERM; user_namespaces(7) on capabilities.
    """
    kind = derive.in_container(facts) or ""
    opened = remedies.module_option(facts, OPTION)
    start = _started_with_the_right(facts, kind)
    here = f"Profiling with Nsight Compute is refused in my {derive.brief(kind, 20)} container"
    if start is None:
        please = "Please open the counters to all users of the host."
        return remedies.letter(f"{here} (ERR_NVGPUCTRPERM). {please}", opened)
    rootful = ", not rootless," if facts.flag("process.user_namespace") else ""
    return remedies.letter(
        f"{here} (ERR_NVGPUCTRPERM). Please either start it{rootful} with the capability SYS_ADMIN "
        "(first command), or open the counters to all users of the host (the rest).",
        (start, *opened),
    )


def _started_with_the_right(facts: Facts, kind: str) -> str | None:
    """Return how to start this kind of container with the capability; None where it is no help."""
    return (_ROOTFUL if facts.flag("process.user_namespace") else _WITH_THE_RIGHT).get(kind)
