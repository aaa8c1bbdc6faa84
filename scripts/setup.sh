# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by examples/demo.sh, tests/run.sh and .ci/run: installs what is missing and configures a
# build folder. Each function does nothing when there is nothing to do.
# shellcheck shell=bash

cj2k_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages_build=(gcc g++ libc6-dev meson ninja-build pkg-config libglib2.0-dev libgstreamer1.0-dev
  libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev libpng-dev)
packages_demo=(gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad)
packages_tests=(clang-format libopenjp2-tools openjph-tools grokj2k-tools python3 python3-numpy)
packages_deb=(debhelper dpkg-dev fakeroot)
# Only where the CUDA compiler must come from PyPI.
packages_pypi=(ca-certificates python3 python3-venv)

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# install_packages PACKAGE...: through apt on Debian and its kin; elsewhere says what to install.
install_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # No way to ask for Debian's names here: the build itself finds out what is missing.
    command -v meson >/dev/null && command -v ninja >/dev/null && command -v pkg-config >/dev/null &&
      pkg-config --exists glib-2.0 gstreamer-video-1.0 gstreamer-codecparsers-1.0 libpng && return 0
    fail "this is not a Debian: please install what these packages of Debian 12 hold, then try again: $*"
  fi
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "not root and no sudo; please install: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2 || say "apt-get update failed, going on with the lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >&2 </dev/null || fail "apt-get could not install: ${missing[*]}"
}

# Prints the path of a CUDA compiler, from PATH, from /usr/local/cuda, or from PyPI into
# build/cuda; prints nothing when none can be had.
find_nvcc() {
  local venv=$cj2k_root/build/cuda nvcc
  if nvcc=$(command -v nvcc) || nvcc=$(command -v /usr/local/cuda/bin/nvcc); then
    echo "$nvcc"
    return
  fi
  if [ ! -e "$venv/done" ]; then
    install_packages "${packages_pypi[@]}"
    say "fetching the CUDA compiler from PyPI"
    rm -rf "$venv"
    { python3 -m venv "$venv" &&
      "$venv/bin/pip" install -q --disable-pip-version-check \
        'nvidia-cuda-nvcc>=13,<14' 'nvidia-cuda-runtime>=13,<14' 'nvidia-cuda-cccl>=13,<14' &&
      touch "$venv/done"; } >&2 || { say "no CUDA compiler to be had"; return; }
  fi
  find "$venv" -path '*/bin/nvcc' -type f -print -quit
}

# configure FOLDER OPTION...: meson setup, or meson configure when the options have changed. CUDA code
# is compiled for the GPU at hand; where there is none, for two architectures, to see that it compiles.
configure() {
  local folder=$1 nvcc arch=75,90
  shift
  if ! printf '%s\n' "$@" | grep -q '^-Dcuda=disabled$'; then
    nvcc=$(find_nvcc)
    if nvidia-smi -L >/dev/null 2>&1; then arch=native; fi
    if [ -n "$nvcc" ]; then set -- "$@" "-Dnvcc=$nvcc" "-Dnvcc_arch=$arch"; fi
  fi
  if [ ! -e "$folder/build.ninja" ]; then
    meson setup "$folder" "$cj2k_root" "$@" >&2 || return 1
  elif [ "$(cat "$folder/options" 2>/dev/null)" != "$*" ]; then
    meson configure "$folder" "$@" >&2 || return 1
  fi
  echo "$*" >"$folder/options"
}

# compile FOLDER: quiet unless it fails.
compile() {
  local log=$1/compile.log
  say "building in ${1#"$cj2k_root"/}"
  ninja -C "$1" >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    fail "the build failed, see $log"
  }
}
