/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decoder.h"

#include "common/codestream/limits.h"
#include "common/runtime/deadline.h"
#include "common/runtime/error.h"

#include <string.h>

#define DEFAULT_MEMORY       (UINT64_C(768) << 20)
#define DEFAULT_MEMORY_RATIO 256 /* memory limit, as a multiple of the codestream's bytes */
/* Resolutions of tile-components that a header may announce, and in addition for each byte of the
 * codestream. Making the geometry of one takes up to half a microsecond. */
#define DEFAULT_RESOLUTIONS       (1 << 15)
#define DEFAULT_RESOLUTIONS_RATIO 1
/* Bytes of parameters that tiles have of their own, of which a QCD of six bytes makes 300 for each
 * component. */
#define DEFAULT_TILE_MEMORY       (UINT64_C(16) << 20)
#define DEFAULT_TILE_MEMORY_RATIO 256
/* What the entries of POC range over: components times resolutions of each, for each tile. One
 * takes up to 30 ns. */
#define MAX_POC_STEPS       (1 << 18)
#define MAX_POC_STEPS_RATIO 4

static uint64_t memory_limit(const Cj2kDecoder *decoder, size_t size)
{
  if (decoder->params.max_memory)
    return decoder->params.max_memory;
  uint64_t by_size =
      size > UINT64_MAX / DEFAULT_MEMORY_RATIO ? UINT64_MAX : (uint64_t)size * DEFAULT_MEMORY_RATIO;
  return MAX(DEFAULT_MEMORY, by_size);
}

static uint64_t resolutions_of_tile(const Cj2kTileCoding *tile, uint32_t num_components)
{
  uint64_t resolutions = 0;
  for (uint32_t c = 0; c < num_components; c++)
    resolutions += tile->coding[c].num_levels + 1u;
  return resolutions;
}

/* Without a limit on memory that the user has chosen, refuses headers that announce far more than
 * the codestream can hold: a few bytes would keep a live decoder busy for many frames. */
static Cj2kStatus check_resolutions(const Cj2kDecoder *decoder, const Cj2kHeader *header,
                                    uint64_t size, Cj2kError *error)
{
  uint32_t num_tiles = header->num_tiles_x * header->num_tiles_y;
  uint64_t of_main = resolutions_of_tile(&header->coding, header->num_components), sum = 0;
  uint64_t most = DEFAULT_RESOLUTIONS + DEFAULT_RESOLUTIONS_RATIO * size;
  if (decoder->params.max_memory)
    return CJ2K_OK;
  if (!header->tiles)
    sum = num_tiles * of_main;
  for (uint32_t t = 0; header->tiles && t < num_tiles; t++) {
    const Cj2kTileCoding *tile = cj2k_header_tile(header, t);
    bool own = tile->coding != header->coding.coding; /* COD or COC in its tile-part headers */
    sum += own ? resolutions_of_tile(tile, header->num_components) : of_main;
  }
  if (sum <= most)
    return CJ2K_OK;
  return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                        "the header announces %" G_GUINT64_FORMAT
                        " resolutions of tile-components in %" G_GUINT64_FORMAT
                        " bytes, more than %" G_GUINT64_FORMAT
                        " are allowed unless max-memory is set",
                        sum, size, most);
}

uint64_t cj2k_decoder_most_visits(const Cj2kDecoder *decoder, uint64_t size)
{
  return decoder->params.max_memory ? UINT64_MAX : cj2k_most_visits(size);
}

static uint64_t poc_steps(const Cj2kTileCoding *coding, uint32_t num_components)
{
  uint64_t steps = 0;
  for (uint32_t v = 0; v < coding->num_volumes; v++) {
    const Cj2kProgressionVolume *volume = &coding->volumes[v];
    uint32_t components = MIN(volume->comp_end, num_components);
    uint32_t resolutions = MIN(volume->res_end, CJ2K_MAX_LEVELS + 1);
    if (components > volume->comp_start && resolutions > volume->res_start)
      steps += (uint64_t)(components - volume->comp_start) * (resolutions - volume->res_start);
  }
  return steps;
}

/* Refuses progression order changes that would keep the packet reader busy without packets: an
 * entry may range over all that entries before it have left nothing of. */
static Cj2kStatus check_poc(const Cj2kHeader *header, uint64_t size, Cj2kError *error)
{
  uint32_t num_tiles = header->num_tiles_x * header->num_tiles_y;
  uint64_t of_main = poc_steps(&header->coding, header->num_components), steps = 0;
  uint64_t most = MAX_POC_STEPS + MAX_POC_STEPS_RATIO * size;
  if (!header->tiles)
    steps = num_tiles * of_main;
  for (uint32_t t = 0; header->tiles && t < num_tiles; t++) {
    const Cj2kTileCoding *tile = header->tiles[t];
    bool own = tile && tile->volumes != header->coding.volumes;
    steps += own ? poc_steps(tile, header->num_components) : of_main;
  }
  if (steps <= most)
    return CJ2K_OK;
  return cj2k_error_set(error, CJ2K_ERROR_LIMIT,
                        "the entries of POC range over %" G_GUINT64_FORMAT
                        " resolutions, more than %" G_GUINT64_FORMAT
                        " are allowed in %" G_GUINT64_FORMAT " bytes",
                        steps, most, size);
}

/* Makes the offset of an error count from the start of the submitted data instead of the
 * codestream. */
static Cj2kStatus shift_offset(Cj2kStatus status, const Cj2kJp2 *jp2, Cj2kError *error)
{
  if (error && status == CJ2K_ERROR_CODESTREAM)
    error->offset += jp2->codestream.offset;
  return status;
}

void cj2k_last_headers_init(Cj2kLastHeaders *last)
{
  last->reader = cj2k_header_reader_new();
  last->boxes = g_byte_array_new();
}

