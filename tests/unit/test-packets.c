/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packet headers: bits, tag trees, segment lengths, packed headers, and what can be read of a
 * truncated codestream. */
#include "codestream-bytes.h"
#include "common/codestream/coded.h"
#include "common/codestream/tagtree.h"

#include <string.h>

/* Packet header bits, with bit stuffing (T.800 B.10.1). */
typedef struct {
  GByteArray *bytes;
  unsigned byte, left;
} Bits;

static Bits bits_begin(void)
{
  return (Bits){g_byte_array_new(), 0, 8};
}

static void bits_put(Bits *bits, uint32_t value, int count)
{
  for (int i = count - 1; i >= 0; i--) {
    bits->byte = bits->byte << 1 | (value >> i & 1);
    if (--bits->left == 0) {
      put(bits->bytes, bits->byte, 1);
      bits->left = bits->byte == 0xff ? 7 : 8;
      bits->byte = 0;
    }
  }
}

/* Flushes as an encoder must: a header never ends in 0xFF. */
static GByteArray *bits_end(Bits *bits)
{
  if (bits->left < 8)
    put(bits->bytes, (uint64_t)bits->byte << bits->left, 1);
  return bits->bytes;
}

/* --- bits and tag trees --- */

static void test_bits(void)
{
  GRand *rand = g_rand_new_with_seed(1);

  for (int round = 0; round < 300; round++) {
    Bits bits = bits_begin();
    uint32_t values[200], counts[200];
    GByteArray *bytes;
    Cj2kBitReader reader;

    for (int i = 0; i < 200; i++) {
      counts[i] = (uint32_t)g_rand_int_range(rand, 0, 33);
      /* many ones cause bit stuffing */
      values[i] = g_rand_int(rand);
      for (int more = 0; more < 1 + (round & 1); more++)
        values[i] |= g_rand_int(rand);
      if (counts[i] < 32)
        values[i] &= ((uint32_t)1 << counts[i]) - 1;
      bits_put(&bits, values[i], (int)counts[i]);
    }
    bytes = bits_end(&bits);
    cj2k_bits_init(&reader, bytes->data, bytes->len);
    for (int i = 0; i < 200; i++)
      g_assert_cmpuint(cj2k_bits_get(&reader, counts[i]), ==, values[i]);
    g_assert_false(cj2k_bits_overrun(&reader));
    g_assert_cmpuint(cj2k_bits_finish(&reader), ==, bytes->len);
    cj2k_bits_get(&reader, 16);
    g_assert_true(cj2k_bits_overrun(&reader));
    g_byte_array_unref(bytes);
  }
  g_rand_free(rand);
}

/* A tag tree written as in B.10.2: recursively from the root, one threshold at a time. */
typedef struct {
  Cj2kTagTree tree;
  uint32_t height[CJ2K_TAG_TREE_LEVELS];
  uint32_t value[512];
  Cj2kTagNode sent[512];
} Encoder;

static void encode_node(Encoder *e, uint32_t level, uint32_t x, uint32_t y, uint32_t threshold,
                        Bits *bits)
{
  uint32_t i = cj2k_tag_tree_node(&e->tree, level, x, y);

  if (level + 1 < e->tree.num_levels) {
    uint32_t parent = cj2k_tag_tree_node(&e->tree, level + 1, x, y);
    encode_node(e, level + 1, x, y, threshold, bits);
    if (e->sent[i].low < e->sent[parent].low)
      e->sent[i].low = e->sent[parent].low;
  }
  while (e->sent[i].low < threshold && !e->sent[i].known) {
    bool reached = e->value[i] == e->sent[i].low;
    bits_put(bits, reached, 1);
    if (reached)
      e->sent[i].known = 1;
    else
      e->sent[i].low++;
  }
}

