/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decoding passes (T.800 D.3) for samples of type SAMPLE; NAME(x) names the instance. Included
 * once for each type.
 *
 * Samples have the format of the output at any time: the sign on top, then 2q plus half of the
 * lowest decoded bit. A sample that becomes significant in bit-plane p is 3 << p; refinement adds
 * or subtracts 1 << p.
 */

#define SIGN_SHIFT (8 * sizeof(SAMPLE) - 1)

/* Decodes the sign of a sample that has become significant (D.3.2) and updates the neighbours.
 * Returns the column's new state. */
MQ_INLINE uint64_t NAME(become_significant)(const MqBlock *block, Cj2kMqContexts *contexts,
                                            MqDecoder *mq, RawDecoder *raw, bool is_raw,
                                            uint64_t *column, uint64_t word, SAMPLE *samples,
                                            unsigned at, unsigned plane)
{
  unsigned negative;

  if (is_raw) {
    negative = raw_decode(raw);
  } else {
    unsigned entry = cj2k_mq_sign_contexts[cj2k_mq_sign_index(word, at)];
    negative = mq_decode(mq, &contexts->words[entry & 15]) ^ (entry >> 7);
  }
  samples[cj2k_mq_row(at)] = (SAMPLE)3 << plane | (SAMPLE)negative << SIGN_SHIFT;
  return cj2k_mq_set_significant(column, word, block->pitch, at, negative, block->causal);
}

/* Significance propagation (D.3.1). It also lists the columns for the refinement pass. */
MQ_INLINE void NAME(significance)(MqBlock *block, MqCoder *coder, unsigned plane, bool is_raw)
{
  const uint8_t *zero = block->zero_contexts;
  SAMPLE *first = block->samples, *samples = first;
  MqRefined *refined = block->refined;
  MqDecoder mq = coder->mq;
  Cj2kMqContexts contexts = block->contexts;
  RawDecoder raw = coder->raw;

  for (uint32_t y = 0; y < block->height; y += 4) {
    unsigned rows = stripe_rows(block, y);
    uint64_t *column = stripe_words(block, y);
    for (uint32_t x = 0; x < block->width; x++, column++, samples += 4) {
      uint64_t word = *column;
      if (!(word & CJ2K_MQ_WINDOWS))
        continue;
      *refined = (MqRefined){(uint16_t)(column - block->words), (uint16_t)(samples - first)};
      refined += ((word >> CJ2K_MQ_SELF) & CJ2K_MQ_ROWS) != 0;
      unsigned todo = cj2k_mq_candidates((uint32_t)word) & rows;
      while (todo) {
        unsigned at = (unsigned)__builtin_ctz(todo);
        unsigned label = zero[(word >> at) & 0x1ff];
        unsigned bit = is_raw ? raw_decode(&raw) : mq_decode(&mq, &contexts.words[label]);
        word |= UINT64_C(1) << (CJ2K_MQ_CODED + at);
        if (bit) {
          word = NAME(become_significant)(block, &contexts, &mq, &raw, is_raw, column, word,
                                          samples, at, plane);
          /* the sample below has a significant neighbour now */
          todo |= (8u << at) & rows & ~((uint32_t)word >> CJ2K_MQ_SELF);
        }
        todo &= todo - 1;
      }
      *column = word;
    }
  }
  coder->mq = mq;
  block->contexts = contexts;
  coder->raw = raw;
  block->num_refined = (uint32_t)(refined - block->refined);
}

