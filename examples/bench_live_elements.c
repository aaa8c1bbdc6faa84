/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The elements cudaj2kenc and cudaj2kdec in cj2k-bench live. A pad of this program pushes pictures
 * into the encoder, another one takes those of the decoder: no further element, thread or clock
 * takes part in what is measured.
 */
#include "bench_live.h"

#include <gst/video/video.h>

typedef struct {
  GstElement *encoder, *decoder; /* NULL: the stream does without */
  GstPad *camera, *screen;
  GstBus *bus;
  GstVideoInfo info;
} Elements;

/* ------------------------------------------------------------------------------ properties --- */

/* Sets the properties that have the name of an option that was given. */
static void set_properties(GstElement *element, const EncodeOptions *options)
{
  const Cj2kOptionTable *table = options->tool.table;
  for (size_t i = 0; i < table->count; i++) {
    const char *name = table->options[i].name;
    if (options->tool.given[i] && g_object_class_find_property(G_OBJECT_GET_CLASS(element), name))
      gst_util_set_object_arg(G_OBJECT(element), name, options->tool.given[i]);
  }
}

static bool make_element(Elements *elements, const char *factory, const EncodeOptions *options,
                         GstElement **element, Cj2kError *error)
{
  *element = gst_element_factory_make(factory, NULL);
  if (!*element) {
    g_snprintf(error->text, sizeof error->text,
               "GStreamer finds no element %s; GST_PLUGIN_PATH names the plugin's folder", factory);
    return false;
  }
  gst_object_ref_sink(*element);
  gst_element_set_bus(*element, elements->bus);
  set_properties(*element, options);
  return true;
}

/* ------------------------------------------------------------------------------------ pads --- */

/* The number of a frame, from its timestamp. */
static uint32_t number_of(const LiveStream *stream, const GstBuffer *buffer)
{
  return (uint32_t)((double)GST_BUFFER_PTS(buffer) * stream->live->options->fps / GST_SECOND + 0.5);
}

static GstPadProbeReturn leaves_encoder(GstPad *pad, GstPadProbeInfo *probe, gpointer data)
{
  LiveStream *stream = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(probe);
  uint32_t i = number_of(stream, buffer);
  (void)pad;
  live_encoded(stream, i, gst_buffer_get_size(buffer));
  stream->handed_over[i % LIVE_RING] = g_get_monotonic_time();
  return GST_PAD_PROBE_OK;
}

static GstFlowReturn reach_screen(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  LiveStream *stream = gst_pad_get_element_private(pad);
  (void)parent;
  if (stream->live->options->decodes)
    live_decoded(stream, number_of(stream, buffer));
  gst_buffer_unref(buffer);
  return GST_FLOW_OK;
}

/* Links a pad to the element's pad of this name. */
static bool link_to(GstPad *pad, GstElement *element, const char *name)
{
  GstPad *other = gst_element_get_static_pad(element, name);
  bool source = gst_pad_get_direction(pad) == GST_PAD_SRC;
  GstPadLinkReturn linked = source ? gst_pad_link(pad, other) : gst_pad_link(other, pad);
  gst_object_unref(other);
  return linked == GST_PAD_LINK_OK;
}

static void watch_encoder(LiveStream *stream)
{
  Elements *elements = stream->codec;
  GstPad *pad = gst_element_get_static_pad(elements->encoder, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, leaves_encoder, stream, NULL);
  gst_object_unref(pad);
}

static bool link_elements(LiveStream *stream)
{
  Elements *elements = stream->codec;
  GstElement *first = elements->encoder ? elements->encoder : elements->decoder;
  GstElement *last = elements->decoder ? elements->decoder : elements->encoder;
  elements->camera = gst_pad_new("camera", GST_PAD_SRC);
  elements->screen = gst_pad_new("screen", GST_PAD_SINK);
  gst_pad_set_element_private(elements->screen, stream);
  gst_pad_set_chain_function(elements->screen, reach_screen);
  gst_pad_set_active(elements->screen, TRUE);
  gst_pad_set_active(elements->camera, TRUE);
  if (elements->encoder)
    watch_encoder(stream);
  return link_to(elements->camera, first, "sink") && link_to(elements->screen, last, "src") &&
         (first == last || gst_element_link(first, last));
}

/* --------------------------------------------------------------------------------- opening --- */

static bool set_info(LiveStream *stream, Cj2kError *error)
{
  Elements *elements = stream->codec;
  const LiveOptions *options = stream->live->options;
  const char *name = options->encode.format ? options->encode.format : "I422_10LE";
  GstVideoFormat format = gst_video_format_from_string(name);
  if (format == GST_VIDEO_FORMAT_UNKNOWN) {
    g_snprintf(error->text, sizeof error->text, "--format=%s is no format of GStreamer", name);
    return false;
  }
  gst_video_info_set_format(&elements->info, format, stream->live->film.image.width,
                            stream->live->film.image.height);
  gst_util_double_to_fraction(options->fps, &elements->info.fps_n, &elements->info.fps_d);
  return true;
}

/* What a source sends ahead of its first frame. */
static bool begin(LiveStream *stream)
{
  Elements *elements = stream->codec;
  GstCaps *caps = stream->live->options->encodes ? gst_video_info_to_caps(&elements->info)
                                                 : gst_caps_new_empty_simple("image/x-jpc");
  GstSegment segment;
  char *id = g_strdup_printf("stream-%u", stream->number);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  bool ok = gst_pad_push_event(elements->camera, gst_event_new_stream_start(id)) &&
            gst_pad_push_event(elements->camera, gst_event_new_caps(caps)) &&
            gst_pad_push_event(elements->camera, gst_event_new_segment(&segment));
  gst_caps_unref(caps);
  g_free(id);
  return ok;
}

