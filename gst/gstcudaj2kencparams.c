/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The encoder's settings as properties, and the library's parameters that follow from them. */
#include "gstcudaj2kencprivate.h"

#include <string.h>

/* --------------------------------------------------------------------------------- types --- */

#define DEFINE_VALUES_TYPE(function, kind, Kind, name, ...)                                        \
  static GType function(void)                                                                      \
  {                                                                                                \
    static gsize type = 0;                                                                         \
    static const G##Kind##Value values[] = {__VA_ARGS__, {0, NULL, NULL}};                         \
    if (g_once_init_enter(&type)) {                                                                \
      GType made = g_##kind##_register_static(name, values);                                       \
      gst_type_mark_as_plugin_api(made, 0);                                                        \
      g_once_init_leave(&type, made);                                                              \
    }                                                                                              \
    return type;                                                                                   \
  }

/* clang-format off */
DEFINE_VALUES_TYPE(block_coder_type, enum, Enum, "GstCudaJ2kBlockCoder",
  { CJ2K_CODER_MQ, "JPEG 2000 Part 1 (MQ)", "mq" },
  { CJ2K_CODER_HT, "High-Throughput JPEG 2000 (HTJ2K)", "ht" })

DEFINE_VALUES_TYPE(rate_control_type, enum, Enum, "GstCudaJ2kRateControl",
  { CJ2K_RATE_QUALITY, "Constant quality by `quality`", "quality" },
  { CJ2K_RATE_LOSSLESS, "Lossless", "lossless" },
  { CJ2K_RATE_CBR, "No frame above its budget, by `bitrate`, `bits-per-pixel` or `max-frame-bytes`", "cbr" },
  { CJ2K_RATE_QSTEP, "Constant step size, by `quant-step`", "qstep" },
  { CJ2K_RATE_PSNR, "Constant PSNR, by `psnr`", "psnr" })

DEFINE_VALUES_TYPE(progression_type, enum, Enum, "GstCudaJ2kProgression",
  { CJ2K_LRCP, "Layer-resolution-component-position", "lrcp" },
  { CJ2K_RLCP, "Resolution-layer-component-position", "rlcp" },
  { CJ2K_RPCL, "Resolution-position-component-layer", "rpcl" },
  { CJ2K_PCRL, "Position-component-resolution-layer", "pcrl" },
  { CJ2K_CPRL, "Component-position-resolution-layer", "cprl" })

DEFINE_VALUES_TYPE(mct_type, enum, Enum, "GstCudaJ2kMct",
  { CJ2K_MCT_AUTO, "On for RGB", "auto" },
  { CJ2K_MCT_ON, "On", "on" },
  { CJ2K_MCT_OFF, "Off", "off" })

DEFINE_VALUES_TYPE(profile_type, enum, Enum, "GstCudaJ2kProfile",
  { CJ2K_PROFILE_NONE, "No profile", "none" },
  { CJ2K_PROFILE_CINEMA_2K, "Digital cinema 2K", "cinema-2k" },
  { CJ2K_PROFILE_CINEMA_4K, "Digital cinema 4K", "cinema-4k" },
  { CJ2K_PROFILE_BROADCAST_SINGLE, "Broadcast contribution, single tile", "broadcast-single" },
  { CJ2K_PROFILE_BROADCAST_MULTI, "Broadcast contribution, multi-tile", "broadcast-multi" },
  { CJ2K_PROFILE_BROADCAST_MULTI_R, "Broadcast contribution, multi-tile reversible", "broadcast-multi-r" },
  { CJ2K_PROFILE_IMF_2K, "Interoperable master 2K", "imf-2k" },
  { CJ2K_PROFILE_IMF_4K, "Interoperable master 4K", "imf-4k" },
  { CJ2K_PROFILE_IMF_8K, "Interoperable master 8K", "imf-8k" },
  { CJ2K_PROFILE_IMF_2K_R, "Interoperable master 2K, reversible", "imf-2k-r" },
  { CJ2K_PROFILE_IMF_4K_R, "Interoperable master 4K, reversible", "imf-4k-r" },
  { CJ2K_PROFILE_IMF_8K_R, "Interoperable master 8K, reversible", "imf-8k-r" })

