/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudaj2kdec
 * @title: cudaj2kdec
 * @short_description: JPEG 2000 and HTJ2K decoder
 *
 * Decodes every codestream of JPEG 2000 Part 1 (Rec. ITU-T T.800) and of High-Throughput JPEG 2000
 * (Rec. ITU-T T.814), on an NVIDIA GPU where one is usable, else on the CPU; both give the same
 * samples.
 *
 * Size, depth and sub-sampling come from the codestream, so the caps need no field but the media
 * type: the decoder can follow `rtpj2kdepay`, `mxfdemux`, `qtdemux` and `tsdemux` directly. The raw
 * format is the one of the stream where downstream takes it, else the decoder packs into the
 * nearest that downstream takes (v210, UYVY, P010, ARGB64 ...). It never converts between colour
 * models or sub-samplings; videoconvert does.
 *
 * Up to #GstCudaJ2kDec:frames-in-flight frames are decoded at the same time. A frame leaves as soon
 * as it is done, also when no other follows.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=clip.mxf ! mxfdemux ! cudaj2kdec ! videoconvert ! autovideosink
 * ]| Plays a JPEG 2000 MXF file.
 * |[
 * gst-launch-1.0 udpsrc port=5004
 * caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000,sampling=YCbCr-4:2:2"
 * ! rtpjitterbuffer ! rtpj2kdepay ! cudaj2kdec frames-in-flight=1 ! videoconvert ! autovideosink
 * ]| Receives an RTP contribution stream with the lowest latency.
 * |[
 * gst-launch-1.0 filesrc location=still.jp2 ! image/jp2 ! cudaj2kdec reduce=2 ! videoconvert !
 * pngenc ! filesink location=preview.png
 * ]| Makes a preview of a quarter of the size.
 */
#include "gstcudaj2kdecprivate.h"
#include "gstcudaj2kmetas.h"
#include "gstcudaj2koptions.h"
#include "gstcudaj2kpinned.h"

#include "common/options/decoder_options.h"

GST_DEBUG_CATEGORY(gst_cuda_j2k_dec_debug);

enum {
  PROP_0,
  PROP_ACTIVE_BACKEND,
  PROP_STATS,
  PROP_STATS_INTERVAL,
  PROP_FIRST_OPTION, /* of the library's table; the last */
};

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS("image/x-jpc; image/x-j2c; image/jp2; "
                                            "image/x-jpc-striped, num-stripes = (int) [ 2, MAX ]"));

G_DEFINE_TYPE(GstCudaJ2kDec, gst_cuda_j2k_dec, GST_TYPE_VIDEO_DECODER)
#define DEC(object) ((GstCudaJ2kDec *)(object))

/* Above the elements of the openjpeg plugin, which know neither HT nor every depth. */
GST_ELEMENT_REGISTER_DEFINE(cudaj2kdec, "cudaj2kdec", GST_RANK_PRIMARY + 1, GST_TYPE_CUDA_J2K_DEC)

/* ---------------------------------------------------------------------------- properties --- */

static void get_stats(GstCudaJ2kDec *self, Cj2kStats *stats)
{
  GST_OBJECT_LOCK(self);
  *stats = self->last_stats;
  if (self->decoder)
    cj2k_decoder_get_stats(self->decoder, stats);
  GST_OBJECT_UNLOCK(self);
}

GstStructure *gst_cuda_j2k_dec_stats(GstCudaJ2kDec *self)
{
  Cj2kStats stats;
  get_stats(self, &stats);
  GstStructure *structure = gst_cuda_j2k_stats_structure(&stats);
  gst_cuda_j2k_meter_add_fields(&self->meter, &self->output, structure);
  return structure;
}

