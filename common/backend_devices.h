/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which GPUs a codec works on. The CUDA back end lists the devices with their load; what is here
 * decides, and needs no GPU.
 */
#ifndef CJ2K_BACKEND_DEVICES_H
#define CJ2K_BACKEND_DEVICES_H

#include "common/cj2k.h"

#define CJ2K_MAX_DEVICES 32

typedef struct {
  int ordinal;          /* CUDA's number of the device in this process */
  char uuid[33];        /* 32 hexadecimal digits in lower case, without prefix and hyphens */
  uint32_t utilisation; /* percent of the last second in which it worked; 0 if not known */
  uint64_t free_memory; /* bytes; 0 if not known */
} Cj2kDevice;

/* The devices of this process, in the order of their numbers, at most CJ2K_MAX_DEVICES of them. 0:
 * there is none, and *error says why. The CUDA back end has this function; a build without it
 * lists none. */
uint32_t cj2k_cuda_devices(Cj2kDevice *devices, Cj2kError *error);

/* The devices of a codec. */
typedef struct {
  int ordinals[CJ2K_MAX_DEVICES];
  uint32_t count;
  bool all; /* any of them may be left out if it cannot be used */
} Cj2kDeviceSet;

/* Finds in `list` the devices that `text` names: "all", or numbers and UUIDs, separated by commas.
 * A UUID may have a prefix ("GPU-", "MIG-") and hyphens, and may be shortened as long as only one
 * device begins with it. CJ2K_ERROR_ARGUMENT: *error names what is wrong. */
Cj2kStatus cj2k_devices_select(const Cj2kDevice *list, uint32_t count, const char *text,
                               Cj2kDeviceSet *set, Cj2kError *error);

/* Sorts devices by their load, the least loaded first: by the codecs of this process that work on
 * them, then by utilisation (in steps of a quarter, because it is a noisy figure), then by free
 * memory, then by number. */
void cj2k_devices_sort(Cj2kDevice *devices, uint32_t count);

/* Counts a codec on a device, until leave. -1 does nothing. */
void cj2k_devices_join(int ordinal);
void cj2k_devices_leave(int ordinal);
uint32_t cj2k_devices_codecs(int ordinal);

/* What a codec asks for. */
typedef struct {
  const char *text; /* cuda_devices; NULL or empty: one device */
  int device;       /* cuda_device; -1: the least loaded, if `text` does not name any */
  bool has_context; /* the caller gives the context that decides about the device */
} Cj2kDeviceWish;

/* How a codec opens its back end. Both return NULL and fill *error on failure. several() takes
 * those devices from the set that it has left out. */
typedef struct {
  void *(*one)(void *codec, int ordinal, Cj2kError *error);
  void *(*several)(void *codec, Cj2kDeviceSet *set, Cj2kError *error);
} Cj2kDeviceOpener;

/* Opens a back end on the devices that are wished for, and counts the codec on them. Without names
 * the devices are tried in the order of their load. Returns what the opener returned; *set holds
 * the devices that were opened, for cj2k_devices_close. *error says nothing of the others then. */
void *cj2k_devices_open(const Cj2kDeviceWish *wish, const Cj2kDeviceOpener *opener, void *codec,
                        Cj2kDeviceSet *set, Cj2kError *error);
/* Counts the codec no longer, and empties the set. */
void cj2k_devices_close(Cj2kDeviceSet *set);

#endif
