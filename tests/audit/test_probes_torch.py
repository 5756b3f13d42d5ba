"""Probes of the target's interpreter and its torch: on disk, and begun to be imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import Facts, audit
from kprof.audit.probes import libraries, pytorch, run, target
from kprof.audit.probes.machine import Machine
from kprof.audit.probes.target_child import MARK
from kprof.process import Completed
from tests.audit.software_fixture import LOOK, PYTHON, SITE, Fake, library

TORCH = f"{SITE}/torch"
VERSION_PY = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
hip: Optional[str] = {hip}
"""


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path, {"PATH": "/usr/bin"})


def with_torch(
    fake: Fake, version: str = "2.9.1+cu130", cuda: str | None = "13.0", hip: str | None = None
) -> Fake:
    fake.answers({**LOOK, "torch": TORCH}, "look")
    fake.put(
        f"{TORCH}/version.py", VERSION_PY.format(version=version, cuda=repr(cuda), hip=repr(hip))
    )
    return fake


def torch_of(fake: Fake) -> dict[str, Any]:
    facts: dict[str, Any] = pytorch.torch(fake.machine())["torch"]
    return facts


# --- the interpreter -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_prefix", "file", "environment"),
    [
        ("/usr", "", "venv"),
        ("/opt/venv", "", "system"),
        ("/opt/venv", "/opt/venv/conda-meta/history", "conda"),
    ],
)
def test_the_kind_of_environment(fake: Fake, base_prefix: str, file: str, environment: str) -> None:
    fake.answers({**LOOK, "base_prefix": base_prefix}, "look")
    if file:
        fake.put(file)
    assert target.python(fake.machine()) == {
        "python": {
            "executable": PYTHON,
            "version": "3.11.7",
            "environment": environment,
            "prefix": "/opt/venv",
        }
    }


def test_this_interpreter_says_where_it_is() -> None:
    seen = target.look(Machine(python=sys.executable))
    assert seen.version == sys.version.split()[0]
    assert seen.prefix == sys.prefix
    assert os.path.realpath(seen.executable) == os.path.realpath(sys.executable)
    assert str(Path(target.__file__).parent) not in seen.path, (
        "kprof's modules are not the target's"
    )


def script(tmp_path: Path, body: str) -> Machine:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Machine(python=str(path))


def test_what_else_an_interpreter_prints_is_passed_over(tmp_path: Path) -> None:
    line = f"{MARK}{json.dumps(LOOK)}"
    machine = script(tmp_path, f"echo hello\necho '{line}'\necho bye\nprintf '\\377\\n'")
    assert target.look(machine).version == "3.11.7"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo hello", "ended with status 0 and no answer"),
        ("echo cannot do that >&2; exit 3", "ended with status 3 and no answer: cannot do that"),
        ("kill -SEGV $$", "SIGSEGV"),
        (f"echo '{MARK}[1]'", "no answer"),
        (f"echo '{MARK}{{'", "no answer"),
        (f'echo \'{MARK}{{"failed": "KeyError: x"}}\'', "KeyError: x"),
        (f"echo '{MARK}{'[' * 100_000}'", "no answer"),
    ],
)
def test_an_interpreter_without_an_answer_says_how_it_ended(
    tmp_path: Path, body: str, words: str
) -> None:
    with pytest.raises(target.NoAnswer, match=words.replace("(", r"\(")):
        target.look(script(tmp_path, body))


def test_an_interpreter_that_hangs_is_ended(tmp_path: Path) -> None:
    start = time.monotonic()
    answer = target.ask(script(tmp_path, "sleep 60"), 0.3, "look")
    assert (answer.facts, answer.timed_out) == (None, True)
    assert time.monotonic() - start < 10


def test_answers_of_odd_types_do_no_harm(fake: Fake) -> None:
    fake.answers({"path": "x", "torch": 3, "version": None}, "look")
    found = [
        probe(fake.machine())
        for probe in (target.python, target.packages, target.other_pythons, pytorch.torch)
    ]
    assert found[0] == {"python": {"executable": PYTHON}}
    assert found[1] == {"packages": {}}
    assert found[3] == {"torch": {"path": None, "version": None}}