#define TRANSFER(name) (CJ2K_TRANSFER_##name + 1)
DEFINE_VALUES_TYPE(transfer_type, enum, Enum, "GstCudaJ2kXyzTransfer",
  { 0, "As the colorimetry of the caps says", "auto" },
  { TRANSFER(BT709), "Camera curve of BT.709, BT.601 and BT.2020", "bt709" },
  { TRANSFER(SRGB), "sRGB (IEC 61966-2-1)", "srgb" },
  { TRANSFER(LINEAR), "Linear light", "linear" },
  { TRANSFER(GAMMA18), "Power of 1.8", "gamma18" },
  { TRANSFER(GAMMA20), "Power of 2.0", "gamma20" },
  { TRANSFER(GAMMA22), "Power of 2.2", "gamma22" },
  { TRANSFER(GAMMA24), "Power of 2.4 (BT.1886, a studio display)", "gamma24" },
  { TRANSFER(GAMMA26), "Power of 2.6 (digital cinema)", "gamma26" },
  { TRANSFER(GAMMA28), "Power of 2.8", "gamma28" })

DEFINE_VALUES_TYPE(style_type, flags, Flags, "GstCudaJ2kCodeblockStyle",
  { CJ2K_STYLE_BYPASS, "Selective arithmetic coding bypass", "bypass" },
  { CJ2K_STYLE_RESET, "Reset of contexts at pass ends", "reset" },
  { CJ2K_STYLE_TERMALL, "Termination at each pass", "termall" },
  { CJ2K_STYLE_CAUSAL, "Vertically causal contexts", "causal" },
  { CJ2K_STYLE_PTERM, "Predictable termination", "pterm" },
  { CJ2K_STYLE_SEGMARK, "Segmentation symbols", "segmark" })

DEFINE_VALUES_TYPE(tile_parts_type, flags, Flags, "GstCudaJ2kTileParts",
  { CJ2K_TILE_PARTS_RESOLUTION, "One for each resolution", "resolution" },
  { CJ2K_TILE_PARTS_LAYER, "One for each layer", "layer" },
  { CJ2K_TILE_PARTS_COMPONENT, "One for each component", "component" })
/* clang-format on */

/* --------------------------------------------------------------------------------- table --- */

typedef enum { BOOLEAN, INT, UINT, UINT64, DOUBLE, ENUM, FLAGS, STRING } Kind;

/* One property: where its value lies in GstCudaJ2kEncSettings, and in how many bytes. */
typedef struct {
  const gchar *name, *nick, *blurb;
  Kind kind;
  gdouble min, max, standard;
  gsize offset, size;
  GType (*type)(void);
  gboolean live; /* may change while playing */
} Setting;

#define IN(field)                                                                                  \
  G_STRUCT_OFFSET(GstCudaJ2kEncSettings, field), sizeof(((GstCudaJ2kEncSettings *)0)->field)
#define PARAM(field) IN(params.field)

