/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * film-drawn [--decoders] [--seed N] [FILMS]
 *
 * Films whose size, samples and options are drawn by chance, encoded on the GPU and on the CPU: the
 * same codestreams, or the same error; and both decoders give the same samples. With --decoders the
 * CPU alone encodes. Film K of seed N is film 0 of seed N + K, so that one film alone can be
 * repeated. Prints TAP; skips if there is no GPU.
 */
#include "tests/support/frame-digest.h"
#include "tests/unit/encoder-pictures.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define MARGIN      48 /* by which the pictures are larger than the window */
#define SCENE       5  /* frames from one cut to the next */
#define MOST_FRAMES 14
#define MOST_PLANES 4

/* What is drawn. */
typedef struct {
  GRand *rand;
  uint32_t width, height, x0, y0; /* of the window; offset of the image */
  uint32_t components, frames;
  uint8_t depth, dx[MOST_PLANES], dy[MOST_PLANES];
  Cj2kMemoryKind memory;
  uint32_t step;     /* samples by which the window moves */
  double other_rate; /* from the middle on so many times the bits per pixel; 0: the same */
  uint8_t reduce;    /* of the decoders */
  uint32_t decoding; /* frames in flight of the decoders */
  GString *options;
} Film;

static TestPicture pictures[2]; /* of the film's scenes in turn; larger than the window */

/* --- drawing --- */

static bool chance(Film *film, uint32_t percent)
{
  return (uint32_t)g_rand_int_range(film->rand, 0, 100) < percent;
}

static uint32_t between(Film *film, uint32_t least, uint32_t most)
{
  return (uint32_t)g_rand_int_range(film->rand, (gint32)least, (gint32)most + 1);
}

static double log_between(Film *film, double least, double most)
{
  return least * pow(most / least, g_rand_double(film->rand));
}

G_GNUC_PRINTF(2, 3) static void option(Film *film, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_string_append_vprintf(film->options, format, arguments);
  g_string_append_c(film->options, ' ');
  va_end(arguments);
}

#define ONE_OF(film, list) ((list)[between(film, 0, G_N_ELEMENTS(list) - 1)])

static uint32_t draw_length(Film *film)
{
  static const uint32_t most[] = {8, 40, 130, 130, 300, 300, 300, 900, 1600};
  return between(film, 1, ONE_OF(film, most));
}

static void draw_samples(Film *film)
{
  static const uint8_t depths[] = {8, 8, 10, 10, 12, 12, 16, 1, 5, 13};
  static const uint8_t counts[] = {1, 2, 3, 3, 3, 3, 3, 4};

  film->depth = ONE_OF(film, depths);
  film->components = ONE_OF(film, counts);
  bool half_x = film->components > 2 && chance(film, 45), half_y = half_x && chance(film, 30);
  for (uint32_t c = 0; c < MOST_PLANES; c++) {
    film->dx[c] = half_x && (c == 1 || c == 2) ? 2 : 1;
    film->dy[c] = half_y && (c == 1 || c == 2) ? 2 : 1;
  }
}

static void draw_region(Film *film)
{
  uint32_t x = between(film, 0, film->width), y = between(film, 0, 50);
  uint32_t width = between(film, 1, 90), height = between(film, 1, 90);

  option(film, "roi=%u,%u,%u,%u,%g", x, y, width, height, log_between(film, 0.1, 30));
}

