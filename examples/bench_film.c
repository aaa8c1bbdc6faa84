/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench_film.h"

#include <stdlib.h>

#define MARGIN_X 768 /* columns by which a made picture is wider than a frame */
#define MARGIN_Y 384
#define MOVE_X   16 /* pixels from frame to frame */
#define MOVE_Y   8
#define STEP     48 /* whole units of every packed format */

/* ------------------------------------------------------------------------ a made picture --- */

static uint32_t hash(uint32_t x, uint32_t y, uint32_t salt)
{
  uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca6bu ^ salt * 0xc2b2ae35u;
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  return h ^ h >> 15;
}

/* Noise whose values on a lattice of 1 << shift samples are interpolated, -128..127 times 256. */
static int32_t smooth(uint32_t x, uint32_t y, uint32_t shift, uint32_t salt)
{
  uint32_t cx = x >> shift, cy = y >> shift;
  int32_t fx = (int32_t)(x - (cx << shift)), fy = (int32_t)(y - (cy << shift));
  int32_t size = 1 << shift, v[4];
  for (uint32_t i = 0; i < 4; i++)
    v[i] = (int32_t)(hash(cx + i % 2, cy + i / 2, salt) & 255) - 128;
  int64_t top = (int64_t)v[0] * (size - fx) + (int64_t)v[1] * fx;
  int64_t bottom = (int64_t)v[2] * (size - fx) + (int64_t)v[3] * fx;
  return (int32_t)(((top * (size - fy) + bottom * fy) * 256) >> (2 * shift));
}

/* A sample of 10 bits: noise of all sizes, larger where it is coarser as in natural pictures, hard
 * edges of rectangles, and grain. */
static uint16_t sample(uint32_t x, uint32_t y, uint32_t component)
{
  int32_t value = 512 * 256;
  for (uint32_t shift = 2; shift <= 8; shift++)
    value += smooth(x, y, shift, shift + component * 16) * (1 << shift) / 160;
  if (hash(x >> 7, y >> 6, 77) % 5 == 0)
    value += (int32_t)(hash(x >> 7, y >> 6, 78) & 255) * 256 - 128 * 256;
  if (component == 0)
    value += ((int32_t)(hash(x, y, 79) & 15) - 8) * 256;
  return (uint16_t)CLAMP(value >> 8, 0, 1023);
}

typedef struct {
  Image *image;
  uint32_t component;
} Painting;

static void paint(gpointer data, gpointer user)
{
  Painting *painting = user;
  ImagePlane *plane = &painting->image->planes[painting->component];
  uint32_t y = GPOINTER_TO_UINT(data) - 1;
  uint16_t *row = (uint16_t *)(void *)((uint8_t *)plane->data + y * plane->pitch);
  for (uint32_t x = 0; x < plane->width; x++)
    row[x] = sample(x * plane->dx, y * plane->dy, painting->component);
}

/* 4:2:2, 10 bits. Rows are made on all cores. */
static void make_image(Image *image, uint32_t width, uint32_t height)
{
  *image = (Image){.num_planes = 3, .planes = g_new0(ImagePlane, 3), .colour = CJ2K_COLOUR_SYCC};
  uint8_t *at = image->memory = malloc((size_t)width * height * 4);
  for (uint32_t c = 0; c < 3 && at; c++) {
    uint8_t dx = c ? 2 : 1;
    image->planes[c] = (ImagePlane){.width = width / dx,
                                    .height = height,
                                    .dx = dx,
                                    .dy = 1,
                                    .depth = 10,
                                    .bytes = 2,
                                    .pitch = (size_t)width / dx * 2,
                                    .data = at};
    at += image->planes[c].pitch * height;
    Painting painting = {image, c};
    GThreadPool *pool =
        g_thread_pool_new(paint, &painting, (gint)g_get_num_processors(), FALSE, NULL);
    for (guint y = 0; y < height; y++)
      g_thread_pool_push(pool, GUINT_TO_POINTER(y + 1), NULL);
    g_thread_pool_free(pool, FALSE, TRUE);
  }
}

