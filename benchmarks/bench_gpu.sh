#!/usr/bin/env bash
# Try `kprof bench` on a GPU machine: its tests, then the operators that ship, with and without ncu.
#
#   OUT=DIR benchmarks/bench_gpu.sh
set -uo pipefail
out=${OUT:?set OUT to a folder for the results}
here=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v python3)
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}

cp -r "$here/tests/gpu" /tmp/kprof-gpu-tests
(cd /tmp/kprof-gpu-tests && timeout 170 "$python" -m pytest test_bench_gpu.py -c "$here/pyproject.toml" \
  --rootdir "$here" -o pythonpath= -rA -s -q -p no:cacheprovider) >"$out/bench_tests.txt" 2>&1
grep -E "^(PASSED|FAILED|ERROR|SKIPPED)|passed|failed" "$out/bench_tests.txt"

for name in $("$python" -m kprof bench --list); do
  timeout 200 "$python" -m kprof bench "$name" --python "$python" -o "$out/$name.json" \
    --force >"$out/$name.txt" 2>"$out/$name.log"
  echo "### $name: status $?"
  tail -n 60 "$out/$name.txt"
  timeout 200 "$python" -m kprof bench "$name" --python "$python" --profile --runs 20 \
    -o "$out/$name-why.html" --force >"$out/$name-why.txt" 2>>"$out/$name.log"
  echo "### $name --profile: status $?"
  tail -n 60 "$out/$name-why.txt"
done
