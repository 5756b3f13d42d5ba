"""Regions, each in a fresh interpreter: how they speak is decided once per process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tests" / "fakes" / "nvtx_tool.c"

Spoken = Callable[..., list[str]]

# Packages that write what they are asked to say.
NVTX = """
import os
def said(*words):
    with open(os.environ["NVTX_TOOL_LOG"], "a") as log:
        print(*words, file=log)
def push_range(message): said("push", message, 0)
def pop_range(): said("pop", "-", 0)
def start_range(message): said("start", message, 1); return (1, "domain")
def end_range(range_id): said("end", "-", range_id[0])
"""
TORCH = """
import sys, types
class _C: _nvtx = object()
cuda = types.SimpleNamespace(nvtx=sys.modules[__name__])
def said(*words):
    import os
    with open(os.environ["NVTX_TOOL_LOG"], "a") as log:
        print(*words, file=log)
def range_push(message): said("torch-push", message)
def range_pop(): said("torch-pop")
def range_start(message): said("torch-start", message); return 7
def range_end(number): said("torch-end", number)
"""


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("tool") / "tool.so")


def built(path: Path, *options: str) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build a profiler's stand-in with")
    subprocess.run([compiler, "-shared", "-fPIC", *options, "-o", str(path), str(TOOL)], check=True)
    return path


@pytest.fixture
def spoken(tmp_path: Path) -> Spoken:
    """Run code that opens regions and return what the tool heard."""
    packages = tmp_path / "packages"
    packages.mkdir()

    def run(code: str, *, packaged: dict[str, str] | None = None, **env: object) -> list[str]:
        for name, source in (packaged or {}).items():
            (packages / f"{name}.py").write_text(source)
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        hidden = "" if "nvtx" in (packaged or {}) else "import sys; sys.modules['nvtx'] = None\n"
        subprocess.run(
            [sys.executable, "-c", f"{hidden}import kprof\n{code}"],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}",
                "NVTX_TOOL_LOG": str(log),
                **{name: str(value) for name, value in env.items()},
            },
            check=True,
            timeout=60,
        )
        return log.read_text().splitlines() if log.exists() else []

    return run


ONE = "with kprof.region('step'): pass"
SAID = ["start step 1", "push step 0", "pop - 0", "end - 1"]


def test_speaks_to_the_tool_without_any_library(spoken: Spoken, tool: Path) -> None:
    assert spoken(ONE, NVTX_INJECTION64_PATH=tool) == SAID


def test_speaks_through_the_nvtx_package(spoken: Spoken, tool: Path) -> None:
    said = spoken(ONE, packaged={"nvtx": NVTX}, NVTX_INJECTION64_PATH=tool)
    assert said == SAID


def test_speaks_through_torch_that_is_already_imported(spoken: Spoken) -> None:
    said = spoken(f"import torch\n{ONE}", packaged={"torch": TORCH})
    assert said == ["torch-start step", "torch-push step", "torch-pop", "torch-end 7"]


def test_never_imports_torch_itself(spoken: Spoken) -> None:
    code = f"{ONE}\nimport sys; assert 'torch' not in sys.modules"
    assert spoken(code, packaged={"torch": TORCH}) == []


def test_torch_without_cuda_is_passed_over(spoken: Spoken, tool: Path) -> None:
    torch = TORCH.replace("_nvtx = object()", "pass")
    code = f"import torch\n{ONE}"
    assert spoken(code, packaged={"torch": torch}, NVTX_INJECTION64_PATH=tool) == SAID


@pytest.mark.parametrize("name", ["libnvToolsExt.so.1", "libnvtx3interop.so.1"])
def test_speaks_through_the_library_of_cuda(spoken: Spoken, tmp_path: Path, name: str) -> None:
    built(tmp_path / name, "-DLIBRARY")
    assert spoken(ONE, LD_LIBRARY_PATH=tmp_path) == SAID


@pytest.mark.parametrize("path", ["", "/absent.so", str(TOOL)])
def test_without_a_tool_nothing_happens(spoken: Spoken, path: str) -> None:
    assert spoken(f"{ONE}\nprint('on')", NVTX_INJECTION64_PATH=path) == []


def test_a_library_that_does_not_speak_nvtx(spoken: Spoken, tmp_path: Path) -> None:
    other = built(tmp_path / "other.so", "-DLIBRARY")
    assert spoken(ONE, NVTX_INJECTION64_PATH=other) == []


def test_a_tool_that_refuses(spoken: Spoken, tool: Path) -> None:
    assert spoken(ONE, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_REFUSES=1) == []


def test_what_the_tool_leaves_out_does_nothing(spoken: Spoken, tool: Path) -> None:
    said = spoken(ONE, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_PARTLY=1)
    assert said == ["push step 0", "pop - 0"]


def test_a_broken_nvtx_package_is_passed_over(spoken: Spoken, tool: Path) -> None:
    broken = {"nvtx": "raise RuntimeError('built for another numpy')"}
    assert spoken(ONE, packaged=broken, NVTX_INJECTION64_PATH=tool) == SAID


def test_nested_and_left_by_an_exception(spoken: Spoken, tool: Path) -> None:
    code = """