static void test_tag_tree(void)
{
  GRand *rand = g_rand_new_with_seed(2);

  for (int round = 0; round < 400; round++) {
    uint32_t w = (uint32_t)g_rand_int_range(rand, 1, 14),
             h = (uint32_t)g_rand_int_range(rand, 1, 14);
    Encoder e = {0};
    Cj2kTagNode nodes[512] = {{0}};
    Bits bits = bits_begin();
    GByteArray *bytes;
    Cj2kBitReader reader;

    cj2k_tag_tree_init(&e.tree, w, h);
    g_assert_cmpuint(e.tree.offset[e.tree.num_levels - 1] + 1, ==, cj2k_tag_tree_num_nodes(w, h));
    memset(e.value, 0xff, sizeof e.value);
    for (uint32_t y = 0; y < h; y++)
      for (uint32_t x = 0; x < w; x++) {
        uint32_t value = (uint32_t)g_rand_int_range(rand, 0, 7);
        for (uint32_t level = 0; level < e.tree.num_levels; level++) {
          uint32_t i = cj2k_tag_tree_node(&e.tree, level, x, y);
          e.value[i] = MIN(e.value[i], value);
        }
      }
    for (uint32_t threshold = 1; threshold <= 8; threshold += 1 + (uint32_t)round % 3)
      for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
          encode_node(&e, 0, x, y, threshold, &bits);
    bytes = bits_end(&bits);
    cj2k_bits_init(&reader, bytes->data, bytes->len);
    for (uint32_t threshold = 1; threshold <= 8; threshold += 1 + (uint32_t)round % 3)
      for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
          uint32_t value = e.value[cj2k_tag_tree_node(&e.tree, 0, x, y)];
          bool below = cj2k_tag_tree_decode(&e.tree, nodes, x, y, threshold, &reader);
          g_assert_true(below == (value < threshold));
          if (below)
            g_assert_cmpuint(nodes[cj2k_tag_tree_node(&e.tree, 0, x, y)].low, ==, value);
        }
    g_assert_cmpuint(cj2k_bits_finish(&reader), ==, bytes->len);
    g_byte_array_unref(bytes);
  }
  g_rand_free(rand);
}

/* --- packets --- */

/* SOC to the end of the main header, for one tile with one 8x8 code-block. */
static GByteArray *begin_one_block(uint8_t style, uint8_t layers)
{
  GByteArray *bytes = begin_codestream(8, 8, 8, 1);

  PUT_SEGMENT(bytes, CJ2K_COD, 0, CJ2K_LRCP, 0, layers, 0, 0, 1, 1, style, 1);
  PUT_SEGMENT(bytes, CJ2K_QCD, 2 << 5, 15 << 3);
  return bytes;
}

/* All that is read from one codestream. */
typedef struct {
  Cj2kHeaderReader *header_reader;
  Cj2kPacketReader *packet_reader;
  Cj2kTileParts parts;
  Cj2kHeader *header;
  Cj2kPlan *plan;
  Cj2kCodedFrame *frame;
  Cj2kStatus status;
} Read;

static Read read_codestream(const GByteArray *bytes, uint16_t max_layers, bool strict)
{
  Read read = {.header_reader = cj2k_header_reader_new(),
               .packet_reader = cj2k_packet_reader_new()};
  Cj2kError error = {0};
  bool same;

  read.status = cj2k_header_read(read.header_reader, bytes->data, bytes->len, strict, 0,
                                 &read.header, &same, &read.parts, &error);
  if (read.status == CJ2K_OK)
    read.status = cj2k_plan_new(read.header, 0, 0, &read.plan, &error);
  if (read.status == CJ2K_OK)
    read.status = cj2k_packets_read(read.packet_reader, read.plan, &read.parts, bytes->data,
                                    bytes->len, max_layers, strict, 0, &read.frame, &error);
  return read;
}

static void read_clear(Read *read)
{
  cj2k_plan_unref(read->plan);
  cj2k_tile_parts_clear(&read->parts);
  cj2k_packet_reader_free(read->packet_reader);
  cj2k_header_reader_free(read->header_reader);
}

/* A number of coding passes up to 36 (table B.4). */
static void bits_put_passes(Bits *bits, uint32_t passes)
{
  if (passes <= 2)
    bits_put(bits, passes == 1 ? 0 : 2, (int)passes);
  else if (passes <= 5)
    bits_put(bits, 0xc | (passes - 3), 4);
  else if (passes <= 36)
    bits_put(bits, 0x1e0 | (passes - 6), 9);
  else
    bits_put(bits, 0xff80 | (passes - 37), 16);
}

/* A packet: header bits as pairs of value and count, ended by a count of 0; then `body` bytes of
 * `fill`. */
static void put_packet(GByteArray *data, Bits *bits, int body, uint8_t fill)
{
  GByteArray *header = bits_end(bits);

  g_byte_array_append(data, header->data, header->len);
  for (int i = 0; i < body; i++)
    put(data, fill, 1);
  g_byte_array_unref(header);
}

