#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# find-toolkit.sh NVCC: print the folder of the CUDA toolkit that NVCC belongs to. Debian's nvcc, whose
# headers and libraries lie where the compiler looks anyway, says only where its programs are.
steps=$("$1" --dryrun -o /dev/null x.cu 2>&1)
top=$(printf '%s\n' "$steps" | sed -n 's/^#\$ TOP=//p')
here=$(printf '%s\n' "$steps" | sed -n 's/^#\$ _HERE_=//p')
cd "${top:-${here:?nvcc --dryrun does not say where it lies}/..}" && pwd -P
