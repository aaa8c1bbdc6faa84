/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of several GPUs does what: choice by name and load, slots that are lent, and memory, with
 * devices that are CPU back ends (fake-devices.h) or nothing at all. */
#include "fake-devices.h"

#include "common/backend_several.h"

/* ------------------------------------------------------------------------------- choice --- */

static void check_select(const char *text, const char *expected)
{
  Cj2kDevice list[CJ2K_MAX_DEVICES];
  Cj2kDeviceSet set;
  Cj2kError error = {0};
  uint32_t count = cj2k_cuda_devices(list, &error);
  GString *found = g_string_new(NULL);
  Cj2kStatus status = cj2k_devices_select(list, count, text, &set, &error);

  for (uint32_t i = 0; status == CJ2K_OK && i < set.count; i++)
    g_string_append_printf(found, "%d ", set.ordinals[i]);
  if (expected) {
    g_assert_cmpint(status, ==, CJ2K_OK);
    g_assert_cmpstr(found->str, ==, expected);
  } else {
    g_assert_cmpint(status, ==, CJ2K_ERROR_ARGUMENT);
    g_assert_true(g_str_has_prefix(error.text, "cuda-devices: "));
  }
  g_string_free(found, TRUE);
}

static void test_select(void)
{
  fake_init(4);
  check_select("all", "0 1 2 3 ");
  check_select(" ALL ", "0 1 2 3 ");
  check_select("2", "2 ");
  check_select("3,0, 1", "3 0 1 ");
  check_select("abcd1", "1 ");
  check_select("GPU-ABCD-2234-5678,0", "2 0 ");
  check_select("mig-abcd3-23456789abcdef0123456789abc", "3 ");
  check_select("abcd", NULL); /* of all */
  check_select("4", NULL);
  check_select("-1", NULL);
  check_select("0,0", NULL);
  check_select("abcd1,1", NULL);
  check_select("0,", NULL);
  check_select("", NULL);
  check_select("all,0", NULL);
  check_select("GPU-", NULL);
  check_select("0x1", NULL);
  check_select("99999999999999999999", NULL);
  check_select("abcd123456789abcdef0123456789abcdeabcdef", NULL);
}

/* What lies behind the devices of a list is none of them. */
static void test_select_part(void)
{
  Cj2kDevice list[CJ2K_MAX_DEVICES];
  Cj2kDeviceSet set;
  Cj2kError error;

  fake_init(4);
  cj2k_cuda_devices(list, &error);
  g_assert_cmpint(cj2k_devices_select(list, 2, "all", &set, &error), ==, CJ2K_OK);
  g_assert_cmpuint(set.count, ==, 2);
  g_assert_cmpint(cj2k_devices_select(list, 2, "1", &set, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_devices_select(list, 2, "2", &set, &error), ==, CJ2K_ERROR_ARGUMENT);
  g_assert_cmpint(cj2k_devices_select(list, 2, "abcd2", &set, &error), ==, CJ2K_ERROR_ARGUMENT);
  list[0].utilisation = 80;
  cj2k_devices_sort(list, 2);
  for (int i = 0; i < 4; i++)
    g_assert_cmpint(list[i].ordinal, ==, i < 2 ? 1 - i : i);
}

/* The order in which devices with these loads are tried. */
static void check_order(const char *expected)
{
  Cj2kDevice list[CJ2K_MAX_DEVICES];
  Cj2kError error;
  uint32_t count = cj2k_cuda_devices(list, &error);
  GString *order = g_string_new(NULL);

  cj2k_devices_sort(list, count);
  for (uint32_t i = 0; i < count; i++)
    g_string_append_printf(order, "%d", list[i].ordinal);
  g_assert_cmpstr(order->str, ==, expected);
  g_string_free(order, TRUE);
}

static void test_load(void)
{
  fake_init(4);
  check_order("0123");
  fake_devices[0].utilisation = 80;
  check_order("1230");
  fake_devices[3].free_memory = 1000;
  check_order("3120");
  fake_devices[3].utilisation = 10; /* idle as well, for so rough a figure */
  check_order("3120");
  cj2k_devices_join(3);
  check_order("1203");
  cj2k_devices_leave(3);
  check_order("3120");
  cj2k_devices_join(-1);
  cj2k_devices_leave(-1);
}

/* Those who reserve before they open are spread over the devices. */
static void test_reserve(void)
{
  int taken[6];
  uint32_t of_each[3] = {0};
  Cj2kError error;

  fake_init(3);
  for (guint i = 0; i < G_N_ELEMENTS(taken); i++) {
    taken[i] = cj2k_device_reserve(i & 1 ? "all" : NULL, &error);
    g_assert_cmpint(taken[i], >=, 0);
    of_each[taken[i]]++;
  }
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint(of_each[i], ==, 2);
  g_assert_cmpint(cj2k_device_reserve("2", &error), ==, 2);
  cj2k_device_release(2);
  for (guint i = 0; i < G_N_ELEMENTS(taken); i++)
    cj2k_device_release(taken[i]);
  g_assert_cmpint(cj2k_device_reserve("7", &error), ==, -1);
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
  fake_count = 0;
  g_assert_cmpint(cj2k_device_reserve(NULL, &error), ==, -1);
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_DEVICE);
  g_assert_cmpint(cj2k_device_reserve(NULL, NULL), ==, -1);
  for (int i = 0; i < 3; i++)
    g_assert_cmpuint(cj2k_devices_codecs(i), ==, 0);
}

