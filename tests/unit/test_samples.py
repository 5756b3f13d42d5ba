from __future__ import annotations

import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof import samples
from kprof.cli import main
from kprof.errors import BuildFailed, NvccNotFound, OutputExists, OutputNotWritable, UnknownSample

ASKED_FOR = {
    "vector_add": {"simple", "grid_stride", "float4"},
    "transpose": {"naive", "padded", "unpadded"},
    "depthwise_conv": {"naive", "tiled", "tuned", "fused"},
}
# What looks like a fault and is none: tests/golden/test_look_alikes.py says of what.
NEGATIVES = {"look_alikes"}
# The names the design fixes for rules; the catalogue may not hold all of them yet.
RULES = {
    "dram-bandwidth-bound", "l2-bandwidth-bound", "l1-bandwidth-bound", "memory-latency-bound",
    "uncoalesced-global-access", "narrow-global-access", "local-memory-traffic", "low-l2-reuse",
    "partition-camping", "remote-memory-traffic", "synchronous-tile-copy",
    "shared-bank-conflicts", "shared-memory-bandwidth-bound", "shared-atomic-contention",
    "compute-bound", "issue-bound", "tensor-core-bound", "tensor-cores-unused",
    "tensor-pipe-underused", "fp64-usage", "unfused-multiply-add", "special-function-bound",
    "integer-bound", "unpacked-half",
    "occupancy-limited-by-registers", "occupancy-limited-by-shared-memory",
    "occupancy-limited-by-block-size", "achieved-occupancy-gap", "grid-too-small", "tail-effect",
    "partial-warps", "workload-imbalance", "launch-overhead-bound", "cluster-limited-occupancy",
    "dependency-stalls", "barrier-stalls", "thread-divergence", "instruction-cache-misses",
    "atomic-contention", "memory-fence-stalls",
    "fusion-candidate", "many-small-launches", "layout-copies", "config-spread",
}  # fmt: skip
ALL = samples.samples()


def _nvcc() -> Path | None:
    try:
        return samples.find_nvcc()
    except NvccNotFound:
        return None


NVCC = _nvcc()
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on this machine")


