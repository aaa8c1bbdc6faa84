/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several elements on a GPU, and elements on several GPUs: their pictures, the contexts that they
 * share, and frames that all GPUs share. Skipped where there are too few GPUs. */
#include "gpu.h"

#define FRAMES      8
#define MANY_FRAMES 24
#define WIDTH       352
#define HEIGHT      288
#define PAIRS       4

/* ---------------------------------------------------------------------- pairs of elements --- */

/* One thread: an encoder and a decoder of its own, on these GPUs. */
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

/* -------------------------------------------------------------------------- shared frames --- */

/* Frames and their caps; of an output, also how many GPUs its element had. */
typedef struct {
  GstBuffer *buffers[MANY_FRAMES];
  GstCaps *caps;
  guint gpus;
} Film;

static void film_clear(Film *film)
{
  for (guint i = 0; i < MANY_FRAMES; i++)
    gst_buffer_unref(film->buffers[i]);
  gst_caps_unref(film->caps);
}

static Film draw_film(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  Film film = {.caps = gst_video_info_to_caps(&source)};
  for (guint i = 0; i < MANY_FRAMES; i++)
    film.buffers[i] = pixels_buffer(&source, i);
  return film;
}

static guint gpus_of(Rig *rig, const gchar *factory)
{
  GstStructure *stats = rig_stats(rig, factory);
  guint gpus;
  g_assert_true(gst_structure_get_uint(stats, "gpus", &gpus));
  gst_structure_free(stats);
  return gpus;
}

/* Passes a film through an element; the frames come in order. */
static Film run_film(const gchar *factory, const gchar *properties, const Film *input)
{
  gchar *description =
      g_strdup_printf("%s backend=cuda frames-in-flight=8 %s", factory, properties);
  Rig rig = rig_new(description);
  Film output;
  gst_harness_set_src_caps(rig.h, gst_caps_ref(input->caps));
  for (guint i = 0; i < MANY_FRAMES; i++)
    g_assert_cmpint(push_frame(rig.h, input->buffers[i], i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  for (guint i = 0; i < MANY_FRAMES; i++) {
    output.buffers[i] = gst_harness_pull(rig.h);
    g_assert_nonnull(output.buffers[i]);
    g_assert_cmpuint(GST_BUFFER_PTS(output.buffers[i]), ==,
                     gst_util_uint64_scale(i, GST_SECOND, FPS));
  }
  output.caps = gst_pad_get_current_caps(rig.h->sinkpad);
  output.gpus = gpus_of(&rig, factory);
  gchar *warning = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_null(warning);
  rig_free(&rig);
  g_free(description);
  return output;
}

static void assert_same_films(const Film *a, const Film *b, gboolean pictures)
{
  g_assert_true(gst_caps_is_equal(a->caps, b->caps));
  for (guint i = 0; i < MANY_FRAMES; i++) {
    if (pictures) {
      GstVideoInfo info = video_of_caps(a->caps);
      assert_same_pictures(&info, a->buffers[i], &info, b->buffers[i]);
    } else {
      g_assert_true(same_bytes(a->buffers[i], b->buffers[i]));
    }
  }
}

static guint count_gpus(void)
{
  gint count = 0;
  while (have_gpu(count))
    count++;
  return (guint)count;
}

/* All GPUs share the frames of an encoder, and of a decoder: the results are those of one. */
static void test_shared_frames(gconstpointer data)
{
  const gchar *coding = data;
  guint count = count_gpus();
  if (count < 2) {
    g_test_skip(count ? "one GPU only" : "no GPU");
    return;
  }
  gchar *of_one = g_strdup_printf("%s cuda-device-id=0", coding);
  gchar *of_all = g_strdup_printf("%s cuda-devices=all", coding);
  Film drawn = draw_film();
  Film coded = run_film("cudaj2kenc", of_one, &drawn);
  Film shared = run_film("cudaj2kenc", of_all, &drawn);
  g_assert_cmpuint(coded.gpus, ==, 1);
  g_assert_cmpuint(shared.gpus, ==, count);
  assert_same_films(&coded, &shared, FALSE);
  film_clear(&shared);
  Film decoded = run_film("cudaj2kdec", "cuda-device-id=0", &coded);
  shared = run_film("cudaj2kdec", "cuda-devices=all", &coded);
  g_assert_cmpuint(decoded.gpus, ==, 1);
  g_assert_cmpuint(shared.gpus, ==, count);
  assert_same_films(&decoded, &shared, TRUE);
  film_clear(&shared);
  film_clear(&decoded);
  film_clear(&coded);
  film_clear(&drawn);
  g_free(of_all);
  g_free(of_one);
}

/* ------------------------------------------------------------------------ shared contexts --- */

/* Elements of a pipeline share one context, so that they can exchange device memory. */
static void test_shared_context(void)
{
  if (lacks_gpu() || skip_without("cudaupload"))
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

/* Elements of different pipelines share one of the same GPU as well, also one after the other: each
 * context costs device memory and time. */
static void test_process_context(void)
{
  if (lacks_gpu() || skip_without("cudaupload"))
    return;
  Rig first = rig_new("cudaj2kenc backend=cuda cuda-device-id=0");
  Rig second = rig_new("cudaj2kdec backend=cuda cuda-device-id=0");
  gpointer shared = context_of(&first, "cudaj2kenc", "src");
  g_assert_nonnull(shared);
  g_assert_true(shared == context_of(&second, "cudaj2kdec", "src"));
  rig_free(&first);
  rig_free(&second);
  Rig later = rig_new("cudaj2kenc backend=cuda cuda-device-id=0");
  g_assert_true(shared == context_of(&later, "cudaj2kenc", "src"));
  rig_free(&later);
}

/* A context from the application is preferred to a new one. */
static void test_given_context(void)
{
  if (lacks_gpu() || skip_without("cudaupload"))
    return;
  static const gchar *const factories[] = {"cudaj2kenc", "cudaj2kdec"};
  Rig giver = rig_new("cudaupload");
  GstContext *context = ask_context(&giver, "cudaupload", "src");
  for (guint i = 0; i < G_N_ELEMENTS(factories); i++) {
    GstElement *element = gst_element_factory_make(factories[i], NULL);
    gst_util_set_object_arg(G_OBJECT(element), "backend", "cuda");
    gst_element_set_context(element, context);
    Rig rig = {.h = gst_harness_new_with_element(element, "sink", "src"), .bus = gst_bus_new()};
    g_assert_true(context_of(&rig, factories[i], "src") == cuda_of(context));
    gst_object_unref(element);
    rig_free(&rig);
  }
  gst_context_unref(context);
  rig_free(&giver);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cuda/several-elements", test_several_elements);
  g_test_add_func("/cuda/several-gpus", test_several_gpus);
  g_test_add_data_func("/cuda/shared-frames/mq", "bits-per-pixel=2", test_shared_frames);
  g_test_add_data_func("/cuda/shared-frames/ht", "bits-per-pixel=2 block-coder=ht",
                       test_shared_frames);
  g_test_add_data_func("/cuda/shared-frames/lossless", "rate-control=lossless block-coder=ht",
                       test_shared_frames);
  g_test_add_func("/cuda/shared-context", test_shared_context);
  g_test_add_func("/cuda/process-context", test_process_context);
  g_test_add_func("/cuda/given-context", test_given_context);
  int result = g_test_run();
  gst_deinit();
  return result;
}