static bool play(GstElement *element)
{
  return !element || gst_element_set_state(element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

/* The text of the first error on the bus; NULL: none (transfer full). */
static char *first_error(const Elements *elements)
{
  GstMessage *message = gst_bus_pop_filtered(elements->bus, GST_MESSAGE_ERROR);
  GError *error = NULL;
  if (!message)
    return NULL;
  gst_message_parse_error(message, &error, NULL);
  char *text = g_strdup(error->message);
  g_error_free(error);
  gst_message_unref(message);
  return text;
}

static bool open_elements(LiveStream *stream, Cj2kError *error)
{
  const LiveOptions *options = stream->live->options;
  Elements *elements = stream->codec = g_new0(Elements, 1);
  gst_init(NULL, NULL);
  elements->bus = gst_bus_new();
  if (!set_info(stream, error))
    return false;
  if (options->encodes &&
      !make_element(elements, "cudaj2kenc", &options->encode, &elements->encoder, error))
    return false;
  if (options->decodes &&
      !make_element(elements, "cudaj2kdec", &options->encode, &elements->decoder, error))
    return false;
  if (link_elements(stream) && play(elements->decoder) && play(elements->encoder) && begin(stream))
    return true;
  char *why = first_error(elements);
  g_snprintf(error->text, sizeof error->text, "the elements do not start: %s",
             why ? why : "pads or caps do not fit");
  g_free(why);
  return false;
}

/* --------------------------------------------------------------------------------- running --- */

/* Frame i of the film, as a buffer that points into it. */
static GstBuffer *picture_buffer(LiveStream *stream, uint32_t i)
{
  const Elements *elements = stream->codec;
  const BenchFilm *film = &stream->live->film;
  uint32_t n = film->input.layout.num_planes;
  Cj2kPlane planes[LIVE_MAX_PLANES];
  uint8_t *from = NULL, *to = NULL;
  gsize offset[GST_VIDEO_MAX_PLANES] = {0};
  gint stride[GST_VIDEO_MAX_PLANES] = {0};
  live_frame(stream, i, planes);
  for (uint32_t p = 0; p < n; p++) {
    uint8_t *data = planes[p].data;
    EncodePlane size = encode_plane(&film->input.layout, film->components, p);
    uint8_t *end = data + (size_t)(size.rows - 1) * planes[p].pitch + planes[p].row_bytes;
    from = p && from < data ? from : data;
    to = p && to > end ? to : end;
  }
  for (uint32_t p = 0; p < n; p++) {
    offset[p] = (gsize)((uint8_t *)planes[p].data - from);
    stride[p] = (gint)planes[p].pitch;
  }
  gsize bytes = (gsize)(to - from);
  GstBuffer *buffer =
      gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, from, bytes, 0, bytes, NULL, NULL);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                 GST_VIDEO_INFO_FORMAT(&elements->info), film->image.width,
                                 film->image.height, n, offset, stride);
  return buffer;
}

static GstBuffer *codestream_buffer(const LiveStream *stream, uint32_t i)
{
  const LiveBytes *bytes = live_codestream(stream, i);
  return gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, bytes->data, bytes->size, 0,
                                     bytes->size, NULL, NULL);
}

static void fail(LiveStream *stream, const char *why)
{
  char *text = first_error(stream->codec);
  live_fail(stream->live, "elements", text ? text : why);
  g_free(text);
}

static bool submit(LiveStream *stream, uint32_t i)
{
  Elements *elements = stream->codec;
  const LiveOptions *options = stream->live->options;
  GstBuffer *buffer = options->encodes ? picture_buffer(stream, i) : codestream_buffer(stream, i);
  GST_BUFFER_PTS(buffer) = (GstClockTime)(i * (double)GST_SECOND / options->fps);
  GST_BUFFER_DURATION(buffer) = (GstClockTime)(GST_SECOND / options->fps);
  if (!options->encodes)
    stream->handed_over[i % LIVE_RING] = g_get_monotonic_time();
  GstFlowReturn flow = gst_pad_push(elements->camera, buffer);
  if (flow != GST_FLOW_OK)
    fail(stream, gst_flow_get_name(flow));
  return flow == GST_FLOW_OK;
}

static gpointer pace(gpointer data)
{
  LiveStream *stream = data;
  Elements *elements = stream->codec;
  live_pace(stream);
  /* Returns when all frames have reached the screen. */
  if (!gst_pad_push_event(elements->camera, gst_event_new_eos()))
    fail(stream, "the end of the stream was refused");
  return NULL;
}

static void start(LiveStream *stream)
{
  stream->threads[0] = g_thread_new("camera", pace, stream);
}

static void close_element(GstElement *element)
{
  if (!element)
    return;
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(element);
}

static void close_elements(LiveStream *stream)
{
  Elements *elements = stream->codec;
  if (!elements)
    return;
  close_element(elements->encoder);
  close_element(elements->decoder);
  gst_clear_object(&elements->camera);
  gst_clear_object(&elements->screen);
  gst_object_unref(elements->bus);
  g_free(elements);
}

static const LiveWay way = {
    .open = open_elements, .start = start, .submit = submit, .close = close_elements};

const LiveWay *live_elements(void)
{
  return &way;
}
