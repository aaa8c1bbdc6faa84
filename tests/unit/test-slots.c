/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Slots of a back end that are lent to frames, when there are enough of them and when there are too
 * few. */
#include "common/runtime/slots.h"

#define FRAMES 8

/* A back end with memory for `limit` slots, and frames that hold theirs for a moment. */
typedef struct {
  GMutex lock;
  GCond changed;
  Cj2kSlots slots;
  int limit, made, lent, max_lent;
  uint64_t order[64]; /* frames in the order in which they got a slot */
  int num_order;
} Bench;

typedef struct {
  Bench *bench;
  uint64_t number;
  gboolean ok;
} Job;

static void *create(void *ctx, Cj2kError *error)
{
  Bench *bench = ctx;
  if (bench->made == bench->limit) {
    error->code = CJ2K_ERROR_MEMORY;
    return NULL;
  }
  bench->made++;
  return g_malloc(1);
}

static void destroy(void *ctx, void *slot)
{
  ((Bench *)ctx)->made--;
  g_free(slot);
}

static Cj2kSlotMaker slot_maker(Bench *bench)
{
  return (Cj2kSlotMaker){.ctx = bench, .create = create, .destroy = destroy};
}

static void bench_init(Bench *bench, int limit, uint32_t in_flight)
{
  *bench = (Bench){.limit = limit};
  g_mutex_init(&bench->lock);
  g_cond_init(&bench->changed);
  cj2k_slots_init(&bench->slots, &bench->lock, &bench->changed, in_flight);
}

static void bench_clear(Bench *bench)
{
  const Cj2kSlotMaker slots = slot_maker(bench);
  cj2k_slots_clear(&bench->slots, &slots);
  g_assert_cmpint(bench->made, ==, 0);
  g_mutex_clear(&bench->lock);
  g_cond_clear(&bench->changed);
}

static gpointer run_frame(gpointer data)
{
  Job *job = data;
  Bench *bench = job->bench;
  const Cj2kSlotMaker slots = slot_maker(bench);
  uint32_t place = (uint32_t)(job->number - 1) % FRAMES;
  Cj2kError error;
  void *slot = cj2k_slots_take(&bench->slots, place, &slots, &error);
  job->ok = slot != NULL;
  g_mutex_lock(&bench->lock);
  bench->order[bench->num_order++] = job->number;
  bench->lent++;
  bench->max_lent = MAX(bench->max_lent, bench->lent);
  g_mutex_unlock(&bench->lock);
  g_usleep(2000);
  g_mutex_lock(&bench->lock);
  bench->lent--;
  g_mutex_unlock(&bench->lock);
  cj2k_slots_give(&bench->slots, place, slot);
  return NULL;
}

/* Starts all frames, the last one first, `pause` us apart; each must get a slot. */
static void run_all(Bench *bench, gulong pause)
{
  Job jobs[FRAMES];
  GThread *threads[FRAMES];
  g_mutex_lock(&bench->lock);
  for (uint32_t i = 0; i < FRAMES; i++)
    cj2k_slots_announce(&bench->slots, i, i + 1);
  g_mutex_unlock(&bench->lock);
  for (int i = FRAMES; i-- > 0;) {
    jobs[i] = (Job){bench, (uint64_t)i + 1, FALSE};
    threads[i] = g_thread_new("frame", run_frame, &jobs[i]);
    if (pause)
      g_usleep(pause);
  }
  for (int i = 0; i < FRAMES; i++) {
    g_thread_join(threads[i]);
    g_assert_true(jobs[i].ok);
  }
}

/* Eight frames at once, the last one's thread first, with memory for `limit` slots. */
static void test_threads(gconstpointer data)
{
  int limit = GPOINTER_TO_INT(data);
  Bench bench;
  bench_init(&bench, limit, FRAMES);
  run_all(&bench, 0);
  g_assert_cmpint(bench.max_lent, <=, MIN(limit, FRAMES));
  g_assert_cmpuint(bench.slots.allowed, ==, (guint)MIN(limit, FRAMES));
  bench_clear(&bench);
}

/* Once slots are known to be few, frames get them in order, whichever asks first. */
static void test_order(void)
{
  Bench bench;
  Cj2kError error;
  bench_init(&bench, 1, FRAMES);
  const Cj2kSlotMaker slots = slot_maker(&bench);
  g_assert_cmpint(cj2k_slots_fill(&bench.slots, &slots, &error), ==, CJ2K_OK);
  g_assert_cmpuint(bench.slots.allowed, ==, 1);
  run_all(&bench, 1000);
  for (int i = 0; i < FRAMES; i++)
    g_assert_cmpuint(bench.order[i], ==, (guint64)i + 1);
  bench_clear(&bench);
}

