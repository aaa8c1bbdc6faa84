#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# headers.sh HEADER...: each installed header compiles alone, as C11 and as C++11, without a warning.
set -u
number=0

# check COMPILER LANGUAGE HEADER
check() {
  number=$((number + 1))
  name="$(basename "$3") alone, $2"
  if ! command -v "$1" >/dev/null; then
    echo "ok $number - $name # SKIP there is no $1"
  elif errors=$(echo "#include \"$3\"" | "$1" -x "$2" -std="${2}11" -Wall -Wextra -Wpedantic -Werror -fsyntax-only - 2>&1); then
    echo "ok $number - $name"
  else
    echo "not ok $number - $name"
    echo "$errors" | head -n 20 | sed 's/^/# /'
  fi
}

echo "1..$((2 * $#))"
for header; do
  check cc c "$header"
  check c++ c++ "$header"
done
