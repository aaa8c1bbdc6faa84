#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu.sh [--quick] [--bench] [BUILD]
#
# All that only a machine with an NVIDIA GPU can test, with the programs of the build folder BUILD
# (default: build). Needs no build tools on that machine. Ends with "N passed, N failed, N skipped".
#   --quick   a small part of the damaged streams and of the long run
#   --bench   then tests/gpu-bench.sh, which can be run without these tests as well
# CJ2K_SHARED names the folder with conformance/ and malformed/ (default: ../shared), CJ2K_STREAMS one
# with codestreams of uhd_rgb12 for the long run and the benchmark, CJ2K_FRAMES one with raw frames.
set -u
shopt -s lastpipe # count, at the end of a pipe, adds to this shell's sums
cd "$(dirname "$0")/.." || exit 1
root=$PWD quick= bench= build=build
for argument in "$@"; do
  case $argument in
  --quick) quick=1 ;;
  --bench) bench=1 ;;
  *) build=$argument ;;
  esac
done
build=$(cd "$build" && pwd) || exit 1
export CJ2K_SHARED=${CJ2K_SHARED:-$root/../shared} PYTHONPATH=$root/tests/support
streams=${CJ2K_STREAMS:-} frames=${CJ2K_FRAMES:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# count NAME: adds up the TAP on standard input, shows what is not ok.
count() {
  local name=$1 text p f
  text=$(cat)
  p=$(grep -c '^ok' <<<"$text") f=$(grep -c '^not ok' <<<"$text")
  if grep -q '^1\.\.0' <<<"$text"; then
    echo "$name: skipped: $(grep '^1\.\.0' <<<"$text")"
    skipped=$((skipped + 1))
    return
  fi
  if ! grep -q '^1\.\.' <<<"$text"; then
    echo "$name: did not end: $(tail -n 3 <<<"$text")"
    f=$((f + 1))
  fi
  passed=$((passed + p)) failed=$((failed + f))
  echo "$name: $p passed, $f failed $(grep '^# .*by the CPU' <<<"$text")"
  grep -A1 '^not ok' <<<"$text" | head -n 20
}

# check NAME COMMAND...: one test.
check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: ok $(tail -n 1 "$work/log")"
  else
    failed=$((failed + 1))
    echo "$name: FAILED"
    tail -n 15 "$work/log"
  fi
}

skip() {
  skipped=$((skipped + 1))
  echo "$1: skipped: $2"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1

# --- CPU against CUDA
for program in "$build"/tests/*-equal "$build"/tests/device-limits; do
  [ -x "$program" ] && timeout 900 "$program" | count "$(basename "$program")"
done
damages=20
[ -n "$quick" ] && damages=4
timeout 900 "$build/tests/decode-equal" --damage $damages | count "decode-equal with damage"
timeout 600 "$build/tests/decode-equal" "$CJ2K_SHARED"/malformed/* | count "decode-equal malformed"

# --- conformance through CUDA
printf '#!/bin/sh\nexec %s/examples/cj2k-decode --backend cuda "$@"\n' "$build" >"$work/decode"
chmod +x "$work/decode"
if python3 -c 'import numpy' 2>/dev/null; then
  CJ2K_DECODE=$work/decode CJ2K_TEST_THREADS=2 timeout 900 python3 tests/conformance/conformance.py |
    count "conformance on CUDA"
else
  skip "conformance on CUDA" "no python3 with numpy"
fi

# --- elements
if [ -n "${GST_PLUGIN_SYSTEM_PATH:-}" ] || command -v gst-launch-1.0 >/dev/null; then
  export GST_PLUGIN_PATH=$build/gst GST_REGISTRY=$work/registry.bin
  gst-inspect-1.0 cudaj2kdec >/dev/null 2>&1 # the registry, before all ask for it at once
  for program in "$build"/tests/test-element-*; do
    [ -x "$program" ] && timeout 400 "$program" --tap >"$work/$(basename "$program").tap" 2>/dev/null &
  done
  wait
  for program in "$build"/tests/test-element-*; do
    [ -x "$program" ] && count "$(basename "$program")" <"$work/$(basename "$program").tap"
  done
else
  skip elements "no GStreamer here"
fi

# --- thousands of frames: no fallback, and memory as large at the end as at the start
long() {
  "$build/examples/cj2k-bench" "$@" --backend cuda | tee "$work/json" || return 1
  grep -q '"fallbacks":0' "$work/json" || return 1
  sed -E 's/.*"rss_mb":\[([0-9.]+),([0-9.]+)\],"device_mb":\[([0-9.]+),([0-9.]+)\].*/\1 \2 \3 \4/' "$work/json" |
    awk '{ host = $2 - $1; device = $4 - $3 } END { if (NR == 1 && host < 2 && device <= 0) exit 0
      print "memory grew by " host " MB on the host, " device " MB on the GPU"; exit 1 }'
}
number=10000
[ -n "$quick" ] && number=1000
if [ -n "$streams" ]; then
  check "long run, decode" long decode --frames $number --in-flight 4 "$streams/hd_rgb12_ht_4bpp.j2k"
else
  skip "long run, decode" "CJ2K_STREAMS is not set"
fi
if [ -n "$frames" ]; then
  check "long run, encode" long encode --frames $number --in-flight 4 --block-coder ht --bits-per-pixel 4 \
    "$frames/hd_rgb12.ppm"
else
  skip "long run, encode" "CJ2K_FRAMES is not set"
fi

# --- compute-sanitizer
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    for name in ds0_ht_01_b11 ds0_ht_12_b11 ds0_hm_06_b11 p0_12; do
      check "$tool $name" compute-sanitizer --tool $tool --error-exitcode 9 "$build/examples/cj2k-decode" \
        --backend cuda "$CJ2K_SHARED/conformance/$name.j2k" "$work/out.pgx"
    done
    program=$build/tests/encode-equal
    [ -x "$program" ] && check "$tool encode" compute-sanitizer --tool $tool --error-exitcode 9 "$program" --short
  done
else
  skip compute-sanitizer "not installed"
fi

if [ -n "$bench" ]; then
  tests/gpu-bench.sh "$build"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