/* The start of the block's first contribution: non-empty packet, block included, 2 missing
 * bit-planes. */
static Bits first_packet(uint32_t passes, uint32_t lblock)
{
  Bits bits = bits_begin();

  bits_put(&bits, 3, 2);
  bits_put(&bits, 1, 3);
  bits_put_passes(&bits, passes);
  bits_put(&bits, (1u << (lblock - 3)) - 1, (int)(lblock - 3));
  bits_put(&bits, 0, 1);
  return bits;
}

static Bits later_packet(uint32_t passes)
{
  Bits bits = bits_begin();

  bits_put(&bits, 3, 2);
  bits_put_passes(&bits, passes);
  bits_put(&bits, 0, 1);
  return bits;
}

static GByteArray *one_tile_part(GByteArray *codestream, GByteArray *data)
{
  put_tile_part(codestream, 0, 0, NULL, data->data, data->len);
  put(codestream, CJ2K_EOC, 2);
  g_byte_array_unref(data);
  return codestream;
}

static void assert_block(const Read *read, bool is_ht, uint32_t zero_bitplanes, uint32_t passes,
                         const uint32_t (*segments)[2], uint32_t num_segments)
{
  const Cj2kCodedBlock *block = &read->frame->blocks[0];

  g_assert_cmpint(read->status, ==, CJ2K_OK);
  g_assert_cmpuint(read->frame->unread_bytes, ==, 0);
  g_assert_cmpuint(block->is_ht, ==, is_ht);
  g_assert_cmpuint(block->num_passes, ==, passes);
  g_assert_cmpuint(block->zero_bitplanes, ==, zero_bitplanes);
  g_assert_cmpuint(block->num_segments, ==, num_segments);
  for (uint32_t i = 0; i < num_segments; i++) {
    g_assert_cmpuint(read->frame->segments[block->first_segment + i].length, ==, segments[i][0]);
    g_assert_cmpuint(read->frame->segments[block->first_segment + i].passes, ==, segments[i][1]);
  }
}
#define ASSERT_BLOCK(read, is_ht, zero, passes, ...)                                               \
  assert_block(read, is_ht, zero, passes, (const uint32_t[][2]){__VA_ARGS__},                      \
               sizeof((const uint32_t[][2]){__VA_ARGS__}) / 8)

/* HT: placeholder passes, both segments, and a second HT set in a later layer that replaces the
 * first. */
static void test_ht_segments(void)
{
  GByteArray *codestream = begin_one_block(CJ2K_STYLE_HT, 3), *data = g_byte_array_new();
  Bits bits = first_packet(6, 5); /* 3 placeholders, cleanup; SigProp, MagRef */
  Read read;

  bits_put(&bits, 9, 5 + 2);
  bits_put(&bits, 4, 5 + 1);
  put_packet(data, &bits, 13, 1);
  bits = later_packet(2); /* cleanup, SigProp */
  bits_put(&bits, 20, 5);
  bits_put(&bits, 3, 5);
  put_packet(data, &bits, 23, 2);
  bits = later_packet(1); /* MagRef: continues the refinement segment */
  bits_put(&bits, 5, 5);
  put_packet(data, &bits, 5, 3);
  one_tile_part(codestream, data);

  read = read_codestream(codestream, 1, true);
  ASSERT_BLOCK(&read, true, 2 + 1, 3, {9, 1}, {4, 2});
  g_assert_cmpuint(read.frame->side_size, ==, 0);
  read_clear(&read);
  read = read_codestream(codestream, 2, true);
  ASSERT_BLOCK(&read, true, 2 + 2, 2, {20, 1}, {3, 1});
  read_clear(&read);
  read = read_codestream(codestream, 0, true);
  ASSERT_BLOCK(&read, true, 2 + 2, 3, {20, 1}, {8, 2});
  g_assert_cmpuint(read.frame->side_size, ==, 28);
  g_assert_cmpuint(cj2k_coded_data(read.frame, &read.frame->blocks[0])[22], ==, 2);
  g_assert_cmpuint(cj2k_coded_data(read.frame, &read.frame->blocks[0])[23], ==, 3);
  read_clear(&read);
  g_byte_array_unref(codestream);
}