def test_packages_that_matter_are_listed_with_the_version_that_wins(fake: Fake) -> None:
    fake.put("/usr/lib/python3.11/torch-1.0.0.dist-info/METADATA")
    fake.install("torch", "2.9.1+cu130")
    for name, version in (
        ("nvidia_nccl_cu12", "2.27.5"),
        ("nvidia-nccl-cu13", "2.28.9"),
        ("flash_attn", "2.8.3"),
        ("Triton", "3.5.1"),
        ("requests", "2.32.0"),
    ):
        fake.install(name, version)
    fake.put(f"{SITE}/apex-0.1-py3.11.egg-info/PKG-INFO")
    fake.put(f"{SITE}/not-a-package/x")
    assert target.packages(fake.machine())["packages"] == {
        "apex": "0.1",
        "flash-attn": "2.8.3",
        "nvidia-nccl-cu12": "2.27.5",
        "nvidia-nccl-cu13": "2.28.9",
        "torch": "1.0.0",
        "triton": "3.5.1",
    }


def test_other_interpreters_nearby_and_their_torch(fake: Fake) -> None:
    elf = b"\x7fELF"
    for prefix in ("/opt/venv", "/home/u/a", "/opt/conda"):
        fake.put(f"{prefix}/bin/python", elf, program=True)
    for name in ("/opt/venv/pyvenv.cfg", "/home/u/a/pyvenv.cfg"):
        fake.put(name)
    fake.put("/usr/bin/python3.12", elf, program=True)
    (fake.root / "usr/bin/python3").symlink_to("python3.12")
    fake.put("/home/u/.pyenv/shims/python3", "#!/bin/sh\nexec pyenv\n", program=True)
    for folder, version in (
        ("/home/u/a/lib/python3.11/site-packages", "2.7.0+cu126"),
        ("/opt/conda/lib/python3.10/site-packages", "2.4.1"),
        (SITE, "2.9.1"),
    ):
        fake.put(f"{folder}/torch/version.py", f"__version__ = '{version}'\n")
    fake.environ |= {
        "VIRTUAL_ENV": "/home/u/a/",
        "CONDA_PREFIX": "/opt/conda",
        "PATH": "/home/u/.pyenv/shims:/home/u/a/bin:relative:/opt/venv/bin:/usr/bin",
    }
    found = target.other_pythons(fake.machine())["other_pythons"]
    assert [(one["executable"], one["torch"]) for one in found] == [
        ("/home/u/a/bin/python", "2.7.0+cu126"),
        ("/opt/conda/bin/python", "2.4.1"),
        ("/usr/bin/python3", None),
    ]


# --- torch on disk ---------------------------------------------------------------------------


def built_for(archs: str, *, before: int = 5000) -> bytes:
    return b"\x7fELF" + b"x" * before + b"\0" + archs.encode() + b"\0" + b"y" * 5000


def test_no_torch(fake: Fake) -> None:
    assert pytorch.torch(fake.machine()) == {"torch": {"path": None, "version": None}}
    assert libraries.loaded_libraries(fake.machine()) == {"loaded_libraries": None}


def test_what_a_cuda_build_says_of_itself(fake: Fake) -> None:
    with_torch(fake)
    fake.install(
        "torch",
        "2.9.1",
        "Name: torch\nRequires-Dist: filelock\n"
        'Requires-Dist: nvidia-cudnn-cu13==9.13.0.50; platform_system == "Linux"\n',
    )
    fake.put(f"{TORCH}/lib/libtorch_python.so", built_for("sm_75 sm_80 sm_90a compute_120"))
    assert torch_of(fake) == {
        "path": TORCH,
        "version": "2.9.1+cu130",
        "cuda": "13.0",
        "hip": None,
        "arch_list": ["sm_75", "sm_80", "sm_90a", "compute_120"],
        "cudnn": "9.13.0",
    }


def test_a_cpu_build_has_no_architectures_and_no_cuda(fake: Fake) -> None:
    with_torch(fake, "2.13.0+cpu", None)
    fake.put(f"{TORCH}/lib/libtorch_python.so", b"x" * 100)
    facts = torch_of(fake)
    assert (facts["cuda"], facts["arch_list"], facts["cuda_available"]) == (None, [], False)


