/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The elements on several GPUs (cuda-devices), with devices that are CPU back ends: order, bytes,
 * devices that fail, reservation, and wrong names. The plugin is linked into this program, because
 * the fakes must take the place of the CUDA back end in the library that it works with. */
#include "harness.h"

#include "tests/unit/fake-devices.h"

#include <unistd.h>

#define WIDTH      64
#define HEIGHT     48
#define FRAMES     12
#define IN_FLIGHT  4
#define LIMIT_S    120 /* seconds for one test */
#define MOST_CALL  200 /* more calls than FRAMES frames take */
#define LEAST_CALL 6   /* fewer than they take with one in flight, all on the first device */
#define MOST_PUSH  100 /* frames after which an element has noticed that its GPUs are dead */

GST_PLUGIN_STATIC_DECLARE(cudaj2k);

/* ------------------------------------------------------------------------------- a film --- */

/* What an element is given, and what it makes of that on one device. */
typedef struct {
  const gchar *factory;
  GstCaps *caps;
  GstBuffer *input[FRAMES], *output[FRAMES];
} Film;

static gboolean encodes(const gchar *factory)
{
  return g_str_equal(factory, "cudaj2kenc");
}

/* The property num-threads: frames that devices hold take a thread each. */
static Rig open_rig(const gchar *factory, const gchar *devices, guint in_flight)
{
  gchar *description = g_strdup_printf(
      "%s backend=cuda cuda-devices=%s frames-in-flight=%u num-threads=%d %s", factory, devices,
      in_flight, IN_FLIGHT, encodes(factory) ? "rate-control=lossless num-resolutions=3" : "");
  Rig rig = rig_new(description);
  g_free(description);
  return rig;
}

static void push(Rig *rig, const Film *film, guint first, guint count)
{
  for (guint i = first; i < first + count; i++)
    g_assert_cmpint(push_frame(rig->h, film->input[i], i), ==, GST_FLOW_OK);
}

static void push_end(Rig *rig)
{
  g_assert_true(gst_harness_push_event(rig->h, gst_event_new_eos()));
}

/* Pulls these frames: they come in order, and are what one device makes. */
static void pull(Rig *rig, const Film *film, guint first, guint count)
{
  for (guint i = first; i < first + count; i++) {
    GstBuffer *buffer = gst_harness_pull(rig->h);
    g_assert_nonnull(buffer);
    g_assert_cmpuint(GST_BUFFER_PTS(buffer), ==, gst_util_uint64_scale(i, GST_SECOND, FPS));
    g_assert_true(same_bytes(buffer, film->output[i]));
    gst_buffer_unref(buffer);
  }
}

/* Passes `input` through an element on one device. */
static void make_output(const gchar *factory, GstCaps *caps, GstBuffer **input, GstBuffer **output)
{
  Rig rig = open_rig(factory, "0", 1);
  gst_harness_set_src_caps(rig.h, gst_caps_ref(caps));
  for (guint i = 0; i < FRAMES; i++) {
    g_assert_cmpint(push_frame(rig.h, input[i], i), ==, GST_FLOW_OK);
    GstBuffer *made = gst_harness_pull(rig.h);
    g_assert_nonnull(made);
    output[i] = gst_buffer_copy_deep(made); /* no memory that a device has pinned */
    gst_buffer_unref(made);
  }
  rig_free(&rig);
}

static GstBuffer *make_input(const gchar *factory, const GstVideoInfo *source, guint phase,
                             GstCaps **caps)
{
  if (!encodes(factory))
    return encode_pattern(source, phase, caps);
  *caps = gst_video_info_to_caps(source);
  return pixels_buffer(source, phase);
}

static void film_init(Film *film, const gchar *factory)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);

  alarm(LIMIT_S);
  fake_init(1);
  *film = (Film){.factory = factory};
  for (guint i = 0; i < FRAMES; i++) {
    gst_clear_caps(&film->caps);
    film->input[i] = make_input(factory, &source, i, &film->caps);
  }
  make_output(factory, film->caps, film->input, film->output);
}