/* Mixed mode: the first bit of a length of more than three bits distinguishes HT from MQ. */
static void test_mixed_segments(void)
{
  uint8_t style = CJ2K_STYLE_HT | CJ2K_STYLE_HT_MIXED;

  for (int is_ht = 0; is_ht < 2; is_ht++) {
    GByteArray *codestream = begin_one_block(style, 2), *data = g_byte_array_new();
    Bits bits = first_packet(5, 4);
    Read read;

    if (is_ht) { /* 3 placeholders and cleanup, SigProp */
      bits_put(&bits, 31, 4 + 2);
      bits_put(&bits, 2, 4);
      put_packet(data, &bits, 33, 1);
      put_packet(data, &(Bits){g_byte_array_new(), 0, 7}, 0, 0);
    } else { /* 5 passes, one length of the same number of bits */
      bits_put(&bits, 33, 4 + 2);
      put_packet(data, &bits, 33, 1);
      bits = later_packet(2);
      bits_put(&bits, 7, 4 + 1);
      put_packet(data, &bits, 7, 1);
    }
    one_tile_part(codestream, data);
    read = read_codestream(codestream, 0, true);
    if (is_ht)
      ASSERT_BLOCK(&read, true, 3, 2, {31, 1}, {2, 1});
    else
      ASSERT_BLOCK(&read, false, 2, 7, {40, 7});
    read_clear(&read);
    g_byte_array_unref(codestream);
  }
}

/* BYPASS: ten passes, then two raw passes and one MQ pass alternately (table D.9), also across
 * layers. TERMALL: every pass ends a segment. */
static void test_mq_segments(void)
{
  GByteArray *codestream = begin_one_block(CJ2K_STYLE_BYPASS, 2), *data = g_byte_array_new();
  Bits bits = first_packet(11, 6);
  Read read;

  bits_put(&bits, 40, 6 + 3);
  bits_put(&bits, 6, 6);
  put_packet(data, &bits, 46, 1);
  bits = later_packet(4); /* raw MagRef, MQ cleanup, raw SigProp and MagRef */
  bits_put(&bits, 7, 6);
  bits_put(&bits, 8, 6);
  bits_put(&bits, 9, 6 + 1);
  put_packet(data, &bits, 24, 1);
  one_tile_part(codestream, data);
  read = read_codestream(codestream, 0, true);
  ASSERT_BLOCK(&read, false, 2, 15, {40, 10}, {13, 2}, {8, 1}, {9, 2});
  read_clear(&read);
  g_byte_array_unref(codestream);

  codestream = begin_one_block(CJ2K_STYLE_TERMALL, 1);
  data = g_byte_array_new();
  bits = first_packet(3, 3);
  bits_put(&bits, 1, 3);
  bits_put(&bits, 0, 3);
  bits_put(&bits, 5, 3);
  put_packet(data, &bits, 6, 1);
  one_tile_part(codestream, data);
  read = read_codestream(codestream, 0, true);
  ASSERT_BLOCK(&read, false, 2, 3, {1, 1}, {0, 1}, {5, 1});
  read_clear(&read);
  g_byte_array_unref(codestream);
}

/* Passes of the segment that begins with a pass. */
static uint32_t passes_of_segment(uint32_t style, uint32_t pass)
{
  if (style == CJ2K_STYLE_TERMALL)
    return 1;
  return pass == 0 ? 10 : (pass - 10) % 3 == 0 ? 2 : 1;
}

#define MOST_PASSES 40 /* of a block of begin_one_block with two missing bit-planes */

/* Adds a segment as far as `left` bytes and the block's passes go. Returns the number of segments.
 */
static uint32_t expect_segment(uint32_t (*segments)[2], uint32_t count, uint32_t length,
                               uint32_t passes, uint32_t *left, uint32_t *all_passes)
{
  bool is_cut = length > *left;

  if (is_cut)
    passes = passes * *left / length;
  passes = MIN(passes, MOST_PASSES - *all_passes);
  if (passes > 0) {
    segments[count][0] = MIN(length, *left);
    segments[count++][1] = passes;
  }
  *all_passes += passes;
  *left = is_cut ? 0 : *left - length;
  return count;
}

/* Many segments in one packet, of any number of passes and any Lblock; every second codestream is
 * cut. */
