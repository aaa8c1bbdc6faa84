/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudaj2kenc
 * @title: cudaj2kenc
 * @short_description: JPEG 2000 and HTJ2K encoder
 *
 * Encodes JPEG 2000 Part 1 (Rec. ITU-T T.800) or High-Throughput JPEG 2000 (Rec. ITU-T T.814), on
 * an NVIDIA GPU where one is usable, else on the CPU; both give the same bytes.
 *
 * #GstCudaJ2kEnc:rate-control says what decides how many bytes a frame takes: a quality factor,
 * nothing (lossless), a ceiling that no frame exceeds (cbr, from #GstCudaJ2kEnc:bitrate,
 * #GstCudaJ2kEnc:bits-per-pixel or #GstCudaJ2kEnc:max-frame-bytes), a step size, or a PSNR. The
 * rate may change while playing, from the next frame on.
 *
 * #GstCudaJ2kEnc:profile makes codestreams of digital cinema, broadcast contribution and IMF: it
 * sets what the profile dictates, and a property that contradicts it is an error. With a cinema
 * profile R'G'B' is converted to X'Y'Z', by #GstCudaJ2kEnc:xyz-transfer; video whose colorimetry
 * has the primaries smptest428 is X'Y'Z' already.
 *
 * Interlaced frames are coded as one picture, with the interlace mode in the caps; with a broadcast
 * profile as two codestreams a frame, one a field.
 *
 * HTJ2K needs a decoder that knows it: FFmpeg before 7 shows garbage without an error.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc is-live=true !
 * video/x-raw,format=I422_10LE,width=1920,height=1080,framerate=25/1 ! cudaj2kenc bitrate=150000 !
 * rtpj2kpay ! udpsink host=192.0.2.1 port=5004
 * ]| Sends a contribution stream of 150 Mbit/s.
 * |[
 * gst-launch-1.0 filesrc location=in.mov ! decodebin ! videoconvert ! cudaj2kenc
 * rate-control=lossless block-coder=ht ! mxfmux ! filesink location=out.mxf
 * ]| Archives without loss, with the fast block coder.
 * |[
 * gst-launch-1.0 filesrc location=in.mov ! decodebin ! videoconvert ! video/x-raw,format=GBR_12LE !
 * cudaj2kenc profile=cinema-2k rate-control=cbr ! multifilesink location=%06d.j2c
 * ]| Makes the frames of a cinema package.
 */
#include "gstcudaj2kencprivate.h"
#include "gstcudaj2kpinned.h"

GST_DEBUG_CATEGORY(gst_cuda_j2k_enc_debug);

enum { PROP_0, PROP_ACTIVE_BACKEND, PROP_STATS, PROP_STATS_INTERVAL, PROP_FIRST_SETTING };

G_DEFINE_TYPE(GstCudaJ2kEnc, gst_cuda_j2k_enc, GST_TYPE_VIDEO_ENCODER)
#define ENC(object) ((GstCudaJ2kEnc *)(object))

/* Above openjpegenc, as gstcudaj2kdec.c has it. */
GST_ELEMENT_REGISTER_DEFINE(cudaj2kenc, "cudaj2kenc", GST_RANK_PRIMARY + 1, GST_TYPE_CUDA_J2K_ENC)

/* ---------------------------------------------------------------------------- properties --- */

/* Adds the statistics of one encoder to those of the encoders before it. */
static void add_stats(Cj2kStats *sum, const Cj2kStats *stats)
{
  sum->frames += stats->frames;
  sum->failed_frames += stats->failed_frames;
  sum->corrupt_blocks += stats->corrupt_blocks;
  sum->fallbacks += stats->fallbacks;
  sum->bytes += stats->bytes;
  sum->ms_header += stats->ms_header;
  sum->ms_packets += stats->ms_packets;
  sum->ms_block_coder += stats->ms_block_coder;
  sum->ms_transform += stats->ms_transform;
  sum->ms_total += stats->ms_total;
}

