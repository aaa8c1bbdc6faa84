#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# to-cpp.sh KERNELS.cu OUTPUT.cpp: makes C++ of CUDA C++, for fibers.h. Launches of kernels become calls of
# fibers::launch(), and shared memory whose size the launch tells becomes a pointer to that of the fibers.
set -eu
{
  echo '#include "tests/cuda/fibers/fibers.h"'
  perl -0pe 's/(\w+(?:<\w+>)?)\s*<<<([^;]+),\s*([^;,]+),\s*([^;,]+),\s*stream>>>\(([^;]*)\);/fibers::launch($2, $3, $4, [=] { $1($5); });/g;
             s/extern __shared__ (\w+) (\w+)\[\];/$1 *$2 = reinterpret_cast<$1 *>(fibers::shared);/g;
             s/cudaGetLastError\(\)/cudaSuccess/g' "$1"
} >"$2"
