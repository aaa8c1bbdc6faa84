/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the codecs of a GPU share (cuda/host/engine.h), each by itself, without a GPU: the pool of
 * memory, tables, CUDA streams.
 */
#include "call-faults.h"
#include "cuda/host/streams.h"
#include "cuda/host/table.h"
#include "pretend.h"

#include <string.h>
#include <time.h>

#define CONTEXT ((CUcontext)(void *)&context)
#define KB      1024

static int context;

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

/* ---------------------------------------------------------------------------------- streams --- */

static cudaStream_t take_stream(Cj2kCudaEngine *engine, int priority)
{
  cudaStream_t stream;

  g_assert_cmpint(cj2k_cuda_take_stream(engine, priority, &stream), ==, cudaSuccess);
  g_assert_nonnull(stream);
  return stream;
}

/* Streams that are in use, beside which as many others may be idle. */
typedef struct {
  int alive;
  Cj2kCudaEngine *engine;
  cudaStream_t used[2];
} StreamUse;

static void begin_streams(StreamUse *scene)
{
  scene->alive = call_faults_alive();
  scene->engine = cj2k_cuda_engine_open(CONTEXT);
  for (guint i = 0; i < G_N_ELEMENTS(scene->used); i++)
    scene->used[i] = take_stream(scene->engine, 0);
}

/* With the last that is in use all go. */
static void end_streams(StreamUse *scene)
{
  for (guint i = 0; i < G_N_ELEMENTS(scene->used); i++)
    cj2k_cuda_give_stream(scene->engine, scene->used[i]);
  g_assert_cmpint(call_faults_alive(), ==, scene->alive);
  cj2k_cuda_engine_close(scene->engine);
}

/* Streams come again with their priority. */
static void test_priority(void)
{
  StreamUse scene;

  begin_streams(&scene);
  cudaStream_t ordinary = take_stream(scene.engine, 0);
  g_assert_cmpint(cj2k_pretend_stream_priority(), ==, 0);
  cudaStream_t urgent = take_stream(scene.engine, -1);
  g_assert_cmpint(cj2k_pretend_stream_priority(), ==, -1);
  cj2k_cuda_give_stream(scene.engine, urgent);
  cj2k_cuda_give_stream(scene.engine, ordinary);
  size_t calls = cj2k_pretend_stream_calls();
  g_assert_true(take_stream(scene.engine, -1) == urgent);
  g_assert_true(take_stream(scene.engine, 0) == ordinary);
  g_assert_cmpuint(cj2k_pretend_stream_calls(), ==, calls);
  cj2k_cuda_give_stream(scene.engine, ordinary);
  cudaStream_t other = take_stream(scene.engine, -1);
  g_assert_true(other != ordinary);
  g_assert_cmpuint(cj2k_pretend_stream_calls(), ==, calls + 1);
  cj2k_cuda_give_stream(scene.engine, other);
  cj2k_cuda_give_stream(scene.engine, urgent);
  cj2k_cuda_give_stream(scene.engine, NULL);
  end_streams(&scene);
}

/* No more are idle than are in use. */
static void test_most_streams(void)
{
  cudaStream_t streams[6];
  StreamUse scene;

  begin_streams(&scene);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++)
    streams[i] = take_stream(scene.engine, i % 2 ? -1 : 0);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
    cj2k_cuda_give_stream(scene.engine, streams[i]);
    g_assert_cmpuint(scene.engine->streams.idle->len, <=, scene.engine->streams.used->len);
  }
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 2);
  end_streams(&scene);
}

/* A stream that cannot be made is none. */
static void test_no_stream(void)
{
  StreamUse scene;
  cudaStream_t stream = (cudaStream_t)(void *)&scene;

  begin_streams(&scene);
  call_faults_arm(0, cudaErrorMemoryAllocation, FAULT_ONCE);
  g_assert_cmpint(cj2k_cuda_take_stream(scene.engine, 0, &stream), ==, cudaErrorMemoryAllocation);
  g_assert_nonnull(call_faults_disarm());
  g_assert_null(stream);
  g_assert_cmpuint(scene.engine->streams.used->len, ==, 2);
  end_streams(&scene);
}

/* Without memory the driver gets the streams that are kept, and for a second those that come. */
static void test_scarce_streams(void)
{
  StreamUse scene;

  begin_streams(&scene);
  cudaStream_t idle = take_stream(scene.engine, 0), busy = take_stream(scene.engine, 0);
  cj2k_cuda_give_stream(scene.engine, idle);
  cj2k_cuda_trim_streams(scene.engine);
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 1);
  cj2k_cuda_engine_run_short(scene.engine);
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 0);
  cj2k_cuda_give_stream(scene.engine, busy);
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 0);
  cudaStream_t later = take_stream(scene.engine, 0);
  g_atomic_int_add(&ahead, 2);
  cj2k_cuda_give_stream(scene.engine, later);
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 1);
  end_streams(&scene);
}

/* When work may never end, no stream comes again: neither those of that work nor the others. */
static void test_lost_streams(void)
{
  StreamUse scene;

  begin_streams(&scene);
  cudaStream_t idle = take_stream(scene.engine, 0), busy = take_stream(scene.engine, 0);
  cj2k_cuda_give_stream(scene.engine, idle);
  cj2k_cuda_pool_lose(&scene.engine->pool);
  size_t calls = cj2k_pretend_stream_calls();
  cudaStream_t other = take_stream(scene.engine, 0);
  g_assert_true(other != idle && cj2k_pretend_stream_calls() == calls + 1);
  cj2k_cuda_give_stream(scene.engine, busy);
  g_assert_cmpuint(cj2k_pretend_stream_calls(), ==, calls + 3);
  g_assert_cmpuint(scene.engine->streams.idle->len, ==, 0);
  cj2k_cuda_give_stream(scene.engine, other);
  end_streams(&scene);
}

/* ------------------------------------------------------------------------------------- main --- */

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
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
  g_test_add_func("/streams/priority", test_priority);
  g_test_add_func("/streams/most", test_most_streams);
  g_test_add_func("/streams/none", test_no_stream);
  g_test_add_func("/streams/scarce", test_scarce_streams);
  g_test_add_func("/streams/lost", test_lost_streams);
  return g_test_run();
}
