#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# skip.sh REASON: a test of TAP that is skipped.
echo "1..0 # SKIP $*"
