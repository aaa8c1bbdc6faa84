/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements on a GPU: input and output in memory:CUDAMemory, and the same results as on the CPU.
 * Skipped without a GPU. */
#include "gpu.h"

#define FRAMES 8
#define WIDTH  352
#define HEIGHT 288

static gboolean pad_has_cuda(Rig *rig, const gchar *factory, const gchar *pad_name)
{
  GstElement *element = rig_element(rig, factory);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  GstCaps *caps = gst_pad_get_current_caps(pad);
  gboolean has = gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory");
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_object_unref(element);
  return has;
}

/* Pushes FRAMES pictures in host memory, and the end of the stream behind them. */
static void push_pictures(Rig *rig, const GstVideoInfo *source)
{
  gst_harness_set_src_caps(rig->h, gst_video_info_to_caps(source));
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(source, i);
    g_assert_cmpint(push_frame(rig->h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  g_assert_true(gst_harness_push_event(rig->h, gst_event_new_eos()));
}

/* Upload, codec and download are lossless, and between them no picture passes through host memory.
 */
static void test_device_memory(gconstpointer data)
{
  GstVideoFormat format = (GstVideoFormat)GPOINTER_TO_INT(data);
  if (lacks_gpu() || skip_without("cudaupload"))
    return;
  GstVideoInfo source = video(format, WIDTH, HEIGHT);
  gchar *description = g_strdup_printf(
      "cudaupload ! capsfilter caps=video/x-raw(memory:CUDAMemory),format=%s ! "
      "cudaj2kenc backend=cuda block-coder=ht rate-control=lossless frames-in-flight=3 ! "
      "cudaj2kdec backend=cuda frames-in-flight=3 ! "
      "capsfilter caps=video/x-raw(memory:CUDAMemory),format=%s ! cudadownload",
      gst_video_format_to_string(format), gst_video_format_to_string(format));
  Rig rig = rig_new(description);
  gst_harness_set_sink_caps_str(rig.h, "video/x-raw");
  push_pictures(&rig, &source);
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, FRAMES);
  g_assert_true(pad_has_cuda(&rig, "cudaj2kenc", "sink"));
  g_assert_true(pad_has_cuda(&rig, "cudaj2kdec", "src"));
  /* Memory of another context would pass through the host. */
  gpointer shared = context_of(&rig, "cudaupload", "src");
  g_assert_nonnull(shared);
  g_assert_true(shared == context_of(&rig, "cudaj2kenc", "sink"));
  g_assert_true(shared == context_of(&rig, "cudaj2kdec", "src"));
  g_assert_true(shared == context_of(&rig, "cudadownload", "sink"));
  for (guint i = 0; i < FRAMES; i++)
    assert_next_picture(rig.h, &source, i);
  rig_free(&rig);
  g_free(description);
}

/* If downstream has ANY caps, pictures are in system memory. */
static void test_anything_is_host(void)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  Rig rig = rig_new("cudaj2kdec backend=cuda");
  gst_harness_set_src_caps(rig.h, caps);
  g_assert_cmpint(push_frame(rig.h, coded, 0), ==, GST_FLOW_OK);
  GstBuffer *decoded = gst_harness_pull(rig.h);
  /* Page-locked, so that the GPU can write to it directly. */
  g_assert_true(gst_memory_is_type(gst_buffer_peek_memory(decoded, 0), "CudaJ2kPinned"));
  GstVideoInfo info = output_video(rig.h);
  GstBuffer *raw = pixels_buffer(&source, 0);
  assert_same_pictures(&source, raw, &info, decoded);
  g_assert_false(pad_has_cuda(&rig, "cudaj2kdec", "src"));
  gst_buffer_unref(coded);
  rig_free(&rig);
  /* The memory outlives the element. */
  assert_same_pictures(&source, raw, &info, decoded);
  gst_buffer_unref(decoded);
  gst_buffer_unref(raw);
}

