"""Commands that a machine has: its repository, its user's rights, what is installed already."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import remedies, repository, shell
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import H100, RTX_4090, driver, gpu, judged, machine


@pytest.mark.parametrize(
    ("distro", "arch", "holds"),
    [
        ("ubuntu 24.04", "x86_64", "/ubuntu2404/x86_64/cuda-keyring"),
        ("pop 22.04", None, "/ubuntu2204/x86_64/cuda-keyring"),
        ("ubuntu 22.04", "aarch64", "/ubuntu2204/sbsa/cuda-keyring"),
        ("debian 12", "x86_64", "/debian12/x86_64/cuda-keyring"),
        ("rocky 9.4", "x86_64", "/rhel9/x86_64/cuda-rhel9.repo"),
        ("rhel 10.0", "x86_64", "/rhel10/x86_64/cuda-rhel10.repo"),
        ("amzn 2023", "x86_64", "/amzn2023/x86_64/cuda-amzn2023.repo"),
        ("fedora 42", "x86_64", "addrepo --from-repofile="),
        ("opensuse-leap 15.6", "x86_64", "/opensuse15/x86_64/"),
        ("sles 15.6", "aarch64", "/sles15/sbsa/"),
    ],
)
def test_each_system_has_its_repository(distro: str, arch: str | None, holds: str) -> None:
    assert holds in " ".join(repository.add(distro, arch))


@pytest.mark.parametrize("distro", [None, "arch", "linuxmint 21.3", "void", "ubuntu 24.10; reboot"])
def test_where_there_is_none_nothing_is_added(distro: str | None) -> None:
    assert repository.add(distro, "x86_64") == ()


@pytest.mark.parametrize("distro", ["debian 12", "rocky 9.4", "fedora 42", "opensuse-leap 15.6"])
def test_a_driver_from_nvidias_repository_brings_it_first(distro: str) -> None:
    facts = Facts(machine(os={"distro": distro}, gpus=[RTX_4090]))
    commands = remedies.install_driver(facts, 580).commands
    assert repository.add(distro) == commands[: len(repository.add(distro))]


def test_the_helper_is_not_taken_for_granted() -> None:
    known = remedies.install_driver(Facts(machine(os={"distro": "void"}, gpus=[RTX_4090])), 580)
    assert "nvidia-driver-assistant" in known.commands[0]
    assert repository.GUIDE in known.text
    suse = Facts(machine(os={"distro": "opensuse-leap 15.6"}, gpus=[RTX_4090]))
    assert "sudo zypper install -y nvidia-driver-assistant" in (
        remedies.install_driver(suse, 580).commands
    )


UNKNOWN_GPU = machine(driver={"version": "550.144.03"})


def test_without_a_known_gpu_both_flavours_are_told_apart() -> None:
    remedy = remedies.install_driver(Facts(UNKNOWN_GPU), 580)
    assert "Turing or later" in remedy.text
    assert "sudo apt-get install -y nvidia-driver-580-open" in remedy.commands
    (older,) = remedy.alternatives
    assert "before Turing" in older.text
    assert "sudo apt-get install -y nvidia-driver-580" in older.commands


@pytest.mark.parametrize(
    ("flavor", "package"),
    [("open", "nvidia-driver-580-open"), ("proprietary", "nvidia-driver-580")],
)
def test_without_a_known_gpu_the_loaded_flavour_stays(flavor: str, package: str) -> None:
    facts = {**UNKNOWN_GPU, "driver": {"version": "550.144.03", "module_flavor": flavor}}
    remedy = remedies.install_driver(Facts(facts), 580)
    assert f"sudo apt-get install -y {package}" in remedy.commands
    assert remedy.alternatives == ()


REMEDY = Remedy(
    'Or once: sudo -E env "PATH=$PATH" kprof profile TARGET',
    ("echo x | sudo tee /etc/x", "sudo reboot", "nvidia-smi"),
    "root",
    (Remedy("Or so.", ("sudo dkms autoinstall",), "root"),),
)


@pytest.mark.parametrize(("user", "is_root"), [(0, True), (1000, False), (None, False)])
def test_root_needs_no_sudo(user: int | None, is_root: bool) -> None:
    facts = Facts(machine(**({} if user is None else {"process": {"euid": user}})))
    found = shell.fitted(facts, REMEDY)
    if not is_root:
        assert found is REMEDY
        return
    assert found.text == "Or once: kprof profile TARGET"
    assert found.commands == ("echo x | tee /etc/x", "reboot", "nvidia-smi")
    assert found.alternatives[0].commands == ("dkms autoinstall",)


def test_on_the_host_root_of_a_container_is_nobody() -> None:
    letter = Remedy("Please.", ("sudo reboot",), "host")
    assert shell.fitted(Facts(machine(process={"euid": 0})), letter).commands == ("sudo reboot",)


def test_a_check_gives_root_commands_without_sudo() -> None:
    facts = machine(gpus=[RTX_4090], driver=driver("580.95.05"), ncu={"path": None},
                    process={"euid": 0, "capabilities": []})  # fmt: skip
    remedy = judged("ncu.missing", facts).remedy
    assert remedy is not None
    assert remedy.commands[-1].startswith("apt-get install")


def waiting(state: str | None, **system: Any) -> Remedy:
    facts = machine(
        os=system, gpus=[{**H100}] * 8, driver=driver("535.183.01"),
        services={"nvidia-fabricmanager": state}, log="CUDA error: system not yet initialized",
    )  # fmt: skip
    remedy = judged("system.fabricmanager", facts).remedy
    assert remedy is not None
    return remedy


@pytest.mark.parametrize("state", ["inactive", "failed", "dead"])
@pytest.mark.parametrize("distro", ["ubuntu 22.04", None])
def test_a_service_that_is_installed_is_started(state: str, distro: str | None) -> None:
    remedy = waiting(state, distro=distro)
    assert remedy.commands[0] == "sudo systemctl enable --now nvidia-fabricmanager"
    (install,) = remedy.alternatives
    assert any("apt-get" in one for one in install.commands) is (distro is not None)


def test_a_service_that_is_not_there_is_installed() -> None:
    assert "nvidia-fabricmanager-535=535.183.01" in waiting(None).commands[0]


def test_an_unknown_gpu_in_a_container_gets_two_letters() -> None:
    facts = Facts(machine(os={"container": "docker"}, driver={"version": "550.144.03"}))
    remedy = remedies.install_driver(facts, 580)
    assert [one.who for one in (remedy, *remedy.alternatives)] == ["host", "host"]
    known = remedies.install_driver(Facts(machine(gpus=[gpu("Tesla V100-SXM2-32GB", "7.0")])), 580)
    assert "nvidia-driver-580" in known.commands[1]
