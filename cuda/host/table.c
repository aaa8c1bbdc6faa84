/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table.h"

#include <string.h>

struct Cj2kCudaTable {
  Cj2kCudaEngine *engine;
  uint32_t users; /* protected by the lock of the engine's tables */
  guint hash;
  GBytes *bytes; /* a copy on the host, to compare with */
  Cj2kCudaMemory memory;
};

/* FNV-1a over words, and over the bytes that are left: g_bytes_hash() takes four times as long, 1.3
 * ms for the MB of a 4K plan. */
static guint hash_bytes(const uint8_t *bytes, size_t size)
{
  uint64_t hash = 14695981039346656037u;
  size_t at = 0;

  for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof word);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 32;
  }
  for (; at < size; at++)
    hash = (hash ^ bytes[at]) * 1099511628211u;
  return (guint)(hash ^ hash >> 32);
}

/* The table of these bytes for one more user; NULL: there is none. The lock is held. */
static Cj2kCudaTable *find(const Cj2kCudaEngine *engine, guint hash, const GBytes *bytes)
{
  for (guint i = 0; i < engine->tables->len; i++) {
    Cj2kCudaTable *table = g_ptr_array_index(engine->tables, i);
    if (table->hash != hash || !g_bytes_equal(table->bytes, bytes))
      continue;
    table->users++;
    return table;
  }
  return NULL;
}

static Cj2kCudaTable *find_locked(Cj2kCudaEngine *engine, guint hash, const GBytes *bytes)
{
  g_mutex_lock(&engine->tables_lock);
  Cj2kCudaTable *table = find(engine, hash, bytes);
  g_mutex_unlock(&engine->tables_lock);
  return table;
}

static void free_table(Cj2kCudaTable *table)
{
  cj2k_cuda_release(&table->memory);
  g_bytes_unref(table->bytes);
  g_free(table);
}

/* Makes a table known, unless another thread has made the same one meanwhile. Returns the one that
 * is known. */
static Cj2kCudaTable *publish(Cj2kCudaTable *table)
{
  Cj2kCudaEngine *engine = table->engine;

  g_mutex_lock(&engine->tables_lock);
  Cj2kCudaTable *known = find(engine, table->hash, table->bytes);
  if (!known)
    g_ptr_array_add(engine->tables, table);
  g_mutex_unlock(&engine->tables_lock);
  if (!known)
    return table;
  free_table(table);
  return known;
}

/* Makes a table. Takes the bytes. */
static cudaError_t make(const Cj2kCudaDevice *device, guint hash, GBytes *bytes,
                        Cj2kCudaTable **out)
{
  Cj2kCudaTable *table = g_new0(Cj2kCudaTable, 1);
  gsize size;
  const void *data = g_bytes_get_data(bytes, &size);

  *table = (Cj2kCudaTable){.engine = device->engine, .users = 1, .hash = hash, .bytes = bytes};
  cudaError_t result = cj2k_cuda_reserve(device, &table->memory, size);
  if (size)
    CJ2K_CUDA_TRY(result, cj2k_cuda_send(table->memory.data, data, size));
  if (result != cudaSuccess)
    free_table(table);
  *out = result == cudaSuccess ? publish(table) : NULL;
  return result;
}

cudaError_t cj2k_cuda_table_set(const Cj2kCudaDevice *device, Cj2kCudaTable **table,
                                const void *bytes, size_t size)
{
  GBytes *key = g_bytes_new_static(bytes, size);
  guint hash = hash_bytes(bytes, size);
  Cj2kCudaTable *last = *table;
  cudaError_t result = cudaSuccess;

  *table = find_locked(device->engine, hash, key);
  if (!*table)
    result = make(device, hash, g_bytes_new(bytes, size), table);
  g_bytes_unref(key);
  /* Now, so that frames of two kinds in turn find both in the pool. */
  cj2k_cuda_table_clear(&last);
  return result;
}

void cj2k_cuda_table_clear(Cj2kCudaTable **table)
{
  Cj2kCudaTable *old = *table;

  *table = NULL;
  if (!old)
    return;
  g_mutex_lock(&old->engine->tables_lock);
  bool is_last = --old->users == 0;
  if (is_last)
    g_ptr_array_remove_fast(old->engine->tables, old);
  g_mutex_unlock(&old->engine->tables_lock);
  if (is_last)
    free_table(old);
}

const void *cj2k_cuda_table_data(const Cj2kCudaTable *table)
{
  return table ? table->memory.data : NULL;
}
