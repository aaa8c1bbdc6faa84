/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stages.h"

#include "common/runtime/threads.h"

#include <stdio.h>
#include <string.h>

/* Bytes added to the pitch: with UNEVEN rows are not aligned to vectors of samples, with ODD not
 * even to words. */
#define UNEVEN 6
#define ODD    7

/* The state of both back ends: a slot of each. */
typedef struct {
  Stages *stages;
  const char *title;
  const Cj2kPlan *plan;
  const Cj2kLayout *layout;
  Cj2kComponent *components; /* sizes of the decoded components */
  void *backends[2];
  Cj2kDecodeSlot *slots[2];
  Comparison c;
} Decoding;

static bool open_sides(Decoding *d, bool one_in_flight)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.frames_in_flight = one_in_flight ? 1 : 2;
  params.low_latency = one_in_flight;
  for (uint32_t i = 0; i < 2; i++) {
    const Side *side = &d->stages->sides[i];
    d->c.names[i] = side->name;
    d->backends[i] = side->decode->open(&params, side->threads, &error);
    if (d->backends[i])
      d->slots[i] = side->decode->slot_new(d->backends[i], &error);
    if (!d->slots[i]) {
      snprintf(d->c.why, sizeof d->c.why, "%s: %s", side->name, error.text);
      return false;
    }
  }
  return true;
}

static void close_sides(Decoding *d)
{
  for (uint32_t i = 0; i < 2; i++) {
    const Cj2kDecodeBackend *functions = d->stages->sides[i].decode;
    if (d->slots[i])
      functions->slot_free(d->backends[i], d->slots[i]);
    if (d->backends[i])
      functions->close(d->backends[i]);
  }
}

/* The results of both back ends for a frame. */
typedef struct {
  Target targets[2];
  SlotArrays arrays[2];
  Cj2kDecodeResult results[2];
} Decoded;

static Cj2kStatus decode_one(Decoding *d, uint32_t i, const Cj2kCodedFrame *coded, Decoded *out)
{
  const Side *side = &d->stages->sides[i];
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, d->layout->num_planes, out->targets[i].planes};
  Cj2kDecodeJob job = {d->plan, coded, d->layout, &picture};
  Cj2kError error = {0};
  Cj2kStatus status = side->decode->start(d->backends[i], d->slots[i], &job, &error);

  if (status == CJ2K_OK)
    status = side->decode->wait(d->backends[i], d->slots[i], &out->results[i], &error);
  if (status != CJ2K_OK) {
    snprintf(d->c.why, sizeof d->c.why, "%s: %s", side->name, error.text);
    return status;
  }
  if (side->read_decoded(d->slots[i], d->plan, &out->arrays[i]))
    return CJ2K_OK;
  snprintf(d->c.why, sizeof d->c.why, "the slot of %s cannot be read", side->name);
  return CJ2K_ERROR_DEVICE;
}

static bool compare_corrupt(Decoding *d, const Decoded *decoded)
{
  uint32_t corrupt[2] = {decoded->results[0].corrupt_blocks, decoded->results[1].corrupt_blocks};

  if (corrupt[0] != corrupt[1])
    snprintf(d->c.why, sizeof d->c.why, "corrupt blocks: %s %u, %s %u", d->c.names[0], corrupt[0],
             d->c.names[1], corrupt[1]);
  return corrupt[0] == corrupt[1];
}

/* Decodes a frame; `how` is appended to the names of its stages, `more` is that of target_init. */
static void decode(Decoding *d, const Cj2kCodedFrame *coded, const char *how, uint32_t more)
{
  Decoded out = {0};
  Cj2kStatus status = CJ2K_OK;
  char stage[3][80];

  snprintf(stage[0], sizeof stage[0], "decode%s: coefficients", how);
  snprintf(stage[1], sizeof stage[1], "decode%s: images between levels", how);
  snprintf(stage[2], sizeof stage[2], "decode%s: samples", how);
  for (uint32_t i = 0; i < 2; i++)
    target_init(&out.targets[i], d->layout, d->components, d->plan->num_components, more);
  for (uint32_t i = 0; i < 2 && status == CJ2K_OK; i++)
    status = decode_one(d, i, coded, &out);
  bool ok = status == CJ2K_OK;
  if (status == CJ2K_ERROR_UNSUPPORTED && more == ODD) {
    stage_done(d->stages, d->title, "decode, rows not aligned to words: refused", true, NULL);
  } else if (status == CJ2K_ERROR_UNSUPPORTED) {
    stage_skipped(d->stages, d->title, stage[0], d->c.why);
  } else {
    stage_done(d->stages, d->title, stage[0],
               ok && compare_corrupt(d, &out) && compare_coefficients(&d->c, out.arrays), d->c.why);
    stage_done(d->stages, d->title, stage[1], ok && compare_lowpass(&d->c, out.arrays), d->c.why);
    stage_done(d->stages, d->title, stage[2], ok && compare_samples(&d->c, d->layout, out.targets),
               d->c.why);
  }
  for (uint32_t i = 0; i < 2; i++) {
    slot_arrays_clear(&out.arrays[i]);
    target_clear(&out.targets[i]);
  }
}

