/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Codecs that share an engine (cuda/host/engine.h), without a GPU: they come and go beside others,
 * alone and in many threads. Device memory is the host's, and decoders make the samples of the CPU
 * (pretend-kernels.c), so that memory that two codecs have at once is found. Encoders' kernels do
 * nothing.
 */
#include "call-faults.h"
#include "cuda/host/engine.h"
#include "cuda/host/streams.h"
#include "pretend.h"
#include "tests/unit/encoder-pictures.h"

#define FRAMES  3
#define MOST    3 /* frames in flight */
#define THREADS 8
#define ROUNDS  12

typedef struct {
  const char *options; /* of the encoder */
  uint32_t width, height, in_flight;
  bool decodes, low_latency;
} Kind;

static const Kind kinds[] = {
    {"block-coder=ht bits-per-pixel=3", 200, 130, 1, false, false},
    {"block-coder=ht rate-control=lossless", 200, 130, 1, true, false},
    {"block-coder=mq bits-per-pixel=3", 200, 130, 2, false, false},
    {"block-coder=mq rate-control=lossless", 210, 140, 3, true, false},
    {"block-coder=ht quant-step=0.01", 330, 240, 1, false, true},
    {"block-coder=ht quant-step=0.01", 320, 240, 1, true, true},
};

/* What all codecs of a kind code; made before there are threads. */
static struct {
  TestPicture picture;
  GBytes *codestream, *samples;
} inputs[G_N_ELEMENTS(kinds)];

static Cj2kEncoder *open_encoder(const Kind *kind, const TestPicture *picture)
{
  Cj2kEncoderParams params;
  Cj2kError error = {0};

  cj2k_encoder_params_init(&params);
  test_set_options(&params, kind->options);
  params.backend = CJ2K_BACKEND_CUDA;
  params.frames_in_flight = kind->in_flight;
  params.low_latency = kind->low_latency;
  params.num_threads = 2;
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &picture->image, &picture->layout, &error);
  if (!encoder)
    g_error("%s: %s", kind->options, error.text);
  return encoder;
}

static Cj2kDecoder *open_decoder(const Kind *kind, Cj2kBackendKind backend)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = backend;
  params.frames_in_flight = kind->in_flight;
  params.low_latency = kind->low_latency;
  params.num_threads = 2;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder)
    g_error("%s: %s", kind->options, error.text);
  return decoder;
}

static void encode(Cj2kEncoder *encoder, const Cj2kPicture *picture, uint32_t count)
{
  Cj2kPacket packet;
  Cj2kError error = {0};

  for (uint32_t i = 0; i < count; i++)
    g_assert_cmpint(cj2k_encoder_submit(encoder, picture, NULL, &error), ==, CJ2K_OK);
  for (uint32_t i = 0; i < count; i++) {
    g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
    if (packet.status != CJ2K_OK || packet.fallback)
      g_error("encoder: %s", packet.error.text);
    cj2k_encoder_release(encoder, &packet);
  }
}

/* Where `count` frames in flight are decoded to: ordinary memory. */
static uint8_t *make_targets(const TestPicture *like, uint32_t count, Cj2kPicture *pictures,
                             Cj2kPlane (*planes)[3], size_t *size)
{
  *size = 0;
  for (uint32_t c = 0; c < 3; c++)
    *size += like->planes[c].pitch * like->height;
  uint8_t *memory = g_malloc0(*size * count), *at = memory;
  for (uint32_t i = 0; i < count; i++) {
    pictures[i] = (Cj2kPicture){.num_planes = 3, .planes = planes[i]};
    for (uint32_t c = 0; c < 3; c++) {
      planes[i][c] = (Cj2kPlane){.data = at, .pitch = like->planes[c].pitch};
      at += like->planes[c].pitch * like->height;
    }
  }
  return memory;
}

