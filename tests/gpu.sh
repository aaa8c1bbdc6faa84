#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu.sh [--quick] [--only PATTERN] [--bench] [--elements] [--bundle BUNDLE]... [BUILD]
#
# Runs the tests that need an NVIDIA GPU, with the programs of the build folder BUILD
# (default: build). Needs no build tools on that machine. Ends with "N passed, N failed, N skipped".
#   --quick   a small part of the damaged streams and of the long run
#   --only PATTERN    only the tests whose names match this extended regular expression; of the others nothing is said
#   --bench   then tests/gpu-bench.sh, which can be run without these tests as well
#   --elements        only the element tests
#   --bundle BUNDLE   the element tests of a bundle that tests/gpu-bundle.sh made (its folder or .tar.xz), with
#                     the GStreamer inside; may be given several times. Without any the tests of BUILD run with
#                     the machine's GStreamer, where it has one
# libnvrtc, without which GStreamer has no cudaconvert, is looked for in the usual places; CJ2K_NVRTC names it
# elsewhere.
# Codestreams that the GPU decodes in another way than the CPU are left in the folder CJ2K_FINDS (default: finds in BUILD).
# CJ2K_SHARED names the folder with conformance/ and malformed/ (default: ../shared), CJ2K_STREAMS one
# with codestreams of uhd_rgb12 for the long run and the benchmark, CJ2K_FRAMES one with raw frames.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD quick='' only='' bench='' elements='' bundles=() build=build
while [ $# -gt 0 ]; do
  case $1 in
  --quick) quick=1 ;;
  --only) only=$2 && shift ;;
  --bench) bench=1 ;;
  --elements) elements=1 ;;
  --bundle) bundles+=("$(realpath "$2")") && shift ;;
  *) build=$1 ;;
  esac
  shift
