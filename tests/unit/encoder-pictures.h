/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Generated pictures for tests of the encoder, and helpers that encode and decode them with the
 * library. */
#ifndef TESTS_UNIT_ENCODER_PICTURES_H
#define TESTS_UNIT_ENCODER_PICTURES_H

#include "cj2k.h"
#include "tests/support/parameters.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef enum {
  SCENE_NATURAL,
  SCENE_NOISE,
  SCENE_BLACK,
  SCENE_CHECKER,
  SCENE_SINE,   /* smooth waves under faint noise */
  SCENE_TEXT,   /* black marks on white */
  SCENE_BRIGHT, /* one bright square on grey */
  NUM_SCENES
} Scene;

#define TEST_MAX_COMPONENTS 300

/* Planes of 16-bit words, one per component. */
typedef struct {
  uint32_t width, height, num_components;
  Cj2kComponent components[TEST_MAX_COMPONENTS];
  Cj2kColour colour;
  Cj2kPlane planes[TEST_MAX_COMPONENTS];
  Cj2kSampleLayout samples[TEST_MAX_COMPONENTS];
  Cj2kLayout layout;
  Cj2kPicture picture;
  Cj2kEncoderImage image;
} TestPicture;

/* A scene with edges, slopes and grain, which codes like a photograph. */
static inline double natural_sample(uint32_t x, uint32_t y, uint32_t c, GRand *rand)
{
  double u = x / 37.0, v = y / 29.0;
  double value = 0.5 + 0.2 * sin(u + 0.3 * c) * cos(v) + 0.12 * sin(0.13 * u * v) +
                 ((x / 24 + y / 40) % 3) * 0.06;
  return value + g_rand_double_range(rand, -0.003, 0.003);
}

/* A wave over the whole picture, with noise of a standard deviation of 3 in 255. */
static inline double sine_sample(uint32_t x, uint32_t y, uint32_t c, GRand *rand)
{
  double noise = 0;
  for (int i = 0; i < 12; i++)
    noise += g_rand_double(rand) - 0.5;
  return 0.5 + 0.3 * sin(x / 190.0 + c) * cos(y / 150.0) + noise * 3 / 255;
}

/* Lines of characters whose strokes are one sample wide. */
static inline double text_sample(uint32_t x, uint32_t y)
{
  uint32_t cell = (x / 7) * 2654435761u + (y / 12) * 40503u, bit = (x % 7) + 5 * (y % 12);
  bool inside = x % 7 < 5 && y % 12 < 8 && (cell >> 28) != 0;

  return inside && (cell >> bit % 23 & 1) ? 0 : 1;
}

static inline int32_t scene_sample(Scene scene, const Cj2kComponent *component, uint32_t x,
                                   uint32_t y, uint32_t c, GRand *rand)
{
  int32_t range = (1 << component->depth) - 1, value = 0;
  switch (scene) {
  case SCENE_NATURAL:
    value = (int32_t)(CLAMP(natural_sample(x, y, c, rand), 0, 1) * range + 0.5);
    break;
  case SCENE_NOISE: value = g_rand_int_range(rand, 0, range + 1); break;
  case SCENE_CHECKER: value = (x ^ y) & 1 ? range : 0; break;
  case SCENE_SINE: value = (int32_t)(CLAMP(sine_sample(x, y, c, rand), 0, 1) * range + 0.5); break;
  case SCENE_TEXT: value = (int32_t)(text_sample(x, y) * range); break;
  case SCENE_BRIGHT:
    value = x / 16 == 1 && y / 16 == 1 ? range - (int32_t)(x % 3) : range / 3;
    break;
  default: break;
  }
  return component->is_signed ? value - (1 << (component->depth - 1)) : value;
}

/* dx[c], dy[c]: sub-sampling of component c; NULL: none. */
static inline void test_picture_init(TestPicture *p, Scene scene, uint32_t width, uint32_t height,
                                     uint32_t n, uint8_t depth, bool is_signed, const uint8_t *dx,
                                     const uint8_t *dy, uint32_t x0, uint32_t y0)
{
  GRand *rand = g_rand_new_with_seed(width * 31 + height + n);

  memset(p, 0, sizeof *p);
  p->width = width;
  p->height = height;
  p->num_components = n;
  p->colour = n >= 3 ? CJ2K_COLOUR_SRGB : CJ2K_COLOUR_GREY;
  for (uint32_t c = 0; c < n; c++) {
    Cj2kComponent *component = &p->components[c];
    component->dx = dx ? dx[c] : 1;
    component->dy = dy ? dy[c] : 1;
    component->depth = depth;
    component->is_signed = is_signed;
    component->x0 = (x0 + component->dx - 1) / component->dx;
    component->y0 = (y0 + component->dy - 1) / component->dy;
    component->x1 = (x0 + width + component->dx - 1) / component->dx;
    component->y1 = (y0 + height + component->dy - 1) / component->dy;
    uint32_t w = component->x1 - component->x0, h = component->y1 - component->y0;
    uint16_t *data = g_new(uint16_t, (size_t)w * h);
    for (uint32_t y = 0; y < h; y++)
      for (uint32_t x = 0; x < w; x++)
        data[(size_t)y * w + x] = (uint16_t)scene_sample(scene, component, x, y, c, rand);
    p->planes[c] = (Cj2kPlane){.data = data, .pitch = (size_t)w * 2};
    p->samples[c] = (Cj2kSampleLayout){.plane = (uint16_t)c,
                                       .unit_bytes = 2,
                                       .unit_samples = 1,
                                       .word_bytes = 2,
                                       .is_signed = is_signed,
                                       .depth = depth};
  }
  p->layout = (Cj2kLayout){.num_components = n, .num_planes = n, .samples = p->samples};
  p->picture = (Cj2kPicture){.memory = CJ2K_MEMORY_HOST, .num_planes = n, .planes = p->planes};
  p->image = (Cj2kEncoderImage){
      .width = width, .height = height, .num_components = n, .components = p->components};
  p->image.colour = p->colour;
  g_rand_free(rand);
}

