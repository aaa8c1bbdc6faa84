# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by the scripts of continuous integration: counts the results of tests.
# shellcheck shell=bash

passed=0 failed=0 skipped=0

# add LINE: adds "N passed, N failed, N skipped" to the sums; any other line is a failure, and so is a
# line of zeros.
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

# check NAME COMMAND...: one test; its output is shown if it fails.
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

# counted COMMAND...: shows the command's output and adds its last line.
counted() {
  local log
  log=$(mktemp)
  "$@" </dev/null | tee "$log"
  add "$(tail -n 1 "$log")"
  rm -f "$log"
}

# part NAME COMMAND...: prints how long it took.
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

# Prints the last line of a script; fails if a test failed.
sum() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
}

# Prints where this machine's apt has Debian from. While `apt-get update` runs there may be no answer, so it is asked once,
# before (CJ2K_MIRROR).
debian_mirror() {
  local mirror
  # shellcheck disable=SC2016 # apt's variable
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -v security | head -n 1)
  echo "${mirror:-http://deb.debian.org/debian}"
}
