/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the driver knows of GPUs under measurement; cj2k-bench and tests/elements/soak.c use it. */
#ifndef EXAMPLES_BENCH_GPUS_H
#define EXAMPLES_BENCH_GPUS_H

/* GPUs that a measurement takes into account. */
#define BENCH_MOST_GPUS 64

/* Chooses the GPU that the following count, by its number for CUDA; -1: all that this process may
 * use. Makes a context on each. */
void bench_gpus_choose(int device);
/* Of these together, joule used since the driver was loaded, and MB of memory in use by all
 * processes, and by this one alone; below 0: unknown. */
double bench_gpus_energy(void);
double bench_gpus_memory(void);
double bench_gpus_own_memory(void);

#endif
