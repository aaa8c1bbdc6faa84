/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CJ2K_CPU_MQ_SCRATCH_H
#define CJ2K_CPU_MQ_SCRATCH_H

#include "mq_blocks.h"

/* Memory of the MQ block coders. Samples are column by column: [stripe][x][4]. */
typedef struct {
  uint64_t words[CJ2K_MQ_MAX_WORDS]; /* states of columns, mq_blocks.h */
  union {
    uint32_t narrow[CJ2K_MQ_MAX_SAMPLES];
    uint64_t wide[CJ2K_MQ_MAX_SAMPLES];
  } samples;
  uint32_t refine[CJ2K_MQ_MAX_SAMPLES + 4]; /* decoder: samples of a refinement pass */
} Cj2kMqScratch;

#endif