def test_a_build_for_another_vendor_is_not_taken_for_a_cpu_build(fake: Fake) -> None:
    facts = torch_of(with_torch(fake, "2.9.1+rocm6.4", None, "6.4.43482"))
    assert facts["hip"] == "6.4.43482"
    assert "cuda_available" not in facts


def test_older_releases_write_their_version_without_types(fake: Fake) -> None:
    with_torch(fake)
    fake.put(f"{TORCH}/version.py", "__version__ = '1.10.2+cu113'\ndebug = False\ncuda = '11.3'\n")
    facts = torch_of(fake)
    assert (facts["version"], facts["cuda"]) == ("1.10.2+cu113", "11.3")
    assert "hip" not in facts, "not said, so not known"


@pytest.mark.parametrize("text", ["", "import os\n", "__version__ = get()\ncuda = x()\n"])
def test_a_version_file_that_says_nothing_leaves_it_unknown(fake: Fake, text: str) -> None:
    with_torch(fake)
    fake.put(f"{TORCH}/version.py", text)
    facts = torch_of(fake)
    assert facts == {"path": TORCH, "version": None}


PIECE = 2**20


@pytest.mark.parametrize("before", [0, 5, PIECE - 12, PIECE - 5, PIECE, 2 * PIECE - 8, 3 * PIECE])
def test_the_architectures_are_found_wherever_they_stand(tmp_path: Path, before: int) -> None:
    path = tmp_path / "libtorch_python.so"
    path.write_bytes(built_for("sm_80 sm_90 sm_100", before=before))
    assert pytorch.architectures(path) == ["sm_80", "sm_90", "sm_100"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\0sm_90\0", ["sm_90"]),
        (b"\0sm_50\0\0sm_80 sm_90 compute_90\0", ["sm_80", "sm_90", "compute_90"]),
        (b"\0sm_100f sm_120a\0", ["sm_100f", "sm_120a"]),
        (b"nothing sm_90 here", []),
        (b"\0sm_90 and more\0", []),
        (b"\0sm_\0compute_\0", []),
        (b"", []),
    ],
)
def test_what_counts_as_a_list_of_architectures(
    tmp_path: Path, content: bytes, found: list[str]
) -> None:
    path = tmp_path / "libtorch_python.so"
    path.write_bytes(content)
    assert pytorch.architectures(path) == found


def test_without_the_library_the_architectures_are_unknown(fake: Fake, tmp_path: Path) -> None:
    assert pytorch.architectures(tmp_path / "none.so") is None
    with_torch(fake, "2.13.0+cpu", None)
    assert "arch_list" not in torch_of(fake)


# --- whether CUDA starts ---------------------------------------------------------------------


def with_runtime(fake: Fake) -> str:
    runtime = f"{SITE}/nvidia/cu13/lib/libcudart.so.13"
    with_torch(fake)
    fake.put(runtime, library(soname="libcudart.so.13"))
    rpath = "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
    fake.put(f"{TORCH}/lib/libtorch_cuda.so", library(needed=["libcudart.so.13"], rpath=rpath))
    return runtime


@pytest.mark.parametrize(
    ("answer", "available", "error"),
    [
        ({"code": 0, "count": 1}, True, None),
        ({"code": 0, "count": 0}, False, None),
        (
            {"code": 35, "name": "cudaErrorInsufficientDriver", "text": "too old", "count": 0},
            False,
            {"code": 35, "name": "cudaErrorInsufficientDriver", "text": "too old"},
        ),
    ],
)
def test_whether_cuda_starts_is_what_its_runtime_says(
    fake: Fake, answer: dict[str, Any], available: bool, error: dict[str, Any] | None
) -> None:
    runtime = with_runtime(fake)
    fake.answers(answer, "count", runtime)
    facts = torch_of(fake)
    assert (facts["cuda_available"], facts.get("cuda_error")) == (available, error)


@pytest.mark.parametrize(
    "reply", [None, Completed(-9, b"", b"", timed_out=True), Completed(-11, b"", b""), b"hello"]
)
def test_a_runtime_that_does_not_answer_leaves_it_unknown(fake: Fake, reply: Any) -> None:
    fake.replies["count", with_runtime(fake)] = reply
    facts = torch_of(fake)
    assert "cuda_available" not in facts
    assert facts["cuda_error"]["text"].startswith(PYTHON)