/* A slot that is too small is dropped, unless it is the only one. */
static void test_drop(void)
{
  Bench bench;
  Cj2kError error;
  bench_init(&bench, FRAMES, 2);
  const Cj2kSlotMaker slots = slot_maker(&bench);
  for (uint32_t i = 0; i < 2; i++)
    cj2k_slots_announce(&bench.slots, i, i + 1);
  void *a = cj2k_slots_take(&bench.slots, 0, &slots, &error);
  void *b = cj2k_slots_take(&bench.slots, 1, &slots, &error);
  g_assert_nonnull(a);
  g_assert_nonnull(b);
  g_assert_true(cj2k_slots_drop(&bench.slots, 1, 2, b, &slots));
  g_assert_cmpuint(bench.slots.allowed, ==, 1);
  cj2k_slots_give(&bench.slots, 0, a);
  g_assert_true(cj2k_slots_take(&bench.slots, 1, &slots, &error) == a);
  g_assert_false(cj2k_slots_drop(&bench.slots, 1, 2, a, &slots));
  bench_clear(&bench);
}

/* Without any slot the error is that of the back end. */
static void test_none(void)
{
  Bench bench;
  Cj2kError error;
  bench_init(&bench, 0, 2);
  const Cj2kSlotMaker slots = slot_maker(&bench);
  g_assert_cmpint(cj2k_slots_fill(&bench.slots, &slots, &error), ==, CJ2K_ERROR_MEMORY);
  cj2k_slots_announce(&bench.slots, 0, 1);
  g_assert_null(cj2k_slots_take(&bench.slots, 0, &slots, &error));
  g_assert_cmpint(error.code, ==, CJ2K_ERROR_MEMORY);
  bench_clear(&bench);
}

static bool finish_later(void *ctx)
{
  Bench *bench = ctx;
  if (!bench->slots.busy[1])
    return false;
  bench->slots.busy[1] = false; /* as a decoder's later frame gives its slot back */
  return true;
}

/* If only a later frame has a slot, that frame is asked to give it back. */
static void test_reclaim(void)
{
  Bench bench;
  Cj2kError error;
  bench_init(&bench, 1, 2);
  Cj2kSlotMaker slots = slot_maker(&bench);
  slots.reclaim = finish_later;
  bench.slots.allowed = 1;
  cj2k_slots_announce(&bench.slots, 1, 2);
  void *later = cj2k_slots_take(&bench.slots, 1, &slots, &error);
  g_assert_nonnull(later);
  g_assert_true(bench.slots.slots[1] == later);
  cj2k_slots_announce(&bench.slots, 0, 1);
  g_assert_true(cj2k_slots_take(&bench.slots, 0, &slots, &error) == later);
  bench_clear(&bench);
}

/* A frame without a slot takes the one that a later frame yields, which waits behind it. */
static void test_yield(void)
{
  Bench bench;
  Cj2kError error;
  bench_init(&bench, 1, 2);
  const Cj2kSlotMaker slots = slot_maker(&bench);
  bench.slots.allowed = 1;
  cj2k_slots_announce(&bench.slots, 1, 2);
  void *slot = cj2k_slots_take(&bench.slots, 1, &slots, &error);
  cj2k_slots_announce(&bench.slots, 0, 1);
  cj2k_slots_yield(&bench.slots, 1, 2, slot);
  g_assert_cmpuint(bench.slots.waiting[1], ==, 2);
  g_assert_true(cj2k_slots_take(&bench.slots, 0, &slots, &error) == slot);
  cj2k_slots_give(&bench.slots, 0, slot);
  g_assert_true(cj2k_slots_take(&bench.slots, 1, &slots, &error) == slot);
  bench_clear(&bench);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_data_func("/slots/enough", GINT_TO_POINTER(16), test_threads);
  g_test_add_data_func("/slots/three", GINT_TO_POINTER(3), test_threads);
  g_test_add_data_func("/slots/one", GINT_TO_POINTER(1), test_threads);
  g_test_add_func("/slots/order", test_order);
  g_test_add_func("/slots/drop", test_drop);
  g_test_add_func("/slots/none", test_none);
  g_test_add_func("/slots/reclaim", test_reclaim);
  g_test_add_func("/slots/yield", test_yield);
  return g_test_run();
}
