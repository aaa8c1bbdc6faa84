#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# with-modules.sh MODULES SCRIPT ARGUMENT...: runs a test with the first Python that has all these modules; without one
# the test is skipped. The search is repeated each time: modules may be installed after the configuration.
modules=$1
shift
for python in python3 /usr/bin/python3; do
  if "$python" -c "import $modules" 2>/dev/null; then
    exec "$python" "$@"
  fi
done
exec "$(dirname "$0")/skip.sh" "no python3 with the modules $modules"