static void get_stats(GstCudaJ2kEnc *self, Cj2kStats *stats)
{
  Cj2kStats present = {0};
  GST_OBJECT_LOCK(self);
  *stats = self->past_stats;
  if (self->encoder)
    cj2k_encoder_get_stats(self->encoder, &present);
  GST_OBJECT_UNLOCK(self);
  add_stats(stats, &present);
}

GstStructure *gst_cuda_j2k_enc_stats(GstCudaJ2kEnc *self)
{
  Cj2kStats stats;
  get_stats(self, &stats);
  GstStructure *structure = gst_cuda_j2k_stats_structure(&stats);
  gst_cuda_j2k_meter_add_fields(&self->meter, &self->output, structure);
  return structure;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kEnc *self = ENC(object);
  gboolean live = FALSE;
  if (id == PROP_STATS_INTERVAL) {
    gst_cuda_j2k_meter_set_interval(&self->meter, g_value_get_uint(value));
    return;
  }
  GST_OBJECT_LOCK(self);
  gboolean known = gst_cuda_j2k_enc_set_setting(&self->settings, id, value, &live);
  GST_OBJECT_UNLOCK(self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  if (live)
    g_atomic_int_set(&self->rate_changed, TRUE);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaJ2kEnc *self = ENC(object);
  if (id == PROP_STATS) {
    g_value_take_boxed(value, gst_cuda_j2k_enc_stats(self));
    return;
  }
  if (id == PROP_STATS_INTERVAL) {
    g_value_set_uint(value, gst_cuda_j2k_meter_get_interval(&self->meter));
    return;
  }
  GST_OBJECT_LOCK(self);
  gboolean known = gst_cuda_j2k_enc_get_setting(&self->settings, id, value);
  if (id == PROP_ACTIVE_BACKEND) {
    Cj2kBackendKind backend =
        self->encoder ? cj2k_encoder_backend(self->encoder) : self->settings.params.backend;
    g_value_set_enum(value, (gint)backend);
    known = TRUE;
  }
  GST_OBJECT_UNLOCK(self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void install_properties(GObjectClass *klass)
{
  const GParamFlags only_read = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  g_object_class_install_property(
      klass, PROP_ACTIVE_BACKEND,
      g_param_spec_enum("active-backend", "Active back end",
                        "Back end in use; the property `backend` before the first caps",
                        GST_TYPE_CUDA_J2K_BACKEND, CJ2K_BACKEND_AUTO, only_read));
  /**
   * GstCudaJ2kEnc:stats:
   *
   * "application/x-cudaj2k-stats", as of #GstCudaJ2kDec:stats.
   */
  g_object_class_install_property(klass, PROP_STATS,
                                  g_param_spec_boxed("stats", "Statistics",
                                                     "Frames, fallbacks, bytes, and times by stage",
                                                     GST_TYPE_STRUCTURE, only_read));
  /**
   * GstCudaJ2kEnc:stats-interval:
   *
   * As #GstCudaJ2kDec:stats-interval.
   */
  g_object_class_install_property(klass, PROP_STATS_INTERVAL, gst_cuda_j2k_meter_interval_pspec());
  gst_cuda_j2k_enc_install_settings(klass, PROP_FIRST_SETTING);
}

/* -------------------------------------------------------------------------------- format --- */

/* Nothing may be in flight. */
static void replace_encoder(GstCudaJ2kEnc *self, Cj2kEncoder *encoder)
{
  Cj2kStats stats = {0};
  if (self->encoder)
    cj2k_encoder_get_stats(self->encoder, &stats);
  GST_OBJECT_LOCK(self);
  Cj2kEncoder *old = self->encoder;
  self->encoder = encoder;
  add_stats(&self->past_stats, &stats);
  self->in_flight = self->settings.params.frames_in_flight;
  GST_OBJECT_UNLOCK(self);
  cj2k_encoder_close(old);
}

static void update_latency(GstCudaJ2kEnc *self)
{
  GST_OBJECT_LOCK(self);
  guint extra = self->settings.params.frames_in_flight - 1;
  GST_OBJECT_UNLOCK(self);
  g_atomic_int_set(&self->has_frame_rate, self->info.fps_n > 0);
  GstClockTime latency =
      gst_cuda_j2k_meter_latency(&self->meter, extra, self->info.fps_n, self->info.fps_d);
  gst_video_encoder_set_latency(GST_VIDEO_ENCODER(self), latency, latency);
}

void gst_cuda_j2k_enc_tell_tags(GstCudaJ2kEnc *self, const Cj2kEncoderParams *params)
{
  const GstVideoInfo *info = &self->info;
  gboolean ht = params->block_coder == CJ2K_CODER_HT;
  GstTagList *tags = gst_tag_list_new(GST_TAG_VIDEO_CODEC, ht ? "HTJ2K" : "JPEG 2000", NULL);
  /* Parameters are those of a field where fields are coded apart. */
  gdouble pixels = (gdouble)GST_VIDEO_INFO_WIDTH(info) * GST_VIDEO_INFO_HEIGHT(info);
  gdouble bits = params->max_frame_bytes
                     ? 8.0 * (gdouble)params->max_frame_bytes * (self->stream.fields ? 2 : 1)
                     : params->bits_per_pixel * pixels;
  if (params->rate_control == CJ2K_RATE_CBR && info->fps_n > 0) {
    guint rate = (guint)MIN(bits * info->fps_n / info->fps_d, (gdouble)G_MAXUINT);
    gst_tag_list_add(tags, GST_TAG_MERGE_REPLACE, GST_TAG_NOMINAL_BITRATE, rate,
                     GST_TAG_MAXIMUM_BITRATE, rate, NULL);
  }
  gst_video_encoder_merge_tags(GST_VIDEO_ENCODER(self), tags, GST_TAG_MERGE_REPLACE);
  gst_tag_list_unref(tags);
}

/* Opens an encoder for self->info as self->stream; posts an error on failure. */
static gboolean open_encoder(GstCudaJ2kEnc *self, Cj2kProfile *profile)
{
  Cj2kEncoderParams params;
  Cj2kComponent components[4];
  Cj2kEncoderImage image;
  Cj2kLayout layout;
  Cj2kError error = {0};
  Cj2kEncoder *encoder = NULL;

  gst_cuda_j2k_enc_image(&self->stream, &self->info, self->format, components, &image);
  cj2k_video_format_layout(self->format, &layout);
  g_atomic_int_set(&self->rate_changed, FALSE);
  GST_OBJECT_LOCK(self);
  gchar *reason = NULL;
  gboolean ok =
      gst_cuda_j2k_enc_make_params(&self->settings, &self->info, &self->stream, &params, &reason);
  gchar *comment = g_strdup(params.comment);
  GST_OBJECT_UNLOCK(self);
  if (ok) {
    params.comment = comment;
    params.cuda_context = gst_cuda_j2k_context_handle(self->context, &params.cuda_device);
    encoder = cj2k_encoder_open(&params, &image, &layout, &error);
  }
  if (!ok)
    GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s.", reason), (NULL));
  else if (!encoder)
    gst_cuda_j2k_post_error(GST_ELEMENT(self), &error);
  g_free(comment);
  g_free(reason);
  if (!encoder)
    return FALSE;
  *profile = params.profile;
  replace_encoder(self, encoder);
  gst_cuda_j2k_enc_tell_tags(self, &params);
  GST_INFO_OBJECT(self, "back end %s", gst_cuda_j2k_backend_name(cj2k_encoder_backend(encoder)));
  return TRUE;
}

static void warn(GstCudaJ2kEnc *self)
{
  const char *warning = cj2k_encoder_warning(self->encoder);
  gst_cuda_j2k_check_cpu(GST_ELEMENT(self), cj2k_encoder_why_cpu(self->encoder), &self->told_cpu);
  if (warning)
    GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS, ("%s.", warning), (NULL));
  GstVideoColorPrimaries primaries = self->info.colorimetry.primaries;
  if (self->stream.rgb_to_xyz && primaries != GST_VIDEO_COLOR_PRIMARIES_UNKNOWN &&
      primaries != GST_VIDEO_COLOR_PRIMARIES_BT709) {
    gchar *colorimetry = gst_video_colorimetry_to_string(&self->info.colorimetry);
    GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                        ("R'G'B' of colorimetry %s is converted to X'Y'Z' as if its primaries were "
                         "those of BT.709.",
                         colorimetry),
                        (NULL));
    g_free(colorimetry);
  }
  if (GST_VIDEO_INFO_IS_INTERLACED(&self->info) && !self->stream.fields)
    GST_ELEMENT_WARNING(self, STREAM, FORMAT,
                        ("Interlaced frames are coded as one picture each; a broadcast profile "
                         "codes their fields apart."),
                        (NULL));
}

static gboolean set_output(GstCudaJ2kEnc *self, GstVideoCodecState *input, Cj2kProfile profile)
{
  GstVideoEncoder *encoder = GST_VIDEO_ENCODER(self);
  GstCaps *caps = gst_cuda_j2k_enc_stream_caps(&self->stream, self->format, profile,
                                               cj2k_encoder_rsiz(self->encoder));
  GstVideoCodecState *output = gst_video_encoder_set_output_state(encoder, caps, input);
  if (self->stream.rgb_to_xyz) {
    output->info.colorimetry.primaries = GST_VIDEO_COLOR_PRIMARIES_SMPTEST428;
    output->info.colorimetry.transfer = GST_VIDEO_TRANSFER_UNKNOWN;
  }
  gst_video_codec_state_unref(output);
  return gst_video_encoder_negotiate(encoder);
}

/* In downstream's order: mj2mux, for one, takes x-jpc too, but fails to make x-j2c of it. */
static GstCaps *allowed_caps(GstPad *pad)
{
  GstCaps *ours = gst_pad_get_pad_template_caps(pad);
  GstCaps *theirs = gst_pad_peer_query_caps(pad, NULL);
  GstCaps *both = gst_caps_is_any(theirs)
                      ? gst_caps_ref(ours)
                      : gst_caps_intersect_full(theirs, ours, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(ours);
  gst_caps_unref(theirs);
  return both;
}

static gboolean set_format(GstVideoEncoder *encoder, GstVideoCodecState *state)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gchar *reason = NULL;
  Cj2kProfile profile;

  gst_cuda_j2k_output_wait(&self->output);
  self->info = state->info;
  self->format = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(&state->info));
  if (!self->format)
    return FALSE;
  GST_OBJECT_LOCK(self);
  profile = self->settings.params.profile;
  GST_OBJECT_UNLOCK(self);

  GstCaps *allowed = allowed_caps(GST_VIDEO_ENCODER_SRC_PAD(encoder));
  gboolean ok = gst_cuda_j2k_enc_stream_init(&self->stream, &self->info, self->format, profile,
                                             allowed, &reason);
  gst_caps_unref(allowed);
  if (!ok) {
    GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s.", reason), (NULL));
    g_free(reason);
    return FALSE;
  }
  if (!open_encoder(self, &profile))
    return FALSE;
  warn(self);
  update_latency(self);
  return set_output(self, state, profile);
}

