/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bench-elements FRAMES FILE CAPS DESCRIPTION
 *
 * Measures the speed of elements: pushes the contents of FILE as one buffer with these caps into
 * the bin DESCRIPTION. An element in it named "repeat" passes this buffer on repeatedly, so that it
 * is made or uploaded only once. Measured is the rate of buffers at the end of the bin, after some
 * for warming up. Prints one JSON object on one line.
 */
#include <gst/app/gstappsrc.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 96 /* more than may be in flight */

typedef struct {
  guint frames, out;
  gboolean repeating;
  gint64 begin, end;
} Bench;

static GstPadProbeReturn repeat(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Bench *bench = data;
  GstFlowReturn flow = GST_FLOW_OK;
  if (bench->repeating)
    return GST_PAD_PROBE_OK;
  bench->repeating = TRUE;
  for (guint i = 0; i < bench->frames + WARM_UP && flow == GST_FLOW_OK; i++) {
    GstBuffer *copy = gst_buffer_copy(GST_PAD_PROBE_INFO_BUFFER(info));
    GST_BUFFER_PTS(copy) = i * GST_MSECOND;
    GST_BUFFER_DURATION(copy) = GST_MSECOND;
    flow = gst_pad_push(pad, copy);
  }
  return GST_PAD_PROBE_DROP;
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Bench *bench = data;
  (void)pad, (void)info;
  bench->out++;
  if (bench->out == WARM_UP)
    bench->begin = g_get_monotonic_time();
  bench->end = g_get_monotonic_time();
  return GST_PAD_PROBE_OK;
}

static void add_probe(GstElement *pipeline, const gchar *name, const gchar *pad_name,
                      GstPadProbeCallback callback, Bench *bench)
{
  GstElement *element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstPad *pad = element ? gst_element_get_static_pad(element, pad_name) : NULL;
  if (!pad) {
    g_printerr("bench-elements: no element named %s\n", name);
    exit(2);
  }
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, bench, NULL);
  gst_object_unref(pad);
  gst_object_unref(element);
}

static void feed(GstElement *pipeline, const gchar *path, const gchar *caps_string)
{
  gchar *data;
  gsize size;
  if (!g_file_get_contents(path, &data, &size, NULL)) {
    g_printerr("bench-elements: %s cannot be read\n", path);
    exit(2);
  }
  GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "in");
  GstCaps *caps = gst_caps_from_string(caps_string);
  gst_app_src_set_caps(GST_APP_SRC(source), caps);
  g_object_set(source, "format", GST_FORMAT_TIME, NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBuffer *buffer = gst_buffer_new_wrapped(data, size);
  GST_BUFFER_PTS(buffer) = 0;
  gst_app_src_push_buffer(GST_APP_SRC(source), buffer);
  gst_app_src_end_of_stream(GST_APP_SRC(source));
  gst_caps_unref(caps);
  gst_object_unref(source);
}

/* Waits for EOS; FALSE: an error, which was printed. */
static gboolean wait_for_end(GstElement *pipeline)
{
  GError *error = NULL;
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (!message)
    g_printerr("bench-elements: no end within a minute\n");
  else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message, &error, NULL);
    g_printerr("bench-elements: %s\n", error->message);
    g_error_free(error);
  }
  gboolean ok = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  g_clear_pointer(&message, gst_message_unref);
  gst_object_unref(bus);
  return ok;
}

int main(int argc, char **argv)
{
  GError *error = NULL;
  gst_init(&argc, &argv);
  if (argc != 5 || atoi(argv[1]) < 1) {
    g_printerr("usage: bench-elements FRAMES FILE CAPS DESCRIPTION\n");
    return 2;
  }
  Bench bench = {.frames = (guint)atoi(argv[1])};
  gchar *description =
      g_strdup_printf("appsrc name=in ! %s ! fakesink name=out sync=false", argv[4]);
  GstElement *pipeline = gst_parse_launch(description, &error);
  if (error) {
    g_printerr("bench-elements: %s\n", error->message);
    return 2;
  }
  add_probe(pipeline, "repeat", "src", repeat, &bench);
  add_probe(pipeline, "out", "sink", count, &bench);
  feed(pipeline, argv[2], argv[3]);
  gboolean ok = wait_for_end(pipeline) && bench.out == bench.frames + WARM_UP;
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  g_free(description);
  if (!ok) {
    g_printerr("bench-elements: %u frames came out\n", bench.out);
    return 1;
  }
  gchar *escaped = g_strescape(argv[4], NULL);
  g_print("{\"elements\":\"%s\",\"file\":\"%s\",\"frames\":%u,\"fps\":%.2f}\n", escaped, argv[2],
          bench.frames, bench.frames / ((double)(bench.end - bench.begin) / 1e6));
  g_free(escaped);
  return 0;
}