/* clang-format off */
static const Setting table[] = {
  { "backend", "Back end", "What encodes: GPU or CPU",
    ENUM, 0, 0, CJ2K_BACKEND_AUTO, PARAM(backend), gst_cuda_j2k_backend_get_type, FALSE },
  { "cuda-device-id", "CUDA device", "Number of the GPU; -1 = the first usable",
    INT, -1, G_MAXINT, -1, PARAM(cuda_device), NULL, FALSE },
  { "num-threads", "Threads", "Threads on the CPU; 0 = one per core",
    UINT, 0, 1024, 0, PARAM(num_threads), NULL, FALSE },
  { "frames-in-flight", "Frames in flight",
    "Frames encoded at the same time; 1 = lowest latency, more = more frames per second; each beyond the first adds a frame duration to the latency",
    UINT, 1, 16, 2, PARAM(frames_in_flight), NULL, FALSE },
  { "block-coder", "Block coder", "Coder of the code-blocks: Part 1, or the faster HTJ2K that needs a decoder of its own",
    ENUM, 0, 0, CJ2K_CODER_MQ, PARAM(block_coder), block_coder_type, FALSE },
  { "rate-control", "Rate control", "What decides how many bytes a frame takes; cbr by itself when a rate is given",
    ENUM, 0, 0, CJ2K_RATE_QUALITY, PARAM(rate_control), rate_control_type, FALSE },
  { "quality", "Quality", "Quality factor, for rate-control=quality",
    UINT, 1, 100, 85, PARAM(quality), NULL, TRUE },
  { "bitrate", "Bit rate", "Bit rate in kbit/s, for rate-control=cbr; needs a frame rate in the caps; 0 = not by this",
    UINT, 0, G_MAXUINT, 0, IN(bitrate), NULL, TRUE },
  { "bits-per-pixel", "Bits per pixel", "Budget of a frame in bits per pixel, for rate-control=cbr; 0 = not by this",
    DOUBLE, 0, 1000, 0, PARAM(bits_per_pixel), NULL, TRUE },
  { "max-frame-bytes", "Bytes of a frame", "Ceiling of a frame in bytes; 0 = by the profile, or none",
    UINT64, 0, G_MAXUINT, 0, PARAM(max_frame_bytes), NULL, TRUE },
  { "max-component-bytes", "Bytes of a component", "Ceiling of each component of a frame in bytes; 0 = by the profile, or none",
    UINT64, 0, G_MAXUINT, 0, PARAM(max_component_bytes), NULL, TRUE },
  { "quant-step", "Step size", "Quantisation step of a signal of full range 1, for rate-control=qstep (for example 0.000244 = 1/4096)",
    DOUBLE, 0, 0.5, 0, PARAM(quant_step), NULL, TRUE },
  { "psnr", "PSNR", "Quality in dB, for rate-control=psnr",
    DOUBLE, 10, 120, 45, PARAM(psnr), NULL, TRUE },
  { "reversible-transform", "Reversible transform", "Use the 5/3 filter with rate-control=cbr too (lossless always does)",
    BOOLEAN, 0, 1, FALSE, PARAM(reversible_transform), NULL, FALSE },
  { "num-resolutions", "Resolutions", "Resolutions: decomposition levels + 1",
    INT, 1, CJ2K_MAX_LEVELS + 1, 6, PARAM(num_resolutions), NULL, FALSE },
  { "codeblock-width", "Code-block width", "Width of code-blocks in samples, a power of 2; width times height is at most 4096 (32 by some profiles)",
    UINT, 4, 1024, 64, PARAM(codeblock_width), NULL, FALSE },
  { "codeblock-height", "Code-block height", "Height of code-blocks in samples, a power of 2",
    UINT, 4, 1024, 64, PARAM(codeblock_height), NULL, FALSE },
  { "codeblock-style", "Code-block style", "Styles of block coding (T.800 table A.19); HTJ2K has only causal",
    FLAGS, 0, 0, 0, PARAM(codeblock_style), style_type, FALSE },
  { "progression-order", "Progression order", "Order of the packets (T.800 B.12)",
    ENUM, 0, 0, CJ2K_LRCP, PARAM(progression), progression_type, FALSE },
  { "num-layers", "Layers", "Quality layers",
    UINT, 1, CJ2K_MAX_LAYERS, 1, PARAM(num_layers), NULL, FALSE },
  { "layer-rates", "Layer rates", "Bits per pixel of each layer together with those before, such as \"0.5,1,2\"; empty = spread",
    STRING, 0, 0, 0, IN(layer_rates), NULL, FALSE },
  { "precincts", "Precincts", "Sizes of precincts from the highest resolution down, such as \"256x256,128x128\", the last repeated; empty = as large as can be",
    STRING, 0, 0, 0, IN(precincts), NULL, FALSE },
  { "tile-width", "Tile width", "Width of tiles in pixels; 0 = one tile",
    UINT, 0, G_MAXINT, 0, PARAM(tile_width), NULL, FALSE },
  { "tile-height", "Tile height", "Height of tiles in pixels; 0 = one tile",
    UINT, 0, G_MAXINT, 0, PARAM(tile_height), NULL, FALSE },
  { "tile-parts", "Tile-parts", "What begins a new tile-part",
    FLAGS, 0, 0, 0, PARAM(tile_parts), tile_parts_type, FALSE },
  { "mct", "Component transform", "Transform of the first three components (RCT or ICT)",
    ENUM, 0, 0, CJ2K_MCT_AUTO, PARAM(mct), mct_type, FALSE },
  { "xyz-transfer", "Transfer to X'Y'Z'", "Transfer curve of R'G'B' that a cinema profile converts to X'Y'Z'",
    ENUM, 0, 0, 0, IN(xyz_transfer), transfer_type, FALSE },
  { "guard-bits", "Guard bits", "Guard bits of the quantisation; 0 = 2, or what the profile has",
    UINT, 0, 7, 0, PARAM(guard_bits), NULL, FALSE },
  { "profile", "Profile", "Profile whose limits the codestreams keep; it sets what it dictates",
    ENUM, 0, 0, CJ2K_PROFILE_NONE, PARAM(profile), profile_type, FALSE },
  { "profile-strict", "Strict profile", "A property that contradicts the profile is an error; else it is overruled with a warning",
    BOOLEAN, 0, 1, TRUE, IN(profile_strict), NULL, FALSE },
  { "main-level", "Main level", "Main level of the broadcast and IMF profiles; 0 = no limit",
    UINT, 0, 11, 0, PARAM(main_level), NULL, FALSE },
  { "sub-level", "Sub-level", "Sub-level of the IMF profiles; 0 = no limit",
    UINT, 0, 9, 0, PARAM(sub_level), NULL, FALSE },
  { "sop", "SOP", "Write SOP marker segments",
    BOOLEAN, 0, 1, FALSE, PARAM(sop), NULL, FALSE },
  { "eph", "EPH", "Write EPH markers",
    BOOLEAN, 0, 1, FALSE, PARAM(eph), NULL, FALSE },
  { "tlm", "TLM", "Write TLM marker segments: the lengths of tile-parts",
    BOOLEAN, 0, 1, FALSE, PARAM(tlm), NULL, FALSE },
  { "plt", "PLT", "Write PLT marker segments: the lengths of packets",
    BOOLEAN, 0, 1, FALSE, PARAM(plt), NULL, FALSE },
  { "comment", "Comment", "Text of a COM marker segment; empty = none",
    STRING, 0, 0, 0, IN(comment), NULL, FALSE },
};
/* clang-format on */

