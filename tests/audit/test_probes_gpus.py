"""What NVML, nvidia-smi and libcuda say, and what is left when one of them hangs or crashes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import derive
from kprof.audit.facts import Facts
from kprof.audit.probes import gpus, libcuda_child
from kprof.audit.probes.machine import Machine
from kprof.process import Completed
from tests.audit import recorded
from tests.audit.recorded import HUNG, Programs, machine, written


def test_nvidia_smi_gives_its_table_without_other_peoples_programs(tmp_path: Path) -> None:
    here = machine(tmp_path, {}, {"nvidia-smi": written(recorded.SMI_H200)})
    found = gpus.nvidia_smi(here)["driver"]
    assert "Driver Version: 580.159.04" in found["nvidia_smi_text"]
    assert "NVIDIA H200" in found["nvidia_smi_text"]
    assert "alice" not in found["nvidia_smi_text"]
    assert "nvidia_smi_error" not in found


@pytest.mark.parametrize(
    ("text", "version", "cuda"),
    [
        (recorded.SMI_R470, "470.103.01", "11.4"),
        (recorded.SMI_H200, "580.159.04", "13.0"),
        (recorded.SMI_R610, "610.57.04", "13.3"),
    ],
)
def test_both_headers_are_understood(tmp_path: Path, text: str, version: str, cuda: str) -> None:
    facts = Facts(gpus.nvidia_smi(machine(tmp_path, {}, {"nvidia-smi": written(text)})))
    assert derive.driver_version(facts) == version
    assert derive.reported_cuda(facts) == cuda


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (written(recorded.SMI_MISMATCH, status=18), "Driver/library version mismatch"),
        (written(recorded.SMI_NO_DRIVER, status=9), "couldn't communicate"),
        (written(recorded.SMI_NO_DRIVER), "couldn't communicate"),
        (written("No devices were found\n"), "No devices were found"),
        (written(status=127, stderr="libc.so.6: not found"), "libc.so.6"),
        (written(status=3), "status 3"),
    ],
)
def test_why_nvidia_smi_fails_is_kept(tmp_path: Path, answer: Completed, words: str) -> None:
    found = gpus.nvidia_smi(machine(tmp_path, {}, {"nvidia-smi": answer}))["driver"]
    assert words in found["nvidia_smi_error"]
    assert "nvidia_smi_text" not in found


def test_a_missing_nvidia_smi_and_one_that_hangs(tmp_path: Path) -> None:
    missing = Facts(gpus.nvidia_smi(machine(tmp_path)))
    assert missing.absent("driver.nvidia_smi")
    hung = gpus.nvidia_smi(machine(tmp_path, {}, {"nvidia-smi": HUNG}))
    assert hung["errors"]["nvidia_smi"] == "no answer in time"
    assert "nvidia_smi_error" not in hung["driver"]


def test_the_query_is_read(tmp_path: Path) -> None:
    here = machine(tmp_path, {}, {"nvidia-smi": written(recorded.QUERY_RTX4090)})
    assert gpus.query_gpus(here) == {
        "gpus": [
            {
                "name": "NVIDIA GeForce RTX 4090",
                "uuid": recorded.UUID,
                "compute_capability": "8.9",
                "compute_mode": "default",
                "memory_bytes": 24564 * 2**20,
            }
        ],
        "driver": {"version": "550.54.14"},
    }


def test_an_old_nvidia_smi_without_capability_is_asked_again(tmp_path: Path) -> None:
    here = Machine(tmp_path, {}, "/usr/bin/python3", _OldSmi())
    [gpu] = gpus.query_gpus(here)["gpus"]
    assert gpu["mig"] == "enabled"
    assert gpu["compute_mode"] == "exclusive_process"
    assert "compute_capability" not in gpu


class _OldSmi(Programs):
    def __init__(self) -> None:
        super().__init__({"nvidia-smi": written(recorded.QUERY_A100_MIG)})

    def __call__(self, argv: Any, environ: Any, timeout_s: float) -> Completed | None:
        if "compute_cap" in argv[1]:
            return written('Field "compute_cap" is not a valid field to query.\n', status=2)
        return super().__call__(argv, environ, timeout_s)


@pytest.mark.parametrize("text", ["", "garbage\n", "No devices were found\n", "a, b\n"])
def test_a_query_without_rows_gives_no_facts(tmp_path: Path, text: str) -> None:
    assert gpus.query_gpus(machine(tmp_path, {}, {"nvidia-smi": written(text)})) == {}


H200 = {
    "driver": {"version": "580.159.04", "cuda_version": "13.0"},
    "gpus": [{"name": "NVIDIA H200", "compute_capability": "9.0", "mig": "disabled"}],
}


def test_what_nvml_says_is_taken(tmp_path: Path) -> None:
    lines = json.dumps({"driver": {}}) + "\n" + json.dumps(H200) + "\n"
    assert gpus.nvml(machine(tmp_path, {}, {"nvml_child.py": written(lines)})) == H200


def test_where_nvml_crashes_nvidia_smi_is_asked_and_nothing_is_lost(tmp_path: Path) -> None:
    crashed = Completed(-signal.SIGSEGV, b'{"driver": {"version": "550.1"}}\n{"driv', b"")
    programs = {"nvml_child.py": crashed, "nvidia-smi": written(recorded.QUERY_RTX4090)}
    found = gpus.nvml(machine(tmp_path, {}, programs))
    assert found["errors"] == {"nvml": "ended by SIGSEGV"}
    assert found["driver"]["version"] == "550.1"
    assert [gpu["name"] for gpu in found["gpus"]] == ["NVIDIA GeForce RTX 4090"]


def test_where_nvml_hangs_nvidia_smi_is_not_tried(tmp_path: Path) -> None:
    late = Completed(-9, b'{"driver": {"version": "550.1"}}\n', b"", timed_out=True)
    programs = {"nvml_child.py": late, "nvidia-smi": written(recorded.QUERY_RTX4090)}
    found = gpus.nvml(machine(tmp_path, {}, programs))
    assert found == {
        "driver": {"version": "550.1"},
        "errors": {"nvml": "no answer in time"},
    }


FAKE_NVML = """
import os, time
class NVMLError(Exception): pass
class NVMLError_NotSupported(NVMLError): pass
class Memory: total = 150754820096
class c_nvmlGpuFabricInfo_t: state = 3
def nvmlInit(): pass
def nvmlSystemGetDriverVersion(): return "580.159.04"
def nvmlSystemGetNVMLVersion(): return "13.580.159.04"
def nvmlSystemGetCudaDriverVersion_v2(): return 13000
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(i): return i
def nvmlDeviceGetName(h): return "NVIDIA H200 MIG 1g.18gb" if isinstance(h, str) else "NVIDIA H200"
def nvmlDeviceGetUUID(h): return f"GPU-{h}"
def nvmlDeviceGetCudaComputeCapability(h): return (9, 0)
def nvmlDeviceGetMemoryInfo(h): return Memory
def nvmlDeviceGetComputeMode(h): return 3
def nvmlDeviceGetComputeRunningProcesses(h): return [1, 2]
def nvmlDeviceGetPersistenceMode(h): raise NVMLError("Not Supported")
def nvmlDeviceGetGpuFabricInfo(h, info): pass
def nvmlDeviceGetMaxMigDeviceCount(h): return 3
def nvmlDeviceGetMigDeviceHandleByIndex(h, i):
    if i: raise NVMLError("Not Found")
    return "instance"
