#!/usr/bin/env bash
# Record every sample kernel on a GPU machine, twice: with the metrics named in a file, and with
# ncu's full section set. Needs nvcc, ncu and python3; kprof need not be installed.
#
#   OUT=DIR scripts/record_samples.sh METRICS_FILE
#
# METRICS_FILE holds one metric per line. OUT receives plan.tar and full.tar, each with one
# <topic>-<file>.ncu-rep.xz per sample, and manifest.json: machine, versions, exact commands, wall
# times and exit statuses. The exit status is 0 only if every sample passed and was recorded.
#
# STEPS="plan" leaves the full recordings out (default "plan full"). ONLY=REGEX records the samples
# whose <topic>-<file> matches, FULL_ONLY=REGEX those recorded with the full set; ARCH sets nvcc's
# -arch (sm_90); JOBS runs so many ncu at once (1): they take turns with the GPU's counters (ncu's
# lock file) and only start and end side by side. After BUDGET_S seconds no further recording starts;
# what is there is packed all the same. SOURCES sets where the sources are copied to and built (/opt/kernels): that path ends up in the
# reports, so it should say nothing about the machine.
set -euo pipefail

metrics_file=${1:?usage: OUT=DIR scripts/record_samples.sh METRICS_FILE}
out=${OUT:?set OUT to a folder for the recordings}
only=${ONLY:-.}
full_only=${FULL_ONLY:-.}
jobs=${JOBS:-1}
budget_s=${BUDGET_S:-86400}
steps=${STEPS:-plan full}
arch=${ARCH:-sm_90}
sources=${SOURCES:-/opt/kernels}
limit_s=60 # per program run; a healthy one takes a second or two, under ncu a few more
repository=$(cd "$(dirname "$0")/.." && pwd)

for folder in "${CUDA_HOME:-}" /usr/local/cuda /usr/local/cuda-*; do
  if [[ -n $folder && -d $folder/bin ]]; then PATH=$PATH:$folder/bin; fi
done
for tool in nvcc ncu python3; do
  command -v "$tool" >/dev/null || { echo "$tool is not on PATH" >&2; exit 2; }
done
metrics=$(grep -v '^[[:space:]]*\(#\|$\)' "$metrics_file" | tr -d ' \t\r' | paste -sd, -)
[[ -n $metrics ]] || { echo "$metrics_file names no metric" >&2; exit 2; }

[[ ! -e $out/manifest.json ]] || { echo "$out already holds recordings" >&2; exit 2; }

mkdir -p "$out" "$sources/bin"
cp -r "$repository/sample_kernels/." "$sources/"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/plan" "$work/full" "$work/logs"
log=$work/runs.tsv # name, step, exit status, seconds, command
export LC_ALL=C # a decimal point in EPOCHREALTIME
now() { echo "$EPOCHREALTIME"; }

# timed NAME STEP COMMAND...: run it, note how it went, return its exit status.
timed() {
  local name=$1 step=$2 status=0 start end
  shift 2
  start=$(now)
  timeout "$limit_s" "$@" >"$work/logs/$name.$step" 2>&1 || status=$?
  end=$(now)
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$step" "$status" \
    "$(python3 -c "print(round($end - $start, 3))")" "${*@Q}" >>"$log"
  return "$status"
}

# The step of one sample, in a line of its own on the terminal.
report() { # NAME STEP STATUS
  if [[ $3 == 0 ]]; then
    echo "ok    $2 $1"
  else
    echo "FAIL  $2 $1 (exit status $3)"
    tail -n 5 "$work/logs/$1.$2" | sed 's/^/      /'
  fi
}

