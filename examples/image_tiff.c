/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads TIFF with libtiff: grey and RGB of up to 16 bits, with or without alpha. */
#include "image_tiff_memory.h"

#include <string.h>

#define MAX_SIDE  1000000             /* as libpng has it */
#define MAX_BLOCK (UINT64_C(1) << 31) /* bytes of a strip or tile */

/* ----------------------------------------------------------------------------- the kind --- */

typedef struct {
  TIFF *tiff;
  const ImageFile *file;
  TiffMemory memory;
  uint32_t width, height;
  uint16_t bits, samples, photometric, orientation;
  bool planar;
  uint16_t extra; /* kind of the alpha channel, if there is one */
  bool has_extra;
  uint32_t block_width, block_height; /* of a tile; of a strip, as wide as the picture */
} Tiff;

static bool refuse(const Tiff *t, const char *what, unsigned value)
{
  return image_fail(t->memory.why, "%s: a TIFF file with %s %u", t->file->path, what, value);
}

static void read_tags(Tiff *t)
{
  uint16_t compression = COMPRESSION_NONE, planar = PLANARCONFIG_CONTIG, num_extra = 0;
  uint16_t *extra = NULL;

  TIFFGetField(t->tiff, TIFFTAG_IMAGEWIDTH, &t->width);
  TIFFGetField(t->tiff, TIFFTAG_IMAGELENGTH, &t->height);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_BITSPERSAMPLE, &t->bits);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_SAMPLESPERPIXEL, &t->samples);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_ORIENTATION, &t->orientation);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_EXTRASAMPLES, &num_extra, &extra);
  if (!TIFFGetField(t->tiff, TIFFTAG_PHOTOMETRIC, &t->photometric))
    t->photometric = t->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  if (t->photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG) {
    TIFFSetField(t->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB); /* libjpeg converts */
    t->photometric = PHOTOMETRIC_RGB;
  }
  t->planar = planar == PLANARCONFIG_SEPARATE && t->samples > 1;
  t->has_extra = num_extra == 1;
  t->extra = t->has_extra ? extra[0] : 0;
}

static bool check_kind(const Tiff *t)
{
  uint16_t format = SAMPLEFORMAT_UINT;
  bool grey = t->photometric == PHOTOMETRIC_MINISBLACK || t->photometric == PHOTOMETRIC_MINISWHITE;

  TIFFGetFieldDefaulted(t->tiff, TIFFTAG_SAMPLEFORMAT, &format);
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
    return refuse(t, "samples that are not unsigned integers: SampleFormat", format);
  if (!grey && t->photometric != PHOTOMETRIC_RGB)
    return refuse(t, "colours that are neither grey nor RGB: PhotometricInterpretation",
                  t->photometric);
  if (t->samples != (grey ? 1 : 3) + (t->has_extra ? 1 : 0))
    return refuse(t, "an unexpected number of samples a pixel:", t->samples);
  if (!t->bits || t->bits > 16)
    return refuse(t, "a number of bits that is not in 1..16:", t->bits);
  if (t->orientation < ORIENTATION_TOPLEFT || t->orientation > ORIENTATION_BOTLEFT)
    return refuse(t, "columns stored as rows: Orientation", t->orientation);
  return true;
}

/* Sets the size of the blocks in which the picture is stored. */
static bool set_blocks(Tiff *t)
{
  uint64_t size;

  if (TIFFIsTiled(t->tiff)) {
    TIFFGetField(t->tiff, TIFFTAG_TILEWIDTH, &t->block_width);
    TIFFGetField(t->tiff, TIFFTAG_TILELENGTH, &t->block_height);
    size = TIFFTileSize64(t->tiff);
  } else {
    t->block_width = t->width;
    TIFFGetFieldDefaulted(t->tiff, TIFFTAG_ROWSPERSTRIP, &t->block_height);
    t->block_height = MIN(t->block_height, t->height);
    size = TIFFStripSize64(t->tiff);
  }
  uint64_t row = ((uint64_t)t->block_width * (t->planar ? 1 : t->samples) * t->bits + 7) / 8;
  if (!row || !t->block_height || size > MAX_BLOCK || size / t->block_height < row)
    return image_fail(t->memory.why, "%s: strips or tiles of a wrong size", t->file->path);
  return true;
}

/* ------------------------------------------------------------------------------ samples --- */

/* Reads n samples of component c, each `step` after the one before it, from a row of a block. */
static void get_samples(const Tiff *t, const uint8_t *row, uint32_t c, uint32_t step, uint32_t n,
                        int32_t *out)
{
  /* Only grey can be white at 0, and the extra sample beside it is not a colour. */
  bool is_white_zero = t->photometric == PHOTOMETRIC_MINISWHITE && c == 0;
  const int32_t invert = is_white_zero ? (1 << t->bits) - 1 : 0;
  uint32_t first = t->planar ? 0 : c;

  for (uint32_t i = 0; i < n; i++) {
    uint64_t at = first + (uint64_t)i * step;
    uint32_t value = 0;
    if (t->bits == 8) {
      value = row[at];
    } else if (t->bits == 16) { /* in the byte order of this machine */
      uint16_t word;
      memcpy(&word, row + 2 * at, sizeof word);
      value = word;
    } else {
      for (uint64_t bit = at * t->bits; bit < (at + 1) * t->bits; bit++)
        value = value << 1 | (row[bit / 8] >> (7 - bit % 8) & 1);
    }
    out[i] = (int32_t)value ^ invert;
  }
}