/* -------------------------------------------------------------------------------- states --- */

static gboolean start(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  GST_OBJECT_LOCK(self);
  self->past_stats = (Cj2kStats){0};
  Cj2kBackendKind backend = self->settings.params.backend;
  gint device = self->settings.params.cuda_device;
  GST_OBJECT_UNLOCK(self);
  if (backend != CJ2K_BACKEND_CPU)
    gst_cuda_j2k_context_ensure(GST_ELEMENT(self), device, &self->context);
  self->started = TRUE;
  self->events_pending = FALSE;
  self->told_fallback = FALSE;
  gst_cuda_j2k_meter_start(&self->meter);
  gst_cuda_j2k_output_start(&self->output, "cudaj2kenc:src");
  return TRUE;
}

static gboolean stop(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gst_cuda_j2k_output_stop(&self->output);
  gst_clear_buffer(&self->first_field);
  replace_encoder(self, NULL);
  self->started = FALSE;
  gst_clear_object((GstObject **)&self->context);
  return TRUE;
}

static GstFlowReturn finish(GstVideoEncoder *encoder)
{
  return gst_cuda_j2k_output_drain(&ENC(encoder)->output);
}

static gboolean flush(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gst_cuda_j2k_output_flush(&self->output);
  gst_clear_buffer(&self->first_field);
  return TRUE;
}