build_and_run() { # SOURCE, relative to $sources
  local name=${1%.cu} status=0
  name=${name//\//-}
  timed "$name" build nvcc "-arch=$arch" -O3 -lineinfo -std=c++17 -o "bin/$name" "$1" || status=$?
  if [[ $status != 0 ]]; then report "$name" build "$status"; return; fi
  timed "$name" plain "$sources/bin/$name" || status=$?
  report "$name" plain "$status"
}

record() { # NAME STEP NCU_OPTIONS...
  local name=$1 step=$2 status=0
  shift 2
  if (( ${EPOCHREALTIME%.*} - ${started%.*} > budget_s )); then echo "late  $step $name"; return; fi
  timed "$name" "$step" ncu --export "$work/$step/$name" "$@" --target-processes all --nvtx \
    --import-source yes --clock-control none --cache-control all "$sources/bin/$name" || status=$?
  report "$name" "$step" "$status"
}

cd "$sources"
mapfile -t files < <(find . -mindepth 2 -name '*.cu' -printf '%P\n' | sort)
chosen=()
for file in "${files[@]}"; do
  name=${file%.cu}
  if grep -Eq -- "$only" <<<"${name//\//-}"; then chosen+=("$file"); fi
done
[[ ${#chosen[@]} -gt 0 ]] || { echo "no sample matches '$only'" >&2; exit 2; }

started=$(now)
# Builds and plain runs side by side.
export -f build_and_run timed report now
export work log sources arch limit_s
# shellcheck disable=SC2016 # $1 belongs to the inner shell
printf '%s\0' "${chosen[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'build_and_run "$1"' _ {}

record_step() { # STEP SOURCE; only correct kernels are worth recording
  local step=$1 name=${2%.cu}
  name=${name//\//-}
  grep -q "^$name	plain	0	" "$log" || return 0
  if [[ $step == plan ]]; then
    record "$name" plan --metrics "$metrics"
  elif grep -Eq -- "$full_only" <<<"$name"; then
    record "$name" full --set full
  fi
}
export -f record_step record
export metrics full_only started budget_s
for step in $steps; do
  # shellcheck disable=SC2016 # $1 and $2 belong to the inner shell
  printf '%s\0' "${chosen[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'record_step "$1" "$2"' _ "$step" {}
done

OUT=$out WORK=$work METRICS=$metrics ELAPSED=$(python3 -c "print($(now) - $started)") \
  ONLY_COUNT=${#chosen[@]} STEPS="$steps" python3 - <<'PYTHON'
import concurrent.futures
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile

LIMIT = 16 * 2**20  # bytes per tar
out, work = pathlib.Path(os.environ["OUT"]), pathlib.Path(os.environ["WORK"])


def output_of(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not available: {error}"
    return done.stdout.strip()


def compress(path):
    packed = path.with_name(path.name + ".xz")
    # -9e: reports are mostly repeated tables and shrink to about a tenth
    packed.write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    return packed


def pack(step):
    reports = sorted((work / step).glob("*.ncu-rep"))
    with concurrent.futures.ProcessPoolExecutor() as pool:
        packed = list(pool.map(compress, reports))
    target = out / f"{step}.tar"
    with tarfile.open(target, "w") as archive:
        for path in packed:
            archive.add(path, arcname=path.name)
    size = target.stat().st_size
    print(f"{target}: {len(packed)} reports, {size / 2**20:.2f} MiB")
    return size, {path.name: path.stat().st_size for path in packed}


def runs():
    for line in (work / "runs.tsv").read_text().splitlines():
        name, step, status, seconds, command = line.split("\t")
        yield {
            "sample": name,
            "step": step,
            "exit_status": int(status),
            "seconds": float(seconds),
            "command": command,
        }


sizes = {step: pack(step) for step in os.environ["STEPS"].split()}
done = list(runs())
gpu, driver = (
    output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    .partition("\n")[0]
    .partition(", ")[::2]
)
manifest = {
    "gpu": gpu,
    "driver": driver,
    "ncu": output_of("ncu", "--version").splitlines()[-1:],
    "cuda": output_of("nvcc", "--version").splitlines()[-2:],
    "metrics": os.environ["METRICS"].split(","),
    "elapsed_seconds": round(float(os.environ["ELAPSED"]), 1),
    "bytes": {step: entries for step, (_, entries) in sizes.items()},
    "runs": done,
}
(out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")

failed = [run for run in done if run["exit_status"]]
recorded = len(sizes[next(iter(sizes))][1])
print(f"{recorded} of {os.environ['ONLY_COUNT']} samples recorded in {manifest['elapsed_seconds']} s")
for run in failed:
    print(f"failed: {run['sample']} {run['step']}, exit status {run['exit_status']}")
too_large = [step for step, (size, _) in sizes.items() if size > LIMIT]
for step in too_large:
    print(f"{step}.tar is larger than {LIMIT // 2**20} MiB")
sys.exit(1 if failed or too_large or recorded < int(os.environ["ONLY_COUNT"]) else 0)
PYTHON
