/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "xyz.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define CODES 4096 /* 12 bits */

/* Light of 0..1, of 10000 cd/m2, that a value of 0..1 stands for (SMPTE ST 2084). */
static double from_pq(double v)
{
  const double m1 = 2610.0 / 16384, m2 = 2523.0 / 4096 * 128, c1 = 3424.0 / 4096,
               c2 = 2413.0 / 4096 * 32, c3 = 2392.0 / 4096 * 32;
  double p = pow(v, 1 / m2);

  return p > c1 ? pow((p - c1) / (c2 - c3 * p), 1 / m1) : 0;
}

/* Light of the scene of 0..1 that a value of 0..1 stands for (BT.2100 table 5). */
static double from_hlg(double v)
{
  const double a = 0.17883277, b = 1 - 4 * a, c = 0.5 - a * log(4 * a);

  return v <= 0.5 ? v * v / 3 : MIN((exp((v - c) / a) + b) / 12, 1);
}

static double linearise(Cj2kTransfer transfer, double v)
{
  switch (transfer) {
  case CJ2K_TRANSFER_AUTO:
  case CJ2K_TRANSFER_BT709: break;
  case CJ2K_TRANSFER_SRGB: return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
  case CJ2K_TRANSFER_LINEAR: return v;
  case CJ2K_TRANSFER_GAMMA18: return pow(v, 1.8);
  case CJ2K_TRANSFER_GAMMA20: return pow(v, 2.0);
  case CJ2K_TRANSFER_GAMMA22: return pow(v, 2.2);
  case CJ2K_TRANSFER_GAMMA24: return pow(v, 2.4);
  case CJ2K_TRANSFER_GAMMA26: return pow(v, 2.6);
  case CJ2K_TRANSFER_GAMMA28: return pow(v, 2.8);
  case CJ2K_TRANSFER_PQ: return from_pq(v);
  case CJ2K_TRANSFER_HLG: return from_hlg(v);
  }
  return v < 0.081 ? v / 4.5 : pow((v + 0.099) / 1.099, 1 / 0.45);
}

/* Linear RGB (primaries of BT.709, white point D65) to XYZ; white has Y = 1. */
static const double bt709_to_xyz[9] = {
    0.4123907992659595, 0.3575843393838780, 0.1804807884018343, //
    0.2126390058715104, 0.7151686787677559, 0.0721923153607337, //
    0.0193308187155918, 0.1191947797946259, 0.9505321522496608,
};

/* CIE 1931 x and y of red, green, blue and white. */
static const double chromaticities[][4][2] = {
    [CJ2K_PRIMARIES_BT2020] = {{0.708, 0.292}, {0.170, 0.797}, {0.131, 0.046}, {0.3127, 0.3290}},
    [CJ2K_PRIMARIES_P3_D65] = {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, {0.3127, 0.3290}},
    [CJ2K_PRIMARIES_P3_DCI] = {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, {0.314, 0.351}},
};

/* X, Y, Z of chromaticities with Y = 1. */
static void tristimulus(const double xy[2], double xyz[3])
{
  xyz[0] = xy[0] / xy[1];
  xyz[1] = 1;
  xyz[2] = (1 - xy[0] - xy[1]) / xy[1];
}

static double determinant(const double a[3], const double b[3], const double c[3])
{
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
         c[0] * (a[1] * b[2] - a[2] * b[1]);
}

/* Linear RGB to XYZ, row by row: the columns are the primaries, as bright as their sum is white of
 * Y = 1 (SMPTE RP 177), by Cramer's rule. */
static void matrix_of(Cj2kPrimaries primaries, double matrix[9])
{
  double p[3][3], white[3];

  if (primaries == CJ2K_PRIMARIES_AUTO || primaries == CJ2K_PRIMARIES_BT709) {
    memcpy(matrix, bt709_to_xyz, sizeof bt709_to_xyz);
    return;
  }
  for (int i = 0; i < 3; i++)
    tristimulus(chromaticities[primaries][i], p[i]);
  tristimulus(chromaticities[primaries][3], white);
  double all = determinant(p[0], p[1], p[2]);
  const double luminance[3] = {determinant(white, p[1], p[2]) / all,
                               determinant(p[0], white, p[2]) / all,
                               determinant(p[0], p[1], white) / all};
  for (int row = 0; row < 3; row++)
    for (int i = 0; i < 3; i++)
      matrix[3 * row + i] = p[i][row] * luminance[i];
}

