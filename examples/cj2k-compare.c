/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-compare: PSNR of two pictures of the same size, and both side by side. */
#include "image.h"
#include "tool_locale.h"

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

/* Compares a plane of each and copies them side by side into `out`, unless that is NULL. */
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
  ImageShape shape = {a->num_planes, 2 * first->width, first->height, first->depth,
                      first->is_signed};
  if (out_path && !image_alloc(&out, shape, out_path, why))
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

/* Parses the command line. false: wrong options; the reason was printed. */
static bool parse(int *argc, char ***argv, gboolean *version)
{
  const GOptionEntry entries[] = {
      {"version", 0, 0, G_OPTION_ARG_NONE, version, "Print the version", NULL},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("A B [OUT]");
  GError *error = NULL;
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_set_summary(
      context,
      "Compare two pictures of the same size.\n"
      "\n"
      "Prints the PSNR over all components, such as \"41.25 dB\", or \"identical\". OUT gets\n"
      "both pictures side by side. The files are what cj2k-encode reads and cj2k-decode\n"
      "writes.");
  g_option_context_set_description(context, "Exit status:\n"
                                            "  0  compared\n"
                                            "  1  not comparable; the reason is on standard error\n"
                                            "  2  wrong options");
  bool ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  if (ok && (*version || *argc == 3 || *argc == 4))
    return true;
  fprintf(stderr, "cj2k-compare: %s\nTry cj2k-compare --help.\n",
          ok ? "two pictures are needed" : error->message);
  g_clear_error(&error);
  return false;
}

int main(int argc, char **argv)
{
  char why[IMAGE_WHY];
  Image a = {0}, b = {0};
  gboolean version = FALSE;
  tool_set_locale();
  if (!parse(&argc, &argv, &version))
    return 2;
  if (version) {
    printf("cj2k-compare %s\n", cj2k_version());
    return 0;
  }
  bool ok = image_read(&a, argv[1], why) && image_read(&b, argv[2], why) &&
            compare(&a, &b, argc > 3 ? argv[3] : NULL, why);
  if (!ok)
    fprintf(stderr, "cj2k-compare: %s\n", why);
  image_clear(&a);
  image_clear(&b);
  return ok ? 0 : 1;
}
