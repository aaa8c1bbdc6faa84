# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by run.sh: collects the fuzz targets for a machine without a compiler.
# shellcheck shell=bash

# make_bundle PROGRAMS CORPUS FOLDER: programs, the libraries that they need, their C library's loader, inputs.
make_bundle() {
  local programs=$1 corpus=$2 folder=$3 program
  rm -rf "$folder"
  mkdir -p "$folder/programs" "$folder/lib"
  for program in "$programs"/fuzz-*; do
    case $program in *.p) continue ;; esac
    strip --strip-debug -o "$folder/programs/$(basename "$program")" "$program"
  done
  for program in "$folder"/programs/*; do
    ldd "$program" | grep -oE '/[^ ]+' | grep -vE '/(libc|libm|libpthread|libdl|librt|ld-linux-x86-64|libgcc_s)\.so'
  done | sort -u | xargs -I{} cp -L {} "$folder/lib"
  # The C library, for machines whose own is older: used only if the programs do not start without it.
  mkdir -p "$folder/libc"
  ldd "$folder/programs/fuzz-boxes" | grep -oE '/[^ ]+' | grep -E '/(libc|libm|libpthread|libdl|librt|ld-linux-x86-64|libgcc_s)\.so' |
    xargs -I{} cp -L {} "$folder/libc"
  cp -r "$corpus" "$folder/corpus"
  cp tests/fuzz/session.sh "$folder"
  cat >"$folder/run.sh" <<'END'
#!/usr/bin/env bash
# run.sh SECONDS JOBS: runs all fuzz targets; $OUT (default ./out) gets summary.txt, the finds, and corpus.tar.xz.
cd "$(dirname "$0")" || exit 1
out=${OUT:-out}
work=$(mktemp -d)
programs=programs
if LD_LIBRARY_PATH=$PWD/lib ./programs/fuzz-caps -runs=1 >"$work/start" 2>&1; then
  export LD_LIBRARY_PATH=$PWD/lib
else
  cat "$work/start"
  programs=$work/programs
  mkdir -p "$programs"
  for program in programs/*; do
    printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$PWD/libc/ld-linux-x86-64.so.2" "$PWD/lib:$PWD/libc" "$PWD/$program" \
      >"$programs/$(basename "$program")"
  done
  chmod +x "$programs"/*
fi
./session.sh "$1" "$2" "$programs" corpus "$work"
status=$?
mkdir -p "$out"
cp "$work/summary.txt" "$out"
tar -C "$work" -cJf "$out/corpus.tar.xz" corpus
tar -C "$work" -cJf "$out/crashes.tar.xz" crashes
(cd "$work" && for log in *.log; do echo "== $log"; grep -E 'ERROR|SUMMARY|runtime error|tests/fuzz|^    #[0-9] |cov:' "$log" | tail -n 30; done) | tail -c 4000000 | xz >"$out/logs.xz"
rm -rf "$work"
ls -l "$out"
exit $status
END
  chmod +x "$folder/run.sh" "$folder/session.sh"
  du -sh "$folder"
}
