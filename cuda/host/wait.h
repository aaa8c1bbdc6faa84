/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits of the host for the GPU. A codec that was asked for low latency spins. A quiet one, which
 * saves the cores, sleeps and looks at the event every now and then: the driver's own way to sleep
 * takes longer to wake up.
 */
#ifndef CJ2K_CUDA_HOST_WAIT_H
#define CJ2K_CUDA_HOST_WAIT_H

#include "device.h"

/* How long waits of one kind last, such as those for a decoded frame; begins as zeros. A thread may
 * sleep for most of the least time that the last ones took before it looks. The mean would not do:
 * it grows when the GPU is jammed, and a longer first sleep adds to a jam. */
typedef struct {
  uint32_t least[2]; /* microseconds: of the current round of waits, and of the round before */
  uint32_t waits;    /* of the current round */
} Cj2kCudaPatience;

/* Waits until the work before an event is done. With `at_once` the thread spins, or if the codec is
 * quiet looks every now and then. Without, it sleeps in the driver, for which the event must be
 * made with cudaEventBlockingSync. patience: of waits of this kind; NULL: nothing is known. */
cudaError_t cj2k_cuda_wait(const Cj2kCudaDevice *device, cudaEvent_t event, bool at_once,
                           Cj2kCudaPatience *patience);
/* The same for work of some tens of microseconds, for which sleeping would take longer than the
 * work: the thread spins for a short time, unless the process is crowded, and then sleeps. */
cudaError_t cj2k_cuda_wait_briefly(const Cj2kCudaDevice *device, cudaEvent_t event);

#endif
