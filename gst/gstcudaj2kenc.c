/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-cudaj2kenc
 * @title: cudaj2kenc
 * @short_description: JPEG 2000 and HTJ2K encoder
 *
 * Encodes JPEG 2000 Part 1 (Rec. ITU-T T.800) or High-Throughput JPEG 2000 (Rec. ITU-T T.814), on
 * an NVIDIA GPU if one is usable, otherwise on the CPU. Both give the same bytes.
 *
 * #GstCudaJ2kEnc:rate-control selects what decides how many bytes a frame takes: a quality factor,
 * nothing (lossless), a ceiling that no frame exceeds (cbr, from #GstCudaJ2kEnc:bitrate,
 * #GstCudaJ2kEnc:bits-per-pixel or #GstCudaJ2kEnc:max-frame-bytes), a step size, or a PSNR. The
 * rate may change while playing, from the next frame on.
 *
 * #GstCudaJ2kEnc:profile makes codestreams for digital cinema, broadcast contribution and IMF: it
 * sets the parameters that the profile dictates, and a property that contradicts them is an error.
 * Cinema profiles convert R'G'B' to X'Y'Z' with the transfer curve #GstCudaJ2kEnc:xyz-transfer
 * and the primaries #GstCudaJ2kEnc:xyz-primaries; video whose colorimetry has the primaries
 * smptest428 is X'Y'Z' already.
 *
 * An interlaced frame is coded as one picture, with the interlace mode in the caps. With a
 * broadcast profile it is coded as two codestreams, one for each field.
 *
 * HTJ2K needs a decoder that supports it: FFmpeg before 7 shows garbage without an error.
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

#include "common/options/encoder_options.h"

GST_DEBUG_CATEGORY(gst_cuda_j2k_enc_debug);

G_DEFINE_TYPE(GstCudaJ2kEnc, gst_cuda_j2k_enc, GST_TYPE_VIDEO_ENCODER)
#define ENC(object) ((GstCudaJ2kEnc *)(object))

/* Above openjpegenc, for the reason in gstcudaj2kdec.c. */
GST_ELEMENT_REGISTER_DEFINE(cudaj2kenc, "cudaj2kenc", GST_RANK_PRIMARY + 1, GST_TYPE_CUDA_J2K_ENC)

/* --------------------------------------------------------------------------------- codec --- */

static void codec_close(gpointer object)
{
  cj2k_encoder_close(object);
}

static Cj2kBackendKind codec_backend(gconstpointer object)
{
  return cj2k_encoder_backend(object);
}

static const gchar *codec_why_cpu(gconstpointer object)
{
  return cj2k_encoder_why_cpu(object);
}

static void codec_get_stats(gpointer object, Cj2kStats *stats)
{
  cj2k_encoder_get_stats(object, stats);
}

static Cj2kStatus codec_set_in_flight(gpointer object, uint32_t frames, Cj2kError *error)
{
  return cj2k_encoder_set_frames_in_flight(object, frames, error);
}

static void codec_set_latency(GstElement *element, GstClockTime latency)
{
  gst_video_encoder_set_latency(GST_VIDEO_ENCODER(element), latency, latency);
}

static const GstCudaJ2kCodecType codec_type = {
    .options = &cj2k_encoder_options,
    .close = codec_close,
    .backend = codec_backend,
    .why_cpu = codec_why_cpu,
    .get_stats = codec_get_stats,
    .set_in_flight = codec_set_in_flight,
    .set_latency = codec_set_latency,
    .receive = gst_cuda_j2k_enc_output,
};

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  gst_cuda_j2k_codec_set_property(&ENC(object)->codec, id, value, pspec);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  gst_cuda_j2k_codec_get_property(&ENC(object)->codec, id, value, pspec);
}

/* -------------------------------------------------------------------------------- format --- */

void gst_cuda_j2k_enc_try(GstCudaJ2kEnc *self)
{
  GST_OBJECT_LOCK(self);
  gst_cuda_j2k_settings_assign(&self->tried, &self->codec.settings, sizeof self->params);
  GST_OBJECT_UNLOCK(self);
}

void gst_cuda_j2k_enc_accept(GstCudaJ2kEnc *self)
{
  gst_cuda_j2k_settings_assign(&self->accepted, &self->tried, sizeof self->params);
  self->has_accepted = TRUE;
}

/* Opens an encoder for self->info and self->stream with these settings, to which *params points
 * afterwards. NULL: *error says why. */
