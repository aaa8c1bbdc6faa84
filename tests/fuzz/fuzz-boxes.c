/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes of JP2 and JPH files, and the image that follows from boxes and codestream. */
#include "common/decoder/image.h"
#include "fuzz.h"

#define MAX_MEMORY (128 << 10)

static void check_jp2(const Cj2kJp2 *jp2, const uint8_t *data, size_t size)
{
  FUZZ_CHECK(jp2->codestream.offset <= size &&
                 jp2->codestream.size <= size - jp2->codestream.offset,
             "the codestream leaves the data");
  FUZZ_CHECK(!jp2->icc || (jp2->icc >= data && jp2->icc_size <= (size_t)(data + size - jp2->icc)),
             "the ICC profile leaves the data");
  Cj2kChannel channels[64];
  cj2k_jp2_channels(jp2, channels, MIN(jp2->num_channels, 64));
  cj2k_jp2_colour(jp2);
}

static void check_image(const Cj2kHeader *header, Cj2kJp2 *jp2, bool strict)
{
  Cj2kImageInfo *info;
  Cj2kError error = {0};
  if (cj2k_image_info_new(header, jp2, 0, strict, &info, &error) == CJ2K_OK) {
    FUZZ_CHECK(info->image.num_components >= 1, "an image without components");
    for (uint32_t c = 0; c < info->image.num_components; c++)
      FUZZ_CHECK(info->image.components[c].depth >= 1 && info->image.components[c].depth <= 38,
                 "component %u has %u bits", c, info->image.components[c].depth);
    cj2k_image_info_unref(info);
  } else {
    FUZZ_CHECK(error.text[0], "refused without a reason");
  }
}

static void read_boxes(const uint8_t *data, size_t size, bool strict)
{
  Cj2kJp2 jp2;
  Cj2kError error = {0};
  if (cj2k_jp2_read(data, size, strict, &jp2, &error) == CJ2K_OK) {
    Cj2kHeaderReader *reader = cj2k_header_reader_new();
    Cj2kHeader *header;
    bool same;
    check_jp2(&jp2, data, size);
    if (cj2k_header_read(reader, data + jp2.codestream.offset, jp2.codestream.size, strict,
                         MAX_MEMORY, &header, &same, NULL, &error) == CJ2K_OK) {
      cj2k_jp2_check(&jp2, header, &error);
      check_image(header, &jp2, strict);
    }
    cj2k_header_reader_free(reader);
  } else {
    FUZZ_CHECK(error.text[0], "refused without a reason");
  }
  cj2k_jp2_clear(&jp2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  read_boxes(data, size, true);
  read_boxes(data, size, false);
  return 0;
}