done
if [ -z "$elements" ] || [ ${#bundles[@]} -eq 0 ]; then # bundles have programs of their own
  build=$(cd "$build" && pwd) || exit 1
fi
[[ '' =~ $only ]]
[ $? -lt 2 ] || exit 1 # no regular expression
# What tests/gpu-pack.sh made brings libraries along.
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CJ2K_SHARED=${CJ2K_SHARED:-$root/../shared} PYTHONPATH=$root/tests/support
streams=${CJ2K_STREAMS:-} frames=${CJ2K_FRAMES:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# count NAME STATUS FILE [SECONDS]: counts the TAP of a program, which took so long, prints failures and skipped tests. A
# program that ends with an error or before its plan is complete adds a failure, as in summary.py.
count() {
  local name=$1 status=$2 file=$3 seconds=${4:-} p f s plan
  p=$(grep '^ok' "$file" | grep -vci '# *skip') f=$(grep -c '^not ok' "$file") s=$(grep -ci '^ok.*# *skip' "$file")
  plan=$(grep -o '^1\.\.[0-9]*' "$file" | tail -n 1) # the last: GLib counts on with each -p
  if [ "$plan" = 1..0 ]; then
    skip "$name" "$(sed -n 's/^1\.\.0 *# *SKIP *//p' "$file")"
    return
  fi
  if [ "$plan" != "1..$((p + f + s))" ] || { [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; }; then
    echo "$name: ended with status $status after $((p + f + s)) of ${plan:-an unknown number}: $(tail -n 3 "$file")"
    f=$((f + 1))
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  echo "$name: $p passed, $f failed, $s skipped${seconds:+, $seconds s} $(grep '^# .*by the CPU' "$file")"
  grep -A1 '^not ok' "$file" | head -n 20
  grep -i '^ok.*# *skip' "$file"
}

# Prints the sums. Fails if a test has failed, or if --only is given and none has run.
summary() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && { [ -z "$only" ] || [ "$passed" -gt 0 ]; }
}

# tap NAME SECONDS COMMAND...: runs a program that prints TAP.
tap() {
  local name=$1 seconds=$2 begin=$SECONDS
  shift 2
  [[ $name =~ $only ]] || return 0
  timeout "$seconds" "$@" >"$work/tap"
  count "$name" $? "$work/tap" $((SECONDS - begin))
}

# check NAME COMMAND...: runs a command as one test.
check() {
  local name=$1 begin=$SECONDS
  shift
  [[ $name =~ $only ]] || return 0
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: ok, $((SECONDS - begin)) s: $(tail -n 1 "$work/log")"
  else
    failed=$((failed + 1))
    echo "$name: FAILED"
    tail -n 15 "$work/log"
  fi
}

skip() {
  [[ $1 =~ $only ]] || return 0
  skipped=$((skipped + 1))
  echo "$1: skipped: $2"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1

# --- elements
# element_test PROGRAM: runs one, and leaves its output and status behind.
element_test() {
  local name
  name=$(basename "$1")
  timeout 300 "$1" --tap >"$work/$name.tap" 2>"$work/$name.errors"
  echo $? >"$work/$name.status"
}

# run_elements WHICH PROGRAM...: four at a time, because each program makes a CUDA context. The one that makes a
# kernel fail on purpose comes last and alone, so that it cannot disturb the others.
run_elements() {
  local which=$1 program name chosen=() last=()
  shift
  [ $# -eq 0 ] && skip "elements, $which" "built without them"
  for program in "$@"; do
    [[ "$(basename "$program"), $which" =~ $only ]] && chosen+=("$program")
  done
  set -- "${chosen[@]}"
  for program in "$@"; do
    if [ "$(basename "$program")" = test-element-cuda ]; then
      last+=("$program")
      continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
    element_test "$program" &
  done
  wait
  for program in "${last[@]}"; do element_test "$program"; done
  for program in "$@"; do
    name=$(basename "$program")
    count "$name, $which" "$(cat "$work/$name.status")" "$work/$name.tap"
    [ "$(cat "$work/$name.status")" -eq 0 ] || tail -n 15 "$work/$name.errors"
  done
}

# programs FOLDER: the element tests there, without the folders of their objects.
programs() {
  find "$1" -maxdepth 1 -name 'test-element-*' ! -type d 2>/dev/null | sort
}

# For GStreamer's cudaconvert and cudascale. The oldest: GStreamer 1.22 to 1.26 compile for compute capability 5.2,
# which NVRTC of CUDA 13 no longer knows.
find_nvrtc() {
  local found=${CJ2K_NVRTC:-}
  [ -n "$found" ] || found=$(ldconfig -p 2>/dev/null | sed -n 's/.*libnvrtc\.so.* => //p' | sort -V | head -n 1)
  [ -n "$found" ] || found=$(find /usr/local/cuda*/ /usr/lib /usr/local/lib /opt -name 'libnvrtc.so.*' ! -name '*alt*' \
    2>/dev/null | sort -V | head -n 1)
  [ -n "$found" ] || return 0
  export GST_CUDA_NVRTC_LIBNAME=$found BUNDLE_LIBS=${found%/*}
  echo "libnvrtc: $found"
}

# Tests with one bundle. It was requested, so it is a failure if it cannot be unpacked.
test_bundle() {
  local folder=$1 version list
  if [ -f "$1" ]; then
    folder=$work/$(basename "$1" .tar.xz)
    tar xJf "$1" -C "$work" || check "unpacking $1" false
  fi
  version="GStreamer $(cat "$folder/version")"
  GST_REGISTRY=$work/registry-$(basename "$folder").bin
  export GST_REGISTRY
  "$folder/bin/gst-inspect-1.0" cudaj2kdec >"$work/log" 2>&1 || head -n 5 "$work/log"
  "$folder/bin/gst-inspect-1.0" cudaconvert >/dev/null 2>&1 || echo "$version: there is no cudaconvert"
  mapfile -t list < <(programs "$folder/bin")
  [ ! -x "$folder/bin/soak" ] || soak=$folder/bin/soak
  run_elements "$version" "${list[@]}"
}

soak='' # the program in a bundle
test_elements() {
  local bundle list
  find_nvrtc
  for bundle in "${bundles[@]}"; do
    test_bundle "$bundle"
  done
  [ ${#bundles[@]} -gt 0 ] && return
  if [ -z "${GST_PLUGIN_SYSTEM_PATH:-}" ] && ! command -v gst-launch-1.0 >/dev/null; then
    skip elements "no GStreamer here, and no --bundle"
    return
  fi
  export GST_PLUGIN_PATH=$build/gst GST_REGISTRY=$work/registry.bin
  gst-inspect-1.0 cudaj2kdec >/dev/null 2>&1 # the registry, before all ask for it at once
  mapfile -t list < <(programs "$build/tests")
  run_elements "the machine's GStreamer" "${list[@]}"
}
test_elements
unset GST_CUDA_NVRTC_LIBNAME BUNDLE_LIBS
if [ -n "$elements" ]; then
  summary
  exit
fi

# --- CPU and CUDA compared
tap golden 300 "$build/tests/golden" --backend cuda
for name in parts parts-layouts rate-average rate-ceiling rate-period rate-regions rows slices streams; do
  tap $name 300 "$build/tests/test-$name" --backend cuda --tap
done
tap stage-equal 120 "$build/tests/stage-equal" "$CJ2K_SHARED"/conformance/*.j2k
tap decode-equal 900 "$build/tests/decode-equal"
tap steps-equal 300 "$build/tests/steps-equal"
tap once-equal 300 "$build/tests/once-equal"
tap overlay-equal 300 "$build/tests/overlay-equal"
tap "decode-equal over coefficients" 900 "$build/tests/decode-equal" --overlay
tap "decode-equal with full warps" 900 "$build/tests/decode-equal" --full-warps
tap test-conceal 120 "$build/tests/test-conceal" --tap
tap cut-equal 300 "$build/tests/cut-equal" 300
tap cut-equal-mq 300 "$build/tests/cut-equal-mq" 100
tap film-equal 900 "$build/tests/film-equal" ${quick:+24}
seed=$(date +%s) # other films each time
tap "film-drawn, seeds from $seed on" 900 "$build/tests/film-drawn" --seed "$seed" ${quick:+150}
tap encode-equal 900 "$build/tests/encode-equal"
tap "encode-equal with component streams" 900 "$build/tests/encode-equal" --component-streams
for n in 2 3; do tap "decode-equal in $n slices" 900 "$build/tests/decode-equal" --slices $n; done
for n in 1 4; do # in flight
  tap "decode-equal with component streams, $n" 900 "$build/tests/decode-equal" --component-streams $n
done
tap device-limits 300 "$build/tests/device-limits"
tap picture-stream 120 "$build/tests/picture-stream"
tap several-gpus 300 "$build/tests/several-gpus"
tap test-steady 120 "$build/tests/test-steady" --tap -p /steady/counting -p /steady/encode/cuda -p /steady/decode/cuda
share=5
[ -n "$quick" ] && share=41
tap failing-calls 600 "$build/tests/failing-calls" --share $share
[ -n "$quick" ] && share=101
tap "failing-calls beside another codec" 600 "$build/tests/failing-calls" --share $share --beside 1
damages=20
[ -n "$quick" ] && damages=4
tap "decode-equal with damage" 900 "$build/tests/decode-equal" --damage $damages
tap "decode-equal of raw passes" 600 "$build/tests/decode-equal" --damage $damages --raw
tap "decode-equal in parts" 900 "$build/tests/decode-equal" --parts
tap "decode-equal in parts with damage" 900 "$build/tests/decode-equal" --parts --damage $damages
tap "decode-equal in slices with damage" 900 "$build/tests/decode-equal" --slices 2 --damage $damages
tap "decode-equal malformed" 600 "$build/tests/decode-equal" "$CJ2K_SHARED"/malformed/*
fuzzed=60
[ -n "$quick" ] && fuzzed=10
if [ -x "$build/tests/fuzz/fuzz-backends" ]; then # the build leaves the first inputs beside it
  tap fuzz-backends $((fuzzed + 120)) "$build/tests/fuzz/fuzz-backends" --backend cuda --seconds $fuzzed \
    --save "${CJ2K_FINDS:-$build/finds}" "$build/tests/fuzz/seeds/fuzz-frame" tests/fuzz/corpus/fuzz-frame \
    "$CJ2K_SHARED"/conformance "$CJ2K_SHARED"/malformed
else
  skip fuzz-backends "not built"
fi
# Is the first slice of a frame decoded by the kernel that does both steps, as the comparisons above mean it to be? A
# host with few cores counts as crowded sooner.
has_joint_steps() {
  "$build/examples/cj2k-bench" encode --backend cuda --frames 1 --block-coder ht --bits-per-pixel 4 \
    --codeblock-width "$1" --codeblock-height "$1" --write "$work/joint.j2k" "$frames/hd_rgb12.ppm" &&
    "$build/examples/cj2k-bench" decode --backend cuda --in-flight 1 --frames 3 --stages "$work/joint.j2k" |
    tee "$work/json" && grep -q '"cleanup":' "$work/json"
}
if [ -n "$frames" ]; then # code-blocks of several shapes, all with HT refinement passes
  shape=0
  for options in "" "--codeblock-width 32 --codeblock-height 32 --codeblock-style causal" \
    "--codeblock-width 1024 --codeblock-height 4" "--codeblock-width 4 --codeblock-height 1024" \
    "--codeblock-width 16 --codeblock-height 16 --tile-width 333 --tile-height 222"; do
    shape=$((shape + 1))
    # shellcheck disable=SC2086
    "$build/tests/encode-refined" --quant-step 0.0067 $options "$frames/hd_rgb12.ppm" "$work/refined$shape.j2k"
  done
  tap "decode-equal refined" 600 "$build/tests/decode-equal" --damage 4 "$work"/refined{1,2,3,4,5}.j2k
  tap "decode-equal refined, in slices" 600 "$build/tests/decode-equal" --slices 2 --damage 4 \
    "$work"/refined{1,2,3,4,5}.j2k
  for n in 64 32; do check "both HT steps in one kernel, $n" has_joint_steps $n; done
else
  skip "decode-equal refined" "CJ2K_FRAMES is not set"
fi

# --- conformance with CUDA, and other decoders on streams that CUDA encoded; the CPU back end must not be used
for tool in decode encode; do
  cat >"$work/$tool" <<TOOL
#!/bin/sh
"$build/examples/cj2k-$tool" --backend cuda "\$@" 2>"\$0.\$\$"
status=\$?
cat "\$0.\$\$" >&2
grep -q 'done by the CPU' "\$0.\$\$" && status=1
rm -f "\$0.\$\$"
exit \$status
TOOL
  chmod +x "$work/$tool"
done
python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
if "$python" -c 'import numpy' 2>/dev/null; then
  export CJ2K_DECODE=$work/decode CJ2K_ENCODE=$work/encode
  CJ2K_TEST_THREADS=2 tap "conformance on CUDA" 900 "$python" tests/conformance/conformance.py
  share=8
  [ -n "$quick" ] && share=32
  CJ2K_TEST_SHARE=$share tap "other decoders on CUDA's streams" 600 "$python" tests/interop/encode.py
  unset CJ2K_DECODE CJ2K_ENCODE
else
  skip "conformance on CUDA, other decoders" "no python3 with numpy"
fi

# --- thousands of frames: no fallback, and no more memory at the end than at the start
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
  check "long run, decode MQ" long decode --frames $((number / 10)) --in-flight 4 "$streams/uhd_rgb12_mq32_4bpp.j2k"
else
  skip "long run, decode" "CJ2K_STREAMS is not set"
fi
if [ -n "$frames" ]; then
  check "long run, encode" long encode --frames $number --in-flight 4 --block-coder ht --bits-per-pixel 4 \
    "$frames/hd_rgb12.ppm"
  check "long run, encode MQ" long encode --frames $((number / 10)) --in-flight 4 --block-coder mq \
    --codeblock-width 32 --codeblock-height 32 --bits-per-pixel 4 "$frames/hd_rgb12.ppm"
else
  skip "long run, encode" "CJ2K_FRAMES is not set"
fi

# --- elements under changing conditions for long
soaked=1000000
[ -n "$quick" ] && soaked=20000
if [ -z "$soak" ] && [ -x "$build/tests/soak" ] && command -v gst-inspect-1.0 >/dev/null; then
  soak=$build/tests/soak
fi
if [ -n "$soak" ]; then # a bundle's sets the path of plugins itself
  check soak env GST_PLUGIN_PATH="$build/gst" GST_REGISTRY="$work/registry-soak.bin" \
    "$soak" --backend=cuda --streams=32 --frames=$soaked
else
  skip soak "built without elements, or no GStreamer here"
fi

# --- compute-sanitizer: whole suites
find_sanitizer() {
  command -v compute-sanitizer && return
  find /usr/local/cuda*/bin /usr/local/cuda*/compute-sanitizer /opt -name compute-sanitizer -type f 2>/dev/null |
    sort -V | tail -n 1
}

# sanitized TOOL NAME COMMAND...: one test.
sanitized() {
  local tool=$1 name=$2
  shift 2
  check "$tool, $name" timeout 900 "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 20 "$@"
}

# Its own verdict does not count: compute-sanitizer takes more and more memory itself.
# shellcheck disable=SC2317 # called by check
soak_with_memcheck() {
  GST_PLUGIN_PATH="$build/gst" GST_REGISTRY="$work/registry-soak.bin" timeout 300 "$sanitizer" --tool memcheck \
    --target-processes all --print-limit 20 "$soak" --backend=cuda --streams=8 --frames=1000
  grep -q 'ERROR SUMMARY: 0 errors' "$work/log"
}

test_sanitized() {
  local tool name short=() all=("$CJ2K_SHARED"/conformance/*.j2k)
  [ -n "$quick" ] && short=(--short) all=("$CJ2K_SHARED"/conformance/{ds0_ht_01_b11,ds0_ht_12_b11,ds0_hm_06_b11,p0_12}.j2k)
  for tool in memcheck synccheck initcheck; do
    sanitized $tool stage-equal "$build/tests/stage-equal" "${all[@]}"
    sanitized $tool decode-equal "$build/tests/decode-equal" "${all[@]}"
    sanitized $tool cut-equal "$build/tests/cut-equal" 3
    sanitized $tool cut-equal-mq "$build/tests/cut-equal-mq" 3
    sanitized $tool encode-equal "$build/tests/encode-equal" "${short[@]}"
    sanitized $tool steps-equal "$build/tests/steps-equal" --short
    sanitized $tool once-equal "$build/tests/once-equal" --short
    sanitized $tool overlay-equal "$build/tests/overlay-equal" --short
    sanitized $tool "decode-equal with full warps" "$build/tests/decode-equal" --full-warps \
      "$CJ2K_SHARED"/conformance/{p0_01,p0_06,p1_04}.j2k
    sanitized $tool "decode-equal of raw passes" "$build/tests/decode-equal" --raw
  done
  sanitized memcheck "damaged streams" "$build/tests/decode-equal" --damage 1
  for name in parts parts-layouts rows slices; do
    sanitized memcheck $name "$build/tests/test-$name" --backend cuda --tap
  done
  [ -z "$soak" ] || check "memcheck, soak" soak_with_memcheck
  sanitized racecheck "decode-equal with full warps" "$build/tests/decode-equal" --full-warps \
    "$CJ2K_SHARED/conformance/p0_06.j2k"
  sanitized racecheck "decode-equal of raw passes" "$build/tests/decode-equal" --share 6 --raw
  sanitized racecheck "decode-equal in slices" "$build/tests/decode-equal" --slices 2 \
    "$CJ2K_SHARED"/conformance/{ds0_ht_01_b11,ds0_ht_12_b11,ds0_hm_06_b11}.j2k
  for name in ds0_ht_01_b11 ds0_ht_12_b11 ds0_hm_06_b11 p0_12; do # slow: a few streams only
    sanitized racecheck $name "$build/examples/cj2k-decode" --backend cuda "$CJ2K_SHARED/conformance/$name.j2k" \
      "$work/out.pgx"
  done
  sanitized racecheck cut-equal "$build/tests/cut-equal" 3
  sanitized racecheck cut-equal-mq "$build/tests/cut-equal-mq" 3
  sanitized racecheck encode-equal "$build/tests/encode-equal" --short
}
sanitizer=$(find_sanitizer)
if [ -n "$sanitizer" ]; then
  test_sanitized
else
  skip compute-sanitizer "not installed"
fi

if [ -n "$bench" ]; then
  tests/gpu-bench.sh "$build"
fi
summary