FAKE_RUNTIME = """
int cudaGetDeviceCount(int *n) { *n = 3; return CODE; }
const char *cudaGetErrorName(int code) { return code == 34 ? "cudaErrorStubLibrary" : "?"; }
const char *cudaGetErrorString(int code) { return "CUDA driver is a stub library"; }
int cudaRuntimeGetVersion(int *v) { *v = 12040; return 0; }
unsigned long cudnnGetVersion(void) { return 91900; }
int ncclGetVersion(int *v) { return 1; }
"""


@pytest.fixture
def compiled(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, path = tmp_path / "fake.c", tmp_path / "libcudart.so.12"
    source.write_text(FAKE_RUNTIME.replace("CODE", str(request.param)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, source], check=True)
    return path


@pytest.mark.parametrize("compiled", [0], indirect=True)
def test_a_runtime_is_asked_in_the_target_s_interpreter(compiled: Path) -> None:
    machine = Machine(python=sys.executable)
    counted = target.ask(machine, 20, "count", str(compiled)).need()
    assert (counted["code"], counted["count"]) == (0, 3)
    for family, number in (("libcudart", 12040), ("libcudnn", 91900), ("libnccl", None)):
        answer = target.ask(machine, 20, "version", family, str(compiled))
        assert answer.need() == {"number": number}


@pytest.mark.parametrize("compiled", [34], indirect=True)
def test_an_error_of_the_runtime_comes_with_its_name(compiled: Path) -> None:
    answer = target.ask(Machine(python=sys.executable), 20, "count", str(compiled)).need()
    assert answer == {
        "code": 34,
        "count": 0,
        "name": "cudaErrorStubLibrary",
        "text": "CUDA driver is a stub library",
    }


def test_a_runtime_that_cannot_be_loaded_is_a_failure(tmp_path: Path) -> None:
    answer = target.ask(Machine(python=sys.executable), 20, "count", str(tmp_path / "gone.so"))
    with pytest.raises(target.NoAnswer, match="OSError"):
        answer.need()


# --- an import that is begun -----------------------------------------------------------------

C_MODULE = """
class _cudnn:
    @staticmethod
    def getCompileVersion():
        return (9, 19, 0)


def _cuda_getArchFlags():
    return "sm_80 sm_90"
"""
PACKAGE = """
from torch._C import _cudnn
from torch.torch_version import __version__
from torch import cuda, version
"""
NEVER_S = 60


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A torch of a few lines; the part that takes long is torch/cuda.py."""
    folder = tmp_path / "site" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "_C.py").write_text(C_MODULE)
    (folder / "torch_version.py").write_text("__version__ = '2.9.1+cu130'\n")
    (folder / "version.py").write_text("__version__ = '2.9.1+cu130'\ncuda = '13.0'\nhip = None\n")
    (folder / "cuda.py").write_text("def is_available(): return True\n")
    return folder


def importing(package: Path) -> Machine:
    environ = {**os.environ, "PYTHONPATH": str(package.parent)}
    return Machine(environ=environ, python=sys.executable)


def test_an_import_is_left_when_the_libraries_are_loaded(package: Path) -> None:
    (package / "torch_version.py").write_text(f"import time; time.sleep({NEVER_S})\n")
    start = time.monotonic()
    facts = pytorch.torch_load(importing(package))["torch"]
    assert time.monotonic() - start < 20
    assert facts == {
        "import": "libraries loaded",
        "arch_list": ["sm_80", "sm_90"],
        "cudnn": "9.19.0",
    }


def test_a_whole_import_says_everything(package: Path) -> None:
    assert pytorch.torch_import(importing(package))["torch"] == {
        "import": "done",
        "path": str(package),
        "version": "2.9.1+cu130",
        "cuda": "13.0",
        "hip": None,
        "arch_list": ["sm_80", "sm_90"],
        "cudnn": "9.19.0",
        "cuda_available": True,
    }


def test_a_warning_of_cuda_is_kept(package: Path) -> None:
    (package / "cuda.py").write_text(
        "import warnings\n"
        "def is_available():\n"
        "    warnings.warn('other'); warnings.warn('CUDA initialization: driver too old')\n"
        "    return False\n"
    )
    facts = pytorch.torch_import(importing(package))["torch"]
    assert facts["cuda_available"] is False
    assert facts["cuda_warning"] == "CUDA initialization: driver too old"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            "raise ImportError('libcudnn.so.9: cannot open shared object file')",
            "ImportError: libcudnn.so.9: cannot open shared object file",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("print('kprof'); 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("probe", [pytorch.torch_load, pytorch.torch_import])
def test_an_import_that_fails_says_why(package: Path, probe: Any, code: str, error: str) -> None:
    (package / "_C.py").write_text(code)
    assert probe(importing(package))["torch"] == {"import": "failed", "import_error": error}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("import os, sys; print('boom', file=sys.stderr); os._exit(7)", "status 7"),
    ],
)
def test_an_import_that_brings_the_interpreter_down_is_an_import_error(
    package: Path, code: str, words: str
) -> None:
    (package / "_C.py").write_text(code)
    facts = pytorch.torch_load(importing(package))["torch"]
    assert facts["import"] == "failed"
    assert words in facts["import_error"]


def test_no_torch_to_import(tmp_path: Path) -> None:
    machine = Machine(environ={"PATH": "/usr/bin"}, python=f"{sys.executable}")
    if target.look(machine).torch is not None:
        pytest.skip("this interpreter has a torch")
    assert pytorch.torch_load(machine) == {"torch": {"path": None, "version": None}}


def test_an_import_that_takes_long_is_not_waited_for(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "_C.py").write_text(f"import time; time.sleep({NEVER_S})\n")
    monkeypatch.setattr(run, "LOAD_S", 0.5)
    start = time.monotonic()
    facts = run.probe(importing(package), only={"torch", "torch_load"})["facts"]
    assert time.monotonic() - start < 15
    assert facts["torch"]["import"] == "not waited for"
    assert facts["torch"]["version"] == "2.9.1+cu130", "read from disk all the same"
    assert "errors" not in facts


@pytest.mark.parametrize(("whole", "words"), [(True, "did not end"), (False, "--import-torch")])
def test_an_import_that_hangs_is_not_one_that_works(
    package: Path, monkeypatch: pytest.MonkeyPatch, whole: bool, words: str
) -> None:
    (package / "_C.py").write_text(f"import time; time.sleep({NEVER_S})\n")
    monkeypatch.setattr(run, "LOAD_S", 0.5)
    monkeypatch.setattr(pytorch, "IMPORT_S", 1.0)
    names = {"torch", "torch_load", "torch_import"}
    seen = run.probe(importing(package), only=names, budget_s=5, import_torch=whole)
    found = {one.check.id: one.verdict for one in audit(Facts(seen["facts"])).results}
    assert found["torch.import_error"].status == "unknown"
    assert words in found["torch.import_error"].message


def test_what_was_learned_before_cuda_hung_is_kept(package: Path) -> None:
    (package / "cuda.py").write_text(f"import time\ndef is_available(): time.sleep({NEVER_S})\n")
    machine = importing(package)
    answer = target.ask(machine, 5, "import-torch")
    assert answer.timed_out
    assert answer.facts is not None
    assert answer.facts["version"] == "2.9.1+cu130"
    assert "cuda_available" not in answer.facts


def test_no_injected_library_comes_with_cuda(package: Path) -> None:
    (package / "_C.py").write_text(
        "import os\nraise ImportError(','.join(k for k in os.environ if 'INJECTION' in k) or 'none')"
    )
    machine = importing(package)
    environ = {**machine.environ, "CUDA_INJECTION64_PATH": "/x", "NVTX_INJECTION64_PATH": "/y"}
    facts = pytorch.torch_load(Machine(environ=environ, python=sys.executable))["torch"]
    assert facts["import_error"] == "ImportError: none"


def test_libraries_of_an_import_count_and_those_that_come_later_are_added(fake: Fake) -> None:
    with_runtime(fake)
    loaded = ["/preloaded/libcudart.so.13", "/x/libcublasLt.so.13", "/x/libtorch_cuda.so"]
    fake.answers({"import": "done", "libraries": loaded}, "load-torch")
    found = pytorch.torch_load(fake.machine())
    assert found["torch"] == {"import": "done"}
    cudart = found["loaded_libraries"]["libcudart"]
    assert [one["path"] for one in cudart] == ["/preloaded/libcudart.so.13"]
