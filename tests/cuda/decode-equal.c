/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * decode-equal [--parts] [--slices N | --overlay | --component-streams IN_FLIGHT | --full-warps]
 *              [--share N] [--damage N] [--raw | FILE...]
 *
 * Decodes each codestream on the CPU and on the GPU, at several resolutions and into several
 * layouts, and compares status, number of corrupt blocks and every byte of the pictures. --damage N
 * adds N damaged copies of each file: bytes are changed, the end is cut off or a hole is cut, the
 * same in every run. With --parts the GPU gets each codestream in parts. With --slices it
 * has one frame in flight and makes pictures of any size in N slices of rows; with --overlay
 * pictures of any size lie over coefficients; with --full-warps the MQ decoder has as many large
 * code-blocks in a warp as can be. One decoder of each kind decodes all files, so that
 * plans, layouts and errors follow each other as in a long-running program. --raw: the streams of
 * raw-streams.h. Without FILE it decodes all conformance streams. --share does each N-th stream
 * only, unless CJ2K_TESTS_LONG is set. Prints TAP; skips if there is no GPU.
 */
#include "common/backend.h"
#include "pictures.h"
#include "raw-streams.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define MAX_REDUCE  2
#define MAX_AREA    (1u << 26) /* a damaged header may declare any size */
#define PACKED_AREA (1u << 22) /* larger images would take minutes in every layout */

typedef struct {
  Cj2kDecoder *cpu[MAX_REDUCE + 1], *cuda[MAX_REDUCE + 1];
  uint32_t tests, failed, fallbacks;
  GRand *parts;               /* sizes of parts; NULL: the GPU gets whole codestreams */
  uint32_t component_streams; /* frames in flight with streams for components; 0: it is off */
} State;

/* ------------------------------------------------------------------------------ layouts --- */

/* Packed layouts by name, one of each shape of unit. A layout is used for images with the same
 * number of components and the same sub-sampling; depths may differ. */
typedef struct {
  const char *name;
  uint32_t num_components, num_planes, fill;
  uint8_t dx[4]; /* required sub-sampling of each component */
  Cj2kSampleLayout samples[4];
} Packed;

static const Packed packed_layouts[] = {
    {"v210",
     3,
     1,
     0,
     {1, 2, 2},
     {{0, 16, 6, 4, false, false, 10, {{0, 10}, {4, 0}, {4, 20}, {8, 10}, {12, 0}, {12, 20}}},
      {0, 16, 3, 4, false, false, 10, {{0, 0}, {4, 10}, {8, 20}}},
      {0, 16, 3, 4, false, false, 10, {{0, 20}, {8, 0}, {12, 10}}}}},
    {"UYVY",
     3,
     1,
     0,
     {1, 2, 2},
     {{0, 4, 2, 1, false, false, 8, {{1, 0}, {3, 0}}},
      {0, 4, 1, 1, false, false, 8, {{0, 0}}},
      {0, 4, 1, 1, false, false, 8, {{2, 0}}}}},
    {"UYVP",
     3,
     1,
     0,
     {1, 2, 2},
     {{0, 5, 2, 2, true, false, 10, {{1, 4}, {3, 0}}},
      {0, 5, 1, 2, true, false, 10, {{0, 6}}},
      {0, 5, 1, 2, true, false, 10, {{2, 2}}}}},
    {"r210",
     3,
     1,
     0,
     {1, 1, 1},
     {{0, 4, 1, 4, true, false, 10, {{0, 20}}},
      {0, 4, 1, 4, true, false, 10, {{0, 10}}},
      {0, 4, 1, 4, true, false, 10, {{0, 0}}}}},
    {"BGRx",
     3,
     1,
     0xFF000000u,
     {1, 1, 1},
     {{0, 4, 1, 1, false, false, 8, {{2, 0}}},
      {0, 4, 1, 1, false, false, 8, {{1, 0}}},
      {0, 4, 1, 1, false, false, 8, {{0, 0}}}}},
    {"ARGB64",
     4,
     1,
     0,
     {1, 1, 1, 1},
     {{0, 8, 1, 2, false, false, 16, {{2, 0}}},
      {0, 8, 1, 2, false, false, 16, {{4, 0}}},
      {0, 8, 1, 2, false, false, 16, {{6, 0}}},
      {0, 8, 1, 2, false, false, 16, {{0, 0}}}}},
    {"P010-like",
     3,
     2,
     0,
     {1, 2, 2},
     {{0, 2, 1, 2, false, false, 10, {{0, 6}}},
      {1, 4, 1, 2, false, false, 10, {{0, 6}}},
      {1, 4, 1, 2, false, false, 10, {{2, 6}}}}},
    {"NV16_10LE32",
     3,
     2,
     0,
     {1, 2, 2},
     {{0, 4, 3, 4, false, false, 10, {{0, 0}, {0, 10}, {0, 20}}},
      {1, 8, 3, 4, false, false, 10, {{0, 0}, {0, 20}, {4, 10}}},
      {1, 8, 3, 4, false, false, 10, {{0, 10}, {4, 0}, {4, 20}}}}},
    {"GRAY10_LE32", 1, 1, 0, {1}, {{0, 4, 3, 4, false, false, 10, {{0, 0}, {0, 10}, {0, 20}}}}},
};