/* A codec without names takes the least loaded device that works. */
static void test_least_loaded(void)
{
  Cj2kDecoder *decoders[4];
  Cj2kError error;

  fake_init(3);
  fake_devices[1].unusable = 1;
  for (guint i = 0; i < G_N_ELEMENTS(decoders); i++) {
    decoders[i] = fake_open_decoder(NULL, -1, 1, &error);
    g_assert_nonnull(decoders[i]);
  }
  g_assert_cmpuint(cj2k_devices_codecs(0), ==, 2);
  g_assert_cmpuint(cj2k_devices_codecs(1), ==, 0);
  g_assert_cmpuint(cj2k_devices_codecs(2), ==, 2);
  for (guint i = 0; i < G_N_ELEMENTS(decoders); i++)
    cj2k_decoder_close(decoders[i]);
  g_assert_cmpuint(cj2k_devices_codecs(0) + cj2k_devices_codecs(2), ==, 0);
  g_assert_null(fake_open_decoder(NULL, 1, 1, &error));
  g_assert_null(fake_open_decoder("0,1", -1, 1, &error)); /* it was named */
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_DEVICE);
  g_assert_null(fake_open_decoder("0,9", -1, 1, &error));
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
  decoders[0] = fake_open_decoder("all", -1, 1, &error); /* all that work */
  g_assert_nonnull(decoders[0]);
  cj2k_decoder_close(decoders[0]);
  fake_devices[0].unusable = fake_devices[2].unusable = 1;
  g_assert_null(fake_open_decoder("all", -1, 1, &error));
  g_assert_null(fake_open_decoder(NULL, -1, 1, &error));
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_DEVICE);
  for (int i = 0; i < 3; i++)
    g_assert_cmpuint(cj2k_devices_codecs(i), ==, 0);
}

/* ------------------------------------------------------------------------------- lending --- */

static void *make_slot(void *data, Cj2kError *error)
{
  (void)data, (void)error;
  return g_new0(int, 1);
}

static void free_slot(void *data, void *slot)
{
  (void)data;
  g_free(slot);
}

static bool owns(void *data, const void *memory)
{
  return data == memory;
}

/* Frames go to the device with the fewest in flight, with their picture if that is on a device, and
 * never to a lost one. */
