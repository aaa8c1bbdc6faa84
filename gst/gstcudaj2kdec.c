/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudaj2kdec
 * @title: cudaj2kdec
 * @short_description: JPEG 2000 and HTJ2K decoder
 *
 * Decodes every codestream of JPEG 2000 Part 1 (Rec. ITU-T T.800) and of High-Throughput JPEG 2000
 * (Rec. ITU-T T.814), on an NVIDIA GPU if one is usable, otherwise on the CPU. Both give the same
 * samples.
 *
 * Size, depth and sub-sampling come from the codestream, so the caps need only the media type: the
 * decoder can follow `rtpj2kdepay`, `mxfdemux`, `qtdemux` and `tsdemux` directly. The raw format is
 * the stream's own if downstream accepts it; otherwise the decoder packs into the nearest format
 * that downstream accepts (v210, UYVY, P010, ARGB64 ...). It never converts between colour models
 * or sub-samplings; that is left to videoconvert.
 *
 * Up to #GstCudaJ2kDec:frames-in-flight frames are decoded at the same time. A frame is pushed as
 * soon as it is decoded, whether or not another follows.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=clip.mxf ! mxfdemux ! cudaj2kdec ! videoconvert ! autovideosink
 * ]| Plays a JPEG 2000 MXF file.
 * |[
 * gst-launch-1.0 udpsrc port=5004
 * caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000,sampling=YCbCr-4:2:2"
 * ! rtpjitterbuffer ! rtpj2kdepay ! cudaj2kdec frames-in-flight=1 ! videoconvert ! autovideosink
 * ]| Receives an RTP stream of RFC 5371.
 * |[
 * gst-launch-1.0 udpsrc port=5004 buffer-size=4000000
 * caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000-SCL"
 * ! rtpjitterbuffer latency=40 do-lost=true ! rtpj2kscldepay ! cudaj2kdec frames-in-flight=1
 * ! videoconvert ! autovideosink
 * ]| Receives an RTP contribution stream of RFC 9828 with low latency.
 * |[
 * gst-launch-1.0 filesrc location=still.jp2 ! image/jp2 ! cudaj2kdec reduce=2 ! videoconvert !
 * pngenc ! filesink location=preview.png
 * ]| Makes a preview of a quarter of the size.
 */
#include "gstcudaj2kdecprivate.h"
#include "gstcudaj2kmetas.h"

#include "common/options/decoder_options.h"

GST_DEBUG_CATEGORY(gst_cuda_j2k_dec_debug);

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("image/x-jpc, alignment = (string) { frame, subframe }; "
                    "image/x-jpc; image/x-j2c; image/jp2; "
                    "image/x-jpc-striped, num-stripes = (int) [ 2, MAX ]"));

G_DEFINE_TYPE(GstCudaJ2kDec, gst_cuda_j2k_dec, GST_TYPE_VIDEO_DECODER)
#define DEC(object) ((GstCudaJ2kDec *)(object))

/* Above the elements of the openjpeg plugin, which support neither HT nor all depths. */
GST_ELEMENT_REGISTER_DEFINE(cudaj2kdec, "cudaj2kdec", GST_RANK_PRIMARY + 1, GST_TYPE_CUDA_J2K_DEC)

/* --------------------------------------------------------------------------------- codec --- */

static void codec_close(gpointer object)
{
  cj2k_decoder_close(object);
}

static Cj2kBackendKind codec_backend(gconstpointer object)
{
  return cj2k_decoder_backend(object);
}

static const gchar *codec_why_cpu(gconstpointer object)
{
  return cj2k_decoder_why_cpu(object);
}

static void codec_get_stats(gpointer object, Cj2kStats *stats)
{
  cj2k_decoder_get_stats(object, stats);
}

static Cj2kStatus codec_set_in_flight(gpointer object, uint32_t frames, Cj2kError *error)
{
  return cj2k_decoder_set_frames_in_flight(object, frames, error);
}

static void codec_set_latency(GstElement *element, GstClockTime latency)
{
  gst_video_decoder_set_latency(GST_VIDEO_DECODER(element), latency, latency);
}

