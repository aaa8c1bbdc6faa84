#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/fuzz/coverage.sh [--lines] [--tests] [FOLDER...]
#
# Lines of the library that are reached by the first inputs of the fuzz targets, those of tests/fuzz/corpus and those
# in FOLDERs; with --tests by the unit tests as well. A FOLDER has a folder of inputs for each fuzz target, such as
# build-fuzz/session/corpus. Builds with clang's coverage in build-coverage. Prints for each part of the library
# lines, lines reached and percent; with --lines every line that was not reached.
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/setup.sh

lines=0 tests=''
while [ $# -gt 0 ]; do
  case $1 in
  --lines) lines=1 ;;
  --tests) tests='|test-[a-z-]+' ;;
  *) break ;;
  esac
  shift
done
clang=$(command -v clang-14 || command -v clang) || fail "no clang"
version=${clang##*/clang}
folder=$cj2k_root/build-coverage
if [ ! -e "$folder/build.ninja" ]; then
  CC=$clang meson setup "$folder" -Dcuda=disabled -Dpng=disabled -Dexamples=false -Doptimization=1 -Db_lundef=false \
    "-Dc_args=-fprofile-instr-generate -fcoverage-mapping -DCJ2K_NO_SIMD -Wno-pass-failed" \
    -Dc_link_args=-fprofile-instr-generate >/dev/null || fail "meson could not configure $folder"
fi
ninja -C "$folder" build.ninja >"$folder/compile.log" 2>&1 || fail "meson failed, see $folder/compile.log" # new targets
mapfile -t programs < <(ninja -C "$folder" -t targets all |
  sed -nE "s,^(tests/(fuzz/(fuzz-[a-z-]+|make-seeds)$tests)):.*,\\1,p" | grep -Ev 'fuzz-seeds|test-element|-baseline')
ninja -C "$folder" "${programs[@]}" >"$folder/compile.log" 2>&1 || fail "the build failed, see $folder/compile.log"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LLVM_PROFILE_FILE=/dev/null "$folder/tests/fuzz/make-seeds" "$work/seeds"
objects=()
for program in "${programs[@]}"; do
  target=$(basename "$program")
  [ "$target" != make-seeds ] || continue
  if [[ $target = test-* ]]; then
    LLVM_PROFILE_FILE=$work/$target.profraw "$folder/$program" --tap >"$work/$target.log" 2>&1 ||
      say "$target failed: $(tail -n 1 "$work/$target.log")"
    objects+=(-object "$folder/$program")
    continue
  fi
  inputs=()
  for root in "$work/seeds" tests/fuzz/corpus "$@"; do
    [ ! -d "$root/$target" ] || inputs+=("$root/$target")
  done
  LLVM_PROFILE_FILE=$work/$target.profraw "$folder/$program" "${inputs[@]}" >"$work/$target.log" 2>&1 ||
    say "$target failed: $(tail -n 1 "$work/$target.log")"
  objects+=(-object "$folder/$program")
done
"llvm-profdata$version" merge -sparse "$work"/*.profraw -o "$work/all.profdata" || fail "no profile"
"llvm-cov$version" export -format=lcov -instr-profile "$work/all.profdata" "${objects[@]}" >"$work/all.lcov" 2>/dev/null
python3 - "$work/all.lcov" "$cj2k_root" "$lines" <<'PYTHON'
import collections, os, sys

path, root, wants_lines = sys.argv[1], sys.argv[2], sys.argv[3] == '1'
reached = collections.defaultdict(lambda: collections.defaultdict(int))
for line in open(path, encoding='utf-8'):
    key, _, value = line.strip().partition(':')
    if key == 'SF':
        name = os.path.relpath(os.path.normpath(value), root)
    elif key == 'DA':
        number, count = value.split(',')[:2]
        reached[name][int(number)] += int(count)
parts = collections.defaultdict(lambda: [0, 0])
for name, counts in sorted(reached.items()):
    if not name.startswith(('common/', 'gst/')):
        continue
    part = os.path.dirname(name)
    parts[part][0] += len(counts)
    parts[part][1] += sum(1 for count in counts.values() if count)
    missed = [number for number, count in sorted(counts.items()) if not count]
    if wants_lines and missed:
        text = open(os.path.join(root, name), encoding='utf-8').read().split('\n')
        for number in missed:
            print(f'{name}:{number}: {text[number - 1]}')
for part, (total, hit) in sorted(parts.items()):
    print(f'{part:24} {total:6} {hit:6} {100 * hit / total:6.1f} %')
PYTHON
