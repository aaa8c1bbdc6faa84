/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the codecs of a GPU share (cuda/host/engine.h), without a GPU: the pool of memory by itself,
 * codecs that come and go beside others, alone and in many threads. Device memory is the host's,
 * and decoders make the samples of the CPU (pretend-kernels.c), so that memory that two codecs have
 * at once is found. Encoders' kernels do nothing.
 */
#include "call-faults.h"
#include "cuda/host/ring.h"
#include "cuda/host/table.h"
#include "pretend.h"
#include "tests/unit/encoder-pictures.h"

#include <time.h>

#define CONTEXT ((CUcontext)(void *)&context)
#define KB      1024
#define FRAMES  3
#define MOST    3 /* frames in flight */
#define THREADS 8
#define ROUNDS  12

static int context;

static CUresult push_context(CUcontext any)
{
  (void)any;
  return CUDA_SUCCESS;
}

static CUresult pop_context(CUcontext *any)
{
  *any = NULL;
  return CUDA_SUCCESS;
}

static gint ahead; /* seconds by which the clock is ahead; atomic */

/* In place of GLib's. */
gint64 g_get_monotonic_time(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec + g_atomic_int_get(&ahead)) * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* ------------------------------------------------------------------------------------- pool --- */

typedef struct {
  void *data;
  size_t size, room;
  bool host;
} Memory;

static Memory take(Cj2kCudaPool *pool, bool host, size_t size)
{
  Memory memory = {.size = size, .host = host};

  g_assert_cmpint(cj2k_cuda_pool_take(pool, host, size, &memory.data, &memory.room), ==,
                  cudaSuccess);
  g_assert_cmpuint(memory.room, >=, size);
  g_assert_true(cj2k_pretend_holds(memory.data, memory.room));
  for (size_t i = 0; i < memory.room; i++)
    g_assert_cmpint(((const uint8_t *)memory.data)[i], ==, 0);
  memset(memory.data, 0x5A, memory.room);
  return memory;
}

static void give(Cj2kCudaPool *pool, const Memory *memory)
{
  cj2k_cuda_pool_give(pool, memory->host, memory->data, memory->room);
}

/* The pool of an engine, with memory in use beside which other memory may be idle. */
typedef struct {
  int alive;
  Cj2kCudaEngine *engine;
  Cj2kCudaPool *pool;
  Memory used[2];
} PoolUse;

static void begin(PoolUse *scene)
{
  scene->alive = call_faults_alive();
  scene->engine = cj2k_cuda_engine_open(CONTEXT);
  scene->pool = &scene->engine->pool;
  for (int host = 0; host < 2; host++) {
    scene->used[host] = take(scene->pool, host, 1000 * KB);
    Memory more = take(scene->pool, host, 1000 * KB); /* so that much was in use at one time */
    cj2k_cuda_pool_free(scene->pool, host, more.data, more.room);
  }
}

/* Nothing is left behind the last codec. */
static void end(PoolUse *scene)
{
  for (int host = 0; host < 2; host++)
    give(scene->pool, &scene->used[host]);
  cj2k_cuda_engine_close(scene->engine);
  g_assert_cmpint(call_faults_alive(), ==, scene->alive);
}

/* Memory comes again where its size fits, and as zeros; of two blocks the smaller one. */
static void test_fit(gconstpointer data)
{
  bool host = GPOINTER_TO_INT(data);
  PoolUse scene;

  begin(&scene);
  Memory small = take(scene.pool, host, 100 * KB), large = take(scene.pool, host, 110 * KB);
  give(scene.pool, &large);
  give(scene.pool, &small);
  int alive = call_faults_alive();
  Memory other = take(scene.pool, !host, 100 * KB);
  g_assert_cmpint(call_faults_alive(), ==, alive + 1);
  Memory much = take(scene.pool, host, 70 * KB);
  g_assert_cmpint(call_faults_alive(), ==, alive + 2);
  Memory again = take(scene.pool, host, 96 * KB);
  g_assert_true(again.data == small.data && again.room == 100 * KB);
  Memory next = take(scene.pool, host, 96 * KB);
  g_assert_true(next.data == large.data && next.room == 110 * KB);
  g_assert_cmpint(call_faults_alive(), ==, alive + 2);
  give(scene.pool, &other);
  give(scene.pool, &much);
  give(scene.pool, &again);
  give(scene.pool, &next);
  end(&scene);
}

