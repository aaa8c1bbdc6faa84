/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudaj2kmemory.h"
#include "gstcudaj2kpinned.h"

/* ------------------------------------------------------------ with or without libgstcuda --- */

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
#include <gst/cuda/gstcudamemory.h>

/* --------------------------------------------------------------------------------- caps --- */

/* The formats that the allocator of libgstcuda supports: in 1.22 it aborts on any other. */
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
#if GST_CHECK_VERSION(1, 26, 0)
    GST_VIDEO_FORMAT_VUYA,
#endif
#if GST_CHECK_VERSION(1, 28, 0)
    GST_VIDEO_FORMAT_ARGB64,
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

#if GST_CHECK_VERSION(1, 24, 0)

#include <gst/cuda/gstcudastream.h>

/* The stream of the pool that downstream offers, if it belongs to this context. */
static GstCudaStream *offered_stream(GstCudaContext *context, GstBufferPool *offered)
{
  if (!offered)
    return NULL;
  GstStructure *config = gst_buffer_pool_get_config(offered);
  GstCudaStream *stream = gst_buffer_pool_config_get_cuda_stream(config);
  gst_structure_free(config);
  if (stream && stream->context != context)
    gst_clear_cuda_stream(&stream);
  return stream;
}

static void add_stream(GstStructure *config, GstCudaContext *context, GstBufferPool *offered)
{
  GstCudaStream *stream = offered_stream(context, offered);
  if (!stream)
    stream = gst_cuda_stream_new(context);
  if (stream)
    gst_buffer_pool_config_set_cuda_stream(config, stream);
  gst_clear_cuda_stream(&stream);
}

/* The stream that the codec has to order its work behind; NULL: none. Streams of different contexts
 * cannot be ordered, so for a stream of another context this waits. */
static gpointer stream_of(GstBuffer *buffer, GstMapFlags flags)
{
  GstCudaMemory *memory = GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0));
  GstCudaStream *stream = gst_cuda_memory_get_stream(memory);
  if (!stream)
    return NULL; /* the default stream: elements that use it wait for it themselves */
  if (stream->context != memory->context) {
    gst_cuda_memory_sync(memory);
    return NULL;
  }
  if (flags & GST_MAP_WRITE)
    GST_MINI_OBJECT_FLAG_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
  return gst_cuda_stream_get_handle(stream);
}

#else

static void add_stream(GstStructure *config, GstCudaContext *context, GstBufferPool *offered)
{
  (void)config, (void)context, (void)offered;
}

static gpointer stream_of(GstBuffer *buffer, GstMapFlags flags)
{
  (void)buffer, (void)flags;
  return NULL;
}

#endif

/* A pool, and the configuration that the caller completes and sets. */
static GstBufferPool *new_pool(GstCudaJ2kContext context, GstCaps *caps, guint min, guint max,
                               GstStructure **config)
{
  GstVideoInfo info;
  if (!context || !gst_video_info_from_caps(&info, caps))
    return NULL;
  GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
  *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(*config, caps, (guint)GST_VIDEO_INFO_SIZE(&info), min, max);
  gst_buffer_pool_config_add_option(*config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  return pool;
}

static GstBufferPool *configure(GstBufferPool *pool, GstStructure *config)
{
  if (!gst_buffer_pool_set_config(pool, config))
    gst_clear_object(&pool);
  return pool;
}

GstBufferPool *gst_cuda_j2k_cuda_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                      guint max)
{
  GstStructure *config;
  GstBufferPool *pool = new_pool(context, caps, min, max, &config);
  return pool ? configure(pool, config) : NULL;
}

GstBufferPool *gst_cuda_j2k_cuda_stream_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                             guint max, GstBufferPool *offered)
{
  GstStructure *config;
  GstBufferPool *pool = new_pool(context, caps, min, max, &config);
  if (!pool)
    return NULL;
  add_stream(config, context, offered);
  return configure(pool, config);
}

static gboolean is_on_device(GstBuffer *buffer, GstCudaJ2kContext context)
{
  GstMemory *memory =
      context && gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : NULL;
  return memory && gst_is_cuda_memory(memory) &&
         GST_CUDA_MEMORY_CAST(memory)->context == (GstCudaContext *)context;
}

/* Takes offsets and strides from the memory: they differ from the format's defaults. */
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
                          GstMapFlags flags, GstCudaJ2kContext context, GstCudaJ2kMapped *mapped)
{
  gboolean on_device = is_on_device(buffer, context);
  mapped->kind = on_device ? CJ2K_MEMORY_CUDA : host_kind(buffer);
  mapped->cuda_stream = NULL;
  if (on_device)
    flags = (GstMapFlags)(flags | GST_MAP_CUDA);
  if (!gst_video_frame_map(frame, info, buffer, flags))
    return FALSE;
  if (on_device) {
    place_planes(frame, buffer);
    mapped->cuda_stream = stream_of(buffer, flags);
  }
  return TRUE;
}

#else

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

GstBufferPool *gst_cuda_j2k_cuda_stream_pool(GstCudaJ2kContext context, GstCaps *caps, guint min,
                                             guint max, GstBufferPool *offered)
{
  (void)offered;
  return gst_cuda_j2k_cuda_pool(context, caps, min, max);
}

gboolean gst_cuda_j2k_map(GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
                          GstMapFlags flags, GstCudaJ2kContext context, GstCudaJ2kMapped *mapped)
{
  (void)context;
  *mapped = (GstCudaJ2kMapped){.kind = host_kind(buffer)};
  return gst_video_frame_map(frame, info, buffer, flags);
}

#endif
