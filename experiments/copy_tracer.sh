#!/usr/bin/env bash
# copy_tracer.sh BUILD LIB: what `abba` injects into the workers of a trace pass, and CUPTI, which it opens there:
# that is small, and not every machine with a driver has it. Nothing where the build has no tracer.
set -euo pipefail
build=$1 lib=$2
[ -f "$build/lib/libabba_trace.so" ] || exit 0
cp -f "$build/lib/libabba_trace.so" "$lib/"
strip --strip-unneeded "$lib/libabba_trace.so"
for folder in /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 /usr/local/cuda/lib; do
  if [ -f "$folder/libcupti.so.13" ]; then
    cp -Lf "$folder/libcupti.so.13" "$lib/"
    exit 0
  fi
done
echo "copy_tracer: no libcupti.so.13 with a toolkit here; the bundle traces where the machine has one" >&2