static void draw_rate(Film *film, bool ht)
{
  switch (between(film, 0, 7)) {
  case 0: option(film, "rate-control=lossless"); break;
  case 1: option(film, "rate-control=quality quality=%u", between(film, 1, 100)); break;
  case 2: option(film, "quant-step=%.6f", log_between(film, 0.00003, 0.1)); break;
  case 3: option(film, "rate-control=psnr psnr=%.1f", log_between(film, 20, 70)); break;
  case 4:
    option(film, "average-bitrate=%u framerate=25",
           (uint32_t)(log_between(film, 0.3, 6) * film->width * film->height * 25 / 1000) + 100);
    break;
  default:
    option(film, "bits-per-pixel=%.2f", log_between(film, 0.3, 12));
    if (chance(film, 15))
      option(film, "reversible-transform=true");
    if (chance(film, 15))
      draw_region(film);
  }
  if (chance(film, 15))
    option(film, "max-frame-bytes=%u",
           (uint32_t)(log_between(film, 0.1, 1) * film->width * film->height) + 200);
  if (chance(film, 5))
    option(film, "max-component-bytes=%u", film->width * film->height / 4 + 300);
  if (ht && chance(film, 15))
    option(film, "rate-effort=best");
  if (chance(film, 20))
    option(film, "visual-weights=csf");
  if (chance(film, 15))
    option(film, "rate-period=%u", between(film, 2, 9));
}

static void draw_coder(Film *film, bool ht)
{
  static const char *const blocks[] = {"64x64",  "64x64", "32x32",  "32x32", "16x16",
                                       "128x32", "4x4",   "1024x4", "4x256", "8x512"};
  static const char *const styles[] = {"bypass", "reset", "termall", "causal", "pterm", "segmark"};
  gchar **size = g_strsplit(ONE_OF(film, blocks), "x", 2);
  GString *style = g_string_new(NULL);

  option(film, "block-coder=%s codeblock-width=%s codeblock-height=%s", ht ? "ht" : "mq", size[0],
         size[1]);
  for (size_t i = 0; i < G_N_ELEMENTS(styles) && !ht; i++)
    if (chance(film, 18))
      g_string_append_printf(style, "%s%s", style->len ? "+" : "", styles[i]);
  if (style->len)
    option(film, "codeblock-style=%s", style->str);
  g_string_free(style, TRUE);
  g_strfreev(size);
}

static void draw_codestream(Film *film)
{
  static const char *const orders[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};
  static const char *const precincts[] = {"128x128", "64x128,32x32", "256x256", "32768x64"};
  static const char *const flags[] = {"sop", "eph", "tlm", "plt"};
  static const char *const parts[] = {"resolution", "layer", "component", "resolution+component"};

  option(film, "num-resolutions=%u", between(film, 1, 7));
  option(film, "progression-order=%s", ONE_OF(film, orders));
  if (chance(film, 20))
    option(film, "num-layers=%u", between(film, 2, 4));
  if (chance(film, 25))
    option(film, "precincts=%s", ONE_OF(film, precincts));
  if (chance(film, 20)) {
    option(film, "tile-width=%u", between(film, 17, 400));
    option(film, "tile-height=%u", between(film, 17, 400));
  }
  for (size_t i = 0; i < G_N_ELEMENTS(flags); i++)
    if (chance(film, 18))
      option(film, "%s=true", flags[i]);
  if (chance(film, 15))
    option(film, "tile-parts=%s", ONE_OF(film, parts));
  if (chance(film, 15))
    option(film, "mct=off");
  if (chance(film, 8))
    option(film, "guard-bits=%u", between(film, 1, 4));
  if (!film->x0 && !film->y0)
    return;
  option(film, "image-offset-x=%u image-offset-y=%u", film->x0, film->y0);
  option(film, "tile-offset-x=%u", between(film, 0, film->x0));
  option(film, "tile-offset-y=%u", between(film, 0, film->y0));
}

static void draw_work(Film *film)
{
  static const char *const streams[] = {"on", "off"};

  option(film, "frames-in-flight=%u", chance(film, 55) ? 1 : between(film, 2, 6));
  if (chance(film, 35))
    option(film, "low-latency=true");
  if (chance(film, 25))
    option(film, "component-streams=%s", ONE_OF(film, streams));
  if (chance(film, 30))
    option(film, "num-threads=%u", between(film, 1, 4));
}

