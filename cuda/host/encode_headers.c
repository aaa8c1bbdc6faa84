/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_headers.h"

#include <string.h>

#define LEAST_WORDS 4u /* of a packet without blocks, too */

static void set_packet(const Cj2kPlanPrecinct *precinct, uint32_t num_bands,
                       Cj2kCudaHeaderPacket *packet)
{
  for (uint32_t i = 0; i < num_bands; i++) {
    const Cj2kPlanPrecinctBand *from = &precinct->band[i];
    Cj2kCudaHeaderBand *band = &packet->bands[packet->num_bands];
    if (!from->blocks_x || !from->blocks_y)
      continue;
    if (!packet->num_bands)
      packet->first_block = from->first_block;
    packet->num_bands++;
    packet->num_blocks += from->blocks_x * from->blocks_y;
    cj2k_header_tree_init(&band->tree, from->blocks_x, from->blocks_y);
    band->first_block = from->first_block;
    band->first_node = from->first_node;
  }
}

/* Appends the packets that are large, or those that are not. Returns their number. */
static uint32_t list_packets(const Cj2kPlan *plan, bool large, Cj2kCudaHeaderPacket *packets)
{
  uint32_t count = 0;

  for (uint32_t r = 0; r < plan->num_resolutions; r++) {
    const Cj2kPlanResolution *resolution = &plan->resolutions[r];
    uint32_t end = resolution->first_precinct + resolution->precincts_x * resolution->precincts_y;
    for (uint32_t p = resolution->first_precinct; p < end; p++) {
      Cj2kCudaHeaderPacket packet = {.precinct = p};
      set_packet(&plan->precincts[p], resolution->num_bands, &packet);
      if ((packet.num_blocks > CJ2K_CUDA_HEADER_SMALL) == large)
        packets[count++] = packet;
    }
  }
  return count;
}

bool cj2k_cuda_header_packets(const Cj2kPlan *plan, uint32_t words, Cj2kCudaHeaderPacket *packets,
                              Cj2kCudaHeaderTotals *totals)
{
  uint64_t most = (uint64_t)plan->num_blocks * words + (uint64_t)plan->num_precincts * LEAST_WORDS;

  memset(totals, 0, sizeof *totals);
  if (most > UINT32_MAX / CJ2K_CUDA_HEADER_BYTES || plan->num_nodes > UINT32_MAX)
    return false;
  totals->num_large = list_packets(plan, true, packets);
  list_packets(plan, false, packets + totals->num_large);
  for (uint32_t i = 0; i < plan->num_precincts; i++) {
    Cj2kCudaHeaderPacket *packet = &packets[i];
    packet->first_word = totals->num_words;
    packet->num_words = LEAST_WORDS + packet->num_blocks * words;
    packet->first_run = totals->num_runs;
    packet->num_runs = CJ2K_CUDA_HEADER_PIECES(packet->num_words);
    totals->num_words += packet->num_words;
    totals->num_runs += packet->num_runs;
  }
  return true;
}
