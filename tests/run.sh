#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/run.sh [--long] [--asan] [--werror] [TEST...]
#
# Installs what is missing, builds, runs the tests (all, or those named), and ends with a line
# "N passed, N failed, N skipped"; exit status 0 when none failed.
#   --long   complete long tests, not only the share that fits into continuous integration
#   --asan   build and run with the address, leak and undefined behaviour sanitizers (without CUDA)
#   --werror treat warnings of the compilers as errors
# CJ2K_SHARED names the folder with conformance/, jp2/ and malformed/ (default: ../shared).
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/setup.sh

# Also an error that keeps the tests from running counts as a failure.
fail() {
  printf 'error: %s\n' "$*" >&2
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

folder=$cj2k_root/build
options=("${options_default[@]}")
tests=()
sanitized=0
patience=1 # times the time that a test may take
for argument in "$@"; do
  case $argument in
  --long) export CJ2K_TESTS_LONG=1 && patience=6 ;;
  --werror) options+=(-Dwerror=true) ;;
  --asan)
    folder=$cj2k_root/build-asan
    # shellcheck disable=SC2054 # the comma is meson's
    options+=(-Dcuda=disabled -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=2
      -Dc_args=-fno-sanitize-recover=all)
    sanitized=1
    ;;
  -h | --help) sed -n '3,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) fail "unknown option $argument; see tests/run.sh --help" ;;
  *) tests+=("$argument") ;;
  esac
done

install_packages "${packages_build[@]}" "${packages_demo[@]}"
install_optional "${packages_peers[@]}"
configure "$folder" "${options[@]}" || fail "meson could not configure $folder"
compile "$folder"

# Plugins are loaded in the test's process, because GStreamer's scanner is built without sanitizers.
export GST_REGISTRY_FORK=no
# intercept_tls_get_addr: gcc 12's guess of where the thread-local memory of loaded libraries lies is wrong when by chance
# it lies 16 bytes behind the start of a page; then the search for leaks crashes.
export ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=32:allocator_may_return_null=1:intercept_tls_get_addr=0
export LSAN_OPTIONS=suppressions=$cj2k_root/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1

# GStreamer's registry is made before the tests: a test that loads all plugins would report the leaks of
# other projects' plugins. gst-inspect-1.0 itself is built without sanitizers.
if [ "$sanitized" -eq 1 ]; then
  env LD_PRELOAD="$(gcc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 \
    GST_PLUGIN_PATH="$folder/gst" GST_REGISTRY="$folder/tests/registry.bin" \
    gst-inspect-1.0 >/dev/null 2>&1
fi

log=$folder/meson-logs/testlog.json
rm -f "$log"
meson test -C "$folder" --no-rebuild --no-stdsplit -t "$patience" "${tests[@]}" 2>&1 | grep -Ev '^(ninja|Full log|$)' >&2
exec python3 tests/summary.py "$log"
