/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which back end the elements use, and the messages when no GPU is usable. The device number is one
 * that no machine has, so the GPU is missing everywhere. */
#include "harness.h"

#include "common/backend.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 54
#define NO_GPU 4711

static gint active_backend(GstElement *element)
{
  gint active;
  g_object_get(element, "active-backend", &active, NULL);
  return active;
}

static void test_cpu(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_new("cudaj2kenc backend=cpu ! cudaj2kdec backend=cpu");
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  for (guint i = 0; i < 2; i++) {
    GstElement *element = rig_element(&rig, i ? "cudaj2kenc" : "cudaj2kdec");
    g_assert_cmpint(active_backend(element), ==, CJ2K_BACKEND_CPU);
    gst_object_unref(element);
  }
  gchar *text = rig_no_gpu_message(&rig, GST_MESSAGE_WARNING);
  g_assert_null(text);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* A decoder outside a harness, which would require that it reaches PLAYING. */
static GstElement *lone_decoder(const gchar *backend, Rig *rig)
{
  GstElement *element = gst_element_factory_make("cudaj2kdec", NULL);
  *rig = (Rig){.bus = gst_bus_new()};
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend);
  g_object_set(element, "cuda-device-id", NO_GPU, NULL);
  gst_element_set_bus(element, rig->bus);
  return element;
}

static void lone_free(GstElement *element, Rig *rig)
{
  gst_element_set_state(element, GST_STATE_NULL);
  gst_bus_set_flushing(rig->bus, TRUE);
  gst_object_unref(element);
  gst_object_unref(rig->bus);
}

/* The text names the missing GPU, or the build without CUDA. */
static void assert_says_why(gchar *text)
{
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "CUDA"));
  g_free(text);
}

/* With backend=cuda a missing GPU is an error; the CPU is not used instead. */
static void test_decoder_without_gpu(void)
{
  Rig rig;
  GstElement *element = lone_decoder("cuda", &rig);
  g_assert_cmpint(gst_element_set_state(element, GST_STATE_PAUSED), ==, GST_STATE_CHANGE_FAILURE);
  assert_says_why(rig_no_gpu_message(&rig, GST_MESSAGE_ERROR));
  lone_free(element, &rig);
}

static Rig encoder_for(const gchar *backend, const GstVideoInfo *source)
{
  gchar *description = g_strdup_printf("cudaj2kenc backend=%s cuda-device-id=%d", backend, NO_GPU);
  Rig rig = rig_new(description);
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(source));
  g_free(description);
  return rig;
}

static void test_encoder_without_gpu(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = encoder_for("cuda", &source);
  g_assert_cmpint(push_frame(rig.h, raw, 0), !=, GST_FLOW_OK);
  assert_says_why(rig_no_gpu_message(&rig, GST_MESSAGE_ERROR));
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* One warning in the element's life, and none from a build without CUDA. */
static void assert_warned_once(Rig *rig)
{
  gchar *text = rig_no_gpu_message(rig, GST_MESSAGE_WARNING);
  if (cj2k_cuda_decode_backend())
    assert_says_why(text);
  else
    g_assert_null(text);
  text = rig_no_gpu_message(rig, GST_MESSAGE_WARNING);
  g_assert_null(text);
}

static void test_decoder_falls_back(void)
{
  Rig rig;
  GstElement *element = lone_decoder("auto", &rig);
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(gst_element_set_state(element, GST_STATE_PAUSED), !=, GST_STATE_CHANGE_FAILURE);
    g_assert_cmpint(active_backend(element), ==, CJ2K_BACKEND_CPU);
    gst_element_set_state(element, GST_STATE_READY);
  }
  assert_warned_once(&rig);
  lone_free(element, &rig);
}

static void test_encoder_falls_back(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  Rig rig = encoder_for("auto", &source);
  for (guint i = 0; i < 3; i++) {
    source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT + 2 * i);
    GstBuffer *raw = pixels_buffer(&source, i);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    gst_buffer_unref(raw);
  }
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  g_assert_cmpint(active_backend(element), ==, CJ2K_BACKEND_CPU);
  gst_object_unref(element);
  assert_warned_once(&rig);
  rig_free(&rig);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/backend/cpu", test_cpu);
  g_test_add_func("/backend/missing/decoder", test_decoder_without_gpu);
  g_test_add_func("/backend/missing/encoder", test_encoder_without_gpu);
  g_test_add_func("/backend/auto/decoder", test_decoder_falls_back);
  g_test_add_func("/backend/auto/encoder", test_encoder_falls_back);
  int result = g_test_run();
  gst_deinit();
  return result;
}
