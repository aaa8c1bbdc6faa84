/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of GPUs with their load. CUDA says which there are, without making a context; NVML,
 * which the driver brings and which is loaded when it is first needed, says how busy they are. */
#include "device.h"

#include "common/backend_devices.h"

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

/* -------------------------------------------------------------------------------- NVML --- */

typedef struct {
  unsigned gpu, memory; /* percent */
} Utilisation;

typedef struct {
  unsigned long long total, free, used;
} Memory;

typedef struct {
  unsigned (*by_uuid)(const char *uuid, void **device);
  unsigned (*by_bus)(const char *bus, void **device);
  unsigned (*utilisation)(void *device, Utilisation *utilisation);
  unsigned (*memory)(void *device, Memory *memory);
} Nvml;

static bool find(void *library, const char *name, void *function)
{
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static bool load(Nvml *nvml)
{
  unsigned (*init)(void);
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

  return library && find(library, "nvmlInit_v2", &init) &&
         find(library, "nvmlDeviceGetHandleByUUID", &nvml->by_uuid) &&
         find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->by_bus) &&
         find(library, "nvmlDeviceGetUtilizationRates", &nvml->utilisation) &&
         find(library, "nvmlDeviceGetMemoryInfo", &nvml->memory) && init() == 0;
}

/* NULL: there is none. It stays loaded for the life of the process. */
static const Nvml *get_nvml(void)
{
  static gsize state;
  static Nvml nvml;

  if (g_once_init_enter(&state)) {
    bool loaded = load(&nvml);
    g_once_init_leave(&state, loaded ? 2 : 1);
  }
  return state == 2 ? &nvml : NULL;
}

/* "GPU-" and the UUID with its hyphens. */
static void write_uuid(const char *digits, const char *prefix, char text[48])
{
  g_snprintf(text, 48, "%s-%.8s-%.4s-%.4s-%.4s-%.12s", prefix, digits, digits + 8, digits + 12,
             digits + 16, digits + 20);
}

/* What NVML does not know stays 0: a part of a GPU (MIG) has no utilisation of its own. */
static void read_load(const Nvml *nvml, Cj2kDevice *device)
{
  static const char *const prefixes[] = {"GPU", "MIG"};
  char text[48], bus[32];
  Utilisation utilisation;
  Memory memory;
  void *handle = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(prefixes) && !handle && *device->uuid; i++) {
    write_uuid(device->uuid, prefixes[i], text);
    if (nvml->by_uuid(text, &handle) != 0)
      handle = NULL;
  }
  if (!handle && (cudaDeviceGetPCIBusId(bus, sizeof bus, device->ordinal) != cudaSuccess ||
                  nvml->by_bus(bus, &handle) != 0))
    return;
  if (nvml->utilisation(handle, &utilisation) == 0)
    device->utilisation = MIN(utilisation.gpu, 100);
  if (nvml->memory(handle, &memory) == 0)
    device->free_memory = memory.free;
}

/* -------------------------------------------------------------------------------- CUDA --- */

/* A device whose properties cannot be read has no UUID. */
static void describe(int ordinal, Cj2kDevice *device)
{
  struct cudaDeviceProp properties;

  *device = (Cj2kDevice){.ordinal = ordinal};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    return;
  }
  for (guint i = 0; i < sizeof properties.uuid.bytes; i++)
    g_snprintf(device->uuid + (size_t)2 * i, 3, "%02x", (guint8)properties.uuid.bytes[i]);
}

uint32_t cj2k_cuda_devices(Cj2kDevice *devices, Cj2kError *error)
{
  const Nvml *nvml = get_nvml();
  int number = 0;

  if (cj2k_cuda_count(&number, error) != CJ2K_OK)
    return 0;
  number = MIN(number, CJ2K_MAX_DEVICES);
  for (int i = 0; i < number; i++) {
    describe(i, &devices[i]);
    if (nvml)
      read_load(nvml, &devices[i]);
  }
  return (uint32_t)number;
}
