#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# symbols.sh LIBRARY PATTERN: checks that a library exports only symbols that match PATTERN (an extended
# regular expression) and those of the linker, and needs no CUDA library, so that it loads without a
# driver. GStreamer's libgstcuda looks for the driver only when it is used.
set -u
library=$1
pattern=$2
number=0

check() { # NAME TEXT: passes when TEXT is empty
  number=$((number + 1))
  if [ -z "$2" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    echo "$2" | head -n 20 | sed 's/^/# /'
  fi
}

echo 1..2
check "$(basename "$library") exports nothing else" \
  "$(nm -D --defined-only "$library" | awk '{ print $NF }' | grep -Evx "$pattern|__bss_start|_edata|_end")"
check "$(basename "$library") needs no CUDA library" \
  "$(readelf -d "$library" | grep NEEDED | grep -E '\[lib(cuda|nv)')"
