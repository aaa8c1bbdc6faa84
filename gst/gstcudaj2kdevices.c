/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which GPUs an element works on: the properties cuda-device-id and cuda-devices, the choice of the
 * least loaded GPU from READY on, and GPUs that fail. */
#include "gstcudaj2kcodec.h"

/* The property cuda-devices (transfer full); NULL: it is not set. */
gchar *gst_cuda_j2k_codec_devices(GstCudaJ2kCodec *codec)
{
  const Cj2kOption *option = cj2k_option_find(codec->type->options, "cuda-devices");
  GValue value = G_VALUE_INIT;

  g_value_init(&value, G_TYPE_STRING);
  GST_OBJECT_LOCK(codec->element);
  gst_cuda_j2k_settings_get(&codec->settings, option, &value);
  GST_OBJECT_UNLOCK(codec->element);
  gchar *text = g_value_dup_string(&value);
  g_value_unset(&value);
  if (text && !*text)
    g_clear_pointer(&text, g_free);
  return text;
}

static void release(GstCudaJ2kCodec *codec)
{
  cj2k_device_release(codec->reserved);
  codec->reserved = -1;
  g_clear_pointer(&codec->reserved_of, g_free);
}

/* Reserves the least loaded GPU of those that the properties allow, unless that was done or they
 * allow only one. An error is reported when the codec is opened. */
static void reserve(GstCudaJ2kCodec *codec)
{
  gchar *devices = gst_cuda_j2k_codec_devices(codec);
  gboolean choose = gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_BACKEND) != CJ2K_BACKEND_CPU &&
                    (devices || gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_CUDA_DEVICE_ID) < 0);

  if (!choose || g_strcmp0(devices, codec->reserved_of))
    release(codec);
  if (choose && codec->reserved < 0) {
    codec->reserved = cj2k_device_reserve(devices, NULL);
    g_free(codec->reserved_of); /* set if none could be reserved before */
    codec->reserved_of = g_steal_pointer(&devices);
    GST_DEBUG_OBJECT(codec->element, "the least loaded GPU is %d", codec->reserved);
  }
  g_free(devices);
}

void gst_cuda_j2k_codec_open(GstCudaJ2kCodec *codec)
{
  reserve(codec);
}

void gst_cuda_j2k_codec_close(GstCudaJ2kCodec *codec)
{
  release(codec);
}

gint gst_cuda_j2k_codec_gpu(GstCudaJ2kCodec *codec)
{
  return codec->reserved >= 0 ? codec->reserved
                              : gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_CUDA_DEVICE_ID);
}

/* If a neighbour's context is on another GPU than the one that was chosen, that GPU is reserved. */
static void follow_context(GstCudaJ2kCodec *codec)
{
  gchar text[16];
  gint given = -1;

  gst_cuda_j2k_context_handle(codec->context, &given);
  if (given < 0 || codec->reserved < 0 || given == codec->reserved)
    return;
  cj2k_device_release(codec->reserved);
  g_snprintf(text, sizeof text, "%d", given);
  codec->reserved = cj2k_device_reserve(text, NULL);
}

/* A neighbour's context is used whatever its GPU is, but with cuda-devices it must be the one that
 * was chosen of them: frames are shared between these, and pictures in CUDAMemory belong to the
 * context. */
void gst_cuda_j2k_codec_find_gpu(GstCudaJ2kCodec *codec)
{
  gint given = -1;

  if (gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_BACKEND) == CJ2K_BACKEND_CPU)
    return;
  reserve(codec);
  gst_cuda_j2k_context_handle(codec->context, &given);
  if (codec->reserved_of && codec->context && given != codec->reserved) {
    GST_OBJECT_LOCK(codec->element);
    gpointer old = codec->context;
    codec->context = NULL;
    GST_OBJECT_UNLOCK(codec->element);
    g_clear_object(&old);
  }
  gst_cuda_j2k_context_ensure(codec->element, gst_cuda_j2k_codec_gpu(codec), &codec->context);
  follow_context(codec);
}

void gst_cuda_j2k_codec_set_context(GstCudaJ2kCodec *codec, GstContext *given)
{
  gint device = gst_cuda_j2k_codec_setting(codec, GST_CUDA_J2K_CUDA_DEVICE_ID);
  gst_cuda_j2k_context_set(codec->element, given, codec->reserved_of ? codec->reserved : device,
                           &codec->context);
}

/* Results of frames on the GPUs that are left may come first, so the reason is awaited as long as
 * frames are in flight that may bring it. */
static gboolean awaits_reason(GstCudaJ2kCodec *codec)
{
  guint pending = gst_cuda_j2k_output_pending(&codec->output); /* with this one */

  if (!codec->reason_awaited)
    codec->reason_awaited = MAX(pending, 1);
  return --codec->reason_awaited > 0 && pending > 1;
}

void gst_cuda_j2k_codec_check_gpus(GstCudaJ2kCodec *codec, gboolean redone, const Cj2kError *why)
{
  Cj2kStats stats;
  gchar lost[32] = "A GPU has";

  if (redone)
    GST_LOG_OBJECT(codec->element, "done again by another GPU: %s", why->text);
  if (codec->known_devices < 2)
    return;
  codec->type->get_stats(codec->object, &stats);
  if (stats.devices >= codec->known_devices || (!redone && awaits_reason(codec)))
    return;
  if (codec->known_devices > stats.devices + 1)
    g_snprintf(lost, sizeof lost, "%u GPUs have", codec->known_devices - stats.devices);
  codec->known_devices = stats.devices;
  codec->reason_awaited = 0;
  GST_ELEMENT_WARNING(codec->element, RESOURCE, FAILED,
                      ("%s failed (%s). The frames go to the others, of which there are %u.", lost,
                       redone ? why->text : "the reason is not known", stats.devices),
                      ("The property stats counts frames that were done again."));
}
