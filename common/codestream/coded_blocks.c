/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tile_reader.h"

#include "common/runtime/error.h"
#include "packets_internal.h"

#include <glib.h>
#include <string.h>

/* The bytes of a code-block while they are collected. */
typedef struct {
  uint64_t offset;
  uint32_t length;
  bool gathered; /* in the side buffer */
} Bytes;

/* Appends a segment of at most CJ2K_SEGMENT_MAX_LENGTH bytes. */
static inline void append_segment(Cj2kFrameStore *store, uint32_t length, uint32_t passes)
{
  *cj2k_store_reserve_segments(store, 1) = cj2k_segment(length, passes);
  store->frame.num_segments++;
}

/* MQ: appends a segment, or what continues the last one, to a block. */
static void append_entries(Cj2kFrameStore *store, Cj2kCodedBlock *block, uint32_t length,
                           uint32_t passes)
{
  for (; length > CJ2K_SEGMENT_MAX_LENGTH; length -= CJ2K_SEGMENT_MAX_LENGTH) {
    append_segment(store, CJ2K_SEGMENT_MAX_LENGTH, 0);
    block->num_segments++;
  }
  append_segment(store, length, passes);
  block->num_segments++;
}

/* The segments of pieces. */
static inline Cj2kSegment *piece_segments(const Cj2kFrameStore *store, const Cj2kTileReader *reader)
{
  return store->in_place ? store->frame.segments : reader->segments;
}

/* Appends segments of a piece that has several, and some more behind them that do not count. In
 * place these may be those that are being written. */
static inline void append_run(Cj2kFrameStore *store, const Cj2kTileReader *reader, uint32_t first,
                              uint32_t count, Cj2kCodedBlock *block)
{
  Cj2kSegment *to = cj2k_store_reserve_segments(store, count); /* may move those in place */
  const Cj2kSegment *from = piece_segments(store, reader) + first;

  for (uint32_t i = 0; i < count; i += CJ2K_SEGMENTS_SLACK)
    memmove(to + i, from + i, CJ2K_SEGMENTS_SLACK * sizeof *to);
  store->frame.num_segments += count;
  block->num_segments = (uint16_t)(block->num_segments + count);
}

static void append_side(Cj2kFrameStore *store, const uint8_t *data, size_t size)
{
  Cj2kCodedFrame *frame = &store->frame;

  if (frame->side_size + size > store->side_capacity) {
    store->side_capacity = 2 * (frame->side_size + size);
    frame->side = g_realloc(frame->side, store->side_capacity);
  }
  memcpy(frame->side + frame->side_size, data, size);
  frame->side_size += size;
}

/* Adds the bytes of a piece. As long as all pieces are contiguous in the codestream, nothing is
 * copied; the first piece that is not moves all bytes so far to the end of the side buffer. */
static void append_bytes(Cj2kFrameStore *store, Bytes *bytes, const Cj2kPiece *piece)
{
  const uint8_t *data = store->frame.codestream;

  if (piece->length == 0)
    return;
  if (bytes->length == 0) {
    bytes->offset = piece->offset;
  } else if (bytes->gathered || bytes->offset + bytes->length != piece->offset) {
    if (!bytes->gathered) {
      uint64_t start = store->frame.side_size;

      append_side(store, data + bytes->offset, bytes->length);
      bytes->offset = store->frame.codestream_size + start;
      bytes->gathered = true;
    }
    append_side(store, data + piece->offset, piece->length);
  }
  bytes->length += piece->length;
}

/* MQ: appends a segment, which continues the last one unless it begins a new one. */
static void append_mq(Cj2kFrameStore *store, Cj2kCodedBlock *block, uint32_t length,
                      uint32_t passes, bool begins)
{
  if (!begins && block->num_segments > 0) {
    Cj2kSegment *last = &store->frame.segments[store->frame.num_segments - 1];
    if (length <= CJ2K_SEGMENT_MAX_LENGTH - last->length) {
      *last = cj2k_segment(last->length + length, last->passes + passes);
      return;
    }
  }
  append_entries(store, block, length, passes);
}

/* MQ: appends the segments of a piece. `passes` are used of it. */
static void append_piece(Cj2kFrameStore *store, const Cj2kTileReader *reader,
                         const Cj2kPiece *piece, uint32_t passes, Cj2kCodedBlock *block)
{
  if (piece->num_segments == 0) {
    append_mq(store, block, piece->length, passes, piece->begins);
  } else {
    Cj2kSegment first = piece_segments(store, reader)[piece->first_segment];
    append_mq(store, block, first.length, first.passes, piece->begins);
    append_run(store, reader, piece->first_segment + 1, piece->num_segments - 1u, block);
  }
}

