/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include "common/codestream/markers.h"

#include <string.h>

#define SIZ_AT        4  /* offset of SIZ's length field in the codestream */
#define COMPONENTS_AT 36 /* offset of the first component in SIZ's parameters */

static uint32_t rows_of(uint32_t first, uint32_t end, uint32_t step)
{
  return (uint32_t)(((uint64_t)end + step - 1) / step - ((uint64_t)first + step - 1) / step);
}

bool cj2k_rtp_image_read(const uint8_t *data, size_t size, Cj2kRtpImage *image)
{
  Cj2kMarkerSegment segment = {.marker = CJ2K_SIZ, .tile = UINT32_MAX, .offset = SIZ_AT + 2};
  Cj2kHeader header = {0};
  Cj2kError error = {0};
  memset(image, 0, sizeof *image);
  if (size < SIZ_AT + 2 || cj2k_get16(data) != CJ2K_SOC || cj2k_get16(data + 2) != CJ2K_SIZ ||
      cj2k_get16(data + SIZ_AT) < 2 || size - SIZ_AT < cj2k_get16(data + SIZ_AT))
    return false;
  segment.size = cj2k_get16(data + SIZ_AT) - 2u;
  if (cj2k_read_siz(data, &segment, &header, &error) != CJ2K_OK)
    return false;
  const uint8_t *siz = data + segment.offset + COMPONENTS_AT; /* Ssiz, XRsiz, YRsiz for each */
  if (segment.size < COMPONENTS_AT + 3 * header.num_components || !siz[1] || !siz[2])
    return false;
  image->num_components = header.num_components;
  image->width = rows_of(header.x0, header.x1, siz[1]);
  image->height = rows_of(header.y0, header.y1, siz[2]);
  image->depth = siz[0] < 128 ? (uint8_t)(siz[0] + 1) : 0;
  image->sub_x = image->sub_y = 1;
  image->alpha_size = true;
  for (uint32_t c = 1; c < header.num_components; c++) {
    const uint8_t *own = siz + 3 * c;
    bool chroma = c <= 2 && header.num_components >= 3;
    if (own[0] != siz[0])
      image->depth = 0;
    if (chroma && c == 1 && own[1] % siz[1] == 0 && own[2] % siz[2] == 0) {
      image->sub_x = own[1] / siz[1];
      image->sub_y = own[2] / siz[2];
    } else if (chroma && (c == 1 || own[1] != siz[4] || own[2] != siz[5])) {
      image->sub_x = image->sub_y = 0;
    } else if (!chroma) {
      image->alpha_size &= own[1] == siz[1] && own[2] == siz[2];
    }
  }
  return true;
}
