/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "headers.h"

#include "common/codestream/header_blocks.h"
#include "common/codestream/header_stuffing.h"

/* Average bits of the two tag trees: for a block that is in the packet, and for one that is not. Of
 * the latter only a few next to each of the former count. */
#define PRESENT_BITS 3
#define ABSENT_BITS  0.4
#define NEIGHBOURS   4

/* The bits of a block of some passes, without those of tag trees. */
static inline uint32_t block_bits(uint32_t passes, uint32_t length, const Cj2kPassLength *ends)
{
  const Cj2kHeaderBlock block = {
      .passes = passes, .first_passes = passes, .lengths = {length}, .ends = ends};

  return passes ? cj2k_header_passes_size(&block) : 0;
}

/* The same for one pass, or none if there are no bytes. */
static inline uint32_t single_pass_bits(uint32_t length)
{
  uint32_t lblock = cj2k_header_width(length | 4);
  return length ? 2 * lblock - 1 : 0;
}

Cj2kHeaderEstimate cj2k_headers_estimate(uint64_t empty, const uint8_t *passes,
                                         const uint32_t *lengths, uint32_t num_blocks,
                                         uint32_t stride)
{
  uint64_t bits = 0, present = 0, count = 0;

  for (uint32_t b = 0; b < num_blocks; b += stride, count++) {
    bits += passes ? block_bits(passes[b], lengths[b], NULL) : single_pass_bits(lengths[b]);
    present += lengths[b] > 0;
  }
  uint64_t absent = count - present < NEIGHBOURS * present ? count - present : NEIGHBOURS * present;
  uint64_t trees = PRESENT_BITS * present + (uint64_t)(ABSENT_BITS * (double)absent);
  return (Cj2kHeaderEstimate){.least = bits * stride / 8,
                              .expected = empty + (bits + trees) * stride / 8};
}

/* --- the exact size --- */

#define LEFT_OUT UINT8_MAX /* a node without blocks in the packet; others are zero bit-planes */

/* What a node sends: whether it is in the packet, if its parent is, and how many zero bit-planes
 * more than its parent it has. */
static inline uint32_t node_bits(uint8_t node, uint8_t parent)
{
  return 1 + (node == LEFT_OUT ? 0 : (uint32_t)(node - parent) + 1);
}

/* Replaces the nodes of a level by those of the level above. Returns the bits that they send. */
static uint32_t rise(uint8_t *nodes, uint32_t width, uint32_t height)
{
  uint32_t bits = 0, above = 0;

  for (uint32_t y = 0; y < height; y += 2)
    for (uint32_t x = 0; x < width; x += 2) {
      const uint8_t *at = nodes + (size_t)y * width + x;
      uint8_t children[4] = {0}, count = 0, parent = LEFT_OUT;
      for (uint32_t k = 0; k < 4; k++)
        if (x + (k & 1) < width && y + (k >> 1) < height)
          children[count++] = at[(k >> 1) * width + (k & 1)];
      for (uint32_t k = 0; k < count; k++)
        parent = children[k] < parent ? children[k] : parent;
      for (uint32_t k = 0; k < count && parent != LEFT_OUT; k++)
        bits += node_bits(children[k], parent);
      nodes[above++] = parent;
    }
  return bits;
}

/* The bits of a band of a packet. *any: it has blocks there, whose bytes are added to *body. */
static uint32_t band_bits(const Cj2kHeaderSource *source, const Cj2kPlanPrecinctBand *band,
                          uint8_t *nodes, bool *any, uint64_t *body)
{
  uint32_t width = band->blocks_x, height = band->blocks_y, bits = 0;

  if (!width || !height)
    return 0;
  for (uint32_t i = 0; i < width * height; i++) {
    uint32_t b = band->first_block + i;
    nodes[i] = source->passes[b] ? source->blocks[b].zero_bitplanes : LEFT_OUT;
    *body += source->passes[b] ? source->lengths[b] : 0;
    bits += block_bits(source->passes[b], source->lengths[b],
                       source->ends ? source->ends + source->blocks[b].first_pass : NULL);
  }
  for (; width > 1 || height > 1; width = (width + 1) / 2, height = (height + 1) / 2)
    bits += rise(nodes, width, height);
  *any |= nodes[0] != LEFT_OUT;
  return bits + node_bits(nodes[0], 0);
}

uint64_t cj2k_headers_count(const Cj2kHeaderSource *source, uint8_t *nodes)
{
  const Cj2kPlan *plan = source->plan;
  uint64_t sum = 0;

  for (uint32_t r = 0; r < plan->num_resolutions; r++) {
    const Cj2kPlanResolution *resolution = &plan->resolutions[r];
    uint32_t end = resolution->first_precinct + resolution->precincts_x * resolution->precincts_y;
    for (uint32_t p = resolution->first_precinct; p < end; p++) {
      uint64_t bits = 1, body = 0;
      bool any = false;
      for (uint32_t i = 0; i < resolution->num_bands; i++)
        bits += band_bits(source, &plan->precincts[p].band[i], nodes, &any, &body);
      uint64_t header = any ? (bits + bits / CJ2K_STUFF_SELDOM + 7) / 8 : 1;
      sum += header - 1;
      sum += source->plt ? cj2k_length_entry_more(header, body, source->markers) : 0;
    }
  }
  return sum;
}
