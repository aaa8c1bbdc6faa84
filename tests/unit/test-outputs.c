/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of finished frames: how often it is pinned, which holds up all frames on their way. */
#include "common/encoder/outputs.h"

#include <glib.h>
#include <string.h>

#define LIKELY 10000
#define PAGE   4096

/* Counts what is pinned. */
typedef struct {
  int pinned, calls;
  bool refuses;
} Driver;

static bool pin(void *backend, void *memory, size_t size)
{
  Driver *driver = backend;

  g_assert_cmpuint((guintptr)memory % PAGE, ==, 0);
  g_assert_cmpuint(size % PAGE, ==, 0);
  driver->calls++;
  driver->pinned += !driver->refuses;
  return !driver->refuses;
}

static void unpin(void *backend, void *memory)
{
  (void)memory;
  ((Driver *)backend)->pinned--;
}

static const Cj2kBackendMemory memory = {.pin = pin, .unpin = unpin};

static Cj2kOutputs *open_outputs(Driver *driver)
{
  Cj2kOutputs *outputs = cj2k_outputs_new();

  cj2k_outputs_pin(outputs, &memory, driver, LIKELY);
  return outputs;
}

static void close_outputs(Cj2kOutputs *outputs, const Driver *driver)
{
  cj2k_outputs_unpin(outputs);
  g_assert_cmpint(driver->pinned, ==, 0);
  cj2k_outputs_unref(outputs);
}

/* A frame of so many bytes, all of which are written. Is its memory pinned? */
static bool make_frame(Cj2kOutputs *outputs, size_t size)
{
  Cj2kOutput *output = cj2k_output_get(outputs);
  bool pinned = cj2k_output_reserve(output, size);

  g_assert_cmpuint(output->bytes.capacity, >=, size);
  memset(output->bytes.data, 0x5A, size);
  cj2k_output_put(output);
  return pinned;
}

/* A film that begins black: memory is pinned once, as long as frames are as large as is likely. */
static void test_black(void)
{
  Driver driver = {0};
  Cj2kOutputs *outputs = open_outputs(&driver);

  for (size_t size = 100; size <= LIKELY; size += 100)
    g_assert_true(make_frame(outputs, size));
  g_assert_cmpint(driver.calls, ==, 1);
  close_outputs(outputs, &driver);
}

/* Frames that become longer and longer, a little each: pinned again as often as they become half as
 * long again, not with each. */
static void test_growing(void)
{
  Driver driver = {0};
  Cj2kOutputs *outputs = open_outputs(&driver);

  for (size_t size = LIKELY; size <= 100 * LIKELY; size += LIKELY / 10)
    g_assert_true(make_frame(outputs, size));
  g_assert_cmpint(driver.calls, <=, 13); /* 1.5 to the power of 12 is more than 100 */
  close_outputs(outputs, &driver);
}

/* Of large frames the first one decides, with a quarter to spare. */
static void test_large(void)
{
  Driver driver = {0};
  Cj2kOutputs *outputs = open_outputs(&driver);

  g_assert_true(make_frame(outputs, 100 * LIKELY));
  g_assert_true(make_frame(outputs, 125 * LIKELY));
  g_assert_cmpint(driver.calls, ==, 1);
  close_outputs(outputs, &driver);
}

/* Where no page can be pinned it is tried once, and memory is ordinary. */
static void test_refused(void)
{
  Driver driver = {.refuses = true};
  Cj2kOutputs *outputs = open_outputs(&driver);

  for (size_t size = 100; size < 1000000; size *= 3)
    g_assert_false(make_frame(outputs, size));
  g_assert_cmpint(driver.calls, ==, 1);
  close_outputs(outputs, &driver);
}

/* The application keeps frames: each has memory of its own, and what it gives back is used again.
 */
static void test_kept(void)
{
  Driver driver = {0};
  Cj2kOutputs *outputs = open_outputs(&driver);
  Cj2kOutput *kept[5];

  for (guint round = 0; round < 3; round++) {
    for (guint i = 0; i < G_N_ELEMENTS(kept); i++) {
      kept[i] = cj2k_output_get(outputs);
      g_assert_true(cj2k_output_is_pinned(kept[i]));
      g_assert_true(cj2k_output_reserve(kept[i], 1000));
    }
    for (guint i = 0; i < G_N_ELEMENTS(kept); i++)
      cj2k_output_put(kept[i]);
  }
  g_assert_cmpint(driver.calls, ==, G_N_ELEMENTS(kept));
  close_outputs(outputs, &driver);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/outputs/black", test_black);
  g_test_add_func("/outputs/growing", test_growing);
  g_test_add_func("/outputs/large", test_large);
  g_test_add_func("/outputs/refused", test_refused);
  g_test_add_func("/outputs/kept", test_kept);
  return g_test_run();
}
