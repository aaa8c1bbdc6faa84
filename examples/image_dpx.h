/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DPX (SMPTE ST 268): the fields of its header, and where the samples lie. */
#ifndef EXAMPLES_IMAGE_DPX_H
#define EXAMPLES_IMAGE_DPX_H

#include "image.h"

/* Bytes at which fields begin; those of image elements count from the element's own begin. */
enum {
  DPX_MAGIC = 0, /* SDPX; in a little-endian file XPDS */
  DPX_DATA_OFFSET = 4,
  DPX_VERSION = 8,
  DPX_FILE_SIZE = 16,
  DPX_DITTO = 20,
  DPX_GENERIC_SIZE = 24,
  DPX_INDUSTRY_SIZE = 28,
  DPX_USER_SIZE = 32,
  DPX_CREATOR = 160,
  DPX_ENCRYPTION = 660,
  DPX_ORIENTATION = 768,
  DPX_NUM_ELEMENTS = 770,
  DPX_WIDTH = 772,
  DPX_HEIGHT = 776,
  DPX_ELEMENTS = 780,
  DPX_ELEMENT_SIZE = 72,
  DPX_SIGN = 0,
  DPX_LOW_CODE = 4,
  DPX_HIGH_CODE = 12,
  DPX_DESCRIPTOR = 20,
  DPX_TRANSFER = 21,
  DPX_COLORIMETRY = 22,
  DPX_BITS = 23,
  DPX_PACKING = 24,
  DPX_ENCODING = 26,
  DPX_ELEMENT_DATA = 28,
  DPX_LINE_PADDING = 32,
  DPX_IMAGE_PADDING = 36,
  DPX_ASPECT = 1628,    /* of pixels, two numbers */
  DPX_IMAGE_END = 1408, /* of the file and image information, which every file has */
  DPX_GENERIC_END = 1664,
  DPX_HEADER_END = 2048,
};

#define DPX_MAX_ELEMENTS 8
#define DPX_UNDEFINED    UINT32_MAX

/* How samples are packed into words of 32 bits. */
enum { DPX_PACKED = 0, DPX_FILLED_A = 1, DPX_FILLED_B = 2 };

/* What an image element is. */
enum { DPX_ALPHA = 4, DPX_LUMA = 6, DPX_RGB = 50, DPX_RGBA = 51, DPX_ABGR = 52, DPX_CBYCR = 102 };

typedef struct DpxPacking DpxPacking;

/* How one image element is stored. */
typedef struct {
  const DpxPacking *packing;
  uint8_t descriptor;
  uint8_t num_samples; /* of a pixel */
  uint8_t planes[4];   /* the plane of each */
  bool msb_first;      /* filled words of 10 bits have their first sample in the highest bits */
  uint64_t offset;     /* in the file */
  uint64_t pitch;      /* bytes from row to row */
} DpxElement;

typedef struct {
  bool big_endian;
  uint32_t width, height;
  bool mirrored, upside_down;
  uint8_t depth;
  uint32_t num_planes;
  bool grey, ycc; /* neither: RGB */
  uint32_t num_elements;
  DpxElement elements[DPX_MAX_ELEMENTS];
} Dpx;

/* A way of packing samples. */
struct DpxPacking {
  uint8_t bits, packing;
  /* Bytes of n samples, without the padding to whole words of 32 bits. */
  uint64_t (*bytes)(uint64_t n);
  void (*unpack)(const DpxElement *element, bool big_endian, const uint8_t *in, size_t n,
                 uint16_t *out);
  /* If a sample is a part of one word: bytes of the word, bit at which it begins, and whether one
   * word holds the three samples of a pixel. */
  uint8_t word_bytes, shift;
  bool pixel_word;
};

/* NULL: there is no such packing. */
const DpxPacking *dpx_packing(uint8_t bits, uint16_t packing);
/* Reads the header and checks that the file has all samples. */
bool dpx_read_header(Dpx *dpx, const ImageFile *file, char *why);

#endif