static Cj2kEncoder *open_with(GstCudaJ2kEnc *self, const GstCudaJ2kSettings *settings,
                              Cj2kEncoderParams *params, Cj2kError *error)
{
  Cj2kComponent components[4];
  Cj2kEncoderImage image;
  Cj2kLayout layout;
  gchar *reason = NULL;

  gst_cuda_j2k_enc_image(&self->stream, &self->info, self->format, components, &image);
  cj2k_video_format_layout(self->format, &layout);
  if (!gst_cuda_j2k_enc_make_params(settings, &self->info, &self->stream, self->frames, params,
                                    &reason)) {
    *error = (Cj2kError){.code = CJ2K_ERROR_ARGUMENT};
    g_strlcpy(error->text, reason, sizeof error->text);
    g_free(reason);
    return NULL;
  }
  gst_cuda_j2k_enc_fit_regions(&self->stream, params);
  params->frames_in_flight = gst_cuda_j2k_codec_in_flight(&self->codec);
  params->cuda_context = gst_cuda_j2k_context_handle(self->codec.context, &params->cuda_device);
  if (self->stream.in_slices)
    params->slice_ready = gst_cuda_j2k_enc_take_slice;
  params->slice_user = self;
  return cj2k_encoder_open(params, &image, &layout, error);
}

/* Opens an encoder with the settings of the properties, or, if these are not possible because of a
 * change since the stream began, with those of before; a warning says so. NULL: *error says why. */
static Cj2kEncoder *open_or_keep(GstCudaJ2kEnc *self, Cj2kEncoderParams *params, Cj2kError *error)
{
  gst_cuda_j2k_enc_try(self);
  Cj2kEncoder *encoder = open_with(self, &self->tried, params, error);
  if (encoder) {
    gst_cuda_j2k_enc_accept(self);
    return encoder;
  }
  if (error->code != CJ2K_ERROR_ARGUMENT || !self->has_accepted)
    return NULL;
  Cj2kError reason = *error;
  encoder = open_with(self, &self->accepted, params, error);
  if (encoder)
    GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS, (GST_CUDA_J2K_RATE_STAYS, reason.text), (NULL));
  return encoder;
}

/* Posts an error about settings. Caps that failed come again before each buffer, and so would the
 * error. */
static void post_once(GstCudaJ2kEnc *self, const Cj2kError *error)
{
  if (!strcmp(self->posted.text, error->text))
    return;
  self->posted = *error;
  gst_cuda_j2k_post_error(GST_ELEMENT(self), error);
}

/* Opens an encoder for self->info and self->stream; posts an error on failure. */
static gboolean open_encoder(GstCudaJ2kEnc *self, Cj2kProfile *profile)
{
  Cj2kEncoderParams params;
  Cj2kError error;

  g_atomic_int_set(&self->codec.live_changed, FALSE);
  self->num_regions = 0;
  self->regions_refused = FALSE;
  Cj2kEncoder *encoder = open_or_keep(self, &params, &error);
  if (!encoder) {
    post_once(self, &error);
    return FALSE;
  }
  self->posted.text[0] = '\0';
  *profile = params.profile;
  self->stream.xyz_is_pq = params.xyz_transfer >= CJ2K_TRANSFER_PQ;
  gst_cuda_j2k_codec_replace(&self->codec, encoder);
  gst_cuda_j2k_enc_send_tags(self, &params);
  GST_INFO_OBJECT(self, "back end %s", gst_cuda_j2k_backend_name(cj2k_encoder_backend(encoder)));
  return TRUE;
}

static void warn(GstCudaJ2kEnc *self)
{
  const char *warning = cj2k_encoder_warning(self->codec.object);
  gst_cuda_j2k_codec_check_cpu(&self->codec);
  if (warning)
    GST_ELEMENT_WARNING(self, LIBRARY, SETTINGS, ("%s.", warning), (NULL));
  if (self->stream.rgb_to_xyz && !gst_cuda_j2k_enc_knows_primaries(&self->info)) {
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
                         "codes their fields separately."),
                        (NULL));
}

static gboolean set_output(GstCudaJ2kEnc *self, GstVideoCodecState *input, Cj2kProfile profile)
{
  GstVideoEncoder *encoder = GST_VIDEO_ENCODER(self);
  GstCaps *caps = gst_cuda_j2k_enc_stream_caps(&self->stream, self->format, profile,
                                               cj2k_encoder_rsiz(self->codec.object));
  GstVideoCodecState *output = gst_video_encoder_set_output_state(encoder, caps, input);
  if (self->stream.rgb_to_xyz) {
    output->info.colorimetry.primaries = GST_VIDEO_COLOR_PRIMARIES_SMPTEST428;
    output->info.colorimetry.transfer =
        self->stream.xyz_is_pq ? GST_VIDEO_TRANSFER_SMPTE2084 : GST_VIDEO_TRANSFER_UNKNOWN;
  }
  gst_video_codec_state_unref(output);
  return gst_video_encoder_negotiate(encoder);
}

/* In downstream's order of preference: mj2mux, for example, accepts x-jpc after x-j2c, but cannot
 * convert it. */
