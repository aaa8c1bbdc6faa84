/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CUDAMemory with a stream, which elements pass on since GStreamer 1.24 while work on it is still
 * queued. A host function blocks the stream before pictures are written or read, for longer than a
 * frame takes: an element that does not order its work behind the stream uses wrong samples.
 * Skipped without a GPU, and with GStreamer before 1.24.
 */
#include "harness.h"

#if defined(CJ2K_HAVE_GST_CUDA) && GST_CHECK_VERSION(1, 24, 0)

#include <cuda_runtime_api.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudastream.h>
#include <gst/cuda/gstcudautils.h>

#define FRAMES  8
#define WIDTH   352
#define HEIGHT  288
#define HOLD_UP (60 * 1000) /* microseconds */

static gboolean lacks_gpu(void)
{
  int count = 0;
  gboolean lacks = cudaGetDeviceCount(&count) != cudaSuccess || !count || !gst_cuda_load_library();
  if (lacks)
    g_test_skip("no GPU");
  return lacks;
}

/* The context of an element of the rig (transfer full). */
static GstCudaContext *context_of(Rig *rig, const gchar *factory, const gchar *pad_name)
{
  GstElement *element = rig_element(rig, factory);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  GstContext *context = NULL;
  GstCudaContext *cuda = NULL;
  g_assert_true(gst_pad_query(pad, query));
  gst_query_parse_context(query, &context);
  gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                    GST_TYPE_CUDA_CONTEXT, &cuda, NULL);
  g_assert_nonnull(cuda);
  gst_query_unref(query);
  gst_object_unref(pad);
  gst_object_unref(element);
  return cuda;
}

static GstCaps *device_caps(const GstVideoInfo *info)
{
  GstCaps *caps = gst_video_info_to_caps(info);
  gst_caps_set_features_simple(caps, gst_caps_features_new("memory:CUDAMemory", NULL));
  return caps;
}

/* --------------------------------------------------------------- planes of device memory --- */

static GstCudaMemory *memory_of(GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  g_assert_true(gst_is_cuda_memory(memory));
  return GST_CUDA_MEMORY_CAST(memory);
}

static cudaStream_t stream_of(GstBuffer *buffer)
{
  GstCudaStream *stream = gst_cuda_memory_get_stream(memory_of(buffer));
  g_assert_nonnull(stream);
  return gst_cuda_stream_get_handle(stream);
}

static void CUDART_CB sleep_for_a_while(void *data)
{
  (void)data;
  g_usleep(HOLD_UP);
}

static void hold_up(cudaStream_t stream)
{
  g_assert_cmpint(cudaLaunchHostFunc(stream, sleep_for_a_while, NULL), ==, cudaSuccess);
}

/* A picture in page-locked memory, in GStreamer's default layout: copies from pageable memory would
 * wait for the stream. */
static GstBuffer *page_locked(const GstVideoInfo *info)
{
  void *memory;
  gsize size = GST_VIDEO_INFO_SIZE(info);
  g_assert_cmpint(cudaHostAlloc(&memory, size, cudaHostAllocDefault), ==, cudaSuccess);
  return gst_buffer_new_wrapped_full((GstMemoryFlags)0, memory, size, 0, size, NULL, NULL);
}

static void free_page_locked(GstBuffer *buffer)
{
  GstMapInfo map;
  g_assert_true(gst_buffer_map(buffer, &map, GST_MAP_READ));
  void *memory = map.data;
  gst_buffer_unmap(buffer, &map);
  gst_buffer_unref(buffer);
  g_assert_cmpint(cudaFreeHost(memory), ==, cudaSuccess);
}

