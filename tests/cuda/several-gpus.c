/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Codecs on several GPUs: bytes and samples as on the CPU at all numbers of GPUs and of frames in
 * flight, pictures in the memory of one of the GPUs, the choice of the least loaded, and the loss
 * of a GPU. Prints TAP; skips if there are fewer than two GPUs.
 */
#include "common/backend_devices.h"
#include "tests/unit/encoder-pictures.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#define WIDTH    640
#define HEIGHT   360
#define PICTURES 3
#define FRAMES   20
#define SAMPLES  ((size_t)WIDTH * HEIGHT)
#define BYTES    (SAMPLES * 3 * 2) /* three planes of 16-bit words */

typedef struct {
  const char *options;
  TestPicture pictures[PICTURES];
  GBytes *coded[FRAMES]; /* by the CPU */
} Film;

static uint32_t num_tests;

static void report(const char *why, const char *what, const char *options, const char *devices,
                   uint32_t in_flight)
{
  printf("%sok %u - %s, %s, GPUs %s, %u in flight%s%s\n", why ? "not " : "", ++num_tests, what,
         options, devices, in_flight, why ? ": " : "", why ? why : "");
}

/* ----------------------------------------------------------------------------- encoding --- */

static Cj2kEncoder *open_encoder(const Film *film, Cj2kBackendKind backend, const char *devices,
                                 uint32_t in_flight)
{
  Cj2kEncoderParams params;
  Cj2kError error;

  cj2k_encoder_params_init(&params);
  params.backend = backend;
  params.cuda_devices = devices;
  params.frames_in_flight = in_flight;
  test_set_options(&params, film->options);
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&params, &film->pictures[0].image, &film->pictures[0].layout, &error);
  if (!encoder)
    g_error("%s", error.text);
  return encoder;
}

/* Receives frame `number`. Returns what is wrong with it, or NULL. */
static const char *check_packet(Cj2kEncoder *encoder, GBytes *expected)
{
  const char *why = NULL;
  Cj2kPacket packet;

  cj2k_encoder_receive(encoder, &packet);
  if (packet.status != CJ2K_OK)
    why = g_intern_string(packet.error.text);
  else if (packet.fallback)
    why = "a frame was coded by the CPU";
  else if (packet.size != g_bytes_get_size(expected) ||
           memcmp(packet.data, g_bytes_get_data(expected, NULL), packet.size) != 0)
    why = "bytes differ";
  cj2k_encoder_release(encoder, &packet);
  return why;
}

/* Encodes frames `first` to `end`. `pictures`: where they lie. */
static const char *encode(const Film *film, Cj2kEncoder *encoder, const Cj2kPicture *pictures,
                          uint32_t in_flight, guint first, guint end)
{
  const char *why = NULL;

  for (guint i = first; i < end + in_flight; i++) {
    if (i >= first + in_flight) {
      const char *wrong = check_packet(encoder, film->coded[i - in_flight]);
      why = why ? why : wrong;
    }
    if (i < end)
      cj2k_encoder_submit(encoder, &pictures[i % PICTURES], NULL, NULL);
  }
  return why;
}

static void take_pictures(const Film *film, Cj2kPicture pictures[PICTURES])
{
  for (guint i = 0; i < PICTURES; i++)
    pictures[i] = film->pictures[i].picture;
}

static void film_init(Film *film, const char *options)
{
  Cj2kPacket packet;

  film->options = options;
  for (guint i = 0; i < PICTURES; i++)
    test_picture_init(&film->pictures[i], (Scene[]){SCENE_NATURAL, SCENE_TEXT, SCENE_SINE}[i],
                      WIDTH, HEIGHT, 3, 8, false, NULL, NULL, 0, 0);
  Cj2kEncoder *encoder = open_encoder(film, CJ2K_BACKEND_CPU, NULL, 1);
  for (guint i = 0; i < FRAMES; i++) {
    cj2k_encoder_submit(encoder, &film->pictures[i % PICTURES].picture, NULL, NULL);
    cj2k_encoder_receive(encoder, &packet);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    film->coded[i] = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
}

static void film_clear(Film *film)
{
  for (guint i = 0; i < PICTURES; i++)
    test_picture_clear(&film->pictures[i]);
  for (guint i = 0; i < FRAMES; i++)
    g_bytes_unref(film->coded[i]);
}

static void test_encoding(const Film *film, const char *devices, uint32_t in_flight)
{
  Cj2kPicture pictures[PICTURES];
  Cj2kStats stats;
  Cj2kEncoder *encoder = open_encoder(film, CJ2K_BACKEND_CUDA, devices, in_flight);

  take_pictures(film, pictures);
  const char *why = encode(film, encoder, pictures, in_flight, 0, FRAMES);
  cj2k_encoder_get_stats(encoder, &stats);
  if (!why && stats.redone_frames)
    why = "a GPU failed";
  cj2k_encoder_close(encoder);
  report(why, "encode", film->options, devices, in_flight);
}

/* ----------------------------------------------------------------------------- decoding --- */

static Cj2kDecoder *open_decoder(Cj2kBackendKind backend, const char *devices, uint32_t in_flight)
{
  Cj2kDecoderParams params;
  Cj2kError error;

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.cuda_devices = devices;
  params.frames_in_flight = in_flight;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("%s", error.text);
  return decoder;
}

static uint64_t sum_of(const Cj2kPicture *picture)
{
  uint64_t sum = 0;

  for (uint32_t p = 0; p < picture->num_planes; p++) {
    const uint8_t *data = picture->planes[p].data;
    for (size_t i = 0; i < picture->planes[p].pitch * HEIGHT; i++)
      sum = sum * 1099511628211u + data[i];
  }
  return sum;
}

/* Decodes frames `first` to `end`. Sums of samples are compared, or kept in `sums` if they are 0.
 */
static const char *decode(const Film *film, Cj2kDecoder *decoder, uint32_t in_flight, guint first,
                          guint end, uint64_t sums[FRAMES])
{
  const char *why = NULL;

  for (guint i = first; i < end + in_flight; i++) {
    if (i >= first + in_flight) {
      Cj2kFrame frame;
      uint64_t *sum = &sums[i - in_flight];
      cj2k_decoder_receive(decoder, &frame);
      if (frame.status != CJ2K_OK)
        why = g_intern_string(frame.error.text);
      else if (frame.fallback)
        why = "a frame was decoded by the CPU";
      else if (*sum && *sum != sum_of(&frame.picture))
        why = "samples differ";
      else if (!*sum)
        *sum = sum_of(&frame.picture);
      cj2k_decoder_release(decoder, &frame);
    }
    if (i < end) {
      gsize size;
      const uint8_t *data = g_bytes_get_data(film->coded[i], &size);
      cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, NULL);
    }
  }
  return why;
}

