/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packet headers of a single layer, made as a GPU makes them: minima of trees level by level, the
 * bits of each block by itself, and bit stuffing in chunks whose tables are joined in a tree. They
 * are those of the writer that goes from block to block. */
#include "common/codestream/bitwriter.h"
#include "common/codestream/header_blocks.h"
#include "common/codestream/header_stuffing.h"
#include "common/codestream/tagtree.h"
#include "common/codestream/write_single.h"
#include "common/rate/headers.h"
#include "effort.h"
#include "made-blocks.h"

#include <glib.h>
#include <string.h>

#define MAX_BANDS 3
#define TEAM      64 /* chunks whose tables are joined at a time */

/* ---------------------------------------------------------------------------- stuffing --- */

/* The states behind all chunks up to each of a team, by the one before the first. Chunks are joined
 * with those beside them first. */
static void scan_tables(uint64_t *tables, uint32_t count)
{
  uint32_t d = 1;

  for (; d < count; d *= 2)
    for (uint32_t i = 2 * d - 1; i < count; i += 2 * d)
      tables[i] = cj2k_stuff_join(tables[i - d], tables[i]);
  for (d /= 2; d > 0; d /= 2)
    for (uint32_t i = 3 * d - 1; i < count; i += 2 * d)
      tables[i] = cj2k_stuff_join(tables[i - d], tables[i]);
}

/* Stuffs up to TEAM chunks from `first` on. Changes the state from that before to that behind them.
 * Returns the number of bytes. */
static uint32_t stuff_team(const uint32_t *words, uint32_t num_bits, uint32_t first, uint32_t count,
                           uint32_t *state, uint8_t *out)
{
  uint64_t tables[TEAM] = {0}, joined[TEAM];
  uint32_t states[TEAM + 1], at[TEAM + 1] = {0};

  for (uint32_t i = 0; i < count; i++)
    tables[i] = cj2k_stuff_table(cj2k_stuff_window(words, first + i));
  memcpy(joined, tables, count * sizeof *tables);
  scan_tables(joined, count);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t window = cj2k_stuff_window(words, first + i);
    uint32_t size = cj2k_stuff_size(num_bits, first + i);
    states[i] = i ? cj2k_stuff_apply(joined[i - 1], *state) : *state;
    states[i + 1] = cj2k_stuff_behind(tables[i], window, size, states[i]);
    at[i + 1] = at[i] + cj2k_stuff_count(size, states[i], states[i + 1]);
  }
  for (uint32_t i = count; i-- > 0;) {
    uint32_t n = cj2k_stuff_write(cj2k_stuff_window(words, first + i),
                                  cj2k_stuff_size(num_bits, first + i), states[i], out + at[i]);
    g_assert_cmpuint(n, ==, at[i + 1] - at[i]);
  }
  *state = states[count];
  return at[count];
}

/* Returns the number of bytes of the header. */
static uint32_t stuff(const uint32_t *words, uint32_t num_bits, uint8_t *out)
{
  uint32_t chunks = cj2k_stuff_chunks(num_bits), state = CJ2K_STUFF_BEGIN, size = 0;

  for (uint32_t first = 0; first < chunks; first += TEAM)
    size += stuff_team(words, num_bits, first, MIN(chunks - first, TEAM), &state, out + size);
  for (uint32_t i = 0; i < cj2k_stuff_end(state); i++)
    out[size++] = 0;
  return size;
}

static void check_stuffing(const uint32_t *words, uint32_t num_bits)
{
  uint8_t out[1024];
  Cj2kByteBuffer expected = {0};
  Cj2kBitWriter bits;

  cj2k_bits_begin(&bits, &expected);
  for (uint32_t i = 0; i < num_bits; i++)
    cj2k_bits_put(&bits, words[i / 32] >> (31 - i % 32) & 1, 1);
  cj2k_bits_end(&bits);
  memset(out, 0xaa, sizeof out);
  uint32_t size = stuff(words, num_bits, out);
  g_assert_cmpmem(out, size, expected.data, expected.size);
  g_assert_cmpuint(out[size], ==, 0xaa);
  g_free(expected.data);
}

