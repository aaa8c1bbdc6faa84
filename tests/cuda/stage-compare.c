/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage-compare.h"

#include "common/samples/pack.h"
#include "tests/unit/header-words.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const orientations[] = {"LL", "HL", "LH", "HH"};

static bool report(Comparison *c, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool report(Comparison *c, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(c->why, sizeof c->why, format, args);
  va_end(args);
  return false;
}

/* ----------------------------------------------------------- coefficients, low-pass images --- */

/* A rectangle in an array of samples. */
typedef struct {
  uint64_t offset;
  uint32_t width, height, stride;
} Area;

/* The position of the first difference; false: there is none. */
static bool find_difference(const Area *area, const uint32_t *a, const uint32_t *b, uint32_t *x,
                            uint32_t *y)
{
  a += area->offset;
  b += area->offset;
  for (*y = 0; *y < area->height; ++*y, a += area->stride, b += area->stride)
    if (area->width && memcmp(a, b, area->width * sizeof *a) != 0)
      for (*x = 0; *x < area->width; ++*x)
        if (a[*x] != b[*x])
          return true;
  return false;
}

/* Formats a value as a number of its type, floats with their bits. */
static void print_value(char text[48], uint32_t bits, bool reversible)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  if (reversible)
    snprintf(text, 48, "%d", (int32_t)bits);
  else
    snprintf(text, 48, "%.9g (0x%08x)", value, bits);
}

static bool report_sample(Comparison *c, const char *where, const Area *area, uint32_t x,
                          uint32_t y, const uint32_t *a, const uint32_t *b, bool reversible)
{
  uint64_t at = area->offset + (uint64_t)y * area->stride + x;
  char values[2][48];
  print_value(values[0], a[at], reversible);
  print_value(values[1], b[at], reversible);
  return report(c, "%s, x %u, y %u of %u x %u: %s %s, %s %s", where, x, y, area->width,
                area->height, c->names[0], values[0], c->names[1], values[1]);
}

/* The code-block that contains a coefficient of a band. */
static uint32_t block_at(const Cj2kPlan *plan, uint32_t band, uint32_t x, uint32_t y)
{
  uint32_t b = 0;
  for (; b < plan->num_blocks; b++) {
    const Cj2kPlanBlock *block = &plan->blocks[b];
    if (block->band == band && x - block->x < block->width && y - block->y < block->height)
      break;
  }
  return b;
}

static char *band_name(const Cj2kPlan *plan, uint32_t index)
{
  const Cj2kPlanBand *band = &plan->bands[index];
  const Cj2kPlanTileComp *tc = &plan->tile_comps[band->tile_comp];
  return g_strdup_printf("tile-component %u (tile %u, component %u), band %s of resolution %u",
                         band->tile_comp, tc->tile, tc->component, orientations[band->orientation],
                         band->resolution);
}

bool compare_coefficients(Comparison *c, const SlotArrays arrays[2])
{
  const Cj2kPlan *plan = c->plan;
  for (uint32_t i = 0; i < plan->num_bands; i++) {
    const Cj2kPlanBand *band = &plan->bands[i];
    Area area = {band->offset, band->rect.x1 - band->rect.x0, band->rect.y1 - band->rect.y0,
                 band->stride};
    uint32_t x, y;
    if (band->offset == UINT64_MAX ||
        !find_difference(&area, arrays[0].coefficients, arrays[1].coefficients, &x, &y))
      continue;
    char *name = band_name(plan, i);
    char *where = g_strdup_printf("%s, block %u", name, block_at(plan, i, x, y));
    report_sample(c, where, &area, x, y, arrays[0].coefficients, arrays[1].coefficients,
                  band->reversible);
    g_free(where);
    g_free(name);
    return false;
  }
  return true;
}

