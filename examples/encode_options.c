/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_options.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- options --- */

void encode_options_init(EncodeOptions *options)
{
  *options = (EncodeOptions){.cuda_device = -1,
                             .threads = -1,
                             .quality = -1,
                             .num_resolutions = -1,
                             .codeblock_width = -1,
                             .codeblock_height = -1,
                             .num_layers = -1,
                             .guard_bits = -1,
                             .main_level = -1,
                             .sub_level = -1,
                             .bitrate = -1,
                             .max_frame_bytes = -1,
                             .max_component_bytes = -1,
                             .bits_per_pixel = -1,
                             .quant_step = -1,
                             .psnr = -1,
                             .frame_rate = -1};
}

void encode_options_clear(EncodeOptions *options)
{
  char *strings[] = {options->backend,     options->block_coder, options->rate_control,
                     options->progression, options->style,       options->layer_rates,
                     options->precincts,   options->tile_parts,  options->mct,
                     options->profile,     options->comment,     options->format,
                     options->xyz_transfer};
  for (size_t i = 0; i < G_N_ELEMENTS(strings); i++)
    g_free(strings[i]);
}

/* What does it, and how much may come out. */
static void add_running(GOptionGroup *group, EncodeOptions *o)
{
  const GOptionEntry entries[] = {
      {"backend", 0, 0, G_OPTION_ARG_STRING, &o->backend, "auto, cpu or cuda", "NAME"},
      {"cuda-device-id", 0, 0, G_OPTION_ARG_INT, &o->cuda_device, "GPU (-1: first usable)", "N"},
      {"num-threads", 0, 0, G_OPTION_ARG_INT, &o->threads, "Threads (0: one a core)", "N"},
      {"threads", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT, &o->threads, NULL, NULL},
      {"block-coder", 0, 0, G_OPTION_ARG_STRING, &o->block_coder, "mq or ht (mq)", "NAME"},
      {"rate-control", 0, 0, G_OPTION_ARG_STRING, &o->rate_control,
       "quality, lossless, cbr, qstep or psnr (quality; cbr when a rate is given)", "NAME"},
      {"quality", 0, 0, G_OPTION_ARG_INT, &o->quality, "1 to 100 (85)", "N"},
      {"bitrate", 0, 0, G_OPTION_ARG_INT64, &o->bitrate, "kbit/s; needs --framerate", "N"},
      {"bits-per-pixel", 0, 0, G_OPTION_ARG_DOUBLE, &o->bits_per_pixel, "Budget of a frame", "X"},
      {"max-frame-bytes", 0, 0, G_OPTION_ARG_INT64, &o->max_frame_bytes, "Budget of a frame", "N"},
      {"max-component-bytes", 0, 0, G_OPTION_ARG_INT64, &o->max_component_bytes,
       "Budget of each component of a frame", "N"},
      {"quant-step", 0, 0, G_OPTION_ARG_DOUBLE, &o->quant_step, "Step, of full range 1", "X"},
      {"psnr", 0, 0, G_OPTION_ARG_DOUBLE, &o->psnr, "dB (45)", "X"},
      G_OPTION_ENTRY_NULL};
  g_option_group_add_entries(group, entries);
}

/* The transform, blocks and packets. */
static void add_coding(GOptionGroup *group, EncodeOptions *o)
{
  const GOptionEntry entries[] = {
      {"num-resolutions", 0, 0, G_OPTION_ARG_INT, &o->num_resolutions, "1 to 33 (6)", "N"},
      {"codeblock-width", 0, 0, G_OPTION_ARG_INT, &o->codeblock_width, "4 to 1024 (64)", "N"},
      {"codeblock-height", 0, 0, G_OPTION_ARG_INT, &o->codeblock_height, "4 to 1024 (64)", "N"},
      {"codeblock-style", 0, 0, G_OPTION_ARG_STRING, &o->style,
       "bypass+reset+termall+causal+pterm+segmark", "FLAGS"},
      {"progression-order", 0, 0, G_OPTION_ARG_STRING, &o->progression,
       "lrcp, rlcp, rpcl, pcrl or cprl (lrcp)", "NAME"},
      {"num-layers", 0, 0, G_OPTION_ARG_INT, &o->num_layers, "1 to 64 (1)", "N"},
      {"layer-rates", 0, 0, G_OPTION_ARG_STRING, &o->layer_rates,
       "Bits per pixel of each layer with those before", "X,X,..."},
      {"precincts", 0, 0, G_OPTION_ARG_STRING, &o->precincts,
       "Sizes from the highest resolution down", "WxH,..."},
      G_OPTION_ENTRY_NULL};
  g_option_group_add_entries(group, entries);
}