static guint first; /* property id of table[0] */

static const Setting *find_setting(guint id)
{
  return id >= first && id - first < G_N_ELEMENTS(table) ? &table[id - first] : NULL;
}

/* ---------------------------------------------------------------------------- properties --- */

static GParamSpec *make_spec(const Setting *s)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  flags |= s->live ? GST_PARAM_MUTABLE_PLAYING : GST_PARAM_MUTABLE_READY;
  switch (s->kind) {
  case BOOLEAN: return g_param_spec_boolean(s->name, s->nick, s->blurb, s->standard != 0, flags);
  case INT:
    return g_param_spec_int(s->name, s->nick, s->blurb, (gint)s->min, (gint)s->max,
                            (gint)s->standard, flags);
  case UINT64: /* in the settings; a uint is enough for users */
  case UINT:
    return g_param_spec_uint(s->name, s->nick, s->blurb, (guint)s->min, (guint)s->max,
                             (guint)s->standard, flags);
  case DOUBLE:
    return g_param_spec_double(s->name, s->nick, s->blurb, s->min, s->max, s->standard, flags);
  case ENUM:
    return g_param_spec_enum(s->name, s->nick, s->blurb, s->type(), (gint)s->standard, flags);
  case FLAGS:
    return g_param_spec_flags(s->name, s->nick, s->blurb, s->type(), (guint)s->standard, flags);
  case STRING: break;
  }
  return g_param_spec_string(s->name, s->nick, s->blurb, NULL, flags);
}

