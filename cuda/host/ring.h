/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Device memory for pictures on their way to the host, which all slots of a decoder share. A frame
 * needs it only from its last kernels to the end of its download, and most frames in flight are in
 * their block decoders, or wait for the bus. So there are a few pictures, which the frames take one
 * after the other when they are launched:
 *
 *   frame 1, picture 0: ... last kernels -> download -> event
 *   frame 9, picture 0: block decoders .................. `-> last kernels -> download -> event
 *
 * A thread has the picture's lock from take() to give(), in which it launches all work of a frame:
 * so the next frame with this picture finds the event recorded. It waits for work that was launched
 * before, as all frames do, and thus for none that could wait for it.
 */
#ifndef CJ2K_CUDA_HOST_RING_H
#define CJ2K_CUDA_HOST_RING_H

#include "device.h"

/* Pictures of a decoder at most. Downloads that are ready share the bus and end together, and then
 * it is idle until the next pictures are made: with 16 frames in flight, where the bus is the
 * limit, that takes 4 % of the frames a second with eight pictures, 6 % with six, 7 % with four.
 * With as many pictures as frames in flight hardly anything waits; the bus is full with four. With
 * six, 16 frames take half the device memory that they took when each had its own. */
#define CJ2K_CUDA_RING_PICTURES 6

typedef struct {
  uint32_t number; /* in the ring */
  GMutex lock;     /* of all that follows, and of launching work that uses the memory */
  Cj2kCudaMemory memory;
  cudaEvent_t free; /* recorded behind the last download from it */
} Cj2kCudaRingPicture;

typedef struct {
  gint next;  /* atomic: counts the frames */
  gint slots; /* atomic: of the decoder; there are no more pictures than slots */
  gint most;  /* atomic: pictures that memory is known to hold; all, at first */
  Cj2kCudaRingPicture pictures[CJ2K_CUDA_RING_PICTURES];
} Cj2kCudaRing;

void cj2k_cuda_ring_init(Cj2kCudaRing *ring);
/* There is no slot. */
void cj2k_cuda_ring_clear(Cj2kCudaRing *ring);
/* A slot has come, or has gone, with which no frame has a picture; then pictures go, too, if they
 * are more than the slots that are left. */
void cj2k_cuda_ring_add_slot(Cj2kCudaRing *ring);
void cj2k_cuda_ring_remove_slot(Cj2kCudaRing *ring);

/* Takes the next picture, with `size` bytes at least, and locks it. If there is no memory for it,
 * there are fewer from now on. Work that writes to it must wait for its event `free`. */
cudaError_t cj2k_cuda_ring_take(Cj2kCudaRing *ring, const Cj2kCudaDevice *device, size_t size,
                                Cj2kCudaRingPicture **picture);
/* The event has been recorded behind all work that uses the picture, or there is no such work that
 * has not ended. */
void cj2k_cuda_ring_give(Cj2kCudaRingPicture *picture);
/* Nobody knows whether work still uses the picture: CUDA waits for it and frees the memory. */
void cj2k_cuda_ring_give_up(Cj2kCudaRingPicture *picture);

#endif