static const GstCudaJ2kCodecType codec_type = {
    .options = &cj2k_decoder_options,
    .close = codec_close,
    .backend = codec_backend,
    .why_cpu = codec_why_cpu,
    .get_stats = codec_get_stats,
    .set_in_flight = codec_set_in_flight,
    .set_latency = codec_set_latency,
    .receive = gst_cuda_j2k_dec_output,
};

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  gst_cuda_j2k_codec_set_property(&DEC(object)->codec, id, value, pspec);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  gst_cuda_j2k_codec_get_property(&DEC(object)->codec, id, value, pspec);
}

/* -------------------------------------------------------------------------------- states --- */

/* Replaces the pool that pictures come from (transfer full; NULL: none). */
static void set_pool(GstCudaJ2kDec *self, GstBufferPool *pool)
{
  GST_OBJECT_LOCK(self);
  GstBufferPool *old = self->pool;
  self->pool = pool;
  GST_OBJECT_UNLOCK(self);
  if (old)
    gst_object_unref(old);
}

static gboolean open_element(GstVideoDecoder *decoder)
{
  gst_cuda_j2k_codec_open(&DEC(decoder)->codec);
  return TRUE;
}

static gboolean close_element(GstVideoDecoder *decoder)
{
  gst_cuda_j2k_codec_close(&DEC(decoder)->codec);
  return TRUE;
}

static gboolean start(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  Cj2kError error = {0};
  GST_OBJECT_LOCK(self);
  Cj2kDecoderParams params = self->params;
  GST_OBJECT_UNLOCK(self);

  gst_cuda_j2k_codec_find_gpu(&self->codec);
  params.frames_in_flight = MAX(params.frames_in_flight, 1); /* until caps come */
  gst_cuda_j2k_in_flight_begin(&self->codec.in_flight, params.frames_in_flight, FALSE);
  gchar *devices = gst_cuda_j2k_codec_devices(&self->codec);
  params.cuda_devices = devices;
  params.cuda_context = gst_cuda_j2k_context_handle(self->codec.context, &params.cuda_device);
  Cj2kDecoder *object = cj2k_decoder_open(&params, &error);
  g_free(devices);
  if (!object) {
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &error);
    return FALSE;
  }
  self->warned_alpha = self->warned_more = self->failure_warned = self->had_picture = FALSE;
  self->output.video.width = 0;
  g_clear_pointer(&self->doubted, g_free);
  gst_cuda_j2k_framing_init(&self->framing, 1);
  g_atomic_int_set(&self->reconfigure, FALSE);
  if (!gst_cuda_j2k_codec_start(&self->codec, "cudaj2kdec:src")) {
    cj2k_decoder_close(object);
    return FALSE;
  }
  gst_cuda_j2k_codec_replace(&self->codec, object);
  g_object_notify(G_OBJECT(self), "active-backend");
  GST_INFO_OBJECT(self, "back end %s", gst_cuda_j2k_backend_name(cj2k_decoder_backend(object)));
  gst_cuda_j2k_codec_check_cpu(&self->codec);
  return TRUE;
}

static gboolean stop(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);

  gst_cuda_j2k_output_stop(&self->codec.output);
  gst_cuda_j2k_dec_drop_unfinished(self);
  gst_cuda_j2k_dec_drop_picture(self);
  set_pool(self, NULL);
  gst_cuda_j2k_codec_stop(&self->codec);
  g_clear_pointer(&self->input_state, gst_video_codec_state_unref);
  return TRUE;
}

/* Does a buffer hold a codestream for each field, by the caps? A file holds one image. */
static gboolean says_two_fields(const GstStructure *caps, const GstVideoInfo *info)
{
  gint fields = 0;
  if (gst_structure_has_name(caps, "image/x-jpc-striped") ||
      gst_structure_has_name(caps, "image/jp2"))
    return FALSE;
  if (gst_structure_get_int(caps, "fields", &fields))
    return fields == 2;
  return GST_VIDEO_INFO_IS_INTERLACED(info);
}

