/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory that one thread's block coders work in: one struct, a part for each coder. */
#ifndef CJ2K_CPU_BLOCK_SCRATCH_H
#define CJ2K_CPU_BLOCK_SCRATCH_H

#include "blockcoder.h"
#include "common/cpu/ht/decode.h"
#include "common/cpu/ht/encode.h"
#include "common/cpu/mq/scratch.h"

struct Cj2kBlockScratch {
  _Alignas(64) Cj2kMqScratch mq;
  _Alignas(64) Cj2kHtDecodeScratch ht_decode;
  _Alignas(64) Cj2kHtEncodeScratch ht_encode;
};

#endif
