/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements on a GPU: memory:CUDAMemory in and out, and the same answers as the CPU's. Skips
 * where there is no GPU. */
#include "harness.h"

#define FRAMES 8
#define WIDTH  352
#define HEIGHT 288

static gboolean have_gpu(gint number)
{
  GstElement *element = gst_element_factory_make("cudaj2kdec", NULL);
  gst_util_set_object_arg(G_OBJECT(element), "backend", "cuda");
  g_object_set(element, "cuda-device-id", number, NULL);
  gboolean have = gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  return have;
}

static gboolean lacks_gpu(void)
{
  gboolean have = have_gpu(-1);
  if (!have)
    g_test_skip("no GPU");
  return !have;
}

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

/* Up, through the codec and down: exactly what went in, and never by way of the host between. */
static void test_device_memory(gconstpointer data)
{
  GstVideoFormat format = (GstVideoFormat)GPOINTER_TO_INT(data);
  if (lacks_gpu() || !have_element("cudaupload"))
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
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, i);
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  g_assert_cmpuint(gst_harness_buffers_received(rig.h), ==, FRAMES);
  g_assert_true(pad_has_cuda(&rig, "cudaj2kenc", "sink"));
  g_assert_true(pad_has_cuda(&rig, "cudaj2kdec", "src"));
  for (guint i = 0; i < FRAMES; i++)
    assert_next_picture(rig.h, &source, i);
  rig_free(&rig);
  g_free(description);
}

/* Downstream that takes anything gets pictures it can read. */
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
  /* Page-locked, so that the GPU writes it by itself. */
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

/* One answer: the same bytes, and the same samples of lossy streams. */
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

/* ------------------------------------------------------------- several elements and GPUs --- */

#define PAIRS 4

/* An encoder and a decoder of its own, on these GPUs; a thread each. */
typedef struct {
  gint encoder, decoder;
  guint phase;
} Pair;

static gpointer run_pair(gpointer data)
{
  const Pair *pair = data;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  gchar *description =
      g_strdup_printf("cudaj2kenc backend=cuda cuda-device-id=%d block-coder=ht "
                      "rate-control=lossless frames-in-flight=3 ! "
                      "cudaj2kdec backend=cuda cuda-device-id=%d frames-in-flight=3",
                      pair->encoder, pair->decoder);
  Rig rig = rig_new(description);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, pair->phase + i);
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *raw = pixels_buffer(&source, pair->phase + i), *decoded = gst_harness_pull(rig.h);
    assert_same_pictures(&source, raw, &source, decoded);
    gst_buffer_unref(decoded);
    gst_buffer_unref(raw);
  }
  rig_free(&rig);
  g_free(description);
  return NULL;
}

static void run_pairs(const Pair *pairs, guint n)
{
  GThread *threads[PAIRS];
  for (guint i = 0; i < n; i++)
    threads[i] = g_thread_new("pair", run_pair, (gpointer)&pairs[i]);
  for (guint i = 0; i < n; i++)
    g_thread_join(threads[i]);
}

static void test_several_elements(void)
{
  static const Pair pairs[PAIRS] = {{-1, -1, 0}, {0, 0, 10}, {-1, 0, 20}, {0, -1, 30}};
  if (!lacks_gpu())
    run_pairs(pairs, PAIRS);
}

static void test_several_gpus(void)
{
  static const Pair pairs[PAIRS] = {{0, 0, 0}, {1, 1, 10}, {0, 1, 20}, {1, 0, 30}};
  if (lacks_gpu())
    return;
  if (have_gpu(1))
    run_pairs(pairs, PAIRS);
  else
    g_test_skip("one GPU only");
}

static gpointer context_of(Rig *rig, const gchar *factory, const gchar *pad_name)
{
  GstElement *element = rig_element(rig, factory);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  GstQuery *query = gst_query_new_context("gst.cuda.context");
  GstContext *context = NULL;
  g_assert_true(gst_pad_query(pad, query));
  gst_query_parse_context(query, &context);
  const GValue *value =
      gst_structure_get_value(gst_context_get_structure(context), "gst.cuda.context");
  gpointer found = g_value_get_object(value);
  gst_query_unref(query);
  gst_object_unref(pad);
  gst_object_unref(element);
  return found;
}

/* Elements of a pipeline work in one context, so that device memory passes between them. */
static void test_shared_context(void)
{
  if (lacks_gpu() || !have_element("cudaupload"))
    return;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  Rig rig = rig_new("cudaj2kenc backend=cuda ! cudaj2kdec backend=cuda");
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  GstBuffer *raw = pixels_buffer(&source, 0);
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  gpointer encoder = context_of(&rig, "cudaj2kenc", "sink");
  g_assert_nonnull(encoder);
  g_assert_true(encoder == context_of(&rig, "cudaj2kdec", "src"));
  gst_buffer_unref(raw);
  rig_free(&rig);
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
  g_test_add_func("/cuda/several-elements", test_several_elements);
  g_test_add_func("/cuda/several-gpus", test_several_gpus);
  g_test_add_func("/cuda/shared-context", test_shared_context);
  int result = g_test_run();
  gst_deinit();
  return result;
}