static Cj2kBackendKind active_backend(GstCudaJ2kDec *self)
{
  GST_OBJECT_LOCK(self);
  Cj2kBackendKind backend =
      self->decoder ? cj2k_decoder_backend(self->decoder) : self->params.backend;
  GST_OBJECT_UNLOCK(self);
  return backend;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  const Cj2kOption *option = gst_cuda_j2k_option(&cj2k_decoder_options, PROP_FIRST_OPTION, id);
  if (id == PROP_STATS_INTERVAL) {
    gst_cuda_j2k_meter_set_interval(&DEC(object)->meter, g_value_get_uint(value));
    return;
  }
  GST_OBJECT_LOCK(object);
  if (option)
    gst_cuda_j2k_option_set(option, &DEC(object)->params, value);
  GST_OBJECT_UNLOCK(object);
  if (!option)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kDec *self = DEC(object);
  if (id == PROP_STATS) {
    g_value_take_boxed(value, gst_cuda_j2k_dec_stats(self));
    return;
  }
  if (id == PROP_STATS_INTERVAL) {
    g_value_set_uint(value, gst_cuda_j2k_meter_get_interval(&self->meter));
    return;
  }
  if (id == PROP_ACTIVE_BACKEND) {
    g_value_set_enum(value, (gint)active_backend(self));
    return;
  }
  const Cj2kOption *option = gst_cuda_j2k_option(&cj2k_decoder_options, PROP_FIRST_OPTION, id);
  GST_OBJECT_LOCK(object);
  if (option)
    gst_cuda_j2k_option_get(option, &self->params, value);
  GST_OBJECT_UNLOCK(object);
  if (!option)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void install_properties(GObjectClass *klass)
{
  const GParamFlags only_read = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * GstCudaJ2kDec:stats-interval:
   *
   * When a frame leaves and this time has passed since the last message, an element message with
   * the structure of #GstCudaJ2kDec:stats is posted.
   */
  g_object_class_install_property(klass, PROP_STATS_INTERVAL, gst_cuda_j2k_meter_interval_pspec());

  g_object_class_install_property(
      klass, PROP_ACTIVE_BACKEND,
      g_param_spec_enum("active-backend", "Active back end",
                        "Back end in use; the property `backend` while stopped",
                        GST_TYPE_CUDA_J2K_BACKEND, CJ2K_BACKEND_AUTO, only_read));
  /**
   * GstCudaJ2kDec:stats:
   *
   * "application/x-cudaj2k-stats" with the guint64 fields "frames", "failed-frames",
   * "corrupt-blocks" (code-blocks that became zeros), "fallbacks" (frames that the CPU back end had
   * to do) and "bytes" (of codestreams), and the sums over all frames in milliseconds "header-ms",
   * "packets-ms", "block-coder-ms", "transform-ms" and "total-ms". Then what the element measured
   * itself: the guint64 fields "dropped-qos" and "dropped-errors"; the guint fields
   * "frames-in-flight" (inside now; each field and stripe counts), "waiting-input" and
   * "waiting-output" (1 while a frame waits for room, and while one waits for downstream); and
   * "latency-p50-ms" and "latency-p99-ms", from sink pad to source pad, of the last five seconds.
   */
  g_object_class_install_property(
      klass, PROP_STATS,
      g_param_spec_boxed("stats", "Statistics",
                         "Frames, corrupt code-blocks, fallbacks, bytes, and times by stage",
                         GST_TYPE_STRUCTURE, only_read));
  gst_cuda_j2k_options_install(klass, &cj2k_decoder_options, PROP_FIRST_OPTION);
}

/* -------------------------------------------------------------------------------- states --- */

static gboolean start(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  Cj2kError error = {0};
  GST_OBJECT_LOCK(self);
  Cj2kDecoderParams params = self->params;
  GST_OBJECT_UNLOCK(self);

  if (params.backend != CJ2K_BACKEND_CPU)
    gst_cuda_j2k_context_ensure(GST_ELEMENT(self), params.cuda_device, &self->context);
  params.cuda_context = gst_cuda_j2k_context_handle(self->context, &params.cuda_device);
  Cj2kDecoder *codec = cj2k_decoder_open(&params, &error);
  if (!codec) {
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &error);
    return FALSE;
  }
  GST_OBJECT_LOCK(self);
  self->decoder = codec;
  GST_OBJECT_UNLOCK(self);
  g_object_notify(G_OBJECT(self), "active-backend");
  GST_INFO_OBJECT(self, "back end %s", gst_cuda_j2k_backend_name(cj2k_decoder_backend(codec)));
  gst_cuda_j2k_check_cpu(GST_ELEMENT(self), cj2k_decoder_why_cpu(codec), &self->told_cpu);
  self->warned_alpha = self->told_fallback = self->told_failed = self->had_picture = FALSE;
  self->in_flight = params.frames_in_flight;
  gst_cuda_j2k_meter_start(&self->meter);
  self->video.width = 0;
  gst_cuda_j2k_framing_init(&self->framing, 1);
  g_atomic_int_set(&self->reconfigure, FALSE);
  gst_cuda_j2k_output_start(&self->output, "cudaj2kdec:src");
  return TRUE;
}

