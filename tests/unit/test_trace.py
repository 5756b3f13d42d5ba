"""Finding what the tracer needs, and reading what it wrote."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from kprof.collect import trace
from kprof.collect.command import Options
from kprof.collect.selection import select
from kprof.collect.tracer import CUPTI, INJECTION, TRACE, Tracer, built, tracer
from kprof.errors import OutputNotWritable, UnreadableReport
from kprof.names import function

HEAD = "kprof-trace\t1\t130001\t42\t/usr/bin/python3\n"
NAME = "N\t1\t_Z3addPfi\tadd(float*, int)\n"
# start, end, device, stream, correlation, name, registers, static, dynamic, grid, block
SECOND = "K\t3000\t4000\t1\t7\t12\t1\t32\t0\t64\t8\t1\t1\t128\t1\t1\n"
FIRST = "K\t1000\t3000\t0\t7\t11\t1\t32\t16\t64\t4\t2\t1\t128\t1\t1\n"
END = "E\t1\t0\t0\n"
NONE = END.replace("1", "0", 1)
ENDED = END.replace("1", "2", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "survey.tsv"


def read(file: Path, text: str) -> trace.Trace:
    file.write_text(text)
    return trace.read(file)


def test_launches_come_in_the_order_of_their_calls(file: Path) -> None:
    found = read(file, HEAD + NAME + SECOND + FIRST + ENDED)
    first, second = found.kernels
    assert (first.index, second.index) == (0, 1)
    assert first.name == "add"
    assert first.demangled == "add(float*, int)"
    assert first.mangled == "_Z3addPfi"
    assert first.duration_s == pytest.approx(2e-6)
    assert first.launch is not None
    assert (first.launch.grid, first.launch.block) == ((4, 2, 1), (128, 1, 1))
    assert first.launch.registers_per_thread == 32
    assert first.launch.shared_static_bytes == 16
    assert first.launch.shared_dynamic_bytes == 64
    assert (first.device, second.device, found.devices) == (0, 1, 2)
    assert found.trouble is None
    assert found.ended
    assert found.complete


def test_names_are_those_of_their_process(file: Path) -> None:
    other = NAME.replace("3add", "3mul").replace("\tadd", "\tmul")
    found = read(file, HEAD + NAME + FIRST + END + HEAD + other + FIRST + END)
    assert [kernel.name for kernel in found.kernels] == ["add", "mul"]


def test_a_time_that_is_none_is_unknown(file: Path) -> None:
    found = read(file, HEAD + NAME + FIRST.replace("1000\t3000", "0\t0") + END)
    assert found.kernels[0].duration_s is None


def test_every_process_must_have_ended(file: Path) -> None:
    assert not read(file, HEAD + NAME + FIRST).ended
    assert not read(file, HEAD + NAME + FIRST + END + HEAD).ended  # what it launched may be lost
    assert read(file, HEAD + NAME + FIRST + END + HEAD + NONE).ended


@pytest.mark.parametrize("end", ["E\t1\t1\t0\n", "E\t1\t0\t1\n", ENDED, NONE])
def test_lost_records_are_trouble(file: Path, end: str) -> None:
    assert "lost records" in (read(file, HEAD + NAME + FIRST + end).trouble or "")


def test_why_nothing_was_traced(file: Path) -> None:
    assert read(file, HEAD + "F\tno CUPTI works\n").trouble == "no CUPTI works"


def test_more_launches_than_are_read_are_cut_off(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "MOST", 3)
    found = read(file, HEAD + NAME + FIRST * 4 + END)
    assert len(found.kernels) == 3
    assert not found.complete
    assert read(file, HEAD + NAME + FIRST * 3 + END).complete


@pytest.mark.parametrize(
    "text",
    [
        "hello\n",
        HEAD.replace("\t1\t", "\t2\t"),
        HEAD + "K\t1\n",
        HEAD + "K\tx\n",
        HEAD + "N\t1\n",
        FIRST,
        HEAD + NAME + FIRST.replace("3000", "9" * 400),
        HEAD + FIRST.replace("3000", "9" * 5000),
    ],
)
def test_something_else_is_refused(file: Path, text: str) -> None:
    with pytest.raises(UnreadableReport, match="not a trace"):
        read(file, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableReport):
        trace.read(tmp_path / "none")


def test_files_of_processes_become_one_without_half_lines(tmp_path: Path) -> None:
    base, merged = tmp_path / "survey.trace", tmp_path / "survey.tsv"
    assert trace.gather(base, merged) == 0
    assert not merged.exists()
    Path(f"{base}.9.0").write_text(HEAD + NAME + FIRST + "K\t10")
    Path(f"{base}.10.0").write_text(HEAD + NAME + FIRST + END)
    assert trace.gather(base, merged) == 2
    assert len(trace.read(merged).kernels) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["survey.tsv"]


@pytest.mark.parametrize("written", ["", "kprof-tr", FIRST + END])
def test_a_process_that_could_not_write_has_not_ended(tmp_path: Path, written: str) -> None:
    base, merged = tmp_path / "survey.trace", tmp_path / "survey.tsv"
    Path(f"{base}.9.0").write_text(HEAD + NAME + FIRST + END)
    Path(f"{base}.10.0").write_text(written)
    assert trace.gather(base, merged) == 2
    found = trace.read(merged)
    assert len(found.kernels) == 1
    assert not found.ended or found.trouble


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    base = tmp_path / "survey.trace"
    Path(f"{base}.9.0").write_text(HEAD)
    with pytest.raises(OutputNotWritable, match="No space left"):
        trace.gather(base, Path("/dev/full"))


def test_ncus_names_replace_those_of_another_demangler(file: Path) -> None:
    found = read(file, HEAD + NAME + FIRST + END)
    (known,) = read(file, HEAD + NAME.replace("float*, int", "float *, int") + FIRST + END).kernels
    (group,) = select(found.kernels).named_by([known]).groups
    assert group.config.demangled == "add(float *, int)"
    assert group.example.demangled == "add(float *, int)"
    (same,) = select(found.kernels).named_by([]).groups
    assert same.config.demangled == "add(float*, int)"


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("add", "add"),
        ("void a::b<4, c<d> >(int, e*)", "b"),
        ("void (anonymous namespace)::f<int, g(h)::{lambda()#1}>(int)", "f"),
        ("a::b::c<x::y>(z)", "c"),
        ("triton_poi_fused_0", "triton_poi_fused_0"),
    ],
)
def test_a_functions_own_name(demangled: str, expected: str) -> None:
    assert function(demangled) == expected


# What it needs -----------------------------------------------------------------------------------


def found(root: Path, options: Options | None = None, **environ: str) -> Tracer | str:
    known = {"PATH": "/usr/bin:/bin", **environ}
    ncu = str(root / "opt" / "ncu")
    return tracer(options or Options(), ncu=ncu, folder=root, environ=known, root=root)


def library(root: Path, place: str, name: str) -> Path:
    path = root / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def compiler(tmp_path: Path) -> str:
    """A folder with something that is called as a C compiler is."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "cc"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(tmp_path / "bin")