/* Magnitude refinement (D.3.3) of the samples that list_refinement found. */
MQ_INLINE void NAME(refinement)(MqBlock *block, MqCoder *coder, unsigned plane, bool is_raw)
{
  uint32_t count = list_refinement(block);
  SAMPLE *samples = block->samples;
  SAMPLE half = (SAMPLE)1 << plane;

  if (is_raw) {
    for (uint32_t i = 0; i < count; i++) {
      SAMPLE *sample = &samples[block->refine[i] >> REFINE_SHIFT];
      *sample += raw_decode(&coder->raw) ? half : -half;
    }
    return;
  }
  MqDecoder mq = coder->mq;
  Cj2kMqContexts contexts = block->contexts;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t entry = block->refine[i];
    SAMPLE *sample = &samples[entry >> REFINE_SHIFT];
    SAMPLE bit = mq_decode(&mq, &contexts.words[entry & REFINE_LABEL]);
    *sample += (bit << (plane + 1)) - half;
  }
  coder->mq = mq;
  block->contexts = contexts;
}

/* Cleanup (D.3.4). */
static void NAME(cleanup)(MqBlock *block, MqCoder *coder, unsigned plane)
{
  const uint8_t *zero = block->zero_contexts;
  SAMPLE *samples = block->samples;
  MqDecoder mq = coder->mq;
  Cj2kMqContexts contexts = block->contexts;

  for (uint32_t y = 0; y < block->height; y += 4) {
    unsigned rows = stripe_rows(block, y);
    uint64_t *column = stripe_words(block, y);
    for (uint32_t x = 0; x < block->width; x++, column++, samples += 4) {
      uint64_t word = *column;
      unsigned todo;
      if (!(word & CJ2K_MQ_WINDOWS) && rows == CJ2K_MQ_ROWS) {
        /* run-length coding of a whole column with nothing around it */
        if (!mq_decode_likely(&mq, &contexts.words[CJ2K_CX_RUN]))
          continue;
        unsigned row = mq_decode(&mq, &contexts.words[CJ2K_CX_UNI]) << 1;
        row |= mq_decode(&mq, &contexts.words[CJ2K_CX_UNI]);
        word = NAME(become_significant)(block, &contexts, &mq, NULL, false, column, word, samples,
                                        3 * row, plane);
        todo = CJ2K_MQ_ROWS & ~((2u << (3 * row)) - 1);
      } else {
        todo = ~(uint32_t)(word >> CJ2K_MQ_SELF | word >> CJ2K_MQ_CODED) & rows;
      }
      while (todo) {
        unsigned at = (unsigned)__builtin_ctz(todo);
        unsigned label = zero[(word >> at) & 0x1ff];
        if (mq_decode(&mq, &contexts.words[label]))
          word = NAME(become_significant)(block, &contexts, &mq, NULL, false, column, word, samples,
                                          at, plane);
        todo &= todo - 1;
      }
      *column = word & ~CJ2K_MQ_CODED_BITS;
    }
  }
  coder->mq = mq;
  block->contexts = contexts;
}

static void NAME(decode_pass)(MqBlock *block, MqCoder *coder, unsigned type, unsigned plane,
                              bool is_raw)
{
  if (type == CJ2K_PASS_CLEANUP)
    NAME(cleanup)(block, coder, plane);
  else if (type == CJ2K_PASS_REFINEMENT && is_raw)
    NAME(refinement)(block, coder, plane, true);
  else if (type == CJ2K_PASS_REFINEMENT)
    NAME(refinement)(block, coder, plane, false);
  else if (is_raw)
    NAME(significance)(block, coder, plane, true);
  else
    NAME(significance)(block, coder, plane, false);
}

/* Copies columns of four samples to rows. */
static void NAME(put_out)(const MqBlock *block, SAMPLE *out, size_t stride)
{
  const SAMPLE *in = block->samples;
  SAMPLE none[1024]; /* for rows that do not exist */

  for (uint32_t y = 0; y < block->height; y += 4) {
    SAMPLE *rows[4];
    for (uint32_t i = 0; i < 4; i++)
      rows[i] = y + i < block->height ? out + (y + i) * stride : none;
    CJ2K_IVDEP
    for (uint32_t x = 0; x < block->width; x++, in += 4) {
      rows[0][x] = in[0];
      rows[1][x] = in[1];
      rows[2][x] = in[2];
      rows[3][x] = in[3];
    }
  }
}

#undef SIGN_SHIFT
