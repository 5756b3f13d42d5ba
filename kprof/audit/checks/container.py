"""What a container is given of the host's GPU, and keeps of it."""

from __future__ import annotations

from kprof.audit import derive, engines, gpustate, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_ENGINE = (
    r"could not select device driver|unknown or invalid runtime name: nvidia|"
    r"unresolvable CDI devices|failed to discover GPU vendor from CDI|"
    r"nvidia-container-runtime\S{0,10}\W.{0,60}(?:executable file not found|no such file)|"
    r"nvidia-container-cli: initialization error: load library failed|"
    r"Insufficient nvidia\.com/gpu"
)
_NO_GPU = r"NVIDIA Driver was not detected|Found no NVIDIA driver on your system"
_LOST = r"Failed to initialize NVML: Unknown Error|^Unknown Error$|NVML_ERROR_UNKNOWN"
_CONTROL = "/dev/nvidiactl"
_RUNTIME_FACTS = ("os.container", "container_runtime", "libcuda")


@check(
    "container.runtime_unconfigured",
    "the container's access to the GPU",
    hurts=("profile", "run"),
    explains=("gpu.missing", "driver.missing", "driver.uvm_stale", "container.driver_capabilities"),
)
def runtime_unconfigured(facts: Facts) -> Verdict:
    """A container sees the GPU only when its engine hands over devices and libraries."""
    line = derive.logged(facts, _ENGINE)
    if line is not None:
        return _unconfigured(facts, "the container engine has no NVIDIA runtime", line)
    if derive.in_container(facts) is None:
        if not facts.known("os.container"):
            raise Unknown("os.container")
        return skipped("this is no container")
    if gpustate.listed(facts) or gpustate.works(facts):
        return ok("the container sees the GPU")
    if _nothing_to_give(facts):
        return skipped("the host has no NVIDIA GPU on its PCI bus that a container could be given")
    found = _nothing_given(facts)
    if found is not None:
        return _unconfigured(facts, found, derive.logged(facts, _NO_GPU))
    if facts.text("libcuda.path") is None and facts.flag("container_runtime.gpus_flag") is None:
        raise Unknown("libcuda.path")
    return ok("the engine gave the container the driver's libraries")


def _nothing_to_give(facts: Facts) -> bool:
    """Say whether the host has no GPU: a container sees its PCI bus, and the modules it loaded."""
    apart = derive.wsl(facts) or derive.jetson(facts) or facts.text("os.sandbox")
    return not apart and gpustate.on_bus(facts) == () and not gpustate.module_loaded(facts)


def _nothing_given(facts: Facts) -> str | None:
    """Return what the container lacks of the host's GPU, None where nothing says so."""
    kind = derive.brief(derive.in_container(facts) or "", 20)
    if facts.flag("container_runtime.nvidia") is False:
        return f"this {kind} container was started without the NVIDIA runtime"
    if facts.flag("container_runtime.gpus_flag") is False:
        return f"this {kind} container was started without a GPU"
    nodes = gpustate.exists(facts, _CONTROL)
    if nodes is False and not derive.wsl(facts) and not derive.jetson(facts):
        return f"this {kind} container has no {_CONTROL}"
    if facts.absent("libcuda") and nodes is not True:
        return f"this {kind} container has no libcuda: the host's driver was not handed over"
    return f"this {kind} container has no driver" if derive.logged(facts, _NO_GPU) else None


def _unconfigured(facts: Facts, message: str, line: str | None) -> Verdict:
    commands = (*engines.of(facts).configure, *engines.of(facts).start)
    if derive.in_container(facts) is None:
        text = (
            "Install the NVIDIA Container Toolkit (https://docs.nvidia.com/datacenter/cloud-native/"
            "container-toolkit/latest/install-guide.html), tell the engine of it, start the "
            "container with the GPU."
        )
        remedy = Remedy(text, commands, "root")
    else:
        remedy = remedies.letter("My container needs the host's NVIDIA GPU.", commands)
    return Verdict(
        "error",
        message,
        (*derive.values(facts, *_RUNTIME_FACTS), *((line,) if line else ())),
        remedy,
        references.CONTAINER_TOOLKIT,
    )


@check(
    "container.cgroup_lost",
    "devices taken from a running container",
    hurts=("profile", "run"),
    live=True,
    explains=(
        "gpu.missing",
        "driver.uvm_stale",
        "driver.device_permission",
        "driver.module_not_loaded",
        "container.runtime_unconfigured",
    ),
)
def cgroup_lost(facts: Facts) -> Verdict:
    """When the host's systemd reloads, it can drop the device rules that the runtime had added."""
    if facts.known("os.container") and derive.in_container(facts) is None:
        return skipped("this is no container")
    if gpustate.listed(facts) or gpustate.works(facts):
        return ok("the container has its devices")
    line = derive.logged(facts, _LOST) or _closed(facts)
    if line is None:
        facts.need_text("driver.nvml_error")
        return ok("NVML's error is another one")
    if gpustate.exists(facts, _CONTROL) is False:
        return ok("the container never had the devices")
    facts.need_text("os.container")
    return Verdict(
        "error",
        "the container lost the right to use its GPU devices while it ran",
        (*derive.values(facts, "os.container", "driver.module_version", "files"), line),
        remedies.letter(
            "NVML answers 'Unknown Error' in my running container: a systemctl daemon-reload on "
            "the host dropped its device rules. Restarting the container helps until the next "
            "reload; Docker's cgroupfs driver, or CDI devices, helps for good.",
            (*engines.of(facts).restart, "sudo nvidia-ctk system create-dev-char-symlinks "
             "--create-all"),
        ),
        references.CONTAINER_TROUBLE,
    )  # fmt: skip


def _closed(facts: Facts) -> str | None:
    """Return that the control node is there but may not be opened, as device rules do it."""
    entry = facts.member("files", _CONTROL)
    error = entry.text("open_error") if entry else None
    if error and "not permitted" in error and derive.in_container(facts):
        return f"{_CONTROL}: {derive.brief(error, 60)}"
    return None