/* Returns the samples of all frames. */
static GBytes *decode(Cj2kDecoder *decoder, guint kind, uint32_t count)
{
  const TestPicture *like = &inputs[kind].picture;
  Cj2kPicture pictures[MOST];
  Cj2kPlane planes[MOST][3];
  Cj2kFrame frame;
  Cj2kError error = {0};
  gsize size, samples;
  const uint8_t *data = g_bytes_get_data(inputs[kind].codestream, &size);
  uint8_t *memory = make_targets(like, count, pictures, planes, &samples);

  for (uint32_t i = 0; i < count; i++)
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, data, size, &like->layout, &pictures[i], NULL, &error), ==,
        CJ2K_OK);
  for (uint32_t i = 0; i < count; i++) {
    g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
    if (frame.status != CJ2K_OK || frame.fallback)
      g_error("decoder: %s", frame.error.text);
    cj2k_decoder_release(decoder, &frame);
  }
  return g_bytes_new_take(memory, samples * count);
}

/* Decodes as many frames as may be in flight, which must have the CPU's samples. */
static void decode_and_check(Cj2kDecoder *decoder, guint kind)
{
  gsize size, all;
  const char *expected = g_bytes_get_data(inputs[kind].samples, &size);
  GBytes *samples = decode(decoder, kind, kinds[kind].in_flight);
  const char *got = g_bytes_get_data(samples, &all);

  g_assert_cmpuint(all, ==, size * kinds[kind].in_flight);
  for (gsize at = 0; at < all; at += size)
    g_assert_cmpint(memcmp(got + at, expected, size), ==, 0);
  g_bytes_unref(samples);
}

/* A codec comes, codes some frames and goes. */
static void live(guint number)
{
  const Kind *kind = &kinds[number];

  if (!kind->decodes) {
    Cj2kEncoder *encoder = open_encoder(kind, &inputs[number].picture);
    for (uint32_t i = 0; i < FRAMES; i++)
      encode(encoder, &inputs[number].picture.picture, kind->in_flight);
    cj2k_encoder_close(encoder);
    return;
  }
  Cj2kDecoder *decoder = open_decoder(kind, CJ2K_BACKEND_CUDA);
  for (uint32_t i = 0; i < FRAMES; i++)
    decode_and_check(decoder, number);
  cj2k_decoder_close(decoder);
}

/* Opens a codec and codes frames. Returns the device memory that it takes. */
static size_t open_one(guint number, Cj2kEncoder **encoder, Cj2kDecoder **decoder)
{
  const Kind *kind = &kinds[number];
  size_t before = cj2k_pretend_device_bytes();

  *encoder = kind->decodes ? NULL : open_encoder(kind, &inputs[number].picture);
  *decoder = kind->decodes ? open_decoder(kind, CJ2K_BACKEND_CUDA) : NULL;
  if (*encoder)
    encode(*encoder, &inputs[number].picture.picture, kind->in_flight);
  else
    decode_and_check(*decoder, number);
  return cj2k_pretend_device_bytes() - before;
}

/* Calls that hold up all codecs of the process. */
typedef struct {
  size_t memory, streams;
} Calls;

static Calls count_calls(void)
{
  return (Calls){cj2k_pretend_memory_calls(), cj2k_pretend_stream_calls()};
}

/* A codec that comes where an equal one has gone, beside a third, allocates nothing, frees nothing
 * and makes no streams; when all have gone nothing is left. */
static void test_renewed(gconstpointer data)
{
  guint number = GPOINTER_TO_UINT(data);
  const Kind *kind = &kinds[number];
  int alive = call_faults_alive();
  Calls calls[3];
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;

  open_one(number, &encoder, &decoder);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    Calls before = count_calls();
    live(number);
    Calls after = count_calls();
    calls[i] = (Calls){after.memory - before.memory, after.streams - before.streams};
    g_test_message("%s of %s: %zu calls for memory, %zu for streams",
                   kind->decodes ? "decoder" : "encoder", kind->options, calls[i].memory,
                   calls[i].streams);
  }
  g_assert_cmpuint(calls[1].streams, ==, 0);
  g_assert_cmpuint(calls[2].memory, ==, 0);
  g_assert_cmpuint(calls[2].streams, ==, 0);
  cj2k_encoder_close(encoder);
  cj2k_decoder_close(decoder);
  g_assert_cmpint(call_faults_alive(), ==, alive);
}