static void film_clear(Film *film)
{
  for (guint i = 0; i < FRAMES; i++) {
    gst_buffer_unref(film->input[i]);
    gst_buffer_unref(film->output[i]);
  }
  gst_caps_unref(film->caps);
  alarm(0);
}

/* The film's element on `count` new devices. */
static Rig begin(const Film *film, guint count, guint in_flight)
{
  fake_init(count);
  Rig rig = open_rig(film->factory, "all", in_flight);
  gst_harness_set_src_caps(rig.h, gst_caps_ref(film->caps));
  return rig;
}

static guint codecs_of_all(void)
{
  guint sum = 0;
  for (gint i = 0; i < FAKE_MOST; i++)
    sum += cj2k_devices_codecs(i);
  return sum;
}

/* Nothing on a device outlives the element. */
static void end(Rig *rig)
{
  rig_free(rig);
  g_assert_cmpuint(codecs_of_all(), ==, 0);
}

/* ------------------------------------------------------------------ what the element says --- */

static guint gpus(Rig *rig, const Film *film)
{
  GstStructure *stats = rig_stats(rig, film->factory);
  guint number;

  g_assert_true(gst_structure_get_uint(stats, "gpus", &number));
  gst_structure_free(stats);
  return number;
}

static guint64 redone_frames(Rig *rig, const Film *film)
{
  return rig_count(rig, film->factory, "redone-frames");
}

static guint64 lost_gpus(Rig *rig, const Film *film)
{
  return rig_count(rig, film->factory, "lost-gpus");
}

/* Counts the warnings since the last call; each is about a GPU that has failed. The text of the
 * last one is in *text (transfer full), unless that is NULL. */
static guint count_warnings(Rig *rig, gchar **text)
{
  GstMessage *message;
  guint count = 0;

  if (text)
    *text = NULL;
  for (; (message = gst_bus_pop_filtered(rig->bus, GST_MESSAGE_WARNING)); count++) {
    GError *error;
    gst_message_parse_warning(message, &error, NULL);
    g_assert_error(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED);
    g_assert_true(g_str_has_prefix(error->message, "A GPU has failed"));
    if (text) {
      g_free(*text);
      *text = g_strdup(error->message);
    }
    g_error_free(error);
    gst_message_unref(message);
  }
  return count;
}

static void assert_one_warning(Rig *rig, const gchar *part)
{
  gchar *text;
  g_assert_cmpuint(count_warnings(rig, &text), ==, 1);
  g_assert_nonnull(strstr(text, part));
  g_free(text);
}

/* An error of the element, the first of them; its text contains `part`. */
static void assert_error(GstBus *bus, GQuark domain, gint code, const gchar *part)
{
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  GError *error;

  g_assert_nonnull(message);
  gst_message_parse_error(message, &error, NULL);
  g_assert_error(error, domain, code);
  if (!strstr(error->message, part))
    g_error("\"%s\" does not say \"%s\"", error->message, part);
  g_error_free(error);
  gst_message_unref(message);
}

static void clear_bus(GstBus *bus)
{
  gst_bus_set_flushing(bus, TRUE);
  gst_bus_set_flushing(bus, FALSE);
}

/* ----------------------------------------------------------------------- frames on devices --- */

static void set_held(gboolean held)
{
  for (guint i = 0; i < fake_count; i++)
    g_atomic_int_set(&fake_devices[i].held, held);
}

/* Pushes `each` frames for each living device, and waits until each device has begun as many, none
 * of which goes on before set_held(FALSE). Nothing is in flight before. */
static void push_held(Rig *rig, const Film *film, guint first, guint each)
{
  gint until[FAKE_MOST] = {0};
  guint living = 0;

  for (guint i = 0; i < fake_count; i++) {
    gboolean dead = g_atomic_int_get(&fake_devices[i].dead);
    until[i] = g_atomic_int_get(&fake_devices[i].frames) + (dead ? 0 : (gint)each);
    living += !dead;
  }
  set_held(TRUE);
  push(rig, film, first, living * each);
  for (guint i = 0; i < fake_count; i++)
    while (g_atomic_int_get(&fake_devices[i].frames) < until[i])
      g_usleep(FAKE_LOOK);
}

