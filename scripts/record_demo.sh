#!/usr/bin/env bash
# Record the report that `kprof demo` replays where there is no GPU: the eight sample kernels a
# learner starts with, in one file. Needs nvcc, ncu and xz.
#
#   OUT=DIR scripts/record_demo.sh METRICS_FILE     writes DIR/demo.ncu-rep.xz
#
# ARCH and SOURCES as in record_samples.sh.
set -euo pipefail

metrics_file=${1:?usage: OUT=DIR scripts/record_demo.sh METRICS_FILE}
out=${OUT:?set OUT to a folder for the recording}
arch=${ARCH:-sm_90}
sources=${SOURCES:-/opt/kernels}
metrics=$(paste -sd, "$metrics_file") # before cd: the path may be relative
[[ -n $metrics ]] || { echo "$metrics_file names no metric" >&2; exit 2; } # ncu would take its basic set
repository=$(cd "$(dirname "$0")/.." && pwd)
samples=(
  vector_add/simple vector_add/grid_stride vector_add/float4
  transpose/naive transpose/unpadded transpose/padded
  depthwise_conv/naive depthwise_conv/tiled
)

mkdir -p "$out" "$sources/bin"
cp -r "$repository/sample_kernels/." "$sources/"
cd "$sources"
for sample in "${samples[@]}"; do
  nvcc "-arch=$arch" -O3 -lineinfo -std=c++17 -o "bin/${sample//\//-}" "$sample.cu" &
done
wait
programs=$(printf ' && ./bin/%s' "${samples[@]//\//-}")
ncu --export "$sources/demo" --force-overwrite --metrics "$metrics" \
  --target-processes all --import-source yes --clock-control none --cache-control all \
  bash -c "${programs# && }"
xz -9e --keep --stdout demo.ncu-rep >"$out/demo.ncu-rep.xz"
