/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in flight and the latency that follows from them. */
#include "gstcudaj2kcodec.h"

/* Frames in flight of streams that are not live. From and to host memory more are hardly faster;
 * between pictures in device memory 16 are by up to a sixth, and MQ decoders gain up to 64, for as
 * many times the memory (docs/performance.md). */
#define FAST_ON_GPU  8
#define LEAST_ON_CPU 2
#define MOST_ON_CPU  8

static gboolean is_auto(GstCudaJ2kCodec *codec)
{
  return gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_FRAMES_IN_FLIGHT) == 0;
}

guint gst_cuda_j2k_codec_in_flight(GstCudaJ2kCodec *codec)
{
  return gst_cuda_j2k_in_flight_wanted(&codec->in_flight);
}

/* A source that does not know is treated as live: its latency stays low as long as that is fast
 * enough. */
static gboolean is_live(GstElement *element)
{
  GstPad *pad = gst_element_get_static_pad(element, "sink");
  GstQuery *query = gst_query_new_latency();
  gboolean live = TRUE;

  if (gst_pad_peer_query(pad, query))
    gst_query_parse_latency(query, &live, NULL, NULL);
  gst_query_unref(query);
  gst_object_unref(pad);
  return live;
}

/* The encoder is asked before it is opened. */
static gboolean is_on_gpu(GstCudaJ2kCodec *codec)
{
  if (codec->object)
    return codec->type->backend(codec->object) == CJ2K_BACKEND_CUDA;
  return codec->context &&
         gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_BACKEND) != CJ2K_BACKEND_CPU;
}

static guint fast_number(GstCudaJ2kCodec *codec)
{
  return is_on_gpu(codec) ? FAST_ON_GPU
                          : CLAMP(g_get_num_processors() / 2, LEAST_ON_CPU, MOST_ON_CPU);
}

static void report_latency(GstCudaJ2kCodec *codec)
{
  guint extra = gst_cuda_j2k_codec_in_flight(codec) - 1;
  codec->type->set_latency(
      codec->element, gst_cuda_j2k_meter_latency(&codec->meter, extra, codec->fps_n, codec->fps_d));
}

void gst_cuda_j2k_codec_begin_format(GstCudaJ2kCodec *codec, const GstVideoInfo *info, guint parts)
{
  guint number = (guint)gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_FRAMES_IN_FLIGHT);
  gboolean adapts = FALSE;

  if (is_auto(codec)) {
    adapts = is_live(codec->element);
    number = adapts ? 1 : fast_number(codec);
  }
  codec->fps_n = info->fps_n;
  codec->fps_d = info->fps_d;
  codec->parts = MAX(parts, 1);
  codec->pts = GST_CLOCK_TIME_NONE;
  codec->part_duration = info->fps_n > 0
                             ? (gint64)gst_util_uint64_scale(G_USEC_PER_SEC, (guint64)info->fps_d,
                                                             (guint64)info->fps_n * codec->parts)
                             : 0;
  gst_cuda_j2k_in_flight_begin(&codec->in_flight, number, adapts);
  g_atomic_int_set(&codec->has_frame_rate, info->fps_n > 0); /* RTP carries none */
  report_latency(codec);
}

void gst_cuda_j2k_codec_note_frame(GstCudaJ2kCodec *codec, const GstVideoCodecFrame *frame)
{
  GstClockTime before = codec->pts;

  if (codec->fps_n > 0 || !GST_CLOCK_TIME_IS_VALID(frame->pts))
    return;
  codec->pts = frame->pts;
  if (GST_CLOCK_TIME_IS_VALID(before) && frame->pts > before)
    codec->part_duration = (gint64)((frame->pts - before) / GST_USECOND) / codec->parts;
}

/* The stream lock is not held while messages are posted: an application may query the element. */
void gst_cuda_j2k_codec_adapt(GstCudaJ2kCodec *codec)
{
  guint wanted = gst_cuda_j2k_codec_in_flight(codec);
  guint present = gst_cuda_j2k_in_flight_get(&codec->in_flight);
  Cj2kError error = {0};

  if (wanted == present)
    return;
  gst_cuda_j2k_output_wait(&codec->output);
  wanted = gst_cuda_j2k_codec_in_flight(codec); /* the last results may have changed it */
  gst_cuda_j2k_codec_begin_wait(codec);
  GST_INFO_OBJECT(codec->element, "%u frames in flight instead of %u", wanted, present);
  if (codec->type->set_in_flight(codec->object, wanted, &error) != CJ2K_OK)
    GST_WARNING_OBJECT(codec->element, "%u frames in flight: %s", wanted, error.text);
  codec->known_in_flight = wanted;
  gst_cuda_j2k_in_flight_change(&codec->in_flight, wanted);
  report_latency(codec);
  gst_cuda_j2k_codec_end_wait(codec);
}

void gst_cuda_j2k_codec_added(GstCudaJ2kCodec *codec, gint64 since)
{
  gst_cuda_j2k_in_flight_submitted(&codec->in_flight, since, codec->part_duration);
  gst_cuda_j2k_output_added(&codec->output);
}

void gst_cuda_j2k_codec_check_memory(GstCudaJ2kCodec *codec)
{
  Cj2kStats stats;

  codec->type->get_stats(codec->object, &stats);
  if (stats.frames_in_flight >= codec->known_in_flight)
    return;
  if (is_auto(codec))
    gst_cuda_j2k_in_flight_limit(&codec->in_flight, stats.frames_in_flight);
  else
    GST_ELEMENT_WARNING(codec->element, RESOURCE, NO_SPACE_LEFT,
                        ("Only %u frames in flight fit in memory, not %u.", stats.frames_in_flight,
                         codec->known_in_flight),
                        (NULL));
  codec->known_in_flight = stats.frames_in_flight;
}
