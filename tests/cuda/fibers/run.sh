#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/cuda/fibers/run.sh [BUILD [ROUNDS [SEED]]]
#
# Runs the kernels of packet headers on the CPU, with threads that are fibers, and compares with the packet writer.
# Prints TAP. BUILD is a build folder with CUDA (default: build), whose libcj2k.a is used; NVCC its compiler. A GPU is
# not needed.
set -eu
build=$(realpath "${1:-build}") rounds=${2:-20} seed=${3:-1}
cd "$(dirname "$0")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
toolkit=$(cuda/find-toolkit.sh "${NVCC:-/usr/local/cuda/bin/nvcc}")
read -ra flags <<<"-O2 -g -I. -I$build -Icuda/shared -Itests/unit -isystem $toolkit/include $(pkg-config --cflags glib-2.0)"
read -ra libraries <<<"$(pkg-config --libs glib-2.0) -lm -lpthread"

# Launches of kernels become calls of fibers::launch().
for name in headers place; do
  {
    echo '#include "tests/cuda/fibers/fibers.h"'
    perl -0pe 's/(\w+(?:<\w+>)?)<<<([^,]+),\s*([^,]+),\s*0,\s*stream>>>\(([^;]*)\);/fibers::launch($2, $3, [=] { $1($4); });/g' \
      "cuda/shared/$name.cu" | sed 's/return cudaGetLastError();/return cudaSuccess;/'
  } >"$work/$name.cpp"
  g++ -std=c++17 "${flags[@]}" -c "$work/$name.cpp" -o "$work/$name.o"
done
gcc -std=gnu11 -Wall -Wextra "${flags[@]}" -c tests/cuda/fibers/headers.c -o "$work/driver.o"
g++ -o "$work/headers" "$work"/*.o "$build/common/libcj2k.a" "${libraries[@]}"
"$work/headers" "$rounds" "$seed"
