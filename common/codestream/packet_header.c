/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/runtime/deadline.h"
#include "read_lengths.h"
#include "read_single.h"
#include "tile_reader.h"

#include <glib.h>

#define MAX_LENGTH_BITS 32u

/* B.10.6, table B.4 */
static uint32_t read_num_passes(Cj2kBitReader *bits)
{
  uint32_t n;

  if (!cj2k_bits_get1(bits))
    return 1;
  if (!cj2k_bits_get1(bits))
    return 2;
  n = cj2k_bits_get(bits, 2);
  if (n < 3)
    return 3 + n;
  n = cj2k_bits_get(bits, 5);
  if (n < 31)
    return 6 + n;
  return 37 + cj2k_bits_get(bits, 7);
}

/*
 * Where pass number `pass` lies in its codeword segment: how many passes from it on belong to the
 * segment (B.10.7.1, tables D.8, D.9; HT: T.814 annex B, a cleanup segment of one pass and a
 * refinement segment of two), and whether it begins one.
 */
static uint32_t passes_in_segment(uint32_t kind, uint32_t style, uint32_t pass, bool *begins)
{
  if (kind == CJ2K_BLOCK_HT) {
    *begins = pass % 3 != 2;
    return pass % 3 == 1 ? 2 : 1;
  }
  /* In mixed mode the first length of an MQ code-block covers all its new passes, whatever they
   * are: there is no room for termination on each pass or for bypass. */
  if (style & CJ2K_STYLE_HT)
    style = 0;
  if (style & CJ2K_STYLE_TERMALL) {
    *begins = true;
    return 1;
  }
  if (style & CJ2K_STYLE_BYPASS) {
    uint32_t phase = pass >= CJ2K_BYPASS_START ? (pass - CJ2K_BYPASS_START) % 3 : 0;

    *begins = pass >= CJ2K_BYPASS_START ? phase != 1 : pass == 0;
    return pass < CJ2K_BYPASS_START ? CJ2K_BYPASS_START - pass : phase == 0 ? 2 : 1;
  }
  *begins = pass == 0;
  return UINT32_MAX;
}

/* Makes room for `more` pieces, at most UINT8_MAX. */
static inline bool reserve_pieces(Cj2kTileReader *reader, uint32_t more)
{
  if (reader->num_pieces + more <= reader->pieces_capacity)
    return true;
  if (reader->pieces_capacity > UINT32_MAX / 4)
    return false;
  reader->pieces_capacity = 2 * reader->pieces_capacity + 1024;
  reader->pieces = g_renew(Cj2kPiece, reader->pieces, reader->pieces_capacity);
  return true;
}

/* Appends the pieces that were written after the last one and are already linked to each other. */
static inline void append_pieces(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t count,
                                 uint32_t passes)
{
  uint32_t first = reader->num_pieces;

  reader->num_pieces += count;
  if (state->last_piece != 0)
    reader->pieces[state->last_piece].next = first;
  else
    state->first_piece = first;
  state->last_piece = first + count - 1;
  state->passes = (uint16_t)(state->passes + passes);
}

static bool append_piece(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t passes,
                         uint32_t length, bool begins)
{
  if (!reserve_pieces(reader, 1))
    return false;
  reader->pieces[reader->num_pieces] =
      (Cj2kPiece){.length = length, .passes = (uint8_t)passes, .begins = begins};
  append_pieces(reader, state, 1, passes);
  return true;
}

/* Reads lengths into consecutive pieces and links each to the next. */
typedef struct {
  Cj2kBitReader bits;
  Cj2kPiece *piece; /* the next one */
  uint32_t next;    /* number of the piece after it */
  uint32_t pass, end, lblock;
} LengthReader;

static inline void add_length(LengthReader *r, uint32_t length, uint32_t passes, bool begins)
{
  *r->piece++ =
      (Cj2kPiece){.length = length, .next = r->next++, .passes = (uint8_t)passes, .begins = begins};
  r->pass += passes;
}

/* Makes room for the segments of a piece, at most UINT8_MAX, with slack behind them. */
static inline bool reserve_segments(Cj2kTileReader *reader)
{
  if (reader->segments_capacity - reader->num_segments > UINT8_MAX + CJ2K_SEGMENTS_SLACK)
    return true;
  if (reader->segments_capacity > UINT32_MAX / 4)
    return false;
  reader->segments_capacity = 2 * reader->segments_capacity + 1024;
  reader->segments = g_renew(Cj2kSegment, reader->segments, reader->segments_capacity);
  return true;
}