/* Of equal codecs the second one has no tables of its own. */
static void test_equal(gconstpointer data)
{
  guint number = GPOINTER_TO_UINT(data);
  Cj2kEncoder *encoders[2];
  Cj2kDecoder *decoders[2];
  size_t first = open_one(number, &encoders[0], &decoders[0]);
  size_t second = open_one(number, &encoders[1], &decoders[1]);

  g_test_message("%zu bytes, the second %zu", first, second);
  g_assert_cmpuint(second, <, first);
  for (guint i = 0; i < 2; i++) {
    cj2k_encoder_close(encoders[i]);
    cj2k_decoder_close(decoders[i]);
  }
  g_assert_cmpuint(cj2k_pretend_device_bytes(), ==, 0);
}

/* The engine of the codecs here, for one more. */
static Cj2kCudaEngine *open_primary(void)
{
  CUresult (*retain)(CUcontext *, CUdevice) = NULL;
  enum cudaDriverEntryPointQueryResult how;
  CUcontext primary;

  g_assert_cmpint(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxRetain", (void **)&retain,
                                                   12000, cudaEnableDefault, &how),
                  ==, cudaSuccess);
  g_assert_cmpint(retain(&primary, 0), ==, CUDA_SUCCESS);
  return cj2k_cuda_engine_open(primary);
}

/* A codec with several slots, and what runs out of memory. */
typedef struct {
  guint kind;
  const char *function; /* part of its name */
} Short;

/* Lets a call of a codec run out of memory. false: it has fewer calls. */
static bool run_short(const Short *what, uint32_t call)
{
  Cj2kCudaEngine *engine = open_primary();
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;

  open_one(what->kind, &encoder, &decoder);
  call_faults_only(what->function);
  call_faults_arm(call, cudaErrorMemoryAllocation, FAULT_ONCE);
  if (encoder)
    encode(encoder, &inputs[what->kind].picture.picture, kinds[what->kind].in_flight);
  else
    decode_and_check(decoder, what->kind);
  bool failed = call_faults_disarm() != NULL;
  call_faults_only(NULL);
  for (int host = 0; host < 2 && failed; host++)
    g_assert_cmpuint(engine->pool.sums[host].idle, ==, 0);
  if (failed)
    g_assert_cmpuint(engine->streams.idle->len, ==, 0);
  cj2k_encoder_close(encoder);
  cj2k_decoder_close(decoder);
  cj2k_cuda_engine_close(engine);
  return failed;
}

/* What fails for lack of memory without being an allocation, such as a launch, costs a slot, and
 * the driver gets the slot's memory. */
static void test_scarce_codec(gconstpointer data)
{
  uint32_t calls = 0;

  while (run_short(data, calls))
    calls++;
  g_test_message("%u calls", calls);
  g_assert_cmpuint(calls, >, 0);
  g_assert_cmpuint(cj2k_pretend_device_bytes(), ==, 0);
}

