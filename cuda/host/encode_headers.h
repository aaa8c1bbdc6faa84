/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernels that make packets (cuda/shared/headers.h, place.h) get of a plan. */
#ifndef CJ2K_CUDA_HOST_ENCODE_HEADERS_H
#define CJ2K_CUDA_HOST_ENCODE_HEADERS_H

#include "common/codestream/plan.h"
#include "cuda/shared/place.h"

#include <stdbool.h>

/* Room for each block in its packet's header, in words, on average. A block of one codeword segment
 * has about 35 bits, and never many more than 100. With BYPASS it is about 160; of 16 bits there
 * are 30 segments, with 330 bits, and with TERMALL 52, with 550. Without room the host makes all
 * packets, and where it had left a selection of passes to the GPU, codes the frame again. */
#define CJ2K_CUDA_HEADER_ROOM         4u
#define CJ2K_CUDA_HEADER_ROOM_BYPASS  16u
#define CJ2K_CUDA_HEADER_ROOM_TERMALL 24u

/* Arrays of plain structs, which the caller frees with cj2k_cuda_header_tables_clear(). */
typedef struct {
  Cj2kCudaHeaderPacket *packets; /* one for each precinct of the plan; the large ones first */
  Cj2kCudaHeaderPiece *pieces;
  uint32_t *precincts; /* per block */
  uint32_t num_large;
  uint32_t num_nodes, num_words, num_pieces; /* of all packets */
} Cj2kCudaHeaderTables;

/* `words`: room for each block; few: as many packets are all large, so that one launch makes them.
 * false: there are more blocks than the kernels can count, or more
 * than one layer. */
bool cj2k_cuda_header_tables_init(Cj2kCudaHeaderTables *tables, const Cj2kPlan *plan,
                                  uint32_t words, uint32_t few);
void cj2k_cuda_header_tables_clear(Cj2kCudaHeaderTables *tables);

#endif
