/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encodes, decodes and compares: each codestream is decoded strictly and without a corrupt block; a
 * lossless one gives every sample back. The picture is decoded to the layout that it came from.
 */
#include "picture-input.h"

static Cj2kPlane *empty_planes(const FuzzPicture *p, size_t sizes[FUZZ_COMPONENTS])
{
  Cj2kPlane *planes = g_memdup2(p->planes, sizeof p->planes);
  for (uint32_t i = 0; i < p->layout.num_planes; i++)
    planes[i].data = g_malloc0(sizes[i] ? sizes[i] : 1);
  return planes;
}

/* The sample in the bits that the layout gives it. */
static uint32_t get_sample(const Cj2kSampleLayout *s, const Cj2kPlane *plane, uint32_t x,
                           uint32_t y)
{
  const uint8_t *word = (const uint8_t *)plane->data + y * plane->pitch +
                        (size_t)(x / s->unit_samples) * s->unit_bytes +
                        s->at[x % s->unit_samples].offset;
  uint32_t value = 0;
  for (uint32_t i = 0; i < s->word_bytes; i++)
    value |= (uint32_t)word[s->big_endian ? s->word_bytes - 1 - i : i] << 8 * i;
  value >>= s->at[x % s->unit_samples].shift;
  return value & (uint32_t)((UINT64_C(1) << s->depth) - 1);
}

static void compare(const FuzzPicture *p, const Cj2kFrame *frame, const Cj2kPlane *planes)
{
  for (uint32_t c = 0; c < p->image.num_components; c++) {
    const Cj2kComponent *component = &frame->image.components[c];
    const Cj2kSampleLayout *s = &p->layout.samples[c];
    for (uint32_t y = 0; y < component->y1 - component->y0; y++)
      for (uint32_t x = 0; x < component->x1 - component->x0; x++) {
        uint32_t before = get_sample(s, &p->planes[s->plane], x, y);
        uint32_t after = get_sample(s, &planes[s->plane], x, y);
        FUZZ_CHECK(before == after, "component %u at %u, %u: %u, not %u", c, x, y, after, before);
      }
  }
}

static void plane_sizes(const FuzzPicture *p, const Cj2kImage *image, size_t sizes[FUZZ_COMPONENTS])
{
  for (uint32_t c = 0; c < image->num_components; c++) {
    uint32_t height = image->components[c].y1 - image->components[c].y0;
    size_t *size = &sizes[p->layout.samples[c].plane];
    *size = MAX(*size, p->planes[p->layout.samples[c].plane].pitch * height);
  }
}

static void decode(const FuzzPicture *p, const Cj2kPacket *packet, bool lossless)
{
  static Cj2kDecoder *decoder;
  Cj2kError error = {0};
  Cj2kImage image;
  Cj2kFrame frame;
  size_t sizes[FUZZ_COMPONENTS] = {0};

  if (!decoder) {
    Cj2kDecoderParams params;
    cj2k_decoder_params_init(&params);
    params.backend = CJ2K_BACKEND_CPU;
    params.num_threads = params.frames_in_flight = 1;
    params.strict = true;
    decoder = cj2k_decoder_open(&params, &error);
    FUZZ_CHECK(decoder, "%s", error.text);
  }
  Cj2kStatus status = cj2k_decoder_read_header(decoder, packet->data, packet->size, &image, &error);
  FUZZ_CHECK(status == CJ2K_OK, "header: %s", error.text);
  FUZZ_CHECK(image.num_components == p->image.num_components, "%u components, not %u",
             image.num_components, p->image.num_components);
  plane_sizes(p, &image, sizes);
  Cj2kPlane *planes = empty_planes(p, sizes);
  Cj2kPicture target = p->picture;
  target.planes = planes;
  status =
      cj2k_decoder_submit(decoder, packet->data, packet->size, &p->layout, &target, NULL, &error);
  FUZZ_CHECK(status == CJ2K_OK, "submit: %s", error.text);
  FUZZ_CHECK(cj2k_decoder_receive(decoder, &frame) == CJ2K_OK, "no frame");
  FUZZ_CHECK(frame.status == CJ2K_OK && !frame.corrupt_blocks && !frame.truncated,
             "%s: %u corrupt blocks, %s", cj2k_status_name(frame.status), frame.corrupt_blocks,
             frame.error.text);
  if (lossless)
    compare(p, &frame, planes);
  cj2k_decoder_release(decoder, &frame);
  for (uint32_t i = 0; i < p->layout.num_planes; i++)
    g_free(planes[i].data);
  g_free(planes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  FuzzInput in = fuzz_input(data, size);
  FuzzPicture picture;
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kPacket packet;

  bool lossless = fuzz_take(&in, 1) & 1;
  fuzz_params_read(&params, &in);
  if (lossless) {
    params.rate_control = CJ2K_RATE_LOSSLESS;
    params.bitrate = params.max_frame_bytes = params.max_component_bytes = 0;
    params.bits_per_pixel = 0;
    params.rgb_to_xyz = CJ2K_XYZ_OFF;
  }
  fuzz_picture_read(&picture, &in);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  if (!encoder)
    return 0;
  fuzz_fill_planes(&picture, &params, &in);
  if (cj2k_encoder_submit(encoder, &picture.picture, NULL, &error) == CJ2K_OK) {
    FUZZ_CHECK(cj2k_encoder_receive(encoder, &packet) == CJ2K_OK, "no packet");
    if (packet.status == CJ2K_OK)
      decode(&picture, &packet, lossless);
    cj2k_encoder_release(encoder, &packet);
  }
  fuzz_picture_clear(&picture);
  cj2k_encoder_close(encoder);
  return 0;
}
