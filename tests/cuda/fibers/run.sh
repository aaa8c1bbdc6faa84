#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/cuda/fibers/run.sh headers|cut|cut-mq [BUILD [ROUNDS [SEED]]]
#
# Runs kernels on the CPU, with threads that are fibers: those of packet headers, and compares with the packet writer, or
# those of the cut of HT or MQ frames, and compares with rate control. Prints TAP. BUILD is a build folder with CUDA (default:
# build), whose libcj2k.a is used; NVCC its compiler. A GPU is not needed.
set -eu
build=$(realpath "${2:-build}") rounds=${3:-20} seed=${4:-1}
case $1 in
  headers) kernels=(shared/headers shared/place) driver=tests/cuda/fibers/headers.c ;;
  cut) kernels=(ht/cut) driver=tests/cuda/cut-equal.c ;;
  cut-mq) kernels=(mq/cut mq/count) driver=tests/cuda/cut-equal-mq.c ;;
  *) echo "$0: headers, cut or cut-mq" >&2; exit 1 ;;
esac
cd "$(dirname "$0")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
toolkit=$(cuda/find-toolkit.sh "${NVCC:-/usr/local/cuda/bin/nvcc}")
read -ra flags <<<"-O2 -g -I. -I$build -Icuda/shared -Itests/unit -isystem $toolkit/include $(pkg-config --cflags glib-2.0)"
read -ra libraries <<<"$(pkg-config --libs glib-2.0) -lm -lpthread"

# Launches of kernels become calls of fibers::launch().
for kernel in "${kernels[@]}"; do
  name=${kernel#*/}
  {
    echo '#include "tests/cuda/fibers/fibers.h"'
    perl -0pe 's/(\w+(?:<\w+>)?)<<<([^,]+),\s*([^,]+),\s*0,\s*stream>>>\(([^;]*)\);/fibers::launch($2, $3, [=] { $1($4); });/g' \
      "cuda/$kernel.cu" | sed 's/return cudaGetLastError();/return cudaSuccess;/'
  } >"$work/$name.cpp"
  g++ -std=c++17 "${flags[@]}" -c "$work/$name.cpp" -o "$work/$name.o"
done
gcc -std=gnu11 -Wall -Wextra -DON_CPU "${flags[@]}" -c "$driver" -o "$work/driver.o"
g++ -o "$work/test" "$work"/*.o "$build/common/libcj2k.a" "${libraries[@]}"
"$work/test" "$rounds" "$seed"
