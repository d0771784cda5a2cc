#!/usr/bin/env bash
# h200_visit.sh [--bundle DIR] [--out DIR] [--budget SECONDS] [--dry] STEP...
# One visit to a GPU machine that has neither git nor a compiler: makes the networks' files, carries the STEPs
# out in order, packs what they left into OUT/visit.tar* and prints a table last. Registers nothing: locks are
# committed before (`abba register M` needs no GPU), and `abba run` recomputes files, inputs and decisions there.
#
# A STEP is `profile` (the frozen baseline, op by op, into reports/baseline_profile_h200), the name of a
# manifest, or `all` (every published H200 experiment). A step that may not fit what is left of the budget is
# left out and said; Ctrl-C and the end of the budget stop a run after its current slot, with everything kept.
#
# --dry tries the script itself on any machine: copies of the manifests for the smallest network on the CPU, in a
# project of their own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

experiments=(
  baseline_profile_h200
  rope_dispatch_h200 rope_dispatch_h200_standard
  rope_index_h200 rope_index_h200_standard
  attention_output_h200 attention_output_h200_standard
  bias_h200 bias_h200_standard
  head_marker_rows_h200 head_marker_rows_h200_standard
  upload_h200 upload_h200_standard
  handles_h200 handles_h200_standard
  hook12_h200 hook12_h200_standard
  aa_null_h200 aa_null_h200_standard
)
baseline=(rope=row_block_32 attention_output=head_major bias=strided_div64 head_last_layer=all_tokens
  upload=separate_sync handles=per_launch gemm=heuristic dispatch=eager)
replaced=(rope=r1_h8 attention_output=row_major bias=rows_2d head_last_layer=marker_rows upload=grouped)
# cuBLASLt is not in the bundle: the toolkit's, or the one that comes with PyTorch.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib \
  /opt/torch/.venv/lib/python3*/site-packages/nvidia/cu13/lib; do
  [ -d "$folder" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
longest_step_s=120  # a run of 45 s, its worker starts and a machine that is slower than thought

bundle=$here/build/bundle out=${OUT:-$here/visit} budget=900 dry=
die() { printf 'h200_visit: %s\n' "$*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --bundle) bundle=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --budget) budget=$2; shift 2 ;;
    --dry) dry=1; shift ;;
    --help | -h) sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die "no option $1; see --help" ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || die "names no STEP; see --help"
[ -x "$bundle/bin/abba" ] || die "$bundle has no bin/abba; make it with ./dev bundle and carry it along"
bundle=$(cd "$bundle" && pwd)
abba=$bundle/bin/abba
mkdir -p "$out"
out=$(cd "$out" && pwd)
start=$SECONDS
left() { echo $((budget - (SECONDS - start))); }

steps=()
for step in "$@"; do
  if [ "$step" = all ]; then steps+=("${experiments[@]}"); else steps+=("$step"); fi
done

# The same experiments for a machine without a GPU: smallest network, CPU, factors of a device left out.
dry_project() {
  python3 - "$here" "$1" <<'PY'
import json, pathlib, re, shutil, sys
source, target = map(pathlib.Path, sys.argv[1:])
(target / "manifests").mkdir(parents=True)
shutil.copy(source / "abba.json", target)
shutil.copytree(source / "experiments/fixtures", target / "experiments/fixtures")
shutil.copy(source / "experiments/seed_baseline.json", target / "experiments")
tiny = {"path": ".abba/checkpoints/tiny",
        "sha256": "163f101671a7cb25afbfad9e8d7a1d6d21af4138c3384f31ec1f75b63a853372",
        "make": ["{abba}", "laya", "checkpoint", "make", "--config", "tiny", "--seed", "1", "--out", "{path}"]}
for file in sorted((source / "manifests").glob("*_h200*.json")):
    if file.name.endswith(".lock.json"):
        continue
    text = re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.M)
    manifest = json.loads(text)
    of_device = ("upload", "handles", "gemm", "dispatch")
    differs = [name for name in manifest["independent_variable"].split("+") if name not in of_device]
    if not differs:
        continue
    manifest["independent_variable"] = "+".join(differs)
    manifest["settings"] = {"backend": "cpu", "precision": "bf16", "threads": 1}
    manifest["device"] = "none"
    manifest["protocol"]["load"] = "expected"
    for arm in manifest["arms"].values():
        for factor in of_device:
            arm.get("factors", {}).pop(factor, None)
    for entry in manifest["files"]:
        if "make" in entry:
            entry.update(tiny)
    (target / "manifests" / file.name).write_text(json.dumps(manifest))
PY
}

project=$here require=(--require cuda)
if [ -n "$dry" ]; then
  project=$out/project require=()
  rm -rf "$project"
  dry_project "$project"