/* Idle memory has bounds. */
static void test_bounds(void)
{
  Memory memory[8];
  PoolUse scene;

  begin(&scene);
  for (guint i = 0; i < G_N_ELEMENTS(memory); i++)
    memory[i] = take(scene.pool, false, 500 * KB);
  for (guint i = 0; i < G_N_ELEMENTS(memory); i++)
    give(scene.pool, &memory[i]);
  const Cj2kCudaPoolSums *sums = &scene.pool->sums[false];
  g_assert_cmpuint(sums->used, ==, 1000 * KB);
  g_assert_cmpuint(sums->idle, ==, 1000 * KB);
  /* What does not fit takes the place of what is kept: together they are not more than before. */
  Memory large = take(scene.pool, false, 3000 * KB);
  g_assert_cmpuint(sums->used + sums->idle, <=, 5000 * KB);
  g_assert_cmpuint(cj2k_pretend_device_bytes(), ==, sums->used + sums->idle);
  give(scene.pool, &large);
  g_assert_cmpuint(sums->idle, <=, 1000 * KB);
  /* And what is idle for long is freed. */
  Memory last = take(scene.pool, false, 400 * KB);
  g_atomic_int_add(&ahead, 60);
  give(scene.pool, &last);
  g_assert_cmpuint(sums->idle, ==, last.room);
  end(&scene);
}

/* Memory that runs out is looked for in the pool. */
static void test_short(gconstpointer data)
{
  bool host = GPOINTER_TO_INT(data);
  PoolUse scene;
  void *memory;
  size_t room;

  begin(&scene);
  Memory idle = take(scene.pool, host, 500 * KB);
  give(scene.pool, &idle);
  call_faults_arm(0, cudaErrorMemoryAllocation, FAULT_ONCE);
  Memory large = take(scene.pool, host, 800 * KB);
  g_assert_nonnull(call_faults_disarm());
  g_assert_cmpuint(scene.pool->sums[host].idle, ==, 0);
  /* Without anything in it there is no second try. */
  call_faults_arm(0, cudaErrorMemoryAllocation, FAULT_ONCE);
  g_assert_cmpint(cj2k_cuda_pool_take(scene.pool, host, 100 * KB, &memory, &room), ==,
                  cudaErrorMemoryAllocation);
  g_assert_null(memory);
  g_assert_nonnull(call_faults_disarm());
  give(scene.pool, &large);
  end(&scene);
}

/* After the driver ran out of memory nothing is kept for a second. */
static void test_scarce(gconstpointer data)
{
  bool host = GPOINTER_TO_INT(data);
  PoolUse scene;

  begin(&scene);
  const Cj2kCudaPoolSums *sums = &scene.pool->sums[host];
  Memory idle = take(scene.pool, host, 500 * KB), busy = take(scene.pool, host, 300 * KB);
  give(scene.pool, &idle);
  g_assert_cmpuint(sums->idle, ==, idle.room);
  cj2k_cuda_pool_run_short(scene.pool);
  g_assert_cmpuint(sums->idle, ==, 0);
  give(scene.pool, &busy);
  g_assert_cmpuint(sums->idle, ==, 0);
  Memory later = take(scene.pool, host, 400 * KB);
  g_atomic_int_add(&ahead, 2);
  give(scene.pool, &later);
  g_assert_cmpuint(sums->idle, ==, later.room);
  end(&scene);
}

/* Memory of a GPU that was lost does not come again. */
static void test_lost(gconstpointer data)
{
  bool host = GPOINTER_TO_INT(data);
  PoolUse scene;
  void *memory;
  size_t room;

  begin(&scene);
  Memory idle = take(scene.pool, host, 500 * KB), busy = take(scene.pool, host, 300 * KB);
  give(scene.pool, &idle);
  call_faults_arm(0, cudaErrorIllegalAddress, FAULT_FROM);
  g_assert_cmpint(cj2k_cuda_pool_take(scene.pool, host, 500 * KB, &memory, &room), ==,
                  cudaErrorIllegalAddress);
  g_assert_null(memory);
  (void)call_faults_disarm();
  give(scene.pool, &busy);
  g_assert_cmpuint(scene.pool->sums[host].idle, ==, 0);
  g_assert_cmpuint(scene.pool->sums[host].used, ==, 1000 * KB);
  end(&scene);
}

