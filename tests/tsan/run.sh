#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/tsan/run.sh [--long] [TEST...]
#
# Builds with ThreadSanitizer and runs the tests in which threads meet: stress, test-threads, test-workers, test-slots,
# test-decoder, test-devices, test-rows, test-packets-direct, test-rtp, test-element-devices, test-element-flow,
# test-element-order, test-element-in-flight; with --long more of them, which takes minutes. With nvcc also codecs-pretend
# and engine-pretend, the host side of the CUDA back end without a GPU; without nvcc these are skipped. glib-sync.c is
# preloaded, so that GLib's locks are seen; no suppression hides code of this project. The last line is a sum.
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/setup.sh

# The longest first, because as many run at a time as there are cores.
tests=(test-devices test-rows test-element-in-flight codecs-pretend test-element-flow test-element-devices test-threads
  test-workers test-slots test-decoder test-element-order test-packets-direct test-rtp engine-pretend)
if [ "${1:-}" = --long ]; then
  shift
  tests+=(test-encoder test-streams stage-equal test-element-states test-element-stats test-element-decoder
    test-element-encoder) # test-element-pipelines: playbin takes its own locks in two orders
fi
[ $# -eq 0 ] || tests=("$@")

passed=0 failed=0 skipped=0

install_packages "${packages_build[@]}"
folder=$cj2k_root/build-tsan
configure "$folder" -Dpng=disabled -Dexamples=false -Db_sanitize=thread -Db_lundef=false -Doptimization=1 >/dev/null ||
  fail "meson could not configure $folder"
say "building in ${folder#"$cj2k_root"/}"

# The tests of a runtime that pretends are only there in a build with CUDA.
leave_out_pretended() {
  local test kept=()
  for test in "${tests[@]}"; do
    case $test in
    *-pretend)
      echo "skipped $test: built without CUDA" >&2
      skipped=$((skipped + 1))
      ;;
    *) kept+=("$test") ;;
    esac
  done
  tests=("${kept[@]}")
}

# No kernel ever runs here, so that they need not be fast: 20 s of a core in place of two minutes. An older nvcc cannot.
compile_quickly() {
  "$(find_nvcc)" --help | grep -q -e --Ofast-compile && export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} -Ofc max"
}

if grep -q '^#define CJ2K_HAVE_CUDA' "$folder/config.h"; then
  compile_quickly
else
  leave_out_pretended
fi
# Of what a GPU's driver synchronises ThreadSanitizer would see nothing.
export CUDA_VISIBLE_DEVICES=-1

targets=(tests/stress tests/glib-sync.so gst/libgstcudaj2k.so)
for test in "${tests[@]}"; do targets+=("tests/$test"); done
ninja -C "$folder" "${targets[@]}" >"$folder/compile.log" 2>&1 || {
  tail -n 40 "$folder/compile.log" >&2
  fail "the build failed, see $folder/compile.log"
}

export G_SLICE=always-malloc GST_REGISTRY=$folder/registry.bin GST_REGISTRY_FORK=no GST_PLUGIN_PATH=$folder/gst
export GST_PRESET_PATH=$cj2k_root/gst/presets CJ2K_SHARED_DEFAULT=$cj2k_root/../shared CJ2K_SANITIZED=1
# The registry is made before, so that no other plugin is loaded by the tests than those that they use.
TSAN_OPTIONS=report_bugs=0 LD_PRELOAD=$(gcc -print-file-name=libtsan.so) gst-inspect-1.0 cudaj2kenc >/dev/null 2>&1
export GST_REGISTRY_UPDATE=no
export TSAN_OPTIONS="suppressions=$cj2k_root/tests/tsan/suppressions.txt second_deadlock_stack=1 exitcode=66"

# run NAME PROGRAM...: leaves its exit status and its time in a file.
run() {
  local name=$1 begin=$SECONDS status
  shift
  LD_PRELOAD=$folder/tests/glib-sync.so "$@" >"$folder/$name.log" 2>&1
  status=$?
  echo "$status $((SECONDS - begin))" >"$folder/$name.result"
}

# begin NAME PROGRAM...: the same in the background, when a core is free.
begin() {
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  rm -f "$folder/$1.result"
  run "$@" &
}

# check NAME STATUS: it must have ended with this status.
check() {
  local name=$1 status=none seconds=0
  read -r status seconds <"$folder/$name.result"
  if [ "$status" = "$2" ]; then
    passed=$((passed + 1))
    echo "$name: $seconds s" >&2
  else
    failed=$((failed + 1))
    echo "FAILED $name: exit status $status, see $folder/$name.log" >&2
    grep -A 12 'WARNING: ThreadSanitizer' "$folder/$name.log" | head -n 60 >&2
  fi
}
begin stress "$folder/tests/stress"
begin race "$folder/tests/stress" --race
for test in "${tests[@]}"; do begin "$test" "$folder/tests/$test"; done
wait
check race 66
for test in stress "${tests[@]}"; do check "$test" 0; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
