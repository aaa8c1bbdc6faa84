# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by the scripts of continuous integration: counts what they find.
# shellcheck shell=bash

passed=0 failed=0 skipped=0

# add LINE: "N passed, N failed, N skipped" into the sums; any other line is a failure, and so are
# tests of which none ran.
add() {
  if [[ $1 =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] &&
    [ "$((BASH_REMATCH[1] + BASH_REMATCH[2] + BASH_REMATCH[3]))" -gt 0 ]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
  else
    failing "no sum at the end, but: ${1:-nothing}"
  fi
}

failing() {
  echo "FAILED  $*"
  failed=$((failed + 1))
}
skipping() {
  echo "skipped $*"
  skipped=$((skipped + 1))
}

# check NAME COMMAND...: one test, whose output is shown when it fails.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1 </dev/null); then
    passed=$((passed + 1))
  else
    failing "$name"
    tail -n 60 <<<"$output" | sed 's/^/    /'
  fi
}

# counted COMMAND...: what the command prints is shown and its last line added.
counted() {
  local log
  log=$(mktemp)
  "$@" </dev/null | tee "$log"
  add "$(tail -n 1 "$log")"
  rm -f "$log"
}

# part NAME COMMAND...: says how long it took.
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

# The last line of a script; its status is that of the tests.
sum() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}
