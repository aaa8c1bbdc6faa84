/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kcodec.h"
#include "gstcudaj2kcommon.h"
#include "gstcudaj2kpinned.h"

#include "common/options/stats.h"

/* Finds the rows of the shared options. A table that lacks one is a mistake in the program, which
 * shows as soon as an element is created. */
static void find_shared(GstCudaJ2kCodec *codec)
{
  static const gchar *const names[GST_CUDA_J2K_NUM_SETTINGS] = {
      [GST_CUDA_J2K_BACKEND] = "backend",
      [GST_CUDA_J2K_CUDA_DEVICE_ID] = "cuda-device-id",
      [GST_CUDA_J2K_FRAMES_IN_FLIGHT] = "frames-in-flight",
  };
  for (guint i = 0; i < GST_CUDA_J2K_NUM_SETTINGS; i++) {
    codec->shared[i] = cj2k_option_find(codec->type->options, names[i]);
    g_assert(codec->shared[i]);
  }
}

void gst_cuda_j2k_codec_init(GstCudaJ2kCodec *codec, gpointer element,
                             const GstCudaJ2kCodecType *type, gpointer params,
                             GRecMutex *stream_lock)
{
  codec->element = element;
  codec->type = type;
  codec->reserved = -1;
  find_shared(codec);
  gst_cuda_j2k_settings_init(&codec->settings, type->options, params);
  gst_cuda_j2k_output_init(&codec->output, element, stream_lock, type->receive);
  gst_cuda_j2k_meter_init(&codec->meter);
  gst_cuda_j2k_in_flight_init(&codec->in_flight);
  codec->parts = 1;
}

void gst_cuda_j2k_codec_clear(GstCudaJ2kCodec *codec)
{
  /* A bin may give a context to an element that is stopped. */
  gst_clear_object((GstObject **)&codec->context);
  gst_cuda_j2k_output_clear(&codec->output);
  gst_cuda_j2k_meter_clear(&codec->meter);
  gst_cuda_j2k_in_flight_clear(&codec->in_flight);
  gst_cuda_j2k_settings_clear(&codec->settings);
}

/* ---------------------------------------------------------------------------- statistics --- */

static GstStructure *make_stats(GstCudaJ2kCodec *codec)
{
  Cj2kStats present = {0};
  GST_OBJECT_LOCK(codec->element);
  Cj2kStats stats = codec->past_stats;
  if (codec->object)
    codec->type->get_stats(codec->object, &present);
  GST_OBJECT_UNLOCK(codec->element);
  cj2k_stats_add(&stats, &present);
  GstStructure *structure = gst_cuda_j2k_stats_structure(&stats);
  gst_structure_set(structure, "gpus", G_TYPE_UINT, present.devices, "in-flight-limit", G_TYPE_UINT,
                    gst_cuda_j2k_in_flight_get(&codec->in_flight), NULL);
  gst_cuda_j2k_meter_add_fields(&codec->meter, &codec->output, structure);
  return structure;
}

/* ---------------------------------------------------------------------------- properties --- */

