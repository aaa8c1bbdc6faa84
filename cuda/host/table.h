/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables on the device that never change once they are there, such as the code-blocks of a plan.
 * All codecs and slots of a context that ask for the same bytes get the same table, so that what
 * follows from geometry and parameters is there once for all streams of a kind, whatever it is that
 * makes them equal.
 */
#ifndef CJ2K_CUDA_HOST_TABLE_H
#define CJ2K_CUDA_HOST_TABLE_H

#include "device.h"

typedef struct Cj2kCudaTable Cj2kCudaTable;

/* Replaces *table (NULL: there is none) by one of these bytes, which is there when this returns. No
 * work may use the one before. After an error *table is NULL. */
cudaError_t cj2k_cuda_table_set(const Cj2kCudaDevice *device, Cj2kCudaTable **table,
                                const void *bytes, size_t size);
/* Gives a table back, which no work of this codec uses any more, and sets *table to NULL. */
void cj2k_cuda_table_clear(Cj2kCudaTable **table);
/* Its address on the device; NULL: there is none. */
const void *cj2k_cuda_table_data(const Cj2kCudaTable *table);

#endif
