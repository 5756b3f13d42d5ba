"""The probes of the system, on recorded machines."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kprof.audit.probes import (
    driver,
    hardware,
    operating_system,
    privileges,
    services,
    surroundings,
)
from kprof.audit.probes.machine import Machine, output
from kprof.audit.probes.system import SYSTEM
from kprof.process import Completed
from tests.audit import recorded
from tests.audit.recorded import HUNG, machine, written

KERNEL = {"/proc/version": "Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu\n"}
RELEASE = "/proc/sys/kernel/osrelease"
GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"


# --- the machine -----------------------------------------------------------------------------


def test_a_missing_program_is_none_and_a_slow_one_is_ended() -> None:
    here = Machine(environ={"PATH": os.defpath})
    assert here.run(["/no/such/program"], 5) is None
    start = time.monotonic()
    done = here.run([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"], 1)
    assert time.monotonic() - start < 20
    assert done is not None
    assert done.timed_out
    assert done.stdout == b"1\n"
    assert output(done) is None


def test_a_program_gets_the_machines_environment_alone() -> None:
    here = Machine(environ={"ONLY": "this"})
    done = here.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], 20)
    assert "ONLY" in (output(done) or "")
    assert "PATH" not in (output(done) or "PATH")


def test_only_regular_files_are_read_and_only_their_beginning(tmp_path: Path) -> None:
    here = machine(tmp_path, {"/proc/x": "0123456789"})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert here.read("/proc/x") == "0123456789"
    assert here.read("/proc/x", limit=4) == "0123"
    for name in ("/pipe", "/folder", "/zero", "/missing", "/nul\0l"):
        assert here.read(name) is None, name


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_none(tmp_path: Path) -> None:
    here = machine(tmp_path, {"/secret": "x"})
    (tmp_path / "secret").chmod(0)
    assert here.read("/secret") is None


def test_programs_are_found_on_path_first_and_never_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"/usr/sbin/lspci": "", "/opt/bin/lspci": "", "/opt/bin/plain": ""}
    here = machine(tmp_path, files, environ={"PATH": ".::/opt/bin:/usr/bin"})
    for name in ("usr/sbin/lspci", "opt/bin/lspci"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "opt" / "bin")
    assert here.which("lspci") == "/opt/bin/lspci"
    assert here.which("plain") is None  # no program
    elsewhere = Machine(tmp_path, {"PATH": "."})
    assert elsewhere.which("lspci") is None
    assert elsewhere.tool("lspci") == "/usr/sbin/lspci"
    assert elsewhere.tool("absent") == "absent"


# --- the operating system --------------------------------------------------------------------


def system(here: Machine) -> dict[str, Any]:
    found: dict[str, Any] = operating_system.operating_system(here)["os"]
    return found


def test_the_distribution_is_that_of_os_release(tmp_path: Path) -> None:
    text = 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n'
    found = system(machine(tmp_path, {"/etc/os-release": text, RELEASE: "6.8.0-45-generic\n"}))
    assert found["distro"] == "ubuntu 22.04"
    assert found["distro_like"] == "debian"
    assert found["kernel"] == "6.8.0-45-generic"
    assert found["wsl"] is None
    assert found["jetson"] is None
    assert found["container"] is None


def test_a_rolling_distribution_has_a_name_alone(tmp_path: Path) -> None:
    assert system(machine(tmp_path, {"/usr/lib/os-release": "ID=arch\n"}))["distro"] == "arch"


def test_an_unknown_distribution_is_left_out(tmp_path: Path) -> None:
    assert "distro" not in system(machine(tmp_path, {"/etc/os-release": "\xff nothing\n"}))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("6.6.87.2-microsoft-standard-WSL2", 2),
        ("4.4.0-19041-Microsoft", 1),
        ("6.8.0-45-generic", None),
    ],
)
def test_wsl_is_told_by_its_kernel(tmp_path: Path, kernel: str, expected: int | None) -> None:
    assert system(machine(tmp_path, {RELEASE: kernel}))["wsl"] == expected


def test_wsl_with_a_kernel_of_ones_own_is_told_by_device_and_libraries(tmp_path: Path) -> None:
    files = {RELEASE: "6.12.0-mine", "/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": ""}
    assert system(machine(tmp_path, files))["wsl"] == 2


TEGRA = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n"


def test_a_jetson_says_its_jetpack(tmp_path: Path) -> None:
    found = system(machine(tmp_path, {"/etc/nv_tegra_release": TEGRA}))["jetson"]
    assert found == "JetPack 6 (L4T 36.4.3)"


def test_the_installed_jetpack_is_more_exact(tmp_path: Path) -> None:
    status = (
        "Package: nvidia-jetpack-dev\nStatus: install ok installed\nVersion: 9.9\n\n"
        "Package: nvidia-jetpack\nStatus: install ok installed\nDescription: all\n of it\n"
        "Version: 6.2+b77\n\nPackage: other\nVersion: 1\n"
    )
    files = {"/etc/nv_tegra_release": TEGRA, "/var/lib/dpkg/status": status}
    assert system(machine(tmp_path, files))["jetson"] == "JetPack 6.2 (L4T 36.4.3)"


def test_a_jetpack_that_is_not_installed_does_not_borrow_another_packages_version(
    tmp_path: Path,
) -> None:
    status = "Package: nvidia-jetpack\nStatus: deinstall\n\nPackage: other\nVersion: 1.5\n"
    files = {"/etc/nv_tegra_release": TEGRA, "/var/lib/dpkg/status": status}
    assert system(machine(tmp_path, files))["jetson"] == "JetPack 6 (L4T 36.4.3)"


def test_a_release_of_the_future_and_a_container_without_release(tmp_path: Path) -> None:
    later = {"/etc/nv_tegra_release": TEGRA.replace("R36", "R99")}
    assert system(machine(tmp_path / "a", later))["jetson"] == "L4T 99.4.3"
    tree = {
        "/proc/device-tree/compatible": "nvidia,p3768-0000\0nvidia,tegra234\0",
        "/proc/device-tree/model": "NVIDIA Jetson Orin Nano Developer Kit\0",
    }
    found = system(machine(tmp_path / "b", tree))["jetson"]
    assert found == "NVIDIA Jetson Orin Nano Developer Kit"


OVERLAY = "612 501 0:52 / / rw,relatime - overlay overlay rw,lowerdir={}/l/ABC:{}/l/DEF\n"


@pytest.mark.parametrize(
    ("expected", "files", "environ"),
    [
        ("docker", {"/.dockerenv": ""}, {}),
        ("docker", {"/proc/self/cgroup": "12:pids:/docker/4045bf4e\n"}, {}),
        ("docker", {"/proc/self/mountinfo": OVERLAY.format("/var/lib/docker/overlay2", "x")}, {}),
        ("podman", {"/run/.containerenv": 'engine="podman-4.9.3"\n'}, {}),
        ("podman", {"/proc/self/mountinfo": OVERLAY.format("/x/containers/storage", "y")}, {}),
        ("kubernetes", {"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}),
        ("kubernetes", {"/proc/self/cgroup": "0::/kubepods.slice/pod1\n"}, {}),
        ("apptainer", {}, {"APPTAINER_CONTAINER": "/images/x.sif"}),
        ("apptainer", {"/.singularity.d/runscript": ""}, {}),
        ("containerd", {"/proc/self/cgroup": "0::/system.slice/containerd.service/x\n"}, {}),
        (None, {"/proc/self/cgroup": "0::/user.slice/user-1000.slice\n"}, {}),
        # a host that runs docker has its overlays mounted as well, only not as its own root
        (None, {"/proc/self/mountinfo": OVERLAY.format("/docker", "x").replace(" / / ", " / /m ")}, {}),
    ],
)  # fmt: skip
def test_containers(
    tmp_path: Path, expected: str | None, files: dict[str, str], environ: dict[str, str]
) -> None:
    assert system(machine(tmp_path, files, environ=environ))["container"] == expected


VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({VARIABLE: b"\x06\0\0\0\x01"}, True),
        ({VARIABLE: b"\x06\0\0\0\x00"}, False),
        ({VARIABLE: b"\x06\0"}, None),
        ({"/sys/firmware/efi/runtime": ""}, None),
        ({"/sys/firmware/acpi/x": ""}, False),  # no UEFI, no Secure Boot
        ({}, None),  # a container hides the folder
    ],
)
def test_secure_boot(tmp_path: Path, files: dict[str, str | bytes], expected: bool | None) -> None:
    assert system(machine(tmp_path, files)).get("secure_boot") is expected


# --- the kernel's driver ---------------------------------------------------------------------


def test_the_loaded_module_says_its_version_flavour_and_parameters(tmp_path: Path) -> None:
    files = {
        **KERNEL,
        "/proc/driver/nvidia/version": recorded.PROC_VERSION_OPEN,
        "/proc/driver/nvidia/params": recorded.PARAMS,
    }
    found = driver.kernel_driver(machine(tmp_path, files))["driver"]
    assert found["module_version"] == "580.159.04"
    assert found["module_flavor"] == "open"
    assert found["params"]["RmProfilingAdminOnly"] == 1
    assert found["params"]["TemporaryFilePath"] == "/var/tmp"  # noqa: S108


def test_the_proprietary_module(tmp_path: Path) -> None:
    files = {"/proc/driver/nvidia/version": recorded.PROC_VERSION_PROPRIETARY}
    found = driver.kernel_driver(machine(tmp_path, files))["driver"]
    assert found == {"module_version": "535.183.01", "module_flavor": "proprietary"}


def test_no_module_is_a_fact_on_a_machine_and_unknown_in_a_sandbox(tmp_path: Path) -> None:
    assert driver.kernel_driver(machine(tmp_path / "a", KERNEL)) == {
        "driver": {"module_version": None}
    }
    sandbox = machine(tmp_path / "b", {"/proc/version": GVISOR})
    assert driver.kernel_driver(sandbox) == {"driver": {}}


def test_modules_that_matter_are_listed_those_built_in_too(tmp_path: Path) -> None:
    files = {"/proc/modules": recorded.PROC_MODULES, "/sys/module/nouveau/x": ""}
    found = driver.kernel_modules(machine(tmp_path, files))["driver"]
    names = ["nouveau", "nvidia", "nvidia_drm", "nvidia_modeset", "nvidia_uvm"]
    assert found == {"modules_loaded": names}


def test_modules_are_unknown_where_nothing_lists_them(tmp_path: Path) -> None:
    assert driver.kernel_modules(machine(tmp_path)) == {"driver": {}}


def test_the_module_on_the_disk_is_told_apart_from_the_loaded_one(tmp_path: Path) -> None:
    files = {RELEASE: "6.8.0-45-generic\n", "/lib/modules/6.8.0-45-generic/modules.dep": ""}
    here = machine(tmp_path, files, {"modinfo nvidia": written(recorded.MODINFO)})
    assert driver.kernel_modules(here)["driver"]["module_installed"] == {
        "path": "/lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst",
        "version": "580.173.02",
        "flavor": "open",
    }
    none = machine(tmp_path, {}, {"modinfo": written(status=1, stderr="not found")})
    assert driver.kernel_modules(none)["driver"]["module_installed"] is None
    for unanswered in ({}, {"modinfo": HUNG}):
        assert driver.kernel_modules(machine(tmp_path, {}, unanswered)) == {"driver": {}}


def test_a_container_without_the_hosts_modules_does_not_ask_for_one(tmp_path: Path) -> None:
    here = machine(tmp_path, {RELEASE: "6.8.0\n"}, {"modinfo": written(status=1)})
    assert driver.kernel_modules(here) == {"driver": {}}


def test_of_the_log_what_concerns_the_driver_is_kept(tmp_path: Path) -> None:
    found = driver.kernel_log(machine(tmp_path, KERNEL, {"dmesg": written(recorded.DMESG)}))
    assert found == {
        "os": {"sandbox": None},
        "driver": {
            "dmesg": [
                "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04",
                "PM: suspend entry (deep)",
                "PM: suspend exit",
                "NVRM: Xid (PCI:0000:8d:00): 79, GPU has fallen off the bus.",
            ]
        },
    }


def test_a_log_without_end_is_cut_at_its_old_end() -> None:
    lines = driver.lines_of_interest("\n".join(f"NVRM: {i} {'x' * 5000}" for i in range(9000)))
    assert len(lines) <= 500
    assert lines[-1].startswith("NVRM: 8999 ")
    assert max(map(len, lines)) <= 1000


def test_a_log_kept_to_root_is_read_from_the_journal(tmp_path: Path) -> None:
    refused = written(status=1, stderr="dmesg: read kernel buffer failed: Operation not permitted")
    journal = {"dmesg": refused, "journalctl": written("NVRM: Xid (PCI:0000:01:00): 31\n")}
    found = driver.kernel_log(machine(tmp_path, KERNEL, journal))
    assert found["driver"]["dmesg"] == ["NVRM: Xid (PCI:0000:01:00): 31"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (written(status=1, stderr="dmesg: read kernel buffer failed: x"), "read kernel buffer"),
        (HUNG, "did not answer"),
        (None, "no dmesg"),
    ],
)
def test_a_log_that_nobody_may_read_is_unknown_and_says_why(
    tmp_path: Path, answer: Completed | None, words: str
) -> None:
    programs = {} if answer is None else {"dmesg": answer}
    found = driver.kernel_log(machine(tmp_path, KERNEL, programs))
    assert "driver" not in found
    assert words in found["errors"]["kernel_log"]


@pytest.mark.parametrize(
    ("version", "log"),
    [
        (GVISOR, None),
        ("Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016\n", None),
        (KERNEL["/proc/version"], written("[    0.000000] Starting gVisor...\n")),
    ],
)
def test_gvisor_is_told_by_its_kernel_or_its_log(
    tmp_path: Path, version: str, log: Completed | None
) -> None:
    here = machine(tmp_path, {"/proc/version": version}, {} if log is None else {"dmesg": log})
    assert driver.kernel_log(here)["os"] == {"sandbox": "gvisor"}


# --- bus and device files --------------------------------------------------------------------


def test_lspci_gives_gpus_by_name_and_counts_switches(tmp_path: Path) -> None:
    here = machine(tmp_path, {}, {"lspci": written(recorded.LSPCI)})
    bound = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    bound.mkdir(parents=True)
    (bound / "driver").symlink_to("../../../bus/pci/drivers/nouveau")
    assert hardware.pci(here) == {
        "lspci_gpus": [
            "NVIDIA Corporation AD102 [GeForce RTX 4090]",
            "NVIDIA Corporation Device 3182",
        ],
        "pci_drivers": ["nouveau", None],
        "nvswitches": 1,
    }


def device(address: str, vendor: str, kind: str, identity: str) -> dict[str, str]:
    folder = f"/sys/bus/pci/devices/{address}"
    return {f"{folder}/vendor": vendor, f"{folder}/class": kind, f"{folder}/device": identity}


SYSFS = {
    **device("0000:8d:00.0", "0x10de\n", "0x030200\n", "0x2335\n"),
    **device("0000:8e:00.0", "0x10de\n", "0x030200\n", "0x3182\n"),
    **device("0000:8f:00.0", "0x1002\n", "0x030000\n", "0x744c\n"),
    **device("0000:90:00.0", "0x10de\n", "0x040300\n", "0x22ba\n"),
}


@pytest.mark.parametrize("lspci", [None, HUNG, written(status=1), written("01:00.0 0300: 10de\n")])
def test_without_lspci_the_bus_itself_is_read_and_no_name_invented(
    tmp_path: Path, lspci: Completed | None
) -> None:
    programs = {} if lspci is None else {"lspci": lspci}
    files = {**SYSFS, "/usr/share/misc/pci.ids": recorded.PCI_IDS}
    found = hardware.pci(machine(tmp_path, files, programs))
    assert found["lspci_gpus"] == [
        "NVIDIA Corporation GH100 [H200 SXM 141GB]",
        "NVIDIA Corporation Device 3182",
    ]


def test_without_a_list_of_names_the_numbers_stand(tmp_path: Path) -> None:
    found = hardware.pci(machine(tmp_path, SYSFS))
    assert found["lspci_gpus"][0] == "NVIDIA Corporation Device 2335"


def test_no_gpu_and_no_bus_are_two_things(tmp_path: Path) -> None:
    none = hardware.pci(machine(tmp_path / "a", {}, {"lspci": written("")}))
    assert none["lspci_gpus"] == []
    assert hardware.pci(machine(tmp_path / "b")) == {}


def test_device_files_that_are_missing_are_named(tmp_path: Path) -> None:
    files = {"/dev/nvidiactl": "", "/dev/nvidia0": "", "/dev/null": "", "/dev/nvidia-nvswitch0": ""}
    found = hardware.device_nodes(machine(tmp_path, files))["files"]
    assert found == {
        "/dev/nvidia0": {"exists": True, "accessible": True},
        "/dev/nvidiactl": {"exists": True, "accessible": True},
        "/dev/nvidia-nvswitch0": {"exists": True, "accessible": True},
        "/dev/nvidia-uvm": {"exists": False},
        "/dev/dxg": {"exists": False},
    }


# --- privileges and places -------------------------------------------------------------------


def status(uid: int, mask: int) -> str:
    return f"Name:\tpython\nUid:\t1000\t{uid}\t{uid}\t{uid}\nCapEff:\t{mask:016x}\n"


def test_user_and_capabilities(tmp_path: Path) -> None:
    files = {
        "/proc/self/status": status(1001, 1 << 21 | 1 << 38),
        "/proc/self/uid_map": "         0          0 4294967295\n",
    }
    assert privileges.privileges(machine(tmp_path, files))["process"] == {
        "euid": 1001,
        "capabilities": ["CAP_SYS_ADMIN", "CAP_PERFMON"],
        "user_namespace": False,
    }


def test_root_of_a_user_namespace_is_told_apart(tmp_path: Path) -> None:
    files = {"/proc/self/status": status(0, 2**41 - 1), "/proc/self/uid_map": "0 1000 1\n"}
    found = privileges.privileges(machine(tmp_path, files))["process"]
    assert found["user_namespace"] is True
    assert len(found["capabilities"]) == 41


def test_privileges_are_unknown_without_proc(tmp_path: Path) -> None:
    assert privileges.privileges(machine(tmp_path)) == {"process": {}}


LOCK = "/tmp/nsight-compute-lock"  # noqa: S108


def places(here: Machine) -> dict[str, Any]:
    found: dict[str, Any] = privileges.writable_places(here)["files"]
    return found


def test_places_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "home/alice").mkdir(parents=True)
    here = machine(tmp_path, {LOCK: "kept"}, environ={"HOME": "/home/alice"})
    found = places(here)
    assert found["HOME"]["path"] == "/home/alice"
    assert found["HOME"]["writable"] is True
    assert found["HOME"]["free_bytes"] > 0
    assert found["TMPDIR"]["writable"] is True
    owner = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
    assert found[LOCK] == {"exists": True, "owner": owner, "writable": True}
    assert (tmp_path / "tmp/nsight-compute-lock").read_text() == "kept"


def test_places_that_are_not_there(tmp_path: Path) -> None:
    found = places(machine(tmp_path, environ={"TMPDIR": "/scratch/"}))
    assert found["HOME"] == {"path": None, "exists": False, "writable": False}
    assert found["TMPDIR"] == {"path": "/scratch/", "exists": False, "writable": False}
    assert found["/scratch/nsight-compute-lock"] == {"exists": False}
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "socket"])
def test_a_lock_that_is_no_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    lock = tmp_path / "tmp/nsight-compute-lock"
    lock.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(lock)
    elif kind == "link":
        lock.symlink_to("/etc/passwd")
    elif kind == "folder":
        lock.mkdir()
    else:
        _bind(lock)
    found = places(machine(tmp_path))[LOCK]
    assert found["writable"] is False
    assert found["error"] == "not a regular file"


def _bind(path: Path) -> None:
    # A socket's path is short by law: bound from within its folder.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(before)


def test_a_lock_that_cannot_be_opened_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine(tmp_path, {LOCK: ""})
    opened = os.open

    def refuse(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        assert not flags & (os.O_CREAT | os.O_TRUNC)
        if str(path).endswith("nsight-compute-lock"):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    found = places(here)[LOCK]
    assert found["writable"] is False
    assert found["error"] == "Permission denied"


@pytest.mark.parametrize(
    ("level", "mode", "protected"),
    [("2", 0o1777, True), ("1", 0o1777, True), ("2", 0o1770, True), ("1", 0o1770, False),
     ("0", 0o1777, False), ("2", 0o777, False), ("2", 0o1700, False)],
)  # fmt: skip
def test_the_kernel_keeps_even_root_from_anothers_file_in_tmp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, mode: int, protected: bool
) -> None:
    here = machine(tmp_path, {LOCK: "", "/proc/sys/fs/protected_regular": f"{level}\n"})
    folder = tmp_path / "tmp"
    folder.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)  # somebody else than the file's owner
    found = privileges._protected(here, _owned(7), _owned(8, stat.S_IFDIR | mode))
    assert found is protected
    mine = privileges._protected(here, _owned(4242), _owned(8, stat.S_IFDIR | mode))
    assert mine is False


def _owned(uid: int, mode: int = stat.S_IFREG | 0o666) -> os.stat_result:
    return os.stat_result((mode, 0, 0, 1, uid, uid, 0, 0, 0, 0))


# --- services --------------------------------------------------------------------------------


def process(number: int, name: str, parent: int = 1) -> dict[str, str]:
    return {
        f"/proc/{number}/comm": f"{name}\n",
        f"/proc/{number}/stat": f"{number} ({name}) S {parent} {number} 0\n",
    }


HOST = process(2, "kthreadd", 0)


def states(here: Machine) -> dict[str, str | None]:
    found: dict[str, str | None] = services.services(here)["services"]
    return found


def test_programs_that_share_the_gpu_are_found_by_name(tmp_path: Path) -> None:
    files = {
        **HOST,
        **process(10, "nv-hostengine"),
        **process(11, "nv-fabricmanage"),
        **process(12, "nvidia-cuda-mps"),
        **process(13, "nsys"),
        **process(14, "bash"),
    }
    found = states(machine(tmp_path, files))
    assert {name for name, state in found.items() if state == "running"} == {
        "nv-hostengine", "nvidia-fabricmanager", "mps", "nsys",
    }  # fmt: skip
    assert found["dcgm-exporter"] is None


def test_what_a_container_does_not_see_is_unknown(tmp_path: Path) -> None:
    found = states(machine(tmp_path, {**process(1, "bash", 0), **process(7, "ncu")}))
    assert found == {"ncu": "running"}


def test_the_audits_own_programs_do_not_count(tmp_path: Path) -> None:
    own = os.getpid()
    files = {
        **HOST,
        **process(own, "python", 1),
        **process(999_001, "sh", own),
        **process(999_002, "ncu", 999_001),
        **process(999_003, "nsys (a) b", 1),
    }
    assert states(machine(tmp_path, files))["ncu"] is None


@pytest.mark.parametrize(
    ("program", "state"),
    [
        ("/usr/bin/python3.12", None),
        (
            "/opt/nvidia/nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/ncu",
            "running",
        ),
    ],
)
def test_another_program_called_ncu_does_not_count(
    tmp_path: Path, program: str, state: str | None
) -> None:
    here = machine(tmp_path, {**HOST, **process(7, "ncu"), **process(8, "nsys")})
    (tmp_path / "proc/7/exe").symlink_to(program)
    found = services.services(here)
    assert found["services"]["ncu"] == state
    ours = [{"name": "ncu", "pid": 7}] if state else []
    assert found["profilers"] == [*ours, {"name": "nsys", "pid": 8}]


def test_units_are_asked_where_systemd_runs(tmp_path: Path) -> None:
    answer = {"systemctl show": written(recorded.SYSTEMCTL)}
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    found = states(machine(tmp_path, HOST, answer))
    assert found["nvidia-fabricmanager"] == "failed"
    assert found["nvidia-persistenced"] == "running"
    assert found["nv-hostengine"] == "inactive"
    assert found["dcgm-exporter"] is None


def test_units_are_not_asked_elsewhere(tmp_path: Path) -> None:
    here = machine(tmp_path, HOST, {"systemctl": written(recorded.SYSTEMCTL)})
    assert states(here)["nvidia-fabricmanager"] is None


@pytest.mark.parametrize("answer", [HUNG, written(status=1, stderr="no bus"), written("=\n\n=x")])
def test_a_systemctl_that_fails_says_nothing(tmp_path: Path, answer: Completed) -> None:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert set(states(machine(tmp_path, HOST, {"systemctl": answer})).values()) == {None}


# --- surroundings ----------------------------------------------------------------------------


def test_variables_that_matter_are_taken_and_no_secret() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "",
        "LD_LIBRARY_PATH": "/x",
        "NCCL_DEBUG": "INFO",
        "NVIDIA_API_KEY": "nvapi-1",
        "AWS_SECRET_ACCESS_KEY": "s",
        "USER": "alice",
        "EDITOR": "vi",
    }
    assert surroundings.environment(Machine(environ=environ)) == {
        "env": {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/x", "NCCL_DEBUG": "INFO"}
    }


def test_a_container_with_a_gpu_and_one_without(tmp_path: Path) -> None:
    environ = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla", "NVIDIA_VISIBLE_DEVICES": "all"}
    without = machine(tmp_path, {"/.dockerenv": ""}, environ=environ)
    assert surroundings.container_runtime(without)["container_runtime"] == {
        "nvidia": False,
        "gpus_flag": False,
        "requires": "cuda>=12.8 brand=tesla",
        "visible_devices": "all",
        "driver_capabilities": None,
    }
    mounts = "1 2 0:1 /usr/bin/nvidia-smi /usr/bin/nvidia-smi ro - ext4 /dev/sda1 ro\n"
    lost = machine(tmp_path, {"/proc/self/mountinfo": mounts})
    assert surroundings.container_runtime(lost)["container_runtime"]["nvidia"] is True
    given = machine(tmp_path, {"/dev/nvidiactl": ""})
    assert surroundings.container_runtime(given)["container_runtime"]["gpus_flag"] is True


def test_a_host_says_which_container_tools_it_has(tmp_path: Path) -> None:
    here = machine(tmp_path, {"/usr/bin/nvidia-ctk": ""}, environ={"PATH": "/usr/bin"})
    (tmp_path / "usr/bin/nvidia-ctk").chmod(0o755)
    assert surroundings.container_runtime(here) == {
        "container_runtime": {"tools": ["/usr/bin/nvidia-ctk"]}
    }


# --- all of them -----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, HUNG, written("\0\xff{}[]\n" * 99, status=0)])
@pytest.mark.parametrize("probe", SYSTEM, ids=lambda probe: probe.__name__)
def test_no_probe_fails_on_an_empty_machine_or_on_nonsense(
    tmp_path: Path, probe: Any, answer: Completed | None
) -> None:
    programs = {} if answer is None else {"": answer}
    found = probe(machine(tmp_path, {"/proc/version": "\0", RELEASE: "\xff"}, programs))
    assert isinstance(found, dict)
    json.dumps(found)


def test_this_machine_answers_at_once() -> None:
    here = Machine()
    start = time.monotonic()
    for probe in SYSTEM:
        json.dumps(probe(here))
    assert time.monotonic() - start < sum(SYSTEM.values())


def test_no_probe_may_take_longer_than_a_minute() -> None:
    assert all(0 < limit_s < 60 for limit_s in SYSTEM.values())
