/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernels that make packet headers (cuda/shared/headers.h) get of a plan. */
#ifndef CJ2K_CUDA_HOST_ENCODE_HEADERS_H
#define CJ2K_CUDA_HOST_ENCODE_HEADERS_H

#include "common/codestream/plan.h"
#include "cuda/shared/headers.h"

#include <stdbool.h>

/* Room for each header, in words: of HT blocks, whose bits are about 35, and of blocks with
 * header_bits. */
#define CJ2K_CUDA_HEADER_ROOM_HT   4u
#define CJ2K_CUDA_HEADER_ROOM_BITS 12u

/* Sums over all packets. */
typedef struct {
  uint32_t num_large; /* packets, which come first; there is one for each precinct of the plan */
  uint32_t num_words, num_runs;
} Cj2kCudaHeaderTotals;

/* Fills `packets`, plan->num_precincts of them, with room of `words` for each block. false: there
 * are more blocks than the kernels can count. */
bool cj2k_cuda_header_packets(const Cj2kPlan *plan, uint32_t words, Cj2kCudaHeaderPacket *packets,
                              Cj2kCudaHeaderTotals *totals);

#endif
