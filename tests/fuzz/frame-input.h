/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decoding of an input as a whole frame, with parameters that follow from its size. */
#ifndef TESTS_FUZZ_FRAME_INPUT_H
#define TESTS_FUZZ_FRAME_INPUT_H

#include "cj2k.h"
#include "fuzz.h"

#define FUZZ_FRAME_MEMORY (128 << 10)

/* A decoder for parameters number 0..3. Decoders are kept, because opening one takes longer than
 * decoding a small frame. */
static inline Cj2kDecoder *fuzz_decoder(uint32_t number, uint32_t num_threads)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.num_threads = num_threads;
  params.frames_in_flight = 1;
  params.max_memory = FUZZ_FRAME_MEMORY;
  params.strict = number == 1;
  params.reduce = number == 2 ? 1 : 0;
  params.max_layers = number == 3 ? 1 : 0;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  FUZZ_CHECK(decoder, "%s", error.text);
  return decoder;
}

/* Decodes into planes of the frame's own; cj2k_decoder_release. */
static inline void fuzz_decode(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                               Cj2kFrame *frame)
{
  Cj2kError error = {0};
  Cj2kStatus status = cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error);
  FUZZ_CHECK(status == CJ2K_OK, "submit: %s", error.text);
  status = cj2k_decoder_receive(decoder, frame);
  FUZZ_CHECK(status == CJ2K_OK, "no frame");
  FUZZ_CHECK((frame->status == CJ2K_OK) != (frame->error.text[0] != 0),
             "status %d with the reason \"%s\"", frame->status, frame->error.text);
  FUZZ_CHECK(frame->status != CJ2K_ERROR_ARGUMENT || strstr(frame->error.text, "reduce"), "%s",
             frame->error.text);
}

/* Two decodings of one input must end in the same way, with the same counts and samples. */
static inline void fuzz_compare_frames(const Cj2kFrame *a, const Cj2kFrame *b)
{
  FUZZ_CHECK(a->status == b->status && strcmp(a->error.text, b->error.text) == 0,
             "\"%s\" and \"%s\"", a->error.text, b->error.text);
  FUZZ_CHECK(a->corrupt_blocks == b->corrupt_blocks && a->truncated == b->truncated &&
                 a->concealed_packets == b->concealed_packets &&
                 a->concealed_blocks == b->concealed_blocks,
             "%u and %u corrupt blocks", a->corrupt_blocks, b->corrupt_blocks);
  if (a->status != CJ2K_OK)
    return;
  for (uint32_t c = 0; c < a->image.num_components; c++) {
    const Cj2kComponent *component = &a->image.components[c];
    size_t row = (size_t)(component->x1 - component->x0) * a->layout.samples[c].word_bytes;
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      FUZZ_CHECK(memcmp((uint8_t *)a->picture.planes[c].data + y * a->picture.planes[c].pitch,
                        (uint8_t *)b->picture.planes[c].data + y * b->picture.planes[c].pitch,
                        row) == 0,
                 "component %u, row %u", c, y);
  }
}

#endif
