/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In steady state, when every slot has held every picture, a codec allocates no block as large as a
 * picture on the host and nothing at all on the GPU. Allocations are counted by replacements of the
 * system's functions and, through the linker's --wrap, of the CUDA runtime's.
 */
#include "config.h"
#include "encoder-pictures.h"

#ifdef CJ2K_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#define IN_FLIGHT 4
#define PICTURES  5 /* not a multiple of IN_FLIGHT, so that every slot gets every picture */
#define WARM      (4 * IN_FLIGHT * PICTURES)
#define FRAMES    (2 * IN_FLIGHT * PICTURES)
#define LARGE     16384 /* bytes; other allocations for a frame take a few hundred */

static gint watching, large, on_device;

/* ---------------------------------------------------- replacements of the system's functions ---
 */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS_HOST TRUE

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void note(size_t size)
{
  if (size >= LARGE && g_atomic_int_get(&watching))
    g_atomic_int_inc(&large);
}

void *malloc(size_t size)
{
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  note(count * size);
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
  note(size);
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
  note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
  note(size);
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12 /* ENOMEM */;
}
#else
#define COUNTS_HOST FALSE
#endif

/* -------------------------------------------------- replacements of the runtime's functions --- */

#ifdef CJ2K_HAVE_CUDA
#define COUNTED(name, parameters, arguments)                                                       \
  cudaError_t __real_##name parameters;                                                            \
  cudaError_t __wrap_##name parameters;                                                            \
  cudaError_t __wrap_##name parameters                                                             \
  {                                                                                                \
    if (g_atomic_int_get(&watching))                                                               \
      g_atomic_int_inc(&on_device);                                                                \
    return __real_##name arguments;                                                                \
  }