try:
    with kprof.region('outer'):
        with kprof.region('inner'):
            raise KeyError('mine')
except KeyError as error:
    assert error.args == ('mine',)
with kprof.region('after'):
    pass
"""
    assert spoken(code, NVTX_INJECTION64_PATH=tool) == [
        "start outer 1", "push outer 0", "start inner 2", "push inner 0",
        "pop - 0", "end - 2", "pop - 0", "end - 1",
        "start after 3", "push after 0", "pop - 0", "end - 3",
    ]  # fmt: skip


def test_as_a_decorator_also_of_a_function_that_calls_itself(spoken: Spoken, tool: Path) -> None:
    code = """
@kprof.region('down')
def down(n, *, step=1):
    "Documented."
    return n if n == 0 else down(n - step)
assert down(1) == 0
assert (down.__name__, down.__doc__) == ('down', 'Documented.')
"""
    assert spoken(code, NVTX_INJECTION64_PATH=tool) == [
        "start down 1", "push down 0", "start down 2", "push down 0",
        "pop - 0", "end - 2", "pop - 0", "end - 1",
    ]  # fmt: skip


def test_one_region_object_in_many_threads(spoken: Spoken, tool: Path) -> None:
    code = """
import threading
region, all_in = kprof.region('t'), threading.Barrier(8)
def work():
    with region:
        all_in.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    said = spoken(code, NVTX_INJECTION64_PATH=tool)
    assert sorted(said) == sorted(
        [f"{what} {number}" for number in range(1, 9) for what in ("start t", "end -")]
        + ["push t 0", "pop - 0"] * 8
    )


def test_any_name_is_said_as_far_as_it_is_text(spoken: Spoken, tool: Path) -> None:
    code = """
for name in ('é ü', 'a\\0b', '\\udcff', ''):
    with kprof.region(name): pass
"""
    said = [line for line in spoken(code, NVTX_INJECTION64_PATH=tool) if line[:4] == "push"]
    assert said == ["push é ü 0", "push a 0", "push ? 0", "push  0"]


@pytest.mark.parametrize("kind", ["async def f(): ...", "def f(): yield", "async def f(): yield"])
def test_functions_that_run_later_cannot_be_decorated(spoken: Spoken, kind: str) -> None:
    code = f"""
try:
    @kprof.region('later')
    {kind}
except TypeError as error:
    assert "with kprof.region('later')" in str(error)
else:
    raise SystemExit('decorated')
"""
    assert spoken(code) == []


def test_a_name_must_be_text(spoken: Spoken) -> None:
    code = """
def work(): ...
try:
    kprof.region(work)
except TypeError as error:
    assert "not function" in str(error)
else:
    raise SystemExit('took a function for a name')
"""
    assert spoken(code) == []


def test_loads_the_standard_library_alone(spoken: Spoken) -> None:
    spoken(
        "import sys\nbefore = set(sys.modules)\nkprof.region('x').__enter__()\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert new - {'kprof'} <= set(sys.stdlib_module_names), new\n"
        "kprofs = {name for name in sys.modules if name.startswith('kprof')}\n"
        "assert kprofs <= {'kprof', 'kprof.errors', 'kprof.version', 'kprof.regions',"
        " 'kprof.injection'}, kprofs\n"
        "assert kprof.region('x').name == 'x' and kprof.region('y').name == 'y'"
    )


def test_costs_microseconds_without_a_tool(spoken: Spoken) -> None:
    # The promise is a few; the limit leaves room for a machine that does other things.
    spoken(
        "import time\nregion = kprof.region\n"
        "def measured():\n"
        "    began = time.perf_counter()\n"
        "    for _ in range(10_000):\n"
        "        with region('x'): pass\n"
        "    return (time.perf_counter() - began) / 10_000\n"
        "cost = min(measured() for _ in range(5))\n"
        "assert cost < 20e-6, cost"
    )
