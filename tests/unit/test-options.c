/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of options and statistics match their structs, and values are parsed correctly. */
#include "common/encoder/params.h"
#include "common/options/decoder_options.h"
#include "common/options/encoder_options.h"
#include "common/options/stats.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef union {
  Cj2kEncoderParams encoder;
  Cj2kDecoderParams decoder;
} Params;

static void init_encoder(Params *params)
{
  memset(params, 0, sizeof *params);
  cj2k_encoder_params_init(&params->encoder);
}

static void init_decoder(Params *params)
{
  memset(params, 0, sizeof *params);
  cj2k_decoder_params_init(&params->decoder);
}

static const struct {
  const Cj2kOptionTable *table;
  void (*init)(Params *params);
} tables[] = {{&cj2k_encoder_options, init_encoder}, {&cj2k_decoder_options, init_decoder}};

/* Calls `test` for each option of both tables, with parameters at their defaults. */
static void for_each(void (*test)(const Cj2kOption *option, Params *params))
{
  for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
    for (size_t i = 0; i < tables[t].table->count; i++) {
      Params params;
      tables[t].init(&params);
      test(&tables[t].table->options[i], &params);
    }
}

static bool is_number(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_INTEGER || option->kind == CJ2K_OPTION_NUMBER;
}

static bool is_text(const Cj2kOption *option)
{
  return option->kind == CJ2K_OPTION_TEXT || option->kind == CJ2K_OPTION_LIST;
}

/* --- the table itself --- */

static void check_entry(const Cj2kOption *option, Params *params)
{
  char text[40];

  (void)params;
  for (const char *c = option->name; *c; c++)
    g_assert_true(g_ascii_islower(*c) || *c == '-');
  g_assert_true(option->nick && option->blurb);
  g_assert_cmpuint(strlen(option->blurb), >, 10);
  if (is_number(option)) {
    g_assert_cmpfloat(option->min, <=, option->standard);
    g_assert_cmpfloat(option->standard, <=, option->max);
  }
  if (option->kind == CJ2K_OPTION_WORD || option->kind == CJ2K_OPTION_FLAGS)
    g_assert_true(option->words && option->type);
  cj2k_option_default(option, text, sizeof text);
  g_assert_cmpint(*text == 0, ==, is_text(option));
}

/* The value after the struct's init function is the default of the table. */
static void check_default(const Cj2kOption *option, Params *params)
{
  if (option->kind == CJ2K_OPTION_NUMBER)
    g_assert_cmpfloat(cj2k_option_get_number(option, params), ==, option->standard);
  else if (!is_text(option) && cj2k_option_get(option, params) != (int64_t)option->standard)
    g_error("%s is not its default after init", option->name);
}

static void test_table(void)
{
  for_each(check_entry);
  for_each(check_default);
  for (size_t t = 0; t < G_N_ELEMENTS(tables); t++) {
    Params params;
    tables[t].init(&params);
    g_assert_cmpint(cj2k_option_check(tables[t].table, &params, NULL), ==, CJ2K_OK);
  }
}

/* --- text --- */

/* The value is refused with a text that names the option, and the parameters are unchanged. */
static void assert_refused(const Cj2kOption *option, Params *params, const char *text)
{
  Params before;
  Cj2kError error;

  memset(&error, 0xff, sizeof error); /* of an earlier call, in a codestream */
  memcpy(&before, params, sizeof before);
  if (cj2k_option_parse(option, text, params, &error) != CJ2K_ERROR_ARGUMENT)
    g_error("%s: '%s' is accepted", option->name, text);
  g_assert_true(g_str_has_prefix(error.text, option->name));
  g_assert_cmpuint(error.marker, ==, 0);
  g_assert_cmpuint(error.offset, ==, 0);
  g_assert_cmpmem(&before, sizeof before, params, sizeof *params);
}

static void check_number_text(const Cj2kOption *option, Params *params)
{
  static const char *const never[] = {"",    "x",    "5junk", " 5",    "5 ",  "nan",
                                      "inf", "0x10", "--1",   "1e999", "1,0", "-nan"};
  char text[40];

  if (!is_number(option))
    return;
  for (size_t i = 0; i < G_N_ELEMENTS(never); i++)
    assert_refused(option, params, never[i]);
  for (int upper = 0; upper < 2; upper++) {
    double limit = upper ? option->max : option->min;
    g_snprintf(text, sizeof text, "%.17g", limit);
    g_assert_cmpint(cj2k_option_parse(option, text, params, NULL), ==, CJ2K_OK);
    double value = option->kind == CJ2K_OPTION_NUMBER ? cj2k_option_get_number(option, params)
                                                      : (double)cj2k_option_get(option, params);
    g_assert_cmpfloat(value, ==, limit);
    g_snprintf(text, sizeof text, "%.17g", limit + (upper ? 1 : -1));
    assert_refused(option, params, text);
  }
}

