/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of video formats: how the samples of each format lie in memory. The elements make their
 * pad templates, negotiation and buffers from it, and the tools use it to read raw files.
 */
#ifndef CJ2K_SAMPLES_VIDEO_FORMATS_H
#define CJ2K_SAMPLES_VIDEO_FORMATS_H

#include "common/cj2k.h"

typedef enum {
  CJ2K_VIDEO_GREY,
  CJ2K_VIDEO_YUV,
  CJ2K_VIDEO_RGB,
} Cj2kVideoFamily;

/* Components in the order of the codestream: Y Cb Cr A, or R G B A, wherever they lie in memory. */
typedef struct {
  const char *name; /* as in GStreamer */
  Cj2kVideoFamily family;
  uint8_t sub_x, sub_y; /* luma samples per chroma sample, 1, 2 or 4; 1 for grey and RGB */
  uint8_t depth;        /* of colour components; alpha may have fewer bits, see samples[3].depth */
  uint8_t num_components;
  bool padded; /* has bits that belong to no component, the x of xRGB */
  Cj2kSampleLayout samples[4];
} Cj2kVideoFormat;

/* The rows are in order of preference: of formats that suit an image equally well, the first is
 * chosen. */
const Cj2kVideoFormat *cj2k_video_formats(uint32_t *count);

/* Returns NULL if the table has no format of this name. */
const Cj2kVideoFormat *cj2k_video_format_find(const char *name);

/* The layout of a format; it points into the table. */
void cj2k_video_format_layout(const Cj2kVideoFormat *format, Cj2kLayout *layout);

/* Luma samples per sample of component c, horizontally and vertically. */
static inline uint8_t cj2k_video_format_dx(const Cj2kVideoFormat *format, uint32_t c)
{
  return c == 1 || c == 2 ? format->sub_x : 1;
}
static inline uint8_t cj2k_video_format_dy(const Cj2kVideoFormat *format, uint32_t c)
{
  return c == 1 || c == 2 ? format->sub_y : 1;
}

#endif
