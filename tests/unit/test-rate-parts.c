/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of rate control that need neither pictures nor a back end. */
#include "common/rate/base_search.h"
#include "common/rate/ceilings.h"
#include "common/rate/compare.h"
#include "common/rate/headers.h"
#include "common/rate/history.h"
#include "common/rate/ht_blocks.h"
#include "common/rate/layout.h"
#include "common/rate/strides.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* The lower bound is below the estimate; with a sample stride the measured blocks stand for all;
 * blocks without data cost nothing if no block near them has data. */
static void test_headers(void)
{
  enum { BLOCKS = 960 };
  uint32_t lengths[BLOCKS];

  for (uint32_t b = 0; b < BLOCKS; b++)
    lengths[b] = 100;
  Cj2kHeaderEstimate all = cj2k_headers_estimate(200, NULL, lengths, BLOCKS, 1);
  Cj2kHeaderEstimate some = cj2k_headers_estimate(200, NULL, lengths, BLOCKS, 3);
  g_assert_cmpuint(all.least, ==, BLOCKS * (1 + 5 + 7) / 8);
  g_assert_cmpuint(all.expected, >=, 200 + all.least);
  g_assert_cmpuint(all.least, ==, some.least);
  g_assert_cmpuint(all.expected, ==, some.expected);
  for (uint32_t b = 1; b < BLOCKS; b++)
    lengths[b] = 0;
  Cj2kHeaderEstimate one = cj2k_headers_estimate(200, NULL, lengths, BLOCKS, 1);
  g_assert_cmpuint(one.expected, <=, 204);
  lengths[0] = 0;
  g_assert_cmpuint(cj2k_headers_estimate(200, NULL, lengths, BLOCKS, 1).expected, ==, 200);
}

/* Sizes that decrease as the base grows: smoothly, steeply, in jumps. */
static double size_of(int kind, double base)
{
  double size = 1000 * pow(base, -0.7);

  if (kind == 1)
    size = base > 0.1 ? 500 / base : 1e6 * pow(0.1 / base, 12);
  if (kind == 2)
    size = floor(size / 700) * 700;
  return size;
}

/* A search finds a base whose size fits or, where the size jumps, the two bases on both sides of
 * the jump. */
static void test_base_search(void)
{
  for (int kind = 0; kind < 3; kind++)
    for (double target = 1500; target < 500000; target *= 1.9) {
      Cj2kBaseSearch search = cj2k_base_search(1e-5, 0.8);
      double base = 1, size = 0;
      uint32_t trial = 0;
      for (; trial < 60; trial++) {
        size = size_of(kind, base);
        if (size <= target && size > 0.99 * target)
          break;
        cj2k_base_search_bound(&search, base, size <= target);
        if (cj2k_base_search_is_closed(&search))
          break;
        base = cj2k_base_search_next(&search, base, size, target, trial);
      }
      g_assert_cmpuint(trial, <, 60);
      if (cj2k_base_search_is_closed(&search)) {
        g_assert_cmpfloat(size_of(kind, search.fits), <=, target);
        g_assert_cmpfloat(size_of(kind, search.over), >, target);
      } else {
        g_assert_cmpfloat(size, >, 0.99 * target);
      }
    }
}

/* A search stays between the smallest and the largest base. */
static void test_base_limits(void)
{
  Cj2kBaseSearch search = cj2k_base_search(0.01, 0.8);

  g_assert_cmpfloat(cj2k_base_search_secant(&search, 0.02, 1, 1e9), ==, 0.01);
  cj2k_base_search_forget(&search);
  g_assert_cmpfloat(cj2k_base_search_secant(&search, 60, 1e9, 1), ==, cj2k_clamp_base(1e9));
  cj2k_base_search_forget(&search);
  g_assert_cmpfloat(cj2k_base_search_secant(&search, 0.8, 0, 100), ==, 0.2);
}