/* Queues a copy between a picture in host memory and one on the device. */
static void queue_copy(const GstVideoInfo *info, GstBuffer *host, GstBuffer *device, gboolean up)
{
  GstCudaMemory *memory = memory_of(device);
  GstMapFlags access = up ? GST_MAP_WRITE : GST_MAP_READ;
  GstMapInfo map;
  GstVideoFrame frame;
  g_assert_true(gst_video_frame_map(&frame, info, host, GST_MAP_READ));
  g_assert_true(gst_memory_map((GstMemory *)memory, &map, (GstMapFlags)(access | GST_MAP_CUDA)));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
    guint8 *on_host = GST_VIDEO_FRAME_PLANE_DATA(&frame, p);
    guint8 *on_device = map.data + memory->info.offset[p];
    gsize host_pitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p);
    gsize device_pitch = (gsize)memory->info.stride[p];
    gsize row = (gsize)GST_VIDEO_FRAME_COMP_WIDTH(&frame, p) *
                (gsize)GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, p);
    gsize rows = (gsize)GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p);
    cudaError_t result = up ? cudaMemcpy2DAsync(on_device, device_pitch, on_host, host_pitch, row,
                                                rows, cudaMemcpyHostToDevice, stream_of(device))
                            : cudaMemcpy2DAsync(on_host, host_pitch, on_device, device_pitch, row,
                                                rows, cudaMemcpyDeviceToHost, stream_of(device));
    g_assert_cmpint(result, ==, cudaSuccess);
  }
  gst_memory_unmap((GstMemory *)memory, &map);
  gst_video_frame_unmap(&frame);
}

/* -------------------------------------------------------------------------------- encoder --- */

/* A pool like that of an upstream element of 1.24: its memory belongs to the element's stream. */
static GstBufferPool *stream_pool(GstCudaContext *context, const GstVideoInfo *info)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  GstCudaStream *stream = gst_cuda_stream_new(context);
  GstCaps *caps = device_caps(info);
  gst_buffer_pool_config_set_params(config, caps, (guint)GST_VIDEO_INFO_SIZE(info), 0, 0);
  gst_buffer_pool_config_set_cuda_stream(config, stream);
  g_assert_true(gst_buffer_pool_set_config(pool, config));
  g_assert_true(gst_buffer_pool_set_active(pool, TRUE));
  gst_caps_unref(caps);
  gst_clear_cuda_stream(&stream);
  return pool;
}

/* A buffer whose picture is written only after this function has returned. */
static GstBuffer *late_picture(GstBufferPool *pool, const GstVideoInfo *info, GstBuffer *host,
                               guint phase)
{
  GstVideoFrame from, to;
  GstBuffer *buffer, *raw = pixels_buffer(info, phase);
  g_assert_cmpint(gst_buffer_pool_acquire_buffer(pool, &buffer, NULL), ==, GST_FLOW_OK);
  g_assert_true(gst_video_frame_map(&from, info, raw, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&to, info, host, GST_MAP_WRITE));
  g_assert_true(gst_video_frame_copy(&to, &from));
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  hold_up(stream_of(buffer));
  queue_copy(info, host, buffer, TRUE);
  g_assert_true(GST_MEMORY_FLAG_IS_SET(memory_of(buffer), GST_CUDA_MEMORY_TRANSFER_NEED_SYNC));
  GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(phase, GST_SECOND, FPS);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / FPS;
  gst_buffer_unref(raw);
  return buffer;
}

static void assert_same_bytes(GstBuffer *a, GstBuffer *b)
{
  GstMapInfo map;
  g_assert_true(gst_buffer_map(a, &map, GST_MAP_READ));
  g_assert_cmpuint(map.size, ==, gst_buffer_get_size(b));
  g_assert_cmpint(gst_buffer_memcmp(b, 0, map.data, map.size), ==, 0);
  gst_buffer_unmap(a, &map);
}

/* The encoder waits for the picture to be finished. */
static void test_encoder(gconstpointer properties)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *host[FRAMES];
  gchar *cuda = g_strdup_printf("cudaj2kenc backend=cuda %s", (const gchar *)properties);
  gchar *cpu = g_strdup_printf("cudaj2kenc backend=cpu %s", (const gchar *)properties);
  Rig rig = rig_new(cuda);
  gst_harness_set_src_caps(rig.h, device_caps(&source));
  GstCudaContext *context = context_of(&rig, "cudaj2kenc", "sink");
  g_assert_true(gst_cuda_context_push(context));
  GstBufferPool *pool = stream_pool(context, &source);
  for (guint i = 0; i < FRAMES; i++)
    host[i] = page_locked(&source);
  for (guint i = 0; i < FRAMES; i++)
    g_assert_cmpint(gst_harness_push(rig.h, late_picture(pool, &source, host[i], i)), ==,
                    GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, i), *coded = gst_harness_pull(rig.h);
    GstBuffer *expected = encode_one(cpu, &source, raw, NULL);
    assert_same_bytes(expected, coded);
    gst_buffer_unref(expected);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
    free_page_locked(host[i]);
  }
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
  rig_free(&rig);
  gst_cuda_context_pop(NULL);
  gst_object_unref(context);
  g_free(cuda);
  g_free(cpu);
}

