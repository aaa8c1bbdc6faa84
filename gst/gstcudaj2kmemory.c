/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kmemory.h"
#include "gstcudaj2kpinned.h"

/* ------------------------------------------------------------------- with or without libgstcuda
 * --- */

gboolean gst_cuda_j2k_caps_have_cuda(const GstCaps *caps)
{
  for (guint i = 0; !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i), GST_CUDA_J2K_FEATURE))
      return TRUE;
  return FALSE;
}

GstCaps *gst_cuda_j2k_remove_cuda_caps(GstCaps *caps)
{
  caps = gst_caps_make_writable(caps);
  for (guint i = gst_caps_get_size(caps); i-- > 0;)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i), GST_CUDA_J2K_FEATURE))
      gst_caps_remove_structure(caps, i);
  return caps;
}

static Cj2kMemoryKind host_kind(GstBuffer *buffer)
{
  return gst_cuda_j2k_buffer_is_pinned(buffer) ? CJ2K_MEMORY_PINNED : CJ2K_MEMORY_HOST;
}

#ifdef CJ2K_HAVE_GST_CUDA

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

/* ------------------------------------------------------------------------------ contexts --- */

static gboolean have_driver(void)
{
  static gsize state = 0;
  if (g_once_init_enter(&state)) {
    gboolean loaded = gst_cuda_load_library();
    if (loaded)
      gst_cuda_memory_init_once();
    g_once_init_leave(&state, loaded ? 2 : 1);
  }
  return state == 2;
}

void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context)
{
  if (have_driver())
    gst_cuda_ensure_element_context(element, device, (GstCudaContext **)context);
}

void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context)
{
  if (have_driver())
    gst_cuda_handle_set_context(element, given, device, (GstCudaContext **)context);
}

gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query, GstCudaJ2kContext context)
{
  return context && GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
         gst_cuda_handle_context_query(element, query, context);
}

gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device)
{
  guint number = 0;
  if (!context)
    return NULL;
  g_object_get(context, "cuda-device-id", &number, NULL);
  *device = (gint)number;
  return gst_cuda_context_get_handle(context);
}

/* --------------------------------------------------------------------------------- caps --- */

/* What the allocator of libgstcuda takes: on any other format that of 1.22 aborts. */
static const GstVideoFormat cuda_formats[] = {
    GST_VIDEO_FORMAT_I420,       GST_VIDEO_FORMAT_YV12,      GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_NV21,       GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_P016_LE,
    GST_VIDEO_FORMAT_I420_10LE,  GST_VIDEO_FORMAT_Y444,      GST_VIDEO_FORMAT_Y444_16LE,
    GST_VIDEO_FORMAT_BGRA,       GST_VIDEO_FORMAT_RGBA,      GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_BGRx,       GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_ABGR,
    GST_VIDEO_FORMAT_RGB,        GST_VIDEO_FORMAT_BGR,       GST_VIDEO_FORMAT_BGR10A2_LE,
    GST_VIDEO_FORMAT_RGB10A2_LE, GST_VIDEO_FORMAT_Y42B,      GST_VIDEO_FORMAT_I422_10LE,
    GST_VIDEO_FORMAT_I422_12LE,  GST_VIDEO_FORMAT_YUY2,      GST_VIDEO_FORMAT_UYVY,
    GST_VIDEO_FORMAT_RGBP,       GST_VIDEO_FORMAT_BGRP,      GST_VIDEO_FORMAT_GBR,
    GST_VIDEO_FORMAT_GBRA,
#if GST_CHECK_VERSION(1, 24, 0)
    GST_VIDEO_FORMAT_P012_LE,    GST_VIDEO_FORMAT_I420_12LE, GST_VIDEO_FORMAT_Y444_10LE,
    GST_VIDEO_FORMAT_Y444_12LE,  GST_VIDEO_FORMAT_GBR_10LE,  GST_VIDEO_FORMAT_GBR_12LE,
    GST_VIDEO_FORMAT_GBR_16LE,
#endif
};

