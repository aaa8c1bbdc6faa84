/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_headers.h"

#include <glib.h>

#define LEAST_WORDS 4u /* of a packet without blocks, too */

static uint32_t num_pieces(const Cj2kCudaHeaderPacket *packet)
{
  uint32_t bytes = packet->num_words * CJ2K_CUDA_HEADER_BYTES;
  return (bytes + CJ2K_CUDA_HEADER_PIECE - 1) / CJ2K_CUDA_HEADER_PIECE;
}

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
    band->first_node = packet->num_nodes;
    packet->num_nodes += band->tree.offset[band->tree.num_levels - 1] + 1;
  }
}

/* Appends the packets that are large, or those that are not. Returns their number. */
static uint32_t list_packets(const Cj2kPlan *plan, uint32_t few, bool large,
                             Cj2kCudaHeaderPacket *packets)
{
  bool all = plan->num_precincts <= few;
  uint32_t count = 0;

  for (uint32_t r = 0; r < plan->num_resolutions; r++) {
    const Cj2kPlanResolution *resolution = &plan->resolutions[r];
    uint32_t end = resolution->first_precinct + resolution->precincts_x * resolution->precincts_y;
    for (uint32_t p = resolution->first_precinct; p < end; p++) {
      Cj2kCudaHeaderPacket packet = {.precinct = p};
      set_packet(&plan->precincts[p], resolution->num_bands, &packet);
      if ((all || packet.num_blocks > CJ2K_CUDA_HEADER_SMALL) == large)
        packets[count++] = packet;
    }
  }
  return count;
}

/* Gives each packet its room. */
static void set_rooms(const Cj2kPlan *plan, uint32_t words, Cj2kCudaHeaderTables *tables)
{
  for (uint32_t i = 0; i < plan->num_precincts; i++) {
    Cj2kCudaHeaderPacket *packet = &tables->packets[i];
    packet->first_node = tables->num_nodes;
    tables->num_nodes += packet->num_nodes;
    packet->first_word = tables->num_words;
    packet->num_words = LEAST_WORDS + packet->num_blocks * words;
    tables->num_words += packet->num_words;
    tables->num_pieces += num_pieces(packet);
    for (uint32_t b = 0; b < packet->num_blocks; b++)
      tables->precincts[packet->first_block + b] = packet->precinct;
  }
}

/* Lists the pieces of all headers, as far as these may go. */
static void list_pieces(const Cj2kPlan *plan, Cj2kCudaHeaderTables *tables)
{
  Cj2kCudaHeaderPiece *piece = tables->pieces;

  for (uint32_t i = 0; i < plan->num_precincts; i++) {
    const Cj2kCudaHeaderPacket *packet = &tables->packets[i];
    for (uint32_t k = 0; k < num_pieces(packet); k++)
      *piece++ =
          (Cj2kCudaHeaderPiece){.precinct = packet->precinct,
                                .at = k * CJ2K_CUDA_HEADER_PIECE,
                                .from = (uint64_t)packet->first_word * CJ2K_CUDA_HEADER_BYTES};
  }
}

bool cj2k_cuda_header_tables_init(Cj2kCudaHeaderTables *tables, const Cj2kPlan *plan,
                                  uint32_t words, uint32_t few)
{
  uint64_t most = (uint64_t)plan->num_blocks * words + (uint64_t)plan->num_precincts * LEAST_WORDS;

  *tables = (Cj2kCudaHeaderTables){0};
  for (uint32_t t = 0; t < plan->num_tiles; t++)
    if (plan->tiles[t].num_layers > 1)
      return false;
  if (most > UINT32_MAX / CJ2K_CUDA_HEADER_BYTES || plan->num_nodes > UINT32_MAX)
    return false;
  tables->packets = g_new0(Cj2kCudaHeaderPacket, (size_t)plan->num_precincts + 1);
  tables->precincts = g_new0(uint32_t, (size_t)plan->num_blocks + 1);
  tables->num_large = list_packets(plan, few, true, tables->packets);
  list_packets(plan, few, false, tables->packets + tables->num_large);
  set_rooms(plan, words, tables);
  tables->pieces = g_new0(Cj2kCudaHeaderPiece, (size_t)tables->num_pieces + 1);
  list_pieces(plan, tables);
  return true;
}

void cj2k_cuda_header_tables_clear(Cj2kCudaHeaderTables *tables)
{
  g_free(tables->packets);
  g_free(tables->precincts);
  g_free(tables->pieces);
}
