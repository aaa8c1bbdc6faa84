#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/lint.sh [BUILD]
#
# Static checks of the C sources: clang-tidy with the checks of .clang-tidy over everything that the
# build folder BUILD (default: build) compiles but the tests, and cppcheck. Ends with "N passed, N failed, N skipped".
# A finding is mended; one that is wrong is silenced on its line, with the reason (NOLINTNEXTLINE,
# cppcheck-suppress).
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
passed=0 failed=0 skipped=0

# check NAME COMMAND...: passes when the command ends well and says nothing.
check() {
  local name=$1 said
  shift
  if said=$("$@" 2>&1) && [ -z "$said" ]; then
    passed=$((passed + 1))
    echo "$name: ok"
  else
    failed=$((failed + 1))
    echo "$name: FAILED"
    printf '%s\n' "$said" | sort -u | head -n 60
  fi
}

skip() {
  skipped=$((skipped + 1))
  echo "$1: skipped: $2"
}

# The C files of the compilation database but those of the tests, each once.
sources() {
  sed -nE 's/^ *"file": "([^"]*\.c)".*/\1/p' "$build/compile_commands.json" | sort -u |
    (cd "$build" && xargs realpath) | { grep -v "^$PWD/tests/" || true; }
}

# Checks differ from version to version; findings only.
tidy() {
  sources | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2>/dev/null |
    { grep -E '(error|warning):|note:' || true; }
}

cpp() {
  cppcheck --quiet --std=c11 --enable=warning,portability --library=gtk --library=posix --inline-suppr \
    -j "$(nproc)" -I . -I common -I "$build" --suppressions-list=tests/cppcheck-suppressions.txt \
    --template='{file}:{line}: {message} [{id}]' common cuda/host gst examples
}

if [ ! -e "$build/compile_commands.json" ]; then
  skip clang-tidy "$build is no configured build folder"
else
  case $(clang-tidy --version 2>/dev/null) in
  *' 14.'*) check clang-tidy tidy ;;
  *) skip clang-tidy "no clang-tidy 14" ;;
  esac
fi
if command -v cppcheck >/dev/null; then
  check cppcheck cpp
else
  skip cppcheck "not installed"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
