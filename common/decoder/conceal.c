/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conceal.h"

/* The highest resolutions, of which no blocks are supplied: their loss shows little, and what moves
 * shows in them first. The one below them only tells whether frames are alike. */
#define NUM_HIGHEST 3

/* A code-block of the frame before. Its data is kept only if it may be supplied. */
typedef struct {
  Cj2kPlanBlock place;
  double step;     /* of its sub-band */
  uint64_t offset; /* in `bytes` */
  uint32_t length, first_segment;
  uint16_t num_segments;
  uint8_t num_passes; /* 0: it was empty, or is not known */
  uint8_t bitplanes;  /* magnitude bit-planes that are not zero throughout */
  uint8_t is_ht;
} Kept;

/* A code-block of the frame. */
typedef struct {
  uint32_t number; /* in the plan */
  bool supplied;   /* its resolution is low enough that it may be supplied */
  bool missing;
} Low;

void cj2k_conceal_init(Cj2kConceal *conceal)
{
  *conceal = (Cj2kConceal){
      .blocks = g_array_new(FALSE, FALSE, sizeof(Kept)),
      .blocks_before = g_array_new(FALSE, FALSE, sizeof(Kept)),
      .segments = g_array_new(FALSE, FALSE, sizeof(Cj2kSegment)),
      .segments_before = g_array_new(FALSE, FALSE, sizeof(Cj2kSegment)),
      .bytes = g_byte_array_new(),
      .bytes_before = g_byte_array_new(),
  };
}

void cj2k_conceal_clear(Cj2kConceal *conceal)
{
  g_array_unref(conceal->blocks);
  g_array_unref(conceal->blocks_before);
  g_array_unref(conceal->segments);
  g_array_unref(conceal->segments_before);
  g_byte_array_unref(conceal->bytes);
  g_byte_array_unref(conceal->bytes_before);
}

static uint32_t bitplanes_of(const Cj2kPlan *plan, uint32_t number)
{
  const Cj2kPlanBand *band = &plan->bands[plan->blocks[number].band];
  return band->num_bitplanes + (uint32_t)band->roi_shift;
}

static bool has_data(const Cj2kCodedFrame *frame, const Cj2kPlanPrecinct *precinct, uint32_t bands)
{
  for (uint32_t b = 0; b < bands; b++) {
    const Cj2kPlanPrecinctBand *band = &precinct->band[b];
    for (uint32_t i = 0; i < band->blocks_x * band->blocks_y; i++)
      if (frame->blocks[band->first_block + i].num_passes > 0)
        return true;
  }
  return false;
}

/* Calls `call` for each code-block of the low resolutions, in the order of the plan. */
static void for_each_low(const Cj2kPlan *plan, const Cj2kCodedFrame *frame, bool damaged,
                         void (*call)(void *user, const Low *low), void *user)
{
  for (uint32_t t = 0; t < plan->num_tile_comps; t++) {
    const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[t];
    uint32_t levels = tile_comp->num_levels, low = levels - MIN(levels, NUM_HIGHEST);
    for (uint32_t r = 0; r <= MIN(low + 1, levels); r++) {
      const Cj2kPlanResolution *resolution = &plan->resolutions[tile_comp->first_resolution + r];
      for (uint32_t p = 0; p < resolution->precincts_x * resolution->precincts_y; p++) {
        uint32_t number = resolution->first_precinct + p;
        const Cj2kPlanPrecinct *precinct = &plan->precincts[number];
        bool missing = (frame->missing_precincts && frame->missing_precincts[number]) ||
                       (damaged && !has_data(frame, precinct, resolution->num_bands));
        for (uint32_t b = 0; b < resolution->num_bands; b++) {
          const Cj2kPlanPrecinctBand *band = &precinct->band[b];
          for (uint32_t i = 0; i < band->blocks_x * band->blocks_y; i++)
            call(user, &(Low){band->first_block + i, r <= low, missing});
        }
      }
    }
  }
}

/* --- are the frames alike? --- */

typedef struct {
  Cj2kConceal *conceal;
  const Cj2kPlan *plan;
  Cj2kPacketReader *packets;
  const Cj2kCodedFrame *frame;
  uint32_t next;         /* index in blocks_before */
  uint32_t pairs, alike; /* blocks that both frames have; those of similar size */
  uint32_t missing;      /* blocks that may be supplied */
  bool agree;            /* the frames are alike */
  uint64_t supplied;
} Walk;

/* The block's counterpart in the frame before. NULL: that frame had other blocks. */
static const Kept *before(Walk *walk, const Low *low)
{
  const Cj2kPlanBlock *place = &walk->plan->blocks[low->number];
  uint32_t index = walk->next++;
  if (index >= walk->conceal->blocks_before->len)
    return NULL;
  const Kept *kept = &g_array_index(walk->conceal->blocks_before, Kept, index);
  return kept->place.band == place->band && kept->place.x == place->x &&
                 kept->place.y == place->y && kept->place.width == place->width &&
                 kept->place.height == place->height
             ? kept
             : NULL;
}