void gst_cuda_j2k_codec_install_properties(GObjectClass *klass, const GstCudaJ2kCodecType *type)
{
  const GParamFlags read_only = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  g_object_class_install_property(
      klass, GST_CUDA_J2K_PROP_ACTIVE_BACKEND,
      g_param_spec_enum("active-backend", "Active back end",
                        "Back end in use; the property `backend` while no stream is open",
                        GST_TYPE_CUDA_J2K_BACKEND, CJ2K_BACKEND_AUTO, read_only));
  /**
   * GstCudaJ2kDec:stats:
   *
   * "application/x-cudaj2k-stats" with the guint64 fields "frames", "failed-frames",
   * "corrupt-blocks" (code-blocks that became zeros), "concealed-frames" (of which packets were
   * missing), "concealed-packets" (the missing ones), "concealed-blocks" (code-blocks of their
   * precincts), "restored-blocks" (code-blocks taken from the frame before, see the property
   * conceal), "fallbacks" (frames that the CPU back end had to do), "limited-frames" (that a
   * ceiling made smaller than their target), "redone-frames" (that a GPU lost and another one did
   * again), "lost-gpus" (failures of one of several), "bytes" (of codestreams), and of an average
   * bit rate
   * "average-bytes" (of a frame), "bucket-bytes" (that times average-window) and "bucket-level"
   * (bytes in the bucket after the last frame; half of "bucket-bytes" is the average),
   * and the sums over all frames in milliseconds "header-ms",
   * "packets-ms", "block-coder-ms", "transform-ms" and "total-ms". Then what the element measured
   * itself: the guint64 fields "dropped-qos" and "dropped-errors"; the guint fields
   * "frames-in-flight" (each field and each stripe counts), "waiting-input" and "waiting-output"
   * (1 while a frame waits for room, and while one waits for downstream); and "latency-p50-ms" and
   * "latency-p99-ms", from sink pad to source pad, of the last five seconds; and the guint fields
   * "gpus", how many GPUs are in use, and "in-flight-limit", how many frames may be in flight at
   * present.
   */
  /**
   * GstCudaJ2kEnc:stats:
   *
   * The structure of #GstCudaJ2kDec:stats.
   */
  g_object_class_install_property(
      klass, GST_CUDA_J2K_PROP_STATS,
      g_param_spec_boxed("stats", "Statistics",
                         "Frames, corrupt code-blocks, fallbacks, bytes, and times by stage",
                         GST_TYPE_STRUCTURE, read_only));
  /**
   * GstCudaJ2kDec:stats-interval:
   *
   * When a frame leaves and this time has passed since the last message, an element message with
   * the structure of #GstCudaJ2kDec:stats is posted.
   */
  /**
   * GstCudaJ2kEnc:stats-interval:
   *
   * The same as #GstCudaJ2kDec:stats-interval.
   */
  g_object_class_install_property(klass, GST_CUDA_J2K_PROP_STATS_INTERVAL,
                                  gst_cuda_j2k_meter_interval_pspec());
  gst_cuda_j2k_options_install(klass, type->options, GST_CUDA_J2K_PROP_FIRST_OPTION);
}

/* Warns and returns NULL if no property has this id. */
static const Cj2kOption *find_option(GstCudaJ2kCodec *codec, guint id, GParamSpec *pspec)
{
  const Cj2kOption *option =
      gst_cuda_j2k_option(codec->type->options, GST_CUDA_J2K_PROP_FIRST_OPTION, id);
  if (!option)
    G_OBJECT_WARN_INVALID_PROPERTY_ID(codec->element, id, pspec);
  return option;
}

void gst_cuda_j2k_codec_set_property(GstCudaJ2kCodec *codec, guint id, const GValue *value,
                                     GParamSpec *pspec)
{
  if (id == GST_CUDA_J2K_PROP_STATS_INTERVAL) {
    gst_cuda_j2k_meter_set_interval(&codec->meter, g_value_get_uint(value));
    return;
  }
  const Cj2kOption *option = find_option(codec, id, pspec);
  if (!option)
    return;
  GST_OBJECT_LOCK(codec->element);
  gst_cuda_j2k_settings_set(&codec->settings, option, value);
  GST_OBJECT_UNLOCK(codec->element);
  if (option->flags & CJ2K_OPTION_LIVE)
    g_atomic_int_set(&codec->live_changed, TRUE);
}

static void get_option(GstCudaJ2kCodec *codec, guint id, GValue *value, GParamSpec *pspec)
{
  const Cj2kOption *option = find_option(codec, id, pspec);
  if (!option)
    return;
  GST_OBJECT_LOCK(codec->element);
  gst_cuda_j2k_settings_get(&codec->settings, option, value);
  GST_OBJECT_UNLOCK(codec->element);
}

/* The caller holds the object lock. */
static gint get_setting(const GstCudaJ2kCodec *codec, GstCudaJ2kSetting setting)
{
  return (gint)cj2k_option_get(codec->shared[setting], codec->settings.params);
}

