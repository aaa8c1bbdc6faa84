#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/cuda/fibers/run.sh headers|cut|cut-mq|mq-decode|mq-decode-full|mq-decode-raw|refine|mq-encode|film-drawn [BUILD [ROUNDS [SEED]]]
#
# Runs kernels on the CPU, with threads that are fibers: those of packet headers, and compares with the packet writer,
# those of the cut of HT or MQ frames, and compares with rate control, those of MQ encoding, and compares with the CPU's
# coder, that of raw refinement passes, and compares with the CPU's reader, or the MQ decoder, in decode-equal with kernels in C
# for all else; ROUNDS is the share of the streams then, -full means full warps, and -raw streams with BYPASS of each of
# which there are ROUNDS damaged copies. film-drawn has that decoder with ROUNDS films. Prints TAP. BUILD is a build folder with CUDA (default:
# build), whose libcj2k.a is used; NVCC its compiler. A GPU is not needed.
set -eu
build=$(realpath "${2:-build}") rounds=${3:-20} seed=${4:-1}
test=${1%-full} streams=(--share "$rounds")
[ "$test" = "$1" ] || streams=(--full-warps "${streams[@]}") # the order that decode-equal takes
test=${test%-raw}
[ "$test" = "${1%-full}" ] || streams=(--damage "$rounds" --raw)
case $test in
  headers) kernels=(shared/headers shared/place) driver=tests/cuda/fibers/headers.c ;;
  cut) kernels=(ht/cut) driver=tests/cuda/cut-equal.c ;;
  cut-mq) kernels=(mq/cut mq/count) driver=tests/cuda/cut-equal-mq.c ;;
  mq-decode) kernels=(mq/decode mq/refine) driver=tests/cuda/decode-equal.c ;;
  refine) kernels=(mq/refine) driver=tests/cuda/fibers/refine.c ;;
  mq-encode) kernels=(mq/contexts mq/encode) driver=tests/cuda/fibers/mq-encode.c ;;
  film-drawn) kernels=(mq/decode mq/refine) driver=tests/cuda/film-drawn.c ;;
  *) echo "$0: headers, cut, cut-mq, mq-decode, mq-decode-full, mq-decode-raw, refine, mq-encode or film-drawn" >&2; exit 1 ;;
esac
cd "$(dirname "$0")/../../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
toolkit=$(cuda/find-toolkit.sh "${NVCC:-/usr/local/cuda/bin/nvcc}")
mkdir -p "$work/in-place/cuda/mq"
echo '#include "tests/cuda/fibers/instructions.h"' >"$work/in-place/cuda/mq/instructions.cuh"
read -ra flags <<<"-O2 -g -I$work/in-place -I. -I$build -I$build/cuda -Icuda/shared -Icommon -Itests -Itests/unit -isystem $toolkit/include $(pkg-config --cflags glib-2.0)"
read -ra libraries <<<"$(pkg-config --libs glib-2.0) -L$toolkit/lib64 -L$toolkit/lib -L$toolkit/targets/x86_64-linux/lib -lm -lpthread"

# Launches of kernels become calls of fibers::launch().
for kernel in "${kernels[@]}"; do
  name=${kernel#*/} apart=()
  # Threads of the MQ decoder have a code-block each, and wait for each other only to be fast.
  [ "$kernel" != mq/decode ] || apart=(-DLANES_ARE_APART)
  {
    echo '#include "tests/cuda/fibers/fibers.h"'
    perl -0pe 's/(\w+(?:<\w+>)?)\s*<<<([^;]+),\s*([^;,]+),\s*([^;,]+),\s*stream>>>\(([^;]*)\);/fibers::launch($2, $3, $4, [=] { $1($5); });/g;
               s/extern __shared__ (\w+) (\w+)\[\];/$1 *$2 = reinterpret_cast<$1 *>(fibers::shared);/g' \
      "cuda/$kernel.cu" | sed 's/cudaGetLastError()/cudaSuccess/'
  } >"$work/$name.cpp"
  g++ -std=c++17 "${flags[@]}" "${apart[@]}" -iquote "cuda/${kernel%/*}" -c "$work/$name.cpp" -o "$work/$name.o"
done
sources=("$driver")
# The kernels come before those in C of the same name.
case $test in mq-decode | film-drawn)
  sources+=(tests/cuda/{pictures,raw-streams,pretend-kernels,pretend-graphs,pretend-order,pretend-runtime}.c)
  libraries+=(-lcudart_static -ldl -lrt)
  ;;
esac
objects=("$work"/*.o)
for source in "${sources[@]}"; do
  name=$(basename "$source" .c)
  gcc -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -DON_CPU "${flags[@]}" -c "$source" -o "$work/driver-$name.o"
  objects+=("$work/driver-$name.o")
done
g++ -o "$work/test" "${objects[@]}" "$build/common/libcj2k.a" "${libraries[@]}" -Wl,--allow-multiple-definition
case $test in
  mq-decode) "$work/test" "${streams[@]}" ;;
  film-drawn) "$work/test" --decoders --seed "$seed" "$rounds" ;;
  *) "$work/test" "$rounds" "$seed" ;;
esac
