/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads DPX. */
#include "image_dpx.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#define ALPHA_PLANE 3 /* until all elements are known */

/* ------------------------------------------------------------------------------- header --- */

static uint32_t get(const Dpx *dpx, const ImageFile *file, size_t at, unsigned bytes)
{
  uint32_t value = 0;

  for (unsigned i = 0; i < bytes; i++)
    value = value << 8 | file->data[at + (dpx->big_endian ? i : bytes - 1 - i)];
  return value;
}

static const struct {
  uint8_t descriptor, num_samples, planes[4];
} known[] = {{1, 1, {0}},
             {2, 1, {1}},
             {3, 1, {2}},
             {DPX_ALPHA, 1, {ALPHA_PLANE}},
             {DPX_LUMA, 1, {0}},
             {DPX_RGB, 3, {0, 1, 2}},
             {DPX_RGBA, 4, {0, 1, 2, ALPHA_PLANE}},
             {DPX_ABGR, 4, {ALPHA_PLANE, 2, 1, 0}},
             {DPX_CBYCR, 3, {1, 0, 2}}};

static bool set_descriptor(DpxElement *element, uint8_t descriptor)
{
  for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    if (known[i].descriptor == descriptor) {
      element->descriptor = descriptor;
      element->num_samples = known[i].num_samples;
      memcpy(element->planes, known[i].planes, sizeof element->planes);
      element->msb_first = known[i].num_samples > 1;
      return true;
    }
  return false;
}

/* Finds the pitch with which the file has all rows: rows are padded to whole words of 32 bits and
 * by the padding that the header states. Some programs write neither, which differs from a file
 * that was cut off only by the size in the header. */
static bool set_pitch(const Dpx *dpx, DpxElement *element, const ImageFile *file, uint32_t padding)
{
  uint64_t row = element->packing->bytes((uint64_t)dpx->width * element->num_samples);
  uint64_t aligned = (row + 3) / 4 * 4;
  uint32_t stated = get(dpx, file, DPX_FILE_SIZE, 4);
  bool cut = stated != DPX_UNDEFINED && stated > file->size;
  const uint64_t pitches[] = {padding < aligned ? aligned + padding : aligned,
                              cut ? UINT64_MAX : aligned, cut ? UINT64_MAX : row};

  if (element->offset > file->size || row > file->size - element->offset)
    return false;
  for (size_t i = 0; i < G_N_ELEMENTS(pitches); i++) {
    element->pitch = pitches[i];
    if ((file->size - element->offset - row) / element->pitch >= dpx->height - 1)
      return true;
  }
  return false;
}

static bool read_element(Dpx *dpx, DpxElement *element, size_t at, const ImageFile *file, char *why)
{
  uint8_t descriptor = file->data[at + DPX_DESCRIPTOR], bits = file->data[at + DPX_BITS];
  uint32_t packing = get(dpx, file, at + DPX_PACKING, 2);
  uint32_t encoding = get(dpx, file, at + DPX_ENCODING, 2);
  uint32_t offset = get(dpx, file, at + DPX_ELEMENT_DATA, 4);

  if (!set_descriptor(element, descriptor))
    return image_fail(why,
                      "%s: a DPX file whose samples are of kind %u; grey, RGB, RGBA, ABGR and "
                      "CbYCr 4:4:4 are read",
                      file->path, descriptor);
  if (get(dpx, file, at + DPX_SIGN, 4) == 1)
    return image_fail(why, "%s: a DPX file with signed samples", file->path);
  if (encoding == 1)
    return image_fail(why, "%s: a DPX file with run-length encoding", file->path);
  element->packing = dpx_packing(bits, (uint16_t)packing);
  if (!element->packing)
    return image_fail(why,
                      "%s: a DPX file with %u bits in packing %u; 8, 10, 12 and 16 bits in "
                      "packings 0, 1 and 2 are read",
                      file->path, bits, packing);
  bool none = offset == 0 || offset == DPX_UNDEFINED;
  element->offset = none ? get(dpx, file, DPX_DATA_OFFSET, 4) : offset;
  if (set_pitch(dpx, element, file, get(dpx, file, at + DPX_LINE_PADDING, 4)))
    return true;
  return image_fail(why, "%s: %zu bytes are less than %u x %u samples from byte %" PRIu64 " on",
                    file->path, file->size, dpx->width, dpx->height, element->offset);
}

