/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Codestreams in parts, into pictures of every video format: rows that are reported have all their
 * bytes, also those that no component of the image has, and at the end the whole picture is that of
 * the CPU, which decodes the codestream as a whole.
 *
 * test-parts-layouts [--backend cuda] [GLib's options].
 */
#include "common/samples/layout.h"
#include "common/samples/video_formats.h"
#include "encoder-pictures.h"

#define WIDTH  72 /* whole units of all formats */
#define HEIGHT 90
#define UNUSED 0x5A /* what memory holds before */
#define OPTIONS                                                                                    \
  "rate-control=lossless progression-order=pcrl num-resolutions=3 precincts=64x16,64x8 "           \
  "codeblock-width=32 codeblock-height=16 block-coder="

static Cj2kBackendKind tested;

/* A picture of a format in one piece of memory. */
typedef struct {
  Cj2kPlane planes[4];
  Cj2kPicture picture;
  uint32_t rows[4], dy[4]; /* by plane: rows, and rows of the image for each */
  uint8_t *memory;
  size_t size;
} Target;

/* What is known while a frame comes. */
typedef struct {
  const Target *want;
  uint32_t reported, calls;
} Rows;

/* Components as in the format, of which the image has `count`. */
static void test_components(const Cj2kVideoFormat *format, uint8_t dx[4], uint8_t dy[4])
{
  for (uint32_t c = 0; c < 4; c++) {
    dx[c] = cj2k_video_format_dx(format, c);
    dy[c] = cj2k_video_format_dy(format, c);
  }
}

static GBytes *encode(const Cj2kVideoFormat *format, uint32_t count, const char *coder,
                      TestPicture *picture)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  uint8_t dx[4], dy[4];
  gchar *options = g_strconcat(OPTIONS, coder, NULL);

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_components(format, dx, dy);
  test_picture_init(picture, SCENE_NATURAL, WIDTH, HEIGHT, count, 10, false, dx, dy, 0, 0);
  GBytes *bytes = test_encode(&params, picture, &error);
  if (!bytes)
    g_error("%s: %s", format->name, error.text);
  g_free(options);
  return bytes;
}

static void target_init(Target *target, const Cj2kVideoFormat *format, const Cj2kLayout *layout,
                        const TestPicture *picture, Cj2kDecoder *decoder, Cj2kMemoryKind memory)
{
  *target = (Target){.size = 0};
  size_t at[4] = {0};
  for (uint32_t p = 0; p < layout->num_planes; p++) {
    uint32_t width = 0;
    g_assert_true(cj2k_layout_plane_size(layout, p, picture->components, picture->num_components,
                                         &width, &target->rows[p]));
    for (uint32_t c = 0; c < layout->num_components; c++) {
      if (layout->samples[c].plane != p)
        continue;
      uint32_t own =
          (WIDTH + cj2k_video_format_dx(format, c) - 1) / cj2k_video_format_dx(format, c);
      size_t bytes = cj2k_layout_row_bytes(&layout->samples[c], own);
      target->planes[p].pitch = MAX(target->planes[p].pitch, (bytes + 15) / 16 * 16);
      target->dy[p] = cj2k_video_format_dy(format, c);
    }
    at[p] = target->size;
    target->size += target->planes[p].pitch * target->rows[p];
  }
  target->memory = cj2k_decoder_alloc(decoder, memory, target->size);
  g_assert_nonnull(target->memory);
  memset(target->memory, UNUSED, target->size);
  for (uint32_t p = 0; p < layout->num_planes; p++)
    target->planes[p].data = target->memory + at[p];
  target->picture = (Cj2kPicture){CJ2K_MEMORY_HOST, layout->num_planes, target->planes};
  target->picture.memory = memory;
}

static void rows_ready(void *user, const Cj2kPicture *picture, uint32_t first, uint32_t end)
{
  Rows *rows = user;
  g_assert_cmpuint(first, ==, rows->reported);
  g_assert_cmpuint(end, >, first);
  rows->reported = end;
  rows->calls++;
  for (uint32_t p = 0; p < picture->num_planes; p++) {
    const Cj2kPlane *want = &rows->want->planes[p], *got = &picture->planes[p];
    uint32_t dy = rows->want->dy[p], count = MIN(rows->want->rows[p], (end + dy - 1) / dy);
    g_assert_cmpmem(want->data, want->pitch * count, got->data, got->pitch * count);
  }
}