/* A piece of several segments without those that begin behind the first `passes` passes. */
static Cj2kPiece shorten_run(const Cj2kFrameStore *store, const Cj2kTileReader *reader,
                             const Cj2kPiece *piece, uint32_t passes)
{
  Cj2kSegment *segments = piece_segments(store, reader) + piece->first_segment;
  Cj2kPiece shorter = *piece;
  uint32_t n = 0, at = 0;

  for (shorter.length = 0; at < passes; at += segments[n++].passes)
    shorter.length += segments[n].length;
  segments[n - 1].passes = (segments[n - 1].passes - (at - passes)) & 0xff;
  shorter.num_segments = (uint8_t)n;
  shorter.passes = (uint8_t)passes;
  return shorter;
}

/* MQ: all pieces, up to as many passes as the bit-planes can have (3P - 2). */
static void join_mq(Cj2kFrameStore *store, const Cj2kTileReader *reader,
                    const Cj2kBlockState *state, uint32_t bitplanes, Cj2kCodedBlock *block)
{
  uint32_t passes_left = 3 * (bitplanes - state->zero_bitplanes) - 2;
  Bytes bytes = {0};

  for (uint32_t i = state->first_piece; i != 0 && passes_left > 0; i = reader->pieces[i].next) {
    Cj2kPiece piece = reader->pieces[i];

    if (piece.passes == 0)
      continue;
    if (piece.passes > passes_left && piece.num_segments > 0)
      piece = shorten_run(store, reader, &piece, passes_left);
    uint32_t passes = MIN(piece.passes, passes_left);
    append_bytes(store, &bytes, &piece);
    append_piece(store, reader, &piece, passes, block);
    block->num_passes = (uint8_t)(block->num_passes + passes);
    passes_left -= passes;
  }
  block->offset = bytes.offset;
  block->length = bytes.length;
}

/* MQ: most blocks have one piece, and bit-planes for all its passes. false: this one does not. */
static inline bool take_single_piece(Cj2kFrameStore *store, const Cj2kTileReader *reader,
                                     const Cj2kBlockState *state, uint32_t bitplanes,
                                     Cj2kCodedBlock *block)
{
  const Cj2kPiece *piece = &reader->pieces[state->first_piece];

  if (state->first_piece != state->last_piece || piece->passes == 0 ||
      piece->passes > 3 * (bitplanes - state->zero_bitplanes) - 2 ||
      piece->length > CJ2K_SEGMENT_MAX_LENGTH)
    return false;
  block->offset = piece->length > 0 ? piece->offset : 0;
  block->length = piece->length;
  block->num_passes = piece->passes;
  if (piece->num_segments == 0) {
    append_segment(store, piece->length, piece->passes);
    block->num_segments = 1;
  } else if (store->in_place) {
    block->first_segment = piece->first_segment;
    block->num_segments = piece->num_segments;
  } else {
    append_run(store, reader, piece->first_segment, piece->num_segments, block);
  }
  return true;
}

/* HT: true if the block has only one cleanup segment, and that is complete. */
static inline bool is_single_cleanup(const Cj2kTileReader *reader, const Cj2kBlockState *state)
{
  const Cj2kPiece *piece = &reader->pieces[state->first_piece];

  return state->first_piece == state->last_piece && piece->passes == 1 && piece->begins &&
         piece->length > 0 && piece->length <= CJ2K_SEGMENT_MAX_LENGTH;
}

/*
 * HT: only the last HT set that has bytes is decoded, because it has the most bit-planes and does
 * not depend on earlier ones. Each set before it, placeholders included, adds one to zero_bitplanes
 * (T.814 annex B).
 */
static void join_ht(Cj2kFrameStore *store, const Cj2kTileReader *reader,
                    const Cj2kBlockState *state, Cj2kCodedBlock *block)
{
  const Cj2kPiece *cleanup = NULL, *refinement[2] = {NULL, NULL};
  uint32_t pass = 0, sets_before = 0, num_refinements = 0;
  bool in_set = false; /* the current piece belongs to the set of `cleanup` */
  uint32_t refinement_length = 0, refinement_passes = 0;
  Bytes bytes = {0};

  if (is_single_cleanup(reader, state)) {
    const Cj2kPiece *piece = &reader->pieces[state->first_piece];

    append_segment(store, piece->length, 1);
    block->num_segments = block->num_passes = block->is_ht = 1;
    block->offset = piece->offset;
    block->length = piece->length;
    return;
  }
  for (uint32_t i = state->first_piece; i != 0; i = reader->pieces[i].next) {
    const Cj2kPiece *piece = &reader->pieces[i];

    if (piece->passes == 0)
      break;
    pass += piece->passes;
    if (pass % 3 == 1 && piece->begins) {
      in_set = piece->length > 0;
      if (in_set) {
        cleanup = piece;
        sets_before = (pass - 1) / 3;
        num_refinements = refinement_length = refinement_passes = 0;
      }
    } else if (in_set && num_refinements < 2) {
      refinement[num_refinements++] = piece;
      refinement_length += piece->length;
      refinement_passes += piece->passes;
    }
  }
  if (!cleanup)
    return;
  if (MAX(cleanup->length, refinement_length) > CJ2K_SEGMENT_MAX_LENGTH) {
    block->corrupt = 1; /* no code-block has so many */
    return;
  }
  append_bytes(store, &bytes, cleanup);
  append_segment(store, cleanup->length, 1);
  block->num_segments = block->num_passes = 1;
  if (refinement_length > 0) {
    for (uint32_t i = 0; i < num_refinements; i++)
      append_bytes(store, &bytes, refinement[i]);
    append_segment(store, refinement_length, refinement_passes);
    block->num_segments = 2;
    block->num_passes = (uint8_t)(1 + refinement_passes);
  }
  block->zero_bitplanes = (uint8_t)MIN(state->zero_bitplanes + sets_before, 255);
  block->offset = bytes.offset;
  block->length = bytes.length;
  block->is_ht = 1;
}

