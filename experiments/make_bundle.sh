#!/usr/bin/env bash
# make_bundle.sh BUILD OUT: copies the programs and the libraries a bare machine lacks into OUT/{bin,lib}.
# The programs find the libraries through their RPATH ($ORIGIN/../lib), so the folder can be moved.
set -euo pipefail
build=$1 out=$2

# What every glibc system has itself, and what a GPU machine has with its toolkit (half a gigabyte; the
# programs' RPATH names the usual folders); anything else a program needs travels along.
is_system() {
  case "$1" in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux-* | linux-vdso* | libcublasLt.so.*) return 0 ;;
    *) return 1 ;;
  esac
}

copy_libraries() {
  local name path
  while read -r name path; do
    is_system "$name" || cp -Lf "$path" "$out/lib/$name"
  done < <(ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}')
}

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
for program in abba abba-laya; do
  [ -x "$build/bin/$program" ] || continue
  copy_libraries "$build/bin/$program"
  cp -f "$build/bin/$program" "$out/bin/"
  strip "$out/bin/$program"
done

"$(dirname "${BASH_SOURCE[0]}")/copy_tracer.sh" "$build" "$out/lib"

# A program of the bundle must find everything without the folders of this build.
for program in "$out"/bin/*; do
  if ldd "$program" | grep 'not found'; then
    echo "make_bundle: $program lacks libraries (above)" >&2
    exit 5
  fi
done
du -sh "$out" | awk '{print "bundle: " $2 ", " $1}'
