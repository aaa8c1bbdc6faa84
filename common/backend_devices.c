/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend_devices.h"

#include "common/runtime/error.h"

#include <glib.h>
#include <string.h>

#define UTILISATION_STEP 25 /* percent */
#define LEAST_DIGITS     4  /* of a UUID that is shortened */

/* ------------------------------------------------------------------------ codecs of each --- */

static gint codecs[CJ2K_MAX_DEVICES]; /* atomic */

static bool is_counted(int ordinal)
{
  return ordinal >= 0 && ordinal < CJ2K_MAX_DEVICES;
}

void cj2k_devices_join(int ordinal)
{
  if (is_counted(ordinal))
    g_atomic_int_inc(&codecs[ordinal]);
}

void cj2k_devices_leave(int ordinal)
{
  if (is_counted(ordinal))
    g_atomic_int_add(&codecs[ordinal], -1);
}

uint32_t cj2k_devices_codecs(int ordinal)
{
  return is_counted(ordinal) ? (uint32_t)g_atomic_int_get(&codecs[ordinal]) : 0;
}

/* ------------------------------------------------------------------------------- choice --- */

/* Devices are compared by counts that other threads change, so each is read once. */
typedef struct {
  Cj2kDevice device;
  uint32_t codecs;
} Loaded;

static int compare(const void *a, const void *b)
{
  const Loaded *x = a, *y = b;
  uint32_t busy_x = x->device.utilisation / UTILISATION_STEP,
           busy_y = y->device.utilisation / UTILISATION_STEP;

  if (x->codecs != y->codecs)
    return x->codecs < y->codecs ? -1 : 1;
  if (busy_x != busy_y)
    return busy_x < busy_y ? -1 : 1;
  if (x->device.free_memory != y->device.free_memory)
    return x->device.free_memory > y->device.free_memory ? -1 : 1;
  return x->device.ordinal - y->device.ordinal;
}

void cj2k_devices_sort(Cj2kDevice *devices, uint32_t count)
{
  Loaded loaded[CJ2K_MAX_DEVICES] = {0};

  count = MIN(count, CJ2K_MAX_DEVICES);
  for (uint32_t i = 0; i < count; i++)
    loaded[i] = (Loaded){devices[i], cj2k_devices_codecs(devices[i].ordinal)};
  qsort(loaded, count, sizeof *loaded, compare);
  for (uint32_t i = 0; i < count; i++)
    devices[i] = loaded[i].device;
}

/* ---------------------------------------------------------------------------- selection --- */

static bool is_number(const char *word)
{
  return *word && strspn(word, "0123456789") == strlen(word) && strlen(word) < LEAST_DIGITS;
}

/* Writes the digits of a UUID; false: `word` is none. */
static bool read_uuid(const char *word, char digits[33])
{
  size_t n = 0;

  if (!g_ascii_strncasecmp(word, "GPU-", 4) || !g_ascii_strncasecmp(word, "MIG-", 4))
    word += 4;
  for (; *word; word++) {
    if (*word == '-')
      continue;
    if (!g_ascii_isxdigit(*word) || n == 32)
      return false;
    digits[n++] = g_ascii_tolower(*word);
  }
  digits[n] = '\0';
  return n >= LEAST_DIGITS;
}

/* The place in the list of the device that a word names. -1: there is none, or more than one. */
static int find_device(const Cj2kDevice *list, uint32_t count, const char *word)
{
  char digits[33];
  int found = -1;

  if (is_number(word)) {
    for (uint32_t i = 0; i < count; i++)
      if (list[i].ordinal == atoi(word))
        return (int)i;
    return -1;
  }
  if (!read_uuid(word, digits))
    return -1;
  for (uint32_t i = 0; i < count; i++) {
    if (!g_str_has_prefix(list[i].uuid, digits))
      continue;
    if (found >= 0)
      return -1;
    found = (int)i;
  }
  return found;
}

static bool contains(const Cj2kDeviceSet *set, int ordinal)
{
  for (uint32_t i = 0; i < set->count; i++)
    if (set->ordinals[i] == ordinal)
      return true;
  return false;
}