static void test_lending(void)
{
  Cj2kSeveral several = {.slot_new = make_slot, .slot_free = free_slot, .memory = {.owns = owns}};
  char memory[3];
  Cj2kPlane plane = {.data = &memory[1]};
  const Cj2kPicture host = {.memory = CJ2K_MEMORY_HOST, .num_planes = 1, .planes = &plane};
  const Cj2kPicture placed = {.memory = CJ2K_MEMORY_CUDA, .num_planes = 1, .planes = &plane};
  Cj2kLentSlot lent[9] = {{0}};
  Cj2kError error;

  cj2k_several_init(&several);
  for (int i = 0; i < 3; i++)
    cj2k_several_add(&several, i, &memory[i]);
  for (guint i = 0; i < 9; i++) {
    g_assert_cmpint(cj2k_several_take(&several, &host, &lent[i], &error), ==, CJ2K_OK);
    g_assert_cmpuint(several.devices[i % 3].in_flight, ==, i / 3 + 1);
  }
  cj2k_several_give(&several, &lent[4]);
  cj2k_several_give(&several, &lent[7]); /* both of device 1 */
  cj2k_several_give(&several, &lent[0]);
  g_assert_cmpint(cj2k_several_take(&several, &host, &lent[4], &error), ==, CJ2K_OK);
  g_assert_cmpint(lent[4].device->ordinal, ==, 1);
  cj2k_several_give(&several, &lent[2]);
  cj2k_several_give(&several, &lent[5]);
  g_assert_cmpint(cj2k_several_take(&several, &placed, &lent[0], &error), ==, CJ2K_OK);
  g_assert_cmpint(lent[0].device->ordinal, ==, 1); /* although device 2 has fewer */

  g_assert_true(cj2k_several_lose(&several, &lent[1]));
  g_assert_null(lent[1].slot);
  g_assert_cmpint(cj2k_several_take(&several, &placed, &lent[1], &error), ==, CJ2K_ERROR_DEVICE);
  g_assert_cmpint(cj2k_several_take(&several, &host, &lent[1], &error), ==, CJ2K_OK);
  g_assert_cmpint(lent[1].device->ordinal, ==, 2);
  g_assert_true(cj2k_several_lose(&several, &lent[4])); /* it was lost before */
  g_assert_true(cj2k_several_lose(&several, &lent[1]));
  g_assert_cmpuint(cj2k_several_num_lost(&several), ==, 2);
  g_assert_cmpint(cj2k_several_take(&several, &host, &lent[1], &error), ==, CJ2K_OK);
  g_assert_cmpint(lent[1].device->ordinal, ==, 0);
  g_assert_false(cj2k_several_lose(&several, &lent[1])); /* the last one */
  g_assert_nonnull(lent[1].slot);
  plane.data = &several;
  g_assert_cmpint(cj2k_several_take(&several, &placed, &lent[2], &error), ==, CJ2K_ERROR_ARGUMENT);
  for (guint i = 0; i < 9; i++)
    cj2k_several_give(&several, &lent[i]);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint(several.devices[i].in_flight, ==, 0);
  cj2k_several_clear(&several);
}

/* The frames in flight of each of several devices. */
static void test_share(void)
{
  static const uint32_t cases[][3] = {{1, 2, 1}, {1, 4, 1}, {2, 2, 2}, {4, 2, 2},
                                      {5, 2, 3}, {6, 2, 3}, {4, 3, 2}, {16, 3, 6}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_assert_cmpuint(cj2k_several_share(cases[i][0], cases[i][1]), ==, cases[i][2]);
}

/* Slots that are reserved go to the device that has the fewest, those that were discarded not
 * counted. */
static void test_reserved(void)
{
  Cj2kSeveral several = {.slot_new = make_slot, .slot_free = free_slot};
  const Cj2kPicture host = {.memory = CJ2K_MEMORY_HOST};
  Cj2kLentSlot lent[4] = {{0}};
  char memory[2];
  Cj2kError error;

  cj2k_several_init(&several);
  for (int i = 0; i < 2; i++)
    cj2k_several_add(&several, i, &memory[i]);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint(cj2k_several_reserve(&several, &error), ==, CJ2K_OK);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpint(cj2k_several_take(&several, &host, &lent[i], &error), ==, CJ2K_OK);
  for (guint i = 0; i < 4; i++)
    if (lent[i].device->ordinal == 1)
      cj2k_several_discard(&several, &lent[i]);
  g_assert_cmpuint(several.devices[1].slots, ==, 0);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint(cj2k_several_reserve(&several, &error), ==, CJ2K_OK);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpuint(several.devices[i].slots, ==, 2);
    g_assert_cmpuint(several.devices[i].idle->len, ==, 2 * i);
    g_assert_cmpuint(several.devices[i].in_flight, ==, 2 - 2 * i);
  }
  for (guint i = 0; i < 4; i++)
    cj2k_several_give(&several, &lent[i]);
  cj2k_several_clear(&several);
}