/* A context that was lost has codecs left when there is another one with the same handle. */
static void test_lost_context(void)
{
  Cj2kCudaEngine *lost = cj2k_cuda_engine_open(CONTEXT);

  cj2k_cuda_pool_lose(&lost->pool);
  Cj2kCudaEngine *next = cj2k_cuda_engine_open(CONTEXT);
  g_assert_true(next != lost && cj2k_cuda_engine_open(CONTEXT) == next);
  cj2k_cuda_engine_close(lost);
  cj2k_cuda_engine_close(next);
  g_assert_true(cj2k_cuda_engine_open(CONTEXT) == next);
  cj2k_cuda_engine_close(next);
  cj2k_cuda_engine_close(next);
}

/* A context has one engine while codecs have it, and others have theirs. */
static void test_contexts(void)
{
  int other;
  Cj2kCudaEngine *one = cj2k_cuda_engine_open(CONTEXT), *two = cj2k_cuda_engine_open(CONTEXT);
  Cj2kCudaEngine *three = cj2k_cuda_engine_open((CUcontext)(void *)&other);

  g_assert_true(one == two && one != three);
  cj2k_cuda_engine_close(one);
  g_assert_true(cj2k_cuda_engine_open(CONTEXT) == two);
  cj2k_cuda_engine_close(two);
  cj2k_cuda_engine_close(three);
  cj2k_cuda_engine_close(two);
}

/* ----------------------------------------------------------------------------------- tables --- */

static Cj2kCudaTable *set_table(const Cj2kCudaDevice *device, Cj2kCudaTable *table,
                                const void *bytes, size_t size)
{
  g_assert_cmpint(cj2k_cuda_table_set(device, &table, bytes, size), ==, cudaSuccess);
  g_assert_nonnull(cj2k_cuda_table_data(table));
  g_assert_cmpint(memcmp(cj2k_cuda_table_data(table), bytes, size), ==, 0);
  return table;
}

/* Equal bytes are one table, which goes with its last user. */
static void test_tables(void)
{
  static const char bytes[] = "tables of equal bytes", other[] = "tables of other bytes";
  int alive = call_faults_alive();
  Cj2kCudaDevice device = {.engine = cj2k_cuda_engine_open(CONTEXT)};
  Cj2kCudaTable *first = set_table(&device, NULL, bytes, sizeof bytes), *second, *third;

  g_assert_cmpint(call_faults_alive(), ==, alive + 1);
  second = set_table(&device, NULL, bytes, sizeof bytes);
  g_assert_true(first == second);
  third = set_table(&device, NULL, bytes, sizeof bytes - 4);
  g_assert_true(third != first);
  second = set_table(&device, second, other, sizeof other);
  g_assert_true(second != first && second != third);
  g_assert_cmpint(call_faults_alive(), ==, alive + 3);
  first = set_table(&device, first, "", 0);
  cj2k_cuda_table_clear(&first);
  cj2k_cuda_table_clear(&second);
  cj2k_cuda_table_clear(&third);
  g_assert_null(cj2k_cuda_table_data(third));
  cj2k_cuda_engine_close(device.engine);
  g_assert_cmpint(call_faults_alive(), ==, alive);
}

/* A table that cannot be made is none, and the one before is given back. */
static void test_table_fails(void)
{
  static const char *const bytes[] = {"first", "other"};
  int alive = call_faults_alive();
  Cj2kCudaDevice device = {.engine = cj2k_cuda_engine_open(CONTEXT)};

  for (uint32_t call = 0; call < 5; call++) {
    Cj2kCudaTable *table = set_table(&device, NULL, bytes[0], 6);
    call_faults_arm(call, cudaErrorLaunchFailure, FAULT_ONCE);
    cudaError_t result = cj2k_cuda_table_set(&device, &table, bytes[1], 6);
    g_assert_true((call_faults_disarm() != NULL) == (result != cudaSuccess));
    g_assert_true((table == NULL) == (result != cudaSuccess));
    cj2k_cuda_table_clear(&table);
    g_assert_cmpuint(device.engine->tables->len, ==, 0);
  }
  cj2k_cuda_engine_close(device.engine);
  g_assert_cmpint(call_faults_alive(), ==, alive);
}

/* ------------------------------------------------------------------------------------- ring --- */

typedef struct {
  int alive;
  Cj2kCudaDevice device;
  Cj2kCudaRing ring;
} RingUse;