Cj2kStatus cj2k_devices_select(const Cj2kDevice *list, uint32_t count, const char *text,
                               Cj2kDeviceSet *set, Cj2kError *error)
{
  char **words = g_strsplit(text, ",", -1);
  Cj2kStatus status = CJ2K_OK;

  for (char **word = words; *word; word++)
    g_strstrip(*word);
  *set = (Cj2kDeviceSet){.all = words[0] && !words[1] && !g_ascii_strcasecmp(words[0], "all")};
  if (!words[0])
    status = cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "cuda-devices: no GPU is named");
  for (uint32_t i = 0; set->all && i < count; i++)
    set->ordinals[set->count++] = list[i].ordinal;
  for (char **word = words; !set->all && *word && status == CJ2K_OK; word++) {
    int found = find_device(list, count, *word);
    if (found < 0)
      status =
          cj2k_error_set(error, CJ2K_ERROR_ARGUMENT,
                         "cuda-devices: \"%.60s\" is not one of the %u GPUs; \"all\", or their "
                         "numbers from 0 and UUIDs with commas between them, are expected",
                         *word, count);
    else if (contains(set, list[found].ordinal))
      status = cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, "cuda-devices: GPU %d is named twice",
                              list[found].ordinal);
    else
      set->ordinals[set->count++] = list[found].ordinal;
  }
  g_strfreev(words);
  return status;
}

/* --------------------------------------------------------------------------------- opening --- */

static bool names_devices(const Cj2kDeviceWish *wish)
{
  return wish->text && *wish->text;
}

/* The devices that are named, or else those to try, one after the other. */
static Cj2kStatus find_devices(const Cj2kDeviceWish *wish, Cj2kDeviceSet *set, Cj2kError *error)
{
  Cj2kDevice list[CJ2K_MAX_DEVICES];

  *set = (Cj2kDeviceSet){.ordinals = {wish->device}, .count = 1};
  if (!names_devices(wish) && (wish->device >= 0 || wish->has_context))
    return CJ2K_OK;
  uint32_t count = cj2k_cuda_devices(list, error);
  if (!count)
    return CJ2K_ERROR_DEVICE;
  if (names_devices(wish))
    return cj2k_devices_select(list, count, wish->text, set, error);
  cj2k_devices_sort(list, count);
  for (set->count = 0; set->count < count; set->count++)
    set->ordinals[set->count] = list[set->count].ordinal;
  return CJ2K_OK;
}

void *cj2k_devices_open(const Cj2kDeviceWish *wish, const Cj2kDeviceOpener *opener, void *codec,
                        Cj2kDeviceSet *set, Cj2kError *error)
{
  Cj2kDeviceSet found;
  void *data = NULL;

  *set = (Cj2kDeviceSet){0};
  if (find_devices(wish, &found, error) != CJ2K_OK)
    return NULL;
  if (names_devices(wish) && found.count > 1) {
    data = opener->several(codec, &found, error);
    *set = found;
  }
  for (uint32_t i = 0; i < found.count && !set->count && !data; i++) {
    data = opener->one(codec, found.ordinals[i], error);
    found.ordinals[0] = found.ordinals[i];
  }
  if (data && !set->count)
    *set = (Cj2kDeviceSet){.ordinals = {found.ordinals[0]}, .count = 1};
  if (data)
    cj2k_error_clear(error); /* of devices that were left out */
  else
    *set = (Cj2kDeviceSet){0};
  for (uint32_t i = 0; i < set->count; i++)
    cj2k_devices_join(set->ordinals[i]);
  return data;
}

void cj2k_devices_close(Cj2kDeviceSet *set)
{
  for (uint32_t i = 0; i < set->count; i++)
    cj2k_devices_leave(set->ordinals[i]);
  *set = (Cj2kDeviceSet){0};
}

/* --------------------------------------------------------------------------- reservation --- */

int cj2k_device_reserve(const char *devices, Cj2kError *error)
{
  static GMutex lock; /* two that ask at once get different devices */
  Cj2kDevice list[CJ2K_MAX_DEVICES];
  Cj2kDeviceSet set;
  Cj2kError own = {0};
  int ordinal = -1;

  error = error ? error : &own;
  cj2k_error_clear(error);
  g_mutex_lock(&lock);
  uint32_t count = cj2k_cuda_devices(list, error);
  if (count && cj2k_devices_select(list, count, devices && *devices ? devices : "all", &set,
                                   error) == CJ2K_OK) {
    cj2k_devices_sort(list, count);
    for (uint32_t i = 0; ordinal < 0; i++)
      if (contains(&set, list[i].ordinal))
        ordinal = list[i].ordinal;
    cj2k_devices_join(ordinal);
  }
  g_mutex_unlock(&lock);
  return ordinal;
}

void cj2k_device_release(int ordinal)
{
  cj2k_devices_leave(ordinal);
}