static void test_ceilings(void)
{
  static const uint64_t bytes[] = {10, 20, 300, 40, 50, 60}; /* two components, three resolutions */
  Cj2kCodestreamSize size = {.total = 1000, .components = bytes, .num_resolutions = 3};
  Cj2kCeilings none = cj2k_ceilings(UINT64_MAX, UINT64_MAX, 2, false),
               frame = cj2k_ceilings(999, UINT64_MAX, 2, false),
               component = cj2k_ceilings(2000, 200, 2, false),
               cinema = cj2k_ceilings(2000, 50, 2, true);

  g_assert_true(cj2k_ceilings_fit(&none, &size));
  g_assert_false(cj2k_ceilings_fit(&frame, &size));
  g_assert_cmpuint(frame.useful_frame, ==, 999);
  g_assert_cmpuint(component.useful_frame, ==, 400);
  g_assert_cmpuint(cj2k_ceilings_counted(&component, &size, 0), ==, 330);
  g_assert_cmpuint(cj2k_ceilings_first_above(&component, &size), ==, 0);
  g_assert_cmpuint(cj2k_ceilings_useful(&component, &size), ==, 870);
  g_assert_cmpuint(cj2k_ceilings_counted(&cinema, &size, 1), ==, 90);
  g_assert_cmpuint(cj2k_ceilings_first_above(&cinema, &size), ==, 1);
  g_assert_cmpuint(cinema.useful_frame, ==, 2000);
}

/* Errors name the ceiling that is too small and the required size. */
static void test_least(void)
{
  uint64_t components[] = {30, 50};
  Cj2kLeastBytes least = {.frame = 200, .components = components};
  Cj2kCeilings enough = cj2k_ceilings(200, 50, 2, false), frame = cj2k_ceilings(199, 50, 2, false),
               component = cj2k_ceilings(200, 49, 2, false);
  Cj2kError error = {0};

  g_assert_cmpint(cj2k_ceilings_check(&enough, &least, &error), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_ceilings_check(&frame, &least, &error), ==, CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "199 bytes is too small: headers need 200 bytes"));
  g_assert_cmpint(cj2k_ceilings_check(&component, &least, &error), ==, CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "headers of component 1 need 50 bytes"));
}

/* --- history --- */

static void record(Cj2kRateHistory *history, uint64_t number, double base)
{
  const Cj2kRateMemory memory = {.base = base};
  cj2k_history_record(history, number, &memory);
}

/* Frame 1 learns from none, the next ones from frame 1, later ones from the frame a lag before. */
static void check_history(uint32_t lag)
{
  Cj2kRateHistory history;
  Cj2kRateMemory memory;

  cj2k_history_init(&history, lag);
  g_assert_false(cj2k_history_recall(&history, 1, &memory, NULL));
  for (uint64_t number = 1; number < 200; number++) {
    record(&history, number, (double)number);
    record(&history, number, -1); /* too late to have an effect */
    g_assert_true(cj2k_history_recall(&history, number + 1, &memory, NULL));
    uint64_t teacher = cj2k_history_teacher(&history, number + 1);
    g_assert_cmpuint(teacher, ==, number < lag + 1 ? 1 : number + 1 - lag);
    g_assert_cmpfloat(memory.base, ==, (double)teacher);
  }
  record(&history, 200, 0); /* the frame failed, nothing can be learned from it */
  g_assert_false(cj2k_history_recall(&history, 200 + lag, &memory, NULL));
  cj2k_history_clear(&history);
}

static void test_history(void)
{
  check_history(CJ2K_RATE_LAG_HT);
  check_history(CJ2K_RATE_LAG_MQ);
}

/* A frame learns from an early one also if one that is in flight beside that one has been recorded
 * before it, because it failed at once. */
static void test_history_in_flight(void)
{
  const uint64_t first = 8;

  for (uint64_t distance = 1; distance < CJ2K_MAX_IN_FLIGHT; distance++) {
    Cj2kRateHistory history;
    Cj2kRateMemory memory;

    cj2k_history_init(&history, CJ2K_RATE_LAG);
    for (uint64_t number = 1; number < first; number++)
      record(&history, number, 1);
    record(&history, first + distance, 0);
    record(&history, first, (double)first);
    g_assert_true(cj2k_history_recall(&history, first + CJ2K_RATE_LAG, &memory, NULL));
    g_assert_cmpfloat(memory.base, ==, (double)first);
    cj2k_history_clear(&history);
  }
}

/* Each frame whose number in the film is a multiple of the period begins like frame 1. */
static void check_period(uint32_t lag)
{
  static const uint64_t first_films[] = {0, 3, 12, 19, UINT64_C(1) << 31};
  Cj2kRateHistory history;

  cj2k_history_init(&history, lag);
  history.period = 12;
  for (size_t i = 0; i < G_N_ELEMENTS(first_films); i++) {
    uint64_t begin = 1; /* the last frame that began anew */
    history.first_film = first_films[i];
    for (uint64_t number = 1; number < 100; number++) {
      if ((first_films[i] + number - 1) % 12 == 0)
        begin = number;
      uint64_t teacher = cj2k_history_teacher(&history, number);
      if (number == begin)
        g_assert_cmpuint(teacher, ==, 0);
      else
        g_assert_cmpuint(teacher, ==, MAX(begin, number > lag ? number - lag : 1));
    }
  }
  cj2k_history_clear(&history);
}