static void begin_ring(RingUse *scene, uint32_t slots)
{
  *scene = (RingUse){.alive = call_faults_alive(),
                     .device = {.engine = cj2k_cuda_engine_open(CONTEXT),
                                .push = push_context,
                                .pop = pop_context}};
  cj2k_cuda_ring_init(&scene->ring);
  for (uint32_t i = 0; i < slots; i++)
    cj2k_cuda_ring_add_slot(&scene->ring);
}

static void end_ring(RingUse *scene, uint32_t slots)
{
  for (uint32_t i = 0; i < slots; i++)
    cj2k_cuda_ring_remove_slot(&scene->ring);
  g_assert_cmpuint(scene->device.engine->pool.sums[false].used, ==, 0);
  cj2k_cuda_ring_clear(&scene->ring);
  cj2k_cuda_engine_close(scene->device.engine);
  g_assert_cmpint(call_faults_alive(), ==, scene->alive);
}

/* Takes a picture and gives it back; its number. */
static uint32_t use_picture(RingUse *scene, size_t size)
{
  Cj2kCudaRingPicture *picture;

  g_assert_cmpint(cj2k_cuda_ring_take(&scene->ring, &scene->device, size, &picture), ==,
                  cudaSuccess);
  g_assert_true(cj2k_pretend_holds(picture->memory.data, size));
  uint32_t number = picture->number;
  cj2k_cuda_ring_give(picture);
  return number;
}

/* Frames take one picture after the other, of which there are as many as slots and no more than the
 * ring has; memory grows and goes with the slots. */
static void test_turns(void)
{
  RingUse scene;

  begin_ring(&scene, CJ2K_CUDA_RING_PICTURES + 2);
  const Cj2kCudaPoolSums *sums = &scene.device.engine->pool.sums[false];
  for (uint32_t i = 0; i < 2 * CJ2K_CUDA_RING_PICTURES; i++)
    g_assert_cmpuint(use_picture(&scene, 10 * KB), ==, i % CJ2K_CUDA_RING_PICTURES);
  g_assert_cmpuint(sums->used, ==, CJ2K_CUDA_RING_PICTURES * 10 * KB);
  g_assert_cmpuint(use_picture(&scene, 30 * KB), ==, 0);
  g_assert_cmpuint(sums->used, ==, (CJ2K_CUDA_RING_PICTURES - 1) * 10 * KB + 30 * KB);
  for (uint32_t left = CJ2K_CUDA_RING_PICTURES + 1; left >= 2; left--) {
    cj2k_cuda_ring_remove_slot(&scene.ring);
    g_assert_cmpuint(sums->used, ==, 30 * KB + (MIN(left, CJ2K_CUDA_RING_PICTURES) - 1) * 10 * KB);
  }
  for (uint32_t i = 0; i < 6; i++)
    g_assert_cmpuint(use_picture(&scene, 30 * KB), <, 2);
  end_ring(&scene, 2);
}

/* Memory that is too small goes when the download from it is done: the runtime sees that the pool
 * sets it to zeros. */
static void test_grows(void)
{
  static uint8_t host[10 * KB];
  Cj2kCudaRingPicture *picture;
  cudaStream_t stream;
  RingUse scene;

  begin_ring(&scene, 1);
  Cj2kCudaPool *pool = &scene.device.engine->pool;
  g_assert_cmpint(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), ==, cudaSuccess);
  g_assert_cmpint(cj2k_cuda_ring_take(&scene.ring, &scene.device, 10 * KB, &picture), ==,
                  cudaSuccess);
  void *before = picture->memory.data;
  g_assert_cmpint(cudaMemcpyAsync(host, before, 10 * KB, cudaMemcpyDeviceToHost, stream), ==,
                  cudaSuccess);
  g_assert_cmpint(cudaEventRecord(picture->free, stream), ==, cudaSuccess);
  cj2k_cuda_ring_give(picture);
  Memory other = take(pool, false, 20 * KB), more = take(pool, false, 100 * KB);
  cj2k_cuda_pool_free(pool, false, more.data, more.room); /* now the pool may keep as much */
  use_picture(&scene, 30 * KB);
  size_t calls = cj2k_pretend_memory_calls();
  Memory again = take(pool, false, 10 * KB);
  g_assert_true(again.data == before && cj2k_pretend_memory_calls() == calls);
  give(pool, &again);
  give(pool, &other);
  cudaStreamDestroy(stream);
  end_ring(&scene, 1);
}

/* Without memory for a further picture those that are there do; without any it is an error. With
 * the slots of another time it is tried again. */