static void test_mq_runs(void)
{
  GRand *rand = g_rand_new_with_seed(3);

  for (uint32_t round = 0; round < 1000; round++) {
    uint32_t style = round % 8 == 7 ? CJ2K_STYLE_TERMALL : CJ2K_STYLE_BYPASS;
    uint32_t passes = (uint32_t)g_rand_int_range(rand, 11, 50), count = 0, all_passes = 0;
    uint32_t lblock = (uint32_t)g_rand_int_range(rand, 3, 24), lengths[50], size = 0, n = 0;
    uint32_t segments[50][2], of_segment[50];
    GByteArray *codestream = begin_one_block(style, 1), *data = g_byte_array_new();
    Bits bits = first_packet(passes, lblock);

    for (uint32_t pass = 0; pass < passes; pass += of_segment[n++]) {
      of_segment[n] = MIN(passes_of_segment(style, pass), passes - pass);
      lengths[n] = (uint32_t)g_rand_int_range(rand, 0, 1 << MIN(lblock, 7));
      bits_put(&bits, lengths[n], (int)(lblock + g_bit_storage(of_segment[n]) - 1));
      size += lengths[n];
    }
    uint32_t left = round & 1 ? (uint32_t)g_rand_int_range(rand, 0, (int)size + 1) : size;
    bool is_whole = left == size;
    put_packet(data, &bits, (int)left, 1);
    uint32_t more = left;
    bool is_cut = false;
    for (uint32_t i = 0; i < n && !is_cut && all_passes < MOST_PASSES; i++) {
      is_cut = lengths[i] > more;
      count = expect_segment(segments, count, lengths[i], of_segment[i], &more, &all_passes);
    }
    Read read = read_codestream(one_tile_part(codestream, data), 0, is_whole);
    assert_block(&read, false, all_passes > 0 ? 2 : read.frame->blocks[0].zero_bitplanes,
                 all_passes, (const uint32_t(*)[2])segments, count);
    read_clear(&read);
    g_byte_array_unref(codestream);
  }
  g_rand_free(rand);
}

/* A truncated body: an MQ block keeps the passes of the bytes that are left, an HT block none; a
 * strict decoder refuses the stream. */
static void test_truncated(void)
{
  for (int is_ht = 0; is_ht < 2; is_ht++) {
    GByteArray *codestream = begin_one_block(is_ht ? CJ2K_STYLE_HT : 0, 1);
    GByteArray *data = g_byte_array_new();
    Bits bits = first_packet(is_ht ? 1 : 4, 6);
    Read read;

    bits_put(&bits, 40, is_ht ? 6 : 6 + 2);
    put_packet(data, &bits, 30, 1);
    one_tile_part(codestream, data);
    read = read_codestream(codestream, 0, true);
    g_assert_cmpint(read.status, ==, CJ2K_ERROR_CODESTREAM);
    read_clear(&read);
    read = read_codestream(codestream, 0, false);
    g_assert_true(read.frame->truncated);
    if (!is_ht)
      ASSERT_BLOCK(&read, false, 2, 3, {30, 3});
    else
      g_assert_cmpuint(read.frame->blocks[0].num_passes, ==, 0);
    read_clear(&read);
    g_byte_array_unref(codestream);
  }
}

/* Two layers in two tile-parts, packet headers in PPM segments that divide an Nppm, SOP before one
 * packet, EPH in the headers, and Psot = 0 in the last tile-part. */
static void test_packed_headers(void)
{
  GByteArray *codestream = begin_one_block(0, 2), *headers = g_byte_array_new();
  Bits first = first_packet(1, 3), second = later_packet(1);
  GByteArray *header[2];
  Read read;

  bits_put(&first, 7, 3);
  bits_put(&second, 5, 3);
  header[0] = bits_end(&first);
  header[1] = bits_end(&second);
  for (int i = 0; i < 2; i++) {
    put(headers, header[i]->len + 2, 4);
    g_byte_array_append(headers, header[i]->data, header[i]->len);
    put(headers, CJ2K_EPH, 2);
    g_byte_array_unref(header[i]);
  }
  for (guint at = 0, z = 0; at < headers->len; at += 3, z++) {
    /* in reverse order, because Zppm decides */
    guint i = (headers->len - 1) / 3 - z, size = MIN(3, headers->len - 3 * i);

    put(codestream, CJ2K_PPM, 2);
    put(codestream, 3 + size, 2);
    put(codestream, i, 1);
    g_byte_array_append(codestream, headers->data + 3 * i, size);
  }
  put_tile_part(codestream, 0, 0, NULL,
                "\xff\x91\x00\x04\x00\x00"
                "1234567",
                13);
  put_tile_part(codestream, 0, 1, NULL, "abcde", 5);
  memset(codestream->data + codestream->len - 5 - 8, 0, 4); /* Psot */
  put(codestream, CJ2K_EOC, 2);
  read = read_codestream(codestream, 0, true);
  ASSERT_BLOCK(&read, false, 2, 2, {12, 2});
  g_assert_cmpmem(cj2k_coded_data(read.frame, read.frame->blocks), 12, "1234567abcde", 12);
  read_clear(&read);
  g_byte_array_unref(headers);
  g_byte_array_unref(codestream);
}

