/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "raw-streams.h"

#include "pictures.h"

/* Block styles beside BYPASS, formats, and sizes of code-blocks and pictures; with 16 bits most
 * passes are raw, and blocks of 64x64 or with many stripes are large. */
static const uint32_t styles[] = {0, CJ2K_STYLE_TERMALL, CJ2K_STYLE_RESET | CJ2K_STYLE_CAUSAL,
                                  CJ2K_STYLE_SEGMARK | CJ2K_STYLE_PTERM};
static const char *const formats[] = {"grey16", "rgb12", "rgb8"};
static const struct {
  uint16_t block_width, block_height, width, height;
} sizes[] = {{32, 32, 69, 73}, {64, 64, 75, 69}, {4, 256, 21, 270}};

static GBytes *encode(const Cj2kEncoderParams *params, const Format *format, uint32_t width,
                      uint32_t height)
{
  PictureKind kind;
  Picture picture;
  Cj2kPacket packet = {0};
  Cj2kError error = {0};

  picture_kind_init(&kind, format, width, height);
  picture_init(&picture, format, width, height);
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &kind.image, &kind.layout, &error);
  if (!encoder || cj2k_encoder_submit(encoder, &picture.picture, NULL, &error) != CJ2K_OK ||
      cj2k_encoder_receive(encoder, &packet) != CJ2K_OK || packet.status != CJ2K_OK)
    g_error("%s: %s%s", format->name, error.text, packet.error.text);
  GBytes *bytes = g_bytes_new(packet.data, packet.size);
  cj2k_encoder_release(encoder, &packet);
  cj2k_encoder_close(encoder);
  picture_clear(&picture);
  return bytes;
}

GBytes *raw_stream(uint32_t i, char **name)
{
  const Format *format = find_format(formats[i % 3]);
  uint32_t style = styles[i % 4], size = i / 4;
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.block_coder = CJ2K_CODER_MQ;
  params.rate_control = CJ2K_RATE_LOSSLESS;
  params.codeblock_style = (uint8_t)(CJ2K_STYLE_BYPASS | style);
  params.codeblock_width = sizes[size].block_width;
  params.codeblock_height = sizes[size].block_height;
  *name = g_strdup_printf("bypass, style %u, %s, %ux%u", style, format->name,
                          params.codeblock_width, params.codeblock_height);
  return encode(&params, format, sizes[size].width, sizes[size].height);
}
