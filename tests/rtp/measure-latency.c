/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * measure-latency [OPTION...] NAME ENCODER PAYLOADER
 *
 * Sends live video through encoder, payloader, depayloader and decoder of one process, and measures
 * the time from a picture that is handed to the encoder to the same picture out of the decoder, by
 * a clock that is written into it: 32 bits of microseconds, black and white squares in the first
 * and in the last rows, which are read back from the decoded samples. ENCODER and PAYLOADER are
 * properties of cudaj2kenc and rtpj2ksclpay. Prints a line with NAME and milliseconds for each
 * frame.
 */
#include <gst/app/app.h>
#include <gst/video/video.h>
#include <string.h>

#define SQUARE   8   /* pixels */
#define BITS     32  /* squares in a row */
#define PICTURES 4   /* that are sent in turn */
#define WARM_UP  10  /* frames that are not counted */
#define OVERHEAD 66  /* bytes of Ethernet, IP and UDP of a datagram */
#define BLACK    200 /* of 10 bits */
#define WHITE    800

static gchar *backend; /* of both elements; NULL: cpu */
static gint frames = 200, width = 1920, height = 1080, rate = 25, every = 1, link_mbit;

typedef struct {
  gint64 zero; /* of the clock in the pictures */
  gint arrived, broken;
  GString *lines;
  const gchar *name;
  GMutex lock;
  GCond changed;
  gint64 link_free; /* when the simulated link has sent what it got; its thread only */
} Run;

/* -------------------------------------------------------------------------------- pictures --- */

/* Waves and noise, which take more bits than the budget at any common rate. */
static GstBuffer *make_picture(const GstVideoInfo *info, guint phase)
{
  GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(info), NULL);
  GstVideoFrame frame;
  guint32 state = 1 + phase;
  g_assert(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
  for (guint c = 0; c < 3; c++)
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); y++) {
      guint16 *row = (guint16 *)((guint8 *)GST_VIDEO_FRAME_COMP_DATA(&frame, c) +
                                 (gsize)y * (gsize)GST_VIDEO_FRAME_COMP_STRIDE(&frame, (gint)c));
      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); x++) {
        gint wave = ABS((x + y / 2 + (gint)phase * 16) % 256 - 128);
        state = state * 1664525 + 1013904223;
        row[x] = (guint16)(400 + wave + (gint)(state >> 27));
      }
    }
  gst_video_frame_unmap(&frame);
  return buffer;
}

/* The luma row y of a mapped frame. */
static guint16 *luma(const GstVideoFrame *frame, gint y)
{
  return (guint16 *)((guint8 *)GST_VIDEO_FRAME_COMP_DATA(frame, 0) +
                     (gsize)y * (gsize)GST_VIDEO_FRAME_COMP_STRIDE(frame, 0));
}

static void write_clock(const GstVideoFrame *frame, gint first, guint32 value)
{
  for (gint y = first; y < first + SQUARE; y++)
    for (gint x = 0; x < BITS * SQUARE; x++)
      luma(frame, y)[x] = value >> (BITS - 1 - x / SQUARE) & 1 ? WHITE : BLACK;
}

static guint32 read_clock(const GstVideoFrame *frame, gint first)
{
  guint32 value = 0;
  for (gint bit = 0; bit < BITS; bit++) {
    guint sum = 0;
    for (gint y = 2; y < SQUARE - 2; y++)
      for (gint x = 2; x < SQUARE - 2; x++)
        sum += luma(frame, first + y)[bit * SQUARE + x];
    value = value << 1 | (sum > (SQUARE - 4) * (SQUARE - 4) * (BLACK + WHITE) / 2);
  }
  return value;
}

/* -------------------------------------------------------------------------------- pipeline --- */

static GstFlowReturn take_picture(GstAppSink *sink, gpointer data)
{
  Run *run = data;
  guint32 now = (guint32)(g_get_monotonic_time() - run->zero);
  GstSample *sample = gst_app_sink_pull_sample(sink);
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!sample)
    return GST_FLOW_EOS;
  g_assert(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  g_assert(gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ));
  guint32 first = read_clock(&frame, 0), last = read_clock(&frame, height - SQUARE);
  gst_video_frame_unmap(&frame);
  gst_sample_unref(sample);
  g_mutex_lock(&run->lock);
  if (first != last || first > now) {
    g_printerr("%s: frame %d: clocks %08x and %08x at %08x\n", run->name, run->arrived, first, last,
               now);
    run->broken++;
  }
  if (run->arrived++ >= WARM_UP)
    g_string_append_printf(run->lines, "%s\t%.3f\n", run->name, (now - first) / 1000.0);
  g_cond_signal(&run->changed);
  g_mutex_unlock(&run->lock);
  return GST_FLOW_OK;
}

static gboolean add_size(GstBuffer **buffer, guint index, gpointer data)
{
  gsize *size = data;
  (void)index;
  *size += gst_buffer_get_size(*buffer) + OVERHEAD;
  return TRUE;
}

/* Holds packets for the time that a link of this rate takes. */
static GstPadProbeReturn hold(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Run *run = data;
  gsize size = 0;
  (void)pad;
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST)
    gst_buffer_list_foreach(GST_PAD_PROBE_INFO_BUFFER_LIST(info), add_size, &size);
  else
    size = gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info)) + OVERHEAD;
  gint64 now = g_get_monotonic_time();
  run->link_free = MAX(run->link_free, now) + (gint64)size * 8 / link_mbit;
  if (run->link_free > now)
    g_usleep((gulong)(run->link_free - now));
  return GST_PAD_PROBE_OK;
}