static void draw(Film *film, uint32_t seed)
{
  *film = (Film){.rand = g_rand_new_with_seed(seed), .options = g_string_new(NULL)};
  bool ht = chance(film, 60);

  film->width = draw_length(film);
  film->height = draw_length(film);
  if (chance(film, 20)) {
    film->x0 = between(film, 0, 40);
    film->y0 = between(film, 0, 40);
  }
  film->frames = between(film, 3, MOST_FRAMES);
  film->step = between(film, 0, 9);
  film->memory = chance(film, 40) ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_HOST;
  film->other_rate = chance(film, 30) ? log_between(film, 0.4, 2.5) : 0;
  film->reduce = (uint8_t)(chance(film, 25) ? between(film, 1, 2) : 0);
  film->decoding = chance(film, 50) ? 1 : between(film, 2, 12);
  draw_samples(film);
  draw_coder(film, ht);
  draw_rate(film, ht);
  draw_codestream(film);
  draw_work(film);
  for (int i = 0; i < 2; i++)
    test_picture_init(&pictures[i], (Scene)between(film, 0, NUM_SCENES - 1), film->width + MARGIN,
                      film->height + MARGIN, film->components, film->depth, false, film->dx,
                      film->dy, 0, 0);
}

static void clear(Film *film)
{
  for (int i = 0; i < 2; i++)
    test_picture_clear(&pictures[i]);
  g_string_free(film->options, TRUE);
  g_rand_free(film->rand);
}

static void describe(const Film *film)
{
  printf("# %ux%u+%u+%u, %u x %u bit, %u:%u, %u frames, step %u, rate * %.2f, %s, "
         "reduce %u, decoding %u: %s\n",
         film->width, film->height, film->x0, film->y0, film->components, film->depth, film->dx[1],
         film->dy[1], film->frames, film->step, film->other_rate,
         film->memory == CJ2K_MEMORY_CUDA ? "device" : "host", film->reduce, film->decoding,
         film->options->str);
}

/* --- encoding --- */

/* The pictures in the memory that frames are taken from. */
typedef struct {
  Cj2kPlane planes[2][MOST_PLANES];
  Cj2kEncoder *owner; /* of device memory; NULL: they are the film's own */
} Source;

static void source_init(Source *source, const Film *film, Cj2kEncoder *encoder, bool on_device)
{
  *source = (Source){.owner = on_device ? encoder : NULL};
  for (int i = 0; i < 2; i++)
    for (uint32_t c = 0; c < film->components; c++) {
      const Cj2kComponent *component = &pictures[i].components[c];
      Cj2kPlane *plane = &source->planes[i][c];
      *plane = pictures[i].planes[c];
      size_t size = plane->pitch * (component->y1 - component->y0);
      if (!on_device)
        continue;
      void *copy = cj2k_encoder_alloc(encoder, CJ2K_MEMORY_CUDA, size);
      g_assert_nonnull(copy);
      g_assert_cmpint(cudaMemcpy(copy, plane->data, size, cudaMemcpyDefault), ==, cudaSuccess);
      plane->data = copy;
    }
}

static void source_clear(Source *source)
{
  for (int i = 0; i < 2 && source->owner; i++)
    for (uint32_t c = 0; c < MOST_PLANES; c++)
      cj2k_encoder_free(source->owner, CJ2K_MEMORY_CUDA, source->planes[i][c].data);
}

/* The window of frame i. It moves by whole samples of every component. */
static Cj2kPicture window(const Film *film, const Source *source, uint32_t i, Cj2kPlane *planes)
{
  uint32_t at = i * film->step % MARGIN & ~1u;

  for (uint32_t c = 0; c < film->components; c++) {
    planes[c] = source->planes[i / SCENE & 1][c];
    planes[c].data = (uint8_t *)planes[c].data + at / film->dy[c] * planes[c].pitch +
                     at / film->dx[c] * sizeof(uint16_t);
  }
  return (Cj2kPicture){source->owner ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_HOST, film->components,
                       planes};
}

