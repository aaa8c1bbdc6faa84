/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes TIFF with libtiff: grey or RGB of 8 or 16 bits, with or without alpha, not compressed. */
#include "image_rgb.h"
#include "image_tiff_memory.h"

/* Kind of the extra sample. A channel that stands where alpha is expected counts as such. */
static uint16_t extra_sample(const ImageRgb *rgb)
{
  switch (rgb->alpha_type) {
  case CJ2K_CHANNEL_PREMULTIPLIED: return EXTRASAMPLE_ASSOCALPHA;
  case CJ2K_CHANNEL_UNSPECIFIED: return EXTRASAMPLE_UNSPECIFIED;
  default: return EXTRASAMPLE_UNASSALPHA;
  }
}

static void set_tags(TIFF *tiff, const ImageRgb *rgb, unsigned bits)
{
  uint16_t extra = extra_sample(rgb);
  bool colour = rgb->num_channels >= 3;

  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, rgb->width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, rgb->height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, rgb->num_channels);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(tiff, 0));
  if (rgb->num_channels % 2 == 0)
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
}

static bool write_rows(TIFF *tiff, ImageRgb *rgb, unsigned bits)
{
  size_t n = (size_t)rgb->width * rgb->num_channels;
  uint16_t *row = g_new(uint16_t, n);
  bool ok = true;

  for (uint32_t y = 0; ok && y < rgb->height; y++) {
    image_rgb_row(rgb, y, row);
    for (size_t i = 0; i < n; i++) {
      uint32_t value = image_rgb_stretch(row[i], rgb->depth, bits);
      if (bits == 8)
        ((uint8_t *)row)[i] = (uint8_t)value;
      else
        row[i] = (uint16_t)value;
    }
    ok = TIFFWriteScanline(tiff, row, y, 0) >= 0;
  }
  g_free(row);
  return ok;
}

static bool make_file(ImageRgb *rgb, TiffMemory *memory, const char *path, char *why)
{
  unsigned bits = rgb->depth <= 8 ? 8 : 16;
  TIFF *tiff = tiff_memory_write(memory, path, why);
  if (!tiff)
    return false;
  bool ok = rgb->width && rgb->height;
  if (ok) {
    set_tags(tiff, rgb, bits);
    ok = write_rows(tiff, rgb, bits) && TIFFFlush(tiff) == 1;
  }
  TIFFClose(tiff);
  if (!ok && !memory->failed)
    image_fail(why, "%s: libtiff cannot write %u x %u samples of %u components", path, rgb->width,
               rgb->height, rgb->num_channels);
  return ok;
}

bool image_write_tiff(const Image *image, const char *path, char *why)
{
  TiffMemory memory;
  ImageRgb rgb;
  ImageOutput output;

  image_rgb_open(&rgb, image, true);
  rgb.premultiplied = false; /* the file says so, and samples stay as they are */
  bool ok = make_file(&rgb, &memory, path, why) && image_output_open(&output, path, why) &&
            image_output_close(&output, fwrite(memory.data, memory.size, 1, output.file) == 1, why);
  image_rgb_close(&rgb);
  tiff_memory_free(&memory);
  return ok;
}
