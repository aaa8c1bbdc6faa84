/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Code-blocks of one layer that are made up for tests of packet headers, without bytes. */
#ifndef TESTS_UNIT_MADE_BLOCKS_H
#define TESTS_UNIT_MADE_BLOCKS_H

#include "common/codestream/write_packets.h"
#include "common/encoder/params.h"
#include "common/shared/mq_blocks.h"

#include <glib.h>
#include <string.h>

/* Random numbers; those of GLib would take a third of the time. */
typedef struct {
  uint64_t state;
} Random;

static inline uint32_t random_bits(Random *rand)
{
  rand->state = rand->state * UINT64_C(6364136223846793005) + 1;
  return (uint32_t)(rand->state >> 32);
}

static inline uint32_t random_below(Random *rand, uint32_t end)
{
  return (uint32_t)((uint64_t)random_bits(rand) * end >> 32);
}

/* Words of which a share is ones, in runs. */
static inline uint32_t random_word(Random *rand, uint32_t kind)
{
  uint32_t word = random_bits(rand);

  switch (kind) {
  case 0: return word;
  case 1: return word | random_bits(rand) | random_bits(rand);
  case 2: return UINT32_MAX;
  case 3: return ~(1u << word % 32);
  default: return UINT32_MAX << word % 32 | UINT32_MAX >> (word >> 8) % 32;
  }
}

typedef enum {
  ONE_PASS,
  HT_PASSES,
  MQ_PASSES, /* in one codeword segment */
  MADE_BITS,
  BYPASS_PASSES,
  TERMALL_PASSES,
  NUM_KINDS
} Kind;

/* Styles of code-blocks by kind. */
static const uint8_t made_styles[NUM_KINDS] = {
    CJ2K_STYLE_HT, CJ2K_STYLE_HT, 0, CJ2K_STYLE_BYPASS, CJ2K_STYLE_BYPASS, CJ2K_STYLE_TERMALL};

/* The blocks of bands, as they are drawn. */
typedef struct {
  Kind kind;
  uint32_t in_of_16;    /* blocks in the layer; 0: none, 17: only one block is, 18: one is not */
  uint32_t most_planes; /* zero bit-planes are less than that */
  uint32_t lengths;     /* kind of lengths */
} Draw;

/* Blocks of plans or packets. */
typedef struct {
  Kind kind;
  uint32_t num_blocks;
  Cj2kEncodedBlock *blocks;
  Cj2kPassLength *passes; /* MAX_ENDS for each block */
  uint32_t *words;        /* MAX_MADE for each block */
  uint32_t *lengths;
  uint8_t *retained;
  Cj2kPacketSource source;
} Blocks;

#define MAX_MADE 12 /* words of made bits */
#define MAX_ENDS 44 /* lengths of passes */

static inline void blocks_init(Blocks *blocks, uint32_t capacity)
{
  memset(blocks, 0, sizeof *blocks);
  blocks->blocks = g_new0(Cj2kEncodedBlock, capacity + 1);
  blocks->passes = g_new0(Cj2kPassLength, MAX_ENDS * (size_t)capacity + 1);
  blocks->words = g_new0(uint32_t, MAX_MADE * (size_t)capacity + 1);
  blocks->lengths = g_new0(uint32_t, capacity + 1);
  blocks->retained = g_new0(uint8_t, capacity + 1);
}

static inline void blocks_clear(Blocks *blocks)
{
  g_free(blocks->blocks);
  g_free(blocks->passes);
  g_free(blocks->words);
  g_free(blocks->lengths);
  g_free(blocks->retained);
}

/* Up to 2^22; kinds of which most bits are ones. */
static inline uint32_t random_length(Random *rand, uint32_t kind)
{
  uint32_t most = 1u << random_below(rand, 23);

  switch (kind) {
  case 0: return random_below(rand, most);
  case 1: return most - 1;
  case 2: return (1u << 20) - 1;
  case 3: return random_below(rand, 8);
  case 4: return random_word(rand, 1) & (most - 1);
  default: return 1000 + random_below(rand, 2000);
  }
}

static inline void draw_made_bits(Random *rand, uint32_t kind, uint32_t *words)
{
  uint32_t n = random_below(rand, 32 * (MAX_MADE - 1) + 1);

  words[0] = n;
  for (uint32_t i = 0; i < (n + 31) / 32; i++)
    words[1 + i] = random_word(rand, kind % 5);
  if (n % 32)
    words[1 + n / 32] &= ~(UINT32_MAX >> n % 32);
}

/* Lengths of passes, of which the first ones are retained. Returns their bytes. */
static inline uint32_t draw_ends(Random *rand, const Draw *draw, uint32_t retained,
                                 Cj2kPassLength *ends)
{
  uint32_t coded = retained + random_below(rand, 4), length = 0;

  for (uint32_t p = 0; p < coded; p++) {
    bool ends_here = cj2k_pass_ends_segment(p, made_styles[draw->kind]);
    length += random_length(rand, draw->lengths);
    ends[p] = (Cj2kPassLength){.length = length, .terminated = ends_here || p + 1 == coded};
  }
  return ends[retained - 1].length;
}

