/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image_rgb.h"

#include <glib.h>
#include <string.h>

/* The plane of colour `number` (1, 2, 3) by its channel definition; without one plane number - 1.
 */
static uint32_t find_colour(const Image *image, uint32_t number)
{
  for (uint32_t i = 0; image->channels && i < image->num_planes; i++) {
    if (image->channels[i].type == CJ2K_CHANNEL_COLOUR && image->channels[i].association == number)
      return i;
  }
  return number - 1;
}

static bool is_alpha(const Cj2kChannel *channel)
{
  return channel->type == CJ2K_CHANNEL_OPACITY || channel->type == CJ2K_CHANNEL_PREMULTIPLIED;
}

/*
 * The plane of alpha, preferably that of the whole image; UINT32_MAX: none. Without a channel
 * definition a second plane beside grey and a fourth beside three colours are alpha, as in other
 * decoders and in the element cudaj2kdec, unless the colour space has four colours.
 */
static uint32_t find_alpha(const Image *image)
{
  uint32_t found = UINT32_MAX, last = image->num_planes - 1;
  for (uint32_t i = 0; image->channels && i <= last; i++)
    if (is_alpha(&image->channels[i]) && (found > last || !image->channels[i].association))
      found = i;
  bool by_number = (image->num_planes == 2 || image->num_planes == 4) &&
                   image->colour != CJ2K_COLOUR_OTHER && found > last &&
                   find_colour(image, image->num_planes) == last;
  return by_number ? last : found;
}

/* Whether the image is YCbCr: by its colour space or, where that is unknown, because the second and
 * third component have fewer samples than the first. */
static bool is_ycc(const Image *image, const uint32_t *plane_of)
{
  const ImagePlane *y = &image->planes[plane_of[0]], *cb = &image->planes[plane_of[1]],
                   *cr = &image->planes[plane_of[2]];
  if (image->colour == CJ2K_COLOUR_SYCC)
    return true;
  return image->colour == CJ2K_COLOUR_UNKNOWN && y->dx == 1 && y->dy == 1 && cb->dx > 1 &&
         cb->dx == cr->dx && cb->dy == cr->dy;
}

void image_rgb_open(ImageRgb *rgb, const Image *image, bool with_alpha)
{
  memset(rgb, 0, sizeof *rgb);
  rgb->image = image;
  uint32_t alpha = find_alpha(image);
  uint32_t colours = image->num_planes - (alpha != UINT32_MAX ? 1 : 0) >= 3 ? 3 : 1;
  for (uint32_t i = 0; i < colours; i++)
    rgb->plane_of[i] = MIN(find_colour(image, i + 1), image->num_planes - 1);
  rgb->num_channels = colours;
  if (with_alpha && alpha != UINT32_MAX && image->num_planes > 1) {
    rgb->plane_of[rgb->num_channels++] = alpha;
    rgb->alpha_type = image->channels ? image->channels[alpha].type : CJ2K_CHANNEL_OPACITY;
    rgb->premultiplied = rgb->alpha_type == CJ2K_CHANNEL_PREMULTIPLIED;
  }
  rgb->ycc = colours == 3 && is_ycc(image, rgb->plane_of);

  const ImagePlane *first = &image->planes[rgb->plane_of[0]];
  rgb->width = first->width;
  rgb->height = first->height;
  uint32_t widest = 1;
  for (uint32_t i = 0; i < rgb->num_channels; i++) {
    rgb->depth = MAX(rgb->depth, MIN(image->planes[rgb->plane_of[i]].depth, 16));
    rgb->rows[i] = g_new0(int32_t, MAX(rgb->width, 1));
    widest = MAX(widest, image->planes[rgb->plane_of[i]].width);
  }
  rgb->samples = g_new(int32_t, widest);
}

/* Maps position i of the first plane to a plane of other sub-sampling, in one dimension
 * (T.800 B.2). */
