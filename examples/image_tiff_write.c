/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes TIFF with libtiff: grey or RGB of 8 or 16 bits, with or without alpha, not compressed. */
#include "image_rgb.h"

#include <glib.h>
#include <string.h>
#include <tiffio.h>

/* libtiff goes back to the beginning of what it writes, which a pipe cannot: the file is made in
 * memory. */
typedef struct {
  GByteArray *bytes;
  uint64_t at;
} Target;

static tsize_t target_read(thandle_t handle, void *out, tsize_t size)
{
  Target *target = handle;
  uint64_t left = target->at < target->bytes->len ? target->bytes->len - target->at : 0;
  size_t n = size > 0 ? (size_t)MIN((uint64_t)size, left) : 0;

  memcpy(out, target->bytes->data + (n ? target->at : 0), n);
  target->at += n;
  return (tsize_t)n;
}

static tsize_t target_write(thandle_t handle, void *in, tsize_t size)
{
  Target *target = handle;
  uint64_t end = target->at + (uint64_t)size;

  if (size < 0 || end > G_MAXINT32)
    return -1;
  if (end > target->bytes->len) {
    guint old = target->bytes->len;
    g_byte_array_set_size(target->bytes, (guint)end);
    if (target->at > old)
      memset(target->bytes->data + old, 0, target->at - old);
  }
  memcpy(target->bytes->data + target->at, in, (size_t)size);
  target->at = end;
  return size;
}

static toff_t target_seek(thandle_t handle, toff_t offset, int whence)
{
  Target *target = handle;

  target->at = whence == SEEK_SET   ? offset
               : whence == SEEK_CUR ? target->at + offset
                                    : target->bytes->len + offset;
  return target->at;
}

static int target_close(thandle_t handle)
{
  (void)handle;
  return 0;
}

static toff_t target_size(thandle_t handle)
{
  return ((Target *)handle)->bytes->len;
}

static void set_tags(TIFF *tiff, const ImageRgb *rgb, unsigned bits)
{
  uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
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
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
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

static bool make_file(ImageRgb *rgb, Target *target, const char *path)
{
  unsigned bits = rgb->depth <= 8 ? 8 : 16;
  TIFF *tiff = TIFFClientOpen(path, "wm", target, target_read, target_write, target_seek,
                              target_close, target_size, NULL, NULL);
  if (!tiff)
    return false;
  set_tags(tiff, rgb, bits);
  bool ok = write_rows(tiff, rgb, bits) && TIFFFlush(tiff) == 1;
  TIFFClose(tiff);
  return ok;
}

bool image_write_tiff(const Image *image, const char *path, char *why)
{
  Target target = {.bytes = g_byte_array_new()};
  ImageRgb rgb;
  ImageOutput output;

  image_rgb_open(&rgb, image, true);
  bool ok = rgb.width && rgb.height && make_file(&rgb, &target, path);
  if (!ok)
    image_fail(why, "%s: libtiff cannot write %u x %u samples of %u components", path, rgb.width,
               rgb.height, rgb.num_channels);
  ok = ok && image_output_open(&output, path, why) &&
       image_output_close(&output,
                          fwrite(target.bytes->data, target.bytes->len, 1, output.file) == 1, why);
  image_rgb_close(&rgb);
  g_byte_array_unref(target.bytes);
  return ok;
}
