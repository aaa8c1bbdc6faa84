/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decode_output.h"

#include "tool_files.h"

#include <glib.h>
#include <string.h>

/*
 * The component of each plane of the file: colour 1 first, then colour 2 and so on by the channel
 * definition box (T.800 I.5.3.6); other components take the remaining places in their order.
 */
static uint32_t *order_of(const Cj2kImage *image)
{
  uint32_t n = image->num_components, next = 0;
  uint32_t *order = g_new(uint32_t, n);
  bool *placed = g_new0(bool, n);
  for (uint32_t i = 0; i < n; i++)
    order[i] = UINT32_MAX;
  for (uint32_t c = 0; c < n; c++) {
    uint32_t colour = image->channels[c].association;
    placed[c] = image->channels[c].type == 0 && colour >= 1 && colour <= n &&
                order[colour - 1] == UINT32_MAX;
    if (placed[c])
      order[colour - 1] = c;
  }
  for (uint32_t c = 0; c < n; c++) {
    if (placed[c])
      continue;
    while (order[next] != UINT32_MAX)
      next++;
    order[next] = c;
  }
  g_free(placed);
  return order;
}

/* The frame's planes as an image; no copy of samples. `channels` has room for one entry a plane. */
static Image image_of(const Cj2kFrame *frame, Cj2kChannel *channels)
{
  Image image = {.num_planes = frame->image.num_components,
                 .planes = g_new0(ImagePlane, frame->image.num_components),
                 .channels = channels,
                 .colour = frame->image.colour,
                 .colour_enum = frame->image.colour_enum,
                 .cicp = frame->image.cicp};
  uint32_t *order = order_of(&frame->image);
  for (uint32_t i = 0; i < image.num_planes; i++) {
    uint32_t c = order[i];
    const Cj2kComponent *component = &frame->image.components[c];
    channels[i] = frame->image.channels[c];
    image.planes[i] = (ImagePlane){.width = component->x1 - component->x0,
                                   .height = component->y1 - component->y0,
                                   .x0 = component->x0,
                                   .y0 = component->y0,
                                   .dx = component->dx,
                                   .dy = component->dy,
                                   .depth = frame->layout.samples[c].depth,
                                   .is_signed = component->is_signed,
                                   .bytes = frame->layout.samples[c].word_bytes,
                                   .pitch = frame->picture.planes[c].pitch,
                                   .data = frame->picture.planes[c].data};
  }
  g_free(order);
  return image;
}

/* The format by --output-format or the ending of the name. */
static ImageFormat format_of(const char *path, const char *output_format)
{
  char *name = g_strconcat(".", output_format ? output_format : "", NULL);
  ImageFormat format = image_format_of(output_format ? name : path);

  g_free(name);
  return format;
}

char *decode_file_name(const char *path, const char *output_format)
{
  size_t length = strlen(path);

  if (format_of(path, output_format) != IMAGE_PGX)
    return g_strdup(path);
  if (g_str_has_suffix(path, ".pgx"))
    length -= strlen(".pgx");
  return g_strdup_printf("%.*s_0.pgx", (int)length, path);
}

bool decode_write(const Cj2kFrame *frame, const char *path, const char *output_format, char *why)
{
  ImageFormat format = format_of(path, output_format);

  if (format == IMAGE_UNKNOWN && !strcmp(path, TOOL_NOWHERE))
    return true;
  if (format == IMAGE_UNKNOWN && !strcmp(path, "-"))
    format = IMAGE_PNM;
  Cj2kChannel *channels = g_new(Cj2kChannel, frame->image.num_components);
  Image image = image_of(frame, channels);
  bool ok = image_write_as(&image, path, format, why);
  image_clear(&image);
  g_free(channels);
  return ok;
}
