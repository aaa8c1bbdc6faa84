/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write_packets.h"

#include "bitwriter.h"
#include "tagtree.h"
#include "write_lengths.h"
#include "write_single.h"

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
  uint8_t *single_nodes;            /* of write_single.h, plan->num_nodes */
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
/* Up to so many blocks, whose headers take about as long as waking threads for them. */
#define FEW_BLOCKS 12288

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
  writer->single_nodes = g_new(uint8_t, plan->num_nodes + 1);
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
  g_free(writer->single_nodes);
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
  uint32_t style = size ? plan->bands[plan->blocks[b].band].block_style & CJ2K_STYLE_ENDS : 0;
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
      cj2k_send_num_passes(bits, after - before);
      uint32_t length = cj2k_layer_bytes_of(source, b, before, after);
      if (ends && after - before > 1)
        cj2k_send_lengths(bits, source, b, before, after, bypass, &writer->lblock[b]);
      else
        cj2k_send_length(bits, length, after - before, &writer->lblock[b]);
      *body += length;
    }
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
  const Cj2kSingleLayer single = {writer->source, writer->single_nodes, writer->starts};
  Cj2kPlainBits bits;

  part->num_bits = part->body_size = 0;
  if (!band->blocks_x || !band->blocks_y)
    return;
  cj2k_plain_begin(&bits, out);
  uint8_t style = writer->plan->bands[writer->plan->blocks[band->first_block].band].block_style;
  if (!cj2k_single_write(&single, band, style, &bits, &part->body_size) &&
      !layer_is_empty(writer, precinct, num_bands, 0)) /* the root of the inclusion tree */
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

/* Whether the headers of all packets are so little work that no thread should be woken for them:
 * blocks of one layer that have one pass. */
static bool is_little_work(const Cj2kPacketWriter *writer)
{
  const Cj2kPlan *plan = writer->plan;

  return plan->num_blocks <= FEW_BLOCKS && writer->source->num_layers == 1 &&
         writer->source->lengths && plan->bands[0].block_style & CJ2K_STYLE_HT;
}

const Cj2kWrittenPacket *cj2k_packets_prepare(Cj2kPacketWriter *writer,
                                              const Cj2kPacketSource *source, Cj2kThreads *threads)
{
  writer->source = source;
  if (is_little_work(writer)) {
    cj2k_parallel_for_short(threads, writer->part_chunks->len, write_parts, writer);
    cj2k_parallel_for_short(threads, writer->precinct_chunks->len, join_precincts, writer);
  } else {
    cj2k_parallel_for(threads, writer->part_chunks->len, write_parts, writer);
    cj2k_parallel_for(threads, writer->precinct_chunks->len, join_precincts, writer);
  }
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
        source->bytes + source->blocks[b].offset + cj2k_retained_bytes(source, b, before);
    if (size && bytes != from + size) {
      memcpy(body + start, from, size);
      size = 0;
    }
    if (!size) {
      from = bytes;
      start = starts[b];
    }
    size += cj2k_layer_bytes_of(source, b, before, after);
  }
  if (size)
    memcpy(body + start, from, size);
}

/* The runs of blocks [b, end) in the only layer. Returns where they end. */
static Cj2kByteRun *list_single(const Cj2kPacketSource *source, const uint64_t *starts, uint32_t b,
                                uint32_t end, uint64_t body, Cj2kByteRun *out)
{
  const Cj2kEncodedBlock *blocks = source->blocks;
  const uint32_t *lengths = source->lengths;
  const uint8_t *retained = source->retained;

  for (; b < end; b++) {
    uint32_t length = lengths[b];
    *out = (Cj2kByteRun){.from = blocks[b].offset, .to = body + starts[b], .length = length};
    out += retained[b] && length;
  }
  return out;
}

void cj2k_packet_list_runs(const Cj2kPacketWriter *writer, const Cj2kPacketSource *source,
                           uint32_t first, uint32_t count, uint16_t layer, uint64_t body,
                           GArray *runs)
{
  const Cj2kPlan *plan = writer->plan;
  const uint64_t *starts = writer->starts + (size_t)layer * plan->num_blocks;
  guint n = runs->len;

  g_array_set_size(runs, n + count + 1); /* list_single() writes behind the last one */
  Cj2kByteRun *out = &g_array_index(runs, Cj2kByteRun, 0);
  if (source->num_layers == 1 && source->lengths) {
    out = list_single(source, starts, first, first + count, body, out + n);
    g_array_set_size(runs, (guint)(out - &g_array_index(runs, Cj2kByteRun, 0)));
    return;
  }
  for (uint32_t b = first; b < first + count; b++) {
    uint32_t before = layer ? retained_passes(plan, source, b, layer - 1u) : 0;
    uint32_t after = retained_passes(plan, source, b, layer), skipped = 0;
    if (after <= before)
      continue;
    if (layer)
      skipped = cj2k_retained_bytes(source, b, before);
    uint32_t length = cj2k_layer_bytes_of(source, b, before, after);
    if (length)
      out[n++] = (Cj2kByteRun){
          .from = source->blocks[b].offset + skipped, .to = body + starts[b], .length = length};
  }
  g_array_set_size(runs, n);
}