/* Checks that the elements are one picture, and counts its planes. */
static bool join_elements(Dpx *dpx, const ImageFile *file, char *why)
{
  unsigned set = 0;

  for (uint32_t i = 0; i < dpx->num_elements; i++) {
    DpxElement *element = &dpx->elements[i];
    dpx->grey |= element->descriptor == DPX_LUMA;
    dpx->ycc |= element->descriptor == DPX_CBYCR;
    if (element->packing->bits != dpx->elements[0].packing->bits)
      return image_fail(why, "%s: image elements of %u and %u bits", file->path,
                        dpx->elements[0].packing->bits, element->packing->bits);
    for (uint8_t k = 0; k < element->num_samples; k++) {
      unsigned bit = 1u << element->planes[k];
      if (set & bit)
        return image_fail(why, "%s: two image elements have the same component", file->path);
      set |= bit;
    }
  }
  dpx->depth = dpx->elements[0].packing->bits;
  dpx->num_planes = (dpx->grey ? 1 : 3) + (set >> ALPHA_PLANE);
  if ((set & 7) != (dpx->grey ? 1 : 7))
    return image_fail(why, "%s: the image elements are neither grey nor RGB", file->path);
  for (uint32_t i = 0; i < dpx->num_elements; i++)
    for (uint8_t k = 0; k < dpx->elements[i].num_samples; k++)
      if (dpx->elements[i].planes[k] == ALPHA_PLANE)
        dpx->elements[i].planes[k] = (uint8_t)(dpx->num_planes - 1);
  return true;
}

bool dpx_read_header(Dpx *dpx, const ImageFile *file, char *why)
{
  *dpx = (Dpx){0};
  if (file->size < DPX_IMAGE_END)
    return image_fail(why, "%s: %zu bytes are less than the header of a DPX file", file->path,
                      file->size);
  dpx->big_endian = !memcmp(file->data, "SDPX", 4);
  dpx->width = get(dpx, file, DPX_WIDTH, 4);
  dpx->height = get(dpx, file, DPX_HEIGHT, 4);
  uint32_t count = get(dpx, file, DPX_NUM_ELEMENTS, 2);
  if (!dpx->width || !dpx->height)
    return image_fail(why, "%s: a picture of %u x %u is empty", file->path, dpx->width,
                      dpx->height);
  if (!count || count > DPX_MAX_ELEMENTS)
    return image_fail(why, "%s: a DPX file with %u image elements", file->path, count);
  uint32_t orientation = get(dpx, file, DPX_ORIENTATION, 2);
  if (orientation > 3 && orientation != 0xFFFF)
    return image_fail(why, "%s: a DPX file with columns stored as rows (orientation %u)",
                      file->path, orientation);
  dpx->mirrored = orientation == 1 || orientation == 3;
  dpx->upside_down = orientation == 2 || orientation == 3;
  for (uint32_t i = 0; i < count; i++) {
    size_t at = DPX_ELEMENTS + (size_t)i * DPX_ELEMENT_SIZE;
    if (!read_element(dpx, &dpx->elements[i], at, file, why) || !dpx->elements[i].packing)
      return false;
    dpx->num_elements = i + 1;
  }
  return join_elements(dpx, file, why);
}

/* ------------------------------------------------------------------------------ samples --- */

/* Copies sample k of each pixel of a row to its plane. */
static void put_samples(const Dpx *dpx, const uint16_t *in, uint8_t step, const ImagePlane *plane,
                        uint32_t y)
{
  uint8_t *row = plane->data + (size_t)y * plane->pitch;

  for (uint32_t x = 0; x < dpx->width; x++, in += step) {
    size_t to = dpx->mirrored ? dpx->width - 1 - x : x;
    if (plane->bytes == 1) {
      row[to] = (uint8_t)*in;
    } else {
      row[2 * to] = (uint8_t)*in;
      row[2 * to + 1] = (uint8_t)(*in >> 8);
    }
  }
}

