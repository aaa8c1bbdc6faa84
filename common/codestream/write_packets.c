/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_packets.h"

#include "bitwriter.h"
#include "tagtree.h"

#include <string.h>

#define MAX_BANDS  3      /* most bands of a precinct */
#define NEVER      0xffff /* inclusion value of a block that is in no layer */
#define CACHE_LINE 64
#define PREFETCHED (4 * CACHE_LINE) /* bytes of a block */

/* A tag-tree node while it is being sent. */
typedef struct {
  uint16_t value; /* smallest value of the leaves below */
  uint16_t low;   /* the reader knows that the value is at least this */
  uint16_t known; /* the reader knows that it is `low` */
} Node;

/* The contribution of a band of a precinct to a packet. */
typedef struct {
  const uint8_t *bits; /* of the header, before bits are stuffed in */
  uint64_t num_bits;   /* 0: the packet is empty, or the band */
  uint64_t body_size;
} Part;

/* Neighbouring parts or precincts that form one task, and the bytes that it writes. */
typedef struct {
  uint32_t first, count;
  Cj2kByteBuffer bytes;
} Chunk;

struct Cj2kPacketWriter {
  Cj2kPlan *plan;
  uint16_t num_layers;
  Node *inclusion, *zero_bitplanes; /* plan->num_nodes each */
  uint8_t *lblock;                  /* per block */
  Cj2kWrittenPacket *packets;
  uint64_t *starts;        /* [layer][block]: where the block begins in the packet's body */
  uint8_t *precinct_bands; /* bands of each precinct: 1 or 3 */
  Part *parts;             /* [precinct][MAX_BANDS][layer] */
  GArray *part_chunks, *precinct_chunks; /* Chunk */
  const Cj2kPacketSource *source;        /* of the running prepare */
  /* of cj2k_packets_prepare_some: */
  Chunk *some_parts, *some_packets; /* by place in the list; NULL: not used yet */
  uint32_t some_capacity;
  const uint32_t *some; /* precincts of the running prepare */
};

static uint32_t precinct_blocks(const Cj2kPlanPrecinct *precinct, uint32_t num_bands)
{
  uint32_t n = 0;
  for (uint32_t b = 0; b < num_bands; b++)
    n += precinct->band[b].blocks_x * precinct->band[b].blocks_y;
  return n;
}

/* Blocks of a task: few enough to occupy all threads, enough to be worth a task. Joining the parts
 * is much less work than writing them. */
#define PART_CHUNK     512
#define PRECINCT_CHUNK 4096

/* Divides all parts, of which each precinct has `parts` (1 or MAX_BANDS), into chunks of about
 * `weight_limit` code-blocks. */
static GArray *make_chunks(const Cj2kPacketWriter *writer, uint32_t parts, uint32_t weight_limit)
{
  GArray *chunks = g_array_new(FALSE, TRUE, sizeof(Chunk));
  uint32_t weight = 0, end = writer->plan->num_precincts * parts;
  Chunk chunk = {0};

  for (uint32_t i = 0; i < end; i++) {
    const Cj2kPlanPrecinct *precinct = &writer->plan->precincts[i / parts];
    const Cj2kPlanPrecinctBand *band = &precinct->band[i % parts];
    uint32_t num_bands = writer->precinct_bands[i / parts];
    weight +=
        8 + (parts == 1 ? precinct_blocks(precinct, num_bands) : band->blocks_x * band->blocks_y);
    chunk.count++;
    if (weight >= weight_limit || i + 1 == end) {
      g_array_append_val(chunks, chunk);
      chunk = (Chunk){.first = i + 1};
      weight = 0;
    }
  }
  return chunks;
}

static void free_chunks(GArray *chunks)
{
  for (guint i = 0; i < chunks->len; i++)
    g_free(g_array_index(chunks, Chunk, i).bytes.data);
  g_array_unref(chunks);
}