static bool has_layout_of(const Packed *packed, const Cj2kImage *image)
{
  uint32_t shared = MIN(image->num_components, packed->num_components);
  if (image->num_components + 1 < packed->num_components || image->num_components > 4)
    return false;
  uint32_t width = image->components[0].x1 - image->components[0].x0;
  for (uint32_t c = 0; c < shared; c++) {
    uint32_t own = image->components[c].x1 - image->components[c].x0;
    if (own != (width + packed->dx[c] - 1) / packed->dx[c])
      return false; /* the last unit would have samples without a component */
    if (image->components[c].dx != packed->dx[c] * image->components[0].dx ||
        (packed->num_planes == 1 && image->components[c].dy != image->components[0].dy))
      return false;
  }
  return image->num_components <= packed->num_components;
}

/* ------------------------------------------------------------------------------ compare --- */

static Cj2kFrame decode(Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                        const Cj2kLayout *layout, const Target *target)
{
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, layout->num_planes, target->planes};
  Cj2kFrame frame = {0};
  frame.status = cj2k_decoder_submit(decoder, data, size, layout, &picture, NULL, &frame.error);
  if (frame.status == CJ2K_OK) {
    cj2k_decoder_receive(decoder, &frame);
    cj2k_decoder_release(decoder, &frame);
  }
  return frame;
}

/* The same in parts of random sizes. */
static Cj2kFrame decode_parts(GRand *rand, Cj2kDecoder *decoder, const uint8_t *data, size_t size,
                              const Cj2kLayout *layout, const Target *target)
{
  Cj2kPicture picture = {CJ2K_MEMORY_HOST, layout->num_planes, target->planes};
  Cj2kFrame frame = {0};
  uint32_t parts = (uint32_t)g_rand_int_range(rand, 1, 30);
  frame.status = cj2k_decoder_begin(decoder, layout, &picture, NULL, NULL, NULL, &frame.error);
  for (size_t at = 0, n; at < size && frame.status == CJ2K_OK; at += n) {
    n = (size_t)(1 + g_rand_double(rand) * 2 * (double)size / parts);
    n = MIN(n, size - at);
    frame.status = cj2k_decoder_append(decoder, data + at, n, &frame.error);
  }
  if (frame.status == CJ2K_OK)
    frame.status = cj2k_decoder_end(decoder, &frame.error);
  if (frame.status == CJ2K_OK) {
    cj2k_decoder_receive(decoder, &frame);
    cj2k_decoder_release(decoder, &frame);
  }
  return frame;
}

static void compare(State *state, uint32_t reduce, const uint8_t *data, size_t size,
                    const Cj2kLayout *layout, const Cj2kImage *image, uint32_t more,
                    const char *name)
{
  Target targets[2];
  for (uint32_t i = 0; i < 2; i++)
    target_init(&targets[i], layout, image->components, image->num_components, more);
  Cj2kFrame cpu = decode(state->cpu[reduce], data, size, layout, &targets[0]);
  Cj2kFrame cuda = state->parts ? decode_parts(state->parts, state->cuda[reduce], data, size,
                                               layout, &targets[1])
                                : decode(state->cuda[reduce], data, size, layout, &targets[1]);
  const char *why = NULL;
  if (cpu.status != cuda.status)
    why = "status";
  else if (cpu.status == CJ2K_OK && cpu.corrupt_blocks != cuda.corrupt_blocks)
    why = "corrupt blocks";
  else if (cpu.status == CJ2K_OK &&
           memcmp(targets[0].memory, targets[1].memory, targets[0].size) != 0)
    why = "samples";
  state->tests++;
  state->failed += why != NULL;
  state->fallbacks += cuda.fallback;
  printf("%sok %u - %s%s%s%s\n", why ? "not " : "", state->tests, name, why ? ": differs in " : "",
         why ? why : "", cuda.fallback ? " (done by the CPU)" : "");
  if (why)
    printf("# cpu: %s %s, %u corrupt; cuda: %s %s, %u corrupt\n", cj2k_status_name(cpu.status),
           cpu.status ? cpu.error.text : "", cpu.corrupt_blocks, cj2k_status_name(cuda.status),
           cuda.status ? cuda.error.text : "", cuda.corrupt_blocks);
  target_clear(&targets[0]);
  target_clear(&targets[1]);
}