/* Headers of every size, with many bytes 0xFF, at their end, too. */
static void test_stuffing(void)
{
  Random random = {3}, *rand = &random;

  for (uint32_t num_bits = 1; num_bits <= 4500; num_bits += num_bits < 300 ? 1 : 97)
    for (uint32_t kind = 0; kind < 5; kind++) {
      uint32_t words[160] = {0}, last = (num_bits - 1) / 32;
      for (uint32_t i = 0; i <= last; i++)
        words[i] = random_word(rand, kind);
      if (num_bits % 32)
        words[last] &= ~(UINT32_MAX >> num_bits % 32);
      check_stuffing(words, num_bits);
    }
}

/* A table and counts are what the bytes of a chunk do, in every state. */
static uint64_t check_table(uint64_t window, uint32_t size)
{
  uint64_t table = cj2k_stuff_table(window);
  uint8_t out[8];

  for (uint32_t state = 0; state < CJ2K_STUFF_STATES; state++) {
    uint32_t behind = cj2k_stuff_behind(table, window, size, state);
    g_assert_cmpuint(behind, ==, cj2k_stuff_pass(window, size, state));
    g_assert_cmpuint(cj2k_stuff_count(size, state, behind), ==,
                     cj2k_stuff_write(window, size, state, out));
  }
  g_assert_true(cj2k_stuff_join(CJ2K_STUFF_SAME, table) == table);
  g_assert_true(cj2k_stuff_join(table, CJ2K_STUFF_SAME) == table);
  return table;
}

/* Joining tables is associative. */
static void test_tables(void)
{
  Random random = {4}, *rand = &random;

  for (uint32_t round = 0; round < 20000; round++) {
    uint64_t tables[3];
    for (uint32_t i = 0; i < 3; i++) {
      uint64_t window =
          (uint64_t)random_word(rand, round % 5) << 32 | random_word(rand, round / 5 % 5);
      tables[i] = check_table(window, CJ2K_STUFF_CHUNK);
      (void)check_table(window, 1 + random_below(rand, CJ2K_STUFF_CHUNK));
    }
    g_assert_true(cj2k_stuff_join(cj2k_stuff_join(tables[0], tables[1]), tables[2]) ==
                  cj2k_stuff_join(tables[0], cj2k_stuff_join(tables[1], tables[2])));
  }
}

/* ------------------------------------------------------------------------------ by hand --- */

static uint32_t bits_of(uint32_t passes, uint32_t length)
{
  const Cj2kHeaderBlock block = {.passes = passes, .first_passes = passes, .lengths = {length}};

  return cj2k_header_passes_size(&block);
}

/* Bits for a block's passes and lengths, counted by hand (T.800 B.10.6, B.10.7). */
static void test_sizes_of_passes(void)
{
  g_assert_cmpuint(bits_of(1, 7), ==, 1 + 1 + 3);
  g_assert_cmpuint(bits_of(1, 8), ==, 1 + 2 + 4); /* Lblock becomes 4 */
  g_assert_cmpuint(bits_of(1, 1000), ==, 1 + 8 + 10);
  g_assert_cmpuint(bits_of(4, 31), ==, 4 + 1 + 5); /* 3 + log2 (4) bits */
  g_assert_cmpuint(bits_of(6, 31), ==, 9 + 1 + 5);
  g_assert_cmpuint(bits_of(40, 1), ==, 16 + 1 + 8);
}

/* The same of several segments: bypass, of which two passes more were coded than retained. */
static void test_segments(void)
{
  Cj2kPassLength ends[14] = {{0}};
  Cj2kHeaderBlock block = {.ends = ends};

  for (uint32_t p = 0; p < 14; p++) {
    ends[p].length = p < 9 ? 10 : p == 9 ? 100 : 100 + 40 * (p - 9);
    ends[p].terminated = cj2k_pass_ends_segment(p, CJ2K_STYLE_BYPASS) || p == 13;
  }
  block.passes = 5; /* 10 bytes */
  g_assert_cmpuint(cj2k_header_passes_size(&block), ==, 4 + 1 + 5);
  block.passes = 10; /* 100 bytes, 7 bits with 3 for the passes: Lblock becomes 4 */
  g_assert_cmpuint(cj2k_header_passes_size(&block), ==, 9 + 2 + 7);
  block.passes = 11; /* 40 bytes more, 6 bits */
  g_assert_cmpuint(cj2k_header_passes_size(&block), ==, 9 + 4 + 9 + 6);
  block.passes = 12; /* 80 in two passes, 7 bits with 1 */
  g_assert_cmpuint(cj2k_header_passes_size(&block), ==, 9 + 4 + 9 + 7);
  block.passes = 13; /* and 40 */
  g_assert_cmpuint(cj2k_header_passes_size(&block), ==, 9 + 4 + 9 + 7 + 6);
}

