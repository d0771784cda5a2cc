#!/usr/bin/env bash
# Every source file stands as clang-format leaves it. Without clang-format the check cannot be made: that
# is a failure under ABBA_REQUIRE_CLANG_FORMAT=1 (which ./dev test sets) and a skip (exit 77) otherwise.
set -euo pipefail
cd "$1"
if ! command -v clang-format >/dev/null; then
  echo "clang-format is not installed; ./dev setup installs it"
  [ "${ABBA_REQUIRE_CLANG_FORMAT:-0}" = 1 ] && exit 1
  exit 77
fi
git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh' |
  xargs clang-format --dry-run --Werror