/* Blocks of a picture and of the next one, which moved a little, differ by some percent in length;
 * those of two scenes by far more. */
static void compare(void *user, const Low *low)
{
  Walk *walk = user;
  const Kept *kept = before(walk, low);
  const Cj2kCodedBlock *block = &walk->frame->blocks[low->number];
  walk->missing +=
      low->missing && low->supplied && block->num_passes == 0 && kept && kept->num_passes > 0;
  if (low->missing || !kept || kept->num_passes == 0 || block->num_passes == 0)
    return;
  uint32_t shorter = MIN(block->length, kept->length), longer = MAX(block->length, kept->length);
  int planes = (int)bitplanes_of(walk->plan, low->number) - block->zero_bitplanes;
  walk->pairs++;
  walk->alike += longer - shorter <= longer / 8 + 4 && ABS(planes - kept->bitplanes) <= 1;
}

/* --- supply and keep --- */

/* Whether coefficients of the kept block mean nearly the same with the step of this band. */
static bool fits(const Kept *kept, const Cj2kPlanBand *band, uint32_t bitplanes)
{
  return kept->bitplanes <= bitplanes && kept->step <= band->step * 1.125 &&
         band->step <= kept->step * 1.125;
}

static void keep(Cj2kConceal *conceal, Kept *kept, const uint8_t *data, const Cj2kSegment *segments)
{
  kept->offset = conceal->bytes->len;
  kept->first_segment = conceal->segments->len;
  g_byte_array_append(conceal->bytes, data, kept->length);
  g_array_append_vals(conceal->segments, segments, kept->num_segments);
}

/* Supplies the block if it is missing, and keeps it for the next frame. */
static void take(void *user, const Low *low)
{
  Walk *walk = user;
  Cj2kConceal *conceal = walk->conceal;
  const Kept *old = before(walk, low);
  const Cj2kPlanBlock *place = &walk->plan->blocks[low->number];
  const Cj2kPlanBand *band = &walk->plan->bands[place->band];
  const Cj2kCodedBlock *block = &walk->frame->blocks[low->number];
  uint32_t bitplanes = bitplanes_of(walk->plan, low->number);
  Kept kept = {.place = *place, .step = band->step};
  bool usable = walk->agree && old && old->num_passes > 0;
  if (low->missing && block->num_passes == 0 && usable &&
      (!low->supplied || fits(old, band, bitplanes))) {
    kept = *old;
    if (low->supplied) {
      const uint8_t *data = conceal->bytes_before->data + old->offset;
      const Cj2kSegment *segments =
          &g_array_index(conceal->segments_before, Cj2kSegment, old->first_segment);
      Cj2kCodedBlock supplied = {.length = old->length,
                                 .num_segments = old->num_segments,
                                 .num_passes = old->num_passes,
                                 .zero_bitplanes = (uint8_t)(bitplanes - old->bitplanes),
                                 .is_ht = old->is_ht};
      cj2k_packets_supply(walk->packets, low->number, &supplied, data, segments);
      keep(conceal, &kept, data, segments);
      walk->supplied++;
    }
  } else if (block->num_passes > 0) {
    kept.length = block->length;
    kept.num_segments = block->num_segments;
    kept.num_passes = block->num_passes;
    kept.bitplanes = (uint8_t)(bitplanes - block->zero_bitplanes);
    kept.is_ht = block->is_ht;
    if (low->supplied)
      keep(conceal, &kept, cj2k_coded_data(walk->frame, block),
           walk->frame->segments + block->first_segment);
  }
  g_array_append_val(conceal->blocks, kept);
}

static void swap(Cj2kConceal *conceal)
{
  Cj2kConceal old = *conceal;
  conceal->blocks_before = old.blocks;
  conceal->segments_before = old.segments;
  conceal->bytes_before = old.bytes;
  conceal->blocks = old.blocks_before;
  conceal->segments = old.segments_before;
  conceal->bytes = old.bytes_before;
  g_array_set_size(conceal->blocks, 0);
  g_array_set_size(conceal->segments, 0);
  g_byte_array_set_size(conceal->bytes, 0);
}

uint64_t cj2k_conceal_frame(Cj2kConceal *conceal, const Cj2kPlan *plan, Cj2kPacketReader *packets,
                            const Cj2kCodedFrame *frame, bool damaged)
{
  Walk walk = {.conceal = conceal, .plan = plan, .packets = packets, .frame = frame};
  swap(conceal);
  if (damaged || frame->missing_precincts) {
    for_each_low(plan, frame, damaged, compare, &walk);
    walk.agree = walk.missing > 0 && walk.alike > walk.pairs / 2;
    walk.next = 0;
  }
  for_each_low(plan, frame, damaged, take, &walk);
  return walk.supplied;
}
