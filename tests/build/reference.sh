#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# reference.sh DOXYFILE: checks that Doxygen reports no problem in cj2k.h and the headers that it includes, such
# as a member without a comment or a comment that names a function that does not exist.
set -u
if ! command -v doxygen >/dev/null; then
  echo "1..0 # SKIP doxygen is not installed"
  exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo 1..1
if { cat "$1" && echo "OUTPUT_DIRECTORY = $work"; } | doxygen - >"$work/log" 2>&1 && ! [ -s "$work/log" ]; then
  echo "ok 1 - cj2k.h and its parts are documented, without a warning of Doxygen's"
else
  echo "not ok 1 - cj2k.h and its parts are documented, without a warning of Doxygen's"
  head -n 40 "$work/log" | sed 's/^/# /'
fi
