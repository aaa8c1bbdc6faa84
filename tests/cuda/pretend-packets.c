/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels that put bytes of code-blocks to their places, and that make packets. */
#include "common/codestream/header_stuffing.h"
#include "cuda/mq/encode_kernels.h"
#include "cuda/shared/headers.h"
#include "cuda/shared/place.h"
#include "pretend-coders.h"

#include <string.h>

cudaError_t cj2k_cuda_mq_gather(const Cj2kCudaMqGather *gather, cudaStream_t stream)
{
  (void)stream;
  for (uint32_t b = 0; b < gather->num_blocks; b++)
    memcpy(gather->out + gather->retained[b].to, gather->bytes + gather->blocks[b].offset,
           gather->retained[b].length);
  return cudaSuccess;
}

gint num_placed;
gint num_made;
gint no_room;

static Cj2kHeaderBlock header_block(const Cj2kCudaHeaders *frame, const Cj2kEncodedBlock *coded)
{
  bool several = coded->num_passes > 1, made = frame->header_bits && several;
  bool ends = frame->pass_lengths && several;

  return (Cj2kHeaderBlock){.passes = coded->num_passes,
                           .first_passes = coded->num_passes,
                           .lengths = {coded->length},
                           .ends = ends ? frame->pass_lengths + coded->first_pass : NULL,
                           .words = made ? frame->header_bits + coded->first_pass : NULL};
}

/* Writes the bits of a band's blocks from bit `at` on. Returns their end. */
static uint32_t put_band(const Cj2kCudaHeaders *frame, const Cj2kCudaHeaderPacket *packet,
                         const Cj2kCudaHeaderBand *band, uint32_t *words, uint32_t at,
                         uint64_t *body)
{
  const Cj2kHeaderTree *tree = &band->tree;
  Cj2kHeaderNode *nodes = frame->nodes + packet->first_node + band->first_node;
  const Cj2kEncodedBlock *blocks = frame->blocks + band->first_block;
  uint32_t count = tree->width * tree->height;

  for (uint32_t i = 0; i < count; i++)
    nodes[i] = cj2k_header_leaf(blocks[i].num_passes, i, blocks[i].zero_bitplanes);
  for (uint32_t level = 1; level < tree->num_levels; level++)
    for (uint32_t i = 0; i < cj2k_header_level_nodes(tree, level); i++)
      nodes[tree->offset[level] + i] = cj2k_header_inner(tree, nodes, level, i);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t x = i % tree->width, y = i / tree->width;
    Cj2kHeaderBlock block = header_block(frame, &blocks[i]);
    Cj2kHeaderTrees trees = cj2k_header_trees(tree, nodes, x, y);
    cj2k_header_put_block(tree, nodes, x, y, &block, words, at);
    at += cj2k_header_block_size(&trees, &block);
    frame->starts[band->first_block + i] = *body;
    *body += block.passes ? blocks[i].length : 0;
  }
  return at;
}

/* Makes a header in memory of its own, which is large enough, and copies it if it has room. */
static void make_header(const Cj2kCudaHeaders *frame, const Cj2kCudaHeaderPacket *packet)
{
  uint32_t *words = g_new0(uint32_t, 32 * (size_t)packet->num_blocks + 4), bits = 1, size = 0;
  uint64_t body = 0;

  words[0] = 1u << 31;
  for (uint32_t i = 0; i < packet->num_bands; i++)
    bits = put_band(frame, packet, &packet->bands[i], words, bits, &body);
  if (!body) {
    words[0] = 0;
    bits = 1;
  }
  bool fits = cj2k_stuff_chunks(bits) + 1 <= packet->num_words;
  if (g_atomic_int_get(&no_room) && packet->num_blocks > 1)
    fits = false;
  uint8_t *out = frame->bytes + (size_t)packet->first_word * CJ2K_CUDA_HEADER_BYTES;
  uint32_t state = CJ2K_STUFF_BEGIN;
  for (uint32_t i = 0; fits && i < cj2k_stuff_chunks(bits); i++) {
    uint64_t window = cj2k_stuff_window(words, i);
    uint32_t chunk = cj2k_stuff_size(bits, i);
    size += cj2k_stuff_write(window, chunk, state, out + size);
    state = cj2k_stuff_pass(window, chunk, state);
  }
  if (fits && cj2k_stuff_end(state))
    out[size++] = 0;
  frame->sizes[packet->precinct] =
      (Cj2kPacketSize){.body = body, .header = fits ? size : CJ2K_CUDA_HEADER_LONG};
  g_free(words);
}

