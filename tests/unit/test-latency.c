/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Latency profiles: the bytes are those of the parameters that they stand for; what the user has
 * set stays, and is refused where slices do not allow it. */
#include "encoder-pictures.h"

#include <string.h>

#define COMMON "block-coder=ht max-frame-bytes=9000 "

static GBytes *encode(const char *options, uint32_t height, bool halved, Cj2kError *error)
{
  static const uint8_t halves[] = {1, 2, 2};
  Cj2kEncoderParams params;
  TestPicture picture;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_picture_init(&picture, SCENE_NATURAL, 203, height, 3, 10, false, halved ? halves : NULL,
                    halved ? halves : NULL, 0, 0);
  GBytes *bytes = test_encode(&params, &picture, error);
  test_picture_clear(&picture);
  return bytes;
}

static const struct {
  const char *name, *profile, *parameters;
} sets[] = {
    {"frame", COMMON "latency-profile=frame", COMMON},
    {"low", COMMON "latency-profile=low",
     COMMON "slices=true progression-order=pcrl num-resolutions=6 codeblock-width=256 "
            "codeblock-height=16 precincts=32768x64,32768x32,32768x16,32768x8,32768x4,32768x2"},
    {"ultra", COMMON "latency-profile=ultra",
     COMMON "slices=true progression-order=pcrl num-resolutions=4 codeblock-width=256 "
            "codeblock-height=16 precincts=32768x32,32768x16,32768x8,32768x4"},
    {"own-levels", COMMON "latency-profile=low num-resolutions=3",
     COMMON "slices=true progression-order=pcrl num-resolutions=3 codeblock-width=256 "
            "codeblock-height=16 precincts=32768x64,32768x32,32768x16"},
    {"many-levels", COMMON "latency-profile=ultra num-resolutions=9",
     COMMON "slices=true progression-order=pcrl num-resolutions=9 codeblock-width=256 "
            "codeblock-height=16 precincts=32768x32,32768x16,32768x8,32768x4,32768x2"},
    {"own-blocks", COMMON "latency-profile=ultra codeblock-height=32",
     COMMON "slices=true progression-order=pcrl num-resolutions=4 codeblock-width=64 "
            "codeblock-height=32 precincts=32768x32,32768x16,32768x8,32768x4"},
    {"own-precincts", COMMON "latency-profile=low precincts=128x16,64x8",
     COMMON "slices=true progression-order=pcrl num-resolutions=6 codeblock-width=256 "
            "codeblock-height=16 precincts=128x16,64x8"},
};

static void test_sets(void)
{
  for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
    for (uint32_t halved = 0; halved < 2; halved++) {
      Cj2kError error = {0};
      GBytes *a = encode(sets[i].profile, 250, halved, &error);
      if (!a)
        g_error("%s: %s", sets[i].name, error.text);
      GBytes *b = encode(sets[i].parameters, 250, halved, &error);
      if (!b)
        g_error("%s: %s", sets[i].name, error.text);
      g_assert_cmpmem(g_bytes_get_data(a, NULL), g_bytes_get_size(a), g_bytes_get_data(b, NULL),
                      g_bytes_get_size(b));
      g_bytes_unref(a);
      g_bytes_unref(b);
    }
}

static void test_refused(void)
{
  static const struct {
    const char *options, *says;
  } cases[] = {
      {"latency-profile=low progression-order=rpcl", "pcrl"},
      {"latency-profile=low tile-width=64", "one tile"},
      {"latency-profile=ultra num-layers=2", "one layer"},
      {"latency-profile=ultra plt=true", "PLT"},
      {"latency-profile=low quality=80 max-frame-bytes=9000", "rate-control cbr"},
      {"latency-profile=low profile=imf-2k", "profile imf-2k"},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Cj2kError error = {0};
    GBytes *bytes = encode(cases[i].options, 100, false, &error);
    g_assert_null(bytes);
    g_assert_cmpint(error.code, ==, CJ2K_ERROR_ARGUMENT);
    if (!strstr(error.text, cases[i].says))
      g_error("%s: %s", cases[i].options, error.text);
  }
}

/* Pictures of any height, down to one row. */
static void test_heights(void)
{
  static const uint32_t heights[] = {1, 2, 31, 32, 33, 64, 65, 130};
  for (size_t i = 0; i < G_N_ELEMENTS(heights); i++)
    for (uint32_t ultra = 0; ultra < 2; ultra++) {
      Cj2kError error = {0};
      GBytes *bytes = encode(ultra ? "latency-profile=ultra block-coder=ht rate-control=lossless"
                                   : "latency-profile=low rate-control=lossless",
                             heights[i], true, &error);
      if (!bytes)
        g_error("%u rows: %s", heights[i], error.text);
      g_bytes_unref(bytes);
    }
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/latency/sets", test_sets);
  g_test_add_func("/latency/refused", test_refused);
  g_test_add_func("/latency/heights", test_heights);
  return g_test_run();
}