/* Kills the device while each living device has `each` frames; all of them arrive. */
static void kill_device(Rig *rig, const Film *film, guint number, guint first, guint each)
{
  guint count = each * gpus(rig, film);

  push_held(rig, film, first, each);
  g_atomic_int_set(&fake_devices[number].dead, 1);
  set_held(FALSE);
  pull(rig, film, first, count);
}

/* Pushes frames until the element refuses one, with an error. */
static void push_until_error(Rig *rig, const Film *film)
{
  GstFlowReturn flow = GST_FLOW_OK;

  for (guint i = 0; i < MOST_PUSH && flow == GST_FLOW_OK; i++)
    flow = push_frame(rig->h, film->input[i % FRAMES], i);
  g_assert_cmpint(flow, ==, GST_FLOW_ERROR);
}

/* To READY and back, with new devices; dead: one that fails as soon as it is opened, -1: none. */
static void restart(Rig *rig, const Film *film, guint count, gint dead)
{
  GstElement *element = rig->h->element;
  GstSegment segment;
  GstBuffer *old;

  g_assert_cmpint(gst_element_set_state(element, GST_STATE_READY), ==, GST_STATE_CHANGE_SUCCESS);
  while ((old = gst_harness_try_pull(rig->h)))
    gst_buffer_unref(old);
  clear_bus(rig->bus);
  fake_init(count);
  if (dead >= 0)
    g_atomic_int_set(&fake_devices[dead].dead, 1);
  g_assert_cmpint(gst_element_set_state(element, GST_STATE_PLAYING), ==, GST_STATE_CHANGE_SUCCESS);
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(rig->h, gst_event_new_stream_start("again"));
  gst_harness_push_event(rig->h, gst_event_new_caps(film->caps));
  gst_harness_push_event(rig->h, gst_event_new_segment(&segment));
}

/* -------------------------------------------------------------------------------- tests --- */

/* Two devices have frames at the same time. */
static void test_equal(gconstpointer factory)
{
  Film film;

  film_init(&film, factory);
  Rig rig = begin(&film, 2, IN_FLIGHT);
  push_held(&rig, &film, 0, IN_FLIGHT / 2);
  set_held(FALSE);
  push(&rig, &film, IN_FLIGHT, FRAMES - IN_FLIGHT);
  push_end(&rig);
  pull(&rig, &film, 0, FRAMES);
  g_assert_cmpint(g_atomic_int_get(&fake_devices[0].frames) +
                      g_atomic_int_get(&fake_devices[1].frames),
                  ==, FRAMES);
  g_assert_cmpuint(gpus(&rig, &film), ==, 2);
  g_assert_cmpuint(redone_frames(&rig, &film), ==, 0);
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  end(&rig);
  film_clear(&film);
}

/* A device dies with frames of its own: the other one does them, and the rest. */
static void test_death(gconstpointer factory)
{
  Film film;

  film_init(&film, factory);
  for (guint number = 0; number < 2; number++) {
    Rig rig = begin(&film, 2, IN_FLIGHT);
    push(&rig, &film, 0, 1);
    pull(&rig, &film, 0, 1);
    g_assert_cmpuint(gpus(&rig, &film), ==, 2);
    kill_device(&rig, &film, number, 1, IN_FLIGHT / 2);
    assert_one_warning(&rig, number ? "(fake device 1 is dead)" : "(fake device 0 is dead)");
    push(&rig, &film, 1 + IN_FLIGHT, FRAMES - IN_FLIGHT - 1);
    push_end(&rig);
    pull(&rig, &film, 1 + IN_FLIGHT, FRAMES - IN_FLIGHT - 1);
    g_assert_cmpuint(gpus(&rig, &film), ==, 1);
    g_assert_cmpuint(redone_frames(&rig, &film), ==, IN_FLIGHT / 2);
    g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
    end(&rig);
  }
  film_clear(&film);
}

