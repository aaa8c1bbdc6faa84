/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_passes.h"

static inline unsigned stripe_rows(const MqSource *source, uint32_t y)
{
  uint32_t left = source->height - y;

  return left >= 4 ? CJ2K_MQ_ROWS : CJ2K_MQ_ROWS & ((1u << (3 * left)) - 1);
}

static inline uint64_t *stripe_words(const MqSource *source, uint32_t y)
{
  return source->words + (y / 4 + 1) * source->pitch + 1;
}

void cj2k_mq_take_plane(MqSource *source, unsigned plane)
{
  uint32_t columns = (source->height + 3) / 4 * source->width;
  const uint32_t *in = source->magnitudes;

  for (uint32_t i = 0; i < columns; i++, in += 4)
    source->bits[i] = (uint16_t)(((in[0] >> plane) & 1) | ((in[1] >> plane) & 1) << 3 |
                                 ((in[2] >> plane) & 1) << 6 | ((in[3] >> plane) & 1) << 9);
}

/* The column that a pass is at. */
typedef struct {
  const MqSource *source;
  uint64_t *word; /* where the state is stored */
  uint32_t index; /* of the column in the block */
  uint8_t *symbols;
  MqGain gain;
} Column;

/* Codes the sign of a sample that has become significant (D.3.2). Returns the new state. */
static inline uint64_t become_significant(Column *column, uint64_t state, unsigned at, bool is_raw)
{
  const MqSource *source = column->source;
  unsigned negative = (source->signs[column->index] >> at) & 1;
  unsigned entry = is_raw ? 0 : cj2k_mq_sign_contexts[cj2k_mq_sign_index(state, at)];

  *column->symbols++ = (uint8_t)((entry & 15) << 1 | (negative ^ (entry >> 7)));
  column->gain.new_sum += source->magnitudes[4 * column->index + cj2k_mq_row(at)];
  column->gain.new_count++;
  return cj2k_mq_set_significant(column->word, state, source->pitch, at, negative, source->causal);
}

static inline size_t finish(const Column *column, MqGain *gain)
{
  gain->new_count = column->gain.new_count;
  gain->new_sum = 2 * column->gain.new_sum + (column->source->reversible ? 0 : gain->new_count);
  return (size_t)(column->symbols - column->source->symbols);
}

/* Significance propagation (D.3.1). */
static inline __attribute__((always_inline)) size_t code_significance(const MqSource *source,
                                                                      MqGain *gain, bool is_raw)
{
  const uint8_t *zero = source->zero_contexts;
  Column column = {.source = source, .symbols = source->symbols};

  for (uint32_t y = 0; y < source->height; y += 4) {
    unsigned rows = stripe_rows(source, y);
    column.word = stripe_words(source, y);
    for (uint32_t x = 0; x < source->width; x++, column.word++, column.index++) {
      uint64_t state = *column.word;
      if (!(state & CJ2K_MQ_WINDOWS))
        continue;
      unsigned todo = cj2k_mq_candidates((uint32_t)state) & rows;
      unsigned bits = source->bits[column.index];
      while (todo) {
        unsigned at = (unsigned)__builtin_ctz(todo), bit = (bits >> at) & 1;
        *column.symbols++ = (uint8_t)(zero[(state >> at) & 0x1ff] << 1 | bit);
        state |= UINT64_C(1) << (CJ2K_MQ_CODED + at);
        if (bit) {
          state = become_significant(&column, state, at, is_raw);
          /* the sample below has a significant neighbour now */
          todo |= (8u << at) & rows & ~((uint32_t)state >> CJ2K_MQ_SELF);
        }
        todo &= todo - 1;
      }
      *column.word = state;
    }
  }
  return finish(&column, gain);
}

size_t cj2k_mq_code_significance(MqSource *source, bool is_raw, MqGain *gain)
{
  return is_raw ? code_significance(source, gain, true) : code_significance(source, gain, false);
}

