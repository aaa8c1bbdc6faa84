/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * make-tables NAME: prints a table of the CUDA kernels as C initialisers. It runs on the build
 * machine, so that device code has plain data: versions of nvcc differ in which function calls they
 * evaluate in the initialiser of a __device__ variable.
 */
#include "common/shared/tables/mq_contexts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * HT SigProp, a column of four samples (ht/decode_refine.cu).
 * Index: bits 0..3, samples that are not significant; bits 4..7, those of them that have a
 * significant neighbour so far; bits 8..11, the next bits of the segment.
 * Entry: bits 0..4, how many of these bits were used; bits 5..8, neighbours of the newly
 * significant samples, in this column or the next; bits 9..12, the newly significant samples.
 */
static uint32_t sigprop_column(uint32_t index)
{
  uint32_t candidates = index & 15, members = index >> 4 & 15, bits = index >> 8;
  uint32_t fresh = 0, used = 0;
  for (uint32_t i = 0; i < 4; i++) {
    if (!(candidates & members & 1u << i))
      continue;
    uint32_t bit = bits >> used++ & 1;
    fresh |= bit << i;
    members |= bit << (i + 1);
  }
  return used | ((fresh | fresh << 1 | fresh >> 1) & 15) << 5 | fresh << 9;
}

/* Context labels of the MQ decoder for zero coding and refinement, by window (mq/octet.cuh). Bits
 * 3, 5 and 7 belong to no neighbour; they select the table: LH and LL, HL, HH, refinement, or with
 * bit 5 raw bits, which have a label of their own. */
static uint32_t mq_label(uint32_t window)
{
  if (window & 32)
    return CJ2K_CX_COUNT;
  uint32_t standard = (window & 1) | (window >> 3 & 2) | (window >> 6 & 4) | (window & 2) << 2 |
                      (window >> 4 & 32) | (window & 4) << 4 | (window << 1 & 128) |
                      (window >> 2 & 256);
  switch (window & 0x88) {
  case 0x00: return CJ2K_CX_ZERO_LH(standard);
  case 0x08: return CJ2K_CX_ZERO_HL(standard);
  case 0x80: return CJ2K_CX_ZERO_HH(standard);
  }
  /* Bit 4: there are significant neighbours; bit 6: the sample has been refined before. */
  return CJ2K_CX_MAG + (window & 64 ? 2 : window >> 4 & 1);
}

/* Context labels of the MQ decoder for signs, by sign window (mq/octet.cuh). The standard's order
 * of neighbours is N W E S, a sign window's is W N S E. */
static uint32_t mq_sign(uint32_t window)
{
  uint32_t index =
      (window >> 3 & 3) | (window & 3) << 2 | (window >> 8 & 3) << 4 | (window >> 5 & 3) << 6;
  return CJ2K_CX_SIGN_ENTRY((int)index);
}

static const struct {
  const char *name;
  uint32_t size;
  uint32_t (*entry)(uint32_t index);
} tables[] = {
    {"sigprop_columns", 4096, sigprop_column},
    {"mq_labels", 2048, mq_label},
    {"mq_signs", 1024, mq_sign},
};

int main(int argc, char **argv)
{
  for (size_t t = 0; argc == 2 && t < sizeof tables / sizeof *tables; t++) {
    if (strcmp(argv[1], tables[t].name) != 0)
      continue;
    for (uint32_t i = 0; i < tables[t].size; i++)
      printf("%u,%c", tables[t].entry(i), i % 16 == 15 ? '\n' : ' ');
    return 0;
  }
  fprintf(stderr, "usage: make-tables NAME\n");
  return 2;
}