guint gst_cuda_j2k_enc_install_settings(GObjectClass *klass, guint first_id)
{
  first = first_id;
  for (guint i = 0; i < G_N_ELEMENTS(table); i++)
    g_object_class_install_property(klass, first_id + i, make_spec(&table[i]));
  return first_id + G_N_ELEMENTS(table);
}

static void store(const Setting *s, gpointer at, guint64 value)
{
  switch (s->size) {
  case 1: *(guint8 *)at = (guint8)value; break;
  case 2: *(guint16 *)at = (guint16)value; break;
  case 4: *(guint32 *)at = (guint32)value; break;
  default: *(guint64 *)at = value; break;
  }
}

static guint64 load(const Setting *s, gconstpointer at)
{
  switch (s->size) {
  case 1: return *(const guint8 *)at;
  case 2: return *(const guint16 *)at;
  case 4: return *(const guint32 *)at;
  default: return *(const guint64 *)at;
  }
}

gboolean gst_cuda_j2k_enc_set_setting(GstCudaJ2kEncSettings *settings, guint id,
                                      const GValue *value, gboolean *live)
{
  const Setting *s = find_setting(id);
  if (!s)
    return FALSE;
  gpointer at = (guint8 *)settings + s->offset;
  switch (s->kind) {
  case BOOLEAN: store(s, at, (guint64)g_value_get_boolean(value)); break;
  case INT: store(s, at, (guint64)g_value_get_int(value)); break;
  case UINT:
  case UINT64: store(s, at, g_value_get_uint(value)); break;
  case DOUBLE: *(gdouble *)at = g_value_get_double(value); break;
  case ENUM: store(s, at, (guint64)g_value_get_enum(value)); break;
  case FLAGS: store(s, at, g_value_get_flags(value)); break;
  case STRING:
    g_free(*(gchar **)at);
    *(gchar **)at = g_value_dup_string(value);
    break;
  }
  if (at == (gpointer)&settings->params.rate_control)
    settings->rate_control_set = TRUE;
  *live = s->live;
  return TRUE;
}

gboolean gst_cuda_j2k_enc_get_setting(const GstCudaJ2kEncSettings *settings, guint id,
                                      GValue *value)
{
  const Setting *s = find_setting(id);
  if (!s)
    return FALSE;
  gconstpointer at = (const guint8 *)settings + s->offset;
  switch (s->kind) {
  case BOOLEAN: g_value_set_boolean(value, load(s, at) != 0); break;
  case INT: g_value_set_int(value, (gint)load(s, at)); break;
  case UINT:
  case UINT64: g_value_set_uint(value, (guint)load(s, at)); break;
  case DOUBLE: g_value_set_double(value, *(const gdouble *)at); break;
  case ENUM: g_value_set_enum(value, (gint)load(s, at)); break;
  case FLAGS: g_value_set_flags(value, (guint)load(s, at)); break;
  case STRING: g_value_set_string(value, *(gchar *const *)at); break;
  }
  return TRUE;
}

void gst_cuda_j2k_enc_settings_init(GstCudaJ2kEncSettings *settings)
{
  memset(settings, 0, sizeof *settings);
  cj2k_encoder_params_init(&settings->params);
  for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
    gpointer at = (guint8 *)settings + table[i].offset;
    if (table[i].kind == DOUBLE)
      *(gdouble *)at = table[i].standard;
    else if (table[i].kind != STRING)
      store(&table[i], at, (guint64)(gint64)table[i].standard);
  }
}

