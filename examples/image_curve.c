/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image_curve.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static double srgb(double v)
{
  return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static double bt709(double v)
{
  return v < 0.018 ? 4.5 * v : 1.099 * pow(v, 0.45) - 0.099;
}

static double linear(double v)
{
  return v;
}

static double gamma22(double v)
{
  return pow(v, 1 / 2.2);
}

static double gamma24(double v)
{
  return pow(v, 1 / 2.4);
}

static double gamma26(double v)
{
  return pow(v, 1 / 2.6);
}

/* SMPTE ST 2084, of light in units of 100 cd/m². */
static double pq(double v)
{
  double y = pow(v / 100, 2610.0 / 16384);

  return pow((3424.0 / 4096 + 2413.0 / 128 * y) / (1 + 2392.0 / 128 * y), 2523.0 / 32);
}

static const struct {
  const char *name;
  double (*encode)(double v);
  double most; /* light of the highest sample */
} curves[] = {{"srgb", srgb, 1},       {"bt709", bt709, 1},     {"linear", linear, 1},
              {"gamma22", gamma22, 1}, {"gamma24", gamma24, 1}, {"gamma26", gamma26, 1},
              {"pq", pq, 100}};

static size_t curve;
static uint8_t bits = 16;

bool image_curve_set(const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS(curves); i++)
    if (!strcmp(curves[i].name, name)) {
      curve = i;
      return true;
    }
  return false;
}

void image_curve_set_depth(uint8_t depth)
{
  bits = depth;
}

uint8_t image_curve_depth(void)
{
  return bits;
}

uint16_t image_curve_sample(float light)
{
  double v = isnan(light) ? 0 : CLAMP((double)light, 0, curves[curve].most);

  return (uint16_t)lrint(curves[curve].encode(v) * ((1 << bits) - 1));
}

/* The value of 16 bit floating point (IEEE 754 binary16). */
static float half_value(unsigned half)
{
  int exponent = (int)(half >> 10 & 31);
  double fraction = half & 1023;
  double value = exponent == 31 ? (fraction > 0 ? NAN : INFINITY)
                 : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                : ldexp(fraction, -24);

  return (float)(half & 0x8000 ? -value : value);
}

const uint16_t *image_curve_half(void)
{
  static uint16_t table[65536];
  static gsize ready;

  if (g_once_init_enter(&ready)) {
    for (unsigned half = 0; half < G_N_ELEMENTS(table); half++)
      table[half] = image_curve_sample(half_value(half));
    g_once_init_leave(&ready, 1);
  }
  return table;
}