def test_the_newest_cupti_is_tried_first(tmp_path: Path, compiler: str) -> None:
    old = library(tmp_path, "usr/local/cuda-12.8/targets/x86_64-linux/lib", "libcupti.so.12")
    new = library(tmp_path, "usr/local/cuda-13.0/targets/x86_64-linux/lib", "libcupti.so.2025.3.1")
    link = new.with_name("libcupti.so.13")
    link.symlink_to(new.name)
    ncus = library(tmp_path, "opt/host/target-linux-x64", "libcupti.so.11.8")
    how = found(tmp_path, PATH=compiler)
    assert isinstance(how, Tracer)
    assert how.cupti == (link, old, ncus)
    assert how.build[0] == f"{compiler}/cc"
    variables = how.environment(tmp_path / "t")
    assert set(variables) == {INJECTION, TRACE, CUPTI}
    assert variables[TRACE] == str(tmp_path / "t")
    assert variables[INJECTION] == str(tmp_path / "libkprof-tracer.so")
    assert variables[CUPTI].split(":") == [str(link), str(old), str(ncus)]


def test_the_users_own_cupti_is_the_only_one(tmp_path: Path, compiler: str) -> None:
    library(tmp_path, "usr/local/cuda-13.0/targets/x86_64-linux/lib", "libcupti.so.13")
    how = found(tmp_path, PATH=compiler, KPROF_CUPTI="/mine/libcupti.so")
    assert isinstance(how, Tracer)
    assert how.cupti == (Path("/mine/libcupti.so"),)


def test_the_trace_is_found_from_wherever_the_program_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Tracer(("cc", "t.so"), ()).environment(Path("out/t"))[TRACE] == str(tmp_path / "out/t")


def test_the_users_compiler_keeps_its_arguments(tmp_path: Path, compiler: str) -> None:
    library(tmp_path, "usr/local/cuda-13.0/targets/x86_64-linux/lib", "libcupti.so.13")
    for said, expected in (
        ("cc -m64 'a b'", ["cc", "-m64", "a b"]),
        ("gone x", ["cc"]),
        ("'", ["cc"]),
    ):
        how = found(tmp_path, PATH=compiler, CC=said)
        assert isinstance(how, Tracer)
        assert list(how.build[: len(expected)]) == [f"{compiler}/cc", *expected[1:]]
        assert how.build[len(expected)] == "-O2"


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("exit 0", "it gave no reason"),
        ("echo broken >&2; exit 1", "broken"),
        ("sleep 60 & sleep 60", "not within 1 s"),
    ],
)
def test_why_the_library_was_not_built(tmp_path: Path, compiler: str, does: str, why: str) -> None:
    Path(compiler, "cc").write_text(f"#!/bin/sh\n{does}\n")
    how = Tracer((f"{compiler}/cc", str(tmp_path / "t.so")), ())
    assert built(how, limit_s=1) == f"{compiler}/cc cannot build the tracer ({why})"


def test_a_library_that_nobody_can_load_is_not_tried(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "t.so"
    how = Tracer((f"{compiler}/cc", str(library)), ())
    library.write_bytes(Path("/proc/self/exe").read_bytes()[:64])
    assert built(how) is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
        assert built(how) == f"nothing in {tmp_path} may be run (it is mounted with noexec)"
    library.write_bytes(b"\x7fELF\1\1\1" + bytes(57))
    assert built(how) == "the C compiler builds for another kind of machine"


def test_why_nothing_can_be_traced(tmp_path: Path, compiler: str) -> None:
    assert found(tmp_path, PATH=compiler) == "there is no CUPTI"
    library(tmp_path, "usr/local/cuda-13.0/targets/x86_64-linux/lib", "libcupti.so.13")
    assert found(tmp_path, PATH=str(tmp_path)) == "there is no C compiler"
    assert "is taken" in str(found(tmp_path, PATH=compiler, CUDA_INJECTION64_PATH="/other.so"))
    for narrowed in (
        Options(kernel="x"), Options(nvtx="x"), Options(launch_skip=1), Options(launch_count=1),
        Options(replay_mode="application"), Options(graphs="graph"), Options(from_start=False),
        Options(extra=("--x",)),
    ):  # fmt: skip
        assert "only ncu knows" in str(found(tmp_path, narrowed, PATH=compiler))
    assert isinstance(found(tmp_path, Options(metrics=("a",)), PATH=compiler), Tracer)