static inline void test_picture_clear(TestPicture *p)
{
  for (uint32_t c = 0; c < p->num_components; c++)
    g_free(p->planes[c].data);
}

/* Encodes one frame with a new encoder. NULL: refused, with *error set. A frame that the CPU does
 * in place of the back end that was asked for fails the test. */
static inline GBytes *test_encode(const Cj2kEncoderParams *params, const TestPicture *p,
                                  Cj2kError *error)
{
  Cj2kEncoder *encoder = cj2k_encoder_open(params, &p->image, &p->layout, error);
  GBytes *bytes = NULL;
  Cj2kPacket packet;

  if (!encoder)
    return NULL;
  if (cj2k_encoder_submit(encoder, &p->picture, NULL, error) == CJ2K_OK &&
      cj2k_encoder_receive(encoder, &packet) == CJ2K_OK) {
    *error = packet.error;
    if (packet.fallback)
      g_error("encoder: fell back to the CPU: %s", packet.error.text);
    if (packet.status == CJ2K_OK)
      bytes = g_bytes_new(packet.data, packet.size);
    cj2k_encoder_release(encoder, &packet);
  }
  cj2k_encoder_close(encoder);
  return bytes;
}

/* The same for parameters that are valid: a refusal fails the test. */
static inline GBytes *test_encode_valid(const Cj2kEncoderParams *params, const TestPicture *p)
{
  Cj2kError error = {0};
  GBytes *bytes = test_encode(params, p, &error);

  if (!bytes)
    g_error("encoder: %s", error.text);
  return bytes;
}

/* Differences of the samples of the decoded bytes, relative to the full range: component by
 * component, row by row. *count: their number. */
static inline double *test_differences(const TestPicture *p, GBytes *bytes, uint16_t layers,
                                       gsize *count)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  Cj2kFrame frame;
  GArray *differences = g_array_new(FALSE, FALSE, sizeof(double));

  cj2k_decoder_params_init(&params);
  params.strict = true;
  params.max_layers = layers;
  params.backend = CJ2K_BACKEND_CPU;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  g_assert_cmpint(cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  if (frame.status != CJ2K_OK)
    g_error("decoder: %s", frame.error.text);
  g_assert_cmpuint(frame.image.num_components, ==, p->num_components);
  for (uint32_t c = 0; c < p->num_components; c++) {
    const Cj2kComponent *component = &frame.image.components[c];
    uint32_t w = component->x1 - component->x0, h = component->y1 - component->y0;
    uint8_t word = frame.layout.samples[c].word_bytes;
    g_assert_cmpuint(component->depth, ==, p->components[c].depth);
    g_assert_cmpint(component->is_signed, ==, p->components[c].is_signed);
    g_assert_cmpuint(w, ==, p->components[c].x1 - p->components[c].x0);
    g_assert_cmpuint(h, ==, p->components[c].y1 - p->components[c].y0);
    for (uint32_t y = 0; y < h; y++)
      for (uint32_t x = 0; x < w; x++) {
        const uint8_t *at = (const uint8_t *)frame.picture.planes[c].data +
                            y * frame.picture.planes[c].pitch + x * word;
        int32_t got = word == 1 ? (component->is_signed ? (int8_t)*at : *at) : 0, want;
        if (word == 2)
          got = component->is_signed ? (int16_t)(at[0] | at[1] << 8) : at[0] | at[1] << 8;
        const uint16_t *row = (const uint16_t *)p->planes[c].data + (size_t)y * w;
        want = component->is_signed ? (int16_t)row[x] : row[x];
        double difference = (double)(got - want) / ((1 << component->depth) - 1);
        g_array_append_val(differences, difference);
      }
  }
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
  *count = differences->len;
  return (double *)(void *)g_array_free(differences, FALSE);
}

/* Mean squared error of all samples of the decoded bytes, relative to the square of the full
 * range. */
static inline double test_error(const TestPicture *p, GBytes *bytes, uint16_t layers)
{
  gsize count;
  double *differences = test_differences(p, bytes, layers, &count), sum = 0;

  for (gsize i = 0; i < count; i++)
    sum += differences[i] * differences[i];
  g_free(differences);
  return sum / (double)count;
}

#endif
