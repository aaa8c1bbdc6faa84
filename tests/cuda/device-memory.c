/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device memory of encoders and decoders, without a GPU: the sum of what pretend-runtime.c has
 * handed out after some frames, less pictures in device memory. Kernels do nothing, so that MQ
 * encoders have the room for symbols that they begin with. Prints TAP: the sums of 1080p streams
 * must not grow, and decoders with many frames in flight to host memory must take what those to
 * device memory take, because pictures lie over coefficients. --all also prints those of 2160p, and
 * --list the largest allocations.
 */
#include "pretend.h"
#include "tests/unit/encoder-pictures.h"

#define ROUNDS 3
#define MOST   3 /* frames in flight */
#define MANY   8 /* the same of decoders: so many that pictures lie over coefficients */

typedef struct {
  const char *name;
  uint32_t width, height;
  uint8_t depth, dx;
} Format;

static const Format formats[] = {{"1080p 4:2:2 10 bit", 1920, 1080, 10, 2},
                                 {"2160p 4:2:2 10 bit", 3840, 2160, 10, 2},
                                 {"2160p RGB 12 bit", 3840, 2160, 12, 1}};

/* What is measured of a codec; most: MB that a 1080p stream may take for each frame in flight. */
typedef struct {
  const char *name, *coder;
  bool decodes, on_device, low_latency;
  double most;
} Case;

static const Case cases[] = {
    {"HT encoder, host", "ht", false, false, false, 37},
    {"HT encoder, host, low latency", "ht", false, false, true, 51},
    {"HT encoder, device", "ht", false, true, false, 37},
    {"MQ encoder, host", "mq", false, false, false, 43},
    {"MQ encoder, device", "mq", false, true, false, 43},
    {"HT decoder, host", "ht", true, false, false, 32},
    {"HT decoder, device", "ht", true, true, false, 24},
    {"MQ decoder, host", "mq", true, false, false, 32},
    {"MQ decoder, device", "mq", true, true, false, 24},
};

#define NEAR 1.02 /* how much more frames to the host may take */

static uint32_t num_tests;
static bool any_failed, lists;

static void measure(const char *name, uint32_t in_flight, size_t pictures, double *megabytes)
{
  *megabytes = (double)(cj2k_pretend_device_bytes() - pictures) / 1e6;
  if (lists) {
    g_print("# %s, %u in flight\n", name, in_flight);
    cj2k_pretend_list();
  }
}

static void set_params(const Case *c, Cj2kEncoderParams *params)
{
  g_autofree char *text = g_strdup_printf("block-coder=%s bits-per-pixel=3", c->coder);
  cj2k_encoder_params_init(params);
  test_set_options(params, text);
}

/* A picture of the same size and layout in other memory. */
static size_t copy_picture(const TestPicture *from, Cj2kPicture *picture, Cj2kPlane *planes,
                           void *(*alloc)(void *codec, Cj2kMemoryKind kind, size_t size),
                           void *codec, Cj2kMemoryKind kind)
{
  size_t bytes = 0;
  *picture = from->picture;
  picture->memory = kind;
  picture->planes = planes;
  for (uint32_t c = 0; c < from->num_components; c++) {
    const Cj2kComponent *component = &from->components[c];
    size_t size = from->planes[c].pitch * (component->y1 - component->y0);
    planes[c] = from->planes[c];
    planes[c].data = alloc(codec, kind, size);
    bytes += kind == CJ2K_MEMORY_CUDA ? size : 0;
  }
  return bytes;
}

static void *alloc_encode(void *codec, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_encoder_alloc(codec, kind, size);
}

static void *alloc_decode(void *codec, Cj2kMemoryKind kind, size_t size)
{
  return cj2k_decoder_alloc(codec, kind, size);
}

static double encode(const Case *c, const TestPicture *picture, uint32_t in_flight)
{
  Cj2kMemoryKind kind = c->on_device ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_PINNED;
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Cj2kPicture copy;
  Cj2kPlane planes[3];
  Cj2kPacket packet;
  double megabytes;

  set_params(c, &params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.frames_in_flight = in_flight;
  params.low_latency = c->low_latency;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture->image, &picture->layout, &error);
  if (!encoder)
    g_error("%s: %s", c->name, error.text);
  size_t pictures = copy_picture(picture, &copy, planes, alloc_encode, encoder, kind);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < in_flight; i++)
      g_assert_cmpint(cj2k_encoder_submit(encoder, &copy, NULL, &error), ==, CJ2K_OK);
    for (uint32_t i = 0; i < in_flight; i++) {
      g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
      g_assert_true(packet.status == CJ2K_OK && !packet.fallback);
      cj2k_encoder_release(encoder, &packet);
    }
  }
  measure(c->name, in_flight, pictures, &megabytes);
  for (uint32_t p = 0; p < copy.num_planes; p++)
    cj2k_encoder_free(encoder, kind, planes[p].data);
  cj2k_encoder_close(encoder);
  return megabytes;
}