static void test_short_ring(void)
{
  Cj2kCudaRingPicture *picture;
  RingUse scene;

  begin_ring(&scene, 4);
  call_faults_only("cudaMalloc");
  call_faults_arm(2, cudaErrorMemoryAllocation, FAULT_MEMORY);
  for (uint32_t i = 0; i < 6; i++)
    g_assert_cmpuint(use_picture(&scene, 10 * KB), <, 2);
  g_assert_cmpint(cj2k_cuda_ring_take(&scene.ring, &scene.device, 20 * KB, &picture), ==,
                  cudaErrorMemoryAllocation);
  (void)call_faults_disarm();
  call_faults_only(NULL);
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint(use_picture(&scene, 20 * KB), ==, 0);
  for (uint32_t i = 0; i < 4; i++)
    cj2k_cuda_ring_remove_slot(&scene.ring);
  for (uint32_t i = 0; i < 4; i++)
    cj2k_cuda_ring_add_slot(&scene.ring);
  uint32_t seen = 0;
  for (uint32_t i = 0; i < 4; i++)
    seen |= 1u << use_picture(&scene, 20 * KB);
  g_assert_cmpuint(seen, ==, 15);
  end_ring(&scene, 4);
}

/* The memory of a picture that work may still use goes, and the picture gets other memory. */
static void test_given_up(void)
{
  Cj2kCudaRingPicture *picture;
  RingUse scene;

  begin_ring(&scene, 1);
  g_assert_cmpint(cj2k_cuda_ring_take(&scene.ring, &scene.device, 10 * KB, &picture), ==,
                  cudaSuccess);
  cj2k_cuda_ring_give_up(picture);
  g_assert_cmpuint(scene.device.engine->pool.sums[false].used, ==, 0);
  g_assert_cmpuint(use_picture(&scene, 10 * KB), ==, 0);
  end_ring(&scene, 1);
}

/* ----------------------------------------------------------------------------------- codecs --- */

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

/* A codec that comes where an equal one has gone, beside a third, allocates nothing and frees
 * nothing; when all have gone nothing is left. */
static void test_renewed(gconstpointer data)
{
  guint number = GPOINTER_TO_UINT(data);
  const Kind *kind = &kinds[number];
  int alive = call_faults_alive();
  size_t calls[3];
  Cj2kEncoder *encoder;
  Cj2kDecoder *decoder;

  open_one(number, &encoder, &decoder);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    size_t before = cj2k_pretend_memory_calls();
    live(number);
    calls[i] = cj2k_pretend_memory_calls() - before;
  }
  g_test_message("%s of %s: %zu, %zu, %zu calls for memory", kind->decodes ? "decoder" : "encoder",
                 kind->options, calls[0], calls[1], calls[2]);
  g_assert_cmpuint(calls[2], ==, 0);
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
  Flight flights[CJ2K_CUDA_RING_PICTURES + 2];
  const uint32_t numbers[] = {G_N_ELEMENTS(flights), 1, 2, 8, 3};
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
  g_test_add_data_func("/pool/fit/device", GINT_TO_POINTER(false), test_fit);
  g_test_add_data_func("/pool/fit/host", GINT_TO_POINTER(true), test_fit);
  g_test_add_func("/pool/bounds", test_bounds);
  g_test_add_data_func("/pool/short/device", GINT_TO_POINTER(false), test_short);
  g_test_add_data_func("/pool/short/host", GINT_TO_POINTER(true), test_short);
  g_test_add_data_func("/pool/scarce/device", GINT_TO_POINTER(false), test_scarce);
  g_test_add_data_func("/pool/scarce/host", GINT_TO_POINTER(true), test_scarce);
  g_test_add_data_func("/pool/lost/device", GINT_TO_POINTER(false), test_lost);
  g_test_add_data_func("/pool/lost/host", GINT_TO_POINTER(true), test_lost);
  g_test_add_func("/engine/contexts", test_contexts);
  g_test_add_func("/engine/lost", test_lost_context);
  g_test_add_func("/tables/shared", test_tables);
  g_test_add_func("/tables/fail", test_table_fails);
  g_test_add_func("/ring/turns", test_turns);
  g_test_add_func("/ring/grows", test_grows);
  g_test_add_func("/ring/short", test_short_ring);
  g_test_add_func("/ring/given-up", test_given_up);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/codecs/renewed/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_renewed);
  }
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/codecs/equal/%u", i);
    g_test_add_data_func(path, GUINT_TO_POINTER(i), test_equal);
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
