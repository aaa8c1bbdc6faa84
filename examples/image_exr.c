/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads EXR with OpenEXR's C library: R, G and B, or Y alone, of half or float, in scan lines or
 * tiles. Linear light becomes samples by a curve (image_curve.h). */
#include "image.h"
#include "image_curve.h"

#include <glib.h>
#include <openexr.h>
#include <string.h>

#define MAX_SIDE  65535
#define MAX_TILE  8192
#define MAX_CHUNK G_MAXINT32 /* bytes */

typedef struct {
  exr_context_t context;
  const ImageFile *file;
  char *why;
  bool failed; /* `why` has the library's first message */
  int part;
  exr_attr_box2i_t data, display; /* the samples that the file has, and the picture */
  bool has_chroma;                /* the last part is Y with RY and BY */
  int num_channels;
  const char *names[3];
  Image *image;
} Exr;

static int64_t read_bytes(exr_const_context_t context, void *user, void *out, uint64_t size,
                          uint64_t offset, exr_stream_error_func_ptr_t error)
{
  const Exr *exr = user;
  uint64_t left = offset < exr->file->size ? exr->file->size - offset : 0;
  uint64_t n = MIN(size, left);

  (void)context;
  (void)error;
  memcpy(out, exr->file->data + (n ? offset : 0), n);
  return (int64_t)n;
}

static int64_t file_size(exr_const_context_t context, void *user)
{
  (void)context;
  return (int64_t)((const Exr *)user)->file->size;
}

static void take_error(exr_const_context_t context, exr_result_t code, const char *message)
{
  void *user = NULL;

  (void)code;
  if (!context || exr_get_user_data(context, &user) != EXR_ERR_SUCCESS || !user)
    return;
  Exr *exr = user;
  if (!exr->failed)
    image_fail(exr->why, "%s: %s", exr->file->path, message);
  exr->failed = true;
}

/* ------------------------------------------------------------------------------- header --- */

/* Finds R, G and B, or Y, in a part. Y beside RY or BY is luminance whose chroma is refused. */
static bool find_channels(Exr *exr, int part)
{
  static const char *const rgb[] = {"R", "G", "B"}, *const grey[] = {"Y"};
  const exr_attr_chlist_t *list;
  int found[2] = {0, 0};
  bool has_chroma = false;

  if (exr_get_channels(exr->context, part, &list) != EXR_ERR_SUCCESS)
    return false;
  for (int i = 0; i < list->num_channels; i++) {
    const exr_attr_chlist_entry_t *entry = &list->entries[i];
    has_chroma = has_chroma || !strcmp(entry->name.str, "RY") || !strcmp(entry->name.str, "BY");
    if (entry->x_sampling != 1 || entry->y_sampling != 1 || entry->pixel_type == EXR_PIXEL_UINT)
      continue;
    for (int k = 0; k < 3; k++)
      found[0] += !strcmp(entry->name.str, rgb[k]);
    found[1] += !strcmp(entry->name.str, grey[0]);
  }
  exr->has_chroma = has_chroma && found[0] != 3;
  if (found[0] != 3 && (found[1] != 1 || has_chroma))
    return false;
  exr->part = part;
  exr->num_channels = found[0] == 3 ? 3 : 1;
  memcpy(exr->names, found[0] == 3 ? rgb : grey, (size_t)exr->num_channels * sizeof *rgb);
  return true;
}

static bool is_flat(const Exr *exr, int part)
{
  exr_storage_t storage;

  return exr_get_storage(exr->context, part, &storage) == EXR_ERR_SUCCESS &&
         (storage == EXR_STORAGE_SCANLINE || storage == EXR_STORAGE_TILED);
}

/* The length of a side of a window; 0: it is not in 1..MAX_SIDE. */
static int64_t side(int32_t min, int32_t max)
{
  int64_t length = (int64_t)max - min + 1;

  return length > 0 && length <= MAX_SIDE ? length : 0;
}

/* Whether the file can have so many samples. */
static bool is_plausible(const Exr *exr, const exr_attr_box2i_t *window)
{
  double samples = (double)side(window->min.x, window->max.x) *
                   (double)side(window->min.y, window->max.y) * exr->num_channels;

  return image_is_plausible(samples * 2, exr->file->size);
}