static GstCaps *allowed_caps(GstPad *pad, GstCaps *theirs)
{
  GstCaps *ours = gst_pad_get_pad_template_caps(pad);
  GstCaps *both = gst_caps_is_any(theirs)
                      ? gst_caps_ref(ours)
                      : gst_caps_intersect_full(theirs, ours, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(ours);
  return both;
}

/* Chooses how the stream is coded, and its media type and alignment. FALSE: *reason says why it
 * cannot be. */
static gboolean choose_stream(GstCudaJ2kEnc *self, gchar **reason)
{
  GstPad *pad = GST_VIDEO_ENCODER_SRC_PAD(self);
  GST_OBJECT_LOCK(self);
  Cj2kProfile profile = self->params.profile;
  gboolean slices = self->params.slices || self->params.latency_profile != CJ2K_LATENCY_FRAME;
  GST_OBJECT_UNLOCK(self);
  GstCaps *theirs = gst_pad_peer_query_caps(pad, NULL);
  GstCaps *allowed = allowed_caps(pad, theirs);
  gboolean ok = gst_cuda_j2k_enc_stream_init(&self->stream, &self->info, self->format, profile,
                                             allowed, reason);
  gst_cuda_j2k_enc_choose_alignment(&self->stream, theirs, slices);
  gst_caps_unref(allowed);
  gst_caps_unref(theirs);
  return ok;
}

/* Chooses how this input is coded, opens an encoder for it, and negotiates. After a failure the
 * fields of self may belong to other input than the encoder. */
static gboolean configure(GstCudaJ2kEnc *self, GstVideoCodecState *input)
{
  gchar *reason = NULL;
  Cj2kProfile profile;

  self->info = input->info;
  self->format = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(&input->info));
  if (!self->format)
    return FALSE;
  if (!choose_stream(self, &reason)) {
    Cj2kError error = {.code = CJ2K_ERROR_ARGUMENT};
    g_snprintf(error.text, sizeof error.text, "%s.", reason);
    post_once(self, &error);
    g_free(reason);
    return FALSE;
  }
  gst_cuda_j2k_codec_begin_format(&self->codec, &self->info, self->stream.fields ? 2 : 1);
  if (!open_encoder(self, &profile))
    return FALSE;
  warn(self);
  return set_output(self, input, profile);
}

/* If this fails, the base class keeps the caps before these, and does not call again when upstream
 * returns to them: the next frame is of those caps. */
static gboolean set_format(GstVideoEncoder *encoder, GstVideoCodecState *state)
{
  GstCudaJ2kEnc *self = ENC(encoder);

  gst_cuda_j2k_output_wait(&self->codec.output);
  self->configured = configure(self, state);
  if (!self->configured)
    return FALSE;
  g_clear_pointer(&self->input_state, gst_video_codec_state_unref);
  self->input_state = gst_video_codec_state_ref(state);
  return TRUE;
}

GstFlowReturn gst_cuda_j2k_enc_ensure_configured(GstCudaJ2kEnc *self)
{
  if (!self->configured && self->input_state)
    self->configured = configure(self, self->input_state);
  if (self->configured)
    return GST_FLOW_OK;
  return GST_PAD_IS_FLUSHING(GST_VIDEO_ENCODER_SRC_PAD(self)) ? GST_FLOW_FLUSHING
                                                              : GST_FLOW_NOT_NEGOTIATED;
}

/* -------------------------------------------------------------------------------- states --- */

static gboolean open_element(GstVideoEncoder *encoder)
{
  gst_cuda_j2k_codec_open(&ENC(encoder)->codec);
  return TRUE;
}

static gboolean close_element(GstVideoEncoder *encoder)
{
  gst_cuda_j2k_codec_close(&ENC(encoder)->codec);
  return TRUE;
}

static gboolean start(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gst_cuda_j2k_codec_find_gpu(&self->codec);
  self->started = TRUE;
  self->has_accepted = FALSE;
  self->posted.text[0] = '\0';
  self->frames = 0;
  self->segment_pending = FALSE;
  return gst_cuda_j2k_codec_start(&self->codec, "cudaj2kenc:src");
}

static gboolean stop(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gst_cuda_j2k_output_stop(&self->codec.output);
  gst_clear_buffer(&self->first_field);
  self->started = self->configured = FALSE;
  gst_cuda_j2k_codec_stop(&self->codec);
  g_clear_pointer(&self->input_state, gst_video_codec_state_unref);
  return TRUE;
}

static GstFlowReturn finish(GstVideoEncoder *encoder)
{
  return gst_cuda_j2k_output_drain(&ENC(encoder)->codec.output);
}

static gboolean flush(GstVideoEncoder *encoder)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  gst_cuda_j2k_output_flush(&self->codec.output);
  gst_clear_buffer(&self->first_field);
  return TRUE;
}