/* The canvas, profiles and marker segments. */
static void add_codestream(GOptionGroup *group, EncodeOptions *o)
{
  const GOptionEntry entries[] = {
      {"tile-width", 0, 0, G_OPTION_ARG_INT, &o->tile_width, "0: one tile", "N"},
      {"tile-height", 0, 0, G_OPTION_ARG_INT, &o->tile_height, "0: one tile", "N"},
      {"image-offset-x", 0, 0, G_OPTION_ARG_INT, &o->image_x0, "XOsiz", "N"},
      {"image-offset-y", 0, 0, G_OPTION_ARG_INT, &o->image_y0, "YOsiz", "N"},
      {"tile-offset-x", 0, 0, G_OPTION_ARG_INT, &o->tile_x0, "XTOsiz", "N"},
      {"tile-offset-y", 0, 0, G_OPTION_ARG_INT, &o->tile_y0, "YTOsiz", "N"},
      {"tile-parts", 0, 0, G_OPTION_ARG_STRING, &o->tile_parts, "resolution+layer+component",
       "FLAGS"},
      {"mct", 0, 0, G_OPTION_ARG_STRING, &o->mct, "auto, on or off (auto: for RGB)", "NAME"},
      {"reversible-transform", 0, 0, G_OPTION_ARG_NONE, &o->reversible, "5/3 filter with cbr too",
       NULL},
      {"guard-bits", 0, 0, G_OPTION_ARG_INT, &o->guard_bits, "1 to 7 (0: 2, or the profile's)",
       "N"},
      {"profile", 0, 0, G_OPTION_ARG_STRING, &o->profile,
       "none, cinema-2k, cinema-4k, broadcast-{single,multi,multi-r}, imf-{2k,4k,8k}[-r]", "NAME"},
      {"profile-lenient", 0, 0, G_OPTION_ARG_NONE, &o->lenient,
       "Overrule options that contradict the profile", NULL},
      {"main-level", 0, 0, G_OPTION_ARG_INT, &o->main_level, "Broadcast, IMF (0: none)", "N"},
      {"sub-level", 0, 0, G_OPTION_ARG_INT, &o->sub_level, "IMF (0: none)", "N"},
      {"framerate", 0, 0, G_OPTION_ARG_DOUBLE, &o->frame_rate, "For bitrate and profiles", "X"},
      {"sop", 0, 0, G_OPTION_ARG_NONE, &o->sop, "SOP marker segments", NULL},
      {"eph", 0, 0, G_OPTION_ARG_NONE, &o->eph, "EPH markers", NULL},
      {"tlm", 0, 0, G_OPTION_ARG_NONE, &o->tlm, "TLM marker segments", NULL},
      {"plt", 0, 0, G_OPTION_ARG_NONE, &o->plt, "PLT marker segments", NULL},
      {"comment", 0, 0, G_OPTION_ARG_STRING, &o->comment, "COM marker segment", "TEXT"},
      G_OPTION_ENTRY_NULL};
  g_option_group_add_entries(group, entries);
}

/* The picture that is read. */
static void add_picture(GOptionGroup *group, EncodeOptions *o)
{
  const GOptionEntry entries[] = {
      {"rgb-to-xyz", 0, 0, G_OPTION_ARG_NONE, &o->rgb_to_xyz, "Code 12 bit X'Y'Z' of R'G'B'", NULL},
      {"xyz-transfer", 0, 0, G_OPTION_ARG_STRING, &o->xyz_transfer,
       "Curve of R'G'B' for --rgb-to-xyz: bt709, srgb, linear, gamma18, gamma20, gamma22, gamma24, gamma26 or "
       "gamma28 (bt709)",
       "NAME"},
      {"width", 0, 0, G_OPTION_ARG_INT, &o->width, "Of a raw file", "N"},
      {"height", 0, 0, G_OPTION_ARG_INT, &o->height, "Of a raw file", "N"},
      {"format", 0, 0, G_OPTION_ARG_STRING, &o->format,
       "Of a raw file: GStreamer's name, v210 P010_10LE ..., or planes RGB_12LE GRAY_10LE ...",
       "NAME"},
      G_OPTION_ENTRY_NULL};
  g_option_group_add_entries(group, entries);
}

GOptionGroup *encode_options_group(EncodeOptions *options)
{
  GOptionGroup *group = g_option_group_new("encode", "Encoding:", "Encoding options", NULL, NULL);
  add_running(group, options);
  add_coding(group, options);
  add_codestream(group, options);
  add_picture(group, options);
  return group;
}

/* ---------------------------------------------------------------- words to parameters --- */