/* Can the segments of new passes of an MQ code-block be read by read_run? */
static inline bool is_run(uint32_t style, uint32_t lblock)
{
  return (style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) && !(style & CJ2K_STYLE_HT) &&
         lblock <= CJ2K_MAX_RUN_LBLOCK;
}

/* Reads the lengths of new passes for which is_run is true into one piece. There is room for it and
 * for its segments. */
static inline void read_run(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                            uint32_t passes, Cj2kBitReader *packet_bits)
{
  uint32_t pass = state->passes, end = pass + passes, lblock = state->lblock, sum = 0;
  Cj2kSegment *first = reader->segments + reader->num_segments, *next = first;
  Cj2kBitReader bits = *packet_bits; /* in registers */
  bool begins, any;

  uint32_t n = passes_in_segment(CJ2K_BLOCK_MQ, style, pass, &begins);
  while (pass < end) {
    n = MIN(n, end - pass);
    uint32_t length = cj2k_bits_get(&bits, lblock + CJ2K_LOG2(n));
    *next++ = cj2k_segment(length, n);
    sum += length;
    pass += n;
    if (pass >= CJ2K_BYPASS_START && !(style & CJ2K_STYLE_TERMALL) &&
        (pass - CJ2K_BYPASS_START) % 3 == 0) {
      next = cj2k_read_bypass(&bits, next, lblock, end - pass, &sum);
      break;
    }
    n = passes_in_segment(CJ2K_BLOCK_MQ, style, pass, &any);
  }
  reader->pieces[reader->num_pieces] = (Cj2kPiece){.length = sum,
                                                   .first_segment = reader->num_segments,
                                                   .num_segments = (uint8_t)(next - first),
                                                   .passes = (uint8_t)passes,
                                                   .begins = begins};
  reader->num_segments += (uint32_t)(next - first);
  append_pieces(reader, state, 1, passes);
  *packet_bits = bits;
}

/* Reads the lengths of a code-block's first passes with BYPASS, at least eleven, as read_run does.
 * The reader's window holds at least the bits of the first length. */
static G_GNUC_NO_INLINE void read_bypass(Cj2kTileReader *reader, Cj2kBlockState *state,
                                         uint32_t passes, Cj2kBitReader *packet_bits)
{
  Cj2kBitReader copy = {packet_bits->data,   packet_bits->size,  packet_bits->next,
                        packet_bits->window, packet_bits->count, packet_bits->stuffed};
  Cj2kBitReader *bits = &copy;
  Cj2kSegment *first = reader->segments + reader->num_segments, *next = first;
  uint32_t lblock = state->lblock, sum = cj2k_bits_get(bits, lblock + CJ2K_LOG2(CJ2K_BYPASS_START));

  *next++ = cj2k_segment(sum, CJ2K_BYPASS_START);
  next = cj2k_read_bypass(bits, next, lblock, passes - CJ2K_BYPASS_START, &sum);
  state->passes = (uint16_t)passes;
  state->first_piece = state->last_piece = reader->num_pieces;
  reader->pieces[reader->num_pieces++] = (Cj2kPiece){.length = sum,
                                                     .first_segment = reader->num_segments,
                                                     .num_segments = (uint8_t)(next - first),
                                                     .passes = (uint8_t)passes,
                                                     .begins = true};
  reader->num_segments += (uint32_t)(next - first);
  packet_bits->next = bits->next;
  packet_bits->window = bits->window;
  packet_bits->count = bits->count;
  packet_bits->stuffed = bits->stuffed;
}

/* Reads the lengths of new passes that belong to more than one segment. */
static bool read_segments(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                          uint32_t passes, Cj2kBitReader *bits)
{
  if (!reserve_pieces(reader, passes))
    return false;
  if (state->kind == CJ2K_BLOCK_MQ && is_run(style, state->lblock)) {
    if (!reserve_segments(reader))
      return false;
    read_run(reader, state, style, passes, bits);
    return true;
  }
  LengthReader r = {.bits = *bits, /* in registers */
                    .piece = reader->pieces + reader->num_pieces,
                    .next = reader->num_pieces + 1,
                    .pass = state->passes,
                    .end = state->passes + passes,
                    .lblock = state->lblock};
  while (r.pass < r.end) {
    bool begins;
    uint32_t n = MIN(r.end - r.pass, passes_in_segment(state->kind, style, r.pass, &begins));
    uint32_t length_bits = r.lblock + CJ2K_LOG2(n);
    if (length_bits > MAX_LENGTH_BITS)
      return false;
    add_length(&r, cj2k_bits_get(&r.bits, length_bits), n, begins);
  }
  r.piece[-1].next = 0;
  append_pieces(reader, state, r.next - 1 - reader->num_pieces, passes);
  *bits = r.bits;
  return true;
}

