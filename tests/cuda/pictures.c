/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pictures.h"

#include "common/samples/layout.h"

#include <glib.h>
#include <string.h>

#define GUARD 0xA5 /* initial value of every byte of a target */

/* ------------------------------------------------------------------------------- layouts --- */

#define PLANAR(plane, bytes, depth)                                                                \
  {                                                                                                \
    plane, bytes, 1, bytes, false, false, depth,                                                   \
    {                                                                                              \
      {                                                                                            \
        0, 0                                                                                       \
      }                                                                                            \
    }                                                                                              \
  }
#define PLANAR_BE(plane, bytes, depth)                                                             \
  {                                                                                                \
    plane, bytes, 1, bytes, true, false, depth,                                                    \
    {                                                                                              \
      {                                                                                            \
        0, 0                                                                                       \
      }                                                                                            \
    }                                                                                              \
  }
#define PACKED8(at, of)                                                                            \
  {                                                                                                \
    0, of, 1, 1, false, false, 8,                                                                  \
    {                                                                                              \
      {                                                                                            \
        at, 0                                                                                      \
      }                                                                                            \
    }                                                                                              \
  }

static const Format formats[] = {
    {"grey8", 1, 1, 1, 8, false, CJ2K_COLOUR_GREY, {PLANAR(0, 1, 8)}},
    {"grey16", 1, 1, 1, 16, false, CJ2K_COLOUR_GREY, {PLANAR(0, 2, 16)}},
    {"grey12-signed",
     1,
     1,
     1,
     12,
     true,
     CJ2K_COLOUR_GREY,
     {{0, 2, 1, 2, false, true, 12, {{0, 0}}}}},
    {"rgb8",
     3,
     3,
     1,
     8,
     false,
     CJ2K_COLOUR_SRGB,
     {PLANAR(0, 1, 8), PLANAR(1, 1, 8), PLANAR(2, 1, 8)}},
    {"rgb12",
     3,
     3,
     1,
     12,
     false,
     CJ2K_COLOUR_SRGB,
     {PLANAR(0, 2, 12), PLANAR(1, 2, 12), PLANAR(2, 2, 12)}},
    {"rgb12-be",
     3,
     3,
     1,
     12,
     false,
     CJ2K_COLOUR_SRGB,
     {PLANAR_BE(0, 2, 12), PLANAR_BE(1, 2, 12), PLANAR_BE(2, 2, 12)}},
    {"rgb8-packed",
     3,
     1,
     1,
     8,
     false,
     CJ2K_COLOUR_SRGB,
     {PACKED8(0, 3), PACKED8(1, 3), PACKED8(2, 3)}},
    {"rgba8-packed",
     4,
     1,
     1,
     8,
     false,
     CJ2K_COLOUR_SRGB,
     {PACKED8(0, 4), PACKED8(1, 4), PACKED8(2, 4), PACKED8(3, 4)}},
    {"yuv422p10",
     3,
     3,
     2,
     10,
     false,
     CJ2K_COLOUR_SYCC,
     {PLANAR(0, 2, 10), PLANAR(1, 2, 10), PLANAR(2, 2, 10)}},
    {"yuv420p8",
     3,
     3,
     2,
     8,
     false,
     CJ2K_COLOUR_SYCC,
     {PLANAR(0, 1, 8), PLANAR(1, 1, 8), PLANAR(2, 1, 8)},
     2},
    {"uyvy",
     3,
     1,
     2,
     8,
     false,
     CJ2K_COLOUR_SYCC,
     {{0, 4, 2, 1, false, false, 8, {{1, 0}, {3, 0}}}, PACKED8(0, 4), PACKED8(2, 4)}},
    {"v210",
     3,
     1,
     2,
     10,
     false,
     CJ2K_COLOUR_SYCC,
     {{0, 16, 6, 4, false, false, 10, {{0, 10}, {4, 0}, {4, 20}, {8, 10}, {12, 0}, {12, 20}}},
      {0, 16, 3, 4, false, false, 10, {{0, 0}, {4, 10}, {8, 20}}},
      {0, 16, 3, 4, false, false, 10, {{0, 20}, {8, 0}, {12, 10}}}}},
    {"uyvp",
     3,
     1,
     2,
     10,
     false,
     CJ2K_COLOUR_SYCC,
     {{0, 5, 2, 2, true, false, 10, {{1, 4}, {3, 0}}},
      {0, 5, 1, 2, true, false, 10, {{0, 6}}},
      {0, 5, 1, 2, true, false, 10, {{2, 2}}}}},
};

const Format *find_format(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
    if (!strcmp(formats[i].name, name))
      return &formats[i];
  g_error("no format %s", name);
}

/* ----------------------------------------------------------------------------- pictures --- */

/* A pattern with edges and grain, similar to a photograph. */
static uint32_t pixel(uint32_t x, uint32_t y, uint32_t c, uint32_t depth, double grain,
                      uint32_t *noise)
{
  double top = (double)((1u << (depth - 1)) - 1);
  *noise = *noise * 1664525u + 1013904223u;
  uint32_t wave = (x * (3 + c) + y * 5) % 257 * 40 + ((x / 23 + y / 17) & 1) * 9000;
  double value = (wave % 20000) / 20000.0 * top * 1.4 + (*noise >> 20) / 4096.0 * top * grain;
  return (uint32_t)MIN(value, 2 * top);
}

