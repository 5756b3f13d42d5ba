"""Commands are exact for the machine, and hold nothing unquoted from a snapshot."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from kprof.audit import packages, remedies
from kprof.audit.facts import Facts
from tests.audit.snapshots import RTX_4090, driver, gpu, machine


def on(distro: str | None, **parts: Any) -> Facts:
    system = {} if distro is None else {"distro": distro}
    return Facts({**parts, "os": {"container": None, **system, **parts.get("os", {})}})


@pytest.mark.parametrize(
    ("distro", "flavor", "commands"),
    [
        ("ubuntu 24.04", "open", ["sudo apt-get install -y nvidia-driver-580-open"]),
        ("ubuntu 22.04", "proprietary", ["sudo apt-get install -y nvidia-driver-580"]),
        ("debian 13", "open", ["sudo apt-get install -y nvidia-open"]),
        ("debian 12", "proprietary", ["sudo apt-get install -y cuda-drivers"]),
        ("rocky 9.4", "open", ["sudo dnf module enable -y nvidia-driver:580-open"]),
        ("almalinux 8.10", "proprietary", ["sudo dnf module enable -y nvidia-driver:580-dkms"]),
        ("rhel 10.0", "open", ["sudo dnf versionlock add '*nvidia*580*'"]),
        ("fedora 42", "open", ["sudo dnf install -y nvidia-open"]),
        ("arch", "open", ["sudo pacman -Syu nvidia-open"]),
        ("arch", "proprietary", ["yay -S nvidia-580xx-dkms nvidia-580xx-utils"]),
        (None, "open", ["--branch 580 --module-flavor open"]),
        ("some new system", "proprietary", ["--branch 580 --module-flavor closed"]),
    ],
)
def test_each_distribution_installs_a_driver_its_own_way(
    distro: str | None, flavor: remedies.Flavor, commands: list[str]
) -> None:
    remedy = remedies.install_driver(on(distro), 580, flavor=flavor)
    assert all(any(part in one for one in remedy.commands) for part in commands), remedy.commands
    assert remedy.commands[-1] == "sudo reboot"
    assert remedy.who == "root"


@pytest.mark.parametrize("distro", ["truenas scale 25.10", "unraid 7", "nixos 25.05"])
def test_an_appliance_gets_advice_instead_of_commands(distro: str) -> None:
    remedy = remedies.install_driver(on(distro), 580, flavor="proprietary")
    assert remedy.commands == ()
    assert "580" in remedy.text


def test_the_flavour_follows_the_gpus() -> None:
    pascal = on("ubuntu 24.04", lspci_gpus=["NVIDIA Corporation GP104 [GeForce GTX 1080]"])
    blackwell = on("ubuntu 24.04", lspci_gpus=["NVIDIA Corporation GB202 [GeForce RTX 5090]"])
    assert remedies.fitting_flavor(pascal) == "proprietary"
    assert remedies.fitting_flavor(blackwell) == "open"
    assert "nvidia-driver-580" in remedies.fitting_driver(pascal).commands[1]
    assert "open" not in remedies.fitting_driver(pascal).commands[1]


def test_a_gpu_is_not_sent_past_its_last_branch() -> None:
    kepler = on("ubuntu 22.04", lspci_gpus=["NVIDIA Corporation GK110BGL [Tesla K40m]"])
    assert remedies.fitting_driver(kepler).commands[1].endswith("nvidia-driver-470")


def test_a_container_gets_a_letter() -> None:
    facts = Facts(machine(os={"container": "docker"}, gpus=[RTX_4090]))
    remedy = remedies.install_driver(facts, 580, because="torch 2.11.0+cu130 needs it.")
    assert remedy.who == "host"
    assert "R580" in remedy.text
    assert "torch 2.11.0+cu130 needs it." in remedy.text
    assert remedy.commands


def test_wsl_is_sent_to_windows() -> None:
    remedy = remedies.install_driver(Facts(machine(os={"wsl": 2})), 580)
    assert (remedy.who, remedy.commands) == ("windows", ("wsl --shutdown",))


def test_a_jetson_is_sent_to_jetpack() -> None:
    facts = Facts(machine(os={"jetson": "JetPack 6.2"}, gpus=[gpu("Orin", "8.7")]))
    assert "nvidia-jetpack" in remedies.install_driver(facts, 580).commands[-1]


@pytest.mark.parametrize(
    ("distro", "command"),
    [
        ("ubuntu 24.04", "sudo update-initramfs -u"),
        ("debian 12", "sudo update-initramfs -u"),
        ("rocky 9.4", "sudo dracut --regenerate-all -f"),
        ("opensuse-leap 15.6", "sudo dracut --regenerate-all -f"),
        ("arch", "sudo mkinitcpio -P"),
        (None, "sudo update-initramfs -u || sudo dracut --regenerate-all -f"),
    ],
)
def test_a_module_option_survives_the_restart(distro: str | None, command: str) -> None:
    option = "nvidia NVreg_RestrictProfilingToAdminUsers=0"
    assert remedies.module_option(on(distro), option) == (
        f"echo 'options {option}' | sudo tee /etc/modprobe.d/kprof-nvidia.conf",
        command,
        "sudo reboot",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/opt/my env/bin/python", "/tmp/$(reboot)/python", "/tmp/a;reboot", "/tmp/`id`",  # noqa: S108
        "/tmp/it's", "~/venv/bin/python", "~/a;reboot",  # noqa: S108
    ],
)  # fmt: skip
def test_a_path_is_one_word_of_the_command(path: str) -> None:
    assert shlex.split(remedies.quoted(path)) == [path]


@pytest.mark.parametrize("path", ["", "--help", "; reboot", "/a\nreboot", "/a\x1b[2J", "/" * 5000])
def test_what_is_no_path_is_left_out(path: str) -> None:
    assert remedies.quoted(path, "python3") == "python3"


def test_the_home_directory_stays_one() -> None:
    assert remedies.quoted("~/my env/python") == "~/'my env/python'"


@pytest.mark.parametrize("distro", ["$(reboot)", "ubuntu; reboot", "debian 12; reboot", "\n" * 99])
def test_a_distributions_name_never_reaches_a_command(distro: str) -> None:
    facts = on(distro)
    commands = (
        *remedies.install_driver(facts, 580).commands,
        *remedies.module_option(facts, "nvidia_uvm uvm_disable_hmm=1"),
        *packages.rebuild_module(distro),
        *packages.fabricmanager(distro, 580, distro),
        *packages.compute_libraries(distro, 580),
    )
    assert not any("; reboot" in one or "$(reboot)" in one for one in commands)


def test_a_family_is_a_whole_word() -> None:
    assert packages.family("ol 9.4") == "rhel"
    assert packages.family("olympus 1") is None
    assert packages.family("Ubuntu 22.04") == "ubuntu"
    assert packages.family("truenas scale 25.10") == "appliance"


def test_a_driver_to_install_names_the_running_one_nowhere() -> None:
    facts = Facts(machine(driver=driver("535.183.01"), gpus=[RTX_4090]))
    assert not any("535" in one for one in remedies.install_driver(facts, 580).commands)


def test_a_distribution_that_is_not_known_goes_by_the_one_it_is_like() -> None:
    facts = on("frobnix 12", os={"distro": "frobnix 12", "distro_like": "something debian"})
    assert packages.host_distro(facts) == "debian 12"


def test_a_containers_distribution_says_nothing_about_the_host() -> None:
    facts = Facts(machine(os={"container": "docker", "distro": "ubuntu 24.04"}))
    assert packages.host_distro(facts) is None


def test_a_gpu_past_its_last_driver_is_told_so() -> None:
    kepler = on("ubuntu 22.04", gpus=[gpu("Tesla K80", "3.7")])
    assert remedies.install_driver(kepler, 580, least=450).commands[1].endswith("nvidia-driver-470")
    hopeless = remedies.install_driver(kepler, 580, least=525)
    assert hopeless.commands == ()
    assert "R470 is the last driver for this GPU" in hopeless.text


def test_the_fabric_manager_is_of_the_drivers_version() -> None:
    assert packages.fabricmanager("ubuntu 22.04", 535, "535.183.01")[0] == (
        "sudo apt-get install -y 'nvidia-fabricmanager-535=535.183.01*'"
    )
    assert packages.fabricmanager("rocky 9", 535, "535.183.01")[0] == (
        "sudo dnf install -y 'nvidia-fabricmanager-535.183.01*'"
    )