static gboolean set_format(GstVideoDecoder *decoder, GstVideoCodecState *state)
{
  GstCudaJ2kDec *self = DEC(decoder);
  const GstStructure *s = gst_caps_get_structure(state->caps, 0);
  gint stripes = 0;

  /* No more parts will arrive for an unfinished picture of the old caps. */
  gst_cuda_j2k_dec_end_unfinished(self);
  gst_cuda_j2k_dec_drop_picture(self);
  if (self->input_state)
    gst_video_codec_state_unref(self->input_state);
  self->input_state = gst_video_codec_state_ref(state);
  self->input_changed = TRUE;
  self->is_striped = gst_structure_has_name(s, "image/x-jpc-striped");
  if (gst_structure_get_int(s, "num-stripes", &stripes))
    self->num_stripes = (guint)MAX(stripes, 1);
  self->in_parts = gst_structure_has_name(s, "image/x-jpc") &&
                   !g_strcmp0(gst_structure_get_string(s, "alignment"), "subframe");
  self->two_fields = says_two_fields(s, &state->info);
  gst_cuda_j2k_framing_init(&self->framing, self->two_fields ? 2 : 1);
  guint parts = self->is_striped ? self->num_stripes : self->two_fields ? 2 : 1;
  gst_cuda_j2k_codec_begin_format(&self->codec, &state->info, parts);
  return TRUE;
}

static GstFlowReturn drain(GstVideoDecoder *decoder)
{
  return gst_cuda_j2k_output_drain(&DEC(decoder)->codec.output);
}

static GstFlowReturn finish(GstVideoDecoder *decoder)
{
  gst_cuda_j2k_dec_end_unfinished(DEC(decoder));
  gst_cuda_j2k_dec_drop_picture(DEC(decoder));
  return drain(decoder);
}

static gboolean flush(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  gst_cuda_j2k_dec_drop_unfinished(self);
  gst_cuda_j2k_dec_drop_picture(self);
  gst_cuda_j2k_output_flush(&self->codec.output);
  gst_cuda_j2k_framing_init(&self->framing, self->two_fields ? 2 : 1);
  return TRUE;
}

/* ------------------------------------------------------------------------------- streaming --- */

/* The pad template: restrictions of downstream on size and frame rate do not apply upstream. The
 * size comes from the codestream, and `reduce` changes it. */
static GstCaps *getcaps(GstVideoDecoder *decoder, GstCaps *filter)
{
  GstCaps *caps = gst_pad_get_pad_template_caps(GST_VIDEO_DECODER_SINK_PAD(decoder));
  if (!filter)
    return caps;
  GstCaps *filtered = gst_caps_intersect_full(filter, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(caps);
  return filtered;
}

/* While flushing, the streaming thread does not wait for a buffer of the pool that downstream
 * keeps. Called on any thread. */
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

/* No more buffers will arrive for an unfinished frame before this event. */
static void end_unfinished(GstCudaJ2kDec *self)
{
  GST_VIDEO_DECODER_STREAM_LOCK(self);
  gst_cuda_j2k_dec_end_unfinished(self);
  GST_VIDEO_DECODER_STREAM_UNLOCK(self);
}

static void wait_for_output(GstCudaJ2kDec *self)
{
  GST_VIDEO_DECODER_STREAM_LOCK(self);
  gst_cuda_j2k_output_wait(&self->codec.output);
  GST_VIDEO_DECODER_STREAM_UNLOCK(self);
}

/* The base class drops the segment event of a frame in flight before it calls flush(). Were that
 * frame pushed afterwards, it would have no segment, so nothing may be in flight by then. */
static void finish_before_flush(GstCudaJ2kDec *self)
{
  set_pool_flushing(self, FALSE);
  GST_VIDEO_DECODER_STREAM_LOCK(self);
  gst_cuda_j2k_output_flush(&self->codec.output);
  GST_VIDEO_DECODER_STREAM_UNLOCK(self);
}

static gboolean sink_event(GstVideoDecoder *decoder, GstEvent *event)
{
  GstCudaJ2kDec *self = DEC(decoder);
  const GstSegment *segment;
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_SEGMENT:
    end_unfinished(self);
    gst_event_parse_segment(event, &segment);
    gst_video_decoder_set_packetized(decoder, segment->format == GST_FORMAT_TIME);
    gst_cuda_j2k_output_forget(&self->codec.output);
    break;
  case GST_EVENT_STREAM_START:
    end_unfinished(self);
    gst_cuda_j2k_output_forget(&self->codec.output);
    break;
  case GST_EVENT_GAP:
    end_unfinished(self);
    /* Before GStreamer 1.26 the base class forwards a gap at once. */
    wait_for_output(self);
    break;
  case GST_EVENT_FLUSH_START: set_pool_flushing(self, TRUE); break;
  case GST_EVENT_FLUSH_STOP: finish_before_flush(self); break;
  default: break;
  }
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->sink_event(decoder, event);
}