/* A device dies at its n-th call after the first frame, for each n up to one at which all is done:
 * there is a warning whatever it was doing. Threads decide how many calls it gets, so that it may
 * survive one n and not a larger one. */
static void test_each_call(gconstpointer factory)
{
  Film film;
  gint n = 0;

  film_init(&film, factory);
  for (gboolean died = TRUE; died || n <= LEAST_CALL; n++) {
    Rig rig = begin(&film, 2, 1 + (guint)n % IN_FLIGHT);
    push(&rig, &film, 0, 1);
    pull(&rig, &film, 0, 1);
    g_atomic_int_set(&fake_devices[0].calls_left, n);
    push(&rig, &film, 1, FRAMES - 1);
    push_end(&rig);
    pull(&rig, &film, 1, FRAMES - 1);
    died = g_atomic_int_get(&fake_devices[0].dead);
    g_assert_cmpuint(count_warnings(&rig, NULL), ==, died ? 1 : 0);
    g_assert_cmpuint(gpus(&rig, &film), ==, died ? 1 : 2);
    g_assert_cmpint(n, <, MOST_CALL);
    end(&rig);
  }
  film_clear(&film);
}

/* Three devices die one after the other: two warnings, then an error. From READY on all is new. */
static void test_all_die(gconstpointer factory)
{
  Film film;

  film_init(&film, factory);
  Rig rig = begin(&film, 3, IN_FLIGHT);
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpuint(gpus(&rig, &film), ==, 3 - i);
    kill_device(&rig, &film, i, 1 + 3 * i, 1);
    assert_one_warning(&rig, i ? "(fake device 1 is dead)" : "(fake device 0 is dead)");
  }
  g_assert_cmpuint(redone_frames(&rig, &film), ==, 2);
  g_atomic_int_set(&fake_devices[2].dead, 1);
  push_until_error(&rig, &film);
  assert_error(rig.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "fake device 2 is dead");
  gst_harness_push_event(rig.h, gst_event_new_eos());
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  restart(&rig, &film, 3, -1);
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  g_assert_cmpuint(gpus(&rig, &film), ==, 3);
  g_assert_cmpuint(redone_frames(&rig, &film), ==, 0);
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  kill_device(&rig, &film, 2, 1, 1);
  assert_one_warning(&rig, "(fake device 2 is dead)");
  end(&rig);
  film_clear(&film);
}

/* A device fails when memory for its frames is made, as the stream starts: a warning says so. */
static void test_lost_at_start(gconstpointer factory)
{
  Film film;

  film_init(&film, factory);
  Rig rig = begin(&film, 2, IN_FLIGHT);
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  restart(&rig, &film, 2, 0); /* the first frame's memory is made there */
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  g_assert_cmpuint(gpus(&rig, &film), ==, 1);
  g_assert_cmpuint(lost_gpus(&rig, &film), ==, 1);
  assert_one_warning(&rig, "(the reason is not known)");
  push(&rig, &film, 1, FRAMES - 1);
  push_end(&rig);
  pull(&rig, &film, 1, FRAMES - 1);
  g_assert_cmpuint(redone_frames(&rig, &film), ==, 0);
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  end(&rig);
  film_clear(&film);
}

/* Both die while they have frames: none of these arrives, and one error says all. */
static void test_die_together(gconstpointer factory)
{
  Film film;

  film_init(&film, factory);
  Rig rig = begin(&film, 2, IN_FLIGHT);
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  push_held(&rig, &film, 1, IN_FLIGHT / 2);
  g_atomic_int_set(&fake_devices[0].dead, 1);
  g_atomic_int_set(&fake_devices[1].dead, 1);
  set_held(FALSE);
  push_until_error(&rig, &film);
  assert_error(rig.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, " is dead");
  gst_harness_push_event(rig.h, gst_event_new_eos());
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  g_assert_null(gst_harness_try_pull(rig.h));
  end(&rig);
  film_clear(&film);
}