GstCaps *gst_cuda_j2k_add_cuda_caps(GstCaps *raw)
{
  GValue list = G_VALUE_INIT, name = G_VALUE_INIT;
  GstCaps *cuda = gst_caps_copy(raw);
  g_value_init(&list, GST_TYPE_LIST);
  g_value_init(&name, G_TYPE_STRING);
  for (guint i = 0; i < G_N_ELEMENTS(cuda_formats); i++) {
    g_value_set_static_string(&name, gst_video_format_to_string(cuda_formats[i]));
    gst_value_list_append_value(&list, &name);
  }
  gst_caps_set_value(cuda, "format", &list);
  gst_caps_set_features_simple(cuda, gst_caps_features_new(GST_CUDA_J2K_FEATURE, NULL));
  g_value_unset(&name);
  g_value_unset(&list);
  raw = gst_caps_make_writable(raw);
  gst_caps_append(raw, cuda);
  return raw;
}

/* ------------------------------------------------------------------------------- buffers --- */

GstBufferPool *gst_cuda_j2k_cuda_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                      guint max)
{
  GstVideoInfo info;
  if (!context || !gst_video_info_from_caps(&info, caps))
    return NULL;
  GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, (guint)GST_VIDEO_INFO_SIZE(&info), min, max);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool, config)) {
    gst_object_unref(pool);
    return NULL;
  }
  return pool;
}

static gboolean is_on_device(GstBuffer *buffer, GstCudaJ2kContext context)
{
  GstMemory *memory =
      context && gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : NULL;
  return memory && gst_is_cuda_memory(memory) &&
         GST_CUDA_MEMORY_CAST(memory)->context == (GstCudaContext *)context;
}

/* The planes lie where the memory says, which is not where the format's default would have them. */
static void place_planes(GstVideoFrame *frame, GstBuffer *buffer)
{
  const GstVideoInfo *info = &GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0))->info;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
    frame->data[p] = frame->map[0].data + info->offset[p];
    frame->info.offset[p] = info->offset[p];
    frame->info.stride[p] = info->stride[p];
  }
}

gboolean gst_cuda_j2k_map(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, GstCudaJ2kContext context, Cj2kMemoryKind *kind)
{
  gboolean on_device = is_on_device(buffer, context);
  *kind = on_device ? CJ2K_MEMORY_CUDA : host_kind(buffer);
  if (on_device)
    flags = (GstMapFlags)(flags | GST_MAP_CUDA);
  if (!gst_video_frame_map(frame, info, buffer, flags))
    return FALSE;
  if (on_device)
    place_planes(frame, buffer);
  return TRUE;
}

#else

void gst_cuda_j2k_context_ensure(GstElement *element, gint device, GstCudaJ2kContext *context)
{
  (void)element, (void)device, (void)context;
}

void gst_cuda_j2k_context_set(GstElement *element, GstContext *given, gint device,
                              GstCudaJ2kContext *context)
{
  (void)element, (void)given, (void)device, (void)context;
}

gboolean gst_cuda_j2k_context_query(GstElement *element, GstQuery *query, GstCudaJ2kContext context)
{
  (void)element, (void)query, (void)context;
  return FALSE;
}

gpointer gst_cuda_j2k_context_handle(GstCudaJ2kContext context, gint *device)
{
  (void)context, (void)device;
  return NULL;
}

GstCaps *gst_cuda_j2k_add_cuda_caps(GstCaps *raw)
{
  return raw;
}

GstBufferPool *gst_cuda_j2k_cuda_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                      guint max)
{
  (void)context, (void)caps, (void)min, (void)max;
  return NULL;
}

gboolean gst_cuda_j2k_map(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, GstCudaJ2kContext context, Cj2kMemoryKind *kind)
{
  (void)context;
  *kind = host_kind(buffer);
  return gst_video_frame_map(frame, info, buffer, flags);
}

#endif