static gint active_backend(GstCudaJ2kCodec *codec)
{
  GST_OBJECT_LOCK(codec->element);
  gint backend = codec->object ? (gint)codec->type->backend(codec->object)
                               : get_setting(codec, GST_CUDA_J2K_BACKEND);
  GST_OBJECT_UNLOCK(codec->element);
  return backend;
}

void gst_cuda_j2k_codec_get_property(GstCudaJ2kCodec *codec, guint id, GValue *value,
                                     GParamSpec *pspec)
{
  switch (id) {
  case GST_CUDA_J2K_PROP_ACTIVE_BACKEND: g_value_set_enum(value, active_backend(codec)); break;
  case GST_CUDA_J2K_PROP_STATS: g_value_take_boxed(value, make_stats(codec)); break;
  case GST_CUDA_J2K_PROP_STATS_INTERVAL:
    g_value_set_uint(value, gst_cuda_j2k_meter_get_interval(&codec->meter));
    break;
  default: get_option(codec, id, value, pspec); break;
  }
}

gint gst_cuda_j2k_codec_setting(GstCudaJ2kCodec *codec, GstCudaJ2kSetting setting)
{
  GST_OBJECT_LOCK(codec->element);
  gint value = get_setting(codec, setting);
  GST_OBJECT_UNLOCK(codec->element);
  return value;
}

/* -------------------------------------------------------------------------------- states --- */

gboolean gst_cuda_j2k_codec_start(GstCudaJ2kCodec *codec, const gchar *thread_name)
{
  GError *error = NULL;
  GST_OBJECT_LOCK(codec->element);
  codec->past_stats = (Cj2kStats){0};
  GST_OBJECT_UNLOCK(codec->element);
  codec->fallback_warned = FALSE;
  gst_cuda_j2k_meter_start(&codec->meter);
  if (gst_cuda_j2k_output_start(&codec->output, thread_name, &error))
    return TRUE;
  GST_ELEMENT_ERROR(codec->element, RESOURCE, FAILED, ("The output thread cannot be started."),
                    ("%s", error->message));
  g_error_free(error);
  return FALSE;
}

void gst_cuda_j2k_codec_stop(GstCudaJ2kCodec *codec)
{
  gst_cuda_j2k_codec_replace(codec, NULL);
  GST_OBJECT_LOCK(codec->element);
  gpointer context = codec->context;
  codec->context = NULL;
  GST_OBJECT_UNLOCK(codec->element);
  g_clear_object(&context);
}

void gst_cuda_j2k_codec_replace(GstCudaJ2kCodec *codec, gpointer object)
{
  Cj2kStats stats = {0};
  if (codec->object)
    codec->type->get_stats(codec->object, &stats);
  GST_OBJECT_LOCK(codec->element);
  gpointer old = codec->object;
  codec->object = object;
  cj2k_stats_add(&codec->past_stats, &stats);
  codec->known_in_flight = gst_cuda_j2k_in_flight_wanted(&codec->in_flight);
  gst_cuda_j2k_in_flight_start(&codec->in_flight, codec->known_in_flight);
  GST_OBJECT_UNLOCK(codec->element);
  stats = (Cj2kStats){0};
  if (object)
    codec->type->get_stats(object, &stats);
  codec->known_devices = stats.devices + (guint)stats.lost_devices; /* when its slots were made */
  codec->reason_awaited = 0;
  if (old)
    codec->type->close(old);
}

void gst_cuda_j2k_codec_check_cpu(GstCudaJ2kCodec *codec)
{
  const gchar *reason = codec->type->why_cpu(codec->object);
  if (!reason || codec->cpu_warned)
    return;
  GST_ELEMENT_WARNING(codec->element, RESOURCE, NOT_FOUND,
                      ("No GPU is usable, using the CPU (%s).", reason), (NULL));
  codec->cpu_warned = TRUE;
}

/* ------------------------------------------------------------------------------- context --- */

