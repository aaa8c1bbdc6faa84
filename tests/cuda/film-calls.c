/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "film-calls.h"

#include <string.h>

GByteArray *film_encode(const Format *format, uint32_t width, uint32_t height, const View *view,
                        const Cj2kEncoderParams *params)
{
  GByteArray *bytes = g_byte_array_new();
  PictureKind kind;
  Picture picture;
  Cj2kPacket packet;
  Cj2kError error = {0};

  picture_init_view(&picture, format, width, height, view);
  picture_kind_init(&kind, format, width, height);
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &kind.image, &kind.layout, &error);
  if (!encoder || cj2k_encoder_submit(encoder, &picture.picture, NULL, &error) != CJ2K_OK ||
      cj2k_encoder_receive(encoder, &packet) != CJ2K_OK || packet.status != CJ2K_OK)
    g_error("a picture cannot be encoded: %s", error.text);
  g_byte_array_append(bytes, packet.data, (guint)packet.size);
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
  picture_clear(&picture);
  return bytes;
}

Cj2kDecoder *film_open_decoder(Cj2kBackendKind backend, uint32_t in_flight)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.cuda_device = 0; /* of the pictures and their stream */
  params.backend = backend;
  params.frames_in_flight = in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("no decoder: %s", error.text);
  return decoder;
}

void film_read_image(Cj2kDecoder *decoder, const GByteArray *coded, Cj2kImage *image,
                     Cj2kComponent components[4])
{
  Cj2kError error = {0};

  if (cj2k_decoder_read_header(decoder, coded->data, coded->len, image, &error) != CJ2K_OK)
    g_error("the header cannot be read: %s", error.text);
  memcpy(components, image->components, image->num_components * sizeof *components);
  image->components = components;
}

void film_submit(Cj2kDecoder *decoder, const GByteArray *coded, const Cj2kLayout *layout,
                 const Cj2kPicture *picture)
{
  Cj2kError error = {0};

  if (cj2k_decoder_submit(decoder, coded->data, coded->len, layout, picture, NULL, &error) !=
      CJ2K_OK)
    g_error("a frame cannot be submitted: %s", error.text);
}
