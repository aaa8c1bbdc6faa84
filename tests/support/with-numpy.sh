#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# with-numpy.sh SCRIPT ARGUMENT...: runs a test with the first Python that has NumPy; without one the
# test is skipped. The search is repeated each time: NumPy may be installed after the configuration.
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import numpy' 2>/dev/null; then
    exec "$python" "$@"
  fi
done
exec "$(dirname "$0")/skip.sh" 'no python3 with NumPy'
