"""A saved snapshot tells nobody's name, place or secret, and the audit still reads it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import Facts, audit
from kprof.audit.probes import run
from kprof.audit.redact import redact
from tests.audit import recorded
from tests.audit.recorded import machine, written

ENVIRON = {
    "HOME": "/home/alice",
    "USER": "alice",
    "HOSTNAME": "gpu07.hpc.example.edu",
    "PATH": "/home/alice/bin:/usr/local/cuda/bin:/usr/bin:/mnt/c/Users/John Smith/AppData/Local",
    "LD_LIBRARY_PATH": "/home/alice/cuda/lib64:/scratch/alice/lib:/home/bob/lib",
    "CUDA_VISIBLE_DEVICES": recorded.UUID[:12],
    "TMPDIR": "/home/alice/tmp",
    "NVIDIA_API_KEY": "nvapi-" + "x" * 24,
    "NVIDIA_VISIBLE_DEVICES": ",".join(recorded.MIG_UUIDS),
    "NCCL_CREDENTIAL": "wonderland",
    "TRITON_CACHE_DIR": "/gpfs/home/alice/.triton",
    "CUDA_NOTE": "aB3dE5gH7jK9mN1pQ3sT5vW7x",
    "TORCH_NOTE": "0123456789abcdef" * 2,
}
SERIAL = "1653623007437"
DMESG = f"""\
[    1.0] NVRM: loading (dvs-builder@U22-I3-B17-02-5)
[    2.0] NVRM: gpu07 alias gpu07.hpc.example.edu serial number: {SERIAL}, {recorded.UUID}
[    3.0] nvidia: MAC aa:bb:cc:dd:ee:ff, see http://10.20.30.40:8080/x and https://u:pw123@n.example/x
[    4.0] nvidia: started for alice by bob's /home/bob/run.sh, token=hunter22
"""
HIDDEN = (
    "alice", "bob", "john", "smith", "gpu07", "example.edu", "dvs-builder", SERIAL,
    "aa:bb:cc", "10.20.30.40", "pw123", "hunter22", "nvapi-", "wonderland", "aB3dE5",
    "0123456789abcdef0", recorded.UUID[4:12], recorded.MIG_UUIDS[0][4:12],
    recorded.MIG_UUIDS[1][4:12],
)  # fmt: skip


def facts(tmp_path: Path) -> dict[str, Any]:
    """Return what all the probes see of a machine full of names."""
    instances = [{"uuid": one} for one in recorded.MIG_UUIDS]
    gpu = {"name": "NVIDIA H200", "uuid": recorded.UUID, "mig_devices": instances}
    programs = {
        "dmesg": written(DMESG),
        "nvml_child.py": written(json.dumps({"gpus": [gpu]})),
        "nvidia-smi": written(recorded.SMI_H200),
    }
    files = {
        "/home/alice/tmp/nsight-compute-lock": "",
        "/proc/version": "Linux version 6.8.0 (alice@gpu07) #1 SMP\n",
        "/proc/sys/kernel/osrelease": "6.8.0-alice\n",
    }
    snapshot = run.probe(machine(tmp_path, files, programs, ENVIRON))
    found: dict[str, Any] = snapshot["facts"]
    found["torch"] = {"import_error": 'File "/home/alice/v/x.py": cannot open /home/bob/y.so'}
    found["other_pythons"] = [{"executable": "/home/alice/v/bin/python", "torch": "2.9.1+cu130"}]
    return found


def test_nothing_of_the_whole_saved_file_tells_who_or_where(tmp_path: Path) -> None:
    seen = facts(tmp_path)
    before = run.dump({"facts": seen}).lower()
    assert [word for word in HIDDEN if word.lower() not in before] == ["nvapi-", "wonderland"]
    after = run.dump({"facts": redact(seen, ENVIRON, "gpu07.hpc.example.edu")}).lower()
    assert [word for word in HIDDEN if word.lower() in after] == []
    known = "00000000-0000-0000-0000-"
    uuids = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", after)
    assert uuids
    assert all(one.startswith(known) for one in uuids)


def test_paths_stay_usable_and_equal_things_stay_equal(tmp_path: Path) -> None:
    found = redact(facts(tmp_path), ENVIRON, "gpu07")
    env, [gpu] = found["env"], found["gpus"]
    assert env["PATH"].startswith("~/bin:/usr/local/cuda/bin:/usr/bin:/mnt/c/Users/user")
    assert env["PATH"].endswith("/AppData/Local")
    assert env["LD_LIBRARY_PATH"].startswith("~/cuda/lib64:/scratch/user/lib:/home/user")
    assert env["TRITON_CACHE_DIR"] == "/gpfs/home/user/.triton"
    assert env["CUDA_VISIBLE_DEVICES"] == gpu["uuid"]
    assert env["NVIDIA_VISIBLE_DEVICES"].split(",") == [one["uuid"] for one in gpu["mig_devices"]]
    assert gpu["uuid"] != gpu["mig_devices"][0]["uuid"]
    assert found["files"]["~/tmp/nsight-compute-lock"]["exists"] is True
    assert found["files"]["HOME"]["path"] == "~"
    assert found["other_pythons"][0]["executable"] == "~/v/bin/python"
    assert "/home/bob" not in found["torch"]["import_error"]


def test_what_the_audit_reads_stays_as_it_is(tmp_path: Path) -> None:
    found = redact(facts(tmp_path), ENVIRON, "gpu07")
    assert found["gpus"][0]["name"] == "NVIDIA H200"
    assert "Driver Version: 580.159.04     CUDA Version: 13.0" in found["driver"]["nvidia_smi_text"]
    assert found["env"]["PATH"].count(":") == ENVIRON["PATH"].count(":")


def test_it_may_be_done_twice(tmp_path: Path) -> None:
    once = redact(facts(tmp_path), ENVIRON, "gpu07")
    assert redact(once, ENVIRON, "gpu07") == once


def redacted(text: str, **environ: str) -> str:
    found: str = redact({"log": text}, {"USER": "alice", "HOST": "gpubox17", **environ}, "gpu07")[
        "log"
    ]
    return found


def test_a_uuid_is_the_same_with_and_without_dashes() -> None:
    digits = recorded.UUID.removeprefix("GPU-").replace("-", "")
    found = redact({"gpus": [{"uuid": recorded.UUID}], "log": f"GPU-{digits}"}, {}, "h")
    assert found["log"] == found["gpus"][0]["uuid"]


def test_facts_that_are_called_secret_or_serial_go_whatever_they_hold() -> None:
    seen = {"gpus": [{"gpu_serial": 1653623007437, "serial": "ab", "hub_token": "x", "n": 1}]}
    assert redact(seen, {}, "h")["gpus"] == [
        {"gpu_serial": "(serial number)", "serial": "(serial number)", "hub_token": "(secret)",
         "n": 1}
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "undefined symbol: _ZN3c104cuda9SetDeviceEiAndMuchMore42Mixed7Cases",
        "memcpy@GLIBC_2.14 and version `GLIBC_2.34' not found (required by libcuda.so.1)",
        "/nix/store/2058cxcbwp1l5kr53kzpvsxysg07f1nn-nvidia-x11-595.80/lib/libcuda.so.595.80",
        "/opt/spack/modules/gcc@12.3.0/cuda@12.4.0",
        "libcublas.so.12.4.5.8 and cuDNN 9.8.0.87, driver 32.0.15.6636",
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
        "CUDA error: no kernel image (error 209) at /usr/lib/x86_64-linux-gnu/x.so:128",
        "malice aforethought; alicetest.py; gpu070",
        "~/venv/lib and /usr/local/home-made",
        "cuRAND 10.3.9.90, TensorRT 10.3.0.26, cuFFT 11.3.3.83: nvidia-curand-cu12 10.3.9.90",
        "nvidia-cublas-cu12==12.8.4.1 tokenizers==0.19.1, max_tokens=512, a key: value, KeyError: 'x'",
        "c10::cuda::abc at 12:34:56, PCI 0000:01:00.0, NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>'",
        "at::native::add, std::dec, ::1, 127.0.0.1, 0.0.0.0:80, cafe::main",
        "/root/hub/snapshots/0123456789abcdef0123456789abcdef01234567/x.so",
        "driver 580.95.05, KMD Version 610.12.01.00; serial device, SN: none",
    ],
)
def test_texts_without_names_are_not_touched(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see /home/alice", "see ~"),
        ("-L/home/alice/lib", "-L/home/user/lib"),
        ("/home/alice2/x", "/home/user2/x"),
        ("/home/bob:/home/eve/x:/home/bob/y", "/home/user2:/home/user3/x:/home/user2/y"),
        ("/home/bob is full", "/home/user2 is full"),
        ("C:\\Users\\bob\\x", "C:\\Users\\user2\\x"),
        ("/scratch/alice_data", "/scratch/user_data"),
        ("gpu07: Xid", "host: Xid"),
        ("mail alice@example.org now", "mail user@host now"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer (secret)"),
        ("password: hunter2, next", "password: (secret), next"),
        ("ghp_" + "a1B2" * 6, "(secret)"),
        ("https://bob:pw@pypi.example/simple", "https://(secret)@pypi.example/simple"),
        ("Serial Number: 0322-618", "Serial Number: (serial number)"),
        ("Alice and ALICE on GPUBOX17", "user and user on host"),
        ("/home/Alice/x", "/home/user/x"),
        ("AWS_SECRET_ACCESS_KEY=wJalrX/UtnFEMI", "AWS_SECRET_ACCESS_KEY=(secret)"),
        ("nvcc -O3 -DSECRET_KEY=hunter2 -DX=1", "nvcc -O3 -DSECRET_KEY=(secret) -DX=1"),
        ("run --token abc --size 3", "run --token (secret) --size 3"),
        ("run --api-key=abc -x", "run --api-key=(secret) -x"),
        ("login --password 'two words' x", "login --password (secret) x"),
        ('{"auth_token": "abc", "n": 1}', '{"auth_token": (secret), "n": 1}'),
        ("key 0123456789abcdef0123456789abcdef01234567.", "key (secret)."),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nx==\n-----END RSA PRIVATE KEY-----\nb",
            "a\n(secret)\nb",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE and no end", "(secret)"),
        ("SN: 1653623007437", "SN: (serial number)"),
        ("S/N 16536-23007", "S/N (serial number)"),
        ("{'serial': '1653623007437'}", "{'serial': '(serial number)'}"),
        ("gpu_serial=1653623007437", "gpu_serial=(serial number)"),
        ("on 192.168.3.7 or 10.20.30.40, 172.16.0.9", "on (address) or (address), (address)"),
        ("MASTER_ADDR=10.1.2.3 host 9.8.7.6", "MASTER_ADDR=(address) host (address)"),
        ("connected to 10.1.2.3; inet 10.1.2.3/24", "connected to (address); inet (address)/24"),
        ("fe80::1a2b:3c4d:5e6f:7a8b%eth0", "(address)%eth0"),
        ("[2001:db8::1]:443 or 2001:0db8:0:0:0:0:0:2", "[(address)]:443 or (address)"),
        ("fec0:0000:0000:0001 aa-bb-cc-dd-ee-ff", "(address) (address)"),
        ("GPU-" + "6d1f9e32" * 4, "GPU-00000000-0000-0000-0000-000000000001"),
        ("id " + "6D1F9E32" * 4, "id 00000000-0000-0000-0000-000000000001"),
    ],
)
def test_names_and_secrets_go(text: str, expected: str) -> None:
    assert redacted(text, HOME="/home/alice") == expected


@pytest.mark.parametrize("name", ["root", "cuda", "usr", "nvidia", "ubuntu", "lib"])
def test_a_name_that_is_an_ordinary_word_breaks_no_path(name: str) -> None:
    text = "/usr/lib/nvidia/cuda on ubuntu 22.04 as root"
    assert redact({"log": text}, {"USER": name, "HOME": "/"}, name)["log"] == text


def test_a_host_called_like_a_gpu_does_not_rename_it() -> None:
    found = redact({"gpus": [{"name": "NVIDIA A100"}], "log": "on A100"}, {}, "A100")
    assert found == {"gpus": [{"name": "NVIDIA A100"}], "log": "on host"}


def test_a_host_called_like_a_fact_does_not_rename_it() -> None:
    assert redact({"driver": {"version": "1"}}, {}, "driver") == {"driver": {"version": "1"}}


# Users of cloud images, and hosts called by what they have or by a word of an error text.
NAMES = (
    "rocky", "arch", "open", "proprietary", "driver", "tesla", "hopper", "ampere", "blackwell", "spark",
    "jetson", "orin", "tegra", "a100", "h200", "rtx4090", "cuda-12.1", "nvidiactl", "build", "compat", "stubs", "error",
    "failed", "object", "file", "symbol", "permission", "mismatch", "blocked", "rejected", "nvml",
    "project", "dgx", "generic", "azure", "secure", "nouveau", "docker", "mig", "gcc", "ptxas",
)  # fmt: skip
SCENARIOS = sorted((Path(__file__).parents[1] / "data" / "doctor").glob("*.json"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem[:12])
def test_no_name_of_a_user_or_host_changes_what_is_found(path: Path) -> None:
    seen = json.loads(path.read_text())["facts"]
    plain = redact(seen, {"USER": "margarethe"}, "gpu07")
    expected = found(plain)
    for name in NAMES:
        shown = redact(seen, {"USER": name}, name)
        assert shown == plain or found(shown) == expected, name


def found(facts: dict[str, Any]) -> list[tuple[object, ...]]:
    results = audit(Facts(facts)).results
    return [
        (one.check.id, one.verdict.status, one.verdict.remedy and one.verdict.remedy.who)
        for one in results
    ]


def test_enumerated_facts_are_never_rewritten() -> None:
    seen = {
        "os": {"distro": "rocky 9.4", "distro_like": "rhel rocky", "container": "rocky"},
        "driver": {"module_flavor": "rocky", "modules_loaded": ["rocky"], "version": "rocky"},
        "services": {"nvidia-persistenced": "rocky"},
        "packages": {"triton": "rocky"},
        "env": {"TORCH_CUDA_ARCH_LIST": "Rocky;Turing", "NVIDIA_DRIVER_CAPABILITIES": "rocky"},
    }
    assert redact(seen, {"USER": "rocky"}, "rocky") == seen


@pytest.mark.parametrize("name", ["rocky", "open", "hopper"])
def test_a_word_of_the_texts_goes_where_a_path_has_it(name: str) -> None:
    text = f"/scratch/{name}/x cannot {name} it: /home/{name}/y"
    assert redact({"log": text}, {"USER": name}, "h")["log"] == (
        f"/scratch/user/x cannot {name} it: /home/user/y"
    )


def test_short_and_numeric_names_are_replaced_in_paths_alone() -> None:
    text = "/data/li/x li 535 /data/535/y"
    assert redact({"log": text}, {"USER": "li"}, "535")["log"] == (
        "/data/user/x li 535 /data/host/y"
    )


def test_home_behind_a_link_is_found(tmp_path: Path) -> None:
    real = tmp_path / "gpfs" / "a"
    real.mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    home = str(tmp_path / "link")
    found = redact({"log": f"{home}/x {real}/y"}, {"HOME": home, "USER": "q"}, "h")
    assert found["log"] == "~/x ~/y"


@pytest.mark.parametrize("home", ["", "/", "relative", "/root"])
def test_an_odd_home_breaks_nothing(home: str) -> None:
    found = redact({"log": "/root/x /usr/root/y a/b"}, {"HOME": home, "USER": "root"}, "h")
    assert found["log"] == ("~/x" if home == "/root" else "/root/x") + " /usr/root/y a/b"


def test_without_variables_the_system_says_the_users_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    entry = pwd.struct_passwd(("carol", "x", 5, 5, "", "/home/carol", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: entry)
    assert redact({"log": "by carol"}, {}, "h") == {"log": "by user"}


@pytest.mark.parametrize("value", [None, True, 1, 2.5, [], {}, [[["x"]]], {"a": {"b": None}}])
def test_other_values_stay(value: Any) -> None:
    assert redact({"x": value}, {}, "h") == {"x": value}


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "-a" * 100_000, "token" * 40_000, "/home/" * 30_000, "a.b@" * 50_000,
     "/home/" + "x " * 100_000, "-token" * 30_000, "a_key_" * 30_000, "--token " * 30_000,
     "-----BEGIN X-----" * 10_000, "a:" * 100_000, "1." * 100_000, "addr " * 40_000, "f" * 200_000,
     "SN:" * 60_000, "token=" * 30_000, "serial " * 20_000, "GPU-" * 50_000],
)  # fmt: skip
def test_long_texts_take_no_time(text: str) -> None:
    start = time.monotonic()
    redact({"log": text}, {"USER": "alice", "HOME": "/home/alice"}, "gpu07")
    assert time.monotonic() - start < 5
