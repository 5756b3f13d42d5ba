"""Whole reports through the real library, and everything that can go wrong with a file."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import random
import sys
import time
from pathlib import Path

import pytest

from kprof.errors import UnreadableReport
from kprof.model.profile import Kernel, Profile
from kprof.reader import load, standby
from kprof.reader.container import walk

SHARED = Path(__file__).resolve().parents[3] / "shared" / "reports"
REPORTS = sorted(SHARED.rglob("*.xz"))
DEMO = Path(__file__).resolve().parents[2] / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"
KERNELS = 8  # of the demo
ACCESSES = {"LDG", "STG", "RED", "ATO"}  # how an access to global memory begins


@pytest.fixture(scope="module")
def packed() -> Path:
    """A report of 13 kernels, recorded on an H200 with sampling and source counters."""
    path = SHARED / "h200" / "torch_b.ncu-rep.xz"
    if not path.is_file():
        pytest.skip("the shared reports are not beside the repository")
    return path


@pytest.fixture(scope="module")
def profile(packed: Path) -> Profile:
    return load(packed)


@pytest.fixture(scope="module")
def content() -> bytes:
    """The plain bytes of a small report."""
    return lzma.decompress(DEMO.read_bytes())


@pytest.fixture
def plain(content: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "plain.ncu-rep"
    path.write_bytes(content)
    return path


@pytest.mark.shared
@pytest.mark.skipif(not REPORTS, reason="the shared reports are not beside the repository")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name[:24])
def test_every_shared_report_is_read(path: Path) -> None:
    found = load(path)
    assert found.kernels
    assert not found.source.truncated
    assert not found.notes
    assert [kernel.index for kernel in found.kernels] == list(range(len(found.kernels)))
    for kernel in found.kernels:
        assert kernel.name
        assert kernel.device in range(len(found.devices))
        assert not kernel.metrics.keys() & kernel.unusable.keys()
        assert not any(name.startswith("launch__occupancy_per") for name in kernel.metrics)
        assert all("@section" not in one.message for one in kernel.opinions)
        assert kernel.duration_s is None or 0 < kernel.duration_s < 100
    for device in found.devices:
        assert device.name != "unknown GPU"
        assert device.sm_count
        assert device.compute_capability


def test_source_and_collection(profile: Profile, packed: Path) -> None:
    assert profile.source.path == str(packed)
    assert profile.source.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert profile.source.ncu_version == "2025.3.1.0"
    assert profile.collection.passes == 29
    assert profile.collection.depth == "sections"
    (device,) = profile.devices
    assert (device.name, device.compute_capability, device.sm_count) == ("NVIDIA H200", "9.0", 132)


def test_a_kernel(profile: Profile) -> None:
    kernel = profile.kernels[0]
    assert kernel.name == "distribution_elementwise_grid_stride_kernel"
    assert kernel.demangled.startswith("void at::native::")
    assert kernel.workload == "kernel"
    assert kernel.launch is not None
    assert kernel.launch.grid == (1056, 1, 1)
    assert kernel.launch.block == (256, 1, 1)
    assert kernel.launch.registers_per_thread == 44
    assert kernel.launch.shared_driver_bytes == 1024
    assert kernel.launch.stream == 7
    assert kernel.launch.waves_per_sm == pytest.approx(1.6)
    assert kernel.duration_s == pytest.approx(kernel.metrics["gpu__time_duration.sum"] * 1e-9)
    assert sum(kernel.opcodes.values()) == sum(kernel.opcodes_full.values()) == 62548736
    assert "LDC" in kernel.opcodes
    assert any("." in opcode for opcode in kernel.opcodes_full)


def test_breakdowns_can_be_resolved(profile: Profile) -> None:
    for kernel in profile.kernels:
        name = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
        parts = kernel.breakdowns[name]
        known = [kernel.metrics[part] for part in parts if part in kernel.metrics]
        assert max(known) == pytest.approx(kernel.metrics[name])


def test_curves(profile: Profile) -> None:
    curves = profile.kernels[0].curves
    assert len(curves) == 3
    registers = dict(curves["launch__occupancy_per_register_count"])
    assert registers[44] == 40  # warps per SM: 62.5 % of 64, as ncu itself says
    assert all(list(points) == sorted(points) for points in curves.values())


def _total(kernel: Kernel, name: str) -> float:
    return sum(row.values.get(name, 0) for row in kernel.instructions)


@pytest.mark.parametrize(
    "name",
    [
        "memory_l1_wavefronts_shared",
        "memory_l1_wavefronts_shared_ideal",
        "memory_l2_theoretical_sectors_global",
        "memory_l2_theoretical_sectors_global_ideal",
        "memory_l2_theoretical_sectors_local",
    ],
)
def test_instructions_add_up_to_the_kernel(profile: Profile, name: str) -> None:
    kernels = [kernel for kernel in profile.kernels if name in kernel.metrics]
    assert kernels
    for kernel in kernels:
        assert _total(kernel, name) == kernel.metrics[name]


def test_instructions_have_text_and_small_offsets(profile: Profile) -> None:
    described = [kernel for kernel in profile.kernels if any(r.sass for r in kernel.instructions)]
    assert described
    for rows in (kernel.instructions for kernel in described):
        assert [row.pc for row in rows] == sorted({row.pc for row in rows})
        assert all(0 <= row.pc < 1 << 20 and row.pc % 16 == 0 for row in rows)
        accesses = [row for row in rows if "memory_l2_theoretical_sectors_global" in row.values]
        assert accesses
        texts = [row.sass.split() for row in accesses if row.sass]
        assert {(words[1] if words[0][0] == "@" else words[0])[:3] for words in texts} <= ACCESSES


@pytest.mark.shared
def test_shared_text_is_the_text_of_every_launch() -> None:
    """Launches of one function share a disassembly; each must get what is really its own."""
    path = SHARED / "public" / "rtx-3070-8399c713.ncu-rep.xz"
    if not path.is_file():
        pytest.skip("the shared reports are not beside the repository")
    found = load(path)
    lines = {(row.file, row.line, row.sass) for row in found.kernels[1].instructions}
    assert lines
    assert all(file and file.endswith("manual_nvtx.cu") and sass for file, _, sass in lines)


def test_two_readings_are_equal(profile: Profile, packed: Path) -> None:
    assert load(packed) == profile


def test_extra_metrics(plain: Path) -> None:
    name = "profiler__replayer_bytes_mem_accessible.max"
    assert name not in load(plain).kernels[0].metrics
    assert load(plain, extra_metrics=[name]).kernels[0].metrics[name] > 0


def test_timing_alone_knows_the_same_launches(plain: Path) -> None:
    whole, timed = load(plain), load(plain, timing=True)
    assert timed.devices == whole.devices
    assert timed.collection.depth == "survey"
    for one, other in zip(timed.kernels, whole.kernels, strict=True):
        assert (one.name, one.demangled, one.mangled) == (
            other.name,
            other.demangled,
            other.mangled,
        )
        assert (one.launch, one.nvtx, one.workload) == (other.launch, other.nvtx, other.workload)
        assert one.duration_s == other.duration_s is not None
        assert one.metrics.items() < other.metrics.items()
        assert [one.instructions, one.opcodes, one.curves, one.opinions] == [(), {}, {}, ()]


def test_an_unfinished_kernel_is_kept_without_numbers() -> None:
    path = SHARED / "public" / "a10g-8fce6633.ncu-rep.xz"
    if not path.is_file():
        pytest.skip("the shared reports are not beside the repository")
    kernel = load(path).kernels[3]
    assert kernel.duration_s is None
    assert kernel.launch is None
    assert kernel.unusable["gpu__time_duration.sum"] == "NaN"


@pytest.mark.parametrize(
    "name",
    ["no suffix", "x.gz", "x.ncu-repz", "größe.ncu-rep", os.fsdecode(b"\xff\xfe.ncu-rep")],
)
def test_the_name_does_not_matter(content: bytes, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    found = load(path)
    assert len(found.kernels) == KERNELS
    found.source.path.encode()


def test_compressed_and_relative(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.ncu-rep").write_bytes(gzip.compress(content))
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert len(load("x.ncu-rep").kernels) == KERNELS


def _load_or_fail(path: Path) -> Profile | UnreadableReport:
    try:
        return load(path)
    except UnreadableReport as error:
        return error


class TestDamage:
    def test_a_cut_keeps_the_complete_kernels(self, plain: Path, content: bytes) -> None:
        whole = load(plain)
        plain.write_bytes(content[: -len(content) // 4])
        found = load(plain)
        assert found.source.truncated
        assert found.notes
        assert 0 < len(found.kernels) < KERNELS
        assert found.kernels == whole.kernels[: len(found.kernels)]

    def test_a_cut_before_the_first_kernel(self, plain: Path, content: bytes) -> None:
        plain.write_bytes(content[:3000])
        with pytest.raises(UnreadableReport, match="before its first kernel"):
            load(plain)

    def test_a_stray_byte_at_the_end(self, plain: Path, content: bytes) -> None:
        plain.write_bytes(content + b"\n")
        found = load(plain)
        assert len(found.kernels) == KERNELS
        assert found.notes

    def test_two_reports_in_one_file(self, plain: Path, content: bytes) -> None:
        plain.write_bytes(content * 2)
        found = load(plain)
        assert len(found.kernels) == KERNELS
        assert not found.source.truncated
        assert "second report" in found.notes[0]

    def test_a_cut_archive(self, tmp_path: Path) -> None:
        cut = tmp_path / "x.ncu-rep.xz"
        cut.write_bytes(DEMO.read_bytes()[:-1000])
        with pytest.raises(UnreadableReport, match="cut off"):
            load(cut)

    @pytest.mark.parametrize("seed", range(12))
    def test_random_damage(self, plain: Path, content: bytes, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 5, 40])):
            position = chance.randrange(len(damaged))
            damaged[position : position + 1] = chance.randbytes(1)
        plain.write_bytes(damaged)
        found = _load_or_fail(plain)
        if isinstance(found, UnreadableReport):
            assert found.hint
            assert "\n" not in found.message
        else:
            assert len(found.kernels) == KERNELS or (found.notes and found.source.truncated)

    def test_nothing_but_a_container(self, plain: Path, content: bytes) -> None:
        """Whole blocks, but the first kernel's contents are noise."""
        found = walk(plain)
        assert found.complete
        noise = bytearray(content)
        noise[2000:] = bytes(len(noise) - 2000)
        plain.write_bytes(noise)
        with pytest.raises(UnreadableReport):
            load(plain)