/* ---------------------------------------------------------------------------- the model --- */

/* A packet as a GPU makes it. Arrays keep their memory. */
typedef struct {
  Cj2kHeaderTree trees[MAX_BANDS];
  Cj2kHeaderNode *nodes;
  uint32_t *at;   /* first bit of each block */
  uint64_t *body; /* where the bytes of each block begin */
  GArray *words;
  GByteArray *header;
  uint64_t body_size;
} Model;

static void model_init(Model *model, uint32_t blocks)
{
  *model = (Model){.nodes = g_new(Cj2kHeaderNode, 2 * (size_t)blocks + 64 * MAX_BANDS),
                   .at = g_new(uint32_t, blocks + 1),
                   .body = g_new(uint64_t, blocks + 1),
                   .words = g_array_new(FALSE, TRUE, sizeof(uint32_t)),
                   .header = g_byte_array_new()};
}

static void model_clear(Model *model)
{
  g_free(model->nodes);
  g_free(model->at);
  g_free(model->body);
  g_array_unref(model->words);
  g_byte_array_unref(model->header);
}

/* Returns the number of nodes. */
static uint32_t model_tree(const Blocks *all, const Cj2kPlanPrecinctBand *band,
                           Cj2kHeaderTree *tree, Cj2kHeaderNode *nodes)
{
  uint32_t first = band->first_block, level = 0;

  cj2k_header_tree_init(tree, band->blocks_x, band->blocks_y);
  for (uint32_t i = 0; i < band->blocks_x * band->blocks_y; i++)
    nodes[i] = cj2k_header_leaf(all->retained[first + i], i, all->blocks[first + i].zero_bitplanes);
  while (++level < tree->num_levels)
    for (uint32_t i = cj2k_header_level_nodes(tree, level); i-- > 0;)
      nodes[tree->offset[level] + i] = cj2k_header_inner(tree, nodes, level, i);
  g_assert_cmpuint(tree->offset[level - 1] + 1, ==,
                   cj2k_tag_tree_num_nodes(band->blocks_x, band->blocks_y));
  return tree->offset[level - 1] + 1;
}

static Cj2kHeaderBlock model_block(const Blocks *all, uint32_t b)
{
  const Cj2kPacketSource *source = &all->source;
  uint32_t passes = all->retained[b], first = all->blocks[b].first_pass;
  Cj2kHeaderBlock block = {
      .passes = passes, .first_passes = passes, .lengths = {all->lengths[b], 0}};

  if (source->header_bits) {
    block.words = source->header_bits + first;
  } else if (ends_of(all)) {
    block.ends = ends_of(all) + first;
  } else if (passes > 1 && all->kind == HT_PASSES) {
    block.first_passes = 1;
    block.lengths[0] = source->passes[first].length;
    block.lengths[1] = all->lengths[b] - block.lengths[0];
  }
  return block;
}

/* What is done with each block of a packet. */
typedef struct {
  const Cj2kHeaderTree *tree;
  const Cj2kHeaderNode *nodes;
  uint32_t x, y, b;
} Leaf;

/* Calls a function for all blocks, the last one first if `back`. */
static void each_block(const Model *model, const Cj2kPlanPrecinctBand *bands, uint32_t num_bands,
                       const Blocks *all, bool back,
                       void (*call)(const Model *, const Blocks *, const Leaf *))
{
  const Cj2kHeaderNode *nodes[MAX_BANDS], *next = model->nodes;

  for (uint32_t i = 0; i < num_bands; i++) {
    nodes[i] = next;
    next += cj2k_tag_tree_num_nodes(bands[i].blocks_x, bands[i].blocks_y);
  }
  for (uint32_t i = 0; i < num_bands; i++) {
    uint32_t band = back ? num_bands - 1 - i : i, width = bands[band].blocks_x;
    for (uint32_t j = 0, count = width * bands[band].blocks_y; j < count; j++) {
      uint32_t k = back ? count - 1 - j : j;
      const Leaf leaf = {&model->trees[band], nodes[band], k % width, k / width,
                         bands[band].first_block + k};
      call(model, all, &leaf);
    }
  }
}

