#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# find-toolkit.sh NVCC: print the folder of the CUDA toolkit that NVCC belongs to.
top=$("$1" --dryrun -o /dev/null x.cu 2>&1 | sed -n 's/^#\$ TOP=//p')
[ -n "$top" ] && cd "$top" && pwd -P
