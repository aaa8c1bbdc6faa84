#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/fuzz/run.sh [--seconds N] [--jobs N] [--out FOLDER] [--bundle FOLDER] [TARGET...]
#
# Builds the fuzz targets with clang and runs each for N seconds (20), so many at a time (as there are cores).
# The inputs to begin with are tests/fuzz/corpus, those that make-seeds writes, and small files of CJ2K_SHARED.
# FOLDER (build-fuzz/session) gets what was found. With --bundle nothing runs: FOLDER gets all that another
# machine without a compiler needs, and there `FOLDER/run.sh SECONDS JOBS` is the same. The last line is a sum.
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/setup.sh

seconds=20 jobs=$(nproc) out='' bundle='' targets=()
while [ $# -gt 0 ]; do
  case $1 in
  --seconds) seconds=$2 && shift ;;
  --jobs) jobs=$2 && shift ;;
  --out) out=$2 && shift ;;
  --bundle) bundle=$2 && shift ;;
  -h | --help) sed -n '3,12s/^# \{0,1\}//p' "$0" && exit 0 ;;
  *) targets+=("$1") ;;
  esac
  shift
done

install_packages "${packages_build[@]}"
install_optional "${packages_fuzz[@]}"
clang=$(command -v clang-14 || command -v clang) || {
  echo "0 passed, 0 failed, 1 skipped: no clang"
  exit 0
}
folder=$cj2k_root/build-fuzz
command -v ccache >/dev/null && clang="ccache $clang"
if [ ! -e "$folder/build.ninja" ]; then
  CC=$clang meson setup "$folder" -Dfuzz=true -Dcuda=disabled -Dpng=disabled -Dexamples=false -Doptimization=2 \
    -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all >"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    fail "meson could not configure $folder"
  }
  mv "$folder.log" "$folder/setup.log"
fi
say "building the fuzz targets"
mapfile -t programs < <(ninja -C "$folder" -t targets all | sed -nE 's,^(tests/fuzz/(fuzz-[a-z-]+|make-seeds)):.*,\1,p')
ninja -C "$folder" "${programs[@]}" >"$folder/compile.log" 2>&1 || {
  tail -n 40 "$folder/compile.log" >&2
  fail "the build failed, see $folder/compile.log"
}

# The inputs to begin with, in one folder for each target.
corpus=$folder/corpus
rm -rf "$corpus"
"$folder/tests/fuzz/make-seeds" "$corpus" || fail "make-seeds failed"
[ ! -d tests/fuzz/corpus ] || cp -r tests/fuzz/corpus/. "$corpus"
shared=${CJ2K_SHARED:-$cj2k_root/../shared}
copy_small() { # FILES SIZE TARGET...: files of up to SIZE bytes
  local pattern=$1 size=$2 target file
  shift 2
  while read -r file; do
    for target in "$@"; do
      cp "$file" "$corpus/$target/shared-$(basename "$file")"
      chmod u+w "$corpus/$target/shared-$(basename "$file")"
    done
  done < <(find "$shared/malformed" "$shared/conformance" -name "$pattern" -size "-$size" 2>/dev/null)
}
copy_small '*.jp2' 32k fuzz-boxes fuzz-frame
copy_small '*.j[2p][kc]' 24k fuzz-headers fuzz-packets fuzz-parts fuzz-frame fuzz-rtp fuzz-threads

if [ -n "$bundle" ]; then
  . tests/fuzz/bundle.sh
  make_bundle "$folder/tests/fuzz" "$corpus" "$bundle"
  exit
fi
out=${out:-$folder/session}
rm -rf "$out"
say "$seconds s for each target, $jobs at a time"
tests/fuzz/session.sh "$seconds" "$jobs" "$folder/tests/fuzz" "$corpus" "$out" "${targets[@]}" >&2
count=$(tail -n +2 "$out/summary.txt" | wc -l)
bad=$(tail -n +2 "$out/summary.txt" | awk '$5 > 0 || $2 == 0' | wc -l)
if [ "$bad" -gt 0 ]; then
  find "$out/crashes" -type f >&2
  grep -hE 'ERROR:|runtime error|SUMMARY|^[^ ]*tests/fuzz/[^ ]*:[0-9]+:' "$out"/*.log | sort | uniq -c | head -n 40 >&2
fi
echo "$((count - bad)) passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ]