static gboolean stop(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  Cj2kStats stats = {0};

  gst_cuda_j2k_output_stop(&self->output);
  gst_cuda_j2k_dec_drop_picture(self);
  gst_cuda_j2k_dec_set_pool(self, NULL);
  if (self->decoder)
    cj2k_decoder_get_stats(self->decoder, &stats);
  GST_OBJECT_LOCK(self);
  Cj2kDecoder *codec = g_steal_pointer(&self->decoder);
  self->last_stats = stats;
  GST_OBJECT_UNLOCK(self);
  cj2k_decoder_close(codec);
  gst_clear_object((GstObject **)&self->context);
  g_clear_pointer(&self->input_state, gst_video_codec_state_unref);
  return TRUE;
}

static void update_latency(GstCudaJ2kDec *self)
{
  const GstVideoInfo *info = &self->input_state->info;
  GST_OBJECT_LOCK(self);
  guint extra = MAX(self->params.frames_in_flight, 1) - 1;
  GST_OBJECT_UNLOCK(self);
  g_atomic_int_set(&self->has_frame_rate, info->fps_n > 0); /* RTP carries none */
  GstClockTime latency = gst_cuda_j2k_meter_latency(&self->meter, extra, info->fps_n, info->fps_d);
  gst_video_decoder_set_latency(GST_VIDEO_DECODER(self), latency, latency);
}

static gboolean set_format(GstVideoDecoder *decoder, GstVideoCodecState *state)
{
  GstCudaJ2kDec *self = DEC(decoder);
  const GstStructure *s = gst_caps_get_structure(state->caps, 0);
  gint stripes = 0, fields = 0;

  /* An unfinished picture of the old caps gets no more parts. */
  gst_cuda_j2k_dec_drop_picture(self);
  if (self->input_state)
    gst_video_codec_state_unref(self->input_state);
  self->input_state = gst_video_codec_state_ref(state);
  self->input_changed = TRUE;
  self->is_striped = gst_structure_has_name(s, "image/x-jpc-striped");
  if (gst_structure_get_int(s, "num-stripes", &stripes))
    self->num_stripes = (guint)MAX(stripes, 1);
  gst_structure_get_int(s, "fields", &fields);
  self->two_fields =
      !self->is_striped && (fields == 2 || GST_VIDEO_INFO_IS_INTERLACED(&state->info));
  gst_cuda_j2k_framing_init(&self->framing, self->two_fields ? 2 : 1);
  update_latency(self);
  return TRUE;
}

static GstFlowReturn drain(GstVideoDecoder *decoder)
{
  return gst_cuda_j2k_output_drain(&DEC(decoder)->output);
}

static GstFlowReturn finish(GstVideoDecoder *decoder)
{
  gst_cuda_j2k_dec_drop_picture(DEC(decoder));
  return drain(decoder);
}

static gboolean flush(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  gst_cuda_j2k_dec_drop_picture(self);
  gst_cuda_j2k_output_flush(&self->output);
  gst_cuda_j2k_framing_init(&self->framing, self->two_fields ? 2 : 1);
  return TRUE;
}

/* ------------------------------------------------------------------------------- streaming --- */

/* Whatever downstream restricts, size and rate say nothing about the stream: the codestream has the
 * size, and `reduce` another one. */
static GstCaps *getcaps(GstVideoDecoder *decoder, GstCaps *filter)
{
  GstCaps *caps = gst_pad_get_pad_template_caps(GST_VIDEO_DECODER_SINK_PAD(decoder));
  if (!filter)
    return caps;
  GstCaps *filtered = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(caps);
  return filtered;
}