static Cj2kComponent *output_components(const Cj2kPlan *plan)
{
  Cj2kComponent *components = g_new0(Cj2kComponent, plan->num_components);

  for (uint32_t c = 0; c < plan->num_components; c++) {
    const Cj2kRect *out = &plan->component_out[c];
    components[c] = (Cj2kComponent){.x0 = out->x0, .y0 = out->y0, .x1 = out->x1, .y1 = out->y1};
  }
  return components;
}

/* ------------------------------------------------------------------------------ cases --- */

/* If the header has the shift, all magnitudes would belong to the region of interest. Adding
 * missing bit-planes, from none to `shift`, moves some blocks below the threshold, and magnitudes
 * of others to both sides of it. */
static void lower_blocks(Coded *coded, uint32_t shift)
{
  for (guint b = 0; b < coded->blocks->len; b++) {
    Cj2kCodedBlock *block = &g_array_index(coded->blocks, Cj2kCodedBlock, b);
    block->zero_bitplanes += (uint8_t)(shift * (b % 4) / 3);
  }
}

static void drop_blocks(Coded *coded)
{
  for (guint b = 0; b < coded->blocks->len; b += 3)
    g_array_index(coded->blocks, Cj2kCodedBlock, b).num_passes = 0;
}

void check_decoding_case(Stages *stages, StageFrame *frame, Coded *coded)
{
  const Case *test = frame->test;
  Cj2kPlan *plan = NULL;
  Cj2kError error = {0};

  if (!coded->frame.blocks) /* the encoder has reported this */
    return;
  for (uint32_t c = 0; c < frame->header->num_components; c++)
    frame->header->coding.roi_shift[c] = test->roi;
  if (cj2k_plan_new(frame->header, test->reduce, 0, &plan, &error) != CJ2K_OK) {
    stage_done(stages, frame->title, "decode: plan", false, error.text);
    return;
  }
  Decoding d = {.stages = stages,
                .title = frame->title,
                .plan = plan,
                .layout = &frame->layout,
                .components = output_components(plan),
                .c = {.plan = plan}};
  if (test->roi)
    lower_blocks(coded, test->roi);
  if (open_sides(&d, test->one_in_flight)) {
    decode(&d, &coded->frame, "", 0);
    decode(&d, &coded->frame, ", rows not aligned to words", ODD);
    drop_blocks(coded);
    decode(&d, &coded->frame, ", blocks left out", UNEVEN);
  } else {
    stage_done(stages, frame->title, "decoder", false, d.c.why);
  }
  close_sides(&d);
  g_free(d.components);
  cj2k_plan_unref(plan);
}

/* ------------------------------------------------------------------------------ files --- */

typedef struct {
  Cj2kHeaderReader *headers;
  Cj2kPacketReader *packets;
  Cj2kTileParts tile_parts;
  Cj2kPlan *plan;
  Cj2kCodedFrame *coded;
} Stream;

static bool read_stream(Stream *stream, const uint8_t *data, size_t size, Cj2kError *error)
{
  Cj2kHeader *header;
  bool same;

  stream->headers = cj2k_header_reader_new();
  stream->packets = cj2k_packet_reader_new();
  return cj2k_header_read(stream->headers, data, size, false, 0, &header, &same,
                          &stream->tile_parts, error) == CJ2K_OK &&
         cj2k_plan_new(header, 0, 0, &stream->plan, error) == CJ2K_OK &&
         cj2k_packets_read(stream->packets, stream->plan, &stream->tile_parts, data, size, 0, false,
                           0, &stream->coded, error) == CJ2K_OK;
}

static void stream_clear(Stream *stream)
{
  if (stream->plan)
    cj2k_plan_unref(stream->plan);
  cj2k_packet_reader_free(stream->packets);
  cj2k_tile_parts_clear(&stream->tile_parts);
  cj2k_header_reader_free(stream->headers);
}

static void check_stream(Stages *stages, const char *title, const Stream *stream)
{
  const Cj2kHeader *header = stream->plan->header;
  Cj2kImage image = {.num_components = header->num_components, .components = header->components};
  Cj2kSampleLayout *samples = g_new0(Cj2kSampleLayout, header->num_components);
  Cj2kLayout layout;

  cj2k_layout_planar(&image, samples, &layout);
  Decoding d = {.stages = stages,
                .title = title,
                .plan = stream->plan,
                .layout = &layout,
                .components = output_components(stream->plan),
                .c = {.plan = stream->plan}};
  if (open_sides(&d, true))
    decode(&d, stream->coded, "", 0);
  else
    stage_done(stages, title, "decoder", false, d.c.why);
  close_sides(&d);
  g_free(d.components);
  g_free(samples);
}

void check_decoding_file(Stages *stages, const char *path)
{
  char *data = NULL, *name = g_path_get_basename(path);
  Stream stream = {0};
  Cj2kError error = {0};
  gsize size;

  if (!g_file_get_contents(path, &data, &size, NULL))
    stage_done(stages, name, "file", false, "cannot be read");
  else if (!read_stream(&stream, (const uint8_t *)data, size, &error))
    stage_done(stages, name, "packets", false, error.text);
  else
    check_stream(stages, name, &stream);
  stream_clear(&stream);
  g_free(data);
  g_free(name);
}
