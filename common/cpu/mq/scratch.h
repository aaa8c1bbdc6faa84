/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_CPU_MQ_SCRATCH_H
#define CJ2K_CPU_MQ_SCRATCH_H

#include "common/shared/mq_blocks.h"

/* Symbols of one pass: at most 8 for the 4 samples of a column, 3 for run-length coding, 4 for
 * SEGMARK, and a margin for a column that is written ahead. */
#define CJ2K_MQ_MAX_SYMBOLS (CJ2K_MQ_MAX_SAMPLES / 4 * 11 + 16)

/* Memory of the MQ block coders. Samples are column by column: [stripe][x][4]. */
typedef struct Cj2kMqScratch {
  uint64_t words[CJ2K_MQ_MAX_WORDS]; /* states of columns (mq_blocks.h) */
  union {
    uint32_t narrow[CJ2K_MQ_MAX_SAMPLES];
    uint64_t wide[CJ2K_MQ_MAX_SAMPLES];
  } samples;
  uint32_t refine[CJ2K_MQ_MAX_SAMPLES + 4]; /* decoder: samples of a refinement pass */
  /* encoder: signs and bits of a bit-plane by column, three bits apart; symbols of a pass */
  uint16_t signs[CJ2K_MQ_MAX_SAMPLES / 4], bits[CJ2K_MQ_MAX_SAMPLES / 4];
  uint8_t symbols[CJ2K_MQ_MAX_SYMBOLS];
} Cj2kMqScratch;

#endif