gboolean gst_cuda_j2k_codec_query(GstCudaJ2kCodec *codec, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_CONTEXT)
    return FALSE;
  /* Other threads query while the element stops, which drops its context. */
  GST_OBJECT_LOCK(codec->element);
  gpointer context = codec->context ? g_object_ref(codec->context) : NULL;
  GST_OBJECT_UNLOCK(codec->element);
  gboolean answered = gst_cuda_j2k_context_query(codec->element, query, context);
  g_clear_object(&context);
  return answered;
}

GstAllocator *gst_cuda_j2k_codec_pinned_allocator(GstCudaJ2kCodec *codec)
{
  if (!codec->object || codec->type->backend(codec->object) != CJ2K_BACKEND_CUDA)
    return NULL;
  return gst_cuda_j2k_pinned_allocator_new(codec->context, gst_cuda_j2k_codec_gpu(codec));
}

/* ------------------------------------------------------------------------------- threads --- */

void gst_cuda_j2k_codec_begin_wait(GstCudaJ2kCodec *codec)
{
  gst_cuda_j2k_output_unlock_stream(&codec->output);
  g_atomic_int_set(&codec->meter.waiting_input, 1);
}

void gst_cuda_j2k_codec_end_wait(GstCudaJ2kCodec *codec)
{
  g_atomic_int_set(&codec->meter.waiting_input, 0);
  gst_cuda_j2k_output_lock_stream(&codec->output);
}

gboolean gst_cuda_j2k_codec_begin_submit(GstCudaJ2kCodec *codec)
{
  gst_cuda_j2k_codec_adapt(codec);
  gst_cuda_j2k_codec_begin_wait(codec);
  codec->submitting = g_get_monotonic_time();
  return gst_cuda_j2k_output_pending(&codec->output) <
         gst_cuda_j2k_in_flight_get(&codec->in_flight);
}

void gst_cuda_j2k_codec_end_submit(GstCudaJ2kCodec *codec, gboolean submitted)
{
  if (submitted)
    gst_cuda_j2k_codec_added(codec, codec->submitting);
  gst_cuda_j2k_codec_end_wait(codec);
}

void gst_cuda_j2k_codec_wait_before_events(GstCudaJ2kCodec *codec, GList *frames)
{
  gboolean has_events = FALSE;

  for (const GList *i = frames; i; i = i->next)
    has_events |= ((const GstVideoCodecFrame *)i->data)->events != NULL;
  g_list_free_full(frames, (GDestroyNotify)gst_video_codec_frame_unref);
  if (has_events)
    gst_cuda_j2k_output_wait(&codec->output);
}

void gst_cuda_j2k_codec_measure(GstCudaJ2kCodec *codec, gboolean ends_frame, gint64 arrived,
                                gboolean is_free)
{
  GstClockTime latency;
  gst_cuda_j2k_in_flight_received(&codec->in_flight, g_get_monotonic_time());
  gst_cuda_j2k_codec_check_memory(codec);
  if (ends_frame)
    gst_cuda_j2k_meter_count_frame(&codec->meter, arrived, is_free);
  if (!g_atomic_int_get(&codec->has_frame_rate) &&
      gst_cuda_j2k_meter_new_latency(&codec->meter, &latency))
    codec->type->set_latency(codec->element, latency);
  if (gst_cuda_j2k_meter_is_due(&codec->meter))
    gst_element_post_message(
        codec->element, gst_message_new_element(GST_OBJECT(codec->element), make_stats(codec)));
}

void gst_cuda_j2k_codec_check_fallback(GstCudaJ2kCodec *codec, gboolean fallback,
                                       const Cj2kError *why)
{
  if (!fallback)
    return;
  GST_LOG_OBJECT(codec->element, "done by the CPU back end: %s", why->text);
  if (codec->fallback_warned)
    return;
  GST_ELEMENT_WARNING(codec->element, RESOURCE, FAILED,
                      ("Some frames are done on the CPU instead of the GPU (%s).", why->text),
                      ("The property stats counts such frames as fallbacks."));
  codec->fallback_warned = TRUE;
}
