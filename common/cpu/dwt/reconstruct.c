/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "common/runtime/simd.h"
#include "transform.h"

#define SIGN 0x80000000u

/* Max-shift (T.800 H.1) on magnitudes with half units: the encoder has shifted up magnitudes of 2^s
 * quantiser steps and more. */
CJ2K_SIMD
static void descale(const uint32_t *in, uint32_t *out, size_t n, uint8_t roi_shift)
{
  const int32_t least = (int32_t)(2u << roi_shift);
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    int32_t m = (int32_t)(in[i] & ~SIGN);
    out[i] = (in[i] & SIGN) | (uint32_t)(m >= least ? m >> roi_shift : m);
  }
}

CJ2K_SIMD
static void reconstruct_reversible(const uint32_t *in, int32_t *out, size_t n)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    uint32_t negative = (uint32_t)((int32_t)in[i] >> 31);
    uint32_t v = (in[i] & ~SIGN) >> 1;
    out[i] = (int32_t)((v ^ negative) - negative);
  }
}

/* The sign bit is that of a float, too; a negative zero stays negative. */
CJ2K_SIMD
static void reconstruct_irreversible(const uint32_t *in, uint32_t *out, size_t n, float scale)
{
  CJ2K_IVDEP
  for (size_t i = 0; i < n; i++) {
    float v = (float)(int32_t)(in[i] & ~SIGN) * scale;
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    out[i] = bits | (in[i] & SIGN);
  }
}

void cj2k_reconstruct(const uint32_t *in, size_t in_stride, uint32_t width, uint32_t height,
                      uint8_t roi_shift, bool reversible, float scale, void *out, size_t out_stride)
{
  uint32_t *to = out;
  for (uint32_t y = 0; y < height; y++, in += in_stride, to += out_stride) {
    const uint32_t *from = in;
    if (roi_shift > 0 && roi_shift < 30) { /* 30 and above: no 31 bit magnitude reaches it */
      descale(in, to, width, roi_shift);
      from = to;
    }
    if (reversible)
      reconstruct_reversible(from, (int32_t *)to, width);
    else
      reconstruct_irreversible(from, to, width, scale);
  }
}

static void reconstruct_one_wide(uint64_t in, uint8_t roi_shift, bool reversible, float scale,
                                 void *out)
{
  bool negative = in >> 63;
  uint64_t m = in & (UINT64_MAX >> 1);
  if (roi_shift < 62 && m >= (uint64_t)2 << roi_shift)
    m >>= roi_shift;
  if (reversible) {
    uint32_t v = (uint32_t)(m >> 1);
    v = negative ? 0 - v : v;
    memcpy(out, &v, sizeof v);
  } else {
    float v = (float)(int64_t)m * scale;
    v = negative ? -v : v;
    memcpy(out, &v, sizeof v);
  }
}

void cj2k_reconstruct_wide(const uint64_t *in, size_t in_stride, uint32_t width, uint32_t height,
                           uint8_t roi_shift, bool reversible, float scale, void *out,
                           size_t out_stride)
{
  uint32_t *to = out;
  for (uint32_t y = 0; y < height; y++, in += in_stride, to += out_stride)
    for (uint32_t x = 0; x < width; x++)
      reconstruct_one_wide(in[x], roi_shift, reversible, scale, to + x);
}