static Cj2kEncoder *open_encoder(const Film *film, Cj2kBackendKind backend,
                                 Cj2kEncoderParams *params, Cj2kError *error)
{
  Cj2kComponent components[MOST_PLANES];
  Cj2kEncoderImage image = pictures[0].image;

  for (uint32_t c = 0; c < film->components; c++) {
    uint32_t dx = film->dx[c], dy = film->dy[c];
    components[c] = pictures[0].components[c];
    components[c].x0 = (film->x0 + dx - 1) / dx;
    components[c].y0 = (film->y0 + dy - 1) / dy;
    components[c].x1 = (film->x0 + film->width + dx - 1) / dx;
    components[c].y1 = (film->y0 + film->height + dy - 1) / dy;
  }
  image.components = components;
  image.width = film->width;
  image.height = film->height;
  cj2k_encoder_params_init(params);
  test_set_options(params, film->options->str);
  params->backend = backend;
  return cj2k_encoder_open(params, &image, &pictures[0].layout, error);
}

/* Returns the text of the error; NULL: there is none. A rate that is refused leaves the one before.
 */
static GBytes *change_rate(const Film *film, Cj2kEncoder *encoder, Cj2kEncoderParams *params)
{
  Cj2kError error = {0};

  if (!film->other_rate || !params->bits_per_pixel)
    return NULL;
  params->bits_per_pixel *= film->other_rate;
  if (cj2k_encoder_set_rate(encoder, params, &error) == CJ2K_OK)
    return NULL;
  return g_bytes_new(error.text, strlen(error.text));
}

/* The codestream of the next frame, or the text of its error. */
static GBytes *receive(Cj2kEncoder *encoder, uint32_t *fallbacks)
{
  Cj2kPacket packet = {0};
  GBytes *bytes;

  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  *fallbacks += packet.fallback;
  if (packet.status == CJ2K_OK)
    bytes = g_bytes_new(packet.data, packet.size);
  else
    bytes = g_bytes_new(packet.error.text, strlen(packet.error.text));
  cj2k_encoder_release(encoder, &packet);
  return bytes;
}

/* What comes of all frames, and of a rate that is refused; of a film that is refused the error
 * alone. */
static GPtrArray *encode(const Film *film, Cj2kBackendKind backend, uint32_t *fallbacks)
{
  GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
  Cj2kPlane planes[MOST_FRAMES][MOST_PLANES];
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  Source source;
  GBytes *refusal = NULL;
  Cj2kEncoder *encoder = open_encoder(film, backend, &params, &error);

  if (!encoder) {
    g_ptr_array_add(all, g_bytes_new(error.text, strlen(error.text)));
    return all;
  }
  source_init(&source, film, encoder,
              film->memory == CJ2K_MEMORY_CUDA && backend == CJ2K_BACKEND_CUDA);
  for (uint32_t i = 0; i < film->frames; i++) {
    Cj2kPicture picture = window(film, &source, i, planes[i]);
    if (i == film->frames / 2) {
      while (all->len < i)
        g_ptr_array_add(all, receive(encoder, fallbacks));
      refusal = change_rate(film, encoder, &params);
    }
    if (i - all->len == params.frames_in_flight)
      g_ptr_array_add(all, receive(encoder, fallbacks));
    if (cj2k_encoder_submit(encoder, &picture, NULL, &error) != CJ2K_OK)
      g_error("frame %u: %s", i, error.text);
  }
  while (all->len < film->frames)
    g_ptr_array_add(all, receive(encoder, fallbacks));
  if (refusal)
    g_ptr_array_add(all, refusal);
  source_clear(&source);
  cj2k_encoder_close(encoder);
  return all;
}

/* --- comparing --- */

static bool is_same(const GPtrArray *cpu, const GPtrArray *cuda)
{
  if (cpu->len != cuda->len) {
    printf("# %u results on the CPU, %u on the GPU\n", cpu->len, cuda->len);
    return false;
  }
  for (guint i = 0; i < cpu->len; i++)
    if (!g_bytes_equal(cpu->pdata[i], cuda->pdata[i])) {
      printf("# frame %u differs: %zu bytes on the CPU, %zu on the GPU\n", i,
             g_bytes_get_size(cpu->pdata[i]), g_bytes_get_size(cuda->pdata[i]));
      return false;
    }
  return true;
}