void gst_cuda_j2k_dec_set_pool(GstCudaJ2kDec *self, GstBufferPool *pool)
{
  GST_OBJECT_LOCK(self);
  GstBufferPool *old = self->pool;
  self->pool = pool;
  GST_OBJECT_UNLOCK(self);
  if (old)
    gst_object_unref(old);
}

/* Makes the streaming thread, which may wait for a buffer that downstream keeps, give up, or lets
 * it wait again. Called on any thread. */
static void set_pool_flushing(GstCudaJ2kDec *self, gboolean flushing)
{
  GST_OBJECT_LOCK(self);
  GstBufferPool *pool = self->pool ? gst_object_ref(self->pool) : NULL;
  GST_OBJECT_UNLOCK(self);
  if (!pool)
    return;
  gst_buffer_pool_set_flushing(pool, flushing);
  gst_object_unref(pool);
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    set_pool_flushing(DEC(element), TRUE);
  return GST_ELEMENT_CLASS(gst_cuda_j2k_dec_parent_class)->change_state(element, transition);
}

/* The base class of GStreamer before 1.26 sends a gap at once, ahead of frames in flight. */
static void finish_before_gap(GstCudaJ2kDec *self)
{
  GST_VIDEO_DECODER_STREAM_LOCK(self);
  gst_cuda_j2k_output_wait(&self->output);
  GST_VIDEO_DECODER_STREAM_UNLOCK(self);
}

static gboolean sink_event(GstVideoDecoder *decoder, GstEvent *event)
{
  GstCudaJ2kDec *self = DEC(decoder);
  const GstSegment *segment;
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_SEGMENT:
    gst_event_parse_segment(event, &segment);
    gst_video_decoder_set_packetized(decoder, segment->format == GST_FORMAT_TIME);
    gst_cuda_j2k_output_forget(&self->output);
    break;
  case GST_EVENT_STREAM_START: gst_cuda_j2k_output_forget(&self->output); break;
  case GST_EVENT_GAP: finish_before_gap(self); break;
  case GST_EVENT_FLUSH_START: set_pool_flushing(self, TRUE); break;
  case GST_EVENT_FLUSH_STOP: set_pool_flushing(self, FALSE); break;
  default: break;
  }
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->sink_event(decoder, event);
}

static gboolean src_event(GstVideoDecoder *decoder, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    gst_cuda_j2k_output_relinked(&DEC(decoder)->output);
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->src_event(decoder, event);
}

/* The base class negotiates on the output thread when downstream asks to reconfigure while a frame
 * is finished. It must not: the format may change, and the streaming thread uses the pool. That
 * thread negotiates before its next frame. */
static gboolean negotiate(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  if (gst_cuda_j2k_output_is_thread(&self->output)) {
    g_atomic_int_set(&self->reconfigure, TRUE);
    return TRUE;
  }
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->negotiate(decoder);
}

static GstFlowReturn have_frame(GstCudaJ2kDec *self, gsize size)
{
  gst_video_decoder_add_to_frame(GST_VIDEO_DECODER(self), (gint)size);
  gst_cuda_j2k_output_nest(&self->output);
  GstFlowReturn flow = gst_video_decoder_have_frame(GST_VIDEO_DECODER(self));
  gst_cuda_j2k_output_unnest(&self->output);
  return flow;
}

static GstFlowReturn forget_bytes(GstCudaJ2kDec *self, GstAdapter *adapter)
{
  gst_adapter_clear(adapter);
  gst_cuda_j2k_framing_init(&self->framing, self->framing.wanted);
  return GST_FLOW_ERROR;
}

/* A stream in bytes, from filesrc or multifilesrc, comes in pieces of any size. (jpeg2000parse
 * frames codestreams too, but not JP2 and JPH files.) */
