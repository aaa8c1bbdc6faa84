#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# scripts/release.sh [--seconds N] [--only PARTS] [PAGE]
#
# Everything that is checked before a release, in one go, which takes hours: the tests in their long form, with
# sanitizers, under ThreadSanitizer, the static checks, the fuzz targets for N seconds each (600) with the lines that
# they reach, the Debian packages, and on a machine with an NVIDIA GPU the tests that need one. Writes one page
# (build/release.md) with a line for each part. Exit status 1: a part failed.
# --only "lint,packages" runs these parts; the page names the others as not run.
set -u
cd "$(dirname "$0")/.." || exit 1

seconds=600 only='' page=build/release.md
while [ $# -gt 0 ]; do
  case $1 in
  --seconds) seconds=$2 && shift ;;
  --only) only=$2 && shift ;;
  -h | --help) sed -n '4,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) echo "unknown option $1" >&2 && exit 2 ;;
  *) page=$1 ;;
  esac
  shift
done
mkdir -p "$(dirname "$page")" build/release
failed=0

# part NAME COMMAND...: runs it, with a log, and adds its last line to the page.
part() {
  local name=$1 log=build/release/${1// /-}.log begin=$SECONDS result=passed
  shift
  if [ -n "$only" ] && [[ ",$only," != *",$name,"* ]]; then
    echo "| $name | not run | left out by --only | |" >>"$page"
    return
  fi
  echo "== $name" >&2
  "$@" >"$log" 2>&1 </dev/null || { result=FAILED && failed=1; }
  printf '| %s | %s | %s | %d s |\n' "$name" "$result" "$(tail -n 1 "$log" | tr '|' '/')" $((SECONDS - begin)) >>"$page"
}

# 10^5 frames through the elements of the first part's build.
# shellcheck disable=SC2317 # called by part
long_run() { meson devenv -C build tests/soak --frames=100000; }

{
  echo "# Release $(sed -n "s/^ *version: '\\(.*\\)',/\\1/p" meson.build | head -n 1), commit $(git rev-parse --short HEAD)"
  echo
  # shellcheck source=/dev/null
  echo "$(. /etc/os-release && echo "$PRETTY_NAME"), $(nproc) cores, $(date -u +%Y-%m-%d)"
  echo
  echo "| part | result | last line | time |"
  echo "|---|---|---|---|"
} >"$page"
part tests ./tests/run.sh --long --werror
part lint ./tests/lint.sh
part sanitizers ./tests/run.sh --long --asan --werror
part "races of threads" ./tests/tsan/run.sh --long
part soak long_run
part fuzzing ./tests/fuzz/run.sh --seconds "$seconds"
part "lines reached" ./tests/fuzz/coverage.sh build-fuzz/session/corpus
part packages ./scripts/deb.sh
if nvidia-smi -L >/dev/null 2>&1; then
  part "GPU" ./tests/gpu.sh
else
  echo "| GPU | not run | no NVIDIA GPU | |" >>"$page"
fi
for list in fuzzing lines-reached; do
  printf '\n## %s\n\n' "$list" | tr - ' ' >>"$page"
  grep -E '^(target|fuzz-|common/|gst )' "build/release/$list.log" | sed 's/^/    /' >>"$page"
done
cat "$page"
exit $failed
