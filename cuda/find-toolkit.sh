#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# find-toolkit.sh NVCC: prints the folder of the CUDA toolkit that NVCC belongs to. Debian's nvcc tells only
# where its programs are, which suffices: its headers and libraries are in the compiler's default folders.
steps=$("$1" --dryrun -o /dev/null x.cu 2>&1)
top=$(printf '%s\n' "$steps" | sed -n 's/^#\$ TOP=//p')
here=$(printf '%s\n' "$steps" | sed -n 's/^#\$ _HERE_=//p')
cd "${top:-${here:?nvcc --dryrun does not tell where it is}/..}" && pwd -P
