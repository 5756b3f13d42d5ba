#!/bin/sh
# Create a virtual environment with a Python that kprof runs on; keep one that already works.
#
#   scripts/create_venv.sh DIR [PYTHON]
#
# Without PYTHON: python3, and where that is too old or cannot make environments, the newest that
# can. What is missing is said in two lines: cause and fix.
set -eu

venv=$1
asked=${2:-}
oldest=10 # of Python 3

is_new_enough() { "$1" -c "import sys; sys.exit(sys.version_info < (3, $oldest))" 2>/dev/null; }
# Debian and Ubuntu ship venv without ensurepip until python3-venv is installed.
makes_environments() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
stop() {
  echo "Error: $1" >&2
  echo "Hint: $2" >&2
  exit 2
}

if is_new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  exit 0
fi

if [ -n "$asked" ]; then
  set -- "$asked"
else
  set -- python3 python3.14 python3.13 python3.12 python3.11 python3.10
fi
chosen='' new_enough=''
for python in "$@"; do
  if is_new_enough "$python"; then
    new_enough=${new_enough:-$python}
    if makes_environments "$python"; then chosen=$python; break; fi
  fi
done

if [ -z "$new_enough" ]; then
  found=$("$1" --version 2>/dev/null) || found="no $1"
  stop "kprof needs Python 3.$oldest or newer, found $found" \
    "apt install python3 python3-venv, or name another one: make PYTHON=/path/to/python3"
fi
if [ -z "$chosen" ]; then
  stop "$new_enough cannot create virtual environments (ensurepip is missing)" \
    "apt install $(basename "$new_enough")-venv"
fi
# A half-made environment would look like a working one to the next run.
"$chosen" -m venv --clear "$venv" || { rm -rf "$venv"; exit 2; }