/* -------------------------------------------------------------------------------- decoder --- */

/* A decoder into CUDAMemory with one frame in flight, and its input. */
static Rig rig_coded(const GstVideoInfo *source, GstBuffer *coded[FRAMES])
{
  GstCaps *caps = NULL;
  gchar *sink = g_strdup_printf("video/x-raw(memory:CUDAMemory),format=%s",
                                gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(source)));
  for (guint i = 0; i < FRAMES; i++) {
    gst_clear_caps(&caps);
    coded[i] = encode_pattern(source, i, &caps);
  }
  Rig rig = rig_new("cudaj2kdec backend=cuda frames-in-flight=1");
  gst_harness_set_sink_caps_str(rig.h, sink);
  gst_harness_set_src_caps(rig.h, caps);
  g_free(sink);
  return rig;
}

/* Work on a picture's stream finds the picture complete. The picture stays unchanged until that
 * work is done, although its buffer returns to the pool earlier. */
static void test_decoder(void)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *host[FRAMES], *coded[FRAMES];
  Rig rig = rig_coded(&source, coded);
  GstCudaContext *context = context_of(&rig, "cudaj2kdec", "src");
  g_assert_true(gst_cuda_context_push(context));
  for (guint i = 0; i < FRAMES; i++)
    host[i] = page_locked(&source);
  for (guint i = 0; i < FRAMES; i++) {
    g_assert_cmpint(push_frame(rig.h, coded[i], i), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    g_assert_true(GST_MEMORY_FLAG_IS_SET(memory_of(decoded), GST_CUDA_MEMORY_TRANSFER_NEED_SYNC));
    hold_up(stream_of(decoded));
    queue_copy(&source, host[i], decoded, FALSE);
    gst_buffer_unref(decoded);
  }
  g_assert_cmpint(cudaDeviceSynchronize(), ==, cudaSuccess);
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, i);
    assert_same_pictures(&source, raw, &source, host[i]);
    gst_buffer_unref(raw);
    gst_buffer_unref(coded[i]);
    free_page_locked(host[i]);
  }
  rig_free(&rig);
  gst_cuda_context_pop(NULL);
  gst_object_unref(context);
}

/* A picture mapped for reading on the host is complete without further waiting. */
static void test_decoder_mapped(void)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *coded[FRAMES];
  Rig rig = rig_coded(&source, coded);
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, i);
    g_assert_cmpint(push_frame(rig.h, coded[i], i), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    assert_same_pictures(&source, raw, &source, decoded);
    hold_up(stream_of(decoded)); /* the next picture is written behind it */
    gst_buffer_unref(decoded);
    gst_buffer_unref(coded[i]);
    gst_buffer_unref(raw);
  }
  rig_free(&rig);
}

static void add_tests(void)
{
  g_test_add_data_func("/cuda/streams/encoder/ht",
                       "block-coder=ht rate-control=lossless frames-in-flight=1", test_encoder);
  g_test_add_data_func("/cuda/streams/encoder/ht-3",
                       "block-coder=ht rate-control=lossless frames-in-flight=3", test_encoder);
  /* Rate control of one frame does not depend on earlier ones here, so the bytes are comparable. */
  g_test_add_data_func("/cuda/streams/encoder/mq", "rate-control=quality frames-in-flight=1",
                       test_encoder);
  g_test_add_func("/cuda/streams/decoder", test_decoder);
  g_test_add_func("/cuda/streams/decoder/mapped", test_decoder_mapped);
}

#else

static void test_no_streams(void)
{
  g_test_skip("built without CUDAMemory, or with a GStreamer before 1.24, which has no streams");
}

static void add_tests(void)
{
  g_test_add_func("/cuda/streams", test_no_streams);
}

#endif

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  add_tests();
  int result = g_test_run();
  gst_deinit();
  return result;
}