static void read_samples(const Dpx *dpx, const DpxElement *element, const ImageFile *file,
                         const Image *image)
{
  size_t n = (size_t)dpx->width * element->num_samples;
  uint16_t *row = g_new(uint16_t, n);

  for (uint32_t y = 0; y < dpx->height; y++) {
    const uint8_t *in = file->data + element->offset + y * element->pitch;
    uint32_t to = dpx->upside_down ? dpx->height - 1 - y : y;
    element->packing->unpack(element, dpx->big_endian, in, n, row);
    for (uint8_t k = 0; k < element->num_samples; k++)
      put_samples(dpx, row + k, element->num_samples, &image->planes[element->planes[k]], to);
  }
  g_free(row);
}

static Cj2kColour colour_of(const Dpx *dpx)
{
  return dpx->grey ? CJ2K_COLOUR_GREY : dpx->ycc ? CJ2K_COLOUR_SYCC : CJ2K_COLOUR_SRGB;
}

static const Cj2kChannel *channels_of(const Dpx *dpx)
{
  static const Cj2kChannel grey_alpha[] = {{0, 1}, {1, 0}},
                           rgb_alpha[] = {{0, 1}, {0, 2}, {0, 3}, {1, 0}};

  return dpx->num_planes == 2 ? grey_alpha : dpx->num_planes == 4 ? rgb_alpha : NULL;
}

bool image_read_dpx(Image *image, const ImageFile *file, char *why)
{
  Dpx dpx;

  if (!dpx_read_header(&dpx, file, why) || !dpx.num_elements)
    return false;
  ImageShape shape = {
      .num_planes = dpx.num_planes, .width = dpx.width, .height = dpx.height, .depth = dpx.depth};
  if (!image_alloc(image, shape, file->path, why))
    return false;
  image->colour = colour_of(&dpx);
  image->channels = channels_of(&dpx);
  for (uint32_t i = 0; i < dpx.num_elements; i++)
    read_samples(&dpx, &dpx.elements[i], file, image);
  return true;
}

bool image_place_dpx(ImagePacked *packed, const ImageFile *file, char *why)
{
  Dpx dpx;

  *packed = (ImagePacked){0};
  if (!dpx_read_header(&dpx, file, why) || !dpx.num_elements)
    return false;
  const DpxElement *element = &dpx.elements[0];
  const DpxPacking *packing = element->packing;
  bool pixel_word = packing && packing->pixel_word;
  if (dpx.num_elements > 1 || dpx.mirrored || dpx.upside_down || !packing || !packing->word_bytes ||
      (pixel_word && element->num_samples != 3))
    return true; /* not in a form that the library describes */
  *packed = (ImagePacked){.width = dpx.width,
                          .height = dpx.height,
                          .num_components = dpx.num_planes,
                          .depth = dpx.depth,
                          .colour = colour_of(&dpx),
                          .channels = channels_of(&dpx),
                          .offset = element->offset,
                          .pitch = element->pitch};
  for (uint8_t k = 0; k < element->num_samples; k++) {
    Cj2kSampleLayout *samples = &packed->samples[element->planes[k]];
    *samples = (Cj2kSampleLayout){
        .unit_bytes = pixel_word ? 4 : (uint8_t)(element->num_samples * packing->word_bytes),
        .unit_samples = 1,
        .word_bytes = packing->word_bytes,
        .big_endian = dpx.big_endian && packing->word_bytes > 1,
        .depth = dpx.depth};
    samples->at[0].offset = pixel_word ? 0 : (uint8_t)(k * packing->word_bytes);
    samples->at[0].shift = (uint8_t)(packing->shift + (pixel_word ? 10 * (2 - k) : 0));
  }
  return true;
}