/* Copies a block whose top left sample is (x, y) to the planes; plane: the only one of the block.
 */
static void put_block(const Tiff *t, const uint8_t *block, uint32_t x, uint32_t y, uint16_t plane,
                      const Image *image, int32_t *row)
{
  uint32_t columns = MIN(t->block_width, t->width - x), rows = MIN(t->block_height, t->height - y);
  uint32_t count = t->planar ? 1 : t->samples;
  uint64_t pitch = ((uint64_t)t->block_width * count * t->bits + 7) / 8;
  bool mirrored = t->orientation == ORIENTATION_TOPRIGHT || t->orientation == ORIENTATION_BOTRIGHT;
  bool upside_down = t->orientation >= ORIENTATION_BOTRIGHT;

  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t c = 0; c < count; c++) {
      uint32_t component = t->planar ? plane : c;
      ImagePlane to = image->planes[component];
      get_samples(t, block + r * pitch, component, count, columns, row);
      for (uint32_t i = 0; mirrored && i < columns / 2; i++) {
        int32_t other = row[columns - 1 - i];
        row[columns - 1 - i] = row[i];
        row[i] = other;
      }
      to.data += (size_t)(mirrored ? t->width - x - columns : x) * to.bytes;
      image_put_row(&to, upside_down ? t->height - 1 - y - r : y + r, columns, row);
    }
}

static bool read_block(const Tiff *t, uint32_t x, uint32_t y, uint16_t plane, uint8_t *block,
                       tsize_t size)
{
  if (TIFFIsTiled(t->tiff))
    return TIFFReadEncodedTile(t->tiff, TIFFComputeTile(t->tiff, x, y, 0, plane), block, size) >= 0;
  return TIFFReadEncodedStrip(t->tiff, TIFFComputeStrip(t->tiff, y, plane), block, size) >= 0;
}

static bool read_blocks(const Tiff *t, const Image *image)
{
  tsize_t size = TIFFIsTiled(t->tiff) ? TIFFTileSize(t->tiff) : TIFFStripSize(t->tiff);
  uint32_t columns = MIN(t->width, t->block_width);
  uint8_t *block = g_try_malloc0((gsize)size);
  int32_t *row = g_try_new(int32_t, columns);
  bool has_memory = block && row, ok = has_memory;

  for (uint16_t plane = 0; ok && plane < (t->planar ? t->samples : 1); plane++)
    for (uint64_t y = 0; ok && y < t->height; y += t->block_height)
      for (uint64_t x = 0; ok && x < t->width; x += t->block_width) {
        ok = read_block(t, (uint32_t)x, (uint32_t)y, plane, block, size);
        if (ok)
          put_block(t, block, (uint32_t)x, (uint32_t)y, plane, image, row);
      }
  if (!has_memory)
    image_fail(t->memory.why, "%s: no memory for a block of %lld bytes and a row of %u samples",
               t->file->path, (long long)size, columns);
  else if (!ok && !t->memory.failed)
    image_fail(t->memory.why, "%s: the samples cannot be read", t->file->path);
  g_free(block);
  g_free(row);
  return ok;
}

/* ---------------------------------------------------------------------------------- all --- */

static void set_channels(const Tiff *t, Image *image)
{
  static const Cj2kChannel channels[3][4] = {
      {{0, 1}, {0, 2}, {0, 3}, {CJ2K_CHANNEL_UNSPECIFIED, 65535}},
      {{0, 1}, {0, 2}, {0, 3}, {CJ2K_CHANNEL_PREMULTIPLIED, 0}},
      {{0, 1}, {0, 2}, {0, 3}, {CJ2K_CHANNEL_OPACITY, 0}}};
  static const Cj2kChannel grey[3][2] = {{{0, 1}, {CJ2K_CHANNEL_UNSPECIFIED, 65535}},
                                         {{0, 1}, {CJ2K_CHANNEL_PREMULTIPLIED, 0}},
                                         {{0, 1}, {CJ2K_CHANNEL_OPACITY, 0}}};
  uint16_t extra = MIN(t->extra, 2);

  image->colour = t->samples >= 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  if (t->has_extra)
    image->channels = t->samples == 2 ? grey[extra] : channels[extra];
}

static bool read_picture(Tiff *t, Image *image)
{
  const ImageFile *file = t->file;

  read_tags(t);
  if (!check_kind(t))
    return false;
  /* What the planes take: a sample of one bit has a byte there. */
  double bytes = (double)t->width * t->height * t->samples * image_sample_bytes((uint8_t)t->bits);
  if (t->width > MAX_SIDE || t->height > MAX_SIDE || !image_is_plausible(bytes, file->size))
    return image_fail(t->memory.why, "%s: %zu bytes cannot be %u x %u samples of %u components",
                      file->path, file->size, t->width, t->height, t->samples);
  ImageShape shape = {
      .num_planes = t->samples, .width = t->width, .height = t->height, .depth = (uint8_t)t->bits};
  if (!set_blocks(t) || !image_alloc(image, shape, file->path, t->memory.why))
    return false;
  set_channels(t, image);
  return read_blocks(t, image);
}

bool image_read_tiff(Image *image, const ImageFile *file, char *why)
{
  Tiff t = {.file = file};

  t.tiff = tiff_memory_read(&t.memory, file, why);
  if (!t.tiff)
    return false;
  bool ok = read_picture(&t, image);
  TIFFClose(t.tiff);
  if (!ok)
    image_clear(image);
  return ok;
}