static void test_period(void)
{
  check_period(CJ2K_RATE_LAG_HT);
  check_period(CJ2K_RATE_LAG_MQ);
}

static gpointer wait_for_frame_1(gpointer history)
{
  Cj2kRateMemory memory;
  bool interrupted = false;

  g_assert_false(cj2k_history_recall(history, 3, &memory, &interrupted));
  return GINT_TO_POINTER(interrupted);
}

/* A frame that waits is interrupted, once, if an earlier one needs its slot. */
static void test_history_interrupted(void)
{
  Cj2kRateHistory history;
  Cj2kRateMemory memory;
  bool interrupted = false;

  cj2k_history_init(&history, CJ2K_RATE_LAG);
  GThread *thread = g_thread_new("waits", wait_for_frame_1, &history);
  cj2k_history_interrupt(&history, 2);
  g_assert_true(GPOINTER_TO_INT(g_thread_join(thread)));
  cj2k_history_interrupt(&history, 3); /* not by a later one; and what is known is told */
  record(&history, 1, 1);
  g_assert_true(cj2k_history_recall(&history, 2, &memory, &interrupted));
  g_assert_false(interrupted);
  cj2k_history_clear(&history);
}

/* A bucket in which so many frames are announced. */
static void begin_bucket(Cj2kRateHistory *history, Cj2kRateBucket *bucket, uint64_t frames)
{
  const Cj2kAverage average = {.rate = 1000, .peak = 2000, .window = 10};

  cj2k_history_init(history, CJ2K_RATE_LAG);
  cj2k_bucket_init(bucket, history);
  for (uint64_t number = 1; number <= frames; number++)
    cj2k_bucket_announce(bucket, number, &average);
}

/* A frame that got a slot takes back what it asked for, not what an earlier frame has asked for
 * since. */
static void test_withdrawal(void)
{
  Cj2kRateHistory history;
  Cj2kRateBucket bucket;
  bool interrupted = false;

  begin_bucket(&history, &bucket, 3);
  cj2k_history_interrupt(&history, 2);
  cj2k_history_interrupt(&history, 1);
  cj2k_history_withdraw(&history, 2);
  g_assert_true(GPOINTER_TO_INT(wait_for_frame_1(&history)));
  cj2k_bucket_interrupt(&bucket, 2);
  cj2k_bucket_interrupt(&bucket, 1);
  cj2k_bucket_withdraw(&bucket, 2);
  cj2k_bucket_plan(&bucket, 3, &interrupted);
  g_assert_true(interrupted);

  cj2k_history_interrupt(&history, 2); /* what it has asked for itself goes */
  cj2k_history_withdraw(&history, 2);
  g_assert_cmpuint(history.starving, ==, 0);
  cj2k_bucket_interrupt(&bucket, 2);
  cj2k_bucket_withdraw(&bucket, 2);
  g_assert_cmpuint(bucket.starving, ==, 0);
  cj2k_bucket_clear(&bucket);
  cj2k_history_clear(&history);
}

static gpointer plan_frame_2(gpointer bucket)
{
  bool interrupted = false;

  cj2k_bucket_plan(bucket, 2, &interrupted);
  return GINT_TO_POINTER(interrupted);
}

/* The same for a frame that waits for its place in the bucket. */
static void test_bucket_interrupted(void)
{
  Cj2kRateHistory history;
  Cj2kRateBucket bucket;
  bool interrupted = false;

  begin_bucket(&history, &bucket, 2);
  cj2k_bucket_plan(&bucket, 1, &interrupted);
  g_assert_false(interrupted);
  GThread *thread = g_thread_new("waits", plan_frame_2, &bucket);
  cj2k_bucket_interrupt(&bucket, 1);
  g_assert_true(GPOINTER_TO_INT(g_thread_join(thread)));
  cj2k_bucket_record(&bucket, 1, &(Cj2kOutcome){.size = 900, .demand = 900, .base = 1});
  g_assert_cmpuint(cj2k_bucket_plan(&bucket, 2, &interrupted).ceiling, >, 0);
  g_assert_false(interrupted);
  cj2k_bucket_clear(&bucket);
  cj2k_history_clear(&history);
}

static gpointer recall_later(gpointer history)
{
  Cj2kRateMemory memory = {0};

  g_assert_true(cj2k_history_recall(history, 2, &memory, NULL));
  return g_memdup2(&memory.base, sizeof memory.base);
}

