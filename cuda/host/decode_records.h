/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files share that fill in the records of a frame's code-blocks: decode_upload.c,
 * decode_lists.c and decode_mq.c. */
#ifndef CJ2K_CUDA_HOST_DECODE_RECORDS_H
#define CJ2K_CUDA_HOST_DECODE_RECORDS_H

#include "decode.h"

/* Finds room for `bytes` behind *size, and moves that to their end. Returns where they begin. */
static inline size_t cj2k_cuda_decode_place(size_t *size, size_t bytes)
{
  enum { ALIGNMENT = 256 };
  size_t at = *size;
  *size = (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return at;
}

/* The blocks of a frame (part: NULL) or of a part: their count, and the number of block i in the
 * frame. */
static inline uint32_t cj2k_cuda_decode_count(const Cj2kDecodeSlot *slot,
                                              const Cj2kCudaDecodePart *part)
{
  return part ? part->count : slot->tables.plan->num_blocks;
}

static inline uint32_t cj2k_cuda_decode_number(const Cj2kCudaDecodePart *part, uint32_t i)
{
  return part ? part->numbers[i] : i;
}

/* A group of blocks: its range of these. */
typedef struct {
  uint32_t first, end;
} Cj2kCudaGroup;

static inline Cj2kCudaGroup cj2k_cuda_decode_group(const Cj2kDecodeSlot *slot,
                                                   const Cj2kCudaDecodePart *part, uint32_t g)
{
  if (!part || !part->num_groups)
    return (Cj2kCudaGroup){0, cj2k_cuda_decode_count(slot, part)};
  return (Cj2kCudaGroup){g ? part->group_ends[g - 1] : 0, part->group_ends[g]};
}

/* Is a block decoded? Else its coefficients are zeros, or it belongs to a resolution that is not
 * decoded. */
static inline bool cj2k_cuda_decode_is_decoded(const Cj2kCodedBlock *block,
                                               const Cj2kCudaBlockFacts *facts)
{
  return block->num_passes && !block->corrupt && facts->has_place;
}

/* Are any code-blocks of the frame large (CJ2K_CUDA_MQ_SMALL)? */
static inline bool cj2k_cuda_decode_has_large(const Cj2kDecodeSlot *slot)
{
  return slot->tables.mq_octets > CJ2K_CUDA_MQ_SMALL;
}

/* The MQ blocks of a group are listed by class, those with most work first. A class: where its
 * blocks end in the list, and their estimated work. */
#define CJ2K_CUDA_CLASSES 256
typedef struct {
  uint32_t end, work;
} Cj2kCudaMqClass;

/* decode_mq.c: assigns the listed MQ blocks of a group, at least one, to warps. most_work: of one
 * of them. */
void cj2k_cuda_decode_set_warps(const Cj2kDecodeSlot *slot,
                                const Cj2kCudaMqClass classes[CJ2K_CUDA_CLASSES],
                                uint32_t most_work, Cj2kCudaDecodeBlocks *frame);

#endif