/* Both back ends give the same bytes, and the same samples for lossy streams. */
static void test_same_as_cpu(gconstpointer data)
{
  const gchar *properties = data;
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0), *coded[2], *decoded[2];
  for (guint i = 0; i < 2; i++) {
    const gchar *backend = i ? "cuda" : "cpu";
    gchar *encoder = g_strdup_printf("cudaj2kenc backend=%s %s", backend, properties);
    gchar *both =
        g_strdup_printf("cudaj2kenc backend=cpu %s ! cudaj2kdec backend=%s", properties, backend);
    coded[i] = encode_one(encoder, &source, raw, NULL);
    decoded[i] = encode_one(both, &source, raw, NULL);
    g_free(encoder);
    g_free(both);
  }
  GstMapInfo map;
  gst_buffer_map(coded[0], &map, GST_MAP_READ);
  g_assert_cmpuint(map.size, ==, gst_buffer_get_size(coded[1]));
  g_assert_cmpint(gst_buffer_memcmp(coded[1], 0, map.data, map.size), ==, 0);
  gst_buffer_unmap(coded[0], &map);
  assert_same_pictures(&source, decoded[0], &source, decoded[1]);
  for (guint i = 0; i < 2; i++) {
    gst_buffer_unref(coded[i]);
    gst_buffer_unref(decoded[i]);
  }
  gst_buffer_unref(raw);
}

/* ------------------------------------------------------------------------ what is offered --- */

/* Caps like those of nvcodec's encoders and filters: device memory first, last or alone. */
static void test_negotiation(void)
{
  static const struct {
    GstVideoFormat source;
    const gchar *caps;
    gboolean on_device;
    GstVideoFormat format;
  } cases[] = {
      {GST_VIDEO_FORMAT_I420, "video/x-raw(memory:CUDAMemory),format={NV12,P010_10LE}", TRUE,
       GST_VIDEO_FORMAT_NV12},
      {GST_VIDEO_FORMAT_I420_10LE, "video/x-raw(memory:CUDAMemory),format={NV12,P010_10LE}", TRUE,
       GST_VIDEO_FORMAT_P010_10LE},
      {GST_VIDEO_FORMAT_I420, "video/x-raw,format=NV12;video/x-raw(memory:CUDAMemory),format=NV12",
       TRUE, GST_VIDEO_FORMAT_NV12},
      {GST_VIDEO_FORMAT_I420_10LE,
       "video/x-raw(memory:CUDAMemory),format=NV12;video/x-raw,format=P010_10LE", FALSE,
       GST_VIDEO_FORMAT_P010_10LE},
  };
  if (lacks_gpu() || skip_without("cudaupload"))
    return;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].source, WIDTH, HEIGHT);
    Rig rig = rig_new("cudaj2kenc backend=cuda rate-control=lossless ! cudaj2kdec backend=cuda");
    GstBuffer *raw = pixels_buffer(&source, i);
    gst_harness_set_sink_caps_str(rig.h, cases[i].caps);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
    GstBuffer *decoded = gst_harness_pull(rig.h);
    GstVideoInfo info = output_video(rig.h);
    g_assert_cmpint(GST_VIDEO_INFO_FORMAT(&info), ==, cases[i].format);
    g_assert_cmpint(pad_has_cuda(&rig, "cudaj2kdec", "src"), ==, cases[i].on_device);
    assert_same_pictures(&source, raw, &info, decoded);
    gst_buffer_unref(decoded);
    gst_buffer_unref(raw);
    rig_free(&rig);
  }
}

/* The pool that the encoder offers to upstream, and a buffer from it. */
static GstBuffer *offered_buffer(Rig *rig, const GstVideoInfo *info, GstBufferPool **pool)
{
  GstElement *element = rig_element(rig, "cudaj2kenc");
  GstPad *pad = gst_element_get_static_pad(element, "sink");
  GstCaps *caps = gst_pad_get_current_caps(pad);
  GstQuery *query = gst_query_new_allocation(caps, TRUE);
  GstBuffer *buffer = NULL;
  guint size;
  g_assert_true(gst_pad_query(pad, query));
  g_assert_cmpuint(gst_query_get_n_allocation_pools(query), >, 0);
  gst_query_parse_nth_allocation_pool(query, 0, pool, &size, NULL, NULL);
  g_assert_cmpuint(size, ==, GST_VIDEO_INFO_SIZE(info));
  g_assert_true(gst_buffer_pool_set_active(*pool, TRUE));
  g_assert_cmpint(gst_buffer_pool_acquire_buffer(*pool, &buffer, NULL), ==, GST_FLOW_OK);
  gst_query_unref(query);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_object_unref(element);
  return buffer;
}

