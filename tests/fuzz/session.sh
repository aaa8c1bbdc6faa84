#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/fuzz/session.sh SECONDS JOBS PROGRAMS CORPUS OUT [TARGET...]
#
# Runs fuzz targets for SECONDS each, JOBS processes at a time. PROGRAMS is the folder of the programs fuzz-*,
# CORPUS has a folder of inputs for each. OUT gets for each target corpus/TARGET (what was found, with the old
# inputs left out), crashes/TARGET and a log; summary.txt has a line for each target. With more jobs than targets
# the slow ones run several times. Needs nothing but bash and the programs. Exit status 1: something was found.
set -u
export LC_ALL=C

seconds=$1 jobs=$2 programs=$3 corpus=$4 out=$5
shift 5
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for program in "$programs"/fuzz-*; do
    case $program in *.*) ;; *) targets+=("$(basename "$program")") ;; esac
  done
fi
# Those whose inputs take longest to try, and that see most of the code.
deep=(fuzz-frame fuzz-packets fuzz-parts fuzz-encoder fuzz-rtp fuzz-round-trip fuzz-threads)

export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$out"
echo ok >"$out/.writable" || exit 2
rm -f "$out/.writable"

# Threads free memory later than the target returns, and each time that would be taken for a leak and searched
# for; leaks are found when the tests replay the inputs.
leaks() {
  case $1 in
  fuzz-threads | fuzz-caps) echo 0 ;;
  *) echo 1 ;;
  esac
}

# run TARGET NUMBER: one process until the time is over; it begins again after a find.
run() {
  local target=$1 number=$2 end=$((SECONDS + seconds)) left round=0
  mkdir -p "$out/corpus/$target" "$out/crashes/$target"
  while left=$((end - SECONDS)) && [ "$left" -gt 0 ] && [ "$round" -lt 20 ]; do
    ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16:detect_leaks=$(leaks "$target") \
      "$programs/$target" -max_total_time="$left" -timeout=20 -rss_limit_mb=3000 -max_len=4096 -reload=30 \
      -print_final_stats=1 -verbosity=1 -detect_leaks="$(leaks "$target")" \
      -artifact_prefix="$out/crashes/$target/" \
      "$out/corpus/$target" "$corpus/$target" >"$out/$target-$number-$round.log" 2>&1
    round=$((round + 1))
  done
}

# The list of processes: each target once, then the deep ones again while there are jobs.
list=("${targets[@]}")
while [ ${#list[@]} -lt "$jobs" ] && [ ${#targets[@]} -gt 6 ]; do
  list+=("${deep[$((${#list[@]} % ${#deep[@]}))]}")
done
number=0
for target in "${list[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
  run "$target" "$number" &
  number=$((number + 1))
done
wait

# total PATTERN FILE...: adds up the numbers behind PATTERN.
total() {
  local pattern=$1 sum=0 value
  shift
  while read -r value; do sum=$((sum + value)); done < <(grep -hoE "$pattern +[0-9]+" "$@" | grep -oE '[0-9]+$')
  echo "$sum"
}

found=0
printf '%-16s %12s %9s %9s %8s\n' target executions 'per s' 'new units' finds >"$out/summary.txt"
for target in "${targets[@]}"; do
  logs=("$out/$target"-[0-9]*.log)
  count=$(total 'number_of_executed_units:' "${logs[@]}")
  processes=0
  for listed in "${list[@]}"; do [ "$listed" != "$target" ] || processes=$((processes + 1)); done
  units=$(find "$out/corpus/$target" -type f | wc -l)
  finds=$(find "$out/crashes/$target" -type f ! -name 'slow-unit-*' | wc -l)
  found=$((found + finds))
  printf '%-16s %12d %9d %9d %8d\n' "$target" "$count" $((count / seconds / processes)) "$units" "$finds" >>"$out/summary.txt"
done
cat "$out/summary.txt"
[ "$found" -eq 0 ]
