/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scratch memory of the block coders of one thread, one allocation. */
#include "blockcoder.h"
#include "common/cpu/ht/decode.h"
#include "common/cpu/ht/encode.h"
#include "common/cpu/mq/scratch.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  Cj2kBlockScratch parts; /* first: its address is that of the allocation */
  _Alignas(64) Cj2kMqScratch mq;
  _Alignas(64) Cj2kHtDecodeScratch ht_decode;
  _Alignas(64) Cj2kHtEncodeScratch ht_encode;
} Memory;

Cj2kBlockScratch *cj2k_block_scratch_new(void)
{
  Memory *memory = aligned_alloc(_Alignof(Memory), sizeof *memory);

  if (!memory)
    return NULL;
  memset(memory, 0, sizeof *memory);
  memory->parts = (Cj2kBlockScratch){&memory->mq, &memory->ht_decode, &memory->ht_encode};
  return &memory->parts;
}

void cj2k_block_scratch_free(Cj2kBlockScratch *scratch)
{
  free(scratch);
}
