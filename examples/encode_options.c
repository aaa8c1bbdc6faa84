/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "encode_options.h"

#include "encode_input.h"
#include "image_curve.h"

#include "common/options/encoder_options.h"

#define MAX_SIDE 65535 /* of a raw file */

void encode_options_init(EncodeOptions *options)
{
  *options = (EncodeOptions){0};
  cj2k_encoder_params_init(&options->params);
  tool_options_init(&options->tool, &cj2k_encoder_options, &options->params);
}

void encode_options_clear(EncodeOptions *options)
{
  tool_options_clear(&options->tool);
  g_free(options->format);
}

static EncodeOptions *from_tool(gpointer data)
{
  return (EncodeOptions *)((char *)data - offsetof(EncodeOptions, tool));
}

static gboolean parse_side(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  EncodeOptions *options = from_tool(data);
  gint64 side;

  if (!tool_parse_integer(name, value, 1, MAX_SIDE, &side, error))
    return FALSE;
  *(g_str_has_suffix(name, "width") ? &options->width : &options->height) = (int)side;
  return TRUE;
}

static gboolean parse_format(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  EncodeOptions *options = from_tool(data);

  if (!encode_input_is_format(value)) {
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s: %.40s is not the name of a format, such as v210, P010_10LE or RGB_12LE", name,
                value);
    return FALSE;
  }
  g_free(options->format);
  options->format = g_strdup(value);
  return TRUE;
}

static gboolean parse_curve(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  (void)data;
  if (image_curve_set(value))
    return TRUE;
  g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: %.40s is not %s", name, value,
              IMAGE_CURVE_NAMES);
  return FALSE;
}

static gboolean parse_depth(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  gint64 depth;

  (void)data;
  if (!tool_parse_integer(name, value, 8, 16, &depth, error))
    return FALSE;
  image_curve_set_depth((uint8_t)depth);
  return TRUE;
}

static gboolean parse_cicp(const gchar *name, const gchar *value, gpointer data, GError **error)
{
  EncodeOptions *options = from_tool(data);
  gchar **words = g_strsplit(value, ",", -1);
  guint64 numbers[4] = {0}, count = g_strv_length(words);
  gboolean ok = count == 3 || count == 4;

  for (guint i = 0; ok && words[i]; i++)
    ok = g_ascii_string_to_unsigned(words[i], 10, i < 2, i == 3 ? 1 : 255, &numbers[i], NULL);
  g_strfreev(words);
  if (ok)
    options->cicp = (Cj2kCicp){(uint16_t)numbers[0], (uint16_t)numbers[1], (uint16_t)numbers[2],
                               count == 3 ? !numbers[2] : numbers[3] != 0};
  else
    g_set_error(
        error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
        "%s: %.40s is not three code points of H.273 and perhaps 0 or 1 for full range, such "
        "as 9,16,9,0",
        name, value);
  return ok;
}

GOptionGroup *encode_options_group(EncodeOptions *options)
{
  const GOptionEntry raw[] = {
      {"width", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_side, "Width of a raw file (1..65535)",
       "N"},
      {"height", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_side,
       "Height of a raw file (1..65535)", "N"},
      {"format", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_format,
       "Format of a raw file: GStreamer's name, as v210 or P010_10LE, or planes, as RGB_12LE or "
       "GRAY_10LE",
       "NAME"},
      {"exr-transfer", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_curve,
       "Curve from the linear light of an EXR file to samples: " IMAGE_CURVE_NAMES
       ", where 1.0 is 100 cd/m2 (srgb)",
       "NAME"},
      {"exr-depth", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_depth,
       "Bits of the samples of an EXR file (8..16; default 16)", "N"},
      {"cicp", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)parse_cicp,
       "Colours of a JP2 or JPH file by H.273: primaries, transfer, matrix and 1 for full range "
       "(left out: for RGB), such as 9,16,9,0",
       "P,T,M[,F]"},
      G_OPTION_ENTRY_NULL};
  GOptionGroup *group =
      tool_options_group(&options->tool, "encode", "Encoding:", "Encoding options");

  g_option_group_add_entries(group, raw);
  return group;
}
