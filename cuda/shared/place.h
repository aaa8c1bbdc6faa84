/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C interface to the kernels that put the bytes of code-blocks, and packet headers, to their places
 * in a codestream. */
#ifndef CJ2K_CUDA_SHARED_PLACE_H
#define CJ2K_CUDA_SHARED_PLACE_H

#include "headers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const Cj2kByteRun *runs; /* in pinned host memory or on the device */
  uint32_t num_runs;
  const uint8_t *bytes; /* from here on `from` counts; a multiple of 4 */
  uint8_t *out;         /* from here on `to` counts; a multiple of 4 */
} Cj2kCudaPlace;

/* Copies all runs. Of `bytes`, whole words are read that have a byte of a run. */
cudaError_t cj2k_cuda_place(const Cj2kCudaPlace *place, cudaStream_t stream);

/* Up to CJ2K_CUDA_HEADER_PIECE bytes of a packet header. */
typedef struct {
  uint32_t precinct;
  uint32_t at;   /* of its first byte in the header */
  uint64_t from; /* the header's first byte in `headers` */
} Cj2kCudaHeaderPiece;

#define CJ2K_CUDA_HEADER_PIECE 1024u

/* Packets whose headers and places the GPU has found (headers.h); arrays are on the device. */
typedef struct {
  const Cj2kEncodedBlock *blocks;
  const uint32_t *precincts; /* per block */
  const uint64_t *starts;    /* per block, as in Cj2kCudaHeaders */
  uint32_t num_blocks;
  uint32_t num_pieces;
  const Cj2kCudaHeaderPiece *pieces; /* of all headers, as far as they may go */
  const Cj2kPacketSize *sizes;       /* per precinct */
  const Cj2kCudaPacketPlace *places; /* per precinct */
  const uint64_t *end;               /* CJ2K_CUDA_NO_ROOM: nothing is copied */
  const uint8_t *bytes;              /* of blocks; a multiple of 4, like the next two */
  const uint8_t *headers;
  uint8_t *out;
} Cj2kCudaPlacePackets;

/* Copies the bytes of all blocks and headers, with their words, as above. */
cudaError_t cj2k_cuda_place_packets(const Cj2kCudaPlacePackets *place, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