static void set_sample(const Cj2kSampleLayout *layout, uint8_t *row, uint32_t x, uint32_t value)
{
  uint32_t j = x % layout->unit_samples, bytes = layout->word_bytes;
  uint8_t *at = row + x / layout->unit_samples * layout->unit_bytes + layout->at[j].offset;
  value <<= layout->at[j].shift;
  for (uint32_t i = 0; i < bytes; i++)
    at[layout->big_endian ? bytes - 1 - i : i] |= (uint8_t)(value >> 8 * i);
}

/* Sub-sampling of a component: XRsiz and YRsiz. */
static uint32_t sub_sampling_x(const Format *format, uint32_t c)
{
  return c == 1 || c == 2 ? format->dx : 1;
}

static uint32_t sub_sampling_y(const Format *format, uint32_t c)
{
  return c == 1 || c == 2 ? MAX(format->dy, 1) : 1;
}

void picture_kind_init(PictureKind *kind, const Format *format, uint32_t width, uint32_t height)
{
  *kind = (PictureKind){.image = {.width = width,
                                  .height = height,
                                  .num_components = format->num_components,
                                  .components = kind->components,
                                  .colour = format->colour},
                        .layout = {.num_components = format->num_components,
                                   .num_planes = format->num_planes,
                                   .samples = format->samples}};
  for (uint32_t c = 0; c < format->num_components; c++)
    kind->components[c] = (Cj2kComponent){.dx = sub_sampling_x(format, c),
                                          .dy = sub_sampling_y(format, c),
                                          .depth = format->depth,
                                          .is_signed = format->is_signed};
}

void picture_init(Picture *picture, const Format *format, uint32_t width, uint32_t height)
{
  picture_init_view(picture, format, width, height, &(View){0, 0, 1, 0.1});
}

void picture_init_view(Picture *picture, const Format *format, uint32_t width, uint32_t height,
                       const View *view)
{
  uint32_t noise = view->seed;

  picture->picture = (Cj2kPicture){CJ2K_MEMORY_HOST, format->num_planes, picture->planes};
  for (uint32_t p = 0; p < format->num_planes; p++) {
    /* Pitches that are and that are not multiples of 16 are uploaded differently. */
    picture->planes[p] = (Cj2kPlane){.pitch = width * 4 + 32 + (height % 3 ? 0 : 6)};
    picture->planes[p].data = g_malloc0(picture->planes[p].pitch * height);
  }
  for (uint32_t c = 0; c < format->num_components; c++) {
    const Cj2kSampleLayout *layout = &format->samples[c];
    const Cj2kPlane *plane = &picture->planes[layout->plane];
    uint32_t dx = sub_sampling_x(format, c), columns = (width + dx - 1) / dx;
    uint32_t dy = sub_sampling_y(format, c), rows = (height + dy - 1) / dy;
    for (uint32_t y = 0; y < rows; y++)
      for (uint32_t x = 0; x < columns; x++) {
        uint32_t value =
            pixel(view->x / dx + x, view->y / dy + y, c, layout->depth, view->grain, &noise);
        if (format->is_signed)
          value = (value - (1u << (layout->depth - 1))) &
                  (uint32_t)((UINT64_C(1) << 8 * layout->word_bytes) - 1);
        set_sample(layout, (uint8_t *)plane->data + y * plane->pitch, x, value);
      }
  }
}

void picture_clear(Picture *picture)
{
  for (uint32_t p = 0; p < picture->picture.num_planes; p++)
    g_free(picture->planes[p].data);
}

/* ------------------------------------------------------------------------------ targets --- */

void target_init(Target *target, const Cj2kLayout *layout, const Cj2kComponent *components,
                 uint32_t num_components, uint32_t more)
{
  uint64_t *pitch = g_new0(uint64_t, layout->num_planes);
  uint32_t *rows = g_new0(uint32_t, layout->num_planes);
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const Cj2kComponent *like = &components[c < num_components ? c : 0];
    uint32_t p = layout->samples[c].plane;
    uint64_t bytes = cj2k_layout_row_bytes(&layout->samples[c], like->x1 - like->x0);
    bytes = more == TARGET_TIGHT ? cj2k_layout_least_bytes(&layout->samples[c], like->x1 - like->x0)
                                 : ((bytes + 31) & ~(uint64_t)31) + more;
    pitch[p] = MAX(pitch[p], bytes);
    rows[p] = MAX(rows[p], like->y1 - like->y0);
  }
  target->size = 0;
  for (uint32_t p = 0; p < layout->num_planes; p++)
    target->size += pitch[p] * rows[p];
  target->memory = g_malloc(target->size + 1);
  memset(target->memory, GUARD, target->size);
  target->planes = g_new0(Cj2kPlane, layout->num_planes);
  uint8_t *at = target->memory;
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    target->planes[p] = (Cj2kPlane){.data = at, .pitch = pitch[p]};
    at += pitch[p] * rows[p];
  }
  g_free(pitch);
  g_free(rows);
}

void target_clear(Target *target)
{
  g_free(target->memory);
  g_free(target->planes);
}