static void compare_layouts(State *state, uint32_t reduce, const uint8_t *data, size_t size,
                            bool packed, const char *name)
{
  Cj2kImage image;
  Cj2kError error;
  if (cj2k_decoder_read_header(state->cpu[reduce], data, size, &image, &error) != CJ2K_OK ||
      (uint64_t)(image.x1 - image.x0) * (image.y1 - image.y0) > MAX_AREA)
    return;
  Cj2kSampleLayout *samples = g_new(Cj2kSampleLayout, image.num_components);
  Cj2kLayout layout;
  cj2k_layout_planar(&image, samples, &layout);
  char *title = g_strdup_printf("%s reduce %u planar", name, reduce);
  compare(state, reduce, data, size, &layout, &image, 0, title);
  g_free(title);
  bool small = (uint64_t)(image.x1 - image.x0) * (image.y1 - image.y0) <= PACKED_AREA;
  for (uint32_t i = 0; packed && small && i < G_N_ELEMENTS(packed_layouts); i++) {
    const Packed *p = &packed_layouts[i];
    if (!has_layout_of(p, &image))
      continue;
    layout = (Cj2kLayout){p->num_components, p->num_planes, p->samples, p->fill};
    for (uint32_t tight = 0; tight < 2; tight++) {
      title = g_strdup_printf("%s reduce %u %s%s", name, reduce, p->name, tight ? " tight" : "");
      compare(state, reduce, data, size, &layout, &image, tight ? TARGET_TIGHT : 0, title);
      g_free(title);
    }
  }
  g_free(samples);
}

/* Damage that depends on the seed alone: some bytes after the first ones are changed, the end is
 * cut off, or a hole is cut into the middle, as lost RTP packets do. */
static uint8_t *damage(const uint8_t *data, size_t *size, uint32_t seed)
{
  GRand *random = g_rand_new_with_seed(seed);
  uint8_t *copy = g_memdup2(data, *size);
  if (seed % 4 == 0) {
    *size = (size_t)(g_rand_double(random) * (double)*size) + 1;
  } else if (seed % 4 == 2) {
    size_t hole = (size_t)(g_rand_double(random) * (double)*size / 16);
    size_t at = (size_t)(g_rand_double(random) * (double)(*size - hole));
    memmove(copy + at, copy + at + hole, *size - hole - at);
    *size -= hole;
  } else {
    for (int i = g_rand_int_range(random, 1, 9); i > 0; i--)
      copy[(size_t)(g_rand_double(random) * (double)*size)] = (uint8_t)g_rand_int(random);
  }
  g_rand_free(random);
  return copy;
}

/* A copy with other quantiser steps in its main header, as the next frame of a film has them under
 * rate control: the geometry stays. */
static uint8_t *requantise(const uint8_t *data, size_t size, uint32_t seed)
{
  uint8_t *copy = g_memdup2(data, size);
  for (size_t at = 2; at + 5 < size && copy[at] == 0xff && copy[at + 1] != 0x90;) {
    size_t length = (size_t)copy[at + 2] << 8 | copy[at + 3], end = MIN(at + 2 + length, size);
    if (copy[at + 1] == 0x5c && (copy[at + 4] & 31)) /* QCD: mantissas */
      for (size_t i = at + 6; i < end; i += 2)
        copy[i] = (uint8_t)(copy[i] + 37 * seed);
    else if (copy[at + 1] == 0x5c) /* guard bits */
      copy[at + 4] = (uint8_t)(copy[at + 4] + (seed << 5));
    at = end;
  }
  return copy;
}

#define FILM 3 /* frames with steps of their own */

static void compare_film(State *state, const uint8_t *data, size_t size, const char *name)
{
  for (uint32_t i = 1; i <= FILM; i++) {
    uint8_t *frame = requantise(data, size, i);
    char *title = g_strdup_printf("%s steps %u", name, i);
    compare_layouts(state, 0, frame, size, false, title);
    g_free(title);
    g_free(frame);
  }
}

static void compare_stream(State *state, const uint8_t *data, size_t size, const char *name,
                           uint32_t damages)
{
  for (uint32_t reduce = 0; reduce <= MAX_REDUCE; reduce++)
    compare_layouts(state, reduce, data, size, reduce < 2, name);
  compare_film(state, data, size, name);
  for (uint32_t i = 0; i < damages; i++) {
    size_t damaged_size = size;
    uint8_t *damaged = damage(data, &damaged_size, i);
    char *title = g_strdup_printf("%s damage %u", name, i);
    compare_layouts(state, 0, damaged, damaged_size, false, title);
    g_free(title);
    g_free(damaged);
  }
}