void gst_cuda_j2k_enc_settings_clear(GstCudaJ2kEncSettings *settings)
{
  g_free(settings->layer_rates);
  g_free(settings->precincts);
  g_free(settings->comment);
}

/* ---------------------------------------------------------------------------- parameters --- */

static gboolean parse_layer_rates(const gchar *text, Cj2kEncoderParams *params, gchar **reason)
{
  guint n = 0;
  while (text && *text) {
    gchar *end;
    gdouble rate = g_ascii_strtod(text, &end);
    if (end == text || (*end && *end != ',') || n == CJ2K_MAX_LAYERS) {
      *reason = g_strdup("layer-rates takes up to 64 numbers with commas between");
      return FALSE;
    }
    params->layer_rates[n++] = rate;
    text = *end ? end + 1 : end;
  }
  if (n && params->num_layers != 1 && params->num_layers != n) {
    *reason = g_strdup_printf("layer-rates has %u rates for num-layers=%u", n, params->num_layers);
    return FALSE;
  }
  if (n)
    params->num_layers = (uint16_t)n;
  return TRUE;
}

/* Exponent of a power of 2 up to 2^15 at *text, which moves on; -1: none. */
static gint parse_exponent(const gchar **text)
{
  gchar *end;
  guint64 size = g_ascii_strtoull(*text, &end, 10);
  gboolean ok = end != *text && size >= 1 && size <= 32768 && !(size & (size - 1));
  *text = end;
  return ok ? (gint)g_bit_storage((gulong)size) - 1 : -1;
}

static gboolean parse_precincts(const gchar *text, Cj2kEncoderParams *params, gchar **reason)
{
  while (text && *text) {
    guint n = params->num_precincts;
    gint width = parse_exponent(&text), height = width;
    if (*text == 'x') {
      text++;
      height = parse_exponent(&text);
    }
    if (width < 0 || height < 0 || (*text && *text != ',') || n > CJ2K_MAX_LEVELS) {
      *reason = g_strdup("precincts takes sizes such as 256x256 with commas between, their sides "
                         "powers of 2 up to 32768");
      return FALSE;
    }
    params->precinct_width[n] = (uint8_t)width;
    params->precinct_height[n] = (uint8_t)height;
    params->num_precincts++;
    text += *text == ',';
  }
  return TRUE;
}

/* The curve of R'G'B' that is converted to X'Y'Z'. */
static gboolean set_transfer(const GstCudaJ2kEncSettings *settings, const GstVideoInfo *info,
                             const GstCudaJ2kEncStream *stream, Cj2kEncoderParams *params,
                             gchar **reason)
{
  params->rgb_to_xyz = stream->rgb_to_xyz;
  if (!stream->rgb_to_xyz)
    return TRUE;
  if (settings->xyz_transfer) {
    params->xyz_transfer = (Cj2kTransfer)(settings->xyz_transfer - 1);
    return TRUE;
  }
  switch (info->colorimetry.transfer) {
  case GST_VIDEO_TRANSFER_UNKNOWN:
  case GST_VIDEO_TRANSFER_BT709:
  case GST_VIDEO_TRANSFER_BT601:
  case GST_VIDEO_TRANSFER_BT2020_10:
  case GST_VIDEO_TRANSFER_BT2020_12: params->xyz_transfer = CJ2K_TRANSFER_BT709; break;
  case GST_VIDEO_TRANSFER_SRGB: params->xyz_transfer = CJ2K_TRANSFER_SRGB; break;
  case GST_VIDEO_TRANSFER_GAMMA10: params->xyz_transfer = CJ2K_TRANSFER_LINEAR; break;
  case GST_VIDEO_TRANSFER_GAMMA18: params->xyz_transfer = CJ2K_TRANSFER_GAMMA18; break;
  case GST_VIDEO_TRANSFER_GAMMA20: params->xyz_transfer = CJ2K_TRANSFER_GAMMA20; break;
  case GST_VIDEO_TRANSFER_GAMMA22: params->xyz_transfer = CJ2K_TRANSFER_GAMMA22; break;
  case GST_VIDEO_TRANSFER_GAMMA28: params->xyz_transfer = CJ2K_TRANSFER_GAMMA28; break;
  default: {
    gchar *colorimetry = gst_video_colorimetry_to_string(&info->colorimetry);
    *reason = g_strdup_printf("R'G'B' of colorimetry %s has a transfer curve that cannot be "
                              "converted to X'Y'Z'; xyz-transfer names one that is taken instead",
                              colorimetry);
    g_free(colorimetry);
    return FALSE;
  }
  }
  return TRUE;
}