Cj2kPacketWriter *cj2k_packet_writer_new(Cj2kPlan *plan, uint16_t num_layers)
{
  Cj2kPacketWriter *writer = g_new0(Cj2kPacketWriter, 1);

  writer->plan = cj2k_plan_ref(plan);
  writer->num_layers = num_layers;
  writer->inclusion = g_new(Node, plan->num_nodes + 1);
  writer->zero_bitplanes = g_new(Node, plan->num_nodes + 1);
  writer->lblock = g_new(uint8_t, (size_t)plan->num_blocks + 1);
  writer->packets = g_new0(Cj2kWrittenPacket, (size_t)plan->num_precincts * num_layers + 1);
  writer->starts = g_new0(uint64_t, (size_t)plan->num_blocks * num_layers + 1);
  writer->precinct_bands = g_new0(uint8_t, (size_t)plan->num_precincts + 1);
  for (uint32_t r = 0; r < plan->num_resolutions; r++) {
    const Cj2kPlanResolution *resolution = &plan->resolutions[r];
    size_t n = (size_t)resolution->precincts_x * resolution->precincts_y;
    memset(writer->precinct_bands + resolution->first_precinct, resolution->num_bands, n);
  }
  writer->parts = g_new0(Part, (size_t)plan->num_precincts * MAX_BANDS * num_layers + 1);
  writer->part_chunks = make_chunks(writer, MAX_BANDS, PART_CHUNK);
  writer->precinct_chunks = make_chunks(writer, 1, PRECINCT_CHUNK);
  return writer;
}

void cj2k_packet_writer_free(Cj2kPacketWriter *writer)
{
  if (!writer)
    return;
  free_chunks(writer->part_chunks);
  free_chunks(writer->precinct_chunks);
  for (uint32_t i = 0; i < writer->some_capacity; i++) {
    g_free(writer->some_parts[i].bytes.data);
    g_free(writer->some_packets[i].bytes.data);
  }
  g_free(writer->some_parts);
  g_free(writer->some_packets);
  g_free(writer->parts);
  g_free(writer->precinct_bands);
  g_free(writer->packets);
  g_free(writer->starts);
  g_free(writer->lblock);
  g_free(writer->zero_bitplanes);
  g_free(writer->inclusion);
  cj2k_plan_unref(writer->plan);
  g_free(writer);
}

/* Passes of block b in layers 0..layer together. */
static inline uint8_t retained_passes(const Cj2kPlan *plan, const Cj2kPacketSource *source,
                                      uint32_t b, uint32_t layer)
{
  return source->retained[(size_t)layer * plan->num_blocks + b];
}

/* Bytes of block b's first `passes` passes. */
static inline uint32_t retained_bytes(const Cj2kPacketSource *source, uint32_t b, uint32_t passes)
{
  return passes ? source->passes[source->blocks[b].first_pass + passes - 1].length : 0;
}

/* Bytes that block b has in a layer, which keeps passes [before, after) of it. */
static inline uint32_t layer_bytes(const Cj2kPacketSource *source, uint32_t b, uint32_t before,
                                   uint32_t after)
{
  if (source->lengths)
    return source->lengths[b];
  return retained_bytes(source, b, after) - retained_bytes(source, b, before);
}