/* ------------------------------------------------------------------------------- memory --- */

static guint own_blocks; /* that own_alloc() gave and that are in use */

static void *own_alloc(void *data, Cj2kMemoryKind kind, size_t size)
{
  (void)data;
  g_assert_cmpint(kind, !=, CJ2K_MEMORY_HOST);
  own_blocks++;
  return g_malloc(size);
}

static void own_free(void *data, Cj2kMemoryKind kind, void *memory)
{
  (void)data;
  g_assert_cmpint(kind, !=, CJ2K_MEMORY_HOST);
  own_blocks--;
  g_free(memory);
}

/* Host memory is the library's own, and the back end gives the other kinds, if it can. */
static void test_memory(void)
{
  static const Cj2kBackendMemory none = {0}, own = {.alloc = own_alloc, .free = own_free};

  for (int kind = CJ2K_MEMORY_HOST; kind <= CJ2K_MEMORY_CUDA; kind++) {
    void *memory = cj2k_memory_alloc(&own, NULL, (Cj2kMemoryKind)kind, 100);
    g_assert_nonnull(memory);
    g_assert_cmpuint(own_blocks, ==, kind != CJ2K_MEMORY_HOST);
    cj2k_memory_free(&own, NULL, (Cj2kMemoryKind)kind, memory);
    g_assert_cmpuint(own_blocks, ==, 0);
    memory = cj2k_memory_alloc(&none, NULL, (Cj2kMemoryKind)kind, 0);
    g_assert_cmpint(memory == NULL, ==, kind == CJ2K_MEMORY_CUDA);
    g_assert_cmpuint((guintptr)memory % 64, ==, 0);
    cj2k_memory_free(&none, NULL, (Cj2kMemoryKind)kind, memory);
  }
  g_assert_null(cj2k_memory_alloc(&own, NULL, (Cj2kMemoryKind)(CJ2K_MEMORY_CUDA + 1), 100));
  g_assert_null(cj2k_memory_alloc(&own, NULL, (Cj2kMemoryKind)-1, 100));
}

/* What has been pinned, and by which device; NULL: nothing. */
static void *pinned, *pinned_by;

static bool pin(void *data, void *memory, size_t size)
{
  (void)size;
  g_assert_null(pinned);
  pinned = memory;
  pinned_by = data;
  return true;
}

static void unpin(void *data, void *memory)
{
  g_assert_true(data == pinned_by && memory == pinned);
  pinned = NULL;
}

/* The device that has pinned memory makes it ordinary again, even if it has been lost. */
static void test_pinned(void)
{
  Cj2kSeveral several = {
      .slot_new = make_slot, .slot_free = free_slot, .memory = {.pin = pin, .unpin = unpin}};
  const Cj2kPicture host = {.memory = CJ2K_MEMORY_HOST};
  Cj2kLentSlot lent[2] = {{0}};
  char devices[2], memory;
  Cj2kError error;

  cj2k_several_init(&several);
  for (int i = 0; i < 2; i++)
    cj2k_several_add(&several, i, &devices[i]);
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint(cj2k_several_take(&several, &host, &lent[i], &error), ==, CJ2K_OK);
  g_assert_true(cj2k_several_pin(&several, &memory, 1));
  g_assert_true(cj2k_several_lose(&several, &lent[lent[0].device->ordinal ? 1 : 0]));
  cj2k_several_unpin(&several, &memory);
  g_assert_null(pinned);
  for (guint i = 0; i < 2; i++)
    cj2k_several_give(&several, &lent[i]);
  cj2k_several_clear(&several);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/device-choice/select", test_select);
  g_test_add_func("/device-choice/select-part", test_select_part);
  g_test_add_func("/device-choice/load", test_load);
  g_test_add_func("/device-choice/reserve", test_reserve);
  g_test_add_func("/device-choice/least-loaded", test_least_loaded);
  g_test_add_func("/device-choice/lending", test_lending);
  g_test_add_func("/device-choice/share", test_share);
  g_test_add_func("/device-choice/reserved", test_reserved);
  g_test_add_func("/device-choice/memory", test_memory);
  g_test_add_func("/device-choice/pinned", test_pinned);
  return g_test_run();
}
