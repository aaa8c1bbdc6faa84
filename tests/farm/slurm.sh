#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# slurm.sh: runs examples/farm/farm.sbatch in a Slurm of two nodes on this one machine, whose daemons it starts and ends:
# munged, slurmctld and two slurmd. Needs root and Debian's slurm-wlm, munge and python3-distributed; CJ2K_ENCODE names
# cj2k-encode. A film comes out with the bytes of one run; then a node's worker is killed in the middle of a film.
# Prints TAP.
# shellcheck disable=SC2015,SC2317 # "until there, else wait"; functions that trap and check call
set -u
here=$(cd "$(dirname "$0")" && pwd)
skip() {
  echo "1..0 # SKIP $1"
  exit 0
}
[ "$(id -u)" -eq 0 ] || skip "Slurm's daemons need root"
for program in munged slurmctld slurmd sbatch srun dask setpriv; do
  command -v "$program" >/dev/null || skip "$program is not installed (slurm-wlm, munge, python3-distributed)"
done
/usr/bin/python3 -c 'import numpy, distributed' 2>/dev/null || skip "no /usr/bin/python3 with the modules numpy,distributed"
encode=${CJ2K_ENCODE:-cj2k-encode}

work=$(mktemp -d /var/tmp/cj2k-slurm.XXXXXX) || exit 1
chmod 755 "$work"
daemons=()
finish() {
  local pid
  scancel --partition=films 2>/dev/null && sleep 1
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
  sleep 1
  for pid in "${daemons[@]}"; do kill -9 "$pid" 2>/dev/null; done
  wait
  rm -r "$work"
}
trap finish EXIT

# Credentials of our own: nothing of the system's munge or Slurm is used.
mkdir "$work/munge" && dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
chmod 600 "$work/munge/key" && chown -R munge: "$work/munge"
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force --key-file="$work/munge/key" \
  --socket="$work/munge/socket" --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" \
  --log-file="$work/munge/log" >"$work/munged.out" 2>&1 &
daemons+=($!)

host=$(hostname -s)
mkdir "$work/state"
cat >"$work/slurm.conf" <<CONF
ClusterName=cj2k-test
SlurmctldHost=$host
SlurmUser=root
SlurmctldPort=17001
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17011 CPUs=1 RealMemory=1000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17012 CPUs=1 RealMemory=1000
PartitionName=films Nodes=n1,n2 Default=YES State=UP OverSubscribe=FORCE
CONF
export SLURM_CONF=$work/slurm.conf
for _ in $(seq 50); do [ -S "$work/munge/socket" ] && break || sleep 0.1; done
slurmctld -D >"$work/slurmctld.out" 2>&1 &
daemons+=($!)
for node in n1 n2; do
  mkdir "$work/spool-$node"
  slurmd -D -N "$node" >"$work/slurmd-$node.out" 2>&1 &
  daemons+=($!)
done
for _ in $(seq 100); do
  [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
  sleep 0.2
done
if [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ]; then
  tail -n 5 "$work"/*.log "$work"/*.out | sed 's/^/# /'
  skip "two nodes of Slurm do not start on this machine"
fi

echo "# $(slurmctld -V), two nodes"
number=0 failed=0
check() { # check NAME COMMAND...
  number=$((number + 1))
  local name=$1
  shift
  if "$@" >"$work/why" 2>&1; then
    echo "ok $number - $name"
  else
    echo "not ok $number - $name"
    tail -n 12 "$work/why" "$work"/job*.out | sed 's/^/# /'
    failed=1
  fi
}

/usr/bin/python3 "$here/film.py" "$work/in" 96 192x108
options=(--rate-control=cbr --bits-per-pixel=1.5)
mkdir "$work/one"
"$encode" "${options[@]}" --rate-period=8 --frames=0-95 "$work/in/f.%07d.ppm" "$work/one/%07d.j2c" 2>"$work/one.log"
cat "$work"/one/*.j2c >"$work/one.j2c"

# Debian's dask needs Debian's python; the farm's own folder is first on PATH.
farm=$(cd "$here/../../examples/farm" && pwd)
export PATH=$farm:/usr/sbin:/usr/bin:/sbin:/bin CJ2K_ENCODE=$encode
job() { # job OUT: submits the film
  sbatch --parsable --nodes=2 --chdir="$work" --output="$work/job%j.out" "$farm/farm.sbatch" \
    "$work/in/f.%07d.ppm" "$1" --rate-period=8 --json -- "${options[@]}"
}
ended() { # ended ID: waits for the job, prints its state
  local state
  for _ in $(seq 300); do
    state=$(scontrol -o show job "$1" | sed -n 's/.* JobState=\([A-Z]*\).*/\1/p')
    case $state in PENDING | RUNNING | COMPLETING | CONFIGURING) sleep 0.3 ;; *) break ;; esac
  done
  echo "$state"
}
completed() { [ "$(ended "$1")" = COMPLETED ]; }

first=$(job "$work/film.j2c")
check "a film on two nodes" completed "$first"
check "the bytes of one run" cmp "$work/film.j2c" "$work/one.j2c"
nodes() { [ "$(grep -o '"worker": "tcp[^"]*"' "$work/job$first.out" | sort -u | wc -l)" = 2 ]; }
check "both nodes have worked" nodes

# The encoder waits in each part, so that there is time to kill a worker in the middle of one.
export CJ2K_REAL_ENCODE=$encode CJ2K_ENCODE=$here/encoder.py CJ2K_FARM_FAULTS=$work/faults.json
echo '{"pause": 1.5, "log": "'"$work/starts"'"}' >"$work/faults.json"
second=$(job "$work/killed.j2c")
touch "$work/starts"
for _ in $(seq 100); do [ "$(wc -l <"$work/starts")" -ge 5 ] && break || sleep 0.2; done
# The step's processes are below the second node's slurmstepd.
worker=$(pgrep -f "dask worker --scheduler-file $work/cj2k-farm.$second.json" | while read -r pid; do
  grep -qs 'slurmstepd' "/proc/$(ps -o ppid= -p "$pid" | tr -d ' ')/comm" && echo "$pid"
done | tail -n 1)
kill -9 "$worker"
echo '{}' >"$work/faults.json"
check "a film of which a worker is killed" completed "$second"
check "it has the bytes of one run" cmp "$work/killed.j2c" "$work/one.j2c"
check "the part that was lost is told" grep -q '"event": "again"' "$work/job$second.out"
echo "1..$number"
exit $failed
