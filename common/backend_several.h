/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A back end over several devices: each device has a back end of its own, and a frame is done by
 * one of them. backend_several.c chooses the device of a frame and lends slots of the devices' back
 * ends; backend_decoders.c and backend_encoders.c do the rest for each direction.
 *
 * A frame goes to the device with the fewest frames in flight. A picture in the memory of a device
 * stays on that device. A device that fails with CJ2K_ERROR_DEVICE is lost: it gets no more frames,
 * and those that it had are done again by the others. The last device is never lost; its errors are
 * those of the frame.
 */
#ifndef CJ2K_BACKEND_SEVERAL_H
#define CJ2K_BACKEND_SEVERAL_H

#include "backend.h"
#include "backend_devices.h"

#include <glib.h>

/* A back end of one device. All but `ordinal` and `data` is guarded by the lock. */
typedef struct {
  int ordinal;
  void *data;
  bool lost;
  uint32_t in_flight; /* frames */
  uint32_t slots;     /* that exist */
  GPtrArray *idle;    /* slots that no frame uses */
} Cj2kSeveralDevice;

typedef struct Cj2kSeveral Cj2kSeveral;

struct Cj2kSeveral {
  GMutex lock;
  Cj2kSeveralDevice devices[CJ2K_MAX_DEVICES];
  uint32_t count;
  uint32_t num_lost; /* guarded by lock */
  /* Functions of the devices' back ends, as in backend.h; set_in_flight and those of memory may be
   * NULL. */
  void *(*slot_new)(void *data, Cj2kError *error);
  void (*slot_free)(void *data, void *slot);
  void (*close)(void *data);
  void (*set_in_flight)(void *data, uint32_t frames_in_flight);
  Cj2kBackendMemory memory;
};

/* The slot that a frame has; `slot` is NULL without one. */
typedef struct {
  Cj2kSeveralDevice *device;
  void *slot;
} Cj2kLentSlot;

void cj2k_several_init(Cj2kSeveral *several);
/* Frees idle slots; all must be. The devices' back ends stay open. */
void cj2k_several_clear(Cj2kSeveral *several);
/* Frees idle slots. */
void cj2k_several_empty(Cj2kSeveral *several);
/* Adds a device, whose back end is open. */
void cj2k_several_add(Cj2kSeveral *several, int ordinal, void *data);
/* Ends the opening of the devices of `set`: those that were added stay in it, and are prepared for
 * their share of the frames in flight. NULL: one is missing that may not be left out, or all are;
 * `several` is closed, and *set as it was. */
Cj2kSeveral *cj2k_several_opened(Cj2kSeveral *several, Cj2kDeviceSet *set,
                                 uint32_t frames_in_flight);

/* Makes one more slot, on the device that has the fewest, and leaves it idle. */
Cj2kStatus cj2k_several_reserve(Cj2kSeveral *several, Cj2kError *error);
/* Chooses a device for a frame with this picture and takes a slot of it. */
Cj2kStatus cj2k_several_take(Cj2kSeveral *several, const Cj2kPicture *picture, Cj2kLentSlot *lent,
                             Cj2kError *error);
/* The frame has ended. Does nothing without a slot, like the following. */
void cj2k_several_give(Cj2kSeveral *several, Cj2kLentSlot *lent);
/* The same, but the slot is destroyed, because memory has run out. */
void cj2k_several_discard(Cj2kSeveral *several, Cj2kLentSlot *lent);
/* The device of this slot has failed. true: others are left, and the slot was given back. false:
 * the frame keeps its slot and fails. */
bool cj2k_several_lose(Cj2kSeveral *several, Cj2kLentSlot *lent);

/* Functions of a back end (backend.h), the same for both directions; `several` is a Cj2kSeveral
 * from g_new0, which close() frees. New memory is on the device in use that has the fewest slots.
 */
void cj2k_several_close(void *several);
uint32_t cj2k_several_num_lost(void *several);
void cj2k_several_set_in_flight(void *several, uint32_t frames_in_flight);
void *cj2k_several_alloc(void *several, Cj2kMemoryKind kind, size_t size);
void cj2k_several_free(void *several, Cj2kMemoryKind kind, void *memory);
/* Memory is pinned for all devices, by the first one; when that is lost, no more can be. */
bool cj2k_several_pin(void *several, void *memory, size_t size);
void cj2k_several_unpin(void *several, void *memory);
/* One of the two is the memory of a device. */
Cj2kStatus cj2k_several_copy(void *several, void *cuda_stream, const Cj2kPlane *to,
                             const Cj2kPlane *from, size_t row_bytes, uint32_t rows,
                             Cj2kError *error);

/* backend_decoders.c, backend_encoders.c: the functions of a back end over several devices that
 * work like `inner`, which is the same in all calls of a process; and one that is opened on the
 * devices of a set, with the devices' back ends, after the call for its functions. Devices that
 * were left out are taken from the set.
 * params->cuda_context is the context of params->cuda_device. */
const Cj2kDecodeBackend *cj2k_several_decode_backend(const Cj2kDecodeBackend *inner);
Cj2kSeveral *cj2k_several_decoders_open(Cj2kDeviceSet *set, const Cj2kDecoderParams *params,
                                        Cj2kThreads *threads, Cj2kError *error);
const Cj2kEncodeBackend *cj2k_several_encode_backend(const Cj2kEncodeBackend *inner);
Cj2kSeveral *cj2k_several_encoders_open(Cj2kDeviceSet *set, const Cj2kEncoderParams *params,
                                        Cj2kPlan *plan, Cj2kThreads *threads, Cj2kError *error);

/* The frames in flight that one of several devices is prepared for. */
uint32_t cj2k_several_share(uint32_t frames_in_flight, uint32_t num_devices);

#endif
