#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# .ci/bare.sh [--hold FIFO] [--data] SUITE pinned|newest
# .ci/bare.sh --possible
#
# Tests what a new user does: installs Debian SUITE with nothing but git and certificates into a folder,
# clones the current commit there, and runs the commands of README.md as printed in that file. The
# CUDA compiler is PyPI's: the set that scripts/setup.sh names, or the newest, with which the tests are a short run
# (tests/unit/effort.h). Then it builds the Debian packages and tests them in a second system that has never had
# anything else (.ci/packages.sh).
# Of this machine the inner systems see only the way to the package registries. Mounts and processes
# are in namespaces of their own, which end with this script, however it ends. The last line is the sum.
#   --hold FIFO  wait, once the system is made, until a line comes from FIFO; then do the rest
#   --data       after the README's commands run the tests that read the test data (CJ2K_SHARED), which is seen from then on
#   --possible   only print why this machine cannot make such systems; prints nothing if it can
set -u
cd "$(dirname "$0")/.." || exit 1
. .ci/lib.sh
. .ci/packages.sh
. scripts/setup.sh

# Environment variables with which pip reaches PyPI from here.
registry_variables=(PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_PROXY PIP_DEFAULT_TIMEOUT
  http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY)

cannot() {
  skipping "bare $suite: $*"
  sum
  exit
}

# Prints why there can be no bare system here.
obstacle() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "not root"
  elif ! git rev-parse --quiet --verify HEAD >/dev/null; then
    echo "not in a git repository, nothing to clone"
  elif install_optional debootstrap debian-archive-keyring && ! command -v debootstrap >/dev/null; then
    echo "no debootstrap"
  elif ! unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
    echo "unshare may not make namespaces"
  fi
}

# The outer part: makes a folder, which is removed at the end, and the namespaces.
outside() {
  local stale status why
  why=$(obstacle)
  if [ -n "$why" ] && [ -n "$hold" ]; then # who holds it has asked --possible before, and relies on these tests
    failing "bare $suite: $why"
    sum
    exit
  fi
  [ -z "$why" ] || cannot "$why"

  # Removes folders of runs that were killed. A folder in use is locked.
  for stale in /var/tmp/cj2k-bare.*; do
    [ -e "$stale/lock" ] && flock --nonblock "$stale/lock" rm -rf --one-file-system "$stale"
  done
  folder=$(mktemp -d /var/tmp/cj2k-new.XXXXXX) || exit 1
  exec 9>"$folder/lock"
  flock 9
  # Another script that looks for stale folders must not see this one before it is locked.
  mv "$folder" "/var/tmp/cj2k-bare.${folder##*.}" || exit 1
  folder=/var/tmp/cj2k-bare.${folder##*.}
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --propagation private \
    "$0" --inside "$folder" "$suite" "$compiler" "$hold" "$data" 9>&- &
  child=$!
  trap 'clean_up' EXIT
  trap 'exit 130' HUP INT TERM
  wait $child
  status=$?
  child=
  return $status
}

# When the child ends, all processes of its namespaces end, and with these the mounts.
clean_up() {
  [ -z "$child" ] || kill -KILL "$child"
  wait
  rm -rf --one-file-system "$folder"
}

# own_settings ROOT: gives the system in ROOT this machine's way to the package registries.
own_settings() {
  local root=$1 file name
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90outside" # the system is thrown away
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  apt-config dump | grep -E '^Acquire::(https?::|Check-Valid-Until|Check-Date|Retries)' >"$root/etc/apt/apt.conf.d/90outside"
  cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null
  for file in /etc/pip.conf .pip/pip.conf .config/pip/pip.conf; do
    [ -e "$HOME/$file" ] && install -D "$HOME/$file" "$root/root/$file"
  done
  [ -e /etc/pip.conf ] && cp /etc/pip.conf "$root/etc/pip.conf"
  # A bundle of certificates that is not Debian's own.
  for name in PIP_CERT SSL_CERT_FILE REQUESTS_CA_BUNDLE; do
    file=${!name:-}
    [ -e "$file" ] && [ "$file" != /etc/ssl/certs/ca-certificates.crt ] &&
      cp "$file" "$root/usr/local/share/ca-certificates/outside-$name.crt"
  done
  chroot "$root" update-ca-certificates >/dev/null 2>&1
  for name in "${registry_variables[@]}"; do
    [ -n "${!name:-}" ] && registry+=("$name=${!name}")
  done
}

# make_root ROOT: installs the bare system; other processes go first.
make_root() {
  nice -n 19 debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$1" "${CJ2K_MIRROR:-$(debian_mirror)}"
}

mount_root() {
  mkdir -p "$1/proc" "$1/dev/shm" && mount -t proc proc "$1/proc" && mount -t tmpfs shm "$1/dev/shm"
}

# in_root ROOT COMMAND: runs a command as root in that system, without this machine's environment.
in_root() {
  chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${registry[@]}" bash -c "cd /root; $2" </dev/null
}

# The commands under "Two commands", one a line.
readme_commands() {
  sed -n '/^## Two commands/,/^## /s|^    \(\./[^#]*[^# ]\) *\(#.*\)\{0,1\}$|\1|p' README.md
}

# user_does COMMAND: runs a command in the clone. Builds must be without a warning.
user_does() {
  local log=$folder/log start=$SECONDS
  set -- "$prefix$1"
  echo "== $suite: $1"
  in_root "$root" "cd cudaj2k && $1" 2>&1 | tee "$log"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then failing "bare $suite: $1"; else passed=$((passed + 1)); fi
  echo "== $suite: $1: $((SECONDS - start)) s"
  check "bare $suite: warnings while $1 built" no_warnings
  case $1 in
  *tests/run.sh) add "$(tail -n 1 "$log")" ;;
  esac
}

