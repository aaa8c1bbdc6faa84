#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu-pack.sh BUILD DEST
#
# Collects what a GPU host without build tools needs to run tests/gpu.sh and tests/gpu-bench.sh with the
# programs of the build folder BUILD: the test programs and tools without debugging symbols, the inputs of
# fuzz-backends, and the libraries that they use, but for those of C and C++: the host's must be as new as
# here. Makes the folder DEST, which is a BUILD for these scripts, and DEST.tar.xz. The elements are not in
# it; tests/gpu-bundle.sh collects them with their GStreamer.
set -euo pipefail
build=${1:?usage: gpu-pack.sh BUILD DEST} dest=${2:?usage: gpu-pack.sh BUILD DEST}

# Programs that gpu.sh names, and those that its scripts start.
mapfile -t programs < <(
  grep -oh 'build/\(tests\|examples\)/[a-z0-9/-]*' "$(dirname "$0")"/gpu.sh "$(dirname "$0")"/gpu-bench.sh |
    sed 's/^build.//' | grep -v '^tests/fuzz/seeds\|^tests/soak$\|^tests/bench-elements$\|-$' | sort -u
  printf 'tests/test-%s\n' parts parts-layouts rate-average rate-ceiling rate-period rate-regions rows slices streams
  printf 'examples/cj2k-%s\n' decode encode info compare
  printf 'tests/measure-%s\n' parts rows
)

rm -rf "$dest"
mkdir -p "$dest/lib"
for program in "${programs[@]}"; do
  if [ ! -f "$build/$program" ]; then
    echo "$program: not in $build" >&2
    continue
  fi
  mkdir -p "$dest/$(dirname "$program")"
  strip -o "$dest/$program" "$build/$program"
done
mkdir -p "$dest/tests/fuzz/seeds"
cp -r "$build/tests/fuzz/seeds/fuzz-frame" "$dest/tests/fuzz/seeds/"

# Not what python3 there would load in place of its own, newer one.
find "$dest" -type f -path '*/[te]*/*' -perm -u+x -exec ldd {} + 2>/dev/null | awk '/=> \//{print $3}' | sort -u |
  grep -v '/\(libc\|libm\|libdl\|librt\|libpthread\|libstdc++\|libgcc_s\|ld-linux[^/]*\)\.so' | while read -r file; do
  cp -L "$file" "$dest/lib/" && strip --strip-debug "$dest/lib/$(basename "$file")"
done

# The programs have much in common: the dictionary is larger than all of them.
tar c -C "$(dirname "$dest")" "$(basename "$dest")" | xz -T1 --lzma2=preset=6,dict=256MiB,nice=32,mf=hc4 >"$dest.tar.xz"
du -sh "$dest" "$dest.tar.xz"
