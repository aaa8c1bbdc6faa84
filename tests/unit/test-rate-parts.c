/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of rate control that need neither pictures nor a back end. */
#include "common/rate/base_search.h"
#include "common/rate/ceilings.h"
#include "common/rate/headers.h"
#include "common/rate/strides.h"

#include <glib.h>
#include <math.h>

/* Bits of a block's lengths and passes, counted by hand (T.800 B.10.6, B.10.7). */
static void test_block_bits(void)
{
  g_assert_cmpuint(cj2k_header_block_bits(0, 0), ==, 0);
  g_assert_cmpuint(cj2k_header_block_bits(1, 7), ==, 1 + 1 + 3);
  g_assert_cmpuint(cj2k_header_block_bits(1, 8), ==, 1 + 2 + 4); /* Lblock becomes 4 */
  g_assert_cmpuint(cj2k_header_block_bits(1, 1000), ==, 1 + 8 + 10);
  g_assert_cmpuint(cj2k_header_block_bits(4, 31), ==, 4 + 1 + 5); /* 3 + log2 (4) bits */
  g_assert_cmpuint(cj2k_header_block_bits(6, 31), ==, 9 + 1 + 5);
  g_assert_cmpuint(cj2k_header_block_bits(40, 1), ==, 16 + 1 + 8);
}

/* The bound is below what is expected, a stride stands for all blocks, and absent blocks that are
 * far from others are free. */
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

/* Sizes that fall with the base, smoothly, steeply and in jumps. */
static double size_of(int kind, double base)
{
  double size = 1000 * pow(base, -0.7);

  if (kind == 1)
    size = base > 0.1 ? 500 / base : 1e6 * pow(0.1 / base, 12);
  if (kind == 2)
    size = floor(size / 700) * 700;
  return size;
}

/* A search finds a size where there is one, or the two neighbours of the place where it jumps. */
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

/* Neither the least base nor the greatest is left. */
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

  g_assert_false(cj2k_ceilings_exist(&none));
  g_assert_true(cj2k_ceilings_fit(&none, &size));
  g_assert_true(cj2k_ceilings_exist(&frame));
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
  g_test_add_func("/rate-parts/block-bits", test_block_bits);
  g_test_add_func("/rate-parts/headers", test_headers);
  g_test_add_func("/rate-parts/base-search", test_base_search);
  g_test_add_func("/rate-parts/base-limits", test_base_limits);
  g_test_add_func("/rate-parts/ceilings", test_ceilings);
  g_test_add_func("/rate-parts/strides", test_strides);
  return g_test_run();
}