static GstFlowReturn parse(GstVideoDecoder *decoder, GstVideoCodecFrame *frame, GstAdapter *adapter,
                           gboolean at_eos)
{
  GstCudaJ2kDec *self = DEC(decoder);
  guint64 at = self->framing.consumed;
  gsize size = 0;
  (void)frame;
  switch (gst_cuda_j2k_framing_next(&self->framing, adapter, at_eos, &size)) {
  case GST_CUDA_J2K_NEED_DATA: break;
  case GST_CUDA_J2K_FRAME: return have_frame(self, size);
  case GST_CUDA_J2K_SKIP:
    GST_WARNING_OBJECT(self, "%" G_GSIZE_FORMAT " bytes from %" G_GUINT64_FORMAT " on are no image",
                       size, at);
    gst_adapter_flush(adapter, size);
    return GST_FLOW_OK;
  case GST_CUDA_J2K_NO_START:
    GST_ELEMENT_ERROR(self, STREAM, WRONG_TYPE,
                      ("No JPEG 2000 image in the last %" G_GUINT64_FORMAT
                       " bytes, up to byte %" G_GUINT64_FORMAT " of the stream.",
                       self->framing.skipped, self->framing.consumed),
                      (NULL));
    return forget_bytes(self, adapter);
  case GST_CUDA_J2K_NO_END:
    GST_ELEMENT_ERROR(self, STREAM, DECODE,
                      ("The image that begins at byte %" G_GUINT64_FORMAT
                       " of the stream does not end within %" G_GSIZE_FORMAT " bytes.",
                       at + self->framing.walk.begin,
                       gst_adapter_available(adapter) - self->framing.walk.begin),
                      (NULL));
    return forget_bytes(self, adapter);
  }
  return GST_VIDEO_DECODER_FLOW_NEED_DATA;
}

/* With `reduce` what is said in pixels is said of fewer pixels. */
static gboolean transform_meta(GstVideoDecoder *decoder, GstVideoCodecFrame *frame, GstMeta *meta)
{
  GstCudaJ2kDec *self = DEC(decoder);
  GST_OBJECT_LOCK(self);
  guint reduce = self->params.reduce;
  GST_OBJECT_UNLOCK(self);
  if (reduce && frame->output_buffer &&
      gst_cuda_j2k_meta_reduce(frame->output_buffer, meta, reduce))
    return FALSE;
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)
      ->transform_meta(decoder, frame, meta);
}

static gboolean context_query(GstVideoDecoder *decoder, GstQuery *query)
{
  return gst_cuda_j2k_context_query(GST_ELEMENT(decoder), query, DEC(decoder)->context);
}

static gboolean src_query(GstVideoDecoder *decoder, GstQuery *query)
{
  return context_query(decoder, query) ||
         GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->src_query(decoder, query);
}

static gboolean sink_query(GstVideoDecoder *decoder, GstQuery *query)
{
  return context_query(decoder, query) ||
         GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->sink_query(decoder, query);
}

static void set_context(GstElement *element, GstContext *context)
{
  GstCudaJ2kDec *self = DEC(element);
  gst_cuda_j2k_context_set(element, context, self->params.cuda_device, &self->context);
  GST_ELEMENT_CLASS(gst_cuda_j2k_dec_parent_class)->set_context(element, context);
}

static gboolean decide_device_allocation(GstCudaJ2kDec *self, GstQuery *query, guint extra)
{
  GstCaps *caps;
  guint size = 0, min = 0, max = 0;
  GstBufferPool *theirs = NULL;
  gboolean offered = gst_query_get_n_allocation_pools(query) > 0;
  gst_query_parse_allocation(query, &caps, NULL);
  if (offered)
    gst_query_parse_nth_allocation_pool(query, 0, &theirs, &size, &min, &max);
  GstBufferPool *pool = gst_cuda_j2k_cuda_stream_pool(self->context, caps, min + extra, 0, theirs);
  gst_clear_object(&theirs);
  if (!pool)
    return FALSE;
  size = (guint)GST_VIDEO_INFO_SIZE(&self->info);
  if (offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min + extra, 0);
  else
    gst_query_add_allocation_pool(query, pool, size, min + extra, 0);
  gst_object_unref(pool);
  return TRUE;
}

