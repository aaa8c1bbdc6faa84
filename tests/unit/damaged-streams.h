/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoding of damaged codestreams by the CPU, and comparison of what comes out. */
#ifndef TESTS_UNIT_DAMAGED_STREAMS_H
#define TESTS_UNIT_DAMAGED_STREAMS_H

#include "common/cj2k.h"

#include <glib.h>

/* Decodes one codestream. The frame may have failed; the caller releases it and closes the decoder
 * that is returned. */
static inline Cj2kDecoder *test_decode_damaged(const GByteArray *bytes, bool strict,
                                               Cj2kFrame *frame)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.strict = strict;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  g_assert_cmpint(cj2k_decoder_submit(decoder, bytes->data, bytes->len, NULL, NULL, NULL, &error),
                  ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, frame), ==, CJ2K_OK);
  return decoder;
}

/* All samples of two frames of 8 bit, a plane for each component. */
static inline void test_assert_same_samples(const Cj2kFrame *a, const Cj2kFrame *b)
{
  g_assert_cmpuint(a->image.num_components, ==, b->image.num_components);
  for (uint32_t c = 0; c < a->image.num_components; c++) {
    const Cj2kComponent *component = &a->image.components[c];
    const Cj2kPlane *x = &a->picture.planes[c], *y = &b->picture.planes[c];
    uint32_t bytes = component->x1 - component->x0;
    g_assert_cmpuint(component->depth, ==, 8);
    for (uint32_t row = 0; row < component->y1 - component->y0; row++)
      g_assert_cmpmem((const uint8_t *)x->data + row * x->pitch, bytes,
                      (const uint8_t *)y->data + row * y->pitch, bytes);
  }
}

#endif