# Of gcc and ld ("warning: ..."), of nvcc ("warning #177-D: ...") and of its ptxas ("ptxas warning : ...").
no_warnings() { ! grep -A 5 -E 'warning ?(:|#[0-9])' "$clone/build/compile.log"; }

has_cuda() {
  grep CJ2K_HAVE_CUDA "$clone/build/config.h" && [ -n "$(find "$clone/build" -name '*cu.o' -size +0)" ]
}

make_systems() {
  make_root "$root" >"$folder/log" 2>&1 || {
    tail -n 20 "$folder/log"
    return 1
  }
  own_settings "$root"
  cp -a "$root" "$fresh" && mount_root "$root" && mount_root "$fresh" &&
    git clone -q --no-hardlinks "$cj2k_root" "$clone" &&
    git -C "$clone" checkout -q --detach "$(git rev-parse HEAD)"
}

user_commands() {
  local commands command
  mapfile -t commands < <(readme_commands)
  check "README.md prints two commands, and the second is tests/run.sh: ${commands[*]}" \
    [ "${#commands[@]} ${commands[1]:-}" = "2 ./tests/run.sh" ]
  for command in "${commands[@]}"; do user_does "$command"; done
  in_root "$root" "find cudaj2k/build-nvcc -path '*/bin/nvcc' -exec {} --version ';'" | grep release
  check "bare $suite: CUDA back end" has_cuda
}

# Tests that read the test data, which a user does not have, beside those of decode-equal-pretend. It lies where they look
# for it: beside the clone.
tests_with_data=(conformance jp2 files mutate info mq-decode-fibers mq-decode-full-fibers)

data_tests() {
  local beside=$clone/../shared log=$folder/log
  mkdir -p "$beside"
  if ! mount --bind "$data" "$beside" || ! mount -o remount,bind,ro "$beside"; then
    failing "bare $suite: the test data could not be mounted"
    return
  fi
  # Meson looks for some of the data when it configures.
  check "bare $suite: configured with the test data" in_root "$root" "cd cudaj2k && meson setup --reconfigure build"
  check "bare $suite: tests with blocks of both coders" in_root "$root" \
    "cd cudaj2k && meson test -C build --list | grep decode-equal-pretend-mixed"
  in_root "$root" "cd cudaj2k && ${prefix}./tests/run.sh ${tests_with_data[*]} \
    \$(meson test -C build --list | sed -n 's,.* / \(decode-equal-pretend.*\),\1,p')" 2>&1 | tee "$log"
  add "$(tail -n 1 "$log")"
  check "bare $suite: no test was without the test data" no_data_missed "$log"
  umount "$beside"
}

# What tests say that do not find it.
no_data_missed() { ! grep -E 'CJ2K_SHARED|no (conformance|malformed|JP2) ' "$1"; }

inside() {
  local registry=() root=$folder/root fresh=$folder/fresh clone=$folder/root/root/cudaj2k
  [ -z "$(git status --porcelain)" ] || echo "== $suite: changes that are not committed are not in the clone"
  part "$suite: debootstrap, clone" make_systems
  if [ ! -e "$clone/README.md" ] || [ ! -e "$fresh/proc/self" ]; then
    failing "bare $suite: could not be made"
    return
  fi
  if [ -n "$hold" ]; then
    echo "== $suite: the system is made, waiting"
    read -r _ <"$hold"
  fi
  user_commands
  [ -z "$data" ] || part "$suite: tests with test data" data_tests
  part "$suite: packages built" build_packages
  part "$suite: packages used" use_packages
  part "$suite: library used" use_library
  part "$suite: packages purged" purge_packages
  part "$suite: tarball, without GStreamer" build_tarball
}

hold='' data=''
case ${1:-} in
--inside)
  folder=$2 suite=$3 compiler=$4 hold=$5 data=$6 prefix=''
  [ "$compiler" = pinned ] || prefix="CJ2K_NVCC_PYPI=$compiler CJ2K_TESTS_SHORT=1 "
  inside
  sum
  exit
  ;;
--possible) obstacle && exit ;;
-h | --help) sed -n '4,19s/^# \{0,1\}//p' "$0" && exit ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
  --hold) hold=$(realpath "${2:?FIFO}") && shift ;;
  --data) data=$(realpath -e "${CJ2K_SHARED:-$cj2k_root/../shared}") || exit 2 ;;
  *) break ;;
  esac
  shift
done
suite=${1:?suite} compiler=${2:?pinned or newest}
outside