static gboolean src_event(GstVideoDecoder *decoder, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    gst_cuda_j2k_output_relinked(&DEC(decoder)->codec.output);
  return GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->src_event(decoder, event);
}

/* When downstream asks to reconfigure while a frame is finished, the base class calls this on the
 * output thread. Negotiation there could change the format and the pool while the streaming thread
 * uses them, so the request is noted and the streaming thread negotiates before its next frame.
 * Each negotiation gives a new pool, also one that the base class begins, as it does at a gap. */
static gboolean negotiate(GstVideoDecoder *decoder)
{
  GstCudaJ2kDec *self = DEC(decoder);
  if (gst_cuda_j2k_output_is_thread(&self->codec.output)) {
    g_atomic_int_set(&self->reconfigure, TRUE);
    return TRUE;
  }
  if (!GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->negotiate(decoder))
    return FALSE;
  set_pool(self, gst_video_decoder_get_buffer_pool(decoder));
  return TRUE;
}

static GstFlowReturn have_frame(GstCudaJ2kDec *self, gsize size)
{
  gst_video_decoder_add_to_frame(GST_VIDEO_DECODER(self), (gint)size);
  gst_cuda_j2k_output_nest(&self->codec.output);
  GstFlowReturn flow = gst_video_decoder_have_frame(GST_VIDEO_DECODER(self));
  gst_cuda_j2k_output_unnest(&self->codec.output);
  return flow;
}

static GstFlowReturn forget_bytes(GstCudaJ2kDec *self, GstAdapter *adapter)
{
  gst_adapter_clear(adapter);
  gst_cuda_j2k_framing_init(&self->framing, self->framing.wanted);
  return GST_FLOW_ERROR;
}

/* Frames a byte stream, as filesrc or multifilesrc send it, in buffers of any size. (jpeg2000parse
 * frames codestreams, but not JP2 and JPH files.) */
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
    GST_WARNING_OBJECT(self,
                       "%" G_GSIZE_FORMAT " bytes at byte %" G_GUINT64_FORMAT " belong to no image",
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

/* With `reduce`, metadata in pixel coordinates is scaled to the smaller picture. */
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

static gboolean src_query(GstVideoDecoder *decoder, GstQuery *query)
{
  return gst_cuda_j2k_codec_query(&DEC(decoder)->codec, query) ||
         GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->src_query(decoder, query);
}

/* DRAIN: upstream wants its buffers back, also those of frames in flight. */
static gboolean sink_query(GstVideoDecoder *decoder, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN)
    wait_for_output(DEC(decoder));
  return gst_cuda_j2k_codec_query(&DEC(decoder)->codec, query) ||
         GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->sink_query(decoder, query);
}

static void set_context(GstElement *element, GstContext *context)
{
  gst_cuda_j2k_codec_set_context(&DEC(element)->codec, context);
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
  GstBufferPool *pool =
      gst_cuda_j2k_cuda_stream_pool(self->codec.context, caps, min + extra, 0, theirs);
  gst_clear_object(&theirs);
  if (!pool)
    return FALSE;
  size = (guint)GST_VIDEO_INFO_SIZE(&self->output.info);
  if (offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min + extra, 0);
  else
    gst_query_add_allocation_pool(query, pool, size, min + extra, 0);
  gst_object_unref(pool);
  return TRUE;
}

