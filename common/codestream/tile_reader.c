/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tile_reader.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

/* Finds the blocks and tag-tree nodes of a tile: those from its first precinct up to that of the
 * next tile. */
static void locate_tile(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile)
{
  uint32_t first[2] = {plan->num_blocks, plan->num_blocks};
  uint32_t node[2] = {(uint32_t)plan->num_nodes, (uint32_t)plan->num_nodes};

  for (uint32_t i = 0; i < 2 && tile + i < plan->num_tiles; i++) {
    const Cj2kPlanTileComp *tile_comp = &plan->tile_comps[plan->tiles[tile + i].first_tile_comp];
    uint32_t precinct = plan->resolutions[tile_comp->first_resolution].first_precinct;

    if (precinct < plan->num_precincts) {
      first[i] = plan->precincts[precinct].band[0].first_block;
      node[i] = plan->precincts[precinct].band[0].first_node;
    }
  }
  reader->plan = plan;
  reader->tile = tile;
  reader->first_block = first[0];
  reader->num_blocks = first[1] - first[0];
  reader->first_node = node[0];
  reader->num_nodes = node[1] - node[0];
}

Cj2kStatus cj2k_tile_reader_begin(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error)
{
  locate_tile(reader, plan, tile);
  if (max_memory > 0 && reader->num_blocks * (uint64_t)sizeof *reader->states +
                                2 * reader->num_nodes * (uint64_t)sizeof *reader->inclusion >
                            max_memory)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "%u code-blocks of tile %u need more memory than max-memory allows",
                          reader->num_blocks, tile);
  if (reader->num_blocks > reader->states_capacity) {
    g_free(reader->states);
    reader->states = g_new(Cj2kBlockState, reader->num_blocks);
    reader->states_capacity = reader->num_blocks;
  }
  if (reader->num_nodes > reader->nodes_capacity) {
    g_free(reader->inclusion);
    g_free(reader->zero_bitplanes);
    reader->inclusion = g_new(Cj2kTagNode, reader->num_nodes);
    reader->zero_bitplanes = g_new(Cj2kTagNode, reader->num_nodes);
    reader->nodes_capacity = reader->num_nodes;
  }
  reader->num_pieces = 1;
  reader->num_segments = 0;
  cj2k_packet_iterator_start(&reader->iterator, plan, tile);
  return CJ2K_OK;
}

Cj2kStatus cj2k_tile_reader_start(Cj2kTileReader *reader, const Cj2kPlan *plan, uint32_t tile,
                                  uint64_t max_memory, Cj2kError *error)
{
  Cj2kStatus status = cj2k_tile_reader_begin(reader, plan, tile, max_memory, error);

  if (status == CJ2K_OK && reader->num_blocks > 0) {
    memset(reader->states, 0, reader->num_blocks * sizeof *reader->states);
    memset(reader->inclusion, 0, reader->num_nodes * sizeof *reader->inclusion);
    memset(reader->zero_bitplanes, 0, reader->num_nodes * sizeof *reader->zero_bitplanes);
  }
  return status;
}

void cj2k_tile_reader_clear(Cj2kTileReader *reader)
{
  cj2k_packet_iterator_clear(&reader->iterator);
  g_free(reader->states);
  g_free(reader->inclusion);
  g_free(reader->zero_bitplanes);
  g_free(reader->pieces);
  g_free(reader->segments);
  memset(reader, 0, sizeof *reader);
}