static void size_block(const Model *model, const Blocks *all, const Leaf *leaf)
{
  Cj2kHeaderTrees trees = cj2k_header_trees(leaf->tree, leaf->nodes, leaf->x, leaf->y);
  Cj2kHeaderBlock block = model_block(all, leaf->b);

  model->at[leaf->b] = cj2k_header_block_size(&trees, &block);
}

static void put_block(const Model *model, const Blocks *all, const Leaf *leaf)
{
  Cj2kHeaderBlock block = model_block(all, leaf->b);

  cj2k_header_put_block(leaf->tree, leaf->nodes, leaf->x, leaf->y, &block,
                        &g_array_index(model->words, uint32_t, 0), model->at[leaf->b]);
}

/* Sums over the blocks of a packet, which follow each other. Returns the bits of the header. */
static uint32_t model_sums(Model *model, const Blocks *all, uint32_t first, uint32_t count)
{
  uint32_t bits = 1; /* the packet is not empty */

  model->body_size = 0;
  for (uint32_t b = first; b < first + count; b++) {
    uint32_t size = model->at[b];
    model->at[b] = bits;
    model->body[b] = model->body_size;
    bits += size;
    model->body_size += all->lengths[b];
  }
  return bits;
}

static void model_packet(Model *model, const Blocks *all, const Cj2kPlanPrecinctBand *bands,
                         uint32_t num_bands)
{
  Cj2kHeaderNode *nodes = model->nodes;
  uint32_t count = 0, bits = 1;
  bool is_empty = true;

  for (uint32_t i = 0; i < num_bands; i++) {
    if (!bands[i].blocks_x || !bands[i].blocks_y)
      continue;
    count += bands[i].blocks_x * bands[i].blocks_y;
    nodes += model_tree(all, &bands[i], &model->trees[i], nodes);
    /* the root. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    is_empty &= nodes[-1].first == CJ2K_HEADER_NONE;
  }
  model->body_size = 0;
  if (!is_empty) {
    each_block(model, bands, num_bands, all, false, size_block);
    bits = model_sums(model, all, bands[0].first_block, count);
  }
  g_array_set_size(model->words, 0);
  g_array_set_size(model->words, cj2k_stuff_chunks(bits) + 1); /* zeros */
  if (!is_empty) {
    g_array_index(model->words, uint32_t, 0) = 1u << 31;
    each_block(model, bands, num_bands, all, true, put_block);
  }
  g_byte_array_set_size(model->header, bits / 7 + 2);
  uint32_t size = stuff(&g_array_index(model->words, uint32_t, 0), bits, model->header->data);
  g_byte_array_set_size(model->header, size);
}

/* --------------------------------------------------------------------------- the writer --- */

/* A packet as write_packets.c makes it from cj2k_single_write(). */
typedef struct {
  Cj2kByteBuffer plain, header;
  uint8_t *nodes;
  uint64_t *starts;
  uint64_t body_size;
} Expected;

static void expected_init(Expected *expected, uint32_t blocks)
{
  memset(expected, 0, sizeof *expected);
  expected->nodes = g_new0(uint8_t, 2 * (size_t)blocks + 64 * MAX_BANDS);
  expected->starts = g_new0(uint64_t, blocks + 1);
}

static void expected_clear(Expected *expected)
{
  g_free(expected->plain.data);
  g_free(expected->header.data);
  g_free(expected->nodes);
  g_free(expected->starts);
}

/* Appends what a band has in the header. */
static void expect_band(Expected *expected, const Blocks *all, const Cj2kPlanPrecinctBand *band,
                        uint8_t style, Cj2kBitWriter *bits)
{
  const Cj2kSingleLayer single = {&all->source, expected->nodes, expected->starts};
  uint64_t body = 0, num_bits;
  Cj2kPlainBits plain;

  expected->plain.size = 0;
  cj2k_plain_begin(&plain, &expected->plain);
  if (!cj2k_single_write(&single, band, style, &plain, &body))
    cj2k_plain_put(&plain, 0, 1);
  num_bits = cj2k_plain_end(&plain);
  cj2k_bits_put_plain(bits, expected->plain.data, num_bits);
  for (uint32_t i = 0; i < band->blocks_x * band->blocks_y; i++)
    if (all->retained[band->first_block + i])
      expected->starts[band->first_block + i] += expected->body_size;
  expected->body_size += body;
}

static void expect_packet(Expected *expected, const Blocks *all, const Cj2kPlanPrecinctBand *bands,
                          uint32_t num_bands, uint8_t style)
{
  bool is_empty = true;
  Cj2kBitWriter bits;

  for (uint32_t b = 0; b < all->num_blocks; b++)
    is_empty &= !all->retained[b];
  expected->header.size = 0;
  expected->body_size = 0;
  cj2k_bits_begin(&bits, &expected->header);
  cj2k_bits_put(&bits, !is_empty, 1);
  for (uint32_t i = 0; i < num_bands && !is_empty; i++)
    if (bands[i].blocks_x)
      expect_band(expected, all, &bands[i], style, &bits);
  cj2k_bits_end(&bits);
}

/* ---------------------------------------------------------------------------- comparison --- */

#define MAX_SIDE 70

static void compare_packet(Model *model, Expected *expected, const Blocks *all,
                           const Cj2kPlanPrecinctBand *bands, uint32_t num_bands, uint8_t style)
{
  model_packet(model, all, bands, num_bands);
  expect_packet(expected, all, bands, num_bands, style);
  g_assert_cmpmem(model->header->data, model->header->len, expected->header.data,
                  expected->header.size);
  g_assert_cmpuint(model->body_size, ==, expected->body_size);
  for (uint32_t b = 0; b < all->num_blocks; b++)
    if (all->retained[b])
      g_assert_cmpuint(model->body[b], ==, expected->starts[b]);
}

/* Bands of a precinct; the first one has width x height blocks, the others about as many or none.
 * Returns how many bands there are. */
static uint32_t draw_bands(Random *rand, uint32_t width, uint32_t height,
                           Cj2kPlanPrecinctBand bands[MAX_BANDS], uint32_t *num_blocks)
{
  uint32_t num_bands = random_below(rand, 2) ? MAX_BANDS : 1 + random_below(rand, MAX_BANDS);
  uint32_t block = 0, node = 0;

  for (uint32_t i = 0; i < num_bands; i++) {
    uint32_t w = i ? MIN(width + random_below(rand, 2), MAX_SIDE) : width;
    uint32_t h = i ? MAX(height - random_below(rand, 2), 1) : height;
    if (i && !random_below(rand, 8))
      w = h = 0;
    bands[i] = (Cj2kPlanPrecinctBand){block, w, h, node};
    block += w * h;
    node += (uint32_t)cj2k_tag_tree_num_nodes(w, h);
  }
  *num_blocks = block;
  return num_bands;
}

/* Every size of a band, with other blocks in each round. */
static void test_sizes(void)
{
  uint32_t most = MAX_BANDS * MAX_SIDE * MAX_SIDE, rounds = test_is_long() ? 40 : 1;
  Random random = {5}, *rand = &random;
  Expected expected;
  Blocks all;
  Model model;

  blocks_init(&all, most);
  model_init(&model, most);
  expected_init(&expected, most);
  for (uint32_t i = 0; i < rounds * MAX_SIDE * MAX_SIDE; i++) {
    Cj2kPlanPrecinctBand bands[MAX_BANDS];
    uint32_t size = i % (MAX_SIDE * MAX_SIDE), repeats = size % MAX_SIDE < 12 ? 4 : 1, count;
    for (uint32_t r = 0; r < repeats; r++) {
      uint32_t n = draw_bands(rand, size % MAX_SIDE + 1, size / MAX_SIDE + 1, bands, &count);
      Draw draw = random_draw(rand, i / 3 + r);
      draw_blocks(&all, rand, &draw, count);
      compare_packet(&model, &expected, &all, bands, n, made_styles[draw.kind]);
    }
  }
  model_clear(&model);
  blocks_clear(&all);
  expected_clear(&expected);
}

/* All packets of plans, as the packet writer makes them. */
static void test_plans(void)
{
  Random random = {6}, *rand = &random;

  for (uint32_t round = 0; round < 400; round++) {
    Draw draw = random_draw(rand, round);
    Cj2kPlan *plan = random_plan(rand, draw.kind);
    Cj2kPacketWriter *writer = cj2k_packet_writer_new(plan, 1);
    Blocks all;
    Model model;
    blocks_init(&all, plan->num_blocks);
    model_init(&model, plan->num_blocks);
    draw_blocks(&all, rand, &draw, plan->num_blocks);
    const Cj2kWrittenPacket *packets = cj2k_packets_prepare(writer, &all.source, NULL);
    for (uint32_t p = 0; p < plan->num_precincts; p++) {
      model_packet(&model, &all, plan->precincts[p].band, bands_of(plan, p));
      g_assert_cmpmem(model.header->data, model.header->len, packets[p].header,
                      packets[p].header_size);
      g_assert_cmpuint(model.body_size, ==, packets[p].body_size);
    }
    model_clear(&model);
    blocks_clear(&all);
    cj2k_packet_writer_free(writer);
    cj2k_plan_unref(plan);
  }
}

/* Sums over all rounds: bytes of lengths beyond one each, and those that are not known exactly. */
static uint64_t lengths_counted, lengths_open;

/* What lengths in PLT add to the bytes that are counted without, exactly but for packets whose
 * headers, which are counted with an error of a fifteenth and two bytes, may make the difference.
 */
static void check_lengths(const Cj2kHeaderSource *source, const Cj2kWrittenPacket *packets,
                          uint64_t without, uint8_t *nodes)
{
  uint64_t least = 0, most = 0;
  Cj2kHeaderSource with = *source;

  with.plt = true;
  with.markers = without % 3 * 4;
  for (uint32_t p = 0; p < source->plan->num_precincts; p++) {
    uint64_t header = packets[p].header_size, body = packets[p].body_size;
    uint64_t error = body ? header / 15 + 2 : 0;
    least += cj2k_length_entry_more(header - MIN(error, header), body, with.markers);
    most += cj2k_length_entry_more(header + error, body, with.markers);
  }
  uint64_t more = cj2k_headers_count(&with, nodes) - without;
  g_assert_cmpuint(more, >=, least);
  g_assert_cmpuint(more, <=, most);
  lengths_counted += more;
  lengths_open += most - least;
}

/* The bytes that rate control counts, but for those that are stuffed in: one of 16 at most. */
static void test_counts(void)
{
  static const Kind kinds[] = {ONE_PASS, MQ_PASSES, BYPASS_PASSES, TERMALL_PASSES};
  Random random = {7}, *rand = &random;

  for (uint32_t round = 0; round < 400; round++) {
    Draw draw = random_draw(rand, round);
    draw.kind = kinds[round % G_N_ELEMENTS(kinds)];
    Cj2kPlan *plan = random_plan(rand, draw.kind);
    Cj2kPacketWriter *writer = cj2k_packet_writer_new(plan, 1);
    uint8_t *nodes = g_malloc(plan->num_blocks + 1);
    uint64_t written = 0;
    Blocks all;
    blocks_init(&all, plan->num_blocks);
    draw_blocks(&all, rand, &draw, plan->num_blocks);
    const Cj2kWrittenPacket *packets = cj2k_packets_prepare(writer, &all.source, NULL);
    for (uint32_t p = 0; p < plan->num_precincts; p++)
      written += packets[p].header_size - 1;
    Cj2kHeaderSource source = {plan, all.blocks, all.retained, all.lengths, ends_of(&all)};
    uint64_t counted = cj2k_headers_count(&source, nodes);
    check_lengths(&source, packets, counted, nodes);
    g_assert_cmpuint(written + counted / 256 + plan->num_precincts, >=, counted);
    g_assert_cmpuint(written, <=, counted + counted / 15 + 2 * plan->num_precincts);
    g_free(nodes);
    blocks_clear(&all);
    cj2k_packet_writer_free(writer);
    cj2k_plan_unref(plan);
  }
  g_test_message("%" G_GUINT64_FORMAT " bytes of lengths, %" G_GUINT64_FORMAT " open",
                 lengths_counted, lengths_open);
  g_assert_cmpuint(20 * lengths_open, <, lengths_counted);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/header-blocks/stuffing", test_stuffing);
  g_test_add_func("/header-blocks/tables", test_tables);
  g_test_add_func("/header-blocks/sizes-of-passes", test_sizes_of_passes);
  g_test_add_func("/header-blocks/segments", test_segments);
  g_test_add_func("/header-blocks/sizes", test_sizes);
  g_test_add_func("/header-blocks/plans", test_plans);
  g_test_add_func("/header-blocks/counts", test_counts);
  return g_test_run();
}