def nvmlDeviceGetMigMode(h):
    if h: raise NVMLError_NotSupported()
    return [1, 1]
"""


def nvml_of(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str) -> dict[str, Any]:
    """Run the real child process on a pynvml made for the test."""
    (folder / "pynvml.py").write_text(FAKE_NVML + more)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    return gpus.nvml(Machine(folder / "root", {"PATH": "/nowhere"}))


def test_the_child_asks_nvml_for_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = nvml_of(tmp_path, monkeypatch, "")
    assert "errors" not in found
    assert found["driver"] == {
        "version": "580.159.04",
        "nvml_version": "13.580.159.04",
        "cuda_version": "13.0",
        "nvml_library": None,
    }
    first, second = found["gpus"]
    assert first == {
        "name": "NVIDIA H200",
        "uuid": "GPU-0",
        "memory_bytes": 150754820096,
        "compute_capability": "9.0",
        "compute_mode": "exclusive_process",
        "processes": 2,
        "fabric": "completed",
        "mig": "enabled",
        "mig_devices": [
            {
                "name": "NVIDIA H200 MIG 1g.18gb",
                "uuid": "GPU-instance",
                "memory_bytes": 150754820096,
            }
        ],
    }
    assert second["mig"] == "disabled"
    assert "persistence" not in second


def test_a_child_that_crashes_keeps_what_it_said_and_leaves_no_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = nvml_of(tmp_path, monkeypatch, "def nvmlDeviceGetCount(): os.abort()\n")
    assert found["errors"] == {"nvml": "ended by SIGABRT"}
    assert found["driver"]["version"] == "580.159.04"
    assert "gpus" not in found
    assert not list(tmp_path.glob("core*"))


def test_a_child_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "NVML_S", 1.0)
    start = time.monotonic()
    found = nvml_of(tmp_path, monkeypatch, "def nvmlDeviceGetCount(): time.sleep(60)\n")
    assert time.monotonic() - start < 20
    assert found["errors"] == {"nvml": "no answer in time"}
    assert found["driver"]["cuda_version"] == "13.0"


def test_a_gpu_that_fell_off_the_bus_makes_no_shorter_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = (
        "def nvmlDeviceGetHandleByIndex(i):\n"
        "    if i: raise NVMLError('GPU is lost')\n    return i\n"
    )
    found = nvml_of(tmp_path, monkeypatch, more)
    assert "gpus" not in found
    assert found["driver"]["nvml_error"] == "GPU is lost"


def test_why_nvml_does_not_start_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = "def nvmlInit(): raise NVMLError('Driver/library version mismatch')\n"
    found = nvml_of(tmp_path, monkeypatch, more)
    assert found["driver"]["nvml_error"] == "Driver/library version mismatch"
    assert "gpus" not in found


def test_no_nvml_for_python_is_an_error_of_the_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    here = machine(tmp_path, {}, {"nvidia-smi": written(recorded.QUERY_RTX4090)})
    found = gpus.nvml(here)
    assert "not installed" in found["errors"]["nvml"]
    assert found["driver"]["version"] == "550.54.14"


def test_libcuda_is_asked_in_the_targets_interpreter_without_injected_libraries(
    tmp_path: Path,
) -> None:
    said = {"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", "init_code": 0}
    environ = {"LD_LIBRARY_PATH": "/x", "CUDA_INJECTION64_PATH": "/nsys.so"}
    programs = Programs({"libcuda_child.py": written(json.dumps(said))})
    here = Machine(tmp_path, environ, "/opt/env/bin/python", programs)
    found = gpus.libcuda(here)["libcuda"]
    assert found["kind"] == "driver"
    assert found["version"] == "580.159.04"
    [(argv, env)] = [(a, e) for a, e in programs.asked if "libcuda_child.py" in a[-1]]
    assert argv[0] == "/opt/env/bin/python"
    assert env == {"LD_LIBRARY_PATH": "/x"}


def test_libcuda_is_asked_elsewhere_when_the_targets_interpreter_does_not_run(
    tmp_path: Path,
) -> None:
    said = written(json.dumps({"path": None, "error": "no such file"}))
    name = Path(sys.executable).name
    here = Machine(tmp_path, {}, "/gone/pythonx", Programs({f"{name} -I": said}))
    found = gpus.libcuda(here)
    assert Facts(found).absent("libcuda")
    assert "errors" not in found


def test_a_libcuda_that_hangs_keeps_its_path(tmp_path: Path) -> None:
    late = Completed(-9, b'{"path": "/usr/lib/libcuda.so.550.1.2"}\n', b"", timed_out=True)
    found = gpus.libcuda(machine(tmp_path, {}, {"libcuda_child.py": late}))
    assert found["errors"] == {"libcuda": "no answer in time"}
    assert found["libcuda"]["version"] == "550.1.2"


@pytest.mark.parametrize(
    ("path", "found_as", "code", "kind"),
    [
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", None, 0, "driver"),
        ("/usr/local/cuda-12.1/lib64/stubs/libcuda.so", "/x/libcuda.so.1", 34, "stub"),
        ("/somewhere/libcuda.so.1", None, 34, "stub"),
        ("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", None, 804, "compat"),
        ("/opt/env/cuda-compat/libcuda.so.575.57.08", None, 0, "compat"),
        ("/opt/x/libcuda.so.575.57.08", "/usr/local/cuda/compat/libcuda.so.1", 0, "compat"),
        ("/usr/lib/wsl/lib/libcuda.so.1.1", "/usr/lib/wsl/lib/libcuda.so.1", 0, "wsl"),
        ("/opt/incompat/lib/libcuda.so.1", None, 0, "driver"),
    ],
)
def test_kinds_of_libcuda(path: str, found_as: str | None, code: int, kind: str) -> None:
    assert gpus.kind_of_libcuda(path, found_as, code) == kind


def test_a_jetsons_library_has_no_driver_version_in_its_name(tmp_path: Path) -> None:
    said = {"path": "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1"}
    here = machine(tmp_path, {}, {"libcuda_child.py": written(json.dumps(said))})
    assert "version" not in gpus.libcuda(here)["libcuda"]


def test_every_library_the_loader_could_find_is_listed(tmp_path: Path) -> None:
    cache = (
        "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/wsl/lib/libcuda.so.1\n\tlibcuda.so (x) => /n\n"
    )
    environ = {"LD_LIBRARY_PATH": "/a:/b:relative:"}
    files = {"/b/libcuda.so.1": ""}
    here = machine(tmp_path, files, {"ldconfig": written(cache)}, environ)
    found = gpus.libcuda(here)["libcuda"]["candidates"]
    assert found == ["/b/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]


# --- a libcuda made for the test, loaded for real --------------------------------------------

FAKE_LIBCUDA = """
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned flags) {
  const char *mode = getenv("MODE");
  if (mode && *mode == 'h') sleep(60);
  if (mode && *mode == 'c') abort();
  return mode ? atoi(mode) : 0;
}
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? device : -1;
  return 0;
}
int cuGetErrorName(int code, const char **name) { *name = "CUDA_ERROR_NO_DEVICE"; return 0; }
"""


@pytest.fixture(scope="module")
def libcuda_so(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: a libcuda cannot be made for the test")
    folder = tmp_path_factory.mktemp("lib")
    (folder / "cuda.c").write_text(FAKE_LIBCUDA)
    made = folder / "libcuda.so.580.159.04"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, folder / "cuda.c"], check=True)
    return made


def loaded(library: Path, folder: Path, **environ: str) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libcuda.so.1").symlink_to(library)
    return gpus.libcuda(Machine(environ={"LD_LIBRARY_PATH": str(folder), **environ}))


def test_the_loader_itself_says_which_libcuda_it_takes(libcuda_so: Path, tmp_path: Path) -> None:
    found = loaded(libcuda_so, tmp_path)
    assert "errors" not in found
    candidates = found["libcuda"].pop("candidates")
    assert candidates[0] == f"{tmp_path}/libcuda.so.1"
    assert found["libcuda"] == {
        "path": str(libcuda_so),
        "found_as": f"{tmp_path}/libcuda.so.1",
        "capabilities": ["9.0", "9.1"],
        "version": "580.159.04",
        "kind": "driver",
        "cuda_version": "13.0",
        "init_code": 0,
        "init_error": None,
        "device_count": 2,
    }


def test_why_cuinit_fails_is_kept(libcuda_so: Path, tmp_path: Path) -> None:
    found = loaded(libcuda_so, tmp_path, MODE="100")["libcuda"]
    assert found["init_code"] == 100
    assert found["init_error"] == "CUDA_ERROR_NO_DEVICE"
    assert "device_count" not in found
    assert derive.logged(Facts({"libcuda": found}), r"\(error 100\)") is not None


def test_a_stub_is_told_by_its_folder_and_by_its_code(libcuda_so: Path, tmp_path: Path) -> None:
    assert loaded(libcuda_so, tmp_path / "stubs")["libcuda"]["kind"] == "stub"
    assert loaded(libcuda_so, tmp_path / "x", MODE="34")["libcuda"]["kind"] == "stub"


def test_a_compat_library_is_told_by_its_folder(libcuda_so: Path, tmp_path: Path) -> None:
    assert loaded(libcuda_so, tmp_path / "compat")["libcuda"]["kind"] == "compat"


def test_a_libcuda_that_crashes_in_cuinit(libcuda_so: Path, tmp_path: Path) -> None:
    found = loaded(libcuda_so, tmp_path, MODE="c")
    assert found["errors"] == {"libcuda": "ended by SIGABRT"}
    assert found["libcuda"]["cuda_version"] == "13.0"
    assert "init_code" not in found["libcuda"]


def test_a_libcuda_that_hangs_in_cuinit(
    libcuda_so: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpus, "LIBCUDA_S", 1.0)
    found = loaded(libcuda_so, tmp_path, MODE="h")
    assert found["errors"] == {"libcuda": "no answer in time"}
    assert found["libcuda"]["path"] == str(libcuda_so)


def test_a_file_that_is_no_library_is_there_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    facts = Facts(gpus.libcuda(Machine(environ={"LD_LIBRARY_PATH": str(tmp_path)})))
    assert not facts.known("libcuda.path")
    assert "libcuda.so.1" in facts.need_text("libcuda.error")


@pytest.mark.parametrize(
    ("said", "absent"),
    [
        ("libcuda.so.1: cannot open shared object file: No such file or directory", True),
        ("Error loading shared library libcuda.so.1: No such file or directory", True),
        ("libnvidia-x.so: cannot open shared object file: No such file or directory", False),
        ("Error loading shared library y.so: No such file (needed by /u/libcuda.so.1)", False),
        ("libcuda.so.1: wrong ELF class: ELFCLASS32", False),
    ],
)
def test_a_libcuda_that_is_not_there_is_told_apart(said: str, absent: bool) -> None:
    facts = Facts({"libcuda": libcuda_child._why_not(said)})
    assert facts.absent("libcuda") is absent
    assert facts.text("libcuda.error") == said