class TestWorker:
    """The reading process ends in every way a process can."""

    def _replace_python(self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))

    @pytest.mark.parametrize(
        ("script", "cause"),
        [
            ("kill -ABRT $$", "SIGABRT"),
            ("kill -SEGV $$", "SIGSEGV"),
            ("exit 71", "out of memory"),
            ("exit 72", "ncu_report module cannot be imported"),
            ("echo Traceback >&2; echo 'KeyError: 3' >&2; exit 1", "KeyError: 3"),
        ],
    )
    def test_it_dies(
        self,
        plain: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        script: str,
        cause: str,
    ) -> None:
        self._replace_python(script, tmp_path, monkeypatch)
        with pytest.raises(UnreadableReport, match=cause) as raised:
            load(plain)
        assert raised.value.hint
        assert capfd.readouterr() == ("", "")

    def test_its_first_kernel_breaks_it(
        self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It reads the first kernel itself; where it dies of that, only forks read."""
        whole = load(plain)
        died, job = tmp_path / "died", tmp_path / "job"
        script = (
            f"cat > '{job}'; "
            f"if grep -q '\"shared\": true' '{job}'; then touch '{died}'; kill -SEGV $$; fi; "
            f"exec '{sys.executable}' \"$@\" < '{job}'"
        )
        self._replace_python(script, tmp_path, monkeypatch)
        assert load(plain).kernels == whole.kernels
        assert died.exists()

    def test_it_is_killed(
        self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody who kills it, or kprof, wants it to start again."""
        starts = tmp_path / "starts"
        self._replace_python(f"echo >> '{starts}'; kill -KILL $$", tmp_path, monkeypatch)
        with pytest.raises(UnreadableReport, match="SIGKILL"):
            load(plain)
        assert starts.read_text() == "\n"

    def test_it_hangs(self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._replace_python("sleep 30", tmp_path, monkeypatch)
        before = time.monotonic()
        with pytest.raises(UnreadableReport, match=r"not read within 0\.3 s"):
            load(plain, timeout_s=0.3)
        assert time.monotonic() - before < 5

    def test_it_is_too_slow(self) -> None:
        with pytest.raises(UnreadableReport, match="not read within"):
            load(DEMO, timeout_s=0.05)

    def test_it_may_not_grow_without_bound(
        self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        grow = f"exec {sys.executable} -c 'len(bytearray(2 << 30))'"
        self._replace_python(grow, tmp_path, monkeypatch)
        monkeypatch.setattr(standby, "_MEMORY_LIMIT", 1 << 30)
        with pytest.raises(UnreadableReport, match="MemoryError"):
            load(plain)

    def test_nothing_is_left_behind(
        self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "tmp"
        folder.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        load(plain)
        assert not list(folder.iterdir())
