#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# scripts/deb.sh [--lint] [OUTPUT]
#
# Builds the Debian packages libcj2k0, libcj2k-dev, gstreamer1.0-cudaj2k and cj2k-tools of this source
# tree into the folder OUTPUT (default: build/packages), on Debian 12 or 13 for the same release. Installs
# missing packages. The CUDA compiler is the one on PATH, the one in /usr/local/cuda, or comes from PyPI;
# its runtime is linked statically, so that the packages depend on no package of NVIDIA's.
#   --lint   check the packages with lintian and fail if it finds an error
# CJ2K_NVCC_ARCH names the compute capabilities to compile for, separated by commas; empty: no CUDA.
# Default: those of 75,80,90,100,120 that the compiler knows. Code for 80 also runs on 86 and 89, code
# for 100 on 103, code for 120 on 121; for later GPUs the driver compiles the PTX of the last one.
# DEB_BUILD_OPTIONS is dpkg-buildpackage's (default: noautodbgsym).
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/setup.sh

output=
lint=0
for argument in "$@"; do
  case $argument in
  --lint) lint=1 ;;
  -h | --help) sed -n '4,16s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) fail "unknown option $argument; see scripts/deb.sh --help" ;;
  *)
    [ -z "$output" ] || fail "one OUTPUT is enough; see scripts/deb.sh --help"
    output=$argument
    ;;
  esac
done
output=${output:-$cj2k_root/build/packages}

command -v apt-get >/dev/null || fail "packages are built on Debian only; elsewhere use meson install"
install_packages "${packages_build[@]}" "${packages_deb[@]}"
[ "$lint" -eq 0 ] || install_packages lintian

# known_archs NVCC: prints those of the default list that the compiler supports.
known_archs() {
  local arch known
  known=$("$1" --list-gpu-arch) || return
  for arch in 75 80 90 100 120; do
    grep -qx "compute_$arch" <<<"$known" && echo "$arch"
  done | paste -sd,
}

export CJ2K_NVCC='' CJ2K_NVCC_ARCH=${CJ2K_NVCC_ARCH-default}
if [ -n "$CJ2K_NVCC_ARCH" ]; then
  CJ2K_NVCC=$(find_nvcc)
  [ -n "$CJ2K_NVCC" ] ||
    fail "no CUDA compiler; install one, or set CJ2K_NVCC_ARCH to nothing for packages without CUDA"
  [ "$CJ2K_NVCC_ARCH" = default ] && CJ2K_NVCC_ARCH=$(known_archs "$CJ2K_NVCC")
fi

# dpkg-buildpackage writes into the source tree and beside it: give it a copy.
work=$(mktemp -d) || fail "no folder for temporary files"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source" "$output" || fail "$output cannot be made"
output=$(realpath "$output")
if git rev-parse --git-dir >/dev/null 2>&1; then
  git ls-files -z --cached --others --exclude-standard
else
  find . \( -path './build*' -o -path ./.git \) -prune -o -type f -print0
fi | tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$work/source"
[ -e "$work/source/debian/changelog" ] || fail "the source tree could not be copied"

log=$output/build.log
say "building packages ${CJ2K_NVCC_ARCH:+with CUDA for $CJ2K_NVCC_ARCH, }in ${output#"$cj2k_root"/}"
(cd "$work/source" && DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-noautodbgsym} dpkg-buildpackage -b -us -uc) \
  >"$log" 2>&1 </dev/null || {
  tail -n 60 "$log" >&2
  fail "dpkg-buildpackage failed, see $log"
}
rm -f "$output"/*.deb
mv "$work"/*.deb "$output" || fail "no package was made, see $log"

if [ "$lint" -eq 1 ]; then
  # Debian's archive wants a bug number in the first entry of a changelog.
  lintian --fail-on error --allow-root --suppress-tags initial-upload-closes-no-bugs "$output"/*.deb >&2 || fail "lintian found errors"
fi
ls "$output"/*.deb
