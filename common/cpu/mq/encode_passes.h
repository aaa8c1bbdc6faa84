/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Context modelling of the encoder (T.800 D.3). Each pass writes its symbols, 2 * label + decision,
 * and sums up its gain. In raw passes (D.6) the label has no meaning.
 */
#ifndef CJ2K_CPU_MQ_ENCODE_PASSES_H
#define CJ2K_CPU_MQ_ENCODE_PASSES_H

#include "scratch.h"

/* A block being encoded: columns of four samples (scratch.h, mq_blocks.h). */
typedef struct {
  uint32_t width, height;
  ptrdiff_t pitch; /* of words */
  uint64_t *words;
  uint32_t *magnitudes; /* quantiser indices */
  uint16_t *signs, *bits;
  uint8_t *symbols;
  const uint8_t *zero_contexts;
  bool causal, reversible;
} MqSource;

/*
 * The gain of a pass as sums in half steps, where the value of a sample is 2q + 1 (2q when
 * reversible): the sum of the values that become significant, and the sum of the distances of
 * refined samples from their reconstruction before the pass. The decrease of the squared error
 * follows from sums and counts.
 */
typedef struct {
  uint64_t new_sum, refined_sum;
  uint32_t new_count, refined_count;
} MqGain;

/* Collects bit-plane `plane` into source->bits. */
void cj2k_mq_take_plane(MqSource *source, unsigned plane);

/* Code a pass at the plane taken last. Return the number of symbols. */
size_t cj2k_mq_code_significance(MqSource *source, bool is_raw, MqGain *gain);
size_t cj2k_mq_code_refinement(MqSource *source, unsigned plane, MqGain *gain);
size_t cj2k_mq_code_cleanup(MqSource *source, MqGain *gain);

#endif
