/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-compare: PSNR of two pictures of the same size, whole, by component and weighted, and both
 * side by side. */
#include "image.h"
#include "tool_locale.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

#define MAX_WEIGHTS 16

/* The difference of a component, relative to full range. */
typedef struct {
  double squares; /* sum of squared differences */
  uint64_t samples;
} Difference;

typedef struct {
  const char *out_path; /* NULL: none */
  bool components;      /* a line for each */
  double weights[MAX_WEIGHTS];
  uint32_t num_weights; /* 0: all samples count the same */
} Options;

static bool same_shape(const Image *a, const Image *b)
{
  if (a->num_planes != b->num_planes)
    return false;
  for (uint32_t c = 0; c < a->num_planes; c++)
    if (a->planes[c].width != b->planes[c].width || a->planes[c].height != b->planes[c].height ||
        a->planes[c].depth != b->planes[c].depth ||
        a->planes[c].is_signed != b->planes[c].is_signed)
      return false;
  return true;
}

static double value_of(const ImagePlane *plane, int32_t sample)
{
  return plane->is_signed ? (double)sample : (double)(uint32_t)sample; /* of up to 32 bits */
}

/* Compares a plane of each and copies them side by side into `out`, unless that is NULL. */
static void compare_plane(const ImagePlane *a, const ImagePlane *b, const ImagePlane *out,
                          Difference *difference)
{
  uint32_t second = out ? out->width - b->width : a->width; /* where the row of b begins */
  int32_t *rows = g_new(int32_t, (size_t)second + b->width);
  double peak = ldexp(1, a->depth) - 1, squares = 0;
  for (uint32_t y = 0; y < a->height; y++) {
    image_get_row(a, y, a->width, rows);
    image_get_row(b, y, b->width, rows + second);
    for (uint32_t x = a->width; x < second; x++)
      rows[x] = rows[a->width - 1];
    for (uint32_t x = 0; x < a->width; x++) {
      double d = value_of(a, rows[x]) - value_of(b, rows[second + x]);
      squares += d * d;
    }
    if (out)
      image_put_row(out, y, out->width, rows);
  }
  *difference = (Difference){squares / (peak * peak), (uint64_t)a->width * a->height};
  g_free(rows);
}

/* Mean squared error of all components. With weights each component's mean counts by its weight,
 * else each sample counts the same. */
static double mean_square(const Difference *differences, uint32_t count, const Options *options)
{
  double sum = 0, all = 0;

  for (uint32_t c = 0; c < count; c++) {
    double samples = (double)differences[c].samples;
    double weight = options->num_weights ? options->weights[c] / samples : 1;
    sum += differences[c].squares * weight;
    all += samples * weight;
  }
  return sum / all;
}

static void print_psnr(double mse)
{
  if (mse > 0)
    printf("%.2f dB\n", -10 * log10(mse));
  else
    printf("identical\n");
}

static void print_differences(const Difference *differences, uint32_t count, const Options *options)
{
  print_psnr(mean_square(differences, count, options));
  for (uint32_t c = 0; options->components && c < count; c++) {
    printf("component %u: ", c);
    print_psnr(differences[c].squares / (double)differences[c].samples);
  }
}

/* The column of component 0 at which the second picture begins: the first one behind the first
 * picture at which every component has a sample. */
static uint64_t second_column(const Image *a)
{
  uint64_t step = 1, width = a->planes[0].width; /* step: a multiple of every sub-sampling */

  for (uint32_t c = 0; c < a->num_planes && step <= UINT32_MAX; c++) {
    uint64_t multiple = step;
    while (multiple % MAX(a->planes[c].dx, 1))
      multiple += step;
    step = multiple;
  }
  return (width + step - 1) / step * step;
}

/* Allocates a picture that has room for two like `a` side by side, each plane of its own size and
 * depth. */
static bool alloc_pair(Image *out, const Image *a, const char *path, char *why)
{
  uint64_t begin = second_column(a), size = 0;

  if (begin + a->planes[0].width > UINT32_MAX)
    return image_fail(why, "%s: both pictures are too wide side by side", path);
  *out = (Image){.num_planes = a->num_planes, .planes = g_new0(ImagePlane, a->num_planes)};
  for (uint32_t c = 0; c < a->num_planes; c++) {
    ImagePlane *plane = &out->planes[c];
    *plane = a->planes[c];
    plane->width += (uint32_t)(begin / plane->dx);
    plane->pitch = (size_t)plane->width * plane->bytes;
    size += plane->pitch * plane->height;
  }
  out->memory = malloc(MAX(size, 1));
  uint8_t *data = out->memory;
  for (uint32_t c = 0; data && c < a->num_planes; c++) {
    out->planes[c].data = data;
    data += out->planes[c].pitch * out->planes[c].height;
  }
  out->colour = a->colour;
  return data || image_fail(why, "%s: no memory for %llu bytes", path, (unsigned long long)size);
}