/* Reads the lengths of `passes` new passes, at least one, of a code-block whose coder is known
 * (B.10.7). */
static inline bool read_lengths(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                                uint32_t passes, Cj2kBitReader *bits)
{
  bool begins;
  uint32_t length_bits = state->lblock + CJ2K_LOG2(passes);

  if (passes_in_segment(state->kind, style, state->passes, &begins) < passes)
    return read_segments(reader, state, style, passes, bits);
  return length_bits <= MAX_LENGTH_BITS &&
         append_piece(reader, state, passes, cj2k_bits_get(bits, length_bits), begins);
}

/*
 * Reads the lengths of a code-block of HT style that has had only placeholder passes so far (T.814
 * annex B). The passes up to the last possible cleanup pass share the first length. If it is zero,
 * they are placeholders, and the length continues with the bits that it would have for all passes.
 * Otherwise, with HT alone, it is the length of the first HT cleanup segment. In mixed mode that is
 * so only if Lblock is above 3 and the first bit of the length is zero; else this is an MQ
 * code-block, whose length covers all passes.
 */
static bool read_undecided_lengths(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                                   uint32_t passes, Cj2kBitReader *bits)
{
  bool mixed = style & CJ2K_STYLE_HT_MIXED;
  uint32_t after_cleanup = (state->passes + passes - 1) % 3;
  uint32_t to_cleanup = passes > after_cleanup ? passes - after_cleanup : 0;
  uint32_t all_bits = state->lblock + CJ2K_LOG2(passes);
  uint32_t length_bits = to_cleanup ? state->lblock + CJ2K_LOG2(to_cleanup) : all_bits;
  uint32_t length;

  if (all_bits > MAX_LENGTH_BITS)
    return false;
  length = cj2k_bits_get(bits, length_bits);
  if (length != 0 && to_cleanup != 0 &&
      (!mixed || (state->lblock > 3 && length > 1 && length >> (length_bits - 1) == 0))) {
    state->kind = CJ2K_BLOCK_HT;
    return append_piece(reader, state, to_cleanup, length, true) &&
           (passes == to_cleanup || read_lengths(reader, state, style, passes - to_cleanup, bits));
  }
  if (all_bits > length_bits)
    length = length << (all_bits - length_bits) | cj2k_bits_get(bits, all_bits - length_bits);
  if (length != 0) {
    if (!mixed)
      return false;
    state->kind = CJ2K_BLOCK_MQ;
  }
  return append_piece(reader, state, passes, length, state->passes == 0);
}

/* Reads what the header says of a code-block that contributes to this packet: B.10.5 (when first
 * included) to B.10.7. */
static bool read_contribution(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                              Cj2kBitReader *bits)
{
  uint32_t passes = read_num_passes(bits);

  state->lblock = (uint8_t)(state->lblock + cj2k_bits_take_run(bits, true, MAX_LENGTH_BITS));
  if (state->lblock > MAX_LENGTH_BITS)
    return false;
  cj2k_bits_get1(bits); /* the zero that ends the run */
  if (state->passes + passes > UINT8_MAX)
    return false;
  if (state->kind == CJ2K_BLOCK_UNDECIDED)
    return read_undecided_lengths(reader, state, style, passes, bits);
  return read_lengths(reader, state, style, passes, bits);
}

/* Inclusion of a code-block that no earlier packet included (B.10.4, B.10.5). */
static inline Cj2kInclusion read_inclusion(const Cj2kTagTree *tree, Cj2kTagNode *inclusion,
                                           Cj2kTagNode *zero_bitplanes, uint32_t x, uint32_t y,
                                           uint32_t layer, Cj2kBlockState *state,
                                           Cj2kBitReader *bits)
{
  if (!cj2k_tag_tree_decode(tree, inclusion, x, y, layer + 1, bits))
    return CJ2K_BLOCK_OUT;
  if (!cj2k_tag_tree_decode(tree, zero_bitplanes, x, y, CJ2K_MOST_ZERO_BITPLANES + 1, bits))
    return CJ2K_BLOCK_BROKEN;
  state->zero_bitplanes = (uint8_t)zero_bitplanes[cj2k_tag_tree_node(tree, 0, x, y)].low;
  return CJ2K_BLOCK_IN;
}

/* A faster way if only the leaves are left to be read and a word holds all their bits.
 * CJ2K_BLOCK_BROKEN: that is not so, and nothing was read. */