static double decode(const Case *c, const TestPicture *picture, GBytes *bytes, uint32_t in_flight)
{
  Cj2kMemoryKind kind = c->on_device ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_PINNED;
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  Cj2kPicture copy;
  Cj2kPlane planes[3];
  Cj2kFrame frame;
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  double megabytes;

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.frames_in_flight = in_flight;
  params.low_latency = c->low_latency;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("%s: %s", c->name, error.text);
  size_t pictures = copy_picture(picture, &copy, planes, alloc_decode, decoder, kind);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < in_flight; i++)
      g_assert_cmpint(
          cj2k_decoder_submit(decoder, data, size, &picture->layout, &copy, NULL, &error), ==,
          CJ2K_OK);
    for (uint32_t i = 0; i < in_flight; i++) {
      g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
      g_assert_true(frame.status == CJ2K_OK && !frame.fallback);
      cj2k_decoder_release(decoder, &frame);
    }
  }
  measure(c->name, in_flight, pictures, &megabytes);
  for (uint32_t p = 0; p < copy.num_planes; p++)
    cj2k_decoder_free(decoder, kind, planes[p].data);
  cj2k_decoder_close(decoder);
  return megabytes;
}

/* Prints the sums of a codec. Returns that of a decoder with many frames in flight. */
static double test_case(const Case *c, const TestPicture *picture, GBytes *bytes,
                        const char *format, bool checks)
{
  double megabytes[MOST];
  bool ok = true;

  for (uint32_t n = 0; n < MOST; n++) {
    megabytes[n] = c->decodes ? decode(c, picture, bytes, n + 1) : encode(c, picture, n + 1);
    ok &= !checks || megabytes[n] <= c->most * (n + 1);
  }
  double many = c->decodes ? decode(c, picture, bytes, MANY) : 0;
  g_print("# %-20s%-32s%7.1f%7.1f%7.1f MB", format, c->name, megabytes[0], megabytes[1],
          megabytes[2]);
  g_print(c->decodes ? "; %d: %.1f\n" : "\n", MANY, many);
  if (checks)
    g_print("%sok %u - %s\n", ok ? "" : "not ", ++num_tests, c->name);
  any_failed |= !ok;
  return many;
}

/* Many frames to host memory take what those to device memory take. */
static void test_places(const char *coder, const double megabytes[2])
{
  bool ok = megabytes[0] <= megabytes[1] * NEAR;

  g_print("%sok %u - %s decoder, %d in flight to the host: %.1f MB, to the device: %.1f\n",
          ok ? "" : "not ", ++num_tests, coder, MANY, megabytes[0], megabytes[1]);
  any_failed |= !ok;
}

/* The picture as a codestream, by the CPU. */
static GBytes *make_codestream(const Case *c, const TestPicture *picture)
{
  Cj2kEncoderParams params;
  set_params(c, &params);
  params.backend = CJ2K_BACKEND_CPU;
  return test_encode_valid(&params, picture);
}

static void test_format(const Format *format, bool checks)
{
  const uint8_t dx[3] = {1, format->dx, format->dx};
  double megabytes[2];
  TestPicture picture;

  test_picture_init(&picture, SCENE_SINE, format->width, format->height, 3, format->depth, false,
                    dx, NULL, 0, 0);
  if (format->dx > 1)
    picture.image.colour = CJ2K_COLOUR_SYCC;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const Case *c = &cases[i];
    GBytes *bytes = c->decodes ? make_codestream(c, &picture) : NULL;
    megabytes[c->on_device] = test_case(c, &picture, bytes, format->name, checks);
    if (c->decodes && c->on_device) /* the case before is the same to the host */
      test_places(c->coder, megabytes);
    g_clear_pointer(&bytes, g_bytes_unref);
  }
  test_picture_clear(&picture);
}

int main(int argc, char **argv)
{
  bool all = false;

  for (int i = 1; i < argc; i++) {
    all |= !strcmp(argv[i], "--all");
    lists |= !strcmp(argv[i], "--list");
  }
  for (guint i = 0; i < (all ? G_N_ELEMENTS(formats) : 1); i++)
    test_format(&formats[i], i == 0);
  g_print("1..%u\n", num_tests);
  return any_failed;
}