/* A frame waits for the one from which it learns. */
static void test_history_waits(void)
{
  Cj2kRateHistory history;

  cj2k_history_init(&history, CJ2K_RATE_LAG);
  GThread *thread = g_thread_new("later", recall_later, &history);
  record(&history, 3, 3);
  record(&history, 1, 0.5);
  double *base = g_thread_join(thread);
  g_assert_cmpfloat(*base, ==, 0.5);
  g_free(base);
  cj2k_history_clear(&history);
}

/* Steady growth is extrapolated; a change of scene is not. */
static void test_drift(void)
{
  double drift = 0;

  for (int i = 0; i < 10; i++) /* each frame has 2 % more than is expected without a drift */
    drift = cj2k_history_drift(drift, 1.02 / exp(drift));
  g_assert_cmpfloat(fabs(drift - log(1.02)), <, 0.001);
  g_assert_cmpfloat(cj2k_history_drift(drift, 2), ==, 0);
  g_assert_cmpfloat(cj2k_history_drift(drift, 0), ==, 0);
}

/* --- layers, blocks, comparisons --- */

static void test_layer_bytes(void)
{
  const Cj2kLayers layers = {.count = 4, .rates = {[1] = 0.5}, .width = 100, .height = 80};

  /* A layer without a rate has half of the next one. */
  g_assert_cmpuint(cj2k_layer_bytes(&layers, 0, 16000), ==, 2000);
  g_assert_cmpuint(cj2k_layer_bytes(&layers, 1, 16000), ==, 500);
  g_assert_cmpuint(cj2k_layer_bytes(&layers, 2, 16000), ==, 8000);
}

/* Option n of `num_planes` planes is the n-th plane from above; a block without an option has no
 * pass. */
static void test_ht_blocks(void)
{
  static const Cj2kFrameQuantiser quantiser = {.num_bitplanes = 12}, other = {.num_bitplanes = 11};
  uint8_t options[] = {0, 1, 3};
  uint32_t lengths[] = {0, 40, 90};
  Cj2kSelection selection = {.options = options, .lengths = lengths};
  Cj2kPlanBlock blocks[3] = {{0}};
  Cj2kPlan plan = {.num_blocks = 3, .num_bands = 1, .blocks = blocks};
  Cj2kEncodedBlock coded[3];
  Cj2kHtBlocks ht;

  cj2k_ht_blocks_init(&ht, &plan);
  cj2k_ht_blocks_describe(&ht, &plan, &quantiser, 2, 3, &selection);
  g_assert_cmpuint(ht.choices[0].passes, ==, 0);
  g_assert_cmpuint(ht.choices[1].passes, ==, 1);
  g_assert_cmpuint(ht.choices[1].plane, ==, 4);
  g_assert_cmpuint(ht.choices[2].plane, ==, 2);
  g_assert_cmpuint(ht.blocks[1].zero_bitplanes, ==, 12 - 1 - 4);
  g_assert_cmpuint(ht.passes[2].length, ==, 90);
  memcpy(coded, ht.blocks, sizeof coded);
  coded[0].zero_bitplanes++; /* irrelevant, because the block is not in the packet */
  g_assert_true(cj2k_ht_blocks_match(&ht, coded, 3));
  coded[2].length--;
  g_assert_false(cj2k_ht_blocks_match(&ht, coded, 3));

  /* Their room, from a coding at plane 0, if that was the last one. */
  Cj2kEncodedBlock all[] = {{.length = 10}, {.length = 60, .offset = 16}, {.length = 90}};
  g_assert_false(cj2k_ht_blocks_have_room(&ht, &plan, &quantiser, lengths));
  g_assert_cmpuint(cj2k_ht_blocks_coded(&ht, &plan, &quantiser, all, NULL), ==, 160);
  cj2k_ht_blocks_describe(&ht, &plan, &quantiser, 2, 3, &selection);
  g_assert_cmpuint(ht.blocks[1].offset, ==, 16);
  g_assert_true(cj2k_ht_blocks_have_room(&ht, &plan, &quantiser, lengths));
  g_assert_false(cj2k_ht_blocks_have_room(&ht, &plan, &other, lengths));
  lengths[2]++;
  cj2k_ht_blocks_describe(&ht, &plan, &quantiser, 2, 3, &selection);
  g_assert_false(cj2k_ht_blocks_have_room(&ht, &plan, &quantiser, lengths));
  ht.all_coded = false;
  lengths[2]--;
  cj2k_ht_blocks_describe(&ht, &plan, &quantiser, 2, 3, &selection);
  g_assert_false(cj2k_ht_blocks_have_room(&ht, &plan, &quantiser, lengths));
  cj2k_ht_blocks_clear(&ht);
}