/* Ceilings of a frame become those of a field; a box around the codestream counts. */
static gboolean set_budget(const GstCudaJ2kEncSettings *settings, const GstVideoInfo *info,
                           const GstCudaJ2kEncStream *stream, Cj2kEncoderParams *params,
                           gchar **reason)
{
  const guint box = stream->media == GST_CUDA_J2K_J2C ? 8 : 0;
  const guint pictures = stream->fields ? 2 : 1;

  if (!settings->rate_control_set &&
      (settings->bitrate || params->bits_per_pixel > 0 || params->max_frame_bytes))
    params->rate_control = CJ2K_RATE_CBR;
  if (settings->bitrate && params->rate_control != CJ2K_RATE_CBR) {
    *reason = g_strdup_printf("bitrate=%u is a budget of rate-control=cbr and contradicts the "
                              "rate-control that was set",
                              settings->bitrate);
    return FALSE;
  }
  if (params->rate_control == CJ2K_RATE_CBR && params->profile == CJ2K_PROFILE_NONE &&
      !settings->bitrate && params->bits_per_pixel <= 0 && !params->max_frame_bytes) {
    *reason = g_strdup("rate-control=cbr needs bitrate, bits-per-pixel or max-frame-bytes");
    return FALSE;
  }
  if (settings->bitrate) {
    if (info->fps_n <= 0) {
      *reason = g_strdup("bitrate needs a frame rate in the caps; bits-per-pixel or "
                         "max-frame-bytes do not");
      return FALSE;
    }
    guint64 bytes = gst_util_uint64_scale((guint64)settings->bitrate * 125, (guint64)info->fps_d,
                                          (guint64)info->fps_n);
    params->max_frame_bytes =
        params->max_frame_bytes ? MIN(params->max_frame_bytes, bytes) : MAX(bytes, 1);
  }
  if (params->max_frame_bytes) {
    guint64 bytes = params->max_frame_bytes / pictures;
    params->max_frame_bytes = bytes > box ? bytes - box : 1;
  }
  params->max_component_bytes /= pictures;
  return TRUE;
}

gboolean gst_cuda_j2k_enc_make_params(const GstCudaJ2kEncSettings *settings,
                                      const GstVideoInfo *info, const GstCudaJ2kEncStream *stream,
                                      Cj2kEncoderParams *params, gchar **reason)
{
  *params = settings->params;
  params->profile_lenient = !settings->profile_strict;
  params->comment = settings->comment && *settings->comment ? settings->comment : NULL;
  if (info->fps_n > 0)
    params->frame_rate = (stream->fields ? 2.0 : 1.0) * info->fps_n / info->fps_d;
  if (stream->media == GST_CUDA_J2K_JP2)
    params->file_format = params->block_coder == CJ2K_CODER_HT ? CJ2K_FILE_JPH : CJ2K_FILE_JP2;
  return parse_layer_rates(settings->layer_rates, params, reason) &&
         parse_precincts(settings->precincts, params, reason) &&
         set_transfer(settings, info, stream, params, reason) &&
         set_budget(settings, info, stream, params, reason);
}