static bool compare(const Image *a, const Image *b, const Options *options, char *why)
{
  Image out = {0};
  if (!same_shape(a, b))
    return image_fail(why, "the pictures differ in size, depth, sign or number of components");
  if (options->num_weights && options->num_weights != a->num_planes)
    return image_fail(why, "%u weights for %u components", options->num_weights, a->num_planes);
  if (options->out_path && !alloc_pair(&out, a, options->out_path, why)) {
    image_clear(&out);
    return false;
  }
  Difference *differences = g_new(Difference, a->num_planes);
  for (uint32_t c = 0; c < a->num_planes; c++)
    compare_plane(&a->planes[c], &b->planes[c], options->out_path ? &out.planes[c] : NULL,
                  &differences[c]);
  bool ok = !options->out_path || image_write(&out, options->out_path, why);
  image_clear(&out);
  if (ok)
    print_differences(differences, a->num_planes, options);
  g_free(differences);
  return ok;
}

/* Reads numbers such as "1,6,1", not all of them 0. */
static bool parse_weights(const char *text, Options *options)
{
  double sum = 0;

  for (const char *at = text;; at++) {
    char *end;
    if (options->num_weights == MAX_WEIGHTS)
      return false;
    double weight = g_ascii_strtod(at, &end);
    if (end == at || !(weight >= 0 && weight <= 1e6))
      return false;
    options->weights[options->num_weights++] = weight;
    sum += weight;
    at = end;
    if (!*at)
      return sum > 0;
    if (*at != ',')
      return false;
  }
}

/* Parses the command line. false: wrong options; the reason was printed. */
static bool parse(int *argc, char ***argv, gboolean *version, Options *options)
{
  gboolean components = FALSE;
  char *weights = NULL;
  const GOptionEntry entries[] = {
      {"components", 'c', 0, G_OPTION_ARG_NONE, &components, "Print the PSNR of each component too",
       NULL},
      {"weights", 'w', 0, G_OPTION_ARG_STRING, &weights,
       "What the mean squared error of each component counts, such as 1,6,1 for X'Y'Z' or 6,1,1 "
       "for Y'CbCr",
       "W,W,W"},
      {"version", 0, 0, G_OPTION_ARG_NONE, version, "Print the version", NULL},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("A B [OUT]");
  GError *error = NULL;
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_set_summary(
      context,
      "Compare two pictures of the same size.\n"
      "\n"
      "Prints the PSNR over all components, such as \"41.25 dB\", or \"identical\". Components of\n"
      "different weight give a weighted PSNR: of X'Y'Z' the second one is luminance. OUT gets\n"
      "both pictures side by side. The files are what cj2k-encode reads and cj2k-decode\n"
      "writes.");
  g_option_context_set_description(context, "Exit status:\n"
                                            "  0  compared\n"
                                            "  1  not comparable; the reason is on standard error\n"
                                            "  2  wrong options");
  bool ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  bool weighted = !weights || parse_weights(weights, options);
  options->components = components;
  options->out_path = *argc > 3 ? (*argv)[3] : NULL;
  g_free(weights);
  if (ok && weighted && (*version || *argc == 3 || *argc == 4))
    return true;
  fprintf(stderr, "cj2k-compare: %s\nTry cj2k-compare --help.\n",
          !ok         ? error->message
          : !weighted ? "--weights: a list of numbers in 0..1000000, not all 0, is expected"
                      : "two pictures are needed");
  g_clear_error(&error);
  return false;
}

int main(int argc, char **argv)
{
  char why[IMAGE_WHY];
  Image a = {0}, b = {0};
  gboolean version = FALSE;
  Options options = {0};
  tool_begin();
  if (!parse(&argc, &argv, &version, &options))
    return 2;
  if (version) {
    printf("cj2k-compare %s\n", cj2k_version());
    return 0;
  }
  bool ok = image_read(&a, argv[1], why) && image_read(&b, argv[2], why) &&
            compare(&a, &b, &options, why);
  if (!ok)
    fprintf(stderr, "cj2k-compare: %s\n", why);
  image_clear(&a);
  image_clear(&b);
  return ok ? 0 : 1;
}