/* -------------------------------------------------------------------------------- events --- */

/* The base class keeps an event until the next frame leaves. No frame may follow the end of a
 * segment, and a gap: they are sent behind the frames in flight, unless other events wait. */
static gboolean send_now(GstCudaJ2kEnc *self, GstEvent *event)
{
  GST_VIDEO_ENCODER_STREAM_LOCK(self);
  gst_cuda_j2k_output_wait(&self->output);
  GST_VIDEO_ENCODER_STREAM_UNLOCK(self);
  return gst_pad_push_event(GST_VIDEO_ENCODER_SRC_PAD(self), event);
}

static gboolean sink_event(GstVideoEncoder *encoder, GstEvent *event)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_SEGMENT_DONE:
  case GST_EVENT_GAP:
    if (!self->events_pending)
      return send_now(self, event);
    break;
  case GST_EVENT_SEGMENT:
  case GST_EVENT_STREAM_START: gst_cuda_j2k_output_forget(&self->output); break;
  case GST_EVENT_EOS:
  case GST_EVENT_FLUSH_STOP: self->events_pending = FALSE; break;
  default: break;
  }
  if (GST_EVENT_IS_SERIALIZED(event) && GST_EVENT_TYPE(event) != GST_EVENT_CAPS &&
      GST_EVENT_TYPE(event) != GST_EVENT_EOS && GST_EVENT_TYPE(event) != GST_EVENT_FLUSH_STOP)
    self->events_pending = TRUE;
  return GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->sink_event(encoder, event);
}