def _environment() -> dict[str, str]:
    """The tests' environment with no GPU in it, so that results do not depend on the machine."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_asked_for_samples_are_there() -> None:
    topics: dict[str, set[str]] = {}
    for sample in ALL:
        topic, _, name = sample.name.partition("/")
        topics.setdefault(topic, set()).add(name)
    for topic, names in ASKED_FOR.items():
        assert topics[topic] == names


def test_every_other_topic_is_a_rule_with_a_bad_example() -> None:
    topics = {sample.name.partition("/")[0] for sample in ALL} - set(ASKED_FOR) - NEGATIVES
    assert topics <= RULES
    names = {sample.name for sample in ALL}
    assert {f"{topic}/bad" for topic in topics} <= names


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_a_sample_says_what_it_is_and_checks_itself(sample: samples.Sample) -> None:
    assert sample.shows
    assert sample.arguments.startswith("[")
    assert sample.expect
    launches = [line for line in sample.source.splitlines() if "<<<" in line]
    shared = re.search(r"return \w+_and_check(<\w+>)?\(", sample.source)
    assert len(launches) == (0 if shared else 1), "one launch, or that of the shared header"
    if launches:
        assert "CUDA_CHECK_LAUNCH();" in sample.source
        assert "return sample::compare" in sample.source


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_a_bad_example_expects_its_own_rule(sample: samples.Sample) -> None:
    topic, _, name = sample.name.partition("/")
    first = re.split(r"[ ,(]", sample.expect)[0]
    if topic in RULES and name == "bad":
        assert first == topic
    if topic in RULES and name == "good":
        assert first != topic
    assert first in RULES or sample.expect.startswith("none")


def test_every_launch_in_a_shared_header_is_checked() -> None:
    for path, text in samples._sources().items():
        # A launcher that others call returns what the launch said.
        checked = text.count("CUDA_CHECK_LAUNCH();") + text.count("return cudaGetLastError();")
        assert text.count(">>>(") == checked, path


def test_select_takes_a_sample_or_a_topic() -> None:
    assert [s.name for s in samples.select("transpose/padded")] == ["transpose/padded"]
    assert [s.name for s in samples.select("transpose-padded")] == ["transpose/padded"]
    assert [s.name for s in samples.select("transpose/padded.cu")] == ["transpose/padded"]
    assert len(samples.select("vector_add")) == 3


def test_an_unknown_name_suggests_a_near_one() -> None:
    with pytest.raises(UnknownSample, match="transpose/paded") as caught:
        samples.select("transpose/paded")
    assert "transpose/padded" in str(caught.value.hint)


def test_nvcc_is_found_in_the_order_the_user_expects(tmp_path: Path) -> None:
    toolkit = tmp_path / "root/usr/local/cuda-13.0/bin/nvcc"
    _program(toolkit, "#!/bin/sh\n")
    assert samples.find_nvcc({}, tmp_path / "root") == toolkit
    home = tmp_path / "home/bin/nvcc"
    _program(home, "#!/bin/sh\n")
    environ = {"CUDA_HOME": str(tmp_path / "home")}
    assert samples.find_nvcc(environ, tmp_path / "root") == home
    on_path = tmp_path / "path/nvcc"
    _program(on_path, "#!/bin/sh\n")
    environ["PATH"] = f"{tmp_path / 'empty'}{os.pathsep}{tmp_path / 'path'}"
    assert samples.find_nvcc(environ, tmp_path / "root") == on_path
    on_path.chmod(0o644)  # not executable
    assert samples.find_nvcc(environ, tmp_path / "root") == home


def test_no_nvcc_names_the_places_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(NvccNotFound, match="no nvcc in PATH") as caught:
        samples.find_nvcc({"PATH": str(tmp_path)}, tmp_path)
    assert "CUDA_HOME" in str(caught.value.hint)


def test_a_compiler_that_fails_is_one_line_with_its_own_words(tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    _program(
        nvcc, "#!/bin/sh\necho 'chatter' >&2\necho 'x.cu(3): error: no such thing' >&2\nexit 2\n"
    )
    with pytest.raises(BuildFailed, match=r"simple\.cu: x\.cu\(3\): error: no such thing$"):
        samples.build(samples.select("vector_add/simple")[0], out_dir=tmp_path / "out", nvcc=nvcc)
    assert not (tmp_path / "out/vector_add-simple").exists()


@pytest.mark.parametrize(("arch", "shown"), [("sm_90", ["-arch=sm_90"]), ("native", [])])
def test_the_hint_is_the_command_that_failed(tmp_path: Path, arch: str, shown: list[str]) -> None:
    nvcc, out = tmp_path / "a b" / "nvcc", tmp_path / "out"
    nvcc.parent.mkdir()
    _program(nvcc, '#!/bin/sh\necho "error: no: $*"\nexit 2\n')
    with pytest.raises(BuildFailed) as caught:
        samples.build(samples.select("vector_add/simple")[0], out_dir=out, arch=arch, nvcc=nvcc)
    source = str(out / "sources/vector_add/simple.cu")
    expected = [str(nvcc), *shown, *samples.FLAGS, "-o", os.devnull, source]
    assert shlex.split(str(caught.value.hint).removeprefix("see all of it: ")) == expected


def test_a_compiler_that_does_not_know_native_builds_for_its_default(
    tmp_path: Path, cache: Path
) -> None:
    nvcc = tmp_path / "nvcc"
    _program(
        nvcc,
        "#!/bin/sh\n"
        '[ "$1" = -arch=native ] && { echo "nvcc fatal: Value \'native\' is not defined"; exit 1; }\n'
        'while [ "$1" != -o ]; do shift; done\n'
        'echo "#!/bin/sh" > "$2"; chmod +x "$2"\n',
    )
    program = samples.build(samples.select("vector_add/simple")[0], nvcc=nvcc)
    assert program.is_relative_to(cache)
    assert os.access(program, os.X_OK)


def test_a_compiler_that_cannot_start_is_a_known_failure(tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    _program(nvcc, "#!/no/such/interpreter\n")
    with pytest.raises(BuildFailed, match="No such file"):
        samples.build(samples.select("vector_add/simple")[0], out_dir=tmp_path / "out", nvcc=nvcc)


def test_a_program_in_the_users_folder_is_not_replaced_unasked(tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    _program(nvcc, '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho new > "$2"\n')
    sample = samples.select("vector_add/simple")[0]
    (tmp_path / "vector_add-simple").write_text("mine")
    with pytest.raises(OutputExists):
        samples.build(sample, out_dir=tmp_path, nvcc=nvcc)
    assert (tmp_path / "vector_add-simple").read_text() == "mine"
    samples.build(sample, out_dir=tmp_path, nvcc=nvcc, force=True)
    assert (tmp_path / "vector_add-simple").read_text() == "new\n"
    assert not list(tmp_path.glob(".build-*"))


def test_a_folder_that_cannot_be_made_is_a_known_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputNotWritable):
        samples.build(
            samples.select("vector_add/simple")[0], out_dir=tmp_path / "file/x", nvcc=Path("nvcc")
        )


@needs_nvcc
def test_every_source_compiles(tmp_path: Path) -> None:
    samples._write_sources(tmp_path)

    def compile_one(sample: samples.Sample) -> str:
        done = subprocess.run(
            [str(NVCC), "-arch=sm_90", "-std=c++17", "-Werror", "all-warnings", "-ptx", "-o",
             tmp_path / f"{sample.slug}.ptx", tmp_path / f"{sample.name}.cu"],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        return f"{sample.name}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert [text for text in pool.map(compile_one, ALL) if text] == []


@needs_nvcc
def test_a_built_sample_is_reused_and_refuses_bad_arguments(cache: Path) -> None:
    sample = samples.select("vector_add/simple")[0]
    program = samples.build(sample)
    assert program.is_relative_to(cache)
    assert (program.parent / "sources/vector_add/simple.cu").read_text() == sample.source
    before = program.stat().st_mtime_ns
    assert samples.build(sample) == program
    assert program.stat().st_mtime_ns == before

    for arguments, said in (
        (["12x"], "must be a whole number"),
        (["0"], "must be a whole number from 1"),
        (["-1"], "must be a whole number"),
        (["99999999999999999999999"], "must be a whole number"),
        (["1", "2"], "too many arguments"),
        (["1000"], "cuda"),  # good arguments, no GPU
    ):
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, check=False, env=_environment()
        )
        assert done.returncode == 2
        assert said in done.stderr


HOST_PROGRAM = """
#include "chain.cuh"
#include "depthwise_conv/layer.cuh"
#include "transpose/matrix.cuh"