static void check_word_text(const Cj2kOption *option, Params *params)
{
  if (option->kind != CJ2K_OPTION_WORD && option->kind != CJ2K_OPTION_FLAGS)
    return;
  for (const Cj2kOptionWord *word = option->words; word->name; word++) {
    g_assert_cmpint(cj2k_option_parse(option, word->name, params, NULL), ==, CJ2K_OK);
    g_assert_cmpint(cj2k_option_get(option, params), ==, word->value);
  }
  assert_refused(option, params, "");
  assert_refused(option, params, "nothing-such");
  assert_refused(option, params, "+");
}

static void check_switch_text(const Cj2kOption *option, Params *params)
{
  if (!cj2k_option_is_switch(option))
    return;
  g_assert_cmpint(cj2k_option_parse(option, "off", params, NULL), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_option_get(option, params), ==, 0);
  g_assert_cmpint(cj2k_option_parse(option, "TRUE", params, NULL), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_option_get(option, params), ==, 1);
  assert_refused(option, params, "2");
  assert_refused(option, params, "");
}

static void test_text(void)
{
  for_each(check_number_text);
  for_each(check_word_text);
  for_each(check_switch_text);
}

static void test_lists(void)
{
  static const char *const rates[] = {"abc", "1,",  ",1",  "1,2,x", "1;2",   "-1",
                                      "nan", "1 2", "1e9", "inf",   "0x1,2", "1,,2"};
  static const char *const sizes[] = {"16junk", "16x",   "x16",    "0",   "65536", "48",
                                      "16,",    "16,,8", "16x16x", "-16", "16 ",   "1e2"};
  const Cj2kOption *layers = cj2k_option_find(&cj2k_encoder_options, "layer-rates");
  const Cj2kOption *precincts = cj2k_option_find(&cj2k_encoder_options, "precincts");
  Params params;
  Cj2kEncoderParams *p = &params.encoder;

  init_encoder(&params);
  for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
    assert_refused(layers, &params, rates[i]);
  for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
    assert_refused(precincts, &params, sizes[i]);
  g_assert_cmpint(cj2k_encoder_params_set(p, "layer-rates", "0.5,1,0", NULL), ==, CJ2K_OK);
  g_assert_cmpuint(p->num_layer_rates, ==, 3);
  g_assert_cmpfloat(p->layer_rates[0], ==, 0.5);
  g_assert_cmpfloat(p->layer_rates[1], ==, 1);
  g_assert_cmpint(cj2k_encoder_params_set(p, "precincts", "256x32768,1", NULL), ==, CJ2K_OK);
  g_assert_cmpuint(p->num_precincts, ==, 2);
  g_assert_cmpuint(p->precinct_width[0], ==, 8);
  g_assert_cmpuint(p->precinct_height[0], ==, 15);
  g_assert_cmpuint(p->precinct_width[1] + p->precinct_height[1], ==, 0);
  g_assert_cmpint(cj2k_encoder_params_set(p, "precincts", "", NULL), ==, CJ2K_OK);
  g_assert_cmpuint(p->num_precincts, ==, 0);
}

static void test_flags(void)
{
  Params params;

  init_encoder(&params);
  g_assert_cmpint(
      cj2k_encoder_params_set(&params.encoder, "codeblock-style", "bypass+causal", NULL), ==,
      CJ2K_OK);
  g_assert_cmphex(params.encoder.codeblock_style, ==, CJ2K_STYLE_BYPASS | CJ2K_STYLE_CAUSAL);
  g_assert_cmpint(cj2k_encoder_params_set(&params.encoder, "codeblock-style", "none", NULL), ==,
                  CJ2K_OK);
  g_assert_cmphex(params.encoder.codeblock_style, ==, 0);
}

static void test_names(void)
{
  Params params;
  Cj2kError error;

  init_encoder(&params);
  g_assert_cmpint(cj2k_encoder_params_set(&params.encoder, "qualitty", "1", &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "qualitty"));
  init_decoder(&params);
  g_assert_cmpint(cj2k_decoder_params_set(&params.decoder, "reduce", "33", &error), ==,
                  CJ2K_ERROR_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "0..32"));
  g_assert_cmpint(cj2k_decoder_params_set(&params.decoder, "quality", "1", &error), ==,
                  CJ2K_ERROR_ARGUMENT);
}

/* --- structs --- */

/* A field that is out of range is refused by the check, however the struct was filled in. */
static void check_range(const Cj2kOption *option, Params *params)
{
  const Cj2kOptionTable *table = cj2k_option_find(&cj2k_encoder_options, option->name) == option
                                     ? &cj2k_encoder_options
                                     : &cj2k_decoder_options;
  Cj2kError error = {0};

  if (is_text(option) || option->kind == CJ2K_OPTION_BOOLEAN)
    return;
  if (option->kind == CJ2K_OPTION_NUMBER) {
    const double bad[] = {-1, NAN, INFINITY, -INFINITY, nextafter(option->max, INFINITY)};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
      cj2k_option_set_number(option, params, bad[i]);
      g_assert_cmpint(cj2k_option_check(table, params, &error), ==, CJ2K_ERROR_ARGUMENT);
      g_assert_true(g_str_has_prefix(error.text, option->name));
    }
    return;
  }
  if (option->max >= ldexp(1, (int)option->size * 8) - 1)
    return; /* every value of this field is in range */
  cj2k_option_set(option, params,
                  option->kind == CJ2K_OPTION_INTEGER ? (int64_t)option->max + 1 : 0xC0);
  if (cj2k_option_check(table, params, &error) != CJ2K_ERROR_ARGUMENT)
    g_error("%s: accepts a value that is out of range", option->name);
  g_assert_true(g_str_has_prefix(error.text, option->name));
}

