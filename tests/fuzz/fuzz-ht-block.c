/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoding of HT code-blocks, in samples of 32 bits (with AVX2 where there is) and of 64 bits. */
#include "block-input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Cj2kBlockScratch *scratch;
  static FuzzBlock block;

  if (!scratch)
    scratch = cj2k_block_scratch_new();
  fuzz_block_read(&block, data, size);
  block.in.style = CJ2K_STYLE_HT | (block.in.style & CJ2K_STYLE_CAUSAL);
  bool ok = cj2k_ht_decode_block(scratch, &block.in, block.narrow, block.in.width);
  bool ok_wide = cj2k_ht_decode_block_wide(scratch, &block.in, block.wide, block.in.width);
  if (block.in.num_bitplanes <= 30) { /* more do not fit into 32 bits */
    FUZZ_CHECK(ok == ok_wide, "32 bits: %d, 64 bits: %d", ok, ok_wide);
    if (ok)
      fuzz_block_compare(&block);
  }
  g_free((uint8_t *)block.in.data);
  return 0;
}
