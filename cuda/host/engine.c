/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engine.h"

#include "streams.h"

static GMutex engines_lock; /* of the list; nothing is called with it held */
static GPtrArray *engines;  /* NULL: there are none */

/* Not one whose context was lost: codecs may still have it when the application makes another
 * context, which may have the same handle. */
static Cj2kCudaEngine *find_engine(CUcontext context)
{
  for (guint i = 0; engines && i < engines->len; i++) {
    Cj2kCudaEngine *engine = g_ptr_array_index(engines, i);
    if (engine->context == context && !cj2k_cuda_pool_is_lost(&engine->pool))
      return engine;
  }
  return NULL;
}

static Cj2kCudaEngine *new_engine(CUcontext context)
{
  Cj2kCudaEngine *engine = g_new0(Cj2kCudaEngine, 1);

  engine->context = context;
  cj2k_cuda_pool_init(&engine->pool);
  cj2k_cuda_streams_init(&engine->streams);
  g_mutex_init(&engine->tables_lock);
  engine->tables = g_ptr_array_new();
  if (!engines)
    engines = g_ptr_array_new();
  g_ptr_array_add(engines, engine);
  return engine;
}

Cj2kCudaEngine *cj2k_cuda_engine_open(CUcontext context)
{
  g_mutex_lock(&engines_lock);
  Cj2kCudaEngine *engine = find_engine(context);
  if (!engine)
    engine = new_engine(context);
  engine->codecs++;
  g_mutex_unlock(&engines_lock);
  return engine;
}

void cj2k_cuda_engine_run_short(Cj2kCudaEngine *engine)
{
  cj2k_cuda_pool_run_short(&engine->pool);
  cj2k_cuda_trim_streams(engine);
}

void cj2k_cuda_engine_close(Cj2kCudaEngine *engine)
{
  g_mutex_lock(&engines_lock);
  bool is_last = --engine->codecs == 0;
  if (is_last)
    g_ptr_array_remove_fast(engines, engine);
  if (!engines->len)
    g_clear_pointer(&engines, g_ptr_array_unref);
  g_mutex_unlock(&engines_lock);
  if (!is_last)
    return;
  g_ptr_array_unref(engine->tables);
  g_mutex_clear(&engine->tables_lock);
  cj2k_cuda_streams_clear(&engine->streams);
  cj2k_cuda_pool_clear(&engine->pool);
  g_free(engine);
}
