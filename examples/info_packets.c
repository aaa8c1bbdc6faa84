/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of a codestream: packets by resolution, layer and component, and code-blocks. */
#include "common/codestream/coded.h"
#include "info.h"

#include <glib.h>
#include <string.h>

typedef struct {
  uint64_t packets, headers, bodies; /* number; bytes */
} Sum;

typedef struct {
  Sum all, *components, *layers, resolutions[CJ2K_MAX_LEVELS + 1];
  uint64_t empty; /* packets without bytes of code-blocks */
  uint32_t num_layers, num_resolutions;
} Sums;

static void add(Sum *sum, uint64_t headers, uint64_t bodies)
{
  sum->packets++;
  sum->headers += headers;
  sum->bodies += bodies;
}

static void count_packet(void *user, const Cj2kPacketId *packet, uint64_t offset, uint64_t headers,
                         uint64_t bodies)
{
  Sums *sums = user;
  (void)offset;
  add(&sums->all, headers, bodies);
  add(&sums->components[packet->component], headers, bodies);
  add(&sums->resolutions[packet->resolution], headers, bodies);
  if (packet->layer < sums->num_layers)
    add(&sums->layers[packet->layer], headers, bodies);
  sums->empty += !bodies;
  sums->num_resolutions = MAX(sums->num_resolutions, packet->resolution + 1u);
}

static void put_sums(InfoValue *out, const char *key, const char *index, const Sum *sums,
                     uint32_t n)
{
  InfoValue *list = info_put(out, key, info_array());
  for (uint32_t i = 0; i < n; i++) {
    InfoValue *one = info_add(list, info_object());
    info_put_int(one, index, i);
    info_put_int(one, "packets", (int64_t)sums[i].packets);
    info_put_int(one, "header_bytes", (int64_t)sums[i].headers);
    info_put_int(one, "body_bytes", (int64_t)sums[i].bodies);
  }
}

static void put_blocks(const Cj2kPlan *plan, const Cj2kCodedFrame *frame, InfoValue *out)
{
  uint64_t included = 0, ht = 0, refined = 0;
  int most = 0;
  for (uint32_t i = 0; i < plan->num_blocks; i++) {
    const Cj2kCodedBlock *block = &frame->blocks[i];
    const Cj2kPlanBand *band = &plan->bands[plan->blocks[i].band];
    if (!block->num_passes)
      continue;
    included++;
    ht += block->is_ht;
    refined += block->is_ht && block->num_segments > 1;
    most = MAX(most, band->num_bitplanes + band->roi_shift - block->zero_bitplanes);
  }
  InfoValue *blocks = info_put(out, "code_blocks", info_object());
  info_put_int(blocks, "all", plan->num_blocks);
  info_put_int(blocks, "with_data", (int64_t)included);
  info_put_int(blocks, "ht", (int64_t)ht);
  info_put_int(blocks, "ht_refined", (int64_t)refined);
  info_put_int(blocks, "mq", (int64_t)(included - ht));
  info_put_int(blocks, "most_bit_planes", most);
  info_put_int(blocks, "corrupt", frame->corrupt_blocks);
}

/* Parses strictly first, to find errors, then leniently, to read as much as possible. */
static Cj2kStatus read_packets(const InfoContext *context, InfoSpan span, const Cj2kPlan *plan,
                               const Cj2kTileParts *parts, Sums *sums, Cj2kPacketReader *reader,
                               Cj2kCodedFrame **frame)
{
  Cj2kError error = {0};
  Cj2kStatus status = CJ2K_ERROR_CODESTREAM;
  const uint8_t *data = span.data + span.begin;
  size_t size = (size_t)(span.end - span.begin);
  for (int strict = 1; strict >= 0 && status == CJ2K_ERROR_CODESTREAM; strict--) {
    memset(sums->components, 0, plan->num_components * sizeof(Sum));
    memset(sums->layers, 0, sums->num_layers * sizeof(Sum));
    memset(sums->resolutions, 0, sizeof sums->resolutions);
    memset(&sums->all, 0, sizeof sums->all);
    sums->empty = 0;
    cj2k_packet_reader_observe(reader, count_packet, sums);
    status = cj2k_packets_read(reader, plan, parts, data, size, 0, strict, context->max_memory,
                               frame, &error);
    if (status != CJ2K_OK)
      info_library_error(context, span.begin, &error);
  }
  return status;
}

static uint32_t most_layers(const Cj2kHeader *header)
{
  uint32_t most = header->coding.num_layers;
  for (uint32_t t = 0; header->tiles && t < header->num_tiles_x * header->num_tiles_y; t++)
    if (header->tiles[t])
      most = MAX(most, header->tiles[t]->num_layers);
  return most;
}

bool info_packets(const InfoContext *context, InfoSpan span, Cj2kHeader *header,
                  const Cj2kTileParts *parts, InfoValue *out, InfoPackets *found)
{
  Cj2kError error = {0};
  Cj2kPlan *plan;
  Cj2kCodedFrame *frame;
  memset(found, 0, sizeof *found);
  if (cj2k_plan_new(header, 0, context->max_memory, &plan, &error) != CJ2K_OK) {
    info_library_error(context, span.begin, &error);
    return false;
  }
  Sums sums = {.components = g_new0(Sum, header->num_components),
               .num_layers = most_layers(header)};
  sums.layers = g_new0(Sum, sums.num_layers);
  Cj2kPacketReader *reader = cj2k_packet_reader_new();
  bool ok = read_packets(context, span, plan, parts, &sums, reader, &frame) == CJ2K_OK;
  if (ok) {
    InfoValue *packets = info_put(out, "packets", info_object());
    info_put_int(packets, "packets", (int64_t)sums.all.packets);
    info_put_int(packets, "empty", (int64_t)sums.empty);
    info_put_int(packets, "header_bytes", (int64_t)sums.all.headers);
    info_put_int(packets, "body_bytes", (int64_t)sums.all.bodies);
    info_put_int(packets, "unread_bytes", (int64_t)frame->unread_bytes);
    put_sums(packets, "by_resolution", "resolution", sums.resolutions, sums.num_resolutions);
    put_sums(packets, "by_layer", "layer", sums.layers, sums.num_layers);
    put_sums(packets, "by_component", "component", sums.components, header->num_components);
    put_blocks(plan, frame, out);
    for (uint32_t c = 0; c < header->num_components; c++)
      found->component_bytes =
          MAX(found->component_bytes, sums.components[c].headers + sums.components[c].bodies);
  }
  cj2k_packet_reader_free(reader);
  cj2k_plan_unref(plan);
  g_free(sums.components);
  g_free(sums.layers);
  return ok;
}
