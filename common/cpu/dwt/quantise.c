/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>
#include <string.h>

#include "common/runtime/simd.h"
#include "transform.h"

#define SIGN 0x80000000u

CJ2K_SIMD
static void quantise_reversible(const int32_t *in, uint32_t *out, size_t n)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    uint32_t v = (uint32_t)in[i], negative = (uint32_t)(in[i] >> 31);
    out[i] = ((v ^ negative) - negative) | (v & SIGN);
  }
}

CJ2K_SIMD
static void quantise_irreversible(const float *in, uint32_t *out, size_t n, float inv_scale)
{
  const float max_index = 2147483520.0f; /* the last fp32 below 2^31 */
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    float q = fabsf(in[i]) * inv_scale;
    q = q < max_index ? q : max_index;
    int32_t index = (int32_t)q;
    uint32_t bits;
    memcpy(&bits, &in[i], sizeof bits);
    out[i] = (uint32_t)index | (bits & (index != 0 ? SIGN : 0)); /* a zero has no sign */
  }
}

void cj2k_quantise(const void *in, size_t in_stride, uint32_t width, uint32_t height,
                   bool reversible, float inv_scale, uint32_t *out, size_t out_stride)
{
  const uint32_t *row = in;
  for (uint32_t y = 0; y < height; y++, row += in_stride, out += out_stride) {
    if (reversible)
      quantise_reversible((const int32_t *)row, out, width);
    else
      quantise_irreversible((const float *)row, out, width, inv_scale);
  }
}
