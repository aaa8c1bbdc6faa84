/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Caps and property strings of the elements, and the same strings as options of the library. Each
 * line of an input begins with the letter of an element: e encoder, d decoder, p payloader, r
 * depayloader. "e quality=50" sets a property; a capital letter sends caps to the sink pad, such as
 * "D image/x-jpc,width=16".
 */
#include "cj2k.h"
#include "fuzz.h"
#include "gst/gstcudaj2kcommon.h"
#include "gst/gstcudaj2krtp.h"

#include <gst/gst.h>

#if defined(__SANITIZE_ADDRESS__)
#define FUZZ_HAVE_LSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_HAVE_LSAN
#endif
#endif
#ifdef FUZZ_HAVE_LSAN
#include <sanitizer/lsan_interface.h>
#endif

#define MAX_SIDE 256 /* of raw video: encoding large pictures is not what this tests */

static const struct {
  char letter;
  const char *factory;
} kinds[] = {
    {'e', "cudaj2kenc"}, {'d', "cudaj2kdec"}, {'p', "rtpj2ksclpay"}, {'r', "rtpj2kscldepay"}};

/* Without the installation's plugins, whose registry would be made first. */
static void start_gstreamer(void)
{
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "/nonexistent", TRUE);
  g_setenv("GST_PLUGIN_PATH", "/nonexistent", TRUE);
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_registry_fork_set_enabled(FALSE);
  gst_init(NULL, NULL);
  GST_ELEMENT_REGISTER(cudaj2kenc, NULL);
  GST_ELEMENT_REGISTER(cudaj2kdec, NULL);
  GST_ELEMENT_REGISTER(rtpj2ksclpay, NULL);
  GST_ELEMENT_REGISTER(rtpj2kscldepay, NULL);
}

/* The library parses the same names and values. */
static void set_in_library(char letter, const char *name, const char *value)
{
  Cj2kEncoderParams encoder;
  Cj2kDecoderParams decoder;
  Cj2kError error = {0};
  Cj2kStatus status = CJ2K_OK;

  cj2k_encoder_params_init(&encoder);
  cj2k_decoder_params_init(&decoder);
  if (letter == 'e')
    status = cj2k_encoder_params_set(&encoder, name, value, &error);
  else if (letter == 'd')
    status = cj2k_decoder_params_set(&decoder, name, value, &error);
  FUZZ_CHECK((status == CJ2K_OK) == !error.text[0], "status %d: %s", status, error.text);
}

/* Properties that bring nothing but time: threads, and a back end that is not there. */
static gboolean is_wanted(GstElement *element, const char *name)
{
  GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
  return spec && spec->flags & G_PARAM_WRITABLE && spec->owner_type != GST_TYPE_OBJECT &&
         !g_str_equal(name, "num-threads") && !g_str_equal(name, "backend") &&
         !g_str_equal(name, "frames-in-flight");
}

static void set_property(GstElement *element, char letter, char *text)
{
  char *value = strchr(text, '=');
  if (!value)
    return;
  *value++ = 0;
  if (!g_utf8_validate(text, -1, NULL) || !g_utf8_validate(value, -1, NULL))
    return;
  set_in_library(letter, text, value);
  if (is_wanted(element, text))
    gst_util_set_object_arg(G_OBJECT(element), text, value);
}

static gboolean limit_size(GQuark field, GValue *value, gpointer user)
{
  const gchar *name = g_quark_to_string(field);
  (void)user;
  if (G_VALUE_HOLDS_INT(value) && (g_str_equal(name, "width") || g_str_equal(name, "height")))
    g_value_set_int(value, g_value_get_int(value) % (MAX_SIDE + 1));
  return TRUE;
}

/* GStreamer's parser of caps leaks memory when it refuses some strings. */
static GstCaps *parse_caps(const char *text)
{
  if (!g_utf8_validate(text, -1, NULL))
    return NULL;
#ifdef FUZZ_HAVE_LSAN
  __lsan_disable();
#endif
  GstCaps *caps = gst_caps_from_string(text);
#ifdef FUZZ_HAVE_LSAN
  __lsan_enable();
#endif
  return caps;
}

static void send_caps(GstElement *element, char letter, const char *text)
{
  GstCaps *caps = parse_caps(text);
  if (!caps || !gst_caps_is_fixed(caps)) {
    gst_clear_caps(&caps);
    return;
  }
  caps = gst_caps_make_writable(caps);
  for (guint i = 0; letter == 'E' && i < gst_caps_get_size(caps); i++)
    gst_structure_map_in_place(gst_caps_get_structure(caps, i), limit_size, NULL);
  GstPad *pad = gst_element_get_static_pad(element, "sink");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_query_accept_caps(pad, caps);
  GstCaps *answer = gst_pad_query_caps(pad, caps);
  gst_caps_unref(answer);
  gst_pad_send_event(pad, gst_event_new_stream_start("fuzz"));
  gst_pad_send_event(pad, gst_event_new_caps(caps));
  gst_pad_send_event(pad, gst_event_new_segment(&segment));
  gst_object_unref(pad);
  gst_caps_unref(caps);
}

static void run_line(GstElement *elements[], char *line)
{
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    if (g_ascii_tolower(line[0]) != kinds[i].letter || line[1] != ' ')
      continue;
    if (!elements[i]) {
      elements[i] = gst_object_ref_sink(gst_element_factory_make(kinds[i].factory, NULL));
      if (kinds[i].letter == 'e' || kinds[i].letter == 'd')
        g_object_set(elements[i], "num-threads", 1, "frames-in-flight", 1, NULL);
    }
    if (line[0] == kinds[i].letter) {
      set_property(elements[i], line[0], line + 2);
    } else {
      gst_element_set_state(elements[i], GST_STATE_PAUSED);
      send_caps(elements[i], line[0], line + 2);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static bool started;
  GstElement *elements[G_N_ELEMENTS(kinds)] = {NULL};

  if (!started)
    start_gstreamer();
  started = true;
  gchar *text = g_strndup((const gchar *)data, size);
  gchar **lines = g_strsplit(text, "\n", 20);
  for (guint i = 0; lines[i]; i++)
    if (lines[i][0])
      run_line(elements, lines[i]);
  g_strfreev(lines);
  g_free(text);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    if (!elements[i])
      continue;
    gst_element_set_state(elements[i], GST_STATE_NULL);
    gst_object_unref(elements[i]);
  }
  return 0;
}