/* A device dies with frames that a flush discards: the next frame brings the warning. */
static void test_flush(gconstpointer factory)
{
  GstSegment segment;
  Film film;

  film_init(&film, factory);
  Rig rig = begin(&film, 2, IN_FLIGHT);
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  push_held(&rig, &film, 1, IN_FLIGHT / 2);
  g_atomic_int_set(&fake_devices[0].dead, 1);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_flush_start()));
  set_held(FALSE);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_flush_stop(TRUE)));
  gst_segment_init(&segment, GST_FORMAT_TIME);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_segment(&segment)));
  push(&rig, &film, 0, 1);
  pull(&rig, &film, 0, 1);
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 1);
  push(&rig, &film, 1, FRAMES - 1);
  push_end(&rig);
  pull(&rig, &film, 1, FRAMES - 1);
  g_assert_cmpuint(count_warnings(&rig, NULL), ==, 0);
  g_assert_cmpuint(gpus(&rig, &film), ==, 1);
  end(&rig);
  film_clear(&film);
}

/* -------------------------------------------------------------------------- reservation --- */

/* An element outside a harness. */
static GstElement *lone_element(const gchar *factory, const gchar *backend, const gchar *devices,
                                GstBus *bus)
{
  GstElement *element = gst_element_factory_make(factory, NULL);
  g_assert_nonnull(element);
  gst_util_set_object_arg(G_OBJECT(element), "backend", backend);
  g_object_set(element, "cuda-devices", devices, NULL);
  gst_element_set_bus(element, bus);
  return element;
}

static void lone_free(GstElement *element)
{
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

static void assert_codecs(guint first, guint second)
{
  g_assert_cmpuint(cj2k_devices_codecs(0), ==, first);
  g_assert_cmpuint(cj2k_devices_codecs(1), ==, second);
}

/* From READY to NULL an element has one of its devices reserved, the least loaded one. */
static void test_reservation(gconstpointer factory)
{
  static const gchar *const names[] = {NULL, "all", "0,1"};

  fake_init(2);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    GstElement *one = lone_element(factory, "cuda", names[i], NULL);
    GstElement *two = lone_element(factory, "auto", names[i], NULL);
    assert_codecs(0, 0);
    gst_element_set_state(one, GST_STATE_READY);
    assert_codecs(1, 0);
    gst_element_set_state(two, GST_STATE_READY);
    assert_codecs(1, 1);
    gst_element_set_state(one, GST_STATE_PAUSED);
    gst_element_set_state(one, GST_STATE_READY);
    assert_codecs(1, 1);
    gst_element_set_state(one, GST_STATE_NULL);
    assert_codecs(0, 1);
    lone_free(two);
    lone_free(one);
    assert_codecs(0, 0);
  }
}

/* The property may change in READY, and need not leave a choice. */
static void test_other_reservation(gconstpointer factory)
{
  guint open = encodes(factory) ? 0 : 1; /* a decoder is open in PAUSED */

  fake_init(2);
  GstElement *element = lone_element(factory, "cuda", "0", NULL);
  gst_element_set_state(element, GST_STATE_READY);
  assert_codecs(1, 0);
  g_object_set(element, "cuda-devices", "1", NULL);
  gst_element_set_state(element, GST_STATE_PAUSED);
  assert_codecs(0, 1 + open);
  gst_element_set_state(element, GST_STATE_READY);
  g_object_set(element, "cuda-devices", NULL, "cuda-device-id", 0, NULL);
  gst_element_set_state(element, GST_STATE_PAUSED);
  assert_codecs(open, 0);
  lone_free(element);
  element = lone_element(factory, "cpu", "all", NULL);
  gst_element_set_state(element, GST_STATE_PAUSED);
  assert_codecs(0, 0);
  lone_free(element);
}

/* -------------------------------------------------------------------------- wrong names --- */

typedef struct {
  const gchar *devices;
  guint count; /* of those that there are */
  const gchar *text;
} Names;

static const Names wrong_names[] = {
    {"0,0", 2, "cuda-devices: GPU 0 is named twice"},
    {"x", 2, "cuda-devices: \"x\" is not one of the 2 GPUs"},
    {"7", 2, "cuda-devices: \"7\" is not one of the 2 GPUs"},
    {"0,", 2, "cuda-devices: \"\" is not one of the 2 GPUs"},
    {"0,1", 0, "there is no fake device"},
    {"x", 0, "there is no fake device"},
};

