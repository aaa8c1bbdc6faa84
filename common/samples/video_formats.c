/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "video_formats.h"

#include <string.h>

/* One sample of a component per unit: the usual planar and packed formats. */
#define AT(plane, unit, word, depth, offset, shift)                                                \
  {                                                                                                \
    plane, unit, 1, word, false, false, depth,                                                     \
    {                                                                                              \
      {                                                                                            \
        offset, shift                                                                              \
      }                                                                                            \
    }                                                                                              \
  }
#define AT_BE(plane, unit, word, depth, offset, shift)                                             \
  {                                                                                                \
    plane, unit, 1, word, true, false, depth,                                                      \
    {                                                                                              \
      {                                                                                            \
        offset, shift                                                                              \
      }                                                                                            \
    }                                                                                              \
  }
/* Several samples of a component per unit, each given by { offset, shift }. */
#define RUN(plane, unit, count, word, depth, ...)                                                  \
  {                                                                                                \
    plane, unit, count, word, false, false, depth,                                                 \
    {                                                                                              \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }
#define RUN_BE(plane, unit, count, word, depth, ...)                                               \
  {                                                                                                \
    plane, unit, count, word, true, false, depth,                                                  \
    {                                                                                              \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }

#define PLANE8(plane)            AT(plane, 1, 1, 8, 0, 0)
#define PLANE16(plane, depth)    AT(plane, 2, 2, depth, 0, 0)
#define PLANE16_BE(plane, depth) AT_BE(plane, 2, 2, depth, 0, 0)

#define PLANES8_3(a, b, c)                                                                         \
  {                                                                                                \
    PLANE8(a), PLANE8(b), PLANE8(c)                                                                \
  }
#define PLANES8_4(a, b, c, d)                                                                      \
  {                                                                                                \
    PLANE8(a), PLANE8(b), PLANE8(c), PLANE8(d)                                                     \
  }
#define PLANES16_3(a, b, c, depth)                                                                 \
  {                                                                                                \
    PLANE16(a, depth), PLANE16(b, depth), PLANE16(c, depth)                                        \
  }
#define PLANES16_3_BE(a, b, c, depth)                                                              \
  {                                                                                                \
    PLANE16_BE(a, depth), PLANE16_BE(b, depth), PLANE16_BE(c, depth)                               \
  }
#define PLANES16_4(a, b, c, d, depth)                                                              \
  {                                                                                                \
    PLANE16(a, depth), PLANE16(b, depth), PLANE16(c, depth), PLANE16(d, depth)                     \
  }
#define PLANES16_4_BE(a, b, c, d, depth)                                                           \
  {                                                                                                \
    PLANE16_BE(a, depth), PLANE16_BE(b, depth), PLANE16_BE(c, depth), PLANE16_BE(d, depth)         \
  }

/* A luma plane and an interleaved chroma plane; in words of 16 bits the sample has the highest
 * bits. */
#define SEMI8(cb, cr)                                                                              \
  {                                                                                                \
    PLANE8(0), AT(1, 2, 1, 8, cb, 0), AT(1, 2, 1, 8, cr, 0)                                        \
  }
#define SEMI16_BE(depth)                                                                           \
  {                                                                                                \
    AT_BE(0, 2, 2, depth, 0, 16 - (depth)), AT_BE(1, 4, 2, depth, 0, 16 - (depth)),                \
        AT_BE(1, 4, 2, depth, 2, 16 - (depth))                                                     \
  }
#define SEMI16(depth)                                                                              \
  {                                                                                                \
    AT(0, 2, 2, depth, 0, 16 - (depth)), AT(1, 4, 2, depth, 0, 16 - (depth)),                      \
        AT(1, 4, 2, depth, 2, 16 - (depth))                                                        \
  }

/* A pixel of bytes or of 16-bit words at the given byte offsets. */
#define BYTES3(unit, a, b, c)                                                                      \
  {                                                                                                \
    AT(0, unit, 1, 8, a, 0), AT(0, unit, 1, 8, b, 0), AT(0, unit, 1, 8, c, 0)                      \
  }
#define BYTES4(a, b, c, d)                                                                         \
  {                                                                                                \
    AT(0, 4, 1, 8, a, 0), AT(0, 4, 1, 8, b, 0), AT(0, 4, 1, 8, c, 0), AT(0, 4, 1, 8, d, 0)         \
  }
#define WORDS4(depth, shift, a, b, c, d)                                                           \
  {                                                                                                \
    AT(0, 8, 2, depth, a, shift), AT(0, 8, 2, depth, b, shift), AT(0, 8, 2, depth, c, shift),      \
        AT(0, 8, 2, depth, d, shift)                                                               \
  }
#define WORDS4_BE(depth, shift, a, b, c, d)                                                        \
  {                                                                                                \
    AT_BE(0, 8, 2, depth, a, shift), AT_BE(0, 8, 2, depth, b, shift),                              \
        AT_BE(0, 8, 2, depth, c, shift), AT_BE(0, 8, 2, depth, d, shift)                           \
  }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WORDS4_NATIVE WORDS4
#else
#define WORDS4_NATIVE WORDS4_BE
#endif

/* Two pixels that share a pair of chroma samples: Y0, Y1, Cb, Cr at the given byte offsets. */
#define PAIR8(y0, y1, cb, cr)                                                                      \
  {                                                                                                \
    RUN(0, 4, 2, 1, 8, {y0, 0}, {y1, 0}), AT(0, 4, 1, 8, cb, 0), AT(0, 4, 1, 8, cr, 0)             \
  }
#define PAIR16(depth, y0, y1, cb, cr)                                                              \
  {                                                                                                \
    RUN(0, 8, 2, 2, depth, {y0, 16 - (depth)}, {y1, 16 - (depth)}),                                \
        AT(0, 8, 2, depth, cb, 16 - (depth)), AT(0, 8, 2, depth, cr, 16 - (depth))                 \
  }

#define PAIR16_BE(depth, y0, y1, cb, cr)                                                           \
  {                                                                                                \
    RUN_BE(0, 8, 2, 2, depth, {y0, 16 - (depth)}, {y1, 16 - (depth)}),                             \
        AT_BE(0, 8, 2, depth, cb, 16 - (depth)), AT_BE(0, 8, 2, depth, cr, 16 - (depth))           \
  }

/* Four bytes with three fields of 10 bits and one of 2 at the given shifts. */
#define FIELDS10(a, b, c, d)                                                                       \
  {                                                                                                \
    AT(0, 4, 4, 10, 0, a), AT(0, 4, 4, 10, 0, b), AT(0, 4, 4, 10, 0, c), AT(0, 4, 4, 2, 0, d)      \
  }

/* Three 10-bit samples in a little-endian word of 32 bits; luma and chroma have a plane each. */
#define SEMI10_32                                                                                  \
  {                                                                                                \
    RUN(0, 4, 3, 4, 10, {0, 0}, {0, 10}, {0, 20}), RUN(1, 8, 3, 4, 10, {0, 0}, {0, 20}, {4, 10}),  \
        RUN(1, 8, 3, 4, 10, {0, 10}, {4, 0}, {4, 20})                                              \
  }
/* Four 10-bit samples in five bytes, least significant bits first. */
#define SEMI10_40                                                                                  \
  {                                                                                                \
    RUN(0, 5, 4, 2, 10, {0, 0}, {1, 2}, {2, 4}, {3, 6}), RUN(1, 5, 2, 2, 10, {0, 0}, {2, 4}),      \
        RUN(1, 5, 2, 2, 10, {1, 2}, {3, 6})                                                        \
  }

#define ROW(name, family, sub_x, sub_y, depth, components, ...)                                    \
  {                                                                                                \
#name, CJ2K_VIDEO_##family, sub_x, sub_y, depth, components, false, __VA_ARGS__                \
  }
#define PADDED(name, family, sub_x, sub_y, depth, components, ...)                                 \
  {                                                                                                \
#name, CJ2K_VIDEO_##family, sub_x, sub_y, depth, components, true, __VA_ARGS__                 \
  }

/* clang-format off */
static const Cj2kVideoFormat formats[] = {
  /* grey */
  ROW(GRAY8,       GREY, 1, 1,  8, 1, { PLANE8(0) }),
  ROW(GRAY10_LE16, GREY, 1, 1, 10, 1, { PLANE16(0, 10) }),
  ROW(GRAY10_LE32, GREY, 1, 1, 10, 1, { RUN(0, 4, 3, 4, 10, { 0, 0 }, { 0, 10 }, { 0, 20 }) }),
  ROW(GRAY16_LE,   GREY, 1, 1, 16, 1, { PLANE16(0, 16) }),
  ROW(GRAY16_BE,   GREY, 1, 1, 16, 1, { PLANE16_BE(0, 16) }),

  /* 4:2:0 */
  ROW(I420,        YUV, 2, 2,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(YV12,        YUV, 2, 2,  8, 3, PLANES8_3(0, 2, 1)),
  ROW(NV12,        YUV, 2, 2,  8, 3, SEMI8(0, 1)),
  ROW(NV21,        YUV, 2, 2,  8, 3, SEMI8(1, 0)),
  ROW(I420_10LE,   YUV, 2, 2, 10, 3, PLANES16_3(0, 1, 2, 10)),
  ROW(P010_10LE,   YUV, 2, 2, 10, 3, SEMI16(10)),
  ROW(NV12_10LE32, YUV, 2, 2, 10, 3, SEMI10_32),
  ROW(NV12_10LE40, YUV, 2, 2, 10, 3, SEMI10_40),
  ROW(I420_10BE,   YUV, 2, 2, 10, 3, PLANES16_3_BE(0, 1, 2, 10)),
  ROW(I420_12LE,   YUV, 2, 2, 12, 3, PLANES16_3(0, 1, 2, 12)),
  ROW(P012_LE,     YUV, 2, 2, 12, 3, SEMI16(12)),
  ROW(I420_12BE,   YUV, 2, 2, 12, 3, PLANES16_3_BE(0, 1, 2, 12)),
  ROW(P016_LE,     YUV, 2, 2, 16, 3, SEMI16(16)),
  ROW(P010_10BE,   YUV, 2, 2, 10, 3, SEMI16_BE(10)),
  ROW(P012_BE,     YUV, 2, 2, 12, 3, SEMI16_BE(12)),
  ROW(P016_BE,     YUV, 2, 2, 16, 3, SEMI16_BE(16)),
  ROW(A420,        YUV, 2, 2,  8, 4, PLANES8_4(0, 1, 2, 3)),
  ROW(A420_10LE,   YUV, 2, 2, 10, 4, PLANES16_4(0, 1, 2, 3, 10)),
  ROW(A420_10BE,   YUV, 2, 2, 10, 4, PLANES16_4_BE(0, 1, 2, 3, 10)),
  ROW(A420_12LE,   YUV, 2, 2, 12, 4, PLANES16_4(0, 1, 2, 3, 12)),
  ROW(A420_12BE,   YUV, 2, 2, 12, 4, PLANES16_4_BE(0, 1, 2, 3, 12)),
  ROW(A420_16LE,   YUV, 2, 2, 16, 4, PLANES16_4(0, 1, 2, 3, 16)),
  ROW(A420_16BE,   YUV, 2, 2, 16, 4, PLANES16_4_BE(0, 1, 2, 3, 16)),

  /* 4:1:1 and 4:1:0 */
  ROW(Y41B,        YUV, 4, 1,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(IYU1,        YUV, 4, 1,  8, 3, { RUN(0, 6, 4, 1, 8, { 1, 0 }, { 2, 0 }, { 4, 0 }, { 5, 0 }),
                                       AT(0, 6, 1, 8, 0, 0), AT(0, 6, 1, 8, 3, 0) }),
  ROW(YUV9,        YUV, 4, 4,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(YVU9,        YUV, 4, 4,  8, 3, PLANES8_3(0, 2, 1)),

  /* 4:2:2 */
  ROW(Y42B,        YUV, 2, 1,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(UYVY,        YUV, 2, 1,  8, 3, PAIR8(1, 3, 0, 2)),
  ROW(YUY2,        YUV, 2, 1,  8, 3, PAIR8(0, 2, 1, 3)),
  ROW(YVYU,        YUV, 2, 1,  8, 3, PAIR8(0, 2, 3, 1)),
  ROW(VYUY,        YUV, 2, 1,  8, 3, PAIR8(1, 3, 2, 0)),
  ROW(NV16,        YUV, 2, 1,  8, 3, SEMI8(0, 1)),
  ROW(NV61,        YUV, 2, 1,  8, 3, SEMI8(1, 0)),
  ROW(I422_10LE,   YUV, 2, 1, 10, 3, PLANES16_3(0, 1, 2, 10)),
  /* v210: six pixels in four little-endian words. */
  ROW(v210,        YUV, 2, 1, 10, 3,
      { RUN(0, 16, 6, 4, 10, { 0, 10 }, { 4, 0 }, { 4, 20 }, { 8, 10 }, { 12, 0 }, { 12, 20 }),
        RUN(0, 16, 3, 4, 10, { 0, 0 }, { 4, 10 }, { 8, 20 }),
        RUN(0, 16, 3, 4, 10, { 0, 20 }, { 8, 0 }, { 12, 10 }) }),
  /* Two pixels in 40 bits, most significant bits first: Cb Y0 Cr Y1. */
  ROW(UYVP,        YUV, 2, 1, 10, 3,
      { RUN_BE(0, 5, 2, 2, 10, { 1, 4 }, { 3, 0 }), AT_BE(0, 5, 2, 10, 0, 6),
        AT_BE(0, 5, 2, 10, 2, 2) }),
  ROW(Y210,        YUV, 2, 1, 10, 3, PAIR16(10, 0, 4, 2, 6)),
  ROW(NV16_10LE32, YUV, 2, 1, 10, 3, SEMI10_32),
  ROW(NV16_10LE40, YUV, 2, 1, 10, 3, SEMI10_40),
  ROW(I422_10BE,   YUV, 2, 1, 10, 3, PLANES16_3_BE(0, 1, 2, 10)),
  ROW(I422_12LE,   YUV, 2, 1, 12, 3, PLANES16_3(0, 1, 2, 12)),
  ROW(Y212_LE,     YUV, 2, 1, 12, 3, PAIR16(12, 0, 4, 2, 6)),
  ROW(I422_12BE,   YUV, 2, 1, 12, 3, PLANES16_3_BE(0, 1, 2, 12)),
  ROW(Y212_BE,     YUV, 2, 1, 12, 3, PAIR16_BE(12, 0, 4, 2, 6)),
  ROW(Y216_LE,     YUV, 2, 1, 16, 3, PAIR16(16, 0, 4, 2, 6)),
  ROW(Y216_BE,     YUV, 2, 1, 16, 3, PAIR16_BE(16, 0, 4, 2, 6)),
  ROW(v216,        YUV, 2, 1, 16, 3, PAIR16(16, 2, 6, 0, 4)),
  ROW(A422,        YUV, 2, 1,  8, 4, PLANES8_4(0, 1, 2, 3)),
  ROW(A422_10LE,   YUV, 2, 1, 10, 4, PLANES16_4(0, 1, 2, 3, 10)),
  ROW(A422_10BE,   YUV, 2, 1, 10, 4, PLANES16_4_BE(0, 1, 2, 3, 10)),
  ROW(A422_12LE,   YUV, 2, 1, 12, 4, PLANES16_4(0, 1, 2, 3, 12)),
  ROW(A422_12BE,   YUV, 2, 1, 12, 4, PLANES16_4_BE(0, 1, 2, 3, 12)),
  ROW(A422_16LE,   YUV, 2, 1, 16, 4, PLANES16_4(0, 1, 2, 3, 16)),
  ROW(A422_16BE,   YUV, 2, 1, 16, 4, PLANES16_4_BE(0, 1, 2, 3, 16)),

  /* 4:4:4. GStreamer does not count the fourth field of Y410, Y412 and Y416 as alpha: it is described
   * and filled as opaque, but it is not a component. */
  ROW(Y444,        YUV, 1, 1,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(NV24,        YUV, 1, 1,  8, 3, SEMI8(0, 1)),
  ROW(v308,        YUV, 1, 1,  8, 3, BYTES3(3, 0, 1, 2)),
  ROW(IYU2,        YUV, 1, 1,  8, 3, BYTES3(3, 1, 0, 2)),
  ROW(Y444_10LE,   YUV, 1, 1, 10, 3, PLANES16_3(0, 1, 2, 10)),
  ROW(Y444_10BE,   YUV, 1, 1, 10, 3, PLANES16_3_BE(0, 1, 2, 10)),
  ROW(Y444_12LE,   YUV, 1, 1, 12, 3, PLANES16_3(0, 1, 2, 12)),
  ROW(Y444_12BE,   YUV, 1, 1, 12, 3, PLANES16_3_BE(0, 1, 2, 12)),
  ROW(Y444_16LE,   YUV, 1, 1, 16, 3, PLANES16_3(0, 1, 2, 16)),
  ROW(Y444_16BE,   YUV, 1, 1, 16, 3, PLANES16_3_BE(0, 1, 2, 16)),
  ROW(A444,        YUV, 1, 1,  8, 4, PLANES8_4(0, 1, 2, 3)),
  ROW(AYUV,        YUV, 1, 1,  8, 4, BYTES4(1, 2, 3, 0)),
  ROW(VUYA,        YUV, 1, 1,  8, 4, BYTES4(2, 1, 0, 3)),
  ROW(A444_10LE,   YUV, 1, 1, 10, 4, PLANES16_4(0, 1, 2, 3, 10)),
  ROW(A444_10BE,   YUV, 1, 1, 10, 4, PLANES16_4_BE(0, 1, 2, 3, 10)),
  ROW(Y410,        YUV, 1, 1, 10, 3, FIELDS10(10, 0, 20, 30)),
  ROW(A444_12LE,   YUV, 1, 1, 12, 4, PLANES16_4(0, 1, 2, 3, 12)),
  ROW(A444_12BE,   YUV, 1, 1, 12, 4, PLANES16_4_BE(0, 1, 2, 3, 12)),
  ROW(Y412_LE,     YUV, 1, 1, 12, 3, WORDS4(12, 4, 2, 0, 4, 6)),
  ROW(Y412_BE,     YUV, 1, 1, 12, 3, WORDS4_BE(12, 4, 2, 0, 4, 6)),
  ROW(A444_16LE,   YUV, 1, 1, 16, 4, PLANES16_4(0, 1, 2, 3, 16)),
  ROW(A444_16BE,   YUV, 1, 1, 16, 4, PLANES16_4_BE(0, 1, 2, 3, 16)),
  ROW(AYUV64,      YUV, 1, 1, 16, 4, WORDS4_NATIVE(16, 0, 2, 4, 6, 0)),
  ROW(Y416_LE,     YUV, 1, 1, 16, 3, WORDS4(16, 0, 2, 0, 4, 6)),
  ROW(Y416_BE,     YUV, 1, 1, 16, 3, WORDS4_BE(16, 0, 2, 0, 4, 6)),

  /* RGB */
  ROW(GBR,         RGB, 1, 1,  8, 3, PLANES8_3(2, 0, 1)),
  ROW(RGB,         RGB, 1, 1,  8, 3, BYTES3(3, 0, 1, 2)),
  ROW(BGR,         RGB, 1, 1,  8, 3, BYTES3(3, 2, 1, 0)),
  PADDED(RGBx,     RGB, 1, 1,  8, 3, BYTES3(4, 0, 1, 2)),
  PADDED(BGRx,     RGB, 1, 1,  8, 3, BYTES3(4, 2, 1, 0)),
  PADDED(xRGB,     RGB, 1, 1,  8, 3, BYTES3(4, 1, 2, 3)),
  PADDED(xBGR,     RGB, 1, 1,  8, 3, BYTES3(4, 3, 2, 1)),
  ROW(RGBP,        RGB, 1, 1,  8, 3, PLANES8_3(0, 1, 2)),
  ROW(BGRP,        RGB, 1, 1,  8, 3, PLANES8_3(2, 1, 0)),
  ROW(GBR_10LE,    RGB, 1, 1, 10, 3, PLANES16_3(2, 0, 1, 10)),
  ROW(r210,        RGB, 1, 1, 10, 3, { AT_BE(0, 4, 4, 10, 0, 20), AT_BE(0, 4, 4, 10, 0, 10),
                                       AT_BE(0, 4, 4, 10, 0, 0) }),
  ROW(GBR_10BE,    RGB, 1, 1, 10, 3, PLANES16_3_BE(2, 0, 1, 10)),
  ROW(GBR_12LE,    RGB, 1, 1, 12, 3, PLANES16_3(2, 0, 1, 12)),
  ROW(GBR_12BE,    RGB, 1, 1, 12, 3, PLANES16_3_BE(2, 0, 1, 12)),
  PADDED(RGB10x2_LE, RGB, 1, 1, 10, 3, { AT(0, 4, 4, 10, 0, 0), AT(0, 4, 4, 10, 0, 10),
                                         AT(0, 4, 4, 10, 0, 20) }),
  PADDED(BGR10x2_LE, RGB, 1, 1, 10, 3, { AT(0, 4, 4, 10, 0, 20), AT(0, 4, 4, 10, 0, 10),
                                         AT(0, 4, 4, 10, 0, 0) }),
  ROW(GBR_16LE,    RGB, 1, 1, 16, 3, PLANES16_3(2, 0, 1, 16)),
  ROW(GBR_16BE,    RGB, 1, 1, 16, 3, PLANES16_3_BE(2, 0, 1, 16)),
  ROW(GBRA,        RGB, 1, 1,  8, 4, PLANES8_4(2, 0, 1, 3)),
  ROW(RGBA,        RGB, 1, 1,  8, 4, BYTES4(0, 1, 2, 3)),
  ROW(BGRA,        RGB, 1, 1,  8, 4, BYTES4(2, 1, 0, 3)),
  ROW(ARGB,        RGB, 1, 1,  8, 4, BYTES4(1, 2, 3, 0)),
  ROW(ABGR,        RGB, 1, 1,  8, 4, BYTES4(3, 2, 1, 0)),
  ROW(RBGA,        RGB, 1, 1,  8, 4, BYTES4(0, 2, 1, 3)),
  ROW(GBRA_10LE,   RGB, 1, 1, 10, 4, PLANES16_4(2, 0, 1, 3, 10)),
  ROW(GBRA_10BE,   RGB, 1, 1, 10, 4, PLANES16_4_BE(2, 0, 1, 3, 10)),
  ROW(RGB10A2_LE,  RGB, 1, 1, 10, 4, FIELDS10(0, 10, 20, 30)),
  ROW(BGR10A2_LE,  RGB, 1, 1, 10, 4, FIELDS10(20, 10, 0, 30)),
  ROW(GBRA_12LE,   RGB, 1, 1, 12, 4, PLANES16_4(2, 0, 1, 3, 12)),
  ROW(GBRA_12BE,   RGB, 1, 1, 12, 4, PLANES16_4_BE(2, 0, 1, 3, 12)),
  ROW(ARGB64,      RGB, 1, 1, 16, 4, WORDS4_NATIVE(16, 0, 2, 4, 6, 0)),
  ROW(ARGB64_LE,   RGB, 1, 1, 16, 4, WORDS4(16, 0, 2, 4, 6, 0)),
  ROW(RGBA64_LE,   RGB, 1, 1, 16, 4, WORDS4(16, 0, 0, 2, 4, 6)),
  ROW(BGRA64_LE,   RGB, 1, 1, 16, 4, WORDS4(16, 0, 4, 2, 0, 6)),
  ROW(ABGR64_LE,   RGB, 1, 1, 16, 4, WORDS4(16, 0, 6, 4, 2, 0)),
  ROW(ARGB64_BE,   RGB, 1, 1, 16, 4, WORDS4_BE(16, 0, 2, 4, 6, 0)),
  ROW(RGBA64_BE,   RGB, 1, 1, 16, 4, WORDS4_BE(16, 0, 0, 2, 4, 6)),
  ROW(BGRA64_BE,   RGB, 1, 1, 16, 4, WORDS4_BE(16, 0, 4, 2, 0, 6)),
  ROW(ABGR64_BE,   RGB, 1, 1, 16, 4, WORDS4_BE(16, 0, 6, 4, 2, 0)),
};
/* clang-format on */

const Cj2kVideoFormat *cj2k_video_formats(uint32_t *count)
{
  *count = sizeof formats / sizeof formats[0];
  return formats;
}

const Cj2kVideoFormat *cj2k_video_format_find(const char *name)
{
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (!strcmp(formats[i].name, name))
      return &formats[i];
  return NULL;
}

void cj2k_video_format_layout(const Cj2kVideoFormat *format, Cj2kLayout *layout)
{
  /* The layout includes a fourth field that is not a component (Y410), so that it is filled. */
  *layout = (Cj2kLayout){.num_components = format->samples[3].depth ? 4 : format->num_components,
                         .samples = format->samples,
                         .fill = format->padded ? UINT32_MAX : 0};
  for (uint32_t c = 0; c < layout->num_components; c++)
    if (format->samples[c].plane >= layout->num_planes)
      layout->num_planes = format->samples[c].plane + 1u;
}