/* -------------------------------------------------------------------------------- frames --- */

/* Columns that are whole units of every component, and whole samples where it is sub-sampled. */
static uint32_t column_step(const Cj2kLayout *layout)
{
  for (uint32_t c = 0; c < layout->num_components; c++)
    if (layout->samples[c].unit_samples > 1)
      return STEP;
  return MOVE_X;
}

static void describe_frame(BenchFilm *film, uint32_t width, uint32_t height)
{
  uint32_t n = film->input.image.num_components;
  film->components = g_memdup2(film->input.components, n * sizeof *film->components);
  for (uint32_t c = 0; c < n; c++) {
    Cj2kComponent *component = &film->components[c];
    component->x1 = (width + component->dx - 1) / component->dx;
    component->y1 = (height + component->dy - 1) / component->dy;
  }
  film->image = film->input.image;
  film->image.width = width;
  film->image.height = height;
  film->image.components = film->components;
  film->step = column_step(&film->input.layout);
}

bool bench_film_open(BenchFilm *film, const EncodeOptions *options, const char *path,
                     uint32_t width, uint32_t height, char *why)
{
  *film = (BenchFilm){0};
  if (path) {
    if (!encode_input_read(&film->input, options, &options->params, path, why))
      return false;
  } else {
    Image image;
    make_image(&image, (width + 1) / 2 * 2 + MARGIN_X, height + MARGIN_Y);
    if (!image.memory) {
      image_clear(&image);
      return image_fail(why, "no memory for the moving picture");
    }
    encode_input_take(&film->input, &image);
  }
  const Cj2kEncoderImage *whole = &film->input.image;
  if (width > whole->width || height > whole->height)
    return image_fail(why, "%s: %u x %u is less than --size", path, whole->width, whole->height);
  describe_frame(film, width ? width : whole->width, height ? height : whole->height);
  return true;
}

bool bench_film_load(BenchFilm *film, Cj2kMemoryKind memory)
{
  const EncodeInput *input = &film->input;
  return bench_picture_new(&film->picture, &input->layout, input->components, memory) &&
         bench_picture_fill(&film->picture, &input->layout, input->components, input->planes);
}

/* A way to and fro of a point that moves `at` over a line of `length`. */
static uint32_t bounce(uint64_t at, uint32_t length)
{
  if (!length)
    return 0;
  uint32_t place = (uint32_t)(at % (2 * (uint64_t)length));
  return place <= length ? place : 2 * length - place;
}

void bench_film_frame(const BenchFilm *film, uint32_t stream, uint32_t number, Cj2kPlane *planes)
{
  const Cj2kLayout *layout = &film->input.layout;
  uint32_t shot = number / BENCH_FILM_SHOT + stream * 5, move = number % BENCH_FILM_SHOT;
  uint32_t x = bounce((uint64_t)shot * 1237 + (uint64_t)move * MOVE_X,
                      film->input.image.width - film->image.width);
  uint32_t y = bounce((uint64_t)shot * 619 + (uint64_t)move * MOVE_Y,
                      film->input.image.height - film->image.height);
  x -= x % film->step;
  y -= y % 4; /* whole rows of sub-sampled components */
  for (uint32_t c = 0; c < layout->num_components; c++) {
    const Cj2kSampleLayout *samples = &layout->samples[c];
    const Cj2kPlane *plane = &film->picture.picture.planes[samples->plane];
    size_t column =
        (size_t)(x / film->components[c].dx / samples->unit_samples) * samples->unit_bytes;
    EncodePlane size = encode_plane(layout, film->components, samples->plane);
    planes[samples->plane] = (Cj2kPlane){
        .data = (uint8_t *)plane->data + (y / film->components[c].dy) * plane->pitch + column,
        .pitch = plane->pitch,
        .row_bytes = size.row_bytes};
  }
}

void bench_film_close(BenchFilm *film)
{
  if (film->picture.memory)
    bench_picture_free(&film->picture);
  encode_input_clear(&film->input);
  g_free(film->components);
  *film = (BenchFilm){0};
}