static inline void draw_block(Blocks *all, Random *rand, const Draw *draw, uint32_t b, bool is_in)
{
  static const uint32_t most_passes[NUM_KINDS] = {
      1, 3, CJ2K_MAX_PASSES, CJ2K_MAX_PASSES, MAX_ENDS - 4, MAX_ENDS - 4};
  uint32_t passes = is_in ? 1 + random_below(rand, most_passes[draw->kind]) : 0;
  if (passes == 1 && draw->kind == MADE_BITS)
    passes = 2; /* the writer makes the bits of one pass itself */
  uint32_t length = random_length(rand, draw->lengths), more = 0;

  all->blocks[b] =
      (Cj2kEncodedBlock){.first_pass = MAX_ENDS * b,
                         .num_passes = (uint8_t)passes,
                         .zero_bitplanes = (uint8_t)random_below(rand, draw->most_planes)};
  if (draw->kind == HT_PASSES) {
    more = random_length(rand, draw->lengths);
    for (uint32_t p = 0; p < 3; p++)
      all->passes[MAX_ENDS * b + p] = (Cj2kPassLength){.length = length + (p ? more : 0),
                                                       .terminated = p == 0 || p + 1 == passes};
  } else if (draw->kind == MADE_BITS) {
    all->blocks[b].first_pass = MAX_MADE * b;
    draw_made_bits(rand, draw->lengths, all->words + (size_t)MAX_MADE * b);
  } else if (passes && made_styles[draw->kind]) {
    length = draw_ends(rand, draw, passes, all->passes + (size_t)MAX_ENDS * b);
  }
  all->retained[b] = (uint8_t)passes;
  all->lengths[b] = passes ? length + (passes > 1 ? more : 0) : 0;
}

static inline void draw_blocks(Blocks *all, Random *rand, const Draw *draw, uint32_t count)
{
  uint32_t odd_one = random_below(rand, count + 1);

  for (uint32_t b = 0; b < count; b++) {
    bool is_in = random_below(rand, 16) < draw->in_of_16;
    if (draw->in_of_16 > 16)
      is_in = (b == odd_one) == (draw->in_of_16 == 17);
    draw_block(all, rand, draw, b, is_in);
  }
  all->kind = draw->kind;
  all->num_blocks = count;
  all->source = (Cj2kPacketSource){.blocks = all->blocks,
                                   .passes = all->passes,
                                   .header_bits = draw->kind == MADE_BITS ? all->words : NULL,
                                   .num_layers = 1,
                                   .retained = all->retained,
                                   .lengths = all->lengths};
}

/* The lengths of passes, if blocks may have several codeword segments; NULL: they have one. */
static inline const Cj2kPassLength *ends_of(const Blocks *all)
{
  return all->kind == BYPASS_PASSES || all->kind == TERMALL_PASSES ? all->passes : NULL;
}

static inline Draw random_draw(Random *rand, uint32_t round)
{
  static const uint32_t planes[] = {1, 2, 4, 12, 75};
  static const uint32_t shares[] = {0, 1, 2, 4, 8, 12, 15, 16, 16, 17, 18};

  return (Draw){.kind = (Kind)(round % NUM_KINDS),
                .in_of_16 = shares[random_below(rand, G_N_ELEMENTS(shares))],
                .most_planes = planes[random_below(rand, G_N_ELEMENTS(planes))],
                .lengths = random_below(rand, 6)};
}

/* A plan of three components, with precincts of some sizes. */
static inline Cj2kPlan *random_plan(Random *rand, Kind kind)
{
  Cj2kComponent components[3] = {{0}};
  Cj2kSampleLayout samples[3];
  Cj2kEncoderParams params;
  Cj2kEncoderSetup setup;
  Cj2kLayout layout;
  Cj2kPlan *plan = NULL;
  Cj2kError error = {0};

  cj2k_encoder_params_init(&params);
  params.block_coder = kind < MQ_PASSES ? CJ2K_CODER_HT : CJ2K_CODER_MQ;
  params.codeblock_style = made_styles[kind] & (uint8_t)~CJ2K_STYLE_HT;
  params.num_resolutions = (uint8_t)(1 + random_below(rand, 6));
  params.codeblock_width = params.codeblock_height = (uint16_t)(4u << random_below(rand, 4));
  if (random_below(rand, 2)) {
    params.num_precincts = 1;
    params.precinct_width[0] = (uint8_t)(5 + random_below(rand, 4));
    params.precinct_height[0] = (uint8_t)(5 + random_below(rand, 4));
  }
  for (uint32_t c = 0; c < 3; c++)
    components[c] = (Cj2kComponent){.dx = c ? 2 : 1, .dy = c == 2 ? 2 : 1, .depth = 12};
  Cj2kImage shape = {.num_components = 3, .components = components};
  cj2k_layout_planar(&shape, samples, &layout);
  Cj2kEncoderImage image = {.width = 1 + random_below(rand, 700),
                            .height = 1 + random_below(rand, 500),
                            .num_components = 3,
                            .components = components};
  if (cj2k_setup_init(&setup, &params, &image, &layout, &error) != CJ2K_OK)
    g_error("%s", error.text);
  Cj2kHeader *header = cj2k_setup_header(&setup);
  g_assert_cmpint(cj2k_plan_new(header, 0, 0, &plan, &error), ==, CJ2K_OK);
  cj2k_header_unref(header);
  cj2k_setup_clear(&setup);
  return plan;
}

/* The number of bands of a precinct. */
static inline uint32_t bands_of(const Cj2kPlan *plan, uint32_t precinct)
{
  for (uint32_t r = 0; r < plan->num_resolutions; r++) {
    const Cj2kPlanResolution *resolution = &plan->resolutions[r];
    if (precinct - resolution->first_precinct <
        (uint64_t)resolution->precincts_x * resolution->precincts_y)
      return resolution->num_bands;
  }
  g_assert_not_reached();
}

#endif