/* Index of `name` in a list that ends with NULL; -1: not there. */
static int find(const char *name, const char *const *names)
{
  for (int i = 0; names[i]; i++)
    if (!g_ascii_strcasecmp(name, names[i]))
      return i;
  return -1;
}

static bool choose(const char *option, const char *given, const char *const *names, int *value,
                   char *why)
{
  if (!given)
    return true;
  *value = find(given, names);
  return *value >= 0 || image_fail(why, "--%s: %s is not known", option, given);
}

/* Sum of the bits of words joined by '+' or ','. */
static bool flags(const char *option, const char *given, const char *const *names, uint8_t *value,
                  char *why)
{
  if (!given)
    return true;
  gchar **words = g_strsplit_set(given, "+,", -1);
  bool ok = true;
  for (char **word = words; *word && ok; word++) {
    int bit = find(*word, names);
    if (bit >= 0)
      *value |= (uint8_t)(1 << bit);
    else if (**word && strcmp(*word, "none"))
      ok = image_fail(why, "--%s: %s is not known", option, *word);
  }
  g_strfreev(words);
  return ok;
}

static bool parse_layer_rates(const char *given, Cj2kEncoderParams *params, char *why)
{
  if (!given)
    return true;
  gchar **words = g_strsplit(given, ",", -1);
  guint n = g_strv_length(words);
  bool ok = n <= CJ2K_MAX_LAYERS || image_fail(why, "--layer-rates: more than 64");
  for (guint i = 0; i < n && ok; i++)
    params->layer_rates[i] = g_ascii_strtod(words[i], NULL);
  if (ok && params->num_layers < n)
    params->num_layers = (uint16_t)n;
  g_strfreev(words);
  return ok;
}

static int exact_log2(guint64 n)
{
  int log = 0;
  while (n > 1 && !(n & 1)) {
    n >>= 1;
    log++;
  }
  return n == 1 && log <= 15 ? log : -1;
}

static bool parse_precincts(const char *given, Cj2kEncoderParams *params, char *why)
{
  if (!given)
    return true;
  gchar **words = g_strsplit(given, ",", -1);
  guint n = g_strv_length(words);
  bool ok = n <= CJ2K_MAX_LEVELS + 1 || image_fail(why, "--precincts: more than 33");
  for (guint i = 0; i < n && ok; i++) {
    char *end;
    int width = exact_log2(g_ascii_strtoull(words[i], &end, 10));
    int height = *end == 'x' ? exact_log2(g_ascii_strtoull(end + 1, NULL, 10)) : width;
    ok = (width >= 0 && height >= 0) ||
         image_fail(why, "--precincts: %s are not powers of 2 up to 32768", words[i]);
    params->precinct_width[i] = (uint8_t)width;
    params->precinct_height[i] = (uint8_t)height;
  }
  params->num_precincts = (uint8_t)n;
  g_strfreev(words);
  return ok;
}

/* Numbers that were given, range-checked by the encoder. */
static void set_numbers(const EncodeOptions *o, Cj2kEncoderParams *p)
{
  p->cuda_device = o->cuda_device;
  if (o->threads >= 0)
    p->num_threads = (uint32_t)o->threads;
  if (o->quality >= 0)
    p->quality = (uint32_t)o->quality;
  if (o->num_resolutions >= 0)
    p->num_resolutions = (uint8_t)MIN(o->num_resolutions, 255);
  if (o->codeblock_width >= 0)
    p->codeblock_width = (uint16_t)MIN(o->codeblock_width, 65535);
  if (o->codeblock_height >= 0)
    p->codeblock_height = (uint16_t)MIN(o->codeblock_height, 65535);
  if (o->num_layers >= 0)
    p->num_layers = (uint16_t)MIN(o->num_layers, 65535);
  if (o->guard_bits >= 0)
    p->guard_bits = (uint8_t)MIN(o->guard_bits, 255);
  if (o->main_level >= 0)
    p->main_level = (uint8_t)MIN(o->main_level, 255);
  if (o->sub_level >= 0)
    p->sub_level = (uint8_t)MIN(o->sub_level, 255);
  if (o->frame_rate >= 0)
    p->frame_rate = o->frame_rate;
  p->tile_width = (uint32_t)o->tile_width;
  p->tile_height = (uint32_t)o->tile_height;
  p->image_x0 = (uint32_t)o->image_x0;
  p->image_y0 = (uint32_t)o->image_y0;
  p->tile_x0 = (uint32_t)o->tile_x0;
  p->tile_y0 = (uint32_t)o->tile_y0;
}