/* A codec ends whose work cannot be waited for: its streams do not become those of another one. */
static void test_unknown_end(gconstpointer data)
{
  guint number = GPOINTER_TO_UINT(data);
  int alive = call_faults_alive();
  Cj2kCudaEngine *engine = open_primary();
  Cj2kEncoder *encoders[2];
  Cj2kDecoder *decoders[2];

  for (guint i = 0; i < 2; i++)
    open_one(number, &encoders[i], &decoders[i]);
  guint used = engine->streams.used->len;
  call_faults_only("cudaStreamSynchronize");
  call_faults_arm(0, cudaErrorLaunchFailure, FAULT_ONCE);
  cj2k_encoder_close(encoders[1]);
  cj2k_decoder_close(decoders[1]);
  g_assert_nonnull(call_faults_disarm());
  call_faults_only(NULL);
  g_assert_cmpuint(engine->streams.used->len, ==, used / 2);
  g_assert_cmpuint(engine->streams.idle->len, ==, 0);
  /* What the codec that is still open takes is new, and nobody else's afterwards. */
  size_t calls = cj2k_pretend_stream_calls();
  cudaStream_t stream;
  g_assert_cmpint(cj2k_cuda_take_stream(engine, 0, &stream), ==, cudaSuccess);
  cj2k_cuda_give_stream(engine, stream);
  g_assert_cmpuint(cj2k_pretend_stream_calls(), ==, calls + 2);
  g_assert_cmpuint(engine->streams.idle->len, ==, 0);
  cj2k_encoder_close(encoders[0]);
  cj2k_decoder_close(decoders[0]);
  cj2k_cuda_engine_close(engine);
  g_assert_cmpint(call_faults_alive(), ==, alive);
}

/* A frame in flight: what it is, and where it goes to. */
typedef struct {
  guint kind;
  Cj2kMemoryKind memory;
  uint8_t *target;
  gsize size;
  Cj2kPicture picture;
  Cj2kPlane planes[3];
} Flight;

static void take_off(Cj2kDecoder *decoder, Flight *flight, guint number)
{
  static const Cj2kMemoryKind memories[] = {CJ2K_MEMORY_PINNED, CJ2K_MEMORY_HOST, CJ2K_MEMORY_CUDA,
                                            CJ2K_MEMORY_PINNED, CJ2K_MEMORY_PINNED};
  static const guint decoded[] = {1, 3, 5, 3, 3, 1, 5};
  Cj2kError error = {0};
  gsize size;

  flight->kind = decoded[number % G_N_ELEMENTS(decoded)];
  flight->memory = memories[number % G_N_ELEMENTS(memories)];
  const TestPicture *like = &inputs[flight->kind].picture;
  uint8_t *ordinary = make_targets(like, 1, &flight->picture, &flight->planes, &flight->size);
  flight->picture.memory = flight->memory;
  flight->target = ordinary;
  if (flight->memory != CJ2K_MEMORY_HOST) {
    flight->target = cj2k_decoder_alloc(decoder, flight->memory, flight->size);
    for (guint c = 0; c < 3; c++)
      flight->planes[c].data =
          flight->target + ((uint8_t *)flight->planes[c].data - (uint8_t *)ordinary);
    g_free(ordinary);
  }
  const uint8_t *data = g_bytes_get_data(inputs[flight->kind].codestream, &size);
  const Cj2kLayout *layout = &like->layout;
  if (number % 9 != 4) { /* else in parts */
    g_assert_cmpint(
        cj2k_decoder_submit(decoder, data, size, layout, &flight->picture, NULL, &error), ==,
        CJ2K_OK);
    return;
  }
  g_assert_cmpint(cj2k_decoder_begin(decoder, layout, &flight->picture, NULL, NULL, NULL, &error),
                  ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, data, size / 2, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_append(decoder, data + size / 2, size - size / 2, &error), ==,
                  CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_end(decoder, &error), ==, CJ2K_OK);
}

static void land(Cj2kDecoder *decoder, const Flight *flight)
{
  gsize size;
  const uint8_t *expected = g_bytes_get_data(inputs[flight->kind].samples, &size);
  Cj2kFrame frame;

  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  if (frame.status != CJ2K_OK || frame.fallback)
    g_error("decoder: %s", frame.error.text);
  cj2k_decoder_release(decoder, &frame);
  g_assert_cmpmem(flight->target, flight->size, expected, size);
  if (flight->memory == CJ2K_MEMORY_HOST)
    g_free(flight->target);
  else
    cj2k_decoder_free(decoder, flight->memory, flight->target);
}

/* Frames of several sizes and block coders go to host and device memory in turn, whole and in
 * parts, with changing numbers in flight. The runtime sees whether pictures are overwritten before
 * they are downloaded. */
