/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A minimal program with libcj2k's encoder: reads frames of planar samples from standard input and
 * writes numbered codestreams, none larger than a budget.
 *
 *   cc minimal-encode.c $(pkg-config --cflags --libs cj2k) -o minimal-encode
 *   minimal-encode 1920 1080 1036800 frame < film.yuv     # 4:2:2, 10 bit in 16, little-endian
 */
#include <cj2k.h>

#include <stdio.h>
#include <stdlib.h>

#define IN_FLIGHT 3
#define PLANES    3

/* The memory of one picture: the planes of 4:2:2 one after the other. */
typedef struct {
  uint8_t *samples;
  Cj2kPlane planes[PLANES];
  Cj2kPicture picture;
} Slot;

static size_t slot_init(Slot *slot, uint32_t width, uint32_t height)
{
  size_t luma = (size_t)width * height * 2, size = 0;
  slot->samples = malloc(2 * luma);
  for (int c = 0; c < PLANES; c++) {
    uint32_t columns = c ? width / 2 : width;
    slot->planes[c] = (Cj2kPlane){.data = slot->samples ? slot->samples + size : NULL,
                                  .pitch = (size_t)columns * 2};
    size += (size_t)columns * 2 * height;
  }
  slot->picture =
      (Cj2kPicture){.memory = CJ2K_MEMORY_HOST, .num_planes = PLANES, .planes = slot->planes};
  return slot->samples ? size : 0;
}

/* Waits for the oldest frame and writes it to STEM-NNNNN.j2c. Returns 0, or 1 on failure. */
static int write_oldest(Cj2kEncoder *encoder, const char *stem, unsigned number)
{
  Cj2kPacket packet;
  char name[4096];
  int status = 1;
  if (cj2k_encoder_receive(encoder, &packet) != CJ2K_OK)
    return 1;
  snprintf(name, sizeof name, "%s-%05u.j2c", stem, number);
  FILE *file = packet.status == CJ2K_OK ? fopen(name, "wb") : NULL;
  if (file) {
    status = fwrite(packet.data, 1, packet.size, file) != packet.size;
    status |= fclose(file) != 0;
  }
  if (status)
    fprintf(stderr, "%s: %s\n", name, packet.status == CJ2K_OK ? "not written" : packet.error.text);
  cj2k_encoder_release(encoder, &packet);
  return status;
}

/* Submits frames as long as there are any. A slot is filled again when its frame was received. */
static int encode_all(Cj2kEncoder *encoder, Slot *slots, size_t frame_size, const char *stem)
{
  Cj2kError error;
  unsigned in = 0, out = 0;
  int status = 0;
  for (; !status; in++) {
    Slot *slot = &slots[in % IN_FLIGHT];
    if (in - out == IN_FLIGHT)
      status = write_oldest(encoder, stem, out++);
    if (fread(slot->samples, 1, frame_size, stdin) != frame_size)
      break;
    if (cj2k_encoder_submit(encoder, &slot->picture, NULL, &error) != CJ2K_OK) {
      fprintf(stderr, "%s\n", error.text);
      status = 1;
      break;
    }
  }
  while (out < in)
    status |= write_oldest(encoder, stem, out++);
  return status;
}

int main(int argc, char **argv)
{
  Cj2kEncoderParams params;
  Cj2kError error;
  Slot slots[IN_FLIGHT];
  size_t frame_size = 0;
  uint32_t width = argc == 5 ? (uint32_t)strtoul(argv[1], NULL, 10) & ~1u : 0;
  uint32_t height = argc == 5 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
  if (!width || !height || width > 16384 || height > 16384) {
    fprintf(stderr, "usage: minimal-encode WIDTH HEIGHT BYTES STEM < FRAMES\n");
    return 2;
  }
  Cj2kComponent components[PLANES] = {{.dx = 1, .dy = 1, .depth = 10},
                                      {.dx = 2, .dy = 1, .depth = 10},
                                      {.dx = 2, .dy = 1, .depth = 10}};
  Cj2kSampleLayout samples[PLANES];
  Cj2kLayout layout;
  Cj2kImage shape = {.num_components = PLANES, .components = components};
  Cj2kEncoderImage image = {.width = width,
                            .height = height,
                            .num_components = PLANES,
                            .components = components,
                            .colour = CJ2K_COLOUR_SYCC};
  cj2k_layout_planar(&shape, samples, &layout);

  cj2k_encoder_params_init(&params); /* the GPU if there is one, all cores */
  params.block_coder = CJ2K_CODER_HT;
  params.rate_control = CJ2K_RATE_CBR;
  params.max_frame_bytes = strtoull(argv[3], NULL, 10);
  params.frames_in_flight = IN_FLIGHT;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &image, &layout, &error);
  if (!encoder) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  int status = 0;
  for (int i = 0; i < IN_FLIGHT; i++)
    status |= (frame_size = slot_init(&slots[i], width, height)) == 0;
  if (!status)
    status = encode_all(encoder, slots, frame_size, argv[4]);
  cj2k_encoder_close(encoder);
  for (int i = 0; i < IN_FLIGHT; i++)
    free(slots[i].samples);
  return status;
}