static inline Cj2kInclusion read_leaves(const Cj2kTagTree *tree, Cj2kTagNode *inclusion,
                                        Cj2kTagNode *zero_bitplanes, uint32_t x, uint32_t y,
                                        uint32_t layer, Cj2kBlockState *state, Cj2kBitReader *bits)
{
  uint32_t leaf = y * tree->width[0] + x, low, zeros, used;

  if (tree->num_levels < 2)
    return CJ2K_BLOCK_BROKEN;
  uint32_t parent = cj2k_tag_tree_node(tree, 1, x, y);
  if (!inclusion[parent].known || !zero_bitplanes[parent].known || inclusion[leaf].low ||
      inclusion[parent].low != layer)
    return CJ2K_BLOCK_BROKEN;
  if (bits->count < 32)
    cj2k_bits_refill(bits);
  /* The parent's value is this layer: one bit says whether the leaf has it too. */
  if (!(bits->window >> 63)) {
    inclusion[leaf].low = (uint16_t)(layer + 1);
    bits->window <<= 1;
    bits->count--;
    return CJ2K_BLOCK_OUT;
  }
  zeros = (uint32_t)__builtin_clzll(bits->window << 1 | 1);
  used = zeros + 2;
  low = zero_bitplanes[parent].low + zeros;
  if (used > bits->count || low > CJ2K_MOST_ZERO_BITPLANES)
    return CJ2K_BLOCK_BROKEN;
  bits->window <<= used;
  bits->count -= used;
  inclusion[leaf] = (Cj2kTagNode){.low = (uint16_t)layer, .known = 1};
  zero_bitplanes[leaf] = (Cj2kTagNode){.low = (uint16_t)low, .known = 1};
  state->zero_bitplanes = (uint8_t)low;
  return CJ2K_BLOCK_IN;
}

/* Reads the most frequent cases of an MQ code-block in its first packet: all passes are one
 * segment, or segments that read_run can read. false: it is another case, and nothing was read. */
static inline bool read_first_passes(Cj2kTileReader *reader, Cj2kBlockState *state, uint32_t style,
                                     Cj2kBitReader *bits)
{
  uint32_t passes, used, more, length_bits;
  uint64_t window;
  bool begins;

  if (bits->count < 48)
    cj2k_bits_refill(bits);
  window = bits->window;
  passes = cj2k_passes_of(window, &used);
  more = (uint32_t)__builtin_clzll(~(window << used));
  length_bits = 3 + more + CJ2K_LOG2(passes);
  used += more + 1;
  if (used > bits->count || reader->num_pieces >= reader->pieces_capacity)
    return false;
  if (passes_in_segment(CJ2K_BLOCK_MQ, style, 0, &begins) < passes) {
    if (!is_run(style, 3 + more) || (style & CJ2K_STYLE_TERMALL) || used >= 64 ||
        !reserve_segments(reader))
      return false;
    state->lblock = (uint8_t)(3 + more);
    state->kind = CJ2K_BLOCK_MQ;
    Cj2kBitReader copy = {bits->data,         bits->size,   bits->next, window << used,
                          bits->count - used, bits->stuffed}; /* lets `bits` stay in registers */
    read_bypass(reader, state, passes, &copy);
    bits->next = copy.next;
    bits->window = copy.window;
    bits->count = copy.count;
    bits->stuffed = copy.stuffed;
    return true;
  }
  if (used + length_bits > bits->count || length_bits > MAX_LENGTH_BITS)
    return false;
  state->lblock = (uint8_t)(3 + more);
  state->kind = CJ2K_BLOCK_MQ;
  state->passes = (uint16_t)passes;
  state->first_piece = state->last_piece = reader->num_pieces;
  reader->pieces[reader->num_pieces++] =
      (Cj2kPiece){.length = (uint32_t)(window << used >> (64 - length_bits)),
                  .passes = (uint8_t)passes,
                  .begins = true};
  used += length_bits;
  bits->window = used < 64 ? window << used : 0;
  bits->count -= used;
  return true;
}

/* Reads the most frequent case of an HT code-block: one pass, all of it in one packet. false: it is
 * another case, and nothing was read. */
static inline bool read_single_cleanup(Cj2kTileReader *reader, Cj2kBlockState *state,
                                       Cj2kBitReader *bits)
{
  uint32_t lblock, length;

  if (bits->count < 32)
    cj2k_bits_refill(bits);
  if (reader->num_pieces >= reader->pieces_capacity || !cj2k_take_cleanup(bits, &lblock, &length))
    return false;
  state->lblock = (uint8_t)lblock;
  state->kind = CJ2K_BLOCK_HT;
  state->passes = 1;
  state->first_piece = state->last_piece = reader->num_pieces;
  reader->pieces[reader->num_pieces++] = (Cj2kPiece){.length = length, .passes = 1, .begins = true};
  return true;
}