bool compare_lowpass(Comparison *c, const SlotArrays arrays[2])
{
  const Cj2kPlan *plan = c->plan;
  for (uint32_t i = 0; i < plan->num_tile_comps; i++)
    for (uint32_t r = 1; r < plan->tile_comps[i].reduced_levels; r++) {
      const Cj2kPlanTileComp *tc = &plan->tile_comps[i];
      const Cj2kPlanResolution *res = &plan->resolutions[tc->first_resolution + r];
      Area area = {res->offset, res->rect.x1 - res->rect.x0, res->rect.y1 - res->rect.y0,
                   res->stride};
      uint32_t x, y;
      if (!find_difference(&area, arrays[0].lowpass, arrays[1].lowpass, &x, &y))
        continue;
      char *where =
          g_strdup_printf("tile-component %u (tile %u, component %u), image of resolution %u", i,
                          tc->tile, tc->component, r);
      report_sample(c, where, &area, x, y, arrays[0].lowpass, arrays[1].lowpass, tc->reversible);
      g_free(where);
      return false;
    }
  return true;
}

/* ------------------------------------------------------------------------- blocks --- */

/* Reports that a number of block b differs; returns false. */
static bool report_number(Comparison *c, uint32_t b, const char *what, uint64_t first,
                          uint64_t second)
{
  const Cj2kPlanBlock *block = &c->plan->blocks[b];
  char *band = band_name(c->plan, block->band);
  report(c,
         "%s, block %u at x %u, y %u (%u x %u), %s: %s %" G_GUINT64_FORMAT
         ", %s %" G_GUINT64_FORMAT,
         band, b, block->x, block->y, block->width, block->height, what, c->names[0],
         (guint64)first, c->names[1], (guint64)second);
  g_free(band);
  return false;
}

bool compare_estimate(Comparison *c, const Cj2kEncodeResult results[2])
{
  if (!memcmp(results[0].estimates, results[1].estimates, sizeof results[0].estimates))
    return true;
  uint32_t i = 0;
  while (results[0].estimates[i] == results[1].estimates[i])
    i++;
  report(c, "estimate %u: %s %" G_GUINT64_FORMAT ", %s %" G_GUINT64_FORMAT, i, c->names[0],
         (guint64)results[0].estimates[i], c->names[1], (guint64)results[1].estimates[i]);
  return false;
}

bool compare_measured(Comparison *c, const Cj2kEncodeResult results[2], uint32_t first_plane,
                      uint32_t planes)
{
  char what[64];
  for (uint32_t b = 0; b < c->plan->num_blocks; b++)
    for (uint32_t p = 0; p < planes; p++) {
      size_t i = (size_t)b * planes + p;
      snprintf(what, sizeof what, "bytes at bit-plane %u", first_plane + p);
      if (results[0].ht_lengths[i] != results[1].ht_lengths[i])
        return report_number(c, b, what, results[0].ht_lengths[i], results[1].ht_lengths[i]);
      snprintf(what, sizeof what, "distortion at bit-plane %u", first_plane + p);
      if (results[0].ht_distortions[i] != results[1].ht_distortions[i])
        return report_number(c, b, what, results[0].ht_distortions[i],
                             results[1].ht_distortions[i]);
    }
  for (uint32_t i = 0; i < c->plan->num_bands; i++) {
    if (results[0].band_errors[i] == results[1].band_errors[i])
      continue;
    char *band = band_name(c->plan, i);
    report(c, "%s, squared error: %s %" G_GUINT64_FORMAT ", %s %" G_GUINT64_FORMAT, band,
           c->names[0], (guint64)results[0].band_errors[i], c->names[1],
           (guint64)results[1].band_errors[i]);
    g_free(band);
    return false;
  }
  return true;
}

static bool compare_passes(Comparison *c, uint32_t b, const Cj2kEncodeResult results[2])
{
  const Cj2kPassLength *passes[2];
  char what[64];
  for (uint32_t i = 0; i < 2; i++)
    passes[i] = results[i].passes + results[i].blocks[b].first_pass;
  for (uint32_t p = 0; p < results[0].blocks[b].num_passes; p++) {
    snprintf(what, sizeof what, "bytes up to pass %u", p);
    if (passes[0][p].length != passes[1][p].length)
      return report_number(c, b, what, passes[0][p].length, passes[1][p].length);
    snprintf(what, sizeof what, "end of a segment behind pass %u", p);
    if (passes[0][p].terminated != passes[1][p].terminated)
      return report_number(c, b, what, passes[0][p].terminated, passes[1][p].terminated);
  }
  return true;
}

