/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "xyz.h"

#include <math.h>

#define CODES 4096 /* 12 bits */

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
  }
  return v < 0.081 ? v / 4.5 : pow((v + 0.099) / 1.099, 1 / 0.45);
}

/* Linear RGB (primaries of BT.709, white point D65) to XYZ; white has Y = 1. */
static const double rgb_to_xyz[9] = {
    0.4123907992659595, 0.3575843393838780, 0.1804807884018343, //
    0.2126390058715104, 0.7151686787677559, 0.0721923153607337, //
    0.0193308187155918, 0.1191947797946259, 0.9505321522496608,
};

/* The bin of a linear value: non-decreasing in x, and the same on every IEEE machine. The look-up
 * needs no more than that. */
static inline uint32_t bin_of(float x)
{
  return (uint32_t)(sqrtf(sqrtf(x)) * (float)CJ2K_XYZ_BINS);
}

void cj2k_xyz_tables_init(Cj2kXyzTables *tables, uint8_t depth, Cj2kTransfer transfer)
{
  uint32_t max_code = ((uint32_t)1 << depth) - 1;
  tables->depth = depth;
  for (uint32_t v = 0; v <= max_code; v++)
    tables->linear[v] = (float)linearise(transfer, (double)v / max_code);
  for (int i = 0; i < 9; i++)
    tables->matrix[i] = (float)(rgb_to_xyz[i] * (48.0 / 52.37));

  /* Code c is 4095 * x^(1/2.6), rounded: its lowest x belongs to c - 0.5. */
  tables->threshold[0] = 0;
  for (int c = 1; c < CODES; c++)
    tables->threshold[c] = (float)pow((c - 0.5) / (CODES - 1), 2.6);
  tables->threshold[CODES] = INFINITY;

  uint32_t code = 0;
  for (uint32_t bin = 0; bin <= CJ2K_XYZ_BINS; bin++) {
    while (code + 1 < CODES && bin_of(tables->threshold[code + 1]) < bin)
      code++;
    tables->base[bin] = (uint16_t)code;
  }
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
    r[i] = encode(tables, ((m[0] * lr) + (m[1] * lg)) + (m[2] * lb));
    g[i] = encode(tables, ((m[3] * lr) + (m[4] * lg)) + (m[5] * lb));
    b[i] = encode(tables, ((m[6] * lr) + (m[7] * lg)) + (m[8] * lb));
  }
}
