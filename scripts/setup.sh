# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by examples/demo.sh, tests/run.sh and .ci/run: installs what is missing and configures a
# build folder. Each function does nothing when there is nothing to do.
# shellcheck shell=bash disable=SC2034 # who includes this uses the lists

cj2k_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What the build needs, and what demo.sh and the tests use.
packages_build=(gcc g++ libc6-dev meson ninja-build pkg-config libglib2.0-dev libgstreamer1.0-dev
  libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev libpng-dev libtiff-dev
  libopenexr-dev)
packages_demo=(gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad)
# Other JPEG 2000 software to compare with. Tests that lack it are skipped, with the reason.
# python3-distributed, 15 MB with what it needs, runs cj2k-farm.
packages_peers=(libopenjp2-tools openjph-tools grokj2k-tools python3-numpy python3-distributed
  graphicsmagick)
# Compiler and sanitizers of the fuzz targets (tests/fuzz/run.sh): clang 14 as in Debian 12, or any.
packages_fuzz=(clang libclang-rt-dev)
# What scripts/deb.sh builds the Debian packages with.
packages_deb=(build-essential debhelper dpkg-dev fakeroot)
# Needed only if the CUDA compiler comes from PyPI.
packages_pypi=(ca-certificates python3 python3-venv)

# The same elsewhere (README.md, "Other distributions").
packages_fedora=(gcc gcc-c++ meson ninja-build pkgconf-pkg-config glib2-devel gstreamer1-devel
  gstreamer1-plugins-base-devel gstreamer1-plugins-bad-free-devel libpng-devel libtiff-devel openexr-devel
  gstreamer1-plugins-base gstreamer1-plugins-good gstreamer1-plugins-bad-free openjpeg-tools openjph python3-numpy
  python3-distributed)

# The CUDA compiler of PyPI: a set that was tested together, or with CJ2K_NVCC_PYPI=newest the newest.
nvcc_pinned=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85)
nvcc_newest=('nvidia-cuda-nvcc>=13,<14' 'nvidia-cuda-crt>=13,<14' 'nvidia-nvvm>=13,<14'
  'nvidia-cuda-runtime>=13,<14' 'nvidia-cuda-cccl>=13,<14')

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_debian() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

# missing_packages PACKAGE...: those that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      echo "$package"
  done
}

# offered_packages PACKAGE...: those that apt could install, one a line.
offered_packages() {
  local package
  for package in "$@"; do
    LC_ALL=C apt-cache policy "$package" 2>/dev/null | grep -q '^  Candidate: [^(]' && echo "$package"
  done
}

# as_root COMMAND...: runs a command as root; fails if that is not possible.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null && sudo "$@"
  fi
}
can_be_root() { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }

apt_update() {
  as_root apt-get update -qq >&2 || say "apt-get update failed, going on with the lists at hand"
}
apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 </dev/null
}

# install_packages PACKAGE...: by apt on Debian and its derivatives; elsewhere fails with what to install.
install_packages() {
  local missing
  if ! is_debian; then
    # Debian's package names mean nothing here: meson finds out what else is missing.
    command -v meson >/dev/null && command -v ninja >/dev/null && command -v pkg-config >/dev/null &&
      pkg-config --exists glib-2.0 gstreamer-video-1.0 libpng && return 0
    if command -v dnf >/dev/null; then
      fail "please install, then try again: dnf install ${packages_fedora[*]}"
    fi
    fail "this is not Debian: please install the equivalents of these Debian packages, then try again: $*"
  fi
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  can_be_root || fail "not root and no sudo; please install: ${missing[*]}"
  say "installing ${missing[*]}"
  apt_update
  apt_install "${missing[@]}" || fail "apt-get could not install: ${missing[*]}"
}