/* The encoder offers page-locked memory to upstream, and encodes what is written there. */
static void test_pinned_pool(void)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  Rig rig = rig_new("cudaj2kenc backend=cuda rate-control=lossless ! cudaj2kdec backend=cpu");
  GstBufferPool *pool;
  GstBuffer *raw = pixels_buffer(&source, 3);
  GstVideoFrame from, to;
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  GstBuffer *buffer = offered_buffer(&rig, &source, &pool);
  g_assert_true(gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), "CudaJ2kPinned"));
  g_assert_true(gst_video_frame_map(&from, &source, raw, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&to, &source, buffer, GST_MAP_WRITE));
  g_assert_true(gst_video_frame_copy(&to, &from));
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  g_assert_cmpint(gst_harness_push(rig.h, buffer), ==, GST_FLOW_OK);
  assert_next_picture(rig.h, &source, 3);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* --------------------------------------------------------------------- nvcodec's decoders --- */

/* Three frames of 192x96, 4:2:0, all bars of colour, H.264 baseline. */
static const guint8 h264_stream[] = {
    0x00, 0x00, 0x00, 0x01, 0x09, 0xf0, 0x00, 0x00, 0x00, 0x01, 0x67, 0x42, 0xc0, 0x0b, 0x8c, 0x8d,
    0x41, 0x86, 0x90, 0x0f, 0x08, 0x84, 0x6a, 0x00, 0x00, 0x00, 0x01, 0x68, 0xce, 0x3c, 0x80, 0x00,
    0x00, 0x00, 0x01, 0x65, 0xb8, 0x00, 0x04, 0x00, 0x00, 0x07, 0x3f, 0xff, 0xfe, 0x1e, 0x8a, 0x00,
    0x7c, 0x66, 0x0a, 0xcd, 0x30, 0x40, 0x02, 0x2c, 0xd8, 0x80, 0xc2, 0x20, 0x30, 0xbd, 0xc4, 0x77,
    0xf8, 0x7f, 0xfc, 0x15, 0xe5, 0xf8, 0x80, 0x00, 0x54, 0x01, 0x22, 0x00, 0x01, 0x20, 0x1e, 0x07,
    0x44, 0xf7, 0x30, 0xe8, 0x9e, 0xe6, 0x07, 0x98, 0xae, 0x61, 0xe6, 0x2b, 0x99, 0x37, 0xe1, 0xff,
    0xf8, 0x2b, 0x97, 0xf8, 0x84, 0x00, 0x04, 0x01, 0xe3, 0x98, 0x1e, 0x45, 0x73, 0x0f, 0x22, 0xb9,
    0xf8, 0x63, 0x03, 0xda, 0x4c, 0xfd, 0x6b, 0xf5, 0xa8, 0x80, 0x24, 0x88, 0x00, 0x22, 0x60, 0xf0,
    0x70, 0x83, 0xc1, 0xc2, 0x0f, 0x03, 0x84, 0x1e, 0x07, 0x0f, 0xff, 0xfc, 0x2f, 0x5f, 0xad, 0x1f,
    0x19, 0x83, 0x93, 0xe2, 0x00, 0x01, 0x20, 0xf3, 0x61, 0x4d, 0xc9, 0x26, 0xe7, 0x88, 0xf6, 0xf8,
    0x7f, 0xfc, 0x15, 0xe2, 0xbc, 0x40, 0x01, 0x00, 0x12, 0x20, 0x04, 0x01, 0x60, 0xf0, 0x36, 0x30,
    0x78, 0x1b, 0x10, 0x74, 0x13, 0x18, 0x3a, 0x09, 0x89, 0x31, 0x5a, 0xdd, 0x3d, 0x3d, 0x3b, 0xae,
    0x9c, 0x5d, 0x3d, 0x3d, 0x3d, 0x3d, 0x38, 0xad, 0x75, 0xd3, 0xd3, 0xd3, 0xd7, 0x4f, 0x4f, 0x4f,
    0x4f, 0x4f, 0x4f, 0x5d, 0x74, 0xf4, 0xf4, 0xf5, 0xd3, 0xd3, 0xd3, 0xd3, 0xd3, 0xd3, 0xd7, 0x5d,
    0x3d, 0x3d, 0x3d, 0x74, 0xf4, 0xf4, 0xf4, 0xf4, 0xf4, 0xf5, 0xd7, 0x4f, 0x4f, 0x4f, 0x5d, 0x3d,
    0x3d, 0x3d, 0x3d, 0x3d, 0x3d, 0x78, 0x00, 0x00, 0x00, 0x01, 0x09, 0xf0, 0x00, 0x00, 0x00, 0x01,
    0x61, 0xe0, 0x00, 0x40, 0x00, 0xbe, 0x40, 0x73, 0x8b, 0xef, 0x7b, 0x8b, 0x3b, 0xc6, 0x1d, 0xe3,
    0x0e, 0xf1, 0x87, 0x78, 0xf8, 0x00, 0x00, 0x00, 0x01, 0x09, 0xf0, 0x00, 0x00, 0x00, 0x01, 0x61,
    0xe0, 0x00, 0x80, 0x01, 0x3e, 0x40, 0x73, 0x81, 0x26,
};