static void make_headers(const void *arguments)
{
  const Cj2kCudaHeaders *headers = arguments;

  if (headers->cut && headers->cut->state != CJ2K_CUDA_CUT_SOME)
    return;
  for (uint32_t i = 0; i < headers->num_packets; i++)
    make_header(headers, &headers->packets[i]);
}

cudaError_t cj2k_cuda_headers(const Cj2kCudaHeaders *headers, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(make_headers, headers, sizeof *headers);
}

static void find_places(const void *arguments)
{
  const Cj2kCudaPacketPlaces *places = arguments;
  uint64_t at = 0, lengths = 0;

  for (uint32_t i = 0; i < places->count && places->lengths; i++) {
    const Cj2kPacketSize *size = &places->sizes[places->steps[i].precinct];
    lengths += cj2k_length_entry_bytes((uint64_t)places->sop + size->header +
                                       places->behind_header + size->body);
    places->lengths[i] = (uint32_t)lengths;
  }
  for (uint32_t i = 0; i < places->count && at != CJ2K_CUDA_NO_ROOM; i++) {
    const Cj2kPacketStep *step = &places->steps[i];
    const Cj2kPacketSize *size = &places->sizes[step->precinct];
    uint64_t header = at + step->before, body = header + size->header + places->behind_header;
    uint32_t more = places->lengths ? places->lengths[step->part_end - 1] : 0;
    places->places[step->precinct] = (Cj2kCudaPacketPlace){header + more, body + more};
    places->host_sizes[step->precinct] = *size;
    at = size->header == CJ2K_CUDA_HEADER_LONG ? CJ2K_CUDA_NO_ROOM : body + size->body;
  }
  at += at == CJ2K_CUDA_NO_ROOM ? 0 : lengths;
  bool known = !places->cut || places->cut->state != CJ2K_CUDA_CUT_NONE;
  bool fits = known && at != CJ2K_CUDA_NO_ROOM && at + places->behind_all <= places->room;
  *places->end = *places->host_end = fits ? at + places->behind_all : CJ2K_CUDA_NO_ROOM;
  *places->host_counts = *places->counts;
}

cudaError_t cj2k_cuda_packet_places(const Cj2kCudaPacketPlaces *places, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(find_places, places, sizeof *places);
}

static void place_packets(const void *arguments)
{
  const Cj2kCudaPlacePackets *place = arguments;

  if (*place->end == CJ2K_CUDA_NO_ROOM)
    return;
  g_atomic_int_inc(&num_made);
  for (uint32_t b = 0; b < place->num_blocks; b++) {
    const Cj2kEncodedBlock *block = &place->blocks[b];
    if (block->num_passes)
      memcpy(place->out + place->places[place->precincts[b]].body + place->starts[b],
             place->bytes + block->offset, block->length);
  }
  for (uint32_t i = 0; i < place->num_pieces; i++) {
    const Cj2kCudaHeaderPiece *piece = &place->pieces[i];
    uint32_t size = place->sizes[piece->precinct].header;
    if (piece->at < size)
      memcpy(place->out + place->places[piece->precinct].header + piece->at,
             place->headers + piece->from + piece->at,
             MIN(size - piece->at, CJ2K_CUDA_HEADER_PIECE));
  }
}

cudaError_t cj2k_cuda_place_packets(const Cj2kCudaPlacePackets *place, cudaStream_t stream)
{
  (void)stream;
  return pretend_put(place_packets, place, sizeof *place);
}

cudaError_t cj2k_cuda_place(const Cj2kCudaPlace *place, cudaStream_t stream)
{
  (void)stream;
  g_assert_cmpuint(((uintptr_t)place->bytes | (uintptr_t)place->out) % 4, ==, 0);
  g_atomic_int_add(&num_placed, place->num_runs > 0);
  for (uint32_t i = 0; i < place->num_runs; i++)
    memcpy(place->out + place->runs[i].to, place->bytes + place->runs[i].from,
           place->runs[i].length);
  return cudaSuccess;
}
