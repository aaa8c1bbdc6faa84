/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ht_blocks.h"

#include <glib.h>
#include <string.h>

void cj2k_ht_blocks_init(Cj2kHtBlocks *ht, const Cj2kPlan *plan)
{
  size_t n = (size_t)plan->num_blocks + 1;

  *ht = (Cj2kHtBlocks){.choices = g_new0(Cj2kHtChoice, n),
                       .blocks = g_new0(Cj2kEncodedBlock, n),
                       .passes = g_new0(Cj2kPassLength, n),
                       .at_plane_0 = g_new0(uint32_t, n),
                       .quantisers = g_new0(Cj2kFrameQuantiser, (size_t)plan->num_bands + 1)};
}

void cj2k_ht_blocks_clear(Cj2kHtBlocks *ht)
{
  g_free(ht->choices);
  g_free(ht->blocks);
  g_free(ht->passes);
  g_free(ht->at_plane_0);
  g_free(ht->quantisers);
}

uint64_t cj2k_ht_blocks_coded(Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                              const Cj2kFrameQuantiser *quantisers, const Cj2kEncodedBlock *blocks,
                              const uint32_t *lengths)
{
  uint32_t num_blocks = plan->num_blocks, *at_plane_0 = ht->at_plane_0;
  uint64_t bytes = 0;

  if (lengths)
    memcpy(at_plane_0, lengths, num_blocks * sizeof *lengths);
  for (uint32_t b = 0; b < num_blocks && !lengths; b++)
    at_plane_0[b] = blocks[b].length;
  for (uint32_t b = 0; b < num_blocks; b++)
    bytes += at_plane_0[b];
  ht->coded = blocks;
  memcpy(ht->quantisers, quantisers, plan->num_bands * sizeof *quantisers);
  ht->all_coded = true;
  return bytes;
}

void cj2k_ht_blocks_choose(Cj2kHtBlocks *ht, const Cj2kPlan *plan, uint32_t first_plane,
                           uint32_t num_planes, const Cj2kSelection *selection)
{
  const uint8_t *options = selection->options;
  Cj2kHtChoice *choices = ht->choices; /* a variable: stores might change what `ht` has */
  uint32_t num_blocks = plan->num_blocks;

  for (uint32_t b = 0; b < num_blocks; b++) {
    uint32_t n = options[b], plane = first_plane + (n ? num_planes - n : 0);
    choices[b] = (Cj2kHtChoice){.plane = (uint8_t)plane, .passes = n > 0};
  }
}

void cj2k_ht_blocks_describe(Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                             const Cj2kFrameQuantiser *quantisers, uint32_t first_plane,
                             uint32_t num_planes, const Cj2kSelection *selection)
{
  const Cj2kPlanBlock *planned = plan->blocks; /* variables: stores might change what `ht` has */
  const uint32_t *lengths = selection->lengths;
  const Cj2kHtChoice *choices = ht->choices;
  const Cj2kEncodedBlock *coded = ht->all_coded ? ht->coded : NULL;
  Cj2kEncodedBlock *blocks = ht->blocks;
  Cj2kPassLength *passes = ht->passes;
  uint32_t num_blocks = plan->num_blocks;

  cj2k_ht_blocks_choose(ht, plan, first_plane, num_planes, selection);
  for (uint32_t b = 0; b < num_blocks; b++) {
    Cj2kHtChoice choice = choices[b];
    uint32_t planes = quantisers[planned[b].band].num_bitplanes;
    uint32_t length = lengths[b];
    blocks[b] = (Cj2kEncodedBlock){.offset = coded ? coded[b].offset : 0,
                                   .length = length,
                                   .first_pass = b,
                                   .num_passes = choice.passes,
                                   .zero_bitplanes = (uint8_t)(planes - 1 - choice.plane),
                                   .is_ht = 1};
    passes[b] = (Cj2kPassLength){length, 1};
  }
}

bool cj2k_ht_blocks_have_room(const Cj2kHtBlocks *ht, const Cj2kPlan *plan,
                              const Cj2kFrameQuantiser *quantisers, const uint32_t *lengths)
{
  if (!ht->all_coded ||
      memcmp(ht->quantisers, quantisers, plan->num_bands * sizeof *quantisers) != 0)
    return false;
  for (uint32_t b = 0; b < plan->num_blocks; b++) {
    bool stays = !ht->choices[b].plane && ht->choices[b].passes;
    uint32_t length = lengths[b], room = ht->at_plane_0[b];
    if (length > room || (stays && length != room))
      return false;
  }
  return true;
}

bool cj2k_ht_blocks_match(const Cj2kHtBlocks *ht, const Cj2kEncodedBlock *coded,
                          uint32_t num_blocks)
{
  const Cj2kEncodedBlock *blocks = ht->blocks;

  for (uint32_t b = 0; b < num_blocks; b++)
    if (coded[b].num_passes != blocks[b].num_passes ||
        (blocks[b].num_passes && (coded[b].length != blocks[b].length ||
                                  coded[b].zero_bitplanes != blocks[b].zero_bitplanes)))
      return false;
  return true;
}