#define H264_FRAMES 3

/* Decodes the stream and passes it through these elements; *info describes the output. */
static void decode_h264(const gchar *decoder, const gchar *elements, GstBuffer *frames[H264_FRAMES],
                        GstVideoInfo *info)
{
  gchar *description = g_strdup_printf(
      "capsfilter caps=video/x-h264,stream-format=byte-stream,alignment=nal ! h264parse ! %s ! "
      "capsfilter caps=video/x-raw(memory:CUDAMemory) ! %s cudadownload",
      decoder, elements);
  Rig rig = rig_new(description);
  gst_harness_set_sink_caps_str(rig.h, "video/x-raw");
  gst_harness_set_src_caps_str(rig.h, "video/x-h264,stream-format=byte-stream,alignment=nal");
  gst_harness_push(rig.h, gst_buffer_new_memdup(h264_stream, sizeof h264_stream));
  gst_harness_push_event(rig.h, gst_event_new_eos());
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, H264_FRAMES);
  for (guint i = 0; i < H264_FRAMES; i++)
    frames[i] = gst_harness_pull(rig.h);
  *info = output_video(rig.h);
  if (*elements)
    g_assert_true(context_of(&rig, decoder, "src") == context_of(&rig, "cudaj2kenc", "sink"));
  g_free(description);
  rig_free(&rig);
}

/* H.264 to JPEG 2000 on the GPU: the pictures are equal to those that nvcodec decodes. */
static void test_transcode(gconstpointer data)
{
  const gchar *decoder = data;
  GstBuffer *plain[H264_FRAMES], *coded[H264_FRAMES];
  GstVideoInfo plain_info, coded_info;
  if (lacks_gpu())
    return;
  if (!have_element(decoder) || !have_element("h264parse")) {
    g_test_skip("the GPU's driver or GStreamer has no such decoder");
    return;
  }
  decode_h264(decoder, "", plain, &plain_info);
  decode_h264(decoder,
              "cudaj2kenc backend=cuda rate-control=lossless ! cudaj2kdec backend=cuda ! "
              "capsfilter caps=video/x-raw(memory:CUDAMemory) !",
              coded, &coded_info);
  for (guint i = 0; i < H264_FRAMES; i++) {
    assert_same_pictures(&plain_info, plain[i], &coded_info, coded[i]);
    gst_buffer_unref(plain[i]);
    gst_buffer_unref(coded[i]);
  }
}

/* ------------------------------------------------------------------- nvcodec's filters --- */

#define NV12_ON_GPU "capsfilter caps=video/x-raw(memory:CUDAMemory),format=NV12"

/* Passes frames through a chain that converts I420 to NV12. */
static void convert(const gchar *description, GstBuffer *frames[FRAMES])
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  Rig rig = rig_new(description);
  gst_harness_set_sink_caps_str(rig.h, "video/x-raw,format=NV12");
  push_pictures(&rig, &source);
  for (guint i = 0; i < FRAMES; i++)
    frames[i] = gst_harness_pull(rig.h);
  rig_free(&rig);
}

/* cudaconvert before the encoder and behind the decoder changes only the format. */
static void test_filter(gconstpointer chain)
{
  GstVideoInfo info = video(GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT);
  GstBuffer *plain[FRAMES], *coded[FRAMES];
  if (lacks_gpu())
    return;
  if (!have_element("cudaconvert")) {
    g_test_skip("no cudaconvert: the nvcodec plugin lacks it, or there is no libnvrtc");
    return;
  }
  convert("cudaupload ! cudaconvert ! " NV12_ON_GPU " ! cudadownload", plain);
  convert(chain, coded);
  for (guint i = 0; i < FRAMES; i++) {
    assert_same_pictures(&info, plain[i], &info, coded[i]);
    gst_buffer_unref(plain[i]);
    gst_buffer_unref(coded[i]);
  }
}

/* ------------------------------------------------------------------------------- failures --- */

#ifdef CJ2K_HAVE_GST_CUDA
#include <gst/cuda/gstcudacontext.h>

