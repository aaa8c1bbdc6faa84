/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads from SIZ the properties of a codestream's image that SDP and caps announce. */
#ifndef CJ2K_RTP_IMAGE_H
#define CJ2K_RTP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t width, height; /* of the first component */
  uint32_t num_components;
  uint8_t depth;        /* bits per sample; 0: the components differ, or are signed */
  uint8_t sub_x, sub_y; /* sub-sampling of components 1 and 2 relative to component 0; 0: it differs
                           between them, or is no whole number */
  bool alpha_size;      /* component 3, if there is one, has the size of component 0 */
} Cj2kRtpImage;

/* false: the data does not begin with SOC and a valid SIZ. */
bool cj2k_rtp_image_read(const uint8_t *data, size_t size, Cj2kRtpImage *image);

#endif