static void check_error(GstBus *bus, const Names *names)
{
  if (names->count)
    assert_error(bus, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, names->text);
  else
    assert_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, names->text);
}

/* A decoder does not reach PAUSED. */
static void test_wrong_decoder(void)
{
  GstBus *bus = gst_bus_new();

  for (guint i = 0; i < G_N_ELEMENTS(wrong_names); i++) {
    const Names *names = &wrong_names[i];
    fake_init(names->count);
    GstElement *element = lone_element("cudaj2kdec", "cuda", names->devices, bus);
    g_assert_cmpint(gst_element_set_state(element, GST_STATE_READY), ==, GST_STATE_CHANGE_SUCCESS);
    g_assert_null(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR));
    g_assert_cmpint(gst_element_set_state(element, GST_STATE_PAUSED), ==, GST_STATE_CHANGE_FAILURE);
    check_error(bus, names);
    lone_free(element);
    g_assert_cmpuint(codecs_of_all(), ==, 0);
    clear_bus(bus); /* the base class has an error of its own */
  }
  gst_bus_set_flushing(bus, TRUE);
  gst_object_unref(bus);
}

/* An encoder refuses the first frame, and has one error for all. */
static void test_wrong_encoder(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);

  for (guint i = 0; i < G_N_ELEMENTS(wrong_names); i++) {
    const Names *names = &wrong_names[i];
    fake_init(names->count);
    Rig rig = open_rig("cudaj2kenc", names->devices, 1);
    gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    for (guint n = 0; n < 2; n++)
      g_assert_cmpint(push_frame(rig.h, raw, n), ==, GST_FLOW_NOT_NEGOTIATED);
    check_error(rig.bus, names);
    g_assert_null(gst_bus_pop_filtered(rig.bus, GST_MESSAGE_ERROR));
    end(&rig);
  }
  gst_buffer_unref(raw);
}

/* With backend=auto they are a reason to take the CPU. */
static void test_wrong_auto(void)
{
  GstBus *bus = gst_bus_new();

  fake_init(2);
  GstElement *element = lone_element("cudaj2kdec", "auto", "0,7", bus);
  g_assert_cmpint(gst_element_set_state(element, GST_STATE_PAUSED), !=, GST_STATE_CHANGE_FAILURE);
  Rig rig = {.bus = bus};
  gchar *text = rig_no_gpu_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "cuda-devices: \"7\" is not one of the 2 GPUs"));
  g_free(text);
  lone_free(element);
  g_assert_cmpuint(codecs_of_all(), ==, 0);
  gst_bus_set_flushing(bus, TRUE);
  gst_object_unref(bus);
}

static void add(const gchar *name, GTestDataFunc test)
{
  static const gchar *const factories[] = {"cudaj2kenc", "cudaj2kdec"};
  for (guint i = 0; i < G_N_ELEMENTS(factories); i++) {
    gchar *path = g_strdup_printf("/devices/%s/%s", factories[i], name);
    g_test_add_data_func(path, factories[i], test);
    g_free(path);
  }
}

int main(int argc, char **argv)
{
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE); /* no elements but those of this program */
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  GST_PLUGIN_STATIC_REGISTER(cudaj2k);
  add("equal", test_equal);
  add("death", test_death);
  add("each-call", test_each_call);
  add("all-die", test_all_die);
  add("lost-at-start", test_lost_at_start);
  add("die-together", test_die_together);
  add("flush", test_flush);
  add("reservation", test_reservation);
  add("other-reservation", test_other_reservation);
  g_test_add_func("/devices/cudaj2kdec/wrong-names", test_wrong_decoder);
  g_test_add_func("/devices/cudaj2kenc/wrong-names", test_wrong_encoder);
  g_test_add_func("/devices/cudaj2kdec/wrong-names-auto", test_wrong_auto);
  int result = g_test_run();
  gst_deinit();
  return result;
}