static gboolean src_event(GstVideoEncoder *encoder, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    gst_cuda_j2k_output_relinked(&ENC(encoder)->output);
  return GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->src_event(encoder, event);
}

/* -------------------------------------------------------------------------------- memory --- */

/* CUDAMemory is for the GPU: not offered once it is known that there is none. */
static GstCaps *getcaps(GstVideoEncoder *encoder, GstCaps *filter)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  GstCaps *caps = gst_video_encoder_proxy_getcaps(encoder, NULL, filter);
  return self->started && !self->context ? gst_cuda_j2k_remove_cuda_caps(caps) : caps;
}

/* A pool of page-locked memory; NULL: there is no GPU. */
static GstBufferPool *pinned_pool(GstCudaJ2kEnc *self, GstCaps *caps, guint size, guint min)
{
  if (!self->encoder || cj2k_encoder_backend(self->encoder) != CJ2K_BACKEND_CUDA)
    return NULL;
  GstAllocator *allocator =
      gst_cuda_j2k_pinned_allocator_new(self->context, self->settings.params.cuda_device);
  if (!allocator)
    return NULL;
  GstBufferPool *pool = gst_video_buffer_pool_new();
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, size, min, 0);
  gst_buffer_pool_config_set_allocator(config, allocator, NULL);
  gst_object_unref(allocator);
  if (gst_buffer_pool_set_config(pool, config))
    return pool;
  gst_object_unref(pool);
  return NULL;
}

static gboolean propose_allocation(GstVideoEncoder *encoder, GstQuery *query)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  GstCaps *caps;
  GstVideoInfo info;
  gst_query_parse_allocation(query, &caps, NULL);
  if (!caps || !gst_video_info_from_caps(&info, caps))
    return FALSE;
  gboolean on_device = gst_cuda_j2k_caps_have_cuda(caps);
  guint min = self->settings.params.frames_in_flight + 1, size = (guint)GST_VIDEO_INFO_SIZE(&info);
  GstBufferPool *pool = on_device ? gst_cuda_j2k_cuda_pool(self->context, caps, min, 0)
                                  : pinned_pool(self, caps, size, min);
  if (!pool && !on_device)
    return GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)
        ->propose_allocation(encoder, query);
  if (!pool)
    return FALSE;
  gst_query_add_allocation_pool(query, pool, size, min, 0);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  gst_object_unref(pool);
  return TRUE;
}