static bool read_header(Exr *exr)
{
  int parts = 0;
  bool found = false;

  exr_get_count(exr->context, &parts);
  for (int part = 0; !found && part < parts; part++)
    found = is_flat(exr, part) && find_channels(exr, part);
  if (!found && exr->has_chroma)
    return image_fail(exr->why, "%s: an EXR file of luminance and chroma (Y, RY and BY)",
                      exr->file->path);
  if (!found)
    return image_fail(exr->why,
                      "%s: an EXR file without the channels R, G and B, or Y, of half or float",
                      exr->file->path);
  if (exr_get_data_window(exr->context, exr->part, &exr->data) != EXR_ERR_SUCCESS ||
      exr_get_display_window(exr->context, exr->part, &exr->display) != EXR_ERR_SUCCESS)
    return false;
  int64_t width = side(exr->display.min.x, exr->display.max.x);
  int64_t height = side(exr->display.min.y, exr->display.max.y);
  if (!width || !height || !side(exr->data.min.x, exr->data.max.x) ||
      !side(exr->data.min.y, exr->data.max.y) || !is_plausible(exr, &exr->display) ||
      !is_plausible(exr, &exr->data))
    return image_fail(exr->why, "%s: windows of a wrong size for %zu bytes", exr->file->path,
                      exr->file->size);
  ImageShape shape = {.num_planes = (uint32_t)exr->num_channels,
                      .width = (uint32_t)width,
                      .height = (uint32_t)height,
                      .depth = image_curve_depth()};
  if (!image_alloc(exr->image, shape, exr->file->path, exr->why))
    return false;
  exr->image->colour = exr->num_channels == 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  size_t plane = (size_t)width * (size_t)height * exr->image->planes[0].bytes;
  memset(exr->image->memory, 0, plane * (size_t)exr->num_channels);
  return true;
}

/* ------------------------------------------------------------------------------ samples --- */

/* Writes a row of n values that begins at (x, y) of the data window's coordinates; what is outside
 * the display window is no part of the picture. */
static void put_values(const Exr *exr, int c, const uint8_t *values, bool half, int64_t x,
                       int64_t y, int64_t n)
{
  const ImagePlane *plane = &exr->image->planes[c];
  const uint16_t *samples = image_curve_half();

  if (y < exr->display.min.y || y > exr->display.max.y)
    return;
  int64_t first = MAX(x, exr->display.min.x), last = MIN(x + n - 1, (int64_t)exr->display.max.x);
  uint8_t *to = plane->data + (size_t)(y - exr->display.min.y) * plane->pitch;
  for (int64_t at = first; at <= last; at++) {
    uint16_t bits = 0, sample;
    float value;
    if (half) {
      memcpy(&bits, values + 2 * (at - x), sizeof bits);
      sample = samples[bits];
    } else {
      memcpy(&value, values + 4 * (at - x), sizeof value);
      sample = image_curve_sample(value);
    }
    size_t place = (size_t)(at - exr->display.min.x) * plane->bytes;
    to[place] = (uint8_t)sample;
    if (plane->bytes == 2)
      to[place + 1] = (uint8_t)(sample >> 8);
  }
}

/* The plane of a channel of a chunk; -1: it is not wanted. */
static int plane_of(const Exr *exr, const exr_coding_channel_info_t *channel)
{
  for (int c = 0; c < exr->num_channels; c++)
    if (!strcmp(channel->channel_name, exr->names[c]))
      return c;
  return -1;
}

/* Tells the pipeline to write the wanted channels, one behind the other, to `block`. False: they
 * are too large. */
static bool set_channels(const Exr *exr, exr_decode_pipeline_t *pipeline, GByteArray *block)
{
  size_t size = 0;

  for (int pass = 0; pass < 2; pass++) {
    if (size > MAX_CHUNK)
      return false;
    if (pass)
      g_byte_array_set_size(block, (guint)size);
    size = 0;
    for (int i = 0; i < pipeline->channel_count; i++) {
      exr_coding_channel_info_t *channel = &pipeline->channels[i];
      const int32_t bytes = channel->data_type == EXR_PIXEL_HALF ? 2 : 4;
      channel->decode_to_ptr = NULL;
      if (plane_of(exr, channel) < 0)
        continue;
      if (pass) {
        channel->decode_to_ptr = block->data + size;
        channel->user_bytes_per_element = (int16_t)bytes;
        channel->user_data_type = channel->data_type;
        channel->user_pixel_stride = bytes;
        channel->user_line_stride = channel->width * bytes;
      }
      size += (size_t)channel->width * (size_t)channel->height * (size_t)bytes;
    }
  }
  return true;
}

