/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C interface to the kernels that make the packet headers of a single layer from the records of
 * code-blocks, which need not be downloaded for it. They are not called yet.
 *
 * How the host would use them, after the kernels that code blocks, on the same stream:
 *
 *  1. Once for a plan: Cj2kCudaHeaderPacket for each precinct, those with many blocks first, and
 *     room for nodes, words and bytes.
 *  2. cj2k_cuda_headers() writes headers, without SOP and EPH, and places of blocks within bodies.
 *     The host downloads `sizes` alone: 16 bytes a packet, of which a 4K frame has some tens.
 *  3. From sizes follow PLT, Psot, TLM, the places of packets and the size of the codestream
 *     (cj2k_codestream_layout_sizes()). That is all that rate control asks of a layout: a total,
 *     and bytes per component and resolution. If it wants another selection, or blocks at other
 *     bit-planes, `retained`, `lengths` and `zero_bitplanes` are uploaded and step 2 runs again;
 *     blocks are then coded again before step 4.
 *  4. cj2k_codestream_store_places() writes the places of packets to pinned memory.
 *     cj2k_cuda_header_runs() makes the runs of cj2k_cuda_place() on the device, which puts headers
 *     and bodies into the codestream.
 *  5. When the codestream has been downloaded, cj2k_codestream_write_headers() writes what is
 *     outside of packet headers and bodies: main header, SOT, PLT, padding comments, SOD, SOP, EPH
 *     and EOC.
 *
 * If a header does not fit its room, its size is CJ2K_CUDA_HEADER_LONG and the host does the whole
 * frame as before, from the downloaded records.
 */
#ifndef CJ2K_CUDA_SHARED_HEADERS_H
#define CJ2K_CUDA_SHARED_HEADERS_H

#include "common/codestream/coded.h"
#include "common/codestream/header_blocks.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ2K_CUDA_HEADER_BANDS 3

typedef struct {
  Cj2kHeaderTree tree;
  uint32_t first_block; /* of the plan */
  uint32_t first_node;  /* in `nodes` */
} Cj2kCudaHeaderBand;

/* A packet: what it has of the plan, and its room in `words` and `bytes`. */
typedef struct {
  Cj2kCudaHeaderBand bands[CJ2K_CUDA_HEADER_BANDS]; /* those that have blocks */
  uint32_t num_bands;
  uint32_t first_block, num_blocks; /* of all bands; they follow each other */
  uint32_t first_word, num_words;   /* at least 4: bits before stuffing, and a word behind them */
  uint32_t first_run, num_runs;     /* pieces of its header: CJ2K_CUDA_HEADER_PIECES (num_words) */
  uint32_t precinct;
} Cj2kCudaHeaderPacket;

/* Bytes for each word, in `bytes`: 32 bits and those that are stuffed in. */
#define CJ2K_CUDA_HEADER_BYTES 5
/* A header is copied in pieces of so many bytes. */
#define CJ2K_CUDA_HEADER_PIECE 1024u
#define CJ2K_CUDA_HEADER_PIECES(words)                                                             \
  (((words)*CJ2K_CUDA_HEADER_BYTES + CJ2K_CUDA_HEADER_PIECE - 1) / CJ2K_CUDA_HEADER_PIECE)
/* The size of a header that has no room. */
#define CJ2K_CUDA_HEADER_LONG UINT32_MAX
/* Packets of more blocks are large. */
#define CJ2K_CUDA_HEADER_SMALL 128

/* Arrays are on the device. */
typedef struct {
  const Cj2kCudaHeaderPacket *packets; /* the large ones first */
  uint32_t num_packets, num_large;
  const Cj2kEncodedBlock *blocks;
  const Cj2kPassLength *passes;  /* of HT blocks with more than one pass; else not read */
  const uint32_t *header_bits;   /* as in Cj2kPacketSource; NULL: blocks are HT, or have one segment
                                  */
  const uint8_t *retained;       /* passes of each block; NULL: all */
  const uint32_t *lengths;       /* bytes of these passes; NULL: of all */
  const uint8_t *zero_bitplanes; /* of blocks that are going to be coded again, as are `retained`
                                    and `lengths`; NULL: as they are coded */
  Cj2kHeaderNode *nodes;         /* workspace, plan->num_nodes */
  uint32_t *at;                  /* workspace, per block */
  uint32_t *words;               /* workspace */
  uint64_t *starts;              /* output, per block: where it begins in its packet's body */
  uint8_t *bytes; /* output: the header of a packet begins at first_word * CJ2K_CUDA_HEADER_BYTES */
  Cj2kPacketSize *sizes; /* output, per precinct; `header` may be CJ2K_CUDA_HEADER_LONG */
} Cj2kCudaHeaders;

/* Makes all packet headers. */
cudaError_t cj2k_cuda_headers(const Cj2kCudaHeaders *headers, cudaStream_t stream);

typedef struct {
  const Cj2kPacketPlace *places; /* per precinct, on the device or in pinned host memory */
  Cj2kByteRun *bodies;           /* output, per block: from the blocks' bytes; some have no bytes */
  Cj2kByteRun *headers; /* output, per piece: from the headers' bytes; some have no bytes */
} Cj2kCudaHeaderRuns;

/* Lists the runs of all packets for cj2k_cuda_place(). */
cudaError_t cj2k_cuda_header_runs(const Cj2kCudaHeaders *headers, const Cj2kCudaHeaderRuns *runs,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