static void sums_of_cpu(const Film *film, uint64_t sums[FRAMES])
{
  Cj2kDecoder *decoder = open_decoder(CJ2K_BACKEND_CPU, NULL, 2);

  memset(sums, 0, FRAMES * sizeof *sums);
  if (decode(film, decoder, 2, 0, FRAMES, sums))
    g_error("the CPU cannot decode");
  cj2k_decoder_close(decoder);
}

static void test_decoding(const Film *film, uint64_t sums[FRAMES], const char *devices,
                          uint32_t in_flight)
{
  Cj2kDecoder *decoder = open_decoder(CJ2K_BACKEND_CUDA, devices, in_flight);
  const char *why = decode(film, decoder, in_flight, 0, FRAMES, sums);

  cj2k_decoder_close(decoder);
  report(why, "decode", film->options, devices, in_flight);
}

/* ------------------------------------------------------------------------------- memory --- */

/* Pictures of which every second one lies in the memory of GPU 1, the others in that of GPU 0. */
static void test_placed(const Film *film, uint32_t in_flight)
{
  Cj2kPlane planes[PICTURES][3];
  Cj2kPicture pictures[PICTURES];
  void *memory[PICTURES];

  for (guint i = 0; i < PICTURES; i++) {
    if (cudaSetDevice(i & 1) != cudaSuccess || cudaMalloc(&memory[i], BYTES) != cudaSuccess)
      g_error("no memory on a GPU");
    pictures[i] = (Cj2kPicture){CJ2K_MEMORY_CUDA, 3, planes[i], NULL};
    for (guint c = 0; c < 3; c++) {
      planes[i][c] = (Cj2kPlane){(uint16_t *)memory[i] + c * SAMPLES, (size_t)WIDTH * 2, 0};
      cudaMemcpy(planes[i][c].data, film->pictures[i].planes[c].data, SAMPLES * 2,
                 cudaMemcpyHostToDevice);
    }
    cudaDeviceSynchronize();
  }
  cudaSetDevice(0);
  Cj2kEncoder *encoder = open_encoder(film, CJ2K_BACKEND_CUDA, "0,1", in_flight);
  const char *why = encode(film, encoder, pictures, in_flight, 0, FRAMES);
  cj2k_encoder_close(encoder);
  for (guint i = 0; i < PICTURES; i++)
    cudaFree(memory[i]);
  report(why, "encode from the memory of both", film->options, "0,1", in_flight);
}

/* Codecs for which no GPU is named are spread over all. */
static void test_spread(void)
{
  Cj2kDecoder *decoders[6];
  const char *why = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(decoders); i++)
    decoders[i] = open_decoder(CJ2K_BACKEND_CUDA, NULL, 1);
  if (!cj2k_devices_codecs(0) || !cj2k_devices_codecs(1))
    why = "a GPU has none";
  for (guint i = 0; i < G_N_ELEMENTS(decoders); i++)
    cj2k_decoder_close(decoders[i]);
  report(why, "six decoders", "each on one GPU", "unset", 1);
}

/* --------------------------------------------------------------------------------- loss --- */