/* A kernel that writes to an invalid address destroys the context, as the loss of a GPU does. */
static void kill_context(GstCudaContext *context, GstBuffer *coded)
{
  Cj2kDecoderParams params;
  Cj2kError error;
  Cj2kImage image;
  Cj2kFrame frame;
  Cj2kLayout layout;
  Cj2kSampleLayout samples[3];
  Cj2kPlane planes[3] = {{.data = (gpointer)256, .pitch = 4096},
                         {.data = (gpointer)256, .pitch = 4096},
                         {.data = (gpointer)256, .pitch = 4096}};
  Cj2kPicture nowhere = {CJ2K_MEMORY_CUDA, 3, planes};
  GstMapInfo map;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.cuda_device = 0;
  params.cuda_context = gst_cuda_context_get_handle(context);
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  g_assert_nonnull(decoder);
  gst_buffer_map(coded, &map, GST_MAP_READ);
  g_assert_cmpint(cj2k_decoder_read_header(decoder, map.data, map.size, &image, &error), ==,
                  CJ2K_OK);
  cj2k_layout_planar(&image, samples, &layout);
  g_assert_cmpint(cj2k_decoder_submit(decoder, map.data, map.size, &layout, &nowhere, NULL, &error),
                  ==, CJ2K_OK);
  g_assert_cmpint(cj2k_decoder_receive(decoder, &frame), ==, CJ2K_OK);
  g_assert_cmpint(frame.status, ==, CJ2K_ERROR_DEVICE);
  cj2k_decoder_release(decoder, &frame);
  cj2k_decoder_close(decoder);
  gst_buffer_unmap(coded, &map);
}