void cj2k_tile_reader_finish_run(const Cj2kTileReader *reader, Cj2kFrameStore *store,
                                 uint32_t first, uint32_t count)
{
  const Cj2kPlan *plan = reader->plan;
  Cj2kCodedFrame *frame = &store->frame;

  for (uint32_t i = first; i < first + count; i++) {
    const Cj2kBlockState *state = &reader->states[i - reader->first_block];
    Cj2kCodedBlock *block = &frame->blocks[i];
    const Cj2kPlanBand *band;
    uint32_t bitplanes;

    *block = (Cj2kCodedBlock){.first_segment = frame->num_segments,
                              .zero_bitplanes = state->zero_bitplanes};
    if (state->first_piece == 0)
      continue;
    band = &plan->bands[plan->blocks[i].band];
    bitplanes = band->num_bitplanes + (uint32_t)band->roi_shift;
    if (state->zero_bitplanes < bitplanes) {
      if (state->kind == CJ2K_BLOCK_HT)
        join_ht(store, reader, state, block);
      else if (state->kind == CJ2K_BLOCK_MQ &&
               !take_single_piece(store, reader, state, bitplanes, block))
        join_mq(store, reader, state, bitplanes, block);
    }
    if (state->zero_bitplanes >= bitplanes || block->zero_bitplanes >= bitplanes ||
        block->corrupt) {
      *block = (Cj2kCodedBlock){.corrupt = 1};
      frame->corrupt_blocks++;
    }
  }
}

static void swap_segments(Cj2kTileReader *reader, Cj2kFrameStore *store)
{
  Cj2kSegment *segments = reader->segments;
  uint32_t capacity = reader->segments_capacity;

  reader->segments = store->frame.segments;
  reader->segments_capacity = store->segments_capacity;
  store->frame.segments = segments;
  store->segments_capacity = capacity;
  store->has_readers = !store->has_readers;
}

/* The first tile whose pieces have several segments gives its array to the frame, so that they need
 * not be copied. */
void cj2k_tile_reader_finish(Cj2kTileReader *reader, Cj2kFrameStore *store)
{
  if (reader->num_segments > 0 && store->frame.num_segments == 0) {
    swap_segments(reader, store);
    store->frame.num_segments = reader->num_segments;
    store->in_place = true;
  }
  cj2k_tile_reader_finish_run(reader, store, reader->first_block, reader->num_blocks);
  store->in_place = false;
}

void cj2k_store_return_segments(Cj2kFrameStore *store, Cj2kTileReader *reader)
{
  if (store->has_readers)
    swap_segments(reader, store);
}

Cj2kStatus cj2k_frame_store_begin(Cj2kFrameStore *store, const Cj2kPlan *plan, uint64_t max_memory,
                                  Cj2kError *error)
{
  Cj2kCodedFrame *frame = &store->frame;

  if (max_memory > 0 && plan->num_blocks * (uint64_t)sizeof *frame->blocks > max_memory)
    return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                          "%u code-blocks need more memory than max-memory allows",
                          plan->num_blocks);
  if (plan->num_blocks > store->blocks_capacity) {
    g_free(frame->blocks);
    frame->blocks = g_new(Cj2kCodedBlock, plan->num_blocks);
    store->blocks_capacity = plan->num_blocks;
  }
  frame->side_size = 0;
  frame->num_segments = 0;
  frame->corrupt_blocks = 0;
  frame->unread_bytes = 0;
  return CJ2K_OK;
}

void cj2k_frame_store_clear(Cj2kFrameStore *store)
{
  g_free(store->frame.blocks);
  g_free(store->frame.segments);
  g_free(store->frame.side);
}

void cj2k_store_supply(Cj2kFrameStore *store, uint32_t number, const Cj2kCodedBlock *block,
                       const uint8_t *data, const Cj2kSegment *segments)
{
  Cj2kCodedFrame *frame = &store->frame;
  Cj2kCodedBlock *out = &frame->blocks[number];

  *out = *block;
  out->offset = frame->codestream_size + frame->side_size;
  out->first_segment = frame->num_segments;
  append_side(store, data, block->length);
  for (uint32_t i = 0; i < block->num_segments; i++)
    append_segment(store, segments[i].length, segments[i].passes);
}