static bool compare_header_bits(Comparison *c, uint32_t b, const Cj2kEncodeResult results[2])
{
  const Cj2kEncodedBlock *block = &results[0].blocks[b];
  uint32_t expected[MAX_HEADER_WORDS];
  char what[64];

  if (!results[1].header_bits)
    return compare_passes(c, b, results);
  const uint32_t *words = results[1].header_bits + results[1].blocks[b].first_pass;
  uint32_t n =
      make_header_words(results[0].passes + block->first_pass, block->num_passes, expected);
  for (uint32_t i = 0; i < n; i++) {
    snprintf(what, sizeof what, "word %u of the bits in packet headers", i);
    if (words[i] != expected[i])
      return report_number(c, b, what, expected[i], words[i]);
  }
  return true;
}

static bool compare_hull(Comparison *c, uint32_t b, const Cj2kEncodeResult results[2])
{
  const Cj2kEncodedBlock *blocks[2] = {&results[0].blocks[b], &results[1].blocks[b]};
  char what[64];
  if (blocks[0]->num_points != blocks[1]->num_points)
    return report_number(c, b, "points of the hull", blocks[0]->num_points, blocks[1]->num_points);
  for (uint32_t i = 0; i < blocks[0]->num_points; i++) {
    const Cj2kHullPoint *first = &results[0].points[blocks[0]->first_point + i];
    const Cj2kHullPoint *second = &results[1].points[blocks[1]->first_point + i];
    snprintf(what, sizeof what, "bytes of point %u of the hull", i);
    if (first->bytes != second->bytes)
      return report_number(c, b, what, first->bytes, second->bytes);
    snprintf(what, sizeof what, "slope (error saved) of point %u of the hull", i);
    if (first->slope != second->slope)
      return report_number(c, b, what, first->slope, second->slope);
    snprintf(what, sizeof what, "passes of point %u of the hull", i);
    if (first->option != second->option)
      return report_number(c, b, what, first->option, second->option);
  }
  return true;
}

static bool compare_bytes(Comparison *c, uint32_t b, const Cj2kEncodeResult results[2],
                          uint32_t length)
{
  const uint8_t *bytes[2];
  char what[64];
  for (uint32_t i = 0; i < 2; i++)
    bytes[i] = results[i].bytes + results[i].blocks[b].offset;
  if (!length || !memcmp(bytes[0], bytes[1], length))
    return true;
  uint32_t i = 0;
  while (bytes[0][i] == bytes[1][i])
    i++;
  snprintf(what, sizeof what, "byte %u of %u", i, length);
  return report_number(c, b, what, bytes[0][i], bytes[1][i]);
}

static bool compare_block(Comparison *c, uint32_t b, const Cj2kEncodeResult results[2],
                          unsigned parts, const uint32_t *retained)
{
  const Cj2kEncodedBlock *blocks[2] = {&results[0].blocks[b], &results[1].blocks[b]};
  if (blocks[0]->num_passes != blocks[1]->num_passes)
    return report_number(c, b, "passes", blocks[0]->num_passes, blocks[1]->num_passes);
  if (!blocks[0]->num_passes)
    return true;
  if (blocks[0]->zero_bitplanes != blocks[1]->zero_bitplanes)
    return report_number(c, b, "missing bit-planes", blocks[0]->zero_bitplanes,
                         blocks[1]->zero_bitplanes);
  if (blocks[0]->length != blocks[1]->length)
    return report_number(c, b, "bytes", blocks[0]->length, blocks[1]->length);
  if (blocks[0]->is_ht != blocks[1]->is_ht)
    return report_number(c, b, "HT", blocks[0]->is_ht, blocks[1]->is_ht);
  return (!(parts & CODED_PASSES) || compare_passes(c, b, results)) &&
         (!(parts & CODED_HEADER_BITS) || compare_header_bits(c, b, results)) &&
         (!(parts & CODED_HULLS) || compare_hull(c, b, results)) &&
         (!(parts & CODED_BYTES) ||
          compare_bytes(c, b, results, retained ? retained[b] : blocks[0]->length));
}

