#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# with-numpy.sh SCRIPT ARGUMENT...: runs a test with the first Python that has NumPy; without one it is skipped.
exec "$(dirname "$0")/with-modules.sh" numpy "$@"