static gboolean context_query(GstVideoEncoder *encoder, GstQuery *query)
{
  return gst_cuda_j2k_context_query(GST_ELEMENT(encoder), query, ENC(encoder)->context);
}

static gboolean src_query(GstVideoEncoder *encoder, GstQuery *query)
{
  return context_query(encoder, query) ||
         GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->src_query(encoder, query);
}

static gboolean sink_query(GstVideoEncoder *encoder, GstQuery *query)
{
  return context_query(encoder, query) ||
         GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->sink_query(encoder, query);
}

static void set_context(GstElement *element, GstContext *context)
{
  GstCudaJ2kEnc *self = ENC(element);
  gst_cuda_j2k_context_set(element, context, self->settings.params.cuda_device, &self->context);
  GST_ELEMENT_CLASS(gst_cuda_j2k_enc_parent_class)->set_context(element, context);
}

/* --------------------------------------------------------------------------------- class --- */

static void finalize(GObject *object)
{
  /* A bin may give a context to an element that is stopped. */
  gst_clear_object((GstObject **)&ENC(object)->context);
  gst_cuda_j2k_output_clear(&ENC(object)->output);
  gst_cuda_j2k_meter_clear(&ENC(object)->meter);
  gst_cuda_j2k_enc_settings_clear(&ENC(object)->settings);
  G_OBJECT_CLASS(gst_cuda_j2k_enc_parent_class)->finalize(object);
}

static void gst_cuda_j2k_enc_class_init(GstCudaJ2kEncClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  GstVideoEncoderClass *encoder_class = GST_VIDEO_ENCODER_CLASS(klass);

  GST_DEBUG_CATEGORY_INIT(gst_cuda_j2k_enc_debug, "cudaj2kenc", 0, "JPEG 2000 encoder");
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);
  element_class->set_context = set_context;

  GstCaps *raw = gst_cuda_j2k_add_cuda_caps(gst_cuda_j2k_formats_raw_caps());
  GstCaps *coded = gst_cuda_j2k_enc_template_caps();
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, raw));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, coded));
  gst_caps_unref(raw);
  gst_caps_unref(coded);
  gst_element_class_set_static_metadata(
      element_class, "JPEG 2000 and HTJ2K encoder", "Codec/Encoder/Video/Image",
      "Encodes JPEG 2000 (T.800) and High-Throughput JPEG 2000 (T.814) on an NVIDIA GPU or the CPU",
      "The cudaj2k developers");

  encoder_class->start = start;
  encoder_class->stop = stop;
  encoder_class->sink_event = sink_event;
  encoder_class->src_event = src_event;
  encoder_class->getcaps = getcaps;
  encoder_class->propose_allocation = propose_allocation;
  encoder_class->src_query = src_query;
  encoder_class->sink_query = sink_query;
  encoder_class->set_format = set_format;
  encoder_class->handle_frame = gst_cuda_j2k_enc_handle_frame;
  encoder_class->finish = finish;
  encoder_class->flush = flush;
}

static void gst_cuda_j2k_enc_init(GstCudaJ2kEnc *self)
{
  GstVideoEncoder *encoder = GST_VIDEO_ENCODER(self);
  gst_cuda_j2k_enc_settings_init(&self->settings);
  gst_cuda_j2k_output_init(&self->output, self, &encoder->stream_lock, gst_cuda_j2k_enc_output);
  gst_cuda_j2k_meter_init(&self->meter);
  GST_PAD_SET_ACCEPT_TEMPLATE(GST_VIDEO_ENCODER_SINK_PAD(encoder));
}