/* Decodes a chunk whose first value is at (x, y). */
static bool read_chunk(const Exr *exr, exr_decode_pipeline_t *pipeline,
                       const exr_chunk_info_t *chunk, GByteArray *block, int64_t x, int64_t y)
{
  bool first = !pipeline->channels;
  exr_result_t result = first ? exr_decoding_initialize(exr->context, exr->part, chunk, pipeline)
                              : exr_decoding_update(exr->context, exr->part, chunk, pipeline);

  if (result != EXR_ERR_SUCCESS)
    return false;
  if (!set_channels(exr, pipeline, block) ||
      (first && exr_decoding_choose_default_routines(exr->context, exr->part, pipeline) !=
                    EXR_ERR_SUCCESS) ||
      exr_decoding_run(exr->context, exr->part, pipeline) != EXR_ERR_SUCCESS)
    return false;
  for (int i = 0; i < pipeline->channel_count; i++) {
    const exr_coding_channel_info_t *channel = &pipeline->channels[i];
    int c = plane_of(exr, channel);
    for (int32_t row = 0; c >= 0 && row < channel->height; row++)
      put_values(exr, c, channel->decode_to_ptr + (size_t)row * (size_t)channel->user_line_stride,
                 channel->data_type == EXR_PIXEL_HALF, x, y + row, channel->width);
  }
  return true;
}

static bool read_lines(const Exr *exr, exr_decode_pipeline_t *pipeline, GByteArray *block)
{
  int32_t lines = 0;
  bool ok =
      exr_get_scanlines_per_chunk(exr->context, exr->part, &lines) == EXR_ERR_SUCCESS && lines > 0;

  for (int64_t y = exr->data.min.y; ok && y <= exr->data.max.y; y += lines) {
    exr_chunk_info_t chunk;
    ok = exr_read_scanline_chunk_info(exr->context, exr->part, (int)y, &chunk) == EXR_ERR_SUCCESS &&
         read_chunk(exr, pipeline, &chunk, block, exr->data.min.x, y);
  }
  return ok;
}

static bool read_tiles(const Exr *exr, exr_decode_pipeline_t *pipeline, GByteArray *block)
{
  uint32_t width = 0, height = 0;
  exr_tile_level_mode_t levels;
  exr_tile_round_mode_t rounding;
  bool ok = exr_get_tile_descriptor(exr->context, exr->part, &width, &height, &levels, &rounding) ==
                EXR_ERR_SUCCESS &&
            width > 0 && height > 0;
  int64_t x0 = exr->data.min.x, y0 = exr->data.min.y;

  for (int64_t y = y0; ok && y <= exr->data.max.y; y += height)
    for (int64_t x = x0; ok && x <= exr->data.max.x; x += width) {
      exr_chunk_info_t chunk;
      ok = exr_read_tile_chunk_info(exr->context, exr->part, (int)((x - x0) / width),
                                    (int)((y - y0) / height), 0, 0, &chunk) == EXR_ERR_SUCCESS &&
           read_chunk(exr, pipeline, &chunk, block, x, y);
    }
  return ok;
}

static bool read_samples(const Exr *exr)
{
  exr_decode_pipeline_t pipeline = {0};
  GByteArray *block = g_byte_array_new();
  exr_storage_t storage = EXR_STORAGE_SCANLINE;

  exr_get_storage(exr->context, exr->part, &storage);
  bool ok = storage == EXR_STORAGE_TILED ? read_tiles(exr, &pipeline, block)
                                         : read_lines(exr, &pipeline, block);
  exr_decoding_destroy(exr->context, &pipeline);
  g_byte_array_unref(block);
  return ok;
}

bool image_read_exr(Image *image, const ImageFile *file, char *why)
{
  Exr exr = {.file = file, .why = why, .image = image};
  exr_context_initializer_t with = EXR_DEFAULT_CONTEXT_INITIALIZER;

  why[0] = 0;
  with.user_data = &exr;
  with.read_fn = read_bytes;
  with.size_fn = file_size;
  with.error_handler_fn = take_error;
  with.max_image_width = with.max_image_height = MAX_SIDE;
  with.max_tile_width = with.max_tile_height = MAX_TILE;
  bool ok = exr_start_read(&exr.context, file->path, &with) == EXR_ERR_SUCCESS &&
            read_header(&exr) && read_samples(&exr);
  if (!ok && !why[0])
    image_fail(why, "%s: the samples cannot be read", file->path);
  if (exr.context)
    exr_finish(&exr.context);
  if (!ok)
    image_clear(image);
  return ok;
}