void cj2k_last_headers_clear(Cj2kLastHeaders *last)
{
  g_clear_pointer(&last->plan, cj2k_plan_unref);
  cj2k_image_info_unref(last->info);
  cj2k_image_info_unref(last->read_info);
  g_byte_array_unref(last->boxes);
  cj2k_header_reader_free(last->reader);
}

void cj2k_frame_headers_reset(Cj2kFrameHeaders *headers)
{
  cj2k_tile_parts_clear(&headers->tile_parts);
  g_clear_pointer(&headers->plan, cj2k_plan_unref);
  g_clear_pointer(&headers->info, cj2k_image_info_unref);
  *headers = (Cj2kFrameHeaders){0};
}

/* ------------------------------------------------------------------------- submit --- */

/* Makes a new plan and info from `header`, unless the last ones are of this header: the header that
 * was read before may be another one, of a frame that was refused before it had a plan. */
static Cj2kStatus renew(Cj2kDecoder *decoder, Cj2kHeader *header, uint64_t max_memory, Cj2kJp2 *jp2,
                        const uint8_t *data, Cj2kError *error)
{
  bool same_boxes = decoder->last.info && decoder->last.boxes->len == jp2->codestream.offset &&
                    (decoder->last.boxes->len == 0 ||
                     !memcmp(decoder->last.boxes->data, data, decoder->last.boxes->len));
  Cj2kStatus status;
  if (!decoder->last.plan || decoder->last.plan->header != header) {
    status =
        cj2k_plan_renew(&decoder->last.plan, header, decoder->params.reduce, max_memory, error);
    if (status != CJ2K_OK)
      return status;
    same_boxes = false;
  }
  if (same_boxes)
    return CJ2K_OK;
  g_clear_pointer(&decoder->last.info, cj2k_image_info_unref);
  g_byte_array_set_size(decoder->last.boxes, 0);
  g_byte_array_append(decoder->last.boxes, data, (guint)MIN(jp2->codestream.offset, G_MAXINT));
  return cj2k_image_info_new(header, jp2, decoder->params.reduce, decoder->params.strict,
                             &decoder->last.info, error);
}

static Cj2kStatus read_codestream(Cj2kDecoderFrame *frame, Cj2kJp2 *jp2, Cj2kError *error)
{
  Cj2kDecoder *decoder = frame->decoder;
  bool strict = decoder->params.strict && !frame->input.is_part;
  Cj2kHeader *header = NULL;
  bool same = false;
  frame->headers.codestream = jp2->codestream;
  uint64_t tile_memory = DEFAULT_TILE_MEMORY + DEFAULT_TILE_MEMORY_RATIO * jp2->codestream.size;
  if (decoder->params.max_memory)
    tile_memory = frame->headers.max_memory;
  Cj2kStatus status =
      cj2k_header_read(decoder->last.reader, frame->input.data + frame->headers.codestream.offset,
                       frame->headers.codestream.size, strict, tile_memory, &header, &same,
                       &frame->headers.tile_parts, error);
  if (status != CJ2K_OK)
    return shift_offset(status, jp2, error);
  status = check_resolutions(decoder, header, jp2->codestream.size, error);
  if (status == CJ2K_OK)
    status = check_poc(header, jp2->codestream.size, error);
  if (status != CJ2K_OK)
    return status;
  if (!decoder->params.max_memory)
    cj2k_deadline_limit_items(cj2k_most_items(jp2->codestream.size));
  status = renew(decoder, header, frame->headers.max_memory, jp2, frame->input.data, error);
  if (status != CJ2K_OK)
    return status;
  frame->headers.plan = cj2k_plan_ref(decoder->last.plan);
  frame->headers.info = cj2k_image_info_ref(decoder->last.info);
  return CJ2K_OK;
}

Cj2kStatus cj2k_decoder_frame_headers(Cj2kDecoderFrame *frame, Cj2kError *error)
{
  Cj2kJp2 jp2 = {0};
  gint64 begin = g_get_monotonic_time();
  frame->headers.max_memory = memory_limit(frame->decoder, frame->input.size);
  Cj2kStatus status = cj2k_jp2_read(frame->input.data, frame->input.size,
                                    frame->decoder->params.strict, &jp2, error);
  cj2k_deadline_begin(frame->decoder->params.max_time);
  if (status == CJ2K_OK)
    status = read_codestream(frame, &jp2, error);
  cj2k_deadline_end();
  cj2k_jp2_clear(&jp2);
  frame->headers.ms = (double)(g_get_monotonic_time() - begin) / 1000;
  return status;
}

/* -------------------------------------------------------------------- read_header --- */

Cj2kStatus cj2k_decoder_read_header(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                                    Cj2kImage *image, Cj2kError *error)
{
  Cj2kJp2 jp2 = {0};
  Cj2kHeader *header = NULL;
  bool same = false;
  cj2k_error_clear(error);
  Cj2kStatus status = cj2k_jp2_read(data, size, decoder->params.strict, &jp2, error);
  if (status == CJ2K_OK)
    status =
        shift_offset(cj2k_header_read(decoder->last.reader, data + jp2.codestream.offset,
                                      jp2.codestream.size, decoder->params.strict,
                                      memory_limit(decoder, size), &header, &same, NULL, error),
                     &jp2, error);
  if (status == CJ2K_OK) {
    g_clear_pointer(&decoder->last.read_info, cj2k_image_info_unref);
    status = cj2k_image_info_new(header, &jp2, decoder->params.reduce, decoder->params.strict,
                                 &decoder->last.read_info, error);
  }
  if (status == CJ2K_OK)
    *image = decoder->last.read_info->image;
  cj2k_jp2_clear(&jp2);
  return status;
}