static uint32_t map_position(uint32_t i, uint32_t first_start, uint8_t first_step, uint32_t start,
                             uint8_t step, uint32_t count)
{
  uint64_t at = ((uint64_t)i + first_start) * first_step / step;
  at = at > start ? at - start : 0;
  return (uint32_t)MIN(at, count - 1);
}

uint32_t image_rgb_stretch(uint32_t v, unsigned depth, unsigned bits)
{
  uint32_t result = v << (bits - depth);
  for (unsigned done = depth; done < bits; done += depth)
    result |= done + depth <= bits ? v << (bits - depth - done) : v >> (done + depth - bits);
  return result;
}

/* Reads a row of a plane on the grid of the first plane, as unsigned samples of rgb->depth bits. */
static void fetch_row(const ImageRgb *rgb, const ImagePlane *plane, uint32_t y, int32_t *row)
{
  const ImagePlane *first = &rgb->image->planes[rgb->plane_of[0]];
  if (!plane->width || !plane->height)
    return;
  image_get_row(plane, map_position(y, first->y0, first->dy, plane->y0, plane->dy, plane->height),
                plane->width, rgb->samples);
  uint32_t half = plane->is_signed ? UINT32_C(1) << (plane->depth - 1) : 0;
  unsigned depth = MIN(plane->depth, rgb->depth), down = plane->depth - depth;
  bool same_grid = plane->x0 == first->x0 && plane->dx == first->dx && plane->width == rgb->width;
  for (uint32_t x = 0; x < rgb->width; x++) {
    uint32_t at = x;
    if (!same_grid)
      at = map_position(x, first->x0, first->dx, plane->x0, plane->dx, plane->width);
    row[x] =
        (int32_t)image_rgb_stretch(((uint32_t)rgb->samples[at] + half) >> down, depth, rgb->depth);
  }
}

/* sYCC (IEC 61966-2-1 amendment 1) to RGB, in place. */
static void ycc_row(const ImageRgb *rgb)
{
  int32_t half = 1 << (rgb->depth - 1), max_value = (1 << rgb->depth) - 1;
  for (uint32_t x = 0; x < rgb->width; x++) {
    int32_t y = rgb->rows[0][x], cb = rgb->rows[1][x] - half, cr = rgb->rows[2][x] - half;
    int32_t r = y + (int32_t)(1.402 * cr), b = y + (int32_t)(1.772 * cb);
    int32_t g = y - (int32_t)(0.344 * cb + 0.714 * cr);
    rgb->rows[0][x] = CLAMP(r, 0, max_value);
    rgb->rows[1][x] = CLAMP(g, 0, max_value);
    rgb->rows[2][x] = CLAMP(b, 0, max_value);
  }
}

/* Divides premultiplied colours by alpha, in place. */
static void divide_row(const ImageRgb *rgb)
{
  const int32_t *alpha = rgb->rows[rgb->num_channels - 1];
  int64_t max_value = (1 << rgb->depth) - 1;
  for (uint32_t i = 0; i + 1 < rgb->num_channels; i++)
    for (uint32_t x = 0; x < rgb->width; x++) {
      int64_t v = alpha[x] > 0 ? (rgb->rows[i][x] * max_value + alpha[x] / 2) / alpha[x] : 0;
      rgb->rows[i][x] = (int32_t)MIN(v, max_value);
    }
}

void image_rgb_row(ImageRgb *rgb, uint32_t y, uint16_t *out)
{
  for (uint32_t i = 0; i < rgb->num_channels; i++)
    fetch_row(rgb, &rgb->image->planes[rgb->plane_of[i]], y, rgb->rows[i]);
  if (rgb->ycc)
    ycc_row(rgb);
  if (rgb->premultiplied)
    divide_row(rgb);
  for (uint32_t i = 0; i < rgb->num_channels; i++)
    for (uint32_t x = 0; x < rgb->width; x++)
      out[(size_t)x * rgb->num_channels + i] = (uint16_t)rgb->rows[i][x];
}

void image_rgb_close(ImageRgb *rgb)
{
  for (uint32_t i = 0; i < 4; i++)
    g_free(rgb->rows[i]);
  g_free(rgb->samples);
}
