/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hull.h"

#include <glib.h>
#include <string.h>

/* The class of a slope: exponent and upper 8 fraction bits of the float. Positive floats sort in
 * the order of their bits, so classes sort in the order of slopes. */
uint16_t cj2k_slope_class(double value)
{
  float slope = (float)value;
  uint32_t bits;

  if (!(slope > 0))
    return 0;
  slope = slope < 3e38f ? slope : 3e38f;
  memcpy(&bits, &slope, sizeof bits);
  return (uint16_t)(bits >> 15);
}

static uint16_t slope_class(double gain, uint32_t bytes)
{
  return cj2k_slope_class(bytes ? gain / bytes : 3e38f);
}

double cj2k_slope_value(uint32_t slope)
{
  uint32_t bits = slope << 15;
  float value;

  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Appends an option to a stack of `n` hull options, after removing those that lie below the line to
 * the new one. Returns the new number of options. */
static uint32_t push(Cj2kHullOption *stack, uint32_t n, const Cj2kHullOption *option)
{
  while (n) {
    double saved = option->gain - stack[n - 1].gain, before = n > 1 ? stack[n - 2].gain : 0;
    uint32_t from = n > 1 ? stack[n - 2].length : 0;
    if (saved <= 0)
      return n; /* more bytes for no gain */
    /* Compares the slope from the last option to this one with the slope to the last option. */
    double up = saved * (stack[n - 1].length - from);
    double last = (stack[n - 1].gain - before) * (option->length - stack[n - 1].length);
    if (up < last)
      break;
    n--;
  }
  if (option->gain <= 0)
    return n;
  stack[n] = *option;
  return n + 1;
}

uint32_t cj2k_hull_of_options(const Cj2kHullOption *options, uint32_t count, double weight,
                              Cj2kHullPoint *points)
{
  Cj2kHullOption stack[CJ2K_MAX_PASSES], before = {0};
  uint16_t slope = UINT16_MAX;
  uint32_t n = 0;

  for (uint32_t i = 0; i < count; i++)
    n = push(stack, n, &options[i]);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t bytes = stack[i].length - before.length;
    uint16_t own = slope_class((stack[i].gain - before.gain) * weight, bytes);
    slope = MIN(slope, own); /* rounding must not change the order */
    points[i] = (Cj2kHullPoint){.bytes = bytes, .slope = slope, .option = stack[i].option};
    before = stack[i];
  }
  return n;
}

uint32_t cj2k_hull_of_passes(const Cj2kPassEnd *passes, uint32_t count, double weight,
                             Cj2kHullPoint *points)
{
  Cj2kHullOption options[CJ2K_MAX_PASSES];

  for (uint32_t p = 0; p < count; p++)
    options[p] = (Cj2kHullOption){passes[p].length, (uint8_t)(p + 1), (double)passes[p].distortion};
  return cj2k_hull_of_options(options, count, weight, points);
}