/* Fills each inner node with the smallest value below it, and marks all nodes as not sent. */
static void build_tree(const Cj2kTagTree *tree, Node *nodes)
{
  for (uint32_t level = 1; level < tree->num_levels; level++) {
    Node *above = nodes + tree->offset[level];
    const Node *below = nodes + tree->offset[level - 1];
    uint32_t below_width = tree->width[level - 1];
    /* no level is empty. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    uint32_t below_height = (tree->offset[level] - tree->offset[level - 1]) / below_width;
    for (uint32_t y = 0; y < (below_height + 1) / 2; y++)
      for (uint32_t x = 0; x < tree->width[level]; x++) {
        uint32_t x2 = MIN(2 * x + 1, below_width - 1), y2 = MIN(2 * y + 1, below_height - 1);
        const Node *row = below + (size_t)2 * y * below_width,
                   *row2 = below + (size_t)y2 * below_width;
        uint16_t least =
            MIN(MIN(row[2 * x].value, row[x2].value), MIN(row2[2 * x].value, row2[x2].value));
        above[(size_t)y * tree->width[level] + x] = (Node){.value = least};
      }
  }
}

/* Sends a node that needs bits; the reader knows that its value is at least `low`. */
static inline void send_node(Node *node, uint32_t low, uint32_t threshold, Cj2kPlainBits *bits)
{
  low = MAX(low, node->low);
  uint32_t end = MIN(node->value, threshold), zeros = end > low ? end - low : 0;
  low += zeros;
  for (; zeros > 30; zeros -= 30)
    cj2k_plain_put(bits, 0, 30);
  node->known = low < threshold;
  cj2k_plain_put(bits, node->known, zeros + node->known);
  node->low = (uint16_t)low;
}

/* Tells the reader whether the value of leaf (x, y)'s ancestor at a level is below threshold
 * (B.10.2), or how far up it is. A node that needs no bits has none above it that does. */
static uint32_t send_level(const Cj2kTagTree *tree, Node *nodes, uint32_t level, uint32_t x,
                           uint32_t y, uint32_t threshold, Cj2kPlainBits *bits)
{
  if (level == tree->num_levels)
    return 0;
  Node *node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
  if (!node->known && node->low < threshold)
    send_node(node, send_level(tree, nodes, level + 1, x, y, threshold, bits), threshold, bits);
  return node->low;
}

/* The same for the leaf itself; its parent mostly needs no bits. */
static inline void send_tree(const Cj2kTagTree *tree, Node *nodes, uint32_t x, uint32_t y,
                             uint32_t threshold, Cj2kPlainBits *bits)
{
  Node *leaf = &nodes[y * tree->width[0] + x];

  if (leaf->known || leaf->low >= threshold)
    return;
  uint32_t low = 0;
  if (tree->num_levels > 1) {
    const Node *parent = &nodes[cj2k_tag_tree_node(tree, 1, x, y)];
    low = parent->known || parent->low >= threshold
              ? parent->low
              : send_level(tree, nodes, 1, x, y, threshold, bits);
  }
  send_node(leaf, low, threshold, bits);
}

/* Codewords for the number of passes (table B.4). */
static void send_num_passes(Cj2kPlainBits *bits, uint32_t n)
{
  if (n == 1)
    cj2k_plain_put(bits, 0, 1);
  else if (n == 2)
    cj2k_plain_put(bits, 2, 2);
  else if (n <= 5)
    cj2k_plain_put(bits, 0xc | (n - 3), 4);
  else if (n <= 36)
    cj2k_plain_put(bits, 0x1e0 | (n - 6), 9);
  else
    cj2k_plain_put(bits, 0xff80 | (n - 37), 16);
}

static inline uint32_t floor_log2(uint32_t n)
{
  return 31u - (uint32_t)__builtin_clz(n);
}

/* Style bits with which a segment may end before a block's last pass. */
#define STYLE_ENDS (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL | CJ2K_STYLE_HT)

/* Bits that lengths need above floor_log2 of their passes. */
static inline uint32_t length_bits(uint32_t length, uint32_t passes, uint32_t lblock)
{
  uint32_t size = length ? floor_log2(length) + 1 : 0, saved = floor_log2(passes);
  return size > lblock + saved ? size - saved : lblock;
}

/* Passes from one on, up to where a segment ends or the last, share one length (B.10.7.2). With
 * bypass alone it is known where that is: behind the tenth pass, then behind each refinement and
 * each cleanup pass (table D.9). */
static inline uint32_t run_end(const Cj2kPassLength *passes, uint32_t from, uint32_t to,
                               bool bypass)
{
  uint32_t end = from + 1;

  if (bypass)
    return MIN(from < 10 ? 10 : end + ((from - 10) % 3 == 0), to);
  while (end < to && !passes[end - 1].terminated)
    end++;
  return end;
}

/* Lblock's increment and the lengths of passes [from, to). */
static void send_lengths(Cj2kPlainBits *out, const Cj2kPacketSource *source, uint32_t b,
                         uint32_t from, uint32_t to, bool bypass, uint8_t *lblock)
{
  const Cj2kPassLength *passes = source->passes + source->blocks[b].first_pass;
  uint32_t begin = retained_bytes(source, b, from), all = 0, n = 0;
  Cj2kPlainBits bits = *out; /* in registers */
  struct {
    uint32_t length, passes_log2;
  } runs[CJ2K_MAX_PASSES];

  for (uint32_t first = from, end; first < to; first = end, n++) {
    end = run_end(passes, first, to, bypass);
    runs[n].length = passes[end - 1].length - begin;
    runs[n].passes_log2 = floor_log2(end - first);
    all |= runs[n].length >> runs[n].passes_log2;
    begin = passes[end - 1].length;
  }
  uint32_t needed = length_bits(all, 1, *lblock);
  cj2k_plain_put_ones(&bits, needed - *lblock);
  *lblock = (uint8_t)needed;
  for (uint32_t i = 0; i < n; i++)
    cj2k_plain_put(&bits, runs[i].length, needed + runs[i].passes_log2);
  *out = bits;
}

/* The same if all passes share one length. */
static inline void send_length(Cj2kPlainBits *bits, uint32_t length, uint32_t passes,
                               uint8_t *lblock)
{
  uint32_t needed = length_bits(length, passes, *lblock);

  cj2k_plain_put_ones(bits, needed - *lblock);
  *lblock = (uint8_t)needed;
  cj2k_plain_put(bits, length, needed + floor_log2(passes));
}

/* Sets the leaves of both trees of one precinct and band. */
static void set_leaves(Cj2kPacketWriter *writer, const Cj2kPlanPrecinctBand *band,
                       const Cj2kTagTree *tree)
{
  const Cj2kPacketSource *source = writer->source;
  Node *inclusion = writer->inclusion + band->first_node;
  Node *zero_bitplanes = writer->zero_bitplanes + band->first_node;

  for (uint32_t i = 0; i < band->blocks_x * band->blocks_y; i++) {
    uint32_t b = band->first_block + i;
    uint16_t layer = 0;
    while (layer < source->num_layers && !retained_passes(writer->plan, source, b, layer))
      layer++;
    bool never = layer == source->num_layers;
    inclusion[i] = (Node){.value = never ? NEVER : layer};
    /* A block that is in no layer must not affect the minimum of those that are. */
    zero_bitplanes[i] = (Node){.value = never ? NEVER : source->blocks[b].zero_bitplanes};
  }
  build_tree(tree, inclusion);
  build_tree(tree, zero_bitplanes);
  memset(writer->lblock + band->first_block, 3, (size_t)band->blocks_x * band->blocks_y);
}

#define AHEAD 8 /* blocks whose passes or bytes are prefetched */

/* The blocks of one precinct and band in one layer (B.10.8); adds their bytes to *body. */
static void send_band(Cj2kPacketWriter *writer, const Cj2kPlanPrecinctBand *band,
                      const Cj2kTagTree *tree, uint32_t layer, Cj2kPlainBits *bits, uint64_t *body)
{
  const Cj2kPacketSource *source = writer->source;
  const Cj2kPlan *plan = writer->plan;
  uint64_t *starts = writer->starts + (size_t)layer * plan->num_blocks;
  uint32_t b = band->first_block, size = band->blocks_x * band->blocks_y;
  uint32_t style = size ? plan->bands[plan->blocks[b].band].block_style & STYLE_ENDS : 0;
  uint32_t last = b + size - 1;
  bool ends = style, bypass = style == CJ2K_STYLE_BYPASS;

  for (uint32_t y = 0; y < band->blocks_y; y++)
    for (uint32_t x = 0; x < band->blocks_x; x++, b++) {
      starts[b] = *body;
      if (ends) /* blocks have theirs anywhere */
        __builtin_prefetch(source->passes + source->blocks[MIN(b + AHEAD, last)].first_pass);
      uint32_t before = layer ? retained_passes(writer->plan, source, b, layer - 1) : 0;
      uint32_t after = retained_passes(writer->plan, source, b, layer);
      if (before)
        cj2k_plain_put(bits, after > before, 1);
      else
        send_tree(tree, writer->inclusion + band->first_node, x, y, layer + 1, bits);
      if (after == before)
        continue;
      if (!before)
        send_tree(tree, writer->zero_bitplanes + band->first_node, x, y,
                  source->blocks[b].zero_bitplanes + 1u, bits);
      send_num_passes(bits, after - before);
      uint32_t length = layer_bytes(source, b, before, after);
      if (ends && after - before > 1)
        send_lengths(bits, source, b, before, after, bypass, &writer->lblock[b]);
      else
        send_length(bits, length, after - before, &writer->lblock[b]);
      *body += length;
    }
}

/* --- packets of a single layer --- */

/*
 * With one layer, inclusion values are 0 or NEVER and thresholds 1, and zero bit-planes are sent
 * completely as soon as their leaf is, so that it is known when a node is sent:
 * - a node of the inclusion tree before the first leaf below it in raster order, which is its top
 *   left one, unless an ancestor is NEVER;
 * - a node of the other tree before the first leaf below it that is included. `known` marks it.
 */

/* Sets the leaves of both trees of a band. Returns the number of blocks in the layer. */
static uint32_t set_single_leaves(Cj2kPacketWriter *writer, const Cj2kPlanPrecinctBand *band,
                                  const Cj2kTagTree *tree)
{
  const Cj2kPacketSource *source = writer->source;
  const Cj2kEncodedBlock *blocks = source->blocks + band->first_block;
  const uint8_t *retained = source->retained + band->first_block;
  Node *inclusion = writer->inclusion + band->first_node;
  Node *zero_bitplanes = writer->zero_bitplanes + band->first_node;
  uint32_t size = band->blocks_x * band->blocks_y, count = 0;

  for (uint32_t i = 0; i < size; i++) {
    count += retained[i] > 0;
    inclusion[i].value = retained[i] ? 0 : NEVER;
    zero_bitplanes[i] = (Node){.value = retained[i] ? blocks[i].zero_bitplanes : NEVER};
  }
  if (count)
    build_tree(tree, zero_bitplanes);
  if (count && count < size) /* else all nodes are 0 */
    build_tree(tree, inclusion);
  return count;
}

/* Sends which of leaf (x, y) and its ancestors have blocks in the layer. */
static inline void send_inclusion(const Cj2kTagTree *tree, const Node *nodes, uint32_t x,
                                  uint32_t y, bool whole, Cj2kPlainBits *bits)
{
  uint32_t root = tree->num_levels - 1;
  uint32_t top = x | y ? MIN((uint32_t)__builtin_ctz(x | y), root) : root;

  if (whole) {
    cj2k_plain_put(bits, (2u << top) - 1, top + 1);
    return;
  }
  if (top < root && nodes[cj2k_tag_tree_node(tree, top + 1, x, y)].value)
    return;
  for (uint32_t level = top + 1; level-- > 0;) {
    bool is_in = nodes[cj2k_tag_tree_node(tree, level, x, y)].value == 0;
    cj2k_plain_put(bits, is_in, 1);
    if (!is_in)
      return;
  }
}

/* Sends the zero bit-planes of leaf (x, y), which is in the layer. */
static inline void send_zero_bitplanes(const Cj2kTagTree *tree, Node *nodes, uint32_t x, uint32_t y,
                                       Cj2kPlainBits *bits)
{
  uint32_t level = 1, known = 0;

  for (; level < tree->num_levels; level++) {
    const Node *node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
    if (node->known) {
      known = node->value;
      break;
    }
  }
  while (level-- > 0) {
    Node *node = &nodes[cj2k_tag_tree_node(tree, level, x, y)];
    uint32_t zeros = node->value - known;
    for (; zeros > 30; zeros -= 30)
      cj2k_plain_put(bits, 0, 30);
    cj2k_plain_put(bits, 1, zeros + 1);
    known = node->value;
    node->known = 1;
  }
}

/* Sends the blocks of one precinct and band; returns their bytes. `whole`: all are in the layer. */
static uint64_t send_single_band(Cj2kPacketWriter *writer, const Cj2kPlanPrecinctBand *band,
                                 const Cj2kTagTree *tree, bool whole, Cj2kPlainBits *out)
{
  const Cj2kPacketSource *source = writer->source;
  const Node *inclusion = writer->inclusion + band->first_node;
  Node *zero_bitplanes = writer->zero_bitplanes + band->first_node;
  uint32_t b = band->first_block, last = b + band->blocks_x * band->blocks_y - 1;
  uint32_t style = writer->plan->bands[writer->plan->blocks[b].band].block_style & STYLE_ENDS;
  bool ends = style, bypass = style == CJ2K_STYLE_BYPASS;
  Cj2kPlainBits bits = *out; /* in registers */
  uint64_t body = 0;

  for (uint32_t y = 0; y < band->blocks_y; y++)
    for (uint32_t x = 0; x < band->blocks_x; x++, b++) {
      uint32_t passes = source->retained[b];
      uint8_t lblock = 3;
      if (ends) /* blocks have theirs anywhere */
        __builtin_prefetch(source->passes + source->blocks[MIN(b + AHEAD, last)].first_pass);
      writer->starts[b] = body;
      send_inclusion(tree, inclusion, x, y, whole, &bits);
      if (!passes)
        continue;
      send_zero_bitplanes(tree, zero_bitplanes, x, y, &bits);
      send_num_passes(&bits, passes);
      uint32_t length = layer_bytes(source, b, 0, passes);
      if (ends && passes > 1)
        send_lengths(&bits, source, b, 0, passes, bypass, &lblock);
      else
        send_length(&bits, length, passes, &lblock);
      body += length;
    }
  *out = bits;
  return body;
}

static bool layer_is_empty(const Cj2kPacketWriter *writer, const Cj2kPlanPrecinct *precinct,
                           uint32_t num_bands, uint32_t layer)
{
  for (uint32_t i = 0; i < num_bands; i++) {
    const Cj2kPlanPrecinctBand *band = &precinct->band[i];
    for (uint32_t b = band->first_block; b < band->first_block + band->blocks_x * band->blocks_y;
         b++) {
      uint32_t before = layer ? retained_passes(writer->plan, writer->source, b, layer - 1) : 0;
      if (retained_passes(writer->plan, writer->source, b, layer) > before)
        return false;
    }
  }
  return true;
}

/* Writes the contribution of a band to the packet of the only layer. */
static void write_single_part(Cj2kPacketWriter *writer, const Cj2kPlanPrecinct *precinct,
                              uint32_t num_bands, const Cj2kPlanPrecinctBand *band, Part *part,
                              Cj2kByteBuffer *out)
{
  Cj2kTagTree tree;
  Cj2kPlainBits bits;

  part->num_bits = part->body_size = 0;
  if (!band->blocks_x || !band->blocks_y)
    return;
  cj2k_tag_tree_init(&tree, band->blocks_x, band->blocks_y);
  uint32_t count = set_single_leaves(writer, band, &tree);
  cj2k_plain_begin(&bits, out);
  if (count)
    part->body_size =
        send_single_band(writer, band, &tree, count == band->blocks_x * band->blocks_y, &bits);
  else if (!layer_is_empty(writer, precinct, num_bands, 0)) /* the root of the inclusion tree */
    cj2k_plain_put(&bits, 0, 1);
  part->num_bits = cj2k_plain_end(&bits);
}

/* Writes the contribution of one band of a precinct to all its packets. */
static void write_part(Cj2kPacketWriter *writer, uint32_t index, Cj2kByteBuffer *out)
{
  uint32_t p = index / MAX_BANDS, num_bands = writer->precinct_bands[p];
  const Cj2kPlanPrecinct *precinct = &writer->plan->precincts[p];
  const Cj2kPlanPrecinctBand *band = &precinct->band[index % MAX_BANDS];
  Part *part = writer->parts + (size_t)index * writer->num_layers;
  Cj2kTagTree tree;

  if (index % MAX_BANDS >= num_bands)
    return;
  if (writer->source->num_layers == 1) {
    write_single_part(writer, precinct, num_bands, band, part, out);
    return;
  }
  cj2k_tag_tree_init(&tree, band->blocks_x, band->blocks_y);
  set_leaves(writer, band, &tree);
  for (uint32_t layer = 0; layer < writer->source->num_layers; layer++, part++) {
    part->num_bits = part->body_size = 0;
    if (layer_is_empty(writer, precinct, num_bands, layer))
      continue;
    Cj2kPlainBits bits;
    cj2k_plain_begin(&bits, out);
    send_band(writer, band, &tree, layer, &bits, &part->body_size);
    part->num_bits = cj2k_plain_end(&bits);
  }
}

static void write_chunk(Cj2kPacketWriter *writer, Chunk *chunk)
{
  uint32_t layers = writer->source->num_layers;

  chunk->bytes.size = 0;
  for (uint32_t i = chunk->first; i < chunk->first + chunk->count; i++)
    write_part(writer, i, &chunk->bytes);

  const uint8_t *bits = chunk->bytes.data; /* which has stopped moving */
  for (uint32_t i = chunk->first; i < chunk->first + chunk->count; i++)
    for (uint32_t layer = 0; layer < layers; layer++) {
      Part *part = &writer->parts[(size_t)i * writer->num_layers + layer];
      part->bits = bits;
      if (part->num_bits) /* without any there may be no memory */
        bits += (part->num_bits + 7) / 8;
    }
}

static void write_parts(void *ctx, uint32_t index, uint32_t lane)
{
  Cj2kPacketWriter *writer = ctx;

  (void)lane;
  write_chunk(writer, &g_array_index(writer->part_chunks, Chunk, index));
}

/* Joins the parts of all bands to the header of one packet, and adds up their bodies. */
static void join_packet(Cj2kPacketWriter *writer, uint32_t p, uint32_t layer, Cj2kByteBuffer *out)
{
  const Cj2kPlanPrecinct *precinct = &writer->plan->precincts[p];
  Cj2kWrittenPacket *packet = &writer->packets[(size_t)p * writer->num_layers + layer];
  uint64_t *starts = writer->starts + (size_t)layer * writer->plan->num_blocks, all = 0;
  size_t begin = out->size;
  const Part *parts[MAX_BANDS];
  Cj2kBitWriter bits;

  packet->body_size = 0;
  for (uint32_t i = 0; i < writer->precinct_bands[p]; i++) {
    parts[i] = &writer->parts[((size_t)p * MAX_BANDS + i) * writer->num_layers + layer];
    all += parts[i]->num_bits;
  }
  cj2k_bits_begin(&bits, out);
  cj2k_bits_put(&bits, all > 0, 1); /* zero length packet (B.10.3) */
  for (uint32_t i = 0; i < writer->precinct_bands[p]; i++) {
    const Cj2kPlanPrecinctBand *band = &precinct->band[i];
    uint32_t first = band->first_block, count = band->blocks_x * band->blocks_y;
    /* the loop above set it. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    cj2k_bits_put_plain(&bits, parts[i]->bits, parts[i]->num_bits);
    for (uint32_t b = first; b < first + count && packet->body_size; b++)
      starts[b] += packet->body_size;
    packet->body_size += parts[i]->body_size;
  }
  cj2k_bits_end(&bits);
  packet->header_size = (uint32_t)(out->size - begin);
}

static void join_chunk(Cj2kPacketWriter *writer, Chunk *chunk)
{
  uint32_t end = chunk->first + chunk->count, layers = writer->source->num_layers;

  chunk->bytes.size = 0;
  for (uint32_t p = chunk->first; p < end; p++)
    for (uint32_t layer = 0; layer < layers; layer++)
      join_packet(writer, p, layer, &chunk->bytes);

  const uint8_t *header = chunk->bytes.data; /* which has stopped moving */
  for (uint32_t p = chunk->first; p < end; p++)
    for (uint32_t layer = 0; layer < layers; layer++) {
      Cj2kWrittenPacket *packet = &writer->packets[(size_t)p * writer->num_layers + layer];
      packet->header = header;
      header += packet->header_size;
    }
}

static void join_precincts(void *ctx, uint32_t index, uint32_t lane)
{
  Cj2kPacketWriter *writer = ctx;

  (void)lane;
  join_chunk(writer, &g_array_index(writer->precinct_chunks, Chunk, index));
}

/* Parts and headers of one of some precincts. */
static void write_precinct(void *ctx, uint32_t index, uint32_t lane)
{
  Cj2kPacketWriter *writer = ctx;
  Chunk *parts = &writer->some_parts[index], *packets = &writer->some_packets[index];

  (void)lane;
  parts->first = writer->some[index] * MAX_BANDS;
  parts->count = MAX_BANDS;
  write_chunk(writer, parts);
  packets->first = writer->some[index];
  packets->count = 1;
  join_chunk(writer, packets);
}

const Cj2kWrittenPacket *cj2k_packets_prepare_some(Cj2kPacketWriter *writer,
                                                   const Cj2kPacketSource *source,
                                                   const uint32_t *precincts, uint32_t count,
                                                   Cj2kThreads *threads)
{
  if (count > writer->some_capacity) {
    size_t more = (count - writer->some_capacity) * sizeof(Chunk);
    writer->some_parts = g_renew(Chunk, writer->some_parts, count);
    writer->some_packets = g_renew(Chunk, writer->some_packets, count);
    memset(writer->some_parts + writer->some_capacity, 0, more);
    memset(writer->some_packets + writer->some_capacity, 0, more);
    writer->some_capacity = count;
  }
  writer->source = source;
  writer->some = precincts;
  cj2k_parallel_for(threads, count, write_precinct, writer);
  writer->source = NULL;
  return writer->packets;
}

const Cj2kWrittenPacket *cj2k_packets_prepare(Cj2kPacketWriter *writer,
                                              const Cj2kPacketSource *source, Cj2kThreads *threads)
{
  writer->source = source;
  cj2k_parallel_for(threads, writer->part_chunks->len, write_parts, writer);
  cj2k_parallel_for(threads, writer->precinct_chunks->len, join_precincts, writer);
  writer->source = NULL;
  return writer->packets;
}

uint32_t cj2k_packet_blocks(const Cj2kPacketWriter *writer, uint32_t precinct_index,
                            uint32_t *first)
{
  const Cj2kPlanPrecinct *precinct = &writer->plan->precincts[precinct_index];

  *first = precinct->band[0].first_block;
  return precinct_blocks(precinct, writer->precinct_bands[precinct_index]);
}

/* Prefetches the first bytes of a block. A GPU has written them to host memory in the order in
 * which blocks were done, and no cache has them. */
static inline void prefetch_bytes(const Cj2kPacketSource *source, uint32_t block)
{
  const uint8_t *bytes = source->bytes + source->blocks[block].offset;

  for (uint32_t i = 0; i < PREFETCHED; i += CACHE_LINE)
    __builtin_prefetch(bytes + i);
}

void cj2k_packet_copy_blocks(const Cj2kPacketWriter *writer, const Cj2kPacketSource *source,
                             uint32_t first, uint32_t count, uint16_t layer, uint8_t *body)
{
  const Cj2kPlan *plan = writer->plan;
  const uint64_t *starts = writer->starts + (size_t)layer * plan->num_blocks;

  /* Blocks that are contiguous at their source are copied at once. */
  const uint8_t *from = NULL;
  uint64_t start = 0, size = 0;
  for (uint32_t b = first; b < first + count; b++) {
    prefetch_bytes(source, MIN(b + AHEAD, first + count - 1));
    uint32_t before = layer ? retained_passes(plan, source, b, layer - 1u) : 0;
    uint32_t after = retained_passes(plan, source, b, layer);
    if (after <= before)
      continue;
    const uint8_t *bytes =
        source->bytes + source->blocks[b].offset + retained_bytes(source, b, before);
    if (size && bytes != from + size) {
      memcpy(body + start, from, size);
      size = 0;
    }
    if (!size) {
      from = bytes;
      start = starts[b];
    }
    size += layer_bytes(source, b, before, after);
  }
  if (size)
    memcpy(body + start, from, size);
}