COUNTED(cudaMalloc, (void **memory, size_t size), (memory, size))
COUNTED(cudaHostAlloc, (void **memory, size_t size, unsigned flags), (memory, size, flags))
COUNTED(cudaFree, (void *memory), (memory))
COUNTED(cudaFreeHost, (void *memory), (memory))
COUNTED(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
COUNTED(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
        (stream, flags, priority))
COUNTED(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
#endif

/* --------------------------------------------------------------------------------- runs --- */

typedef struct {
  Cj2kBackendKind backend;
  Cj2kBlockCoder coder;
  gboolean lossless;
} Case;

static TestPicture pictures[PICTURES];

static void begin_watching(void)
{
  large = on_device = 0;
  g_atomic_int_set(&watching, TRUE);
}

static void end_watching(void)
{
  g_atomic_int_set(&watching, FALSE);
  g_assert_cmpint(large, ==, 0);
  g_assert_cmpint(on_device, ==, 0);
}

static void set_params(const Case *c, Cj2kEncoderParams *params)
{
  cj2k_encoder_params_init(params);
  params->backend = c->backend;
  params->block_coder = c->coder;
  params->frames_in_flight = IN_FLIGHT;
  params->num_threads = 1; /* each further thread would allocate its memory when it first helps */
  params->rate_control = c->lossless ? CJ2K_RATE_LOSSLESS : CJ2K_RATE_CBR;
  params->bits_per_pixel = c->lossless ? 0 : 3;
}

static void run_encoder(Cj2kEncoder *encoder)
{
  Cj2kPacket packet;
  Cj2kError error;
  guint submitted = 0;
  for (guint received = 0; received < WARM + FRAMES; received++) {
    if (received == WARM)
      begin_watching();
    while (submitted < WARM + FRAMES && submitted - received < IN_FLIGHT)
      g_assert_cmpint(
          cj2k_encoder_submit(encoder, &pictures[submitted++ % PICTURES].picture, NULL, &error), ==,
          CJ2K_OK);
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    g_assert_cmpint(packet.status, ==, CJ2K_OK);
    g_assert_false(packet.fallback);
    cj2k_encoder_release(encoder, &packet);
  }
  end_watching();
}

static void test_encoder(gconstpointer data)
{
  Cj2kEncoderParams params;
  Cj2kError error;
  set_params(data, &params);
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&params, &pictures[0].image, &pictures[0].layout, &error);
  if (!encoder) {
    g_test_skip(error.text);
    return;
  }
  run_encoder(encoder);
  cj2k_encoder_close(encoder);
}

static void run_decoder(Cj2kDecoder *decoder, GBytes *const streams[PICTURES])
{
  Cj2kFrame frame;
  Cj2kError error;
  guint submitted = 0;
  for (guint received = 0; received < WARM + FRAMES; received++) {
    if (received == WARM)
      begin_watching();
    while (submitted < WARM + FRAMES && submitted - received < IN_FLIGHT) {
      gsize size;
      const guint8 *bytes = g_bytes_get_data(streams[submitted++ % PICTURES], &size);
      g_assert_cmpint(cj2k_decoder_submit(decoder, bytes, size, NULL, NULL, NULL, &error), ==,
                      CJ2K_OK);
    }
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    g_assert_cmpint(frame.status, ==, CJ2K_OK);
    g_assert_false(frame.fallback);
    cj2k_decoder_release(decoder, &frame);
  }
  end_watching();
}

static void test_decoder(gconstpointer data)
{
  const Case *c = data;
  Case on_cpu = *c;
  Cj2kEncoderParams params;
  Cj2kDecoderParams decoder_params;
  Cj2kError error;
  GBytes *streams[PICTURES];
  cj2k_decoder_params_init(&decoder_params);
  decoder_params.backend = c->backend;
  decoder_params.frames_in_flight = IN_FLIGHT;
  decoder_params.num_threads = 1;
  Cj2kDecoder *decoder = cj2k_decoder_open(&decoder_params, &error);
  if (!decoder) {
    g_test_skip(error.text);
    return;
  }
  on_cpu.backend = CJ2K_BACKEND_CPU;
  set_params(&on_cpu, &params);
  if (!c->lossless) /* a ceiling changes steps and with them headers and plans */
    params.rate_control = CJ2K_RATE_QUALITY;
  params.bits_per_pixel = 0;
  for (guint i = 0; i < PICTURES; i++) {
    streams[i] = test_encode(&params, &pictures[i], &error);
    g_assert_nonnull(streams[i]);
  }
  run_decoder(decoder, streams);
  cj2k_decoder_close(decoder);
  for (guint i = 0; i < PICTURES; i++)
    g_bytes_unref(streams[i]);
}

/* The counters work; otherwise the other tests would prove nothing. */
static void test_counting(void)
{
  g_atomic_int_set(&watching, TRUE);
  large = 0;
  gpointer memory = g_malloc(LARGE);
  g_atomic_int_set(&watching, FALSE);
  g_free(memory);
  if (COUNTS_HOST)
    g_assert_cmpint(large, ==, 1);
  else
    g_test_skip("a sanitizer counts allocations itself");
}

int main(int argc, char **argv)
{
  static const Scene scenes[PICTURES] = {SCENE_NATURAL, SCENE_NOISE, SCENE_BLACK, SCENE_CHECKER,
                                         SCENE_NATURAL};
  static Case cases[8];
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < PICTURES; i++)
    test_picture_init(&pictures[i], scenes[i], 320, 240, 3, 10, false, NULL, NULL, 0, 0);
  g_test_add_func("/steady/counting", test_counting);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    cases[i] = (Case){.backend = i & 4 ? CJ2K_BACKEND_CUDA : CJ2K_BACKEND_CPU,
                      .coder = i & 2 ? CJ2K_CODER_HT : CJ2K_CODER_MQ,
                      .lossless = i & 1};
    gchar *name = g_strdup_printf("%s/%s-%s", i & 4 ? "cuda" : "cpu", i & 2 ? "ht" : "mq",
                                  i & 1 ? "lossless" : "lossy");
    gchar *encode = g_strdup_printf("/steady/encode/%s", name);
    gchar *decode = g_strdup_printf("/steady/decode/%s", name);
    g_test_add_data_func(encode, &cases[i], test_encoder);
    g_test_add_data_func(decode, &cases[i], test_decoder);
    g_free(encode);
    g_free(decode);
    g_free(name);
  }
  int result = g_test_run();
  for (guint i = 0; i < PICTURES; i++)
    test_picture_clear(&pictures[i]);
  return result;
}