static GstElement *make_pipeline(Run *run, const gchar *encoder, const gchar *payloader)
{
  GError *error = NULL;
  const gchar *kind = backend ? backend : "cpu";
  gchar *description = g_strdup_printf(
      "appsrc name=in is-live=true format=time "
      "caps=video/x-raw,format=I422_10LE,width=%d,height=%d,framerate=%d/1,colorimetry=bt709 "
      "! cudaj2kenc backend=%s frames-in-flight=1 %s ! rtpj2ksclpay %s "
      "! clocksync ! queue name=link max-size-buffers=0 max-size-bytes=0 max-size-time=0 "
      "! queue ! rtpj2kscldepay deadline=0 ! cudaj2kdec backend=%s frames-in-flight=1 qos=false "
      "! appsink name=out sync=false",
      width, height, rate, kind, encoder, payloader, kind);
  GstElement *pipeline = gst_parse_launch(description, &error);
  if (!pipeline || error)
    g_error("%s: %s", description, error->message);
  g_free(description);
  GstElement *out = gst_bin_get_by_name(GST_BIN(pipeline), "out");
  gst_app_sink_set_callbacks(GST_APP_SINK(out), &(GstAppSinkCallbacks){.new_sample = take_picture},
                             run, NULL);
  gst_object_unref(out);
  if (link_mbit > 0) {
    GstElement *link = gst_bin_get_by_name(GST_BIN(pipeline), "link");
    GstPad *pad = gst_element_get_static_pad(link, "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, hold, run,
                      NULL);
    gst_object_unref(pad);
    gst_object_unref(link);
  }
  return pipeline;
}

/* Sends each frame at its time, with the clock of that moment. */
static void send_frames(Run *run, GstElement *pipeline)
{
  GstElement *in = gst_bin_get_by_name(GST_BIN(pipeline), "in");
  GstBuffer *pictures[PICTURES];
  GstVideoInfo info;
  g_assert(
      gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I422_10LE, (guint)width, (guint)height));
  for (guint i = 0; i < PICTURES; i++)
    pictures[i] = make_picture(&info, i);
  gint64 start = g_get_monotonic_time() + 100000;
  for (gint i = 0; i < frames + WARM_UP; i++) {
    GstBuffer *buffer = gst_buffer_copy_deep(pictures[i % PICTURES]);
    GstVideoFrame frame;
    gint64 due = start + (gint64)i * every * G_USEC_PER_SEC / rate, now = g_get_monotonic_time();
    if (due > now)
      g_usleep((gulong)(due - now));
    g_assert(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE));
    guint32 clock = (guint32)(g_get_monotonic_time() - run->zero);
    write_clock(&frame, 0, clock);
    write_clock(&frame, height - SQUARE, clock);
    gst_video_frame_unmap(&frame);
    GST_BUFFER_PTS(buffer) = gst_element_get_current_running_time(pipeline);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / (guint)rate;
    gst_app_src_push_buffer(GST_APP_SRC(in), buffer);
  }
  gst_app_src_end_of_stream(GST_APP_SRC(in));
  for (guint i = 0; i < PICTURES; i++)
    gst_buffer_unref(pictures[i]);
  gst_object_unref(in);
}

int main(int argc, char **argv)
{
  const GOptionEntry entries[] = {
      {"frames", 0, 0, G_OPTION_ARG_INT, &frames, "Frames to measure", "N"},
      {"width", 0, 0, G_OPTION_ARG_INT, &width, "Columns, at least 256", "N"},
      {"height", 0, 0, G_OPTION_ARG_INT, &height, "Rows, at least 16", "N"},
      {"rate", 0, 0, G_OPTION_ARG_INT, &rate, "Frames per second", "N"},
      {"every", 0, 0, G_OPTION_ARG_INT, &every,
       "Send one of N frames, where the machine is too slow for all of them", "N"},
      {"link", 0, 0, G_OPTION_ARG_INT, &link_mbit, "Mbit/s of a simulated link; 0 = none", "N"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "Of encoder and decoder: cpu or cuda",
       "NAME"},
      G_OPTION_ENTRY_NULL};
  GOptionContext *context = g_option_context_new("NAME ENCODER PAYLOADER");
  GError *error = NULL;
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, gst_init_get_option_group());
  if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 4)
    g_error("%s", error ? error->message : "three arguments are needed");
  g_option_context_free(context);
  Run run = {.zero = g_get_monotonic_time(), .lines = g_string_new(NULL), .name = argv[1]};
  g_mutex_init(&run.lock);
  g_cond_init(&run.changed);
  GstElement *pipeline = make_pipeline(&run, argv[2], argv[3]);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  send_frames(&run, pipeline);
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message =
      gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  gboolean good = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  gst_clear_message(&message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  good &= run.arrived == frames + WARM_UP && run.broken == 0;
  g_print("%s", run.lines->str);
  if (!good)
    g_printerr("%d of %d frames arrived, %d with a clock that cannot be read\n", run.arrived,
               frames + WARM_UP, run.broken);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  g_string_free(run.lines, TRUE);
  gst_deinit();
  return good ? 0 : 1;
}
