/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A digest of what was decoded, to compare back ends. */
#ifndef TESTS_SUPPORT_FRAME_DIGEST_H
#define TESTS_SUPPORT_FRAME_DIGEST_H

#include "common/cj2k.h"

#include <glib.h>

/* Of the samples of a frame in host memory that has a plane for each component, as without a layout
 * of the caller's; without the padding of rows. Freed with g_free. */
static inline char *test_frame_digest(const Cj2kFrame *frame)
{
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA1);

  for (uint32_t c = 0; c < frame->image.num_components; c++) {
    const Cj2kComponent *component = &frame->image.components[c];
    const Cj2kPlane *plane = &frame->picture.planes[c];
    size_t row = (size_t)(component->x1 - component->x0) * frame->layout.samples[c].word_bytes;
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      g_checksum_update(sum, (const guchar *)plane->data + y * plane->pitch, (gssize)row);
  }
  char *text = g_strdup(g_checksum_get_string(sum));
  g_checksum_free(sum);
  return text;
}

#endif
