/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The preset file: each preset loads and sets what its name promises; saving a preset and loading
 * it changes nothing. */
#include "harness.h"

#include <glib/gstdio.h>
#include <string.h>

static const struct {
  const gchar *name;
  GstVideoFormat format;
  guint rsiz;
  gboolean reversible;
} presets[] = {
    {"archive-lossless", GST_VIDEO_FORMAT_I422_10LE, 0, TRUE},
    {"contribution-ht", GST_VIDEO_FORMAT_I422_10LE, 0x4000, FALSE},
    {"contribution-mq", GST_VIDEO_FORMAT_I422_10LE, 0x0101, FALSE},
    {"dcp-2k", GST_VIDEO_FORMAT_GBR_12LE, 3, FALSE},
    {"dcp-4k", GST_VIDEO_FORMAT_GBR_12LE, 4, FALSE},
    {"proxy", GST_VIDEO_FORMAT_I420, 0x4000, FALSE},
};

static GstVideoInfo source_of(GstVideoFormat format)
{
  GstVideoInfo source = video(format, 256, 128);
  source.fps_n = 24;
  return source;
}

/* Encodes a frame with the current properties and returns the beginning of the codestream. */
static GBytes *encode(Rig *rig, const GstVideoInfo *source)
{
  GstBuffer *raw = pixels_buffer(source, 0);
  gpointer data;
  gsize size;

  gst_harness_set_src_caps(rig->h, gst_video_info_to_caps(source));
  if (push_frame(rig->h, raw, 0) != GST_FLOW_OK) {
    gchar *text = rig_message(rig, GST_MESSAGE_ERROR);
    g_error("%s", text);
  }
  GstBuffer *coded = gst_harness_pull(rig->h);
  gst_buffer_extract_dup(coded, 0, G_MAXSIZE, &data, &size);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  return g_bytes_new_take(data, size);
}

static guint read16_at(GBytes *bytes, gsize at)
{
  const guint8 *data = g_bytes_get_data(bytes, NULL);
  return (guint)data[at] << 8 | data[at + 1];
}

/* The wavelet transform in the COD marker segment (T.800 table A.20): 1 is the 5/3 filter. */
static guint transformation(GBytes *bytes)
{
  gsize at = 2;
  while (read16_at(bytes, at) != 0xFF52)
    at += 2 + read16_at(bytes, at + 2);
  return read16_at(bytes, at + 12) & 0xFF;
}

static void test_presets(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(presets); i++) {
    GstVideoInfo source = source_of(presets[i].format);
    Rig rig = rig_new("cudaj2kenc backend=cpu");
    GstElement *element = rig_element(&rig, "cudaj2kenc");
    /* Values that another preset may have set. */
    g_assert_true(gst_preset_load_preset(GST_PRESET(element), "contribution-mq"));
    if (!gst_preset_load_preset(GST_PRESET(element), presets[i].name))
      g_error("%s does not load", presets[i].name);
    GBytes *bytes = encode(&rig, &source);
    g_assert_cmphex(read16_at(bytes, 6), ==, presets[i].rsiz);
    g_assert_cmpuint(transformation(bytes), ==, presets[i].reversible);
    gchar *warning = rig_message(&rig, GST_MESSAGE_WARNING);
    if (warning)
      g_error("%s: %s", presets[i].name, warning);
    g_bytes_unref(bytes);
    gst_object_unref(element);
    rig_free(&rig);
  }
}

/* The file has exactly these presets, each with a comment. */
static void test_names(void)
{
  GstElement *element = gst_element_factory_make("cudaj2kenc", NULL);
  gchar **names = gst_preset_get_preset_names(GST_PRESET(element));

  g_assert_cmpuint(g_strv_length(names), ==, G_N_ELEMENTS(presets));
  for (guint i = 0; i < G_N_ELEMENTS(presets); i++) {
    gchar *comment = NULL;
    g_assert_true(g_strv_contains((const gchar *const *)names, presets[i].name));
    g_assert_true(gst_preset_get_meta(GST_PRESET(element), presets[i].name, "comment", &comment));
    g_assert_cmpuint(strlen(comment), >, 20);
    g_free(comment);
  }
  g_strfreev(names);
  gst_object_unref(element);
}

/* A saved preset sets every property, most of them to the default: the stream stays the same. */
static void test_saved(void)
{
  static const gchar *const settings[] = {
      "", "bits-per-pixel=2", "psnr=40", "quant-step=0.01", "profile=imf-2k-r", "quality=30"};
  for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
    GstVideoInfo source = source_of(GST_VIDEO_FORMAT_I422_10LE);
    GBytes *bytes[2];
    for (guint loaded = 0; loaded < 2; loaded++) {
      gchar *description =
          g_strdup_printf("cudaj2kenc backend=cpu %s", loaded ? "name=other" : settings[i]);
      Rig rig = rig_new(description);
      GstElement *element = rig_element(&rig, "cudaj2kenc");
      if (loaded)
        g_assert_true(gst_preset_load_preset(GST_PRESET(element), "saved"));
      else
        g_assert_true(gst_preset_save_preset(GST_PRESET(element), "saved"));
      bytes[loaded] = encode(&rig, &source);
      if (loaded)
        g_assert_true(gst_preset_delete_preset(GST_PRESET(element), "saved"));
      gst_object_unref(element);
      rig_free(&rig);
      g_free(description);
    }
    if (!g_bytes_equal(bytes[0], bytes[1]))
      g_error("%s: a saved preset changes the stream", settings[i]);
    g_bytes_unref(bytes[0]);
    g_bytes_unref(bytes[1]);
  }
}

int main(int argc, char **argv)
{
  gchar *folder = g_dir_make_tmp("cj2k-presets-XXXXXX", NULL);
  g_setenv("XDG_DATA_HOME", folder, TRUE); /* GStreamer saves presets below it */
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/presets/names", test_names);
  g_test_add_func("/presets/load", test_presets);
  g_test_add_func("/presets/saved", test_saved);
  int result = g_test_run();
  gchar *presets_folder = g_build_filename(folder, "gstreamer-1.0", "presets", NULL);
  gchar *file = g_build_filename(presets_folder, "GstCudaJ2kEnc.prs", NULL);
  gchar *parent = g_build_filename(folder, "gstreamer-1.0", NULL);
  g_remove(file);
  g_rmdir(presets_folder);
  g_rmdir(parent);
  g_rmdir(folder);
  g_free(file);
  g_free(presets_folder);
  g_free(parent);
  g_free(folder);
  return result;
}