static void lose_gpu(const gchar *factory)
{
  gboolean encodes = g_str_equal(factory, "cudaj2kenc");
  GstVideoInfo source = video(GST_VIDEO_FORMAT_Y444, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps);
  GstBuffer *input = encodes ? pixels_buffer(&source, 0) : gst_buffer_ref(coded);
  gchar *description = g_strdup_printf("%s backend=cuda frames-in-flight=3", factory);
  Rig rig = rig_new(description);
  gst_harness_set_src_caps(rig.h, encodes ? gst_video_info_to_caps(&source) : gst_caps_ref(caps));
  g_assert_cmpint(push_frame(rig.h, input, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  kill_context(context_of(&rig, factory, "src"), coded);
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 1; i < 20 && flow == GST_FLOW_OK; i++)
    flow = push_frame(rig.h, input, i);
  g_assert_cmpint(flow, ==, GST_FLOW_ERROR);
  GstMessage *message = gst_bus_pop_filtered(rig.bus, GST_MESSAGE_ERROR);
  GError *error;
  g_assert_nonnull(message);
  gst_message_parse_error(message, &error, NULL);
  g_test_message("%s", error->message);
  g_assert_true(error->domain == GST_RESOURCE_ERROR);
  g_error_free(error);
  gst_message_unref(message);
  gst_caps_unref(caps);
  gst_buffer_unref(coded);
  gst_buffer_unref(input);
  g_free(description);
  rig_free(&rig);
}

/* When the GPU is lost, the element posts an error and stops. Runs in a separate process. */
static void test_lost_gpu(gconstpointer factory)
{
  if (lacks_gpu())
    return;
  if (g_test_subprocess()) {
    lose_gpu(factory);
    return;
  }
  g_test_trap_subprocess(NULL, 60 * G_USEC_PER_SEC, 0);
  g_test_trap_assert_passed();
}
#else
static void test_lost_gpu(gconstpointer factory)
{
  (void)factory;
  g_test_skip("built without memory:CUDAMemory");
}
#endif

/* ----------------------------------------------------- streams that CUDA does not support --- */

/* Sets the depth of the first component in SIZ (T.800 A.5.1) to one that CUDA does not support. */
static GstBuffer *set_unsupported_depth(GstBuffer *coded)
{
  GstBuffer *deep = gst_buffer_copy_deep(coded);
  GstMapInfo map;
  gst_buffer_map(deep, &map, GST_MAP_READWRITE);
  g_assert_cmpuint(map.data[42], ==, 8 - 1);
  map.data[42] = 27 - 1;
  gst_buffer_unmap(deep, &map);
  return deep;
}

static void test_left_to_the_cpu(void)
{
  if (lacks_gpu())
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  GstCaps *caps;
  GstBuffer *coded = encode_pattern(&source, 0, &caps), *deep = set_unsupported_depth(coded),
            *decoded[2];
  for (guint i = 0; i < 2; i++) {
    Rig rig = rig_decoder(i ? "backend=cuda" : "backend=cpu", gst_caps_ref(caps));
    for (guint n = 0; n < 3; n++) {
      g_assert_cmpint(push_frame(rig.h, deep, n), ==, GST_FLOW_OK);
      if (n)
        gst_buffer_unref(gst_harness_pull(rig.h));
      else
        decoded[i] = gst_harness_pull(rig.h);
    }
    g_assert_cmpuint(rig_count(&rig, "cudaj2kdec", "fallbacks"), ==, i ? 3 : 0);
    gchar *first = rig_message(&rig, GST_MESSAGE_WARNING);
    gchar *second = rig_message(&rig, GST_MESSAGE_WARNING);
    g_assert_true(i ? first && g_strrstr(first, "27 bits") : !first);
    g_assert_null(second);
    g_free(first);
    rig_free(&rig);
  }
  GstVideoInfo info = video(GST_VIDEO_FORMAT_GRAY16_LE, WIDTH, HEIGHT);
  assert_same_pictures(&info, decoded[0], &info, decoded[1]);
  for (guint i = 0; i < 2; i++)
    gst_buffer_unref(decoded[i]);
  gst_buffer_unref(deep);
  gst_buffer_unref(coded);
  gst_caps_unref(caps);
}

int main(int argc, char **argv)
{
  static const GstVideoFormat formats[] = {
      GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12,       GST_VIDEO_FORMAT_P010_10LE,
      GST_VIDEO_FORMAT_Y42B, GST_VIDEO_FORMAT_I422_10LE,  GST_VIDEO_FORMAT_I422_12LE,
      GST_VIDEO_FORMAT_UYVY, GST_VIDEO_FORMAT_Y444,       GST_VIDEO_FORMAT_Y444_16LE,
      GST_VIDEO_FORMAT_GBR,  GST_VIDEO_FORMAT_RGBA,       GST_VIDEO_FORMAT_BGRx,
      GST_VIDEO_FORMAT_RGB,  GST_VIDEO_FORMAT_RGB10A2_LE,
  };
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    gchar *path = g_strdup_printf("/cuda/memory/%s", gst_video_format_to_string(formats[i]));
    g_test_add_data_func(path, GINT_TO_POINTER(formats[i]), test_device_memory);
    g_free(path);
  }
  g_test_add_func("/cuda/anything-is-host", test_anything_is_host);
  g_test_add_data_func("/cuda/same/mq", "bits-per-pixel=2", test_same_as_cpu);
  g_test_add_data_func("/cuda/same/ht", "bits-per-pixel=2 block-coder=ht", test_same_as_cpu);
  g_test_add_data_func("/cuda/same/lossless", "rate-control=lossless block-coder=ht",
                       test_same_as_cpu);
  g_test_add_func("/cuda/negotiation", test_negotiation);
  g_test_add_func("/cuda/pinned-pool", test_pinned_pool);
  g_test_add_func("/cuda/left-to-the-cpu", test_left_to_the_cpu);
  g_test_add_data_func("/cuda/filter/before",
                       "cudaupload ! cudaconvert ! " NV12_ON_GPU
                       " ! cudaj2kenc backend=cuda rate-control=lossless frames-in-flight=3 ! "
                       "cudaj2kdec backend=cuda frames-in-flight=3 ! " NV12_ON_GPU
                       " ! cudadownload",
                       test_filter);
  g_test_add_data_func("/cuda/filter/behind",
                       "cudaj2kenc backend=cuda rate-control=lossless frames-in-flight=3 ! "
                       "cudaj2kdec backend=cuda frames-in-flight=3 ! "
                       "capsfilter caps=video/x-raw(memory:CUDAMemory),format=I420 ! "
                       "cudaconvert ! " NV12_ON_GPU " ! cudadownload",
                       test_filter);
  g_test_add_data_func("/cuda/lost-gpu/encoder", "cudaj2kenc", test_lost_gpu);
  g_test_add_data_func("/cuda/lost-gpu/decoder", "cudaj2kdec", test_lost_gpu);
  g_test_add_data_func("/cuda/transcode/nvh264dec", "nvh264dec", test_transcode);
  g_test_add_data_func("/cuda/transcode/nvh264sldec", "nvh264sldec", test_transcode);
  int result = g_test_run();
  gst_deinit();
  return result;
}
