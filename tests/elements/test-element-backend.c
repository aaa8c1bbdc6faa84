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

/* A decoder outside a harness, which would require that it reaches PLAYING. Its GPUs are those of
 * the property cuda-devices, or if that is NULL one that is missing. */
static GstElement *lone_decoder(const gchar *backend, const gchar *devices, Rig *rig)
{
  GstElement *element = gst_element_factory_make("cudaj2kdec", NULL);
  *rig = (Rig){.bus = gst_bus_new()};
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend);
  g_object_set(element, "cuda-devices", devices, "cuda-device-id", devices ? -1 : NO_GPU, NULL);
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
  GstElement *element = lone_decoder("cuda", NULL, &rig);
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

/* Values of cuda-devices that no machine permits. */
static const gchar *const wrong_devices[] = {"0,0", "x", "0,", "999", "GPU-", "all,0"};

/* The first error is about these values; without a GPU it says that. */
static void assert_refused(Rig *rig)
{
  GstMessage *message = gst_bus_pop_filtered(rig->bus, GST_MESSAGE_ERROR);
  GError *error;
  g_assert_nonnull(message);
  gst_message_parse_error(message, &error, NULL);
  if (error->domain == GST_LIBRARY_ERROR) {
    g_assert_error(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    g_assert_true(g_str_has_prefix(error->message, "cuda-devices: "));
  } else {
    g_assert_error(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    g_assert_nonnull(strstr(error->message, "CUDA"));
  }
  g_error_free(error);
  gst_message_unref(message);
}

/* A decoder refuses them on the way to PAUSED. */
static void test_decoder_wrong_devices(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(wrong_devices); i++) {
    Rig rig;
    GstElement *element = lone_decoder("cuda", wrong_devices[i], &rig);
    g_assert_cmpint(gst_element_set_state(element, GST_STATE_READY), ==, GST_STATE_CHANGE_SUCCESS);
    g_assert_null(gst_bus_pop_filtered(rig.bus, GST_MESSAGE_ERROR));
    g_assert_cmpint(gst_element_set_state(element, GST_STATE_PAUSED), ==, GST_STATE_CHANGE_FAILURE);
    assert_refused(&rig);
    lone_free(element, &rig);
  }
}

/* An encoder refuses them with the first frame, and says so once. */
static void test_encoder_wrong_devices(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(wrong_devices); i++) {
    gchar *properties = g_strdup_printf("backend=cuda cuda-devices=\"%s\"", wrong_devices[i]);
    Rig rig = rig_encoder(properties, &source);
    for (guint n = 0; n < 2; n++)
      g_assert_cmpint(push_frame(rig.h, raw, n), ==, GST_FLOW_NOT_NEGOTIATED);
    assert_refused(&rig);
    g_assert_null(gst_bus_pop_filtered(rig.bus, GST_MESSAGE_ERROR));
    rig_free(&rig);
    g_free(properties);
  }
  gst_buffer_unref(raw);
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
  GstElement *element = lone_decoder("auto", NULL, &rig);
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
  g_test_add_func("/backend/wrong-devices/decoder", test_decoder_wrong_devices);
  g_test_add_func("/backend/wrong-devices/encoder", test_encoder_wrong_devices);
  g_test_add_func("/backend/auto/decoder", test_decoder_falls_back);
  g_test_add_func("/backend/auto/encoder", test_encoder_falls_back);
  int result = g_test_run();
  gst_deinit();
  return result;
}