/* A kernel that writes to an invalid address destroys the context of GPU 0. */
static void kill_first(const Film *film)
{
  Cj2kPlane planes[3] = {{(void *)256, 4096, 0}, {(void *)256, 4096, 0}, {(void *)256, 4096, 0}};
  const Cj2kPicture nowhere = {CJ2K_MEMORY_CUDA, 3, planes, NULL};
  Cj2kSampleLayout samples[3];
  Cj2kLayout layout;
  Cj2kImage image;
  Cj2kFrame frame;
  gsize size;
  const uint8_t *data = g_bytes_get_data(film->coded[0], &size);
  Cj2kDecoder *decoder = open_decoder(CJ2K_BACKEND_CUDA, "0", 1);

  cj2k_decoder_read_header(decoder, data, size, &image, NULL);
  cj2k_layout_planar(&image, samples, &layout);
  cj2k_decoder_submit(decoder, data, size, &layout, &nowhere, NULL, NULL);
  cj2k_decoder_receive(decoder, &frame);
  printf("# GPU 0: %s\n", frame.error.text);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
}

/* An invalid address is a fault of the process: CUDA may refuse all work on the other GPU as well.
 * The frames then fail with CUDA's text, and all of them come. NULL: this is such a failure. */
static const char *unless_refused(const char *why)
{
  if (!why || !strstr(why, "illegal memory access"))
    return why;
  printf("# GPU 1 does not go on: %s\n", why);
  return NULL;
}

/* GPU 0 fails between two frames of codecs that are open, encoders of two films and a decoder of
 * the first. All frames come, as they should be. */
static void test_loss(const Film films[2], uint64_t sums[FRAMES], uint32_t in_flight)
{
  Cj2kPicture pictures[2][PICTURES];
  Cj2kEncoder *encoders[2];
  Cj2kStats stats[3];
  const char *why[3];
  Cj2kDecoder *decoder = open_decoder(CJ2K_BACKEND_CUDA, "0,1", in_flight);

  for (guint e = 0; e < 2; e++) {
    take_pictures(&films[e], pictures[e]);
    encoders[e] = open_encoder(&films[e], CJ2K_BACKEND_CUDA, "0,1", in_flight);
    why[e] = encode(&films[e], encoders[e], pictures[e], in_flight, 0, FRAMES / 2);
  }
  why[2] = decode(&films[0], decoder, in_flight, 0, FRAMES / 2, sums);
  kill_first(&films[0]);
  for (guint e = 0; e < 2; e++)
    if (!why[e])
      why[e] = encode(&films[e], encoders[e], pictures[e], in_flight, FRAMES / 2, FRAMES);
  if (!why[2])
    why[2] = decode(&films[0], decoder, in_flight, FRAMES / 2, FRAMES, sums);
  for (guint e = 0; e < 2; e++) {
    cj2k_encoder_get_stats(encoders[e], &stats[e]);
    cj2k_encoder_close(encoders[e]);
  }
  cj2k_decoder_get_stats(decoder, &stats[2]);
  cj2k_decoder_close(decoder);
  for (guint i = 0; i < 3; i++) {
    if (!why[i] && (!stats[i].redone_frames || stats[i].devices != 1))
      why[i] = "no frame was done again";
    report(unless_refused(why[i]), i < 2 ? "GPU 0 fails, encode" : "GPU 0 fails, decode",
           films[i % 2].options, "0,1", in_flight);
  }
}

int main(void)
{
  static const char *const options[] = {
      "rate-control=lossless",
      "block-coder=ht max-frame-bytes=90000",
      /* so large that the GPU may cut frames itself */
      "max-frame-bytes=200000 codeblock-width=32 codeblock-height=32",
  };
  static const char *const devices[] = {"0", "1", "all"};
  static const uint32_t in_flight[] = {1, 2, 5, 16};
  Cj2kDevice list[CJ2K_MAX_DEVICES];
  Cj2kError error;
  uint32_t count = cj2k_cuda_devices(list, &error);

  if (count < 2) {
    printf("1..0 # SKIP there %s\n", count ? "is only one GPU" : "is no GPU");
    return 0;
  }
  for (uint32_t i = 0; i < count; i++)
    printf("# GPU %d: %s, %u %% busy, %.0f MB free\n", list[i].ordinal, list[i].uuid,
           list[i].utilisation, (double)list[i].free_memory / 1e6);
  Film films[G_N_ELEMENTS(options)];
  uint64_t sums[G_N_ELEMENTS(options)][FRAMES];
  for (guint o = 0; o < G_N_ELEMENTS(options); o++) {
    film_init(&films[o], options[o]);
    sums_of_cpu(&films[o], sums[o]);
    for (guint d = 0; d < G_N_ELEMENTS(devices); d++)
      for (guint n = 0; n < G_N_ELEMENTS(in_flight); n++) {
        test_encoding(&films[o], devices[d], in_flight[n]);
        test_decoding(&films[o], sums[o], devices[d], in_flight[n]);
      }
    test_placed(&films[o], 1);
    test_placed(&films[o], 4);
  }
  test_spread();
  test_loss(&films[1], sums[1], 4); /* last: GPU 0 is lost to this process */
  for (guint o = 0; o < G_N_ELEMENTS(options); o++)
    film_clear(&films[o]);
  printf("1..%u\n", num_tests);
  return 0;
}