/* -------------------------------------------------------------------------------- events --- */

static void wait_for_output(GstCudaJ2kEnc *self)
{
  GST_VIDEO_ENCODER_STREAM_LOCK(self);
  gst_cuda_j2k_output_wait(&self->codec.output);
  GST_VIDEO_ENCODER_STREAM_UNLOCK(self);
}

/* Sends an event right behind the frames in flight. The base class holds an event back until the
 * next frame is pushed, but behind the end of a segment or a gap there may be no next frame. Not to
 * be called while the segment that it belongs to is held back, which it would overtake. */
static gboolean send_now(GstCudaJ2kEnc *self, GstEvent *event)
{
  wait_for_output(self);
  return gst_pad_push_event(GST_VIDEO_ENCODER_SRC_PAD(self), event);
}

static gboolean sink_event(GstVideoEncoder *encoder, GstEvent *event)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_SEGMENT_DONE:
  case GST_EVENT_GAP:
    if (!self->segment_pending)
      return send_now(self, event);
    break;
  case GST_EVENT_SEGMENT:
  case GST_EVENT_STREAM_START:
    gst_cuda_j2k_output_forget(&self->codec.output);
    self->segment_pending = TRUE;
    break;
  case GST_EVENT_EOS:
  case GST_EVENT_FLUSH_STOP: self->segment_pending = FALSE; break;
  default: break;
  }
  return GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->sink_event(encoder, event);
}

static gboolean src_event(GstVideoEncoder *encoder, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    gst_cuda_j2k_output_relinked(&ENC(encoder)->codec.output);
  return GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->src_event(encoder, event);
}

/* -------------------------------------------------------------------------------- memory --- */

/* Without CUDAMemory once it is known that there is no GPU. */
static GstCaps *getcaps(GstVideoEncoder *encoder, GstCaps *filter)
{
  GstCudaJ2kEnc *self = ENC(encoder);
  GstCaps *caps = gst_video_encoder_proxy_getcaps(encoder, NULL, filter);
  return self->started && !self->codec.context ? gst_cuda_j2k_remove_cuda_caps(caps) : caps;
}

/* A pool of page-locked memory; NULL if no GPU is in use. */
static GstBufferPool *pinned_pool(GstCudaJ2kEnc *self, GstCaps *caps, guint size, guint min)
{
  GstAllocator *allocator = gst_cuda_j2k_codec_pinned_allocator(&self->codec);
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
  guint min = gst_cuda_j2k_codec_in_flight(&self->codec) + 1;
  guint size = (guint)GST_VIDEO_INFO_SIZE(&info);
  GstBufferPool *pool = on_device ? gst_cuda_j2k_cuda_pool(self->codec.context, caps, min, 0)
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

static gboolean src_query(GstVideoEncoder *encoder, GstQuery *query)
{
  return gst_cuda_j2k_codec_query(&ENC(encoder)->codec, query) ||
         GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->src_query(encoder, query);
}

/* DRAIN: upstream wants its buffers back, also those of frames in flight. */
static gboolean sink_query(GstVideoEncoder *encoder, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN)
    wait_for_output(ENC(encoder));
  return gst_cuda_j2k_codec_query(&ENC(encoder)->codec, query) ||
         GST_VIDEO_ENCODER_CLASS(gst_cuda_j2k_enc_parent_class)->sink_query(encoder, query);
}

static void set_context(GstElement *element, GstContext *context)
{
  gst_cuda_j2k_codec_set_context(&ENC(element)->codec, context);
  GST_ELEMENT_CLASS(gst_cuda_j2k_enc_parent_class)->set_context(element, context);
}

/* --------------------------------------------------------------------------------- class --- */

static void finalize(GObject *object)
{
  gst_cuda_j2k_codec_clear(&ENC(object)->codec);
  gst_cuda_j2k_settings_clear(&ENC(object)->tried);
  gst_cuda_j2k_settings_clear(&ENC(object)->accepted);
  g_async_queue_unref(ENC(object)->slices);
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
  gst_cuda_j2k_codec_install_properties(object_class, &codec_type);
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

  encoder_class->open = open_element;
  encoder_class->close = close_element;
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
  cj2k_encoder_params_init(&self->params);
  self->slices = g_async_queue_new();
  gst_cuda_j2k_codec_init(&self->codec, self, &codec_type, &self->params, &encoder->stream_lock);
  gst_cuda_j2k_settings_init(&self->tried, &cj2k_encoder_options, &self->tried_params);
  gst_cuda_j2k_settings_init(&self->accepted, &cj2k_encoder_options, &self->accepted_params);
  GST_PAD_SET_ACCEPT_TEMPLATE(GST_VIDEO_ENCODER_SINK_PAD(encoder));
}
