/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whole small frames: into planes of the decoder, and into pictures in the formats of video, whose
 * planes have exactly the bytes that they need.
 */
#include "common/samples/layout.h"
#include "common/samples/video_formats.h"
#include "frame-input.h"

/* Decodes to a video format of as many components as the image has, if the format suits it. */
static void decode_video(Cj2kDecoder *decoder, const uint8_t *data, size_t size)
{
  uint32_t count;
  const Cj2kVideoFormat *formats = cj2k_video_formats(&count);
  Cj2kPlane planes[CJ2K_MAX_PLANES] = {0};
  size_t sizes[CJ2K_MAX_PLANES] = {0};
  Cj2kLayout layout;
  Cj2kError error = {0};
  Cj2kImage image;
  Cj2kFrame frame;

  if (cj2k_decoder_read_header(decoder, data, size, &image, &error) != CJ2K_OK)
    return;
  cj2k_video_format_layout(&formats[size / 4 % count], &layout);
  /* Pictures of half of the sizes have no room for components that the image lacks. */
  uint32_t num_rows = size & 2 ? layout.num_components : image.num_components;
  for (uint32_t c = 0; c < MIN(layout.num_components, num_rows); c++) {
    const Cj2kSampleLayout *s = &layout.samples[c];
    uint32_t width, height;
    cj2k_layout_plane_size(&layout, s->plane, image.components, image.num_components, &width,
                           &height);
    planes[s->plane].pitch = MAX(planes[s->plane].pitch, cj2k_layout_row_bytes(s, width));
    if (height && planes[s->plane].pitch > FUZZ_FRAME_MEMORY / height)
      return;
    sizes[s->plane] = planes[s->plane].pitch * height;
  }
  for (uint32_t i = 0; i < layout.num_planes; i++)
    planes[i].data = g_malloc(sizes[i] ? sizes[i] : 1);
  Cj2kPicture picture = {.num_planes = layout.num_planes, .planes = planes};
  if (cj2k_decoder_submit(decoder, data, size, &layout, &picture, NULL, &error) == CJ2K_OK) {
    FUZZ_CHECK(cj2k_decoder_receive(decoder, &frame) == CJ2K_OK, "no frame");
    cj2k_decoder_release(decoder, &frame);
  }
  for (uint32_t i = 0; i < layout.num_planes; i++)
    g_free(planes[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Cj2kDecoder *decoders[4];
  Cj2kDecoder **decoder = &decoders[size % G_N_ELEMENTS(decoders)];
  Cj2kFrame frame;

  if (!*decoder)
    *decoder = fuzz_decoder(size % G_N_ELEMENTS(decoders), 1);
  fuzz_decode(*decoder, data, size, &frame);
  cj2k_decoder_release(*decoder, &frame);
  if (size % 3 == 0)
    decode_video(*decoder, data, size);
  return 0;
}