static void set_switches(const EncodeOptions *o, Cj2kEncoderParams *p)
{
  p->reversible_transform = o->reversible;
  p->profile_lenient = o->lenient;
  p->sop = o->sop;
  p->eph = o->eph;
  p->tlm = o->tlm;
  p->plt = o->plt;
  p->rgb_to_xyz = o->rgb_to_xyz;
}

/* A rate that is given says which rate control is meant, unless that is given too. */
static bool set_rate(const EncodeOptions *o, Cj2kEncoderParams *p, char *why)
{
  if (o->bitrate > 0 && !(p->frame_rate > 0))
    return image_fail(why, "--bitrate needs --framerate");
  if (o->bitrate > 0 && o->rate_control && p->rate_control != CJ2K_RATE_CBR)
    return image_fail(why, "--bitrate is a budget of --rate-control=cbr, not %s", o->rate_control);
  if (o->bitrate > 0)
    p->max_frame_bytes = (uint64_t)((double)o->bitrate * 1000 / 8 / p->frame_rate);
  if (o->max_frame_bytes > 0)
    p->max_frame_bytes = (uint64_t)o->max_frame_bytes;
  if (o->max_component_bytes > 0)
    p->max_component_bytes = (uint64_t)o->max_component_bytes;
  if (o->bits_per_pixel > 0)
    p->bits_per_pixel = o->bits_per_pixel;
  if (o->quant_step >= 0)
    p->quant_step = o->quant_step;
  if (o->psnr >= 0)
    p->psnr = o->psnr;
  if (o->rate_control)
    return true;
  if (p->max_frame_bytes || p->bits_per_pixel > 0)
    p->rate_control = CJ2K_RATE_CBR;
  else if (o->quant_step >= 0)
    p->rate_control = CJ2K_RATE_QSTEP;
  else if (o->psnr >= 0)
    p->rate_control = CJ2K_RATE_PSNR;
  return true;
}

bool encode_options_params(const EncodeOptions *o, Cj2kEncoderParams *p, char *why)
{
  static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
  static const char *const coders[] = {"mq", "ht", NULL};
  static const char *const rates[] = {"quality", "lossless", "cbr", "qstep", "psnr", NULL};
  static const char *const orders[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl", NULL};
  static const char *const mcts[] = {"auto", "on", "off", NULL};
  static const char *const profiles[] = {"none",
                                         "cinema-2k",
                                         "cinema-4k",
                                         "broadcast-single",
                                         "broadcast-multi",
                                         "broadcast-multi-r",
                                         "imf-2k",
                                         "imf-4k",
                                         "imf-8k",
                                         "imf-2k-r",
                                         "imf-4k-r",
                                         "imf-8k-r",
                                         NULL};
  static const char *const styles[] = {"bypass", "reset",   "termall", "causal",
                                       "pterm",  "segmark", NULL};
  /* as Cj2kTransfer */
  static const char *const transfers[] = {"bt709",   "srgb",    "linear",  "gamma18", "gamma20",
                                          "gamma22", "gamma24", "gamma26", "gamma28", NULL};
  static const char *const parts[] = {"resolution", "layer", "component", NULL};
  int backend = 0, coder = 0, rate = 0, order = 0, mct = 0, profile = 0, transfer = 0;

  cj2k_encoder_params_init(p);
  set_numbers(o, p);
  rate = (int)p->rate_control;
  if (!choose("backend", o->backend, backends, &backend, why) ||
      !choose("block-coder", o->block_coder, coders, &coder, why) ||
      !choose("rate-control", o->rate_control, rates, &rate, why) ||
      !choose("progression-order", o->progression, orders, &order, why) ||
      !choose("mct", o->mct, mcts, &mct, why) ||
      !choose("profile", o->profile, profiles, &profile, why) ||
      !choose("xyz-transfer", o->xyz_transfer, transfers, &transfer, why) ||
      !flags("codeblock-style", o->style, styles, &p->codeblock_style, why) ||
      !flags("tile-parts", o->tile_parts, parts, &p->tile_parts, why) ||
      !parse_layer_rates(o->layer_rates, p, why) || !parse_precincts(o->precincts, p, why))
    return false;
  p->backend = (Cj2kBackendKind)backend;
  p->block_coder = (Cj2kBlockCoder)coder;
  p->rate_control = (Cj2kRateControl)rate;
  p->progression = (Cj2kProgression)order;
  p->mct = (Cj2kMct)mct;
  p->profile = (Cj2kProfile)profile;
  p->comment = o->comment;
  set_switches(o, p);
  p->xyz_transfer = (Cj2kTransfer)transfer;
  return set_rate(o, p, why);
}
