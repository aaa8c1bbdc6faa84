/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Energy that the GPU used, from NVML, which is loaded when it is first needed. */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

static bool find(void *library, const char *name, void *function)
{
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

double bench_energy(void)
{
  static unsigned (*total_energy)(void *device, unsigned long long *millijoule);
  static void *device;
  static bool tried;
  unsigned long long millijoule = 0;
  if (!tried) {
    unsigned (*init)(void), (*get_device)(unsigned index, void **device);
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    tried = true;
    if (!library || !find(library, "nvmlInit_v2", &init) ||
        !find(library, "nvmlDeviceGetHandleByIndex_v2", &get_device) || init() != 0 ||
        get_device(0, &device) != 0 ||
        !find(library, "nvmlDeviceGetTotalEnergyConsumption", &total_energy))
      total_energy = NULL;
  }
  return total_energy && total_energy(device, &millijoule) == 0 ? (double)millijoule / 1000 : -1;
}
