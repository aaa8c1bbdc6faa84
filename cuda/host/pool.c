/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool.h"

#include <string.h>

#define SLACK    4096                /* bytes by which memory may be too large in any case, */
#define WASTE(x) MAX((x) / 4, SLACK) /* and by size */
#define IDLE_US  (10 * G_USEC_PER_SEC)
#define SHORT_US G_USEC_PER_SEC

typedef struct {
  void *data;
  size_t room;
  gint64 since;
  bool host;
} Block;

static void free_block(const Block *block)
{
  if (block->host)
    cudaFreeHost(block->data);
  else
    cudaFree(block->data);
}

/* Frees blocks that are not in the store any more; NULL: there are none. The lock is not held: CUDA
 * waits for work. */
static void free_blocks(GArray *blocks)
{
  for (guint i = 0; blocks && i < blocks->len; i++)
    free_block(&g_array_index(blocks, Block, i));
  if (blocks)
    g_array_unref(blocks);
}

static GArray *new_blocks(void)
{
  return g_array_new(FALSE, FALSE, sizeof(Block));
}

bool cj2k_cuda_pool_is_lost(const Cj2kCudaPool *pool)
{
  return g_atomic_int_get(&pool->lost);
}

/* ------------------------------------------------------------------------ with the lock held ---
 */

static void remove_block(Cj2kCudaPool *pool, guint i)
{
  const Block *block = &g_array_index(pool->blocks, Block, i);

  pool->sums[block->host].idle -= block->room;
  g_array_remove_index(pool->blocks, i);
}

/* False: nothing is kept at this time. */
static bool keeps_at(const Cj2kCudaPool *pool, gint64 now)
{
  return !cj2k_cuda_pool_is_lost(pool) && now >= pool->scarce_until;
}

static bool is_too_much(const Cj2kCudaPool *pool, const Block *block, gint64 now)
{
  const Cj2kCudaPoolSums *sums = &pool->sums[block->host];

  return !keeps_at(pool, now) || now - block->since > IDLE_US || sums->idle > sums->used ||
         sums->used + sums->idle > sums->most;
}

/* Removes what is too much, and returns it; NULL: nothing, as mostly. */
static GArray *trim(Cj2kCudaPool *pool)
{
  GArray *removed = NULL;
  gint64 now = g_get_monotonic_time();
  guint i = 0;

  while (i < pool->blocks->len) {
    Block block = g_array_index(pool->blocks, Block, i);
    if (!is_too_much(pool, &block, now)) {
      i++;
      continue;
    }
    remove_block(pool, i);
    removed = removed ? removed : new_blocks();
    g_array_append_val(removed, block);
  }
  return removed;
}

/* Removes the smallest block that fits, and returns it; without data: none fits. */
static Block find_block(Cj2kCudaPool *pool, bool host, size_t size)
{
  Block best = {0};
  guint place = 0;

  for (guint i = 0; i < pool->blocks->len; i++) {
    const Block *block = &g_array_index(pool->blocks, Block, i);
    if (block->host != host || block->room < size || block->room - size > WASTE(size) ||
        (best.data && best.room <= block->room))
      continue;
    best = *block;
    place = i;
  }
  if (best.data)
    remove_block(pool, place);
  return best;
}

static void count_used(Cj2kCudaPool *pool, bool host, size_t room)
{
  Cj2kCudaPoolSums *sums = &pool->sums[host];

  sums->used += room;
  sums->most = MAX(sums->most, sums->used);
}

/* ----------------------------------------------------------------------------------- memory --- */

/* The streams of the back end do not wait for the default stream, so the zeros must be there before
 * this returns. Of pinned memory the call tells whether the GPU is still there. */
static cudaError_t set_zeros(bool host, void *data, size_t size)
{
  cudaError_t result = host ? cudaSuccess : cudaMemsetAsync(data, 0, size, cudaStreamPerThread);

  if (result == cudaSuccess)
    result = cudaStreamSynchronize(cudaStreamPerThread);
  if (result == cudaSuccess && host)
    memset(data, 0, size);
  return result;
}

/* Pinned memory is zeros when CUDA has made it. */
static cudaError_t allocate(bool host, size_t size, void **data)
{
  if (host)
    return cudaHostAlloc(data, size, cudaHostAllocPortable);
  cudaError_t result = cudaMalloc(data, size);
  if (result != cudaSuccess)
    return result;
  result = set_zeros(false, *data, size);
  if (result != cudaSuccess)
    cudaFree(*data);
  return result;
}

