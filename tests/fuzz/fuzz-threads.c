/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One thread against three: a codestream must be decoded to the same samples, and any other input,
 * read as parameters and a picture, encoded to the same bytes. */
#include "frame-input.h"
#include "picture-input.h"

static void decode(const uint8_t *data, size_t size)
{
  static Cj2kDecoder *one[4], *three[4];
  uint32_t number = size % 4;
  Cj2kFrame a, b;

  if (!one[number]) {
    one[number] = fuzz_decoder(number, 1);
    three[number] = fuzz_decoder(number, 3);
  }
  fuzz_decode(one[number], data, size, &a);
  fuzz_decode(three[number], data, size, &b);
  fuzz_compare_frames(&a, &b);
  cj2k_decoder_release(one[number], &a);
  cj2k_decoder_release(three[number], &b);
}

/* One frame; NULL: refused, with a reason. */
static GBytes *encode_frame(const FuzzPicture *p, const Cj2kEncoderParams *params, Cj2kError *error)
{
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &p->image, &p->layout, error);
  GBytes *bytes = NULL;
  Cj2kPacket packet;

  if (!encoder)
    return NULL;
  if (cj2k_encoder_submit(encoder, &p->picture, NULL, error) == CJ2K_OK) {
    FUZZ_CHECK(cj2k_encoder_receive(encoder, &packet) == CJ2K_OK, "no packet");
    *error = packet.error;
    if (packet.status == CJ2K_OK)
      bytes = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  return bytes;
}

static void encode(const uint8_t *data, size_t size)
{
  FuzzInput in = fuzz_input(data, size);
  FuzzPicture picture;
  Cj2kEncoderParams params;
  Cj2kError error = {0}, other = {0};

  fuzz_params_read(&params, &in);
  fuzz_picture_read(&picture, &in);
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture.image, &picture.layout, &error);
  cj2k_encoder_close(encoder);
  if (!encoder)
    return; /* the offsets of the image are not valid, so that it has no size */
  fuzz_fill_planes(&picture, &params, &in);
  GBytes *one = encode_frame(&picture, &params, &error);
  params.num_threads = 3;
  GBytes *three = encode_frame(&picture, &params, &other);
  FUZZ_CHECK(!one == !three && strcmp(error.text, other.text) == 0, "\"%s\" and \"%s\"", error.text,
             other.text);
  FUZZ_CHECK(!one || g_bytes_equal(one, three), "different bytes");
  g_clear_pointer(&one, g_bytes_unref);
  g_clear_pointer(&three, g_bytes_unref);
  fuzz_picture_clear(&picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size >= 2 && data[0] == 0xff && data[1] == 0x4f)
    decode(data, size);
  else
    encode(data, size);
  return 0;
}
