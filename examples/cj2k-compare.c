/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cj2k-compare A B [OUT]: PSNR of two pictures of the same size, in dB over all components, on
 * standard output; OUT gets both side by side. Files as cj2k-encode reads and cj2k-decode writes
 * them. Exit status 0, 1 when they cannot be compared, 2 usage.
 */
#include "image.h"

#include <glib.h>
#include <math.h>

typedef struct {
  double squares; /* sum of squared differences */
  uint64_t samples;
} Difference;

static bool same_shape(const Image *a, const Image *b)
{
  if (a->num_planes != b->num_planes)
    return false;
  for (uint32_t c = 0; c < a->num_planes; c++)
    if (a->planes[c].width != b->planes[c].width || a->planes[c].height != b->planes[c].height ||
        a->planes[c].depth != b->planes[c].depth)
      return false;
  return true;
}

/* One plane of each, into the two halves of `out` (NULL: only compared). */
static void compare_plane(const ImagePlane *a, const ImagePlane *b, ImagePlane *out,
                          Difference *difference)
{
  int32_t *rows = g_new(int32_t, 2 * (size_t)a->width);
  for (uint32_t y = 0; y < a->height; y++) {
    image_get_row(a, y, a->width, rows);
    image_get_row(b, y, b->width, rows + a->width);
    for (uint32_t x = 0; x < a->width; x++) {
      double d = (double)rows[x] - rows[a->width + x];
      difference->squares += d * d;
    }
    if (out)
      image_put_row(out, y, 2 * a->width, rows);
  }
  difference->samples += (uint64_t)a->width * a->height;
  g_free(rows);
}

static bool compare(const Image *a, const Image *b, const char *out_path, char *why)
{
  Image out = {0};
  Difference difference = {0};
  const ImagePlane *first = &a->planes[0];
  if (!same_shape(a, b))
    return image_fail(why, "the pictures differ in size, depth or number of components");
  if (out_path && !image_alloc(&out, a->num_planes, 2 * first->width, first->height, first->depth,
                               first->is_signed, why))
    return false;
  for (uint32_t c = 0; c < a->num_planes; c++)
    compare_plane(&a->planes[c], &b->planes[c], out_path ? &out.planes[c] : NULL, &difference);
  out.colour = a->colour;
  bool ok = !out_path || image_write(&out, out_path, why);
  image_clear(&out);
  if (!ok)
    return false;
  double peak = ldexp(1, first->depth) - 1, mse = difference.squares / (double)difference.samples;
  if (mse > 0)
    printf("%.2f dB\n", 10 * log10(peak * peak / mse));
  else
    printf("identical\n");
  return true;
}

int main(int argc, char **argv)
{
  char why[IMAGE_WHY];
  Image a = {0}, b = {0};
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: cj2k-compare A B [OUT]\n");
    return 2;
  }
  bool ok = image_read(&a, argv[1], why) && image_read(&b, argv[2], why) &&
            compare(&a, &b, argc > 3 ? argv[3] : NULL, why);
  if (!ok)
    fprintf(stderr, "cj2k-compare: %s\n", why);
  image_clear(&a);
  image_clear(&b);
  return ok ? 0 : 1;
}