#define EXPECT(condition) if (!(condition)) { std::printf("line %d\\n", __LINE__); return 9; }

int main() {
  const std::vector<float> good = {1.0f, 2.0f, 3.0f};
  auto one_up = [](std::size_t i) { return static_cast<double>(i + 1); };
  EXPECT(sample::compare("t", good, one_up) == 0);
  EXPECT(sample::compare("t", std::vector<float>{1.0f, 2.0f, 3.1f}, one_up) == 1);
  EXPECT(sample::compare("t", std::vector<float>{1.0f, 2.0f, 3.1f}, one_up, {0.2, 0.0}) == 0);
  std::vector<float> poisoned = good;
  std::memset(&poisoned[1], 0xFF, sizeof(float));
  EXPECT(sample::compare("t", poisoned, one_up, {1e30, 1e30}) == 1);
  EXPECT(sample::compare_sampled("t", poisoned, one_up, {1e30, 1e30}) == 1);
  EXPECT(sample::compare_sampled("t", good, one_up, {}) == 0);

  for (std::size_t i = 0; i < 100000; ++i) {
    const float value = sample::uniform(7, i);
    EXPECT(value >= -1.0f && value < 1.0f);
  }
  EXPECT(sample::uniform(1, 5) != sample::uniform(2, 5));

  const std::vector<std::uint32_t> next = sample::chain(1 << 12, 3);
  std::vector<bool> seen(next.size());
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    EXPECT(!seen[node]);
    seen[node] = true;
    node = next[node];
  }
  EXPECT(node == 0);

  const std::vector<float> matrix = sample::random_floats(37 * 65, 1);
  const std::vector<float> turned = transposed(matrix, 37, 65);
  for (std::size_t row = 0; row < 37; ++row)
    for (std::size_t column = 0; column < 65; ++column)
      EXPECT(turned[column * 37 + row] == matrix[row * 65 + column]);

  // Two planes of 2 x 3; the second channel's weights pick the pixel above.
  const Shape shape{2, 2, 3};
  const std::vector<float> input = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
  const std::vector<float> weights = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT(reference(input, weights, shape, 0) == 1 + 2 + 4 + 5);
  EXPECT(reference(input, weights, shape, 1) == 21);
  EXPECT(reference(input, weights, shape, 8) == 0);
  EXPECT(reference(input, weights, shape, 11) == 30);
  return 0;
}
"""


@needs_nvcc
def test_the_references_and_the_comparison_are_right(tmp_path: Path) -> None:
    samples._write_sources(tmp_path)
    source = tmp_path / "host.cu"
    source.write_text("#include <cstring>\n" + HOST_PROGRAM)
    built = subprocess.run(
        [str(NVCC), "-arch=sm_90", "-std=c++17", "-o", tmp_path / "host", source],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    done = subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_list_and_show() -> None:
    listed = CliRunner().invoke(main, ["samples"])
    assert listed.exit_code == 0
    assert listed.output == CliRunner().invoke(main, ["samples", "list"]).output
    for sample in ALL:
        assert sample.name in listed.output
    shown = CliRunner().invoke(main, ["samples", "show", "transpose/unpadded"])
    assert shown.output == samples.select("transpose/unpadded")[0].source


@pytest.mark.parametrize("name", ["nothing-like-it", "transpose"])
def test_show_needs_one_sample(name: str) -> None:
    shown = CliRunner().invoke(main, ["samples", "show", name])
    assert shown.exit_code == 2
    assert "Hint: " in shown.stderr
    assert shown.stdout == ""


def test_build_and_run_through_the_command_line(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stand-in compiler whose programs end with the status they are told to.
    _program(
        tmp_path / "bin/nvcc",
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        'printf \'#!/bin/sh\\nexit "$1"\\n\' > "$2"; chmod +x "$2"\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    built = CliRunner().invoke(main, ["samples", "build", "vector_add", "transpose/padded"])
    assert built.exit_code == 0
    assert len(built.stdout.splitlines()) == 4
    assert all(Path(line).is_relative_to(cache) for line in built.stdout.splitlines())
    for status in (0, 1, 2):
        ran = CliRunner().invoke(main, ["samples", "run", "vector_add/simple", str(status)])
        assert ran.exit_code == status


def test_build_without_nvcc_is_exit_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if list(Path("/").glob("usr/local/cuda*/bin/nvcc")):
        pytest.skip("nvcc is in /usr/local, where it is always found")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    built = CliRunner().invoke(main, ["samples", "build"])
    assert built.exit_code == 2
    assert "Error: no nvcc" in built.stderr