# install_optional PACKAGE...: the same for packages that are not required.
install_optional() {
  local missing offered
  is_debian || return 0
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  mapfile -t offered < <(offered_packages "${missing[@]}")
  if [ ${#offered[@]} -eq 0 ] && [ -z "$(offered_packages gcc)" ] && can_be_root; then
    apt_update # there were no lists yet
    mapfile -t offered < <(offered_packages "${missing[@]}")
  fi
  if [ ${#offered[@]} -gt 0 ] && can_be_root; then
    say "installing ${offered[*]}"
    apt_install "${offered[@]}" || say "apt-get could not install these"
    mapfile -t missing < <(missing_packages "$@")
  fi
  [ ${#missing[@]} -eq 0 ] || say "going on without ${missing[*]}: tests that need them are skipped"
}

# nvcc_is_usable NVCC: does it run, and is it CUDA 12.4 or later?
nvcc_is_usable() {
  local release
  release=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  # shellcheck disable=SC2086 # two words
  [ -n "$release" ] && [ "$(printf '%d%02d' $release)" -ge 1204 ]
}

# Prints the path of a CUDA compiler, from PATH, from /usr/local/cuda, or from PyPI into build-nvcc;
# prints nothing if none is available. With CJ2K_NVCC_PYPI=pinned or newest it is PyPI's in any case.
find_nvcc() {
  local venv=$cj2k_root/build-nvcc nvcc set=("${nvcc_pinned[@]}")
  case ${CJ2K_NVCC_PYPI:-} in
  '')
    for nvcc in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
      [ -n "$nvcc" ] && nvcc_is_usable "$nvcc" && echo "$nvcc" && return
    done
    ;;
  pinned) ;;
  newest) set=("${nvcc_newest[@]}") ;;
  *) fail "CJ2K_NVCC_PYPI is $CJ2K_NVCC_PYPI: pinned, newest, or not set" ;;
  esac
  # The file `done` lists what the folder holds; an interrupted download has not written it.
  if [ "$(cat "$venv/done" 2>/dev/null)" != "${set[*]}" ]; then
    install_optional "${packages_pypi[@]}"
    say "fetching the CUDA compiler from PyPI: ${set[*]}"
    rm -rf "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check "${set[@]}" &&
      echo "${set[*]}" >"$venv/done"; } >&2 ||
      { say "no CUDA compiler to be had, building without CUDA" && return; }
  fi
  find "$venv" -path '*/bin/nvcc' -type f -print -quit
}

# Options that demo.sh and the tests share, so that the second of them need not build again.
options_default=(-Dgstreamer=enabled -Dpng=enabled)

# configure FOLDER OPTION...: meson setup, or meson configure if the options have changed. CUDA code is
# compiled for the machine's GPU; without one for H100 and H200, to check that it compiles.
configure() {
  local folder=$1 nvcc arch=90 made
  shift
  if ! printf '%s\n' "$@" | grep -q '^-Dcuda=disabled$'; then
    nvcc=$(find_nvcc) || return 1
    if nvidia-smi -L >/dev/null 2>&1; then arch=native; fi
    if [ -n "$nvcc" ]; then set -- "$@" "-Dnvcc=$nvcc" "-Dnvcc_arch=$arch"; fi
  fi
  made="meson $(meson --version): $*"
  if [ -e "$folder/build.ninja" ]; then
    [ "$(cat "$folder/options" 2>/dev/null)" = "$made" ] && return 0
    # Another version of meson, or of this project, may have made the folder.
    meson configure "$folder" "$@" >&2 || {
      say "making ${folder#"$cj2k_root"/} anew"
      rm -rf "$folder"
    }
  fi
  if [ ! -e "$folder/build.ninja" ]; then
    meson setup "$folder" "$cj2k_root" "$@" >&2 || return 1
  fi
  echo "$made" >"$folder/options"
}

# compile FOLDER [--no-tests]: quiet unless it fails. The tests' programs take nearly half of the time.
compile() {
  local log=$1/compile.log programs=()
  if [ "${2:-}" = --no-tests ]; then
    ninja -C "$1" build.ninja >"$log" 2>&1 # the sources may have changed, and with them the names of the programs
    mapfile -t programs < <(ninja -C "$1" -t targets rule c_LINKER 2>/dev/null | grep -v '^tests/\|^ninja')
  fi
  say "building in ${1#"$cj2k_root"/}"
  ninja -C "$1" "${programs[@]}" >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    fail "the build failed, see $log"
  }
}