static void decode_whole(Cj2kDecoder *decoder, GBytes *bytes, const Cj2kLayout *layout,
                         const Target *target)
{
  Cj2kError error = {0};
  Cj2kFrame frame;
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  g_assert_cmpint(cj2k_decoder_submit(decoder, data, size, layout, &target->picture, NULL, &error),
                  ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  g_assert_cmpint(frame.status, ==, CJ2K_OK);
  cj2k_decoder_release(decoder, &frame);
}

static void decode_parts(Cj2kDecoder *decoder, GBytes *bytes, const Cj2kLayout *layout,
                         const Target *target, Rows *rows)
{
  Cj2kError error = {0};
  Cj2kFrame frame;
  gsize size;
  const uint8_t *data = g_bytes_get_data(bytes, &size);
  g_assert_cmpint(
      cj2k_decoder_begin(decoder, layout, &target->picture, NULL, rows_ready, rows, &error), ==,
      CJ2K_OK);
  for (gsize at = 0; at < size; at += size / 20 + 1)
    g_assert_cmpint(cj2k_decoder_append(decoder, data + at, MIN(size - at, size / 20 + 1), &error),
                    ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  g_assert_cmpint(frame.status, ==, CJ2K_OK);
  if (frame.fallback)
    g_test_message("done by the CPU: %s", frame.error.text);
  g_assert_false(frame.fallback && rows->calls > 1);
  cj2k_decoder_release(decoder, &frame);
}

static Cj2kDecoder *open_decoder(Cj2kBackendKind backend)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.num_threads = 2;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  return decoder;
}

/* An image of `count` components into this format. */
static void check(Cj2kDecoder *whole, Cj2kDecoder *parts, const Cj2kVideoFormat *format,
                  uint32_t count, Cj2kMemoryKind memory)
{
  TestPicture picture;
  Cj2kLayout layout;
  Target want, got;
  Rows rows = {.want = &want};

  cj2k_video_format_layout(format, &layout);
  GBytes *bytes = encode(format, count, memory == CJ2K_MEMORY_HOST ? "ht" : "mq", &picture);
  target_init(&want, format, &layout, &picture, whole, CJ2K_MEMORY_PINNED);
  target_init(&got, format, &layout, &picture, parts, CJ2K_MEMORY_PINNED);
  got.picture.memory = memory;
  decode_whole(whole, bytes, &layout, &want);
  decode_parts(parts, bytes, &layout, &got, &rows);
  g_test_message("%s, %u components: %u ranges of rows", format->name, count, rows.calls);
  g_assert_cmpuint(rows.reported, ==, HEIGHT);
  g_assert_cmpmem(want.memory, want.size, got.memory, got.size);
  cj2k_decoder_free(whole, CJ2K_MEMORY_PINNED, want.memory);
  cj2k_decoder_free(parts, CJ2K_MEMORY_PINNED, got.memory);
  g_bytes_unref(bytes);
  test_picture_clear(&picture);
}

static void test_formats(gconstpointer memory)
{
  uint32_t number;
  const Cj2kVideoFormat *formats = cj2k_video_formats(&number);
  Cj2kDecoder *whole = open_decoder(CJ2K_BACKEND_CPU), *parts = open_decoder(tested);

  for (uint32_t i = 0; i < number; i++) {
    uint32_t count = formats[i].num_components;
    check(whole, parts, &formats[i], count, (Cj2kMemoryKind)GPOINTER_TO_INT(memory));
    if (count == 4)
      check(whole, parts, &formats[i], 3, (Cj2kMemoryKind)GPOINTER_TO_INT(memory));
  }
  cj2k_decoder_close(whole);
  cj2k_decoder_close(parts);
}

int main(int argc, char **argv)
{
  tested = test_take_backend(&argc, argv);
  g_test_init(&argc, &argv, NULL);
  if (!test_has_backend(tested))
    return 0;
  g_test_add_data_func("/parts-layouts/host", GINT_TO_POINTER(CJ2K_MEMORY_HOST), test_formats);
  g_test_add_data_func("/parts-layouts/pinned", GINT_TO_POINTER(CJ2K_MEMORY_PINNED), test_formats);
  return g_test_run();
}
