/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A minimal program with libcj2k's decoder: prints the mean of each component of a file.
 *
 *   cc minimal-decode.c $(pkg-config --cflags --libs cj2k) -o minimal-decode
 */
#include <cj2k.h>

#include <stdio.h>
#include <stdlib.h>

/* Reads a whole file; the caller frees it. */
static uint8_t *load(const char *path, size_t *size)
{
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  if (file && !fseek(file, 0, SEEK_END)) {
    long length = ftell(file);
    rewind(file);
    data = length > 0 ? malloc((size_t)length) : NULL;
    *size = data ? fread(data, 1, (size_t)length, file) : 0;
  }
  if (file)
    fclose(file);
  return data;
}

/* The mean of the samples of component c. The frame has the default layout, planes as
 * cj2k_layout_planar() describes them. */
static double mean(const Cj2kFrame *frame, uint32_t c)
{
  const Cj2kComponent *component = &frame->image.components[c];
  const uint8_t *row = frame->picture.planes[c].data;
  uint32_t width = component->x1 - component->x0, height = component->y1 - component->y0;
  unsigned bytes = frame->layout.samples[c].word_bytes;
  double sum = 0;
  for (uint32_t y = 0; y < height; y++, row += frame->picture.planes[c].pitch) {
    for (uint32_t x = 0; x < width; x++) {
      uint32_t sample = 0;
      for (unsigned b = 0; b < bytes; b++)
        sample |= (uint32_t)row[x * bytes + b] << (8 * b);
      unsigned unused = 32 - 8 * bytes; /* two's complement when signed */
      /* A sample has 1 to 4 bytes. */
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
      sum += component->is_signed ? (int32_t)(sample << unused) >> unused : (double)sample;
    }
  }
  return sum / width / height;
}

int main(int argc, char **argv)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  Cj2kFrame frame;
  size_t size = 0;
  uint8_t *data = argc == 2 ? load(argv[1], &size) : NULL;
  if (!data) {
    fprintf(stderr, "usage: minimal-decode FILE\n");
    return 2;
  }
  cj2k_decoder_params_init(&params); /* the GPU if there is one, all cores */
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder || cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error) != CJ2K_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  /* More frames could be submitted here; each receive returns the oldest one. */
  cj2k_decoder_receive(decoder, &frame);
  int status = frame.status == CJ2K_OK ? 0 : 1;
  if (status)
    fprintf(stderr, "%s\n", frame.error.text);
  for (uint32_t c = 0; !status && c < frame.image.num_components; c++)
    printf("component %u, %u bit: mean %.3f\n", c, frame.image.components[c].depth,
           mean(&frame, c));
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
  free(data);
  return status;
}