fi
cd "$project"
mkdir -p manifests/ledger
stamp=$out/.start
touch "$stamp"
rows=()

make_networks() {
  local config
  for config in "$@"; do
    [ -e ".abba/checkpoints/$config" ] ||
      "$abba" laya checkpoint make --config "$config" --seed 1 --out ".abba/checkpoints/$config" \
        --threads "$(nproc)" >"$out/make_$config.log" 2>&1 || die "could not make $config: $(tail -1 "$out/make_$config.log")"
  done
}

# profile_one NAME CHECKPOINT INPUT
profile_one() {
  local levels=() level folder=reports/baseline_profile_h200
  mkdir -p "$folder"
  local backend=cuda
  [ -n "$dry" ] && backend=cpu
  for level in "${baseline[@]}"; do levels+=(--factor "$level"); done
  for level in "${replaced[@]}"; do levels+=(--beside "$level"); done
  "$abba" laya profile ".abba/checkpoints/$2" --fixtures experiments/fixtures --input "$3" --backend "$backend" \
    "${levels[@]}" --out "$folder/$1"
}

profile_all() {
  local english=english student=student
  [ -n "$dry" ] && english=tiny student=tiny
  profile_one short_1 $english '{"fixture": "short_1"}'
  profile_one long_1 $english '{"fixture": "long_1"}'
  profile_one hook12_student $student \
    '{"hook": {"rows": 12, "tokens": 187, "batch": 8, "kind": "score", "seed": 12}}'
}

headline() {
  local file=$1
  "$abba" report "$file" --json 2>/dev/null | sed -n 's/^ *"headline": "\(.*\)",\{0,1\}$/\1/p' | sed -n 1p
}

# The newest run file of a manifest that this visit wrote, or nothing.
new_run() {
  [ ! -d "results/$1" ] || find "results/$1" -name '*.sqlite' -newer "$stamp" | sort | sed -n '$p'
}

run_step() {
  local name=$1 began=$SECONDS code=0 file words
  if [ "$(left)" -lt "$longest_step_s" ]; then
    rows+=("$name|–|–|left out: $(left) s of the budget left")
    return 0
  fi
  if [ "$name" = profile ]; then
    profile_all >"$out/profile.log" 2>&1 || code=$?
    rows+=("$name|$code|$((SECONDS - began)) s|$(tail -1 "$out/profile.log")")
    return 0
  fi
  if [ ! -f "manifests/$name.json" ]; then
    rows+=("$name|–|–|no such manifest here")
    return 0
  fi
  timeout --signal=INT --kill-after=60 "$(($(left) - 30))" \
    "$abba" run "manifests/$name.json" "${require[@]}" --quiet >"$out/$name.log" 2>&1 || code=$?
  file=$(new_run "$name")
  words=$([ -n "$file" ] && headline "$file" || true)
  [ -n "$words" ] || words=$(tail -1 "$out/$name.log")
  rows+=("$name|$code|$((SECONDS - began)) s|$words")
}

pack() {
  local files=()
  mkdir -p results reports .abba/failed
  find results -name '*.sqlite' -newer "$stamp" -exec xz -T0 -k -f {} + 2>/dev/null || true
  mapfile -t files < <({
    find results reports manifests/ledger -type f -newer "$stamp" ! -name '*.sqlite'
    find .abba/failed -type f -newer "$stamp"
  } | sort)
  tar -cf "$out/visit.tar" "${files[@]}" -C "$out" $(cd "$out" && ls -- *.log 2>/dev/null)
  # At most 15 MB a file: what comes back from a lent machine is bounded.
  if [ "$(stat -c %s "$out/visit.tar")" -gt 15000000 ]; then
    split -b 15000000 -d "$out/visit.tar" "$out/visit.tar."
    rm "$out/visit.tar"
  fi
  rm -f "$out"/*.log "$stamp"
  [ -z "$dry" ] || rm -rf "$project"
}

if [ -n "$dry" ]; then
  make_networks tiny
  for manifest in manifests/*.json; do "$abba" register "$manifest" >>"$out/register.log" 2>&1; done
else
  make_networks english student
fi
for step in "${steps[@]}"; do run_step "$step"; done
pack
printf '%-34s %-5s %-7s %s\n' step exit time 'what it says'
for row in "${rows[@]}"; do
  IFS='|' read -r name code time words <<<"$row"
  printf '%-34s %-5s %-7s %s\n' "$name" "$code" "$time" "$words"
done
printf '%s s of %s; packed: %s\n' "$((SECONDS - start))" "$budget" "$(cd "$out" && ls visit.tar* | tr '\n' ' ')"