static Cj2kStatus code_nothing(void *data, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                               Cj2kError *error)
{
  (void)data, (void)slot, (void)job, (void)error;
  return CJ2K_OK;
}

static Cj2kStatus place_nothing(void *data, Cj2kEncodeSlot *slot, const Cj2kPlaceJob *job,
                                Cj2kError *error)
{
  (void)data, (void)slot, (void)job, (void)error;
  return CJ2K_OK;
}

static Cj2kStatus wait_for_room(void *data, Cj2kEncodeSlot *slot, Cj2kEncodeResult *result,
                                Cj2kError *error)
{
  (void)data, (void)slot, (void)error;
  *result = (Cj2kEncodeResult){.keeps_room = true};
  return CJ2K_OK;
}

/* A back end that passes on what its devices say, but cannot place, does not code blocks again in
 * their room: several GPUs. */
static void test_room_without_place(void)
{
  const Cj2kCodeJob job = {.stride = 1};

  for (int places = 0; places < 2; places++) {
    const Cj2kEncodeBackend backend = {
        .code = code_nothing, .wait = wait_for_room, .place = places ? place_nothing : NULL};
    Cj2kFrameCoder coder = {.backend = &backend};
    Cj2kCodedBlocks coded;
    Cj2kError error = {0};
    uint64_t saturated;
    g_assert_cmpint(cj2k_coder_code(&coder, &job, &coded, &saturated, &error), ==, CJ2K_OK);
    g_assert_cmpint(coder.keeps_room, ==, places);
  }
}

/* The sum that is known more precisely is used; the energy is that of the first cut. */
static void test_error_of_cut(void)
{
  double energy = 0;

  g_assert_cmpfloat(cj2k_error_of_cut((Cj2kHullGains){90, 7}, 3, true, &energy), ==, 10);
  g_assert_cmpfloat(energy, ==, 100);
  g_assert_cmpfloat(cj2k_error_of_cut((Cj2kHullGains){20, 75}, 3, true, &energy), ==, 80);
  g_assert_cmpfloat(cj2k_error_of_cut((Cj2kHullGains){60, 7}, 3, false, &energy), ==, 40);
  g_assert_cmpfloat(cj2k_error_of_cut((Cj2kHullGains){99, 200}, 3, true, &energy), ==, 3);
}

static void test_strides(void)
{
  g_assert_cmpuint(cj2k_sample_stride(1), ==, 1);
  g_assert_cmpuint(cj2k_sample_stride(1279), ==, 1);
  g_assert_cmpuint(cj2k_sample_stride(1280), ==, 2);
  g_assert_cmpuint(cj2k_sample_stride(1u << 30), ==, 127);
  g_assert_cmpuint(cj2k_stride_at_most(0.5), ==, 1);
  g_assert_cmpuint(cj2k_stride_at_most(12.9), ==, 11);
  g_assert_cmpuint(cj2k_stride_at_most(1e9), ==, 61);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rate-parts/headers", test_headers);
  g_test_add_func("/rate-parts/base-search", test_base_search);
  g_test_add_func("/rate-parts/base-limits", test_base_limits);
  g_test_add_func("/rate-parts/ceilings", test_ceilings);
  g_test_add_func("/rate-parts/least", test_least);
  g_test_add_func("/rate-parts/history", test_history);
  g_test_add_func("/rate-parts/history-in-flight", test_history_in_flight);
  g_test_add_func("/rate-parts/period", test_period);
  g_test_add_func("/rate-parts/history-waits", test_history_waits);
  g_test_add_func("/rate-parts/history-interrupted", test_history_interrupted);
  g_test_add_func("/rate-parts/bucket-interrupted", test_bucket_interrupted);
  g_test_add_func("/rate-parts/withdrawal", test_withdrawal);
  g_test_add_func("/rate-parts/drift", test_drift);
  g_test_add_func("/rate-parts/layer-bytes", test_layer_bytes);
  g_test_add_func("/rate-parts/ht-blocks", test_ht_blocks);
  g_test_add_func("/rate-parts/room-without-place", test_room_without_place);
  g_test_add_func("/rate-parts/error-of-cut", test_error_of_cut);
  g_test_add_func("/rate-parts/strides", test_strides);
  return g_test_run();
}
