/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ring.h"

/* ---------------------------------------------------------------- with a picture's lock held ---
 */

/* Waits for the last download from a picture, and gives its memory back. */
static void release(Cj2kCudaRingPicture *picture)
{
  if (!picture->memory.data)
    return;
  if (cudaEventSynchronize(picture->free) != cudaSuccess) { /* work may never end */
    (void)cudaGetLastError();
    cj2k_cuda_pool_lose(picture->memory.pool);
  }
  cj2k_cuda_release(&picture->memory);
}

/* Makes a picture have `size` bytes. Memory that is too small goes when no work uses it any more.
 */
static cudaError_t reserve(Cj2kCudaRingPicture *picture, const Cj2kCudaDevice *device, size_t size)
{
  cudaError_t result = cudaSuccess;

  if (!picture->free)
    result =
        cudaEventCreateWithFlags(&picture->free, cudaEventDisableTiming | cudaEventBlockingSync);
  if (result == cudaSuccess && size > picture->memory.room)
    release(picture);
  CJ2K_CUDA_TRY(result, cj2k_cuda_reserve(device, &picture->memory, size));
  return result;
}

/* --------------------------------------------------------------------------------- pictures --- */

/* Gives the memory of all pictures from this one on back. */
static void release_from(Cj2kCudaRing *ring, uint32_t first)
{
  for (uint32_t i = first; i < CJ2K_CUDA_RING_PICTURES; i++) {
    Cj2kCudaRingPicture *picture = &ring->pictures[i];
    g_mutex_lock(&picture->lock);
    release(picture);
    g_mutex_unlock(&picture->lock);
  }
}

/* There was no memory for one of `count` pictures: from now on there is one fewer, whose memory may
 * be what the others need. false: there was only one. */
static bool shrink(Cj2kCudaRing *ring, const Cj2kCudaDevice *device, uint32_t count)
{
  gint before, fewer = (gint)count - 1;

  if (count == 1)
    return false;
  (void)cudaGetLastError(); /* else the next launch would report it */
  do
    before = g_atomic_int_get(&ring->most);
  while (before > fewer && !g_atomic_int_compare_and_exchange(&ring->most, before, fewer));
  cj2k_cuda_engine_run_short(device->engine);
  release_from(ring, (uint32_t)MIN(before, fewer));
  return true;
}

static uint32_t count_pictures(Cj2kCudaRing *ring)
{
  gint slots = g_atomic_int_get(&ring->slots), most = g_atomic_int_get(&ring->most);
  return (uint32_t)MAX(MIN(slots, most), 1);
}

/* Locks the next picture. If the ring shrinks meanwhile, it is another one. Returns how many there
 * are. */
static uint32_t lock_next(Cj2kCudaRing *ring, Cj2kCudaRingPicture **out)
{
  for (;;) {
    uint32_t count = count_pictures(ring);
    Cj2kCudaRingPicture *picture =
        &ring->pictures[(uint32_t)g_atomic_int_add(&ring->next, 1) % count];
    g_mutex_lock(&picture->lock);
    if (picture->number < count_pictures(ring)) {
      *out = picture;
      return count;
    }
    g_mutex_unlock(&picture->lock);
  }
}

cudaError_t cj2k_cuda_ring_take(Cj2kCudaRing *ring, const Cj2kCudaDevice *device, size_t size,
                                Cj2kCudaRingPicture **out)
{
  cudaError_t result;
  uint32_t count;

  do {
    count = lock_next(ring, out);
    result = reserve(*out, device, size);
    if (result != cudaSuccess)
      g_mutex_unlock(&g_steal_pointer(out)->lock);
  } while (result == cudaErrorMemoryAllocation && shrink(ring, device, count));
  return result;
}

void cj2k_cuda_ring_give(Cj2kCudaRingPicture *picture)
{
  g_mutex_unlock(&picture->lock);
}

void cj2k_cuda_ring_give_up(Cj2kCudaRingPicture *picture)
{
  Cj2kCudaMemory *memory = &picture->memory;

  cj2k_cuda_pool_free(memory->pool, false, memory->data, memory->room);
  *memory = (Cj2kCudaMemory){0};
  g_mutex_unlock(&picture->lock);
}

/* ------------------------------------------------------------------------------------ slots --- */

void cj2k_cuda_ring_add_slot(Cj2kCudaRing *ring)
{
  g_atomic_int_inc(&ring->slots);
}

void cj2k_cuda_ring_remove_slot(Cj2kCudaRing *ring)
{
  uint32_t left = (uint32_t)g_atomic_int_add(&ring->slots, -1) - 1;

  release_from(ring, left);
  g_atomic_int_set(&ring->most, CJ2K_CUDA_RING_PICTURES); /* its memory is free */
}

void cj2k_cuda_ring_init(Cj2kCudaRing *ring)
{
  *ring = (Cj2kCudaRing){.most = CJ2K_CUDA_RING_PICTURES};
  for (uint32_t i = 0; i < CJ2K_CUDA_RING_PICTURES; i++) {
    ring->pictures[i].number = i;
    g_mutex_init(&ring->pictures[i].lock);
  }
}

void cj2k_cuda_ring_clear(Cj2kCudaRing *ring)
{
  release_from(ring, 0);
  for (uint32_t i = 0; i < CJ2K_CUDA_RING_PICTURES; i++) {
    cj2k_cuda_destroy_event(ring->pictures[i].free);
    g_mutex_clear(&ring->pictures[i].lock);
  }
}