/* The bin of a linear value: non-decreasing in x, and the same on every IEEE machine. The look-up
 * needs no more than that. */
static inline uint32_t bin_of(float x)
{
  return (uint32_t)(sqrtf(sqrtf(x)) * (float)CJ2K_XYZ_BINS);
}

/* The light of an X'Y'Z' code, which may lie between two. */
static double threshold(double c, bool pq)
{
  double v = c / (CODES - 1);

  return pq ? from_pq(v) : pow(v, 2.6);
}

void cj2k_xyz_tables_init(Cj2kXyzTables *tables, uint8_t depth, Cj2kTransfer transfer,
                          Cj2kPrimaries primaries)
{
  bool pq = transfer == CJ2K_TRANSFER_PQ || transfer == CJ2K_TRANSFER_HLG;
  double matrix[9];

  matrix_of(primaries, matrix);
  uint32_t max_code = ((uint32_t)1 << depth) - 1;
  tables->depth = depth;
  tables->hlg = false;
  for (uint32_t v = 0; v <= max_code; v++)
    tables->linear[v] = (float)linearise(transfer, (double)v / max_code);
  for (int i = 0; i < 9; i++)
    tables->matrix[i] = (float)(matrix[i] * (pq ? 1 : 48.0 / 52.37));

  /* Code c is 4095 * x^(1/2.6), or PQ of x, rounded: its lowest x belongs to c - 0.5. */
  tables->threshold[0] = 0;
  for (int c = 1; c < CODES; c++)
    tables->threshold[c] = (float)threshold(c - 0.5, pq);
  tables->threshold[CODES] = INFINITY;

  uint32_t code = 0;
  for (uint32_t bin = 0; bin <= CJ2K_XYZ_BINS; bin++) {
    while (code + 1 < CODES && bin_of(tables->threshold[code + 1]) < bin)
      code++;
    tables->base[bin] = (uint16_t)code;
  }
}

static double system_gamma(double peak)
{
  return peak >= 400 && peak <= 2000 ? 1.2 + 0.42 * log10(peak / 1000)
                                     : 1.2 * pow(1.111, log2(peak / 1000));
}

void cj2k_xyz_tables_init_hlg(Cj2kXyzTables *tables, double peak)
{
  double power = system_gamma(peak) - 1;

  tables->hlg = true;
  for (int i = 0; i <= CJ2K_XYZ_BINS + 1; i++) {
    double luminance = pow((double)i / CJ2K_XYZ_BINS, 4);
    /* A power below 0 has no limit at 0, where all light is 0 anyway. */
    tables->gain[i] = (float)(peak / 10000 * (i || power > 0 ? pow(luminance, power) : 1));
  }
}

/* The gain of a pixel by the luminance of its scene light. */
static float gain_of(const Cj2kXyzTables *tables, float luminance)
{
  float place = sqrtf(sqrtf(luminance < 1.0f ? luminance : 1.0f)) * (float)CJ2K_XYZ_BINS;
  uint32_t bin = (uint32_t)place;
  float low = tables->gain[bin];

  return low + (tables->gain[bin + 1] - low) * (place - (float)bin);
}

static inline int32_t encode(const Cj2kXyzTables *tables, float x)
{
  x = x < 1.0f ? x : 1.0f;
  uint32_t code = tables->base[bin_of(x)];
  return (int32_t)(code + (x >= tables->threshold[code + 1]));
}

void cj2k_rgb_to_xyz(const Cj2kXyzTables *tables, int32_t *r, int32_t *g, int32_t *b, size_t n)
{
  const float *m = tables->matrix;
  uint32_t mask = ((uint32_t)1 << tables->depth) - 1;
  for (size_t i = 0; i < n; i++) {
    float lr = tables->linear[(uint32_t)r[i] & mask];
    float lg = tables->linear[(uint32_t)g[i] & mask];
    float lb = tables->linear[(uint32_t)b[i] & mask];
    float x = ((m[0] * lr) + (m[1] * lg)) + (m[2] * lb);
    float y = ((m[3] * lr) + (m[4] * lg)) + (m[5] * lb);
    float z = ((m[6] * lr) + (m[7] * lg)) + (m[8] * lb);
    float gain = tables->hlg ? gain_of(tables, y) : 1.0f;
    r[i] = encode(tables, x * gain);
    g[i] = encode(tables, y * gain);
    b[i] = encode(tables, z * gain);
  }
}
