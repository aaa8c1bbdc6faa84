#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# skip.sh REASON: prints the TAP of a skipped test.
echo "1..0 # SKIP $*"
