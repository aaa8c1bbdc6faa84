/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What SDP and caps say of the image of a codestream, from its SIZ marker segment. */
#ifndef CJ2K_RTP_IMAGE_H
#define CJ2K_RTP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t width, height; /* of the first component */
  uint32_t num_components;
  uint8_t depth;        /* of all components; 0: they differ, or are signed */
  uint8_t sub_x, sub_y; /* of components 1 and 2 against component 0; 0: no such relation */
  bool alpha_size;      /* component 3, if there is one, has the size of component 0 */
} Cj2kRtpImage;

/* false: the data does not begin with SOC and a valid SIZ. */
bool cj2k_rtp_image_read(const uint8_t *data, size_t size, Cj2kRtpImage *image);

#endif