static void compare_file(State *state, const char *path, uint32_t damages)
{
  char *data, *name = g_path_get_basename(path);
  gsize size;
  if (g_file_get_contents(path, &data, &size, NULL)) {
    compare_stream(state, (const uint8_t *)data, size, name, damages);
    g_free(data);
  } else {
    printf("not ok %u - %s cannot be read\n", ++state->tests, path);
    state->failed++;
  }
  g_free(name);
}

static void compare_raw_streams(State *state, uint32_t share, uint32_t damages)
{
  for (uint32_t i = 0; i < RAW_STREAMS; i += share) {
    char *name;
    gsize size;
    GBytes *bytes = raw_stream(i, &name);
    const uint8_t *data = g_bytes_get_data(bytes, &size);
    compare_stream(state, data, size, name, damages);
    g_bytes_unref(bytes);
    g_free(name);
  }
}

static Cj2kDecoder *open_decoder(const State *state, Cj2kBackendKind backend, uint32_t reduce,
                                 Cj2kError *error)
{
  Cj2kDecoderParams params;
  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.reduce = (uint8_t)reduce;
  if (cj2k_backend_test.slices)
    params.frames_in_flight = 1;
  if (state->component_streams) {
    params.component_streams = CJ2K_COMPONENT_STREAMS_ON;
    params.frames_in_flight = state->component_streams;
  }
  if (!state->parts)
    params.conceal = CJ2K_CONCEAL_PREVIOUS; /* of damaged copies of a file the one before */
  return cj2k_decoder_open(&params, error);
}

/* All codestreams of the conformance folder; if there are none, prints why. */
static GPtrArray *conformance_files(void)
{
  const char *shared = g_getenv("CJ2K_SHARED");
  if (!shared)
    shared = g_getenv("CJ2K_SHARED_DEFAULT");
  char *folder = g_build_filename(shared ? shared : "../shared", "conformance", NULL);
  GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, ".j2k"))
      g_ptr_array_add(files, g_build_filename(folder, name, NULL));
  if (dir)
    g_dir_close(dir);
  g_free(folder);
  return files;
}

/* Takes a word from the command line if it is next; with `value` the number behind it, too. */
static bool take(char ***words, const char *name, int *value)
{
  char **next = *words;
  if (!next[0] || strcmp(next[0], name) != 0 || (value && !next[1]))
    return false;
  if (value)
    *value = atoi(next[1]);
  *words += value ? 2 : 1;
  return true;
}

int main(int argc, char **argv)
{
  (void)argc;
  State state = {0};
  Cj2kError error;
  int damages = 0, share = 1, slices = 0, in_flight = 0;
  char **names = argv + 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (take(&names, "--parts", NULL))
    state.parts = g_rand_new_with_seed(1);
  take(&names, "--slices", &slices);
  cj2k_backend_test.slices = (uint32_t)slices;
  cj2k_backend_test.overlay = take(&names, "--overlay", NULL);
  cj2k_backend_test.full_warps = take(&names, "--full-warps", NULL);
  take(&names, "--component-streams", &in_flight);
  state.component_streams = (uint32_t)in_flight;
  if (take(&names, "--share", &share))
    share = g_getenv("CJ2K_TESTS_LONG") ? 1 : MAX(share, 1);
  take(&names, "--damage", &damages);
  bool raw = take(&names, "--raw", NULL);
  for (uint32_t r = 0; r <= MAX_REDUCE; r++) {
    state.cpu[r] = open_decoder(&state, CJ2K_BACKEND_CPU, r, &error);
    state.cuda[r] = open_decoder(&state, CJ2K_BACKEND_CUDA, r, &error);
    if (!state.cpu[r] || !state.cuda[r]) {
      printf("1..0 # SKIP %s\n", error.text);
      return 0;
    }
  }
  bool given = *names || raw;
  GPtrArray *files = given ? g_ptr_array_new_with_free_func(g_free) : conformance_files();
  if (!given && !files->len) {
    printf(
        "1..0 # SKIP no conformance streams: CJ2K_SHARED names the folder that holds conformance\n");
    return 0;
  }
  for (; *names; names++)
    g_ptr_array_add(files, g_strdup(*names));
  if (raw)
    compare_raw_streams(&state, (uint32_t)share, (uint32_t)MAX(damages, 0));
  for (guint i = 0; i < files->len; i += (guint)share)
    compare_file(&state, g_ptr_array_index(files, i), (uint32_t)MAX(damages, 0));
  g_ptr_array_unref(files);
  printf("1..%u\n# %u failed, %u done by the CPU in place of the GPU\n", state.tests, state.failed,
         state.fallbacks);
  for (uint32_t r = 0; r <= MAX_REDUCE; r++) {
    cj2k_decoder_close(state.cpu[r]);
    cj2k_decoder_close(state.cuda[r]);
  }
  if (state.parts)
    g_rand_free(state.parts);
  return state.failed != 0;
}