static void test_check(void)
{
  for_each(check_range);
}

/* Encoder and decoder treat frames_in_flight alike: 0 means 2, and more than 64 are refused. */
static void test_in_flight(void)
{
  const Cj2kComponent component = {.dx = 1, .dy = 1, .depth = 8};
  const Cj2kEncoderImage image = {
      .width = 8, .height = 8, .num_components = 1, .components = &component};
  const Cj2kSampleLayout samples = {
      .unit_bytes = 1, .unit_samples = 1, .word_bytes = 1, .depth = 8};
  const Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &samples};
  static const uint32_t counts[] = {0, 1, 64, 65, UINT32_MAX};

  for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
    Cj2kError refusal[2] = {0};
    Params encoder, decoder;
    init_encoder(&encoder);
    encoder.encoder.backend = CJ2K_BACKEND_CPU;
    encoder.encoder.frames_in_flight = counts[i];
    Cj2kEncoder *e = cj2k_encoder_open(&encoder.encoder, &image, &layout, &refusal[0]);
    init_decoder(&decoder);
    decoder.decoder.backend = CJ2K_BACKEND_CPU;
    decoder.decoder.frames_in_flight = counts[i];
    Cj2kDecoder *d = cj2k_decoder_open(&decoder.decoder, &refusal[1]);
    g_assert_true((e != NULL) == (counts[i] <= 64));
    g_assert_true((d != NULL) == (counts[i] <= 64));
    for (size_t k = 0; k < 2 && counts[i] > 64; k++) {
      g_assert_cmpint(refusal[k].code, ==, CJ2K_ERROR_ARGUMENT);
      g_assert_nonnull(strstr(refusal[k].text, "frames-in-flight"));
      g_assert_nonnull(strstr(refusal[k].text, "1..64"));
    }
    cj2k_encoder_close(e);
    cj2k_decoder_close(d);
  }
}

/* Conversions from numbers to bytes are defined for all values. */
static void test_whole_bytes(void)
{
  g_assert_cmpuint(cj2k_whole_bytes(0), ==, 0);
  g_assert_cmpuint(cj2k_whole_bytes(-1e300), ==, 0);
  g_assert_cmpuint(cj2k_whole_bytes(NAN), ==, 0);
  g_assert_cmpuint(cj2k_whole_bytes(INFINITY), ==, UINT64_MAX);
  g_assert_cmpuint(cj2k_whole_bytes(1e30), ==, UINT64_MAX);
  g_assert_cmpuint(cj2k_whole_bytes(17.9), ==, 17);
  g_assert_cmpuint(cj2k_whole_bytes(150000 * 125.0 / (30000 / 1001.0)), ==, 625625);
}

/* Every member of Cj2kStats but frames_in_flight is in the table: what is added once and subtracted
 * once is gone, and nothing of it stays behind. */
static void test_stats(void)
{
  Cj2kStats part = {0}, sum = {.frames_in_flight = 3};
  guint sums = 0;
  for (const Cj2kStatsField *field = cj2k_stats_fields; field->name; field++, sums++) {
    void *value = (char *)&part + field->offset;
    if (field->is_ms)
      *(double *)value = sums + 0.5;
    else
      *(uint64_t *)value = sums + 1;
  }
  g_assert_cmpuint((sums + 1) * sizeof(uint64_t), ==, sizeof part);
  cj2k_stats_add(&sum, &part);
  cj2k_stats_add(&sum, &part);
  g_assert_cmpuint(sum.frames, ==, 2 * part.frames);
  g_assert_cmpuint(sum.restored_blocks, ==, 2 * part.restored_blocks);
  g_assert_cmpfloat(sum.ms_total, ==, 2 * part.ms_total);
  cj2k_stats_subtract(&sum, &part);
  sum.frames_in_flight = 0;
  g_assert_cmpmem(&sum, sizeof sum, &part, sizeof part);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/options/table", test_table);
  g_test_add_func("/options/text", test_text);
  g_test_add_func("/options/lists", test_lists);
  g_test_add_func("/options/flags", test_flags);
  g_test_add_func("/options/names", test_names);
  g_test_add_func("/options/check", test_check);
  g_test_add_func("/options/frames-in-flight", test_in_flight);
  g_test_add_func("/options/whole-bytes", test_whole_bytes);
  g_test_add_func("/options/stats", test_stats);
  return g_test_run();
}