/* Four tiles of one code-block each; tile 0 has two tile-parts, one for each layer. `damage` is
 * applied to one of them. */
typedef enum { INTACT, PSOT_TOO_LARGE, PSOT_TOO_SMALL, NO_SOT, PART_MISSING } Damage;

static GByteArray *four_tiles(Damage damage)
{
  GByteArray *bytes = begin_codestream(16, 16, 8, 1);

  PUT_SEGMENT(bytes, CJ2K_COD, 0, CJ2K_LRCP, 0, 2, 0, 0, 1, 1, 0, 1);
  PUT_SEGMENT(bytes, CJ2K_QCD, 2 << 5, 15 << 3);
  for (uint32_t part = 0; part < 5; part++) {
    uint32_t tile = part > 0 ? part - 1 : 0, index = part == 1;
    GByteArray *data = g_byte_array_new();
    Bits bits = index > 0 ? later_packet(1) : first_packet(1, 3);
    guint start = bytes->len;

    bits_put(&bits, 5, 3);
    put_packet(data, &bits, 5, 1);
    if (tile > 0)
      put(data, 0, 1); /* layer 1: an empty packet */
    if (damage != PART_MISSING || part != 0)
      put_tile_part(bytes, tile, index, NULL, data->data, data->len);
    if (part == 2 && damage == PSOT_TOO_LARGE)
      bytes->data[start + 6] = 0x7f;
    if (part == 2 && damage == PSOT_TOO_SMALL)
      bytes->data[start + 9] = 15;
    if (part == 2 && damage == NO_SOT)
      bytes->data[start + 1] = 0;
    g_byte_array_unref(data);
  }
  put(bytes, CJ2K_EOC, 2);
  return bytes;
}

/* Damage affects only the tile in which it occurs; a strict decoder refuses the stream. */
static void test_damaged_tile_parts(void)
{
  static const struct {
    Damage damage;
    uint32_t passes[4];
  } cases[] = {
      {INTACT, {2, 1, 1, 1}}, {PSOT_TOO_LARGE, {2, 1, 1, 1}}, {PSOT_TOO_SMALL, {2, 0, 1, 1}},
      {NO_SOT, {2, 0, 1, 1}}, {PART_MISSING, {0, 1, 1, 1}},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    GByteArray *bytes = four_tiles(cases[i].damage);
    Read read = read_codestream(bytes, 0, true);

    g_assert_cmpint(read.status, ==, i == 0 ? CJ2K_OK : CJ2K_ERROR_CODESTREAM);
    read_clear(&read);
    read = read_codestream(bytes, 0, false);
    g_assert_cmpint(read.status, ==, CJ2K_OK);
    g_assert_true(read.frame->truncated == (i > 0));
    for (uint32_t t = 0; t < 4; t++)
      g_assert_cmpuint(read.frame->blocks[t].num_passes, ==, cases[i].passes[t]);
    read_clear(&read);
    g_byte_array_unref(bytes);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/packets/bits", test_bits);
  g_test_add_func("/packets/tag-tree", test_tag_tree);
  g_test_add_func("/packets/ht-segments", test_ht_segments);
  g_test_add_func("/packets/mixed-segments", test_mixed_segments);
  g_test_add_func("/packets/mq-segments", test_mq_segments);
  g_test_add_func("/packets/mq-runs", test_mq_runs);
  g_test_add_func("/packets/truncated", test_truncated);
  g_test_add_func("/packets/packed-headers", test_packed_headers);
  g_test_add_func("/packets/damaged-tile-parts", test_damaged_tile_parts);
  return g_test_run();
}