/* Frees all that is kept, and keeps nothing before a time. False: there was nothing. */
static bool empty(Cj2kCudaPool *pool, gint64 scarce_until)
{
  GArray *blocks = NULL;

  g_mutex_lock(&pool->lock);
  pool->scarce_until = MAX(pool->scarce_until, scarce_until);
  if (pool->blocks->len) {
    blocks = pool->blocks;
    pool->blocks = new_blocks();
    pool->sums[0].idle = pool->sums[1].idle = 0;
  }
  g_mutex_unlock(&pool->lock);
  bool any = blocks != NULL;
  free_blocks(blocks);
  return any;
}

cudaError_t cj2k_cuda_pool_allocate(Cj2kCudaPool *pool, bool host, size_t size, void **data)
{
  cudaError_t result = allocate(host, size, data);

  if (result == cudaErrorMemoryAllocation && empty(pool, 0)) {
    (void)cudaGetLastError(); /* else the next launch would report it */
    result = allocate(host, size, data);
  }
  if (result != cudaSuccess)
    *data = NULL;
  return result;
}

/* Gets what is kept; *data is NULL if there is nothing that fits, and after an error. */
static cudaError_t take_kept(Cj2kCudaPool *pool, bool host, size_t size, void **data, size_t *room)
{
  g_mutex_lock(&pool->lock);
  Block block = find_block(pool, host, size);
  count_used(pool, host, block.room);
  g_mutex_unlock(&pool->lock);
  *data = block.data;
  *room = block.room;
  if (!block.data)
    return cudaSuccess;
  cudaError_t result = set_zeros(host, block.data, block.room);
  if (result == cudaSuccess)
    return cudaSuccess;
  cj2k_cuda_pool_free(pool, host, block.data, block.room);
  if (result != cudaErrorMemoryAllocation)
    cj2k_cuda_pool_lose(pool);
  *data = NULL;
  return result;
}

cudaError_t cj2k_cuda_pool_take(Cj2kCudaPool *pool, bool host, size_t size, void **data,
                                size_t *room)
{
  cudaError_t result = take_kept(pool, host, size, data, room);

  if (*data || result != cudaSuccess)
    return result;
  result = cj2k_cuda_pool_allocate(pool, host, size, data);
  if (result != cudaSuccess)
    return result;
  *room = size;
  g_mutex_lock(&pool->lock);
  count_used(pool, host, size);
  GArray *removed = trim(pool);
  g_mutex_unlock(&pool->lock);
  free_blocks(removed);
  return cudaSuccess;
}

void cj2k_cuda_pool_give(Cj2kCudaPool *pool, bool host, void *data, size_t room)
{
  Block block = {.data = data, .room = room, .since = g_get_monotonic_time(), .host = host};

  g_mutex_lock(&pool->lock);
  pool->sums[host].used -= room;
  pool->sums[host].idle += room;
  g_array_append_val(pool->blocks, block);
  GArray *removed = trim(pool);
  g_mutex_unlock(&pool->lock);
  free_blocks(removed);
}

void cj2k_cuda_pool_free(Cj2kCudaPool *pool, bool host, void *data, size_t room)
{
  g_mutex_lock(&pool->lock);
  pool->sums[host].used -= room;
  g_mutex_unlock(&pool->lock);
  free_block(&(Block){.data = data, .host = host});
}

void cj2k_cuda_pool_run_short(Cj2kCudaPool *pool)
{
  (void)empty(pool, g_get_monotonic_time() + SHORT_US);
}

void cj2k_cuda_pool_lose(Cj2kCudaPool *pool)
{
  g_atomic_int_set(&pool->lost, true);
  (void)empty(pool, 0);
}

bool cj2k_cuda_pool_keeps(Cj2kCudaPool *pool)
{
  g_mutex_lock(&pool->lock);
  bool keeps = keeps_at(pool, g_get_monotonic_time());
  g_mutex_unlock(&pool->lock);
  return keeps;
}

void cj2k_cuda_pool_init(Cj2kCudaPool *pool)
{
  *pool = (Cj2kCudaPool){.blocks = new_blocks()};
  g_mutex_init(&pool->lock);
}

void cj2k_cuda_pool_clear(Cj2kCudaPool *pool)
{
  free_blocks(pool->blocks);
  g_mutex_clear(&pool->lock);
}