/* The tag trees of a band in the precinct. */
typedef struct {
  Cj2kSingleTree single; /* of a codestream with a single layer; else its tree alone is used */
  Cj2kTagNode *inclusion, *zero_bitplanes;
} Trees;

static inline Cj2kInclusion read_trees(const Trees *trees, bool is_single, uint32_t x, uint32_t y,
                                       uint32_t layer, Cj2kBlockState *state, Cj2kBitReader *bits)
{
  const Cj2kTagTree *tree = &trees->single.tree;

  if (is_single)
    return cj2k_single_read(&trees->single, x, y, &state->zero_bitplanes, bits);
  Cj2kInclusion found =
      read_leaves(tree, trees->inclusion, trees->zero_bitplanes, x, y, layer, state, bits);
  if (found != CJ2K_BLOCK_BROKEN)
    return found;
  return read_inclusion(tree, trees->inclusion, trees->zero_bitplanes, x, y, layer, state, bits);
}

/* Reads the code-blocks of one band in the precinct. */
static inline bool read_precinct_band(Cj2kTileReader *reader,
                                      const Cj2kPlanPrecinctBand *precinct_band, uint32_t style,
                                      uint32_t layer, bool is_single, Cj2kBitReader *packet_bits)
{
  uint32_t first_node = precinct_band->first_node - reader->first_node;
  Trees trees = {.inclusion = reader->inclusion + first_node,
                 .zero_bitplanes = reader->zero_bitplanes + first_node};
  Cj2kBlockState *state = reader->states + (precinct_band->first_block - reader->first_block);
  bool is_ht = style & CJ2K_STYLE_HT, only_ht = is_ht && !(style & CJ2K_STYLE_HT_MIXED);
  Cj2kBitReader bits = *packet_bits; /* stays in registers as long as its address is not taken */

  cj2k_single_tree_init(&trees.single, trees.zero_bitplanes, precinct_band->blocks_x,
                        precinct_band->blocks_y);
  for (uint32_t y = 0; y < precinct_band->blocks_y; y++) {
    for (uint32_t x = 0; x < precinct_band->blocks_x; x++, state++) {
      if (state->lblock != 0) {
        if (!cj2k_bits_get1(&bits))
          continue;
      } else {
        Cj2kInclusion found = read_trees(&trees, is_single, x, y, layer, state, &bits);

        if (found == CJ2K_BLOCK_OUT)
          continue;
        if (found == CJ2K_BLOCK_BROKEN)
          return false;
        state->lblock = 3;
        if (is_ht ? only_ht && read_single_cleanup(reader, state, &bits)
                  : read_first_passes(reader, state, style, &bits))
          continue;
        state->kind = is_ht ? CJ2K_BLOCK_UNDECIDED : CJ2K_BLOCK_MQ;
      }
      *packet_bits = bits;
      if (!read_contribution(reader, state, style, packet_bits))
        return false;
      bits = *packet_bits;
    }
    *packet_bits = bits;
    if (cj2k_bits_overrun(packet_bits))
      return false;
  }
  return true;
}

bool cj2k_packet_header_read(Cj2kTileReader *reader, const Cj2kPacketId *packet,
                             Cj2kBitReader *bits)
{
  const Cj2kPlan *plan = reader->plan;
  const Cj2kPlanResolution *resolution = &plan->resolutions[packet->resolution_index];
  const Cj2kPlanPrecinct *precinct = &plan->precincts[packet->precinct_index];

  bool is_single = plan->tiles[reader->tile].num_layers == 1;

  if (!cj2k_bits_get1(bits))
    return true; /* an empty packet (B.10.3) */
  for (uint32_t b = 0; b < resolution->num_bands; b++) {
    const Cj2kPlanPrecinctBand *precinct_band = &precinct->band[b];
    uint32_t style = plan->bands[resolution->first_band + b].block_style;

    /* A packet of a byte may look at all blocks, and include none of them. */
    if (cj2k_deadline_count_items((uint64_t)precinct_band->blocks_x * precinct_band->blocks_y,
                                  NULL))
      return false;
    if (precinct_band->blocks_x > 0 &&
        !(is_single ? read_precinct_band(reader, precinct_band, style, 0, true, bits)
                    : read_precinct_band(reader, precinct_band, style, packet->layer, false, bits)))
      return false;
  }
  return true;
}