/* Adds a digest of the samples of the next frame, or the text of its error. */
static void receive_digest(Cj2kDecoder *decoder, GString *all, uint32_t *fallbacks)
{
  Cj2kFrame frame = {0};

  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  char *own = frame.status == CJ2K_OK ? test_frame_digest(&frame) : g_strdup(frame.error.text);
  *fallbacks += frame.fallback;
  g_string_append_printf(all, "%s ", own);
  g_free(own);
  cj2k_decoder_release(decoder, &frame);
}

/* The digests of all codestreams of a film, in one text. */
static char *decode(const Film *film, const GPtrArray *codestreams, Cj2kBackendKind backend,
                    uint32_t *fallbacks)
{
  GString *all = g_string_new(NULL);
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.frames_in_flight = film->decoding;
  params.low_latency = film->step & 1;
  params.reduce = film->reduce;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  for (uint32_t i = 0; i < film->frames + film->decoding; i++) {
    gsize size;
    if (i >= film->decoding)
      receive_digest(decoder, all, fallbacks);
    if (i >= film->frames)
      continue;
    const uint8_t *data = g_bytes_get_data(codestreams->pdata[i], &size);
    if (cj2k_decoder_submit(decoder, data, size, NULL, NULL, NULL, &error) != CJ2K_OK)
      g_error("%s", error.text);
  }
  cj2k_decoder_close(decoder);
  return g_string_free(all, FALSE);
}

static bool decodes_same(const Film *film, const GPtrArray *codestreams, uint32_t *fallbacks)
{
  uint32_t on_cpu = 0;
  char *cpu = decode(film, codestreams, CJ2K_BACKEND_CPU, &on_cpu);
  char *cuda = decode(film, codestreams, CJ2K_BACKEND_CUDA, fallbacks);
  bool same = !strcmp(cpu, cuda);

  if (!same)
    printf("# samples differ: %s on the CPU, %s on the GPU\n", cpu, cuda);
  g_free(cpu);
  g_free(cuda);
  return same;
}

/* *refused: the parameters contradict each other. There is nothing among what is drawn that the GPU
 * leaves to the CPU. */
static bool check_film(uint32_t seed, Cj2kBackendKind encoder, bool *refused)
{
  Film film;
  uint32_t on_cpu = 0, fallbacks = 0;

  draw(&film, seed);
  GPtrArray *cpu = encode(&film, CJ2K_BACKEND_CPU, &on_cpu);
  GPtrArray *cuda = encode(&film, encoder, &fallbacks);
  *refused = cpu->len == 1;
  bool ok = is_same(cpu, cuda) && (*refused || decodes_same(&film, cuda, &fallbacks));
  if (fallbacks)
    printf("# %u frames done by the CPU in place of the GPU\n", fallbacks);
  if (!ok || fallbacks)
    describe(&film);
  if (*refused)
    printf("# refused: %.*s\n", (int)g_bytes_get_size(cpu->pdata[0]),
           (const char *)g_bytes_get_data(cpu->pdata[0], NULL));
  g_ptr_array_unref(cpu);
  g_ptr_array_unref(cuda);
  clear(&film);
  return ok && !fallbacks;
}

int main(int argc, char **argv)
{
  uint32_t seed = 1, films = 600, failed = 0, num_refused = 0;
  Cj2kBackendKind encoder = CJ2K_BACKEND_CUDA;

  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--decoders"))
      encoder = CJ2K_BACKEND_CPU;
    else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
      seed = (uint32_t)strtoul(argv[++i], NULL, 10);
    else
      films = (uint32_t)strtoul(argv[i], NULL, 10);
  if (!test_has_backend(CJ2K_BACKEND_CUDA))
    return 0;
  printf("1..%u\n", films);
  for (uint32_t i = 0; i < films; i++) {
    bool refused = false, ok = check_film(seed + i, encoder, &refused);
    printf("%sok %u - seed %u\n", ok ? "" : "not ", i + 1, seed + i);
    fflush(stdout);
    failed += !ok;
    num_refused += refused;
  }
  printf("# %u films refused\n", num_refused);
  return failed > 0;
}
