/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A codestream that comes in parts against the same as a whole: samples, status and counts must be
 * the same, and rows must be reported in order. Half of the decoders have a back end whose calls
 * are dear, and half of these no call-back for rows. */
#include "frame-input.h"
#include "tests/support/few-parts.h"

static void rows_ready(void *user, const Cj2kPicture *picture, uint32_t first, uint32_t end)
{
  uint32_t *reported = user;
  FUZZ_CHECK(picture->num_planes > 0, "no picture");
  FUZZ_CHECK(end > first && (first == *reported || first == 0), "rows %u to %u after %u", first,
             end, *reported);
  *reported = end;
}

/* Decodes in parts whose sizes follow from the bytes. */
static void decode_parts(Cj2kDecoder *decoder, const uint8_t *data, size_t size, bool silent,
                         Cj2kFrame *frame)
{
  Cj2kError error = {0};
  uint32_t reported = 0, state = (uint32_t)size * 2654435761u + 1;
  Cj2kStatus status =
      cj2k_decoder_begin(decoder, NULL, NULL, NULL, silent ? NULL : rows_ready, &reported, &error);
  FUZZ_CHECK(status == CJ2K_OK, "begin: %s", error.text);
  for (size_t at = 0; at < size;) {
    state = state * 1664525u + 1013904223u + data[at];
    size_t n = 1 + (state >> 24) % (1 + (state >> 16) % 256);
    n = MIN(n, size - at);
    uint8_t *copy = fuzz_copy(data + at, n);
    status = cj2k_decoder_append(decoder, copy, n, &error);
    FUZZ_CHECK(status == CJ2K_OK, "append: %s", error.text);
    g_free(copy);
    at += n;
  }
  status = cj2k_decoder_end(decoder, &error);
  FUZZ_CHECK(status == CJ2K_OK, "end: %s", error.text);
  status = cj2k_decoder_receive(decoder, frame);
  FUZZ_CHECK(status == CJ2K_OK, "no frame");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Cj2kDecoder *whole[8], *parts[8];
  uint32_t number = size % G_N_ELEMENTS(whole);
  Cj2kFrame a, b;

  if (!whole[number]) {
    whole[number] = fuzz_decoder(number % 4, 1);
    parts[number] = fuzz_decoder(number % 4, 1);
    if (number >= 4)
      make_few_parts(parts[number]);
  }
  fuzz_decode(whole[number], data, size, &a);
  decode_parts(parts[number], data, size, number >= 4 && number % 2, &b);
  fuzz_compare_frames(&a, &b);
  cj2k_decoder_release(whole[number], &a);
  cj2k_decoder_release(parts[number], &b);
  return 0;
}