/* Sets a pool up for the pictures of the query. `allocator`: NULL if the pool has one. FALSE: it
 * refuses. */
static gboolean set_up_pool(GstBufferPool *pool, GstQuery *query, guint size, guint min, guint max,
                            GstAllocator *allocator, const GstAllocationParams *params)
{
  GstCaps *caps;
  gst_query_parse_allocation(query, &caps, NULL);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, size, min, max);
  if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL))
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (params)
    gst_buffer_pool_config_set_allocator(config, allocator, params);
  return gst_buffer_pool_set_config(pool, config);
}

/* A pool without a limit, of page-locked memory if a GPU is in use, else of memory of the allocator
 * that the query names. */
static GstBufferPool *own_pool(GstCudaJ2kDec *self, GstQuery *query, guint size, guint min)
{
  GstBufferPool *pool = gst_video_buffer_pool_new();
  GstAllocator *allocator = NULL;
  GstAllocationParams params;
  gst_query_parse_nth_allocation_param(query, 0, &allocator, &params);
  GstAllocator *pinned = gst_cuda_j2k_codec_pinned_allocator(&self->codec);
  if (pinned) {
    gst_clear_object(&allocator);
    allocator = pinned;
    gst_allocation_params_init(&params);
  }
  gboolean ok = set_up_pool(pool, query, size, min, 0, allocator, &params);
  gst_clear_object(&allocator);
  if (!ok)
    gst_clear_object(&pool);
  return pool;
}

/* Beside the buffers that downstream keeps, the pool needs one for each frame in flight, one for a
 * picture that waits for room in the codec, and one for a picture being pushed. A pool that
 * downstream offers and that cannot have as many is not used: with all of them in downstream's
 * hands the decoder would wait for ever. They are allocated when they are needed, because there may
 * never be so many frames in flight. */
static gboolean decide_allocation(GstVideoDecoder *decoder, GstQuery *query)
{
  GstCudaJ2kDec *self = DEC(decoder);
  guint extra = gst_cuda_j2k_codec_in_flight(&self->codec) + 2;
  GstBufferPool *pool = NULL;
  guint size, min, max;
  gboolean offered = gst_query_get_n_allocation_pools(query) > 0;

  if (self->output.on_device)
    return decide_device_allocation(self, query, extra);
  if (!GST_VIDEO_DECODER_CLASS(gst_cuda_j2k_dec_parent_class)->decide_allocation(decoder, query))
    return FALSE;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  if (!offered || (max && max < min + extra) ||
      !set_up_pool(pool, query, size, min, max, NULL, NULL)) {
    gst_object_unref(pool);
    pool = own_pool(self, query, size, min);
    max = 0;
  }
  if (!pool)
    return FALSE;
  gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  gst_object_unref(pool);
  return TRUE;
}

/* --------------------------------------------------------------------------------- class --- */

static void finalize(GObject *object)
{
  gst_cuda_j2k_codec_clear(&DEC(object)->codec);
  g_byte_array_unref(DEC(object)->unfinished.bytes);
  g_free(DEC(object)->doubted);
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
  gst_cuda_j2k_codec_install_properties(object_class, &codec_type);
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

  decoder_class->open = open_element;
  decoder_class->close = close_element;
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
  self->unfinished.bytes = g_byte_array_new();
  gst_cuda_j2k_codec_init(&self->codec, self, &codec_type, &self->params, &decoder->stream_lock);
  gst_video_decoder_set_packetized(decoder, TRUE);
  gst_video_decoder_set_needs_format(decoder, TRUE);
  gst_video_decoder_set_use_default_pad_acceptcaps(decoder, TRUE);
  GST_PAD_SET_ACCEPT_TEMPLATE(GST_VIDEO_DECODER_SINK_PAD(decoder));
}