static void test_destinations(gconstpointer data)
{
  Flight flights[8];
  const uint32_t numbers[] = {G_N_ELEMENTS(flights), 1, 2, 6, 3};
  Cj2kDecoderParams params;
  Cj2kError error = {0};

  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.frames_in_flight = 4;
  params.num_threads = 4;
  params.component_streams = data ? CJ2K_COMPONENT_STREAMS_ON : CJ2K_COMPONENT_STREAMS_OFF;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  for (guint n = 0; n < G_N_ELEMENTS(numbers); n++) {
    uint32_t in_flight = numbers[n];
    g_assert_cmpint(cj2k_decoder_set_frames_in_flight(decoder, in_flight, &error), ==, CJ2K_OK);
    for (guint i = 0; i < 30 + in_flight; i++) {
      if (i >= in_flight)
        land(decoder, &flights[(i - in_flight) % in_flight]);
      if (i < 30)
        take_off(decoder, &flights[i % in_flight], i);
    }
  }
  cj2k_decoder_close(decoder);
  g_assert_cmpuint(cj2k_pretend_device_bytes(), ==, 0);
}

static gpointer come_and_go(gpointer data)
{
  for (guint i = 0; i < ROUNDS; i++)
    live((GPOINTER_TO_UINT(data) + i * 5) % G_N_ELEMENTS(kinds));
  return NULL;
}

/* Codecs of all kinds come and go in threads, while one works all the time. */
static void test_threads(void)
{
  int alive = call_faults_alive();
  GThread *threads[THREADS];
  const guint steady = 1;
  Cj2kDecoder *decoder = open_decoder(&kinds[steady], CJ2K_BACKEND_CUDA);

  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new(NULL, come_and_go, GUINT_TO_POINTER(i));
  for (guint i = 0; i < THREADS * ROUNDS; i++)
    decode_and_check(decoder, steady);
  for (guint i = 0; i < THREADS; i++)
    g_thread_join(threads[i]);
  cj2k_decoder_close(decoder);
  g_assert_cmpint(call_faults_alive(), ==, alive);
  g_assert_cmpuint(cj2k_pretend_device_bytes(), ==, 0);
}

/* ------------------------------------------------------------------------------------- main --- */

static void make_inputs(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    TestPicture *picture = &inputs[i].picture;
    Cj2kEncoderParams params;

    test_picture_init(picture, SCENE_NATURAL, kinds[i].width, kinds[i].height, 3, 10, false, NULL,
                      NULL, 0, 0);
    cj2k_encoder_params_init(&params);
    test_set_options(&params, kinds[i].options);
    params.backend = CJ2K_BACKEND_CPU;
    inputs[i].codestream = test_encode_valid(&params, picture);
    Cj2kDecoder *decoder = open_decoder(&kinds[i], CJ2K_BACKEND_CPU);
    inputs[i].samples = decode(decoder, i, 1);
    cj2k_decoder_close(decoder);
  }
}

static void free_inputs(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    test_picture_clear(&inputs[i].picture);
    g_bytes_unref(inputs[i].codestream);
    g_bytes_unref(inputs[i].samples);
  }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  make_inputs();
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/codecs/renewed/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_renewed);
  }
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/codecs/equal/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_equal);
  }
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/codecs/unknown-end/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_unknown_end);
  }
  /* Decoders' kernels are not launched here. */
  g_test_add_data_func("/codecs/scarce/encoder", &(Short){2, "LaunchKernel"}, test_scarce_codec);
  g_test_add_data_func("/codecs/scarce/decoder", &(Short){3, "EventRecord"}, test_scarce_codec);
  g_test_add_data_func("/codecs/destinations/whole", GINT_TO_POINTER(false), test_destinations);
  g_test_add_data_func("/codecs/destinations/components", GINT_TO_POINTER(true), test_destinations);
  g_test_add_func("/codecs/threads", test_threads);
  int result = g_test_run();
  free_inputs();
  return result;
}