/* Magnitude refinement (D.3.3). */
size_t cj2k_mq_code_refinement(MqSource *source, unsigned plane, MqGain *gain)
{
  uint8_t *symbols = source->symbols;
  uint32_t index = 0;
  uint64_t sum = 0;
  uint32_t below = (2u << plane) - 1; /* mask of this plane and those below */
  uint32_t odd = source->reversible ? 0 : 1;

  for (uint32_t y = 0; y < source->height; y += 4) {
    unsigned rows = stripe_rows(source, y);
    uint64_t *word = stripe_words(source, y);
    for (uint32_t x = 0; x < source->width; x++, word++, index++) {
      uint32_t state = (uint32_t)*word;
      uint32_t todo = (state >> CJ2K_MQ_SELF) & ~(state >> CJ2K_MQ_CODED) & rows;
      if (!todo)
        continue;
      uint32_t before = state >> CJ2K_MQ_REFINED;
      uint32_t near = cj2k_mq_neighbours(state) | before;
      uint32_t bits = source->bits[index];
      const uint32_t *magnitudes = &source->magnitudes[4 * index];
      for (unsigned i = 0; i < 4; i++) {
        uint32_t label = CJ2K_CX_MAG + ((near >> 3 * i) & 1) + ((before >> 3 * i) & 1);
        uint32_t bit = (bits >> 3 * i) & 1, member = (todo >> 3 * i) & 1;
        *symbols = (uint8_t)(label << 1 | bit);
        symbols += member;
        /* distance from the middle of the interval, in half steps */
        uint64_t value = 2 * (uint64_t)(magnitudes[i] & below) + odd;
        uint64_t middle = (uint64_t)below + 1;
        uint64_t distance = bit ? value - middle : middle - value;
        sum += distance & -(uint64_t)member;
      }
      *word |= (uint64_t)todo << CJ2K_MQ_REFINED;
    }
  }
  gain->refined_count = (uint32_t)(symbols - source->symbols);
  gain->refined_sum = sum;
  return gain->refined_count;
}

/* Cleanup (D.3.4). */
size_t cj2k_mq_code_cleanup(MqSource *source, MqGain *gain)
{
  const uint8_t *zero = source->zero_contexts;
  Column column = {.source = source, .symbols = source->symbols};

  for (uint32_t y = 0; y < source->height; y += 4) {
    unsigned rows = stripe_rows(source, y);
    column.word = stripe_words(source, y);
    for (uint32_t x = 0; x < source->width; x++, column.word++, column.index++) {
      uint64_t state = *column.word;
      unsigned bits = source->bits[column.index], todo;
      if (!(state & CJ2K_MQ_WINDOWS) && rows == CJ2K_MQ_ROWS) {
        /* run-length coding of a whole column with nothing around it */
        *column.symbols++ = CJ2K_CX_RUN << 1 | (bits != 0);
        if (!bits)
          continue;
        unsigned at = (unsigned)__builtin_ctz(bits), run = cj2k_mq_row(at);
        *column.symbols++ = (uint8_t)(CJ2K_CX_UNI << 1 | run >> 1);
        *column.symbols++ = (uint8_t)(CJ2K_CX_UNI << 1 | (run & 1));
        state = become_significant(&column, state, at, false);
        todo = CJ2K_MQ_ROWS & ~((2u << at) - 1);
      } else {
        todo = ~(uint32_t)(state >> CJ2K_MQ_SELF | state >> CJ2K_MQ_CODED) & rows;
      }
      while (todo) {
        unsigned at = (unsigned)__builtin_ctz(todo), bit = (bits >> at) & 1;
        *column.symbols++ = (uint8_t)(zero[(state >> at) & 0x1ff] << 1 | bit);
        if (bit)
          state = become_significant(&column, state, at, false);
        todo &= todo - 1;
      }
      *column.word = state & ~CJ2K_MQ_CODED_BITS;
    }
  }
  return finish(&column, gain);
}
