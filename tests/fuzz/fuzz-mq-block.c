/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoding of MQ code-blocks in all styles, in samples of 32 and of 64 bits. */
#include "block-input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Cj2kBlockScratch *scratch;
  static FuzzBlock block;

  if (!scratch)
    scratch = cj2k_block_scratch_new();
  fuzz_block_read(&block, data, size);
  block.in.style &= 0x3f;
  bool ok = cj2k_mq_decode_block(scratch, &block.in, block.narrow, block.in.width);
  bool ok_wide = cj2k_mq_decode_block_wide(scratch, &block.in, block.wide, block.in.width);
  if (block.in.num_bitplanes - block.in.zero_bitplanes <= 30)
    FUZZ_CHECK(ok == ok_wide, "32 bits: %d, 64 bits: %d", ok, ok_wide);
  if (ok)
    fuzz_block_compare(&block);
  g_free((uint8_t *)block.in.data);
  return 0;
}
