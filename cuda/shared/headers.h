/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernels that make the packets of a single layer from the records and bytes of
 * code-blocks, all of which are retained. On one stream, behind the kernels that code blocks:
 *
 *  1. cj2k_cuda_headers() writes the packet headers, without SOP and EPH, and finds where blocks
 *     are in the bodies of their packets.
 *  2. cj2k_cuda_packet_places() finds where packets are in the codestream, and tells the host their
 *     sizes, from which it knows the same.
 *  3. cj2k_cuda_place_packets() (place.h) puts headers and blocks there.
 *
 * The host then writes what is outside of packet headers and bodies: main header, SOT, SOD, SOP,
 * EPH and EOC. If a header does not fit its room, or the codestream what there is for it, nothing
 * is put anywhere, and the host makes the packets.
 */
#ifndef CJ2K_CUDA_SHARED_HEADERS_H
#define CJ2K_CUDA_SHARED_HEADERS_H

#include "common/codestream/coded.h"
#include "common/codestream/header_blocks.h"
#include "cut.h"
#include "encode_kernels.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ2K_CUDA_HEADER_BANDS 3

typedef struct {
  Cj2kHeaderTree tree;
  uint32_t first_block; /* of the plan */
  uint32_t first_node;  /* in those of the packet */
} Cj2kCudaHeaderBand;

/* A packet: what it has of the plan, and its room in `nodes`, `words` and `bytes`. */
typedef struct {
  Cj2kCudaHeaderBand bands[CJ2K_CUDA_HEADER_BANDS]; /* those that have blocks */
  uint32_t num_bands;
  uint32_t first_block, num_blocks; /* of all bands; they follow each other */
  uint32_t first_node, num_nodes;
  uint32_t first_word, num_words; /* at least 4: bits before stuffing, and a word behind them */
  uint32_t precinct;
} Cj2kCudaHeaderPacket;

/* Bytes for each word, in `bytes`: 32 bits and those that are stuffed in. */
#define CJ2K_CUDA_HEADER_BYTES 5
/* The size of a header that has no room. */
#define CJ2K_CUDA_HEADER_LONG UINT32_MAX
/* Packets of more blocks are large. */
#define CJ2K_CUDA_HEADER_SMALL 128

/* Arrays are on the device. */
typedef struct {
  const Cj2kCudaHeaderPacket *packets; /* the large ones first */
  uint32_t num_packets, num_large;
  const Cj2kEncodedBlock *blocks;
  /* As in Cj2kPacketSource, one of the two; both NULL: blocks have one codeword segment. */
  const uint32_t *header_bits;
  const Cj2kPassLength *pass_lengths;
  Cj2kHeaderNode *nodes; /* workspace, as many as all packets have */
  uint32_t *at;          /* workspace, per block */
  uint32_t *words;       /* workspace */
  uint64_t *starts;      /* output, per block: where it begins in its packet's body */
  uint8_t *bytes; /* output: the header of a packet begins at first_word * CJ2K_CUDA_HEADER_BYTES */
  Cj2kPacketSize *sizes;        /* output, per precinct; `header` may be CJ2K_CUDA_HEADER_LONG */
  const Cj2kCudaCutResult *cut; /* only if blocks have been coded again; NULL: always */
} Cj2kCudaHeaders;

/* Makes all packet headers. */
cudaError_t cj2k_cuda_headers(const Cj2kCudaHeaders *headers, cudaStream_t stream);

/* Where a packet lies in the codestream. */
typedef struct {
  uint64_t header; /* behind SOP */
  uint64_t body;   /* behind EPH */
} Cj2kCudaPacketPlace;

/* The end of the codestream if there is no room for it, or for a header. */
#define CJ2K_CUDA_NO_ROOM UINT64_MAX

typedef struct {
  const Cj2kPacketStep *steps; /* in pinned host memory, in the order of the codestream */
  uint32_t count;
  uint32_t behind_header, behind_all, sop; /* as in Cj2kPacketSteps, in bytes */
  uint32_t *lengths; /* workspace on the device, per packet: bytes of PLT entries up to this one;
                        NULL: there is no PLT */
  uint64_t room;     /* bytes that the codestream may have */
  const Cj2kPacketSize *sizes; /* per precinct, on the device */
  Cj2kCudaPacketPlace *places; /* output, per precinct, on the device */
  uint64_t *end;               /* output, on the device: of the codestream, or CJ2K_CUDA_NO_ROOM */
  const Cj2kCudaEncodeCounts *counts; /* of the blocks, on the device */
  const Cj2kCudaCutResult *cut;       /* CJ2K_CUDA_CUT_NONE: there is no room; NULL: not cut */
  /* Output in pinned memory: the same for the host. */
  uint64_t *host_end;
  Cj2kPacketSize *host_sizes;
  Cj2kCudaEncodeCounts *host_counts;
} Cj2kCudaPacketPlaces;

cudaError_t cj2k_cuda_packet_places(const Cj2kCudaPacketPlaces *places, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
