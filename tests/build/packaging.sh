#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging.sh SOURCE VERSION LIBRARY: checks that the files of debian/ in the source tree
# agree with the build: its version, and the functions that the shared library exports.
set -u
source=$1
version=$2
library=$3

echo 1..3
if head -n 1 "$source/debian/changelog" | grep -qF "cudaj2k ($version-"; then
  echo "ok 1 - debian/changelog begins with this version"
else
  echo "not ok 1 - debian/changelog begins with this version"
  echo "# add an entry for $version at its top"
fi

if grep -m 1 '^## ' "$source/NEWS.md" | grep -qwF "$version"; then
  echo "ok 2 - NEWS.md begins with this version"
else
  echo "not ok 2 - NEWS.md begins with this version"
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
sed -n 's/^ \(cj2k_[a-z0-9_]*\)@.*/\1/p' "$source/debian/libcj2k0.symbols" | sort >"$work/listed"
nm -D --defined-only "$library" | awk '$NF ~ /^cj2k_/ { print $NF }' | sort >"$work/exported"
if cmp -s "$work/listed" "$work/exported"; then
  echo "ok 3 - debian/libcj2k0.symbols lists the library's functions"
else
  echo "not ok 3 - debian/libcj2k0.symbols lists the library's functions"
  comm -13 "$work/listed" "$work/exported" | sed "s/.*/# add: &@Base $version/"
  comm -23 "$work/listed" "$work/exported" | sed 's/^/# the library does not export /'
fi