/* Bytes by slope class: the sums of the back end, or else those of the points. */
static uint64_t *slope_sums(const Cj2kPlan *plan, const Cj2kEncodeResult *result)
{
  const Cj2kSlopeSums *sums = &result->slopes;
  uint64_t *bytes = g_new0(uint64_t, CJ2K_SLOPE_CLASSES);
  for (uint32_t s = sums->lowest; sums->bytes && s <= sums->highest; s++)
    bytes[s] = sums->bytes[s];
  for (uint32_t b = 0; b < plan->num_blocks && !sums->bytes; b++)
    for (uint32_t i = 0; i < result->blocks[b].num_points; i++) {
      const Cj2kHullPoint *point = &result->points[result->blocks[b].first_point + i];
      bytes[point->slope] += point->bytes;
    }
  return bytes;
}

static bool compare_sums(Comparison *c, const Cj2kEncodeResult results[2])
{
  uint64_t *sums[2] = {slope_sums(c->plan, &results[0]), slope_sums(c->plan, &results[1])};
  uint32_t s = 0;
  while (s < CJ2K_SLOPE_CLASSES && sums[0][s] == sums[1][s])
    s++;
  if (s < CJ2K_SLOPE_CLASSES)
    report(c, "bytes of slope class %u: %s %" G_GUINT64_FORMAT ", %s %" G_GUINT64_FORMAT, s,
           c->names[0], (guint64)sums[0][s], c->names[1], (guint64)sums[1][s]);
  g_free(sums[0]);
  g_free(sums[1]);
  return s == CJ2K_SLOPE_CLASSES;
}

bool compare_coded(Comparison *c, const Cj2kEncodeResult results[2], unsigned parts,
                   const uint32_t *retained)
{
  for (uint32_t b = 0; b < c->plan->num_blocks; b++)
    if (!compare_block(c, b, results, parts, retained))
      return false;
  if ((parts & CODED_SATURATED) && results[0].saturated != results[1].saturated)
    return report(c, "saturated coefficients: %s %" G_GUINT64_FORMAT ", %s %" G_GUINT64_FORMAT,
                  c->names[0], (guint64)results[0].saturated, c->names[1],
                  (guint64)results[1].saturated);
  return !(parts & CODED_HULLS) || compare_sums(c, results);
}

/* ------------------------------------------------------------------------ samples --- */

static bool compare_rows(Comparison *c, const Cj2kLayout *layout, uint32_t component,
                         const Target targets[2])
{
  const Cj2kRect *out = &c->plan->component_out[component];
  const Cj2kSampleLayout *samples = &layout->samples[component];
  uint32_t width = out->x1 - out->x0, x = width, y;
  int32_t *rows[2] = {g_new(int32_t, width + 1), g_new(int32_t, width + 1)};
  for (y = 0; y < out->y1 - out->y0 && x == width; y++) {
    for (uint32_t i = 0; i < 2; i++) {
      const Cj2kPlane *plane = &targets[i].planes[samples->plane];
      cj2k_unpack_row(samples, MIN(samples->depth, 31),
                      (const uint8_t *)plane->data + y * plane->pitch, 0, width, rows[i]);
    }
    x = 0;
    while (x < width && rows[0][x] == rows[1][x])
      x++;
    if (x < width)
      report(c, "component %u, x %u, y %u of %u x %u: %s %d, %s %d", component, x, y, width,
             out->y1 - out->y0, c->names[0], rows[0][x], c->names[1], rows[1][x]);
  }
  g_free(rows[0]);
  g_free(rows[1]);
  return x == width;
}

bool compare_samples(Comparison *c, const Cj2kLayout *layout, const Target targets[2])
{
  size_t at = 0;
  for (uint32_t i = 0; i < MIN(layout->num_components, c->plan->num_components); i++)
    if (!compare_rows(c, layout, i, targets))
      return false;
  while (at < targets[0].size && targets[0].memory[at] == targets[1].memory[at])
    at++;
  if (at < targets[0].size)
    return report(c, "byte %zu of the picture, in bits that no sample owns: %s 0x%02x, %s 0x%02x",
                  at, c->names[0], targets[0].memory[at], c->names[1], targets[1].memory[at]);
  return true;
}