/* Where downstream has no pool of its own. */
static void use_pinned_memory(GstCudaJ2kDec *self, GstStructure *config)
{
  if (cj2k_decoder_backend(self->decoder) != CJ2K_BACKEND_CUDA)
    return;
  GstAllocator *allocator =
      gst_cuda_j2k_pinned_allocator_new(self->context, self->params.cuda_device);
  if (!allocator)
    return;
  gst_buffer_pool_config_set_allocator(config, allocator, NULL);
  gst_object_unref(allocator);
}

/* The pool has to cover what is inside the codec, one picture that waits for room there, and one on
 * its way out, beside what downstream keeps. */
static gboolean decide_allocation(GstVideoDecoder *decoder, GstQuery *query)
{
  GstCudaJ2kDec *self = DEC(decoder);
  guint extra = MAX(self->params.frames_in_flight, 1) + 2;
  GstBufferPool *pool = NULL;
  guint size, min, max;
  gboolean offered = gst_query_get_n_allocation_pools(query) > 0;

  if (self->on_device)
    return decide_device_allocation(self, query, extra);
  if (!GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->decide_allocation(decoder, query))
    return FALSE;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  min += extra;
  if (max && max < min)
    max = min;
  GstStructure *config = gst_buffer_pool_get_config(pool);
  if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL))
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!offered)
    use_pinned_memory(self, config);
  gst_buffer_pool_set_config(pool, config);
  gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  gst_object_unref(pool);
  return TRUE;
}

/* --------------------------------------------------------------------------------- class --- */

static void finalize(GObject *object)
{
  /* A bin may give a context to an element that is stopped. */
  gst_clear_object((GstObject **)&DEC(object)->context);
  gst_cuda_j2k_output_clear(&DEC(object)->output);
  gst_cuda_j2k_meter_clear(&DEC(object)->meter);
  G_OBJECT_CLASS(gst_cuda_j2k_dec_parent_class)->finalize(object);
}

static void gst_cuda_j2k_dec_class_init(GstCudaJ2kDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstVideoDecoderClass *decoder_class = GST_VIDEO_DECODER_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_cuda_j2k_dec_debug, "cudaj2kdec", 0, "JPEG 2000 decoder");
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);
  element_class->set_context = set_context;
  element_class->change_state = change_state;

  GstCaps *raw = gst_cuda_j2k_add_cuda_caps(gst_cuda_j2k_formats_raw_caps());
  gst_element_class_add_pad_template(element_class,
                                     gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, raw));
  gst_caps_unref(raw);
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_set_static_metadata(
      element_class, "JPEG 2000 and HTJ2K decoder", "Codec/Decoder/Video/Image",
      "Decodes JPEG 2000 (T.800) and High-Throughput JPEG 2000 (T.814) on an NVIDIA GPU or the CPU",
      "The cudaj2k developers");
  gst_type_mark_as_plugin_api(GST_TYPE_CUDA_J2K_BACKEND, 0);

  decoder_class->start = start;
  decoder_class->stop = stop;
  decoder_class->set_format = set_format;
  decoder_class->getcaps = getcaps;
  decoder_class->sink_event = sink_event;
  decoder_class->src_event = src_event;
  decoder_class->negotiate = negotiate;
  decoder_class->src_query = src_query;
  decoder_class->sink_query = sink_query;
  decoder_class->parse = parse;
  decoder_class->transform_meta = transform_meta;
  decoder_class->handle_frame = gst_cuda_j2k_dec_handle_frame;
  decoder_class->drain = drain;
  decoder_class->finish = finish;
  decoder_class->flush = flush;
  decoder_class->decide_allocation = decide_allocation;
}

static void gst_cuda_j2k_dec_init(GstCudaJ2kDec *self)
{
  GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
  cj2k_decoder_params_init(&self->params);
  gst_cuda_j2k_output_init(&self->output, self, &decoder->stream_lock, gst_cuda_j2k_dec_output);
  gst_cuda_j2k_meter_init(&self->meter);
  gst_video_decoder_set_packetized(decoder, TRUE);
  gst_video_decoder_set_needs_format(decoder, TRUE);
  gst_video_decoder_set_use_default_pad_acceptcaps(decoder, TRUE);
  GST_PAD_SET_ACCEPT_TEMPLATE(GST_VIDEO_DECODER_SINK_PAD(decoder));
}
