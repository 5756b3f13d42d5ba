"""Container engines: how each kind of container is started, restarted, told and built.

Sources: the documentation of docker, podman (CDI), nerdctl, Kubernetes (device plugin), Apptainer
(``--nv``) and LXD (device type ``gpu``, options ``nvidia.*``). IMAGE, NAME, CONTAINER and COMMAND
stand for what only the user knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from kprof.audit import derive
from kprof.audit.facts import Facts

CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES=compute,utility"


@dataclass(frozen=True, slots=True)
class Engine:
    """The commands of one kind of container.

    Attributes:
        start: starts it with the GPU.
        restart: starts a running one again.
        compute: gives it the driver's compute libraries.
        configure: on the host, gives the engine the NVIDIA runtime.
        without_compat: builds its image without the compat libraries and starts that.
        unsandboxed: starts it outside gVisor, where the engine has a choice.
    """

    start: tuple[str, ...]
    restart: tuple[str, ...]
    compute: tuple[str, ...]
    configure: tuple[str, ...] = ()
    without_compat: tuple[str, ...] = ()
    unsandboxed: tuple[str, ...] = ()


_LESS = "echo 'RUN rm -rf /usr/local/cuda*/compat' >> Dockerfile"


def _like_docker(program: str, flags: str, *configure: str) -> Engine:
    return Engine(
        start=(f"{program} run {flags} IMAGE",),
        restart=(f"{program} restart CONTAINER",),
        compute=(f"{program} run {flags} -e {CAPABILITIES} IMAGE",),
        configure=configure,
        without_compat=(_LESS, f"{program} build -t IMAGE .", f"{program} run {flags} IMAGE"),
        unsandboxed=(f"{program} run --runtime=runc {flags} --cap-add=SYS_ADMIN IMAGE",),
    )


def _like_lxd(program: str) -> Engine:
    restart = f"{program} restart NAME"
    capabilities = f"{program} config set NAME nvidia.driver.capabilities compute,utility"
    return Engine(
        start=(
            f"{program} config set NAME nvidia.runtime true",
            f"{program} config device add NAME gpu gpu",
            restart,
        ),
        restart=(restart,),
        compute=(capabilities, restart),
        without_compat=(
            f"{program} exec NAME -- sh -c 'rm -rf /usr/local/cuda*/compat'",
            restart,
        ),
    )


_TOOLKIT = "sudo nvidia-ctk runtime configure --runtime="
_ENGINES = {
    "docker": _like_docker(
        "docker", "--gpus all", f"{_TOOLKIT}docker", "sudo systemctl restart docker"
    ),
    "podman": _like_docker(
        "podman",
        "--device nvidia.com/gpu=all",
        "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    ),
    "containerd": _like_docker(
        "nerdctl", "--gpus all", f"{_TOOLKIT}containerd", "sudo systemctl restart containerd"
    ),
    "kubernetes": Engine(
        start=('kubectl set resources deployment NAME --limits="nvidia.com/gpu=1"',),
        restart=("kubectl rollout restart deployment NAME",),
        compute=(f"kubectl set env deployment NAME {CAPABILITIES}",),
        configure=(
            f"{_TOOLKIT}containerd --set-as-default",
            "sudo systemctl restart containerd",
        ),
        without_compat=(
            _LESS,
            "docker build -t IMAGE .",
            "docker push IMAGE",
            "kubectl rollout restart deployment NAME",
        ),
        unsandboxed=(
            "kubectl patch deployment NAME --type=json "
            '-p=\'[{"op":"remove","path":"/spec/template/spec/runtimeClassName"}]\'',
        ),
    ),
    "apptainer": Engine(
        start=("apptainer exec --nv IMAGE COMMAND",),
        restart=("apptainer exec --nv IMAGE COMMAND",),  # it lives as long as its command
        compute=(f"{CAPABILITIES} apptainer exec --nv IMAGE COMMAND",),
        without_compat=(
            "apptainer build --sandbox FOLDER IMAGE",
            "rm -rf FOLDER/usr/local/cuda*/compat",
            "apptainer build --force IMAGE FOLDER",
            "apptainer exec --nv IMAGE COMMAND",
        ),
    ),
    "lxc": _like_lxd("lxc"),
    "incus": _like_lxd("incus"),
}
_SAME = {
    "singularity": "apptainer",
    "lxd": "lxc",
    "nerdctl": "containerd",
    "crio": "kubernetes",
    "cri-o": "kubernetes",
}


def of(facts: Facts) -> Engine:
    """Return the engine of this container; docker's where it is another one, or none."""
    kind = (derive.in_container(facts) or "docker").lower()
    return _ENGINES.get(_SAME.get(kind, kind), _ENGINES["docker"])
