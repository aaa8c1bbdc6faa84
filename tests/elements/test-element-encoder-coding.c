/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudaj2kenc in a harness: rate control, marker segments, profiles, contradictory properties. */
#include "gst/gstcudaj2kcommon.h"
#include "harness.h"

#include <string.h>

#define WIDTH  96
#define HEIGHT 54

/* --------------------------------------------------------------------------------- rates --- */

static gsize coded_size(const gchar *properties, const GstVideoInfo *info, GstBuffer *raw)
{
  gchar *description = g_strdup_printf("cudaj2kenc %s", properties);
  GstBuffer *coded = encode_one(description, info, raw, NULL);
  gsize size = gst_buffer_get_size(coded);
  gst_buffer_unref(coded);
  g_free(description);
  return size;
}

/* Each property that sets a ceiling, with both coders: frames never exceed it, and come close. */
static void test_ceilings(void)
{
  static const struct {
    const gchar *properties;
    gsize ceiling;
  } cases[] = {
      {"bitrate=2000", 2000 * 125 / FPS},
      {"bits-per-pixel=1.5", 256 * 128 * 3 / 2 / 8},
      {"max-frame-bytes=7000 rate-control=cbr", 7000},
      {"bitrate=2000 block-coder=ht", 2000 * 125 / FPS},
      {"bits-per-pixel=1.5 block-coder=ht", 256 * 128 * 3 / 2 / 8},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gsize size = coded_size(cases[i].properties, &source, raw);
    g_assert_cmpuint(size, <=, cases[i].ceiling);
    g_assert_cmpuint(size, >=, cases[i].ceiling * 8 / 10);
  }
  gst_buffer_unref(raw);
}

static void test_quality_order(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  gsize low = coded_size("quality=40", &source, raw);
  gsize high = coded_size("quality=95", &source, raw);
  gsize lossless = coded_size("rate-control=lossless", &source, raw);
  g_assert_cmpuint(low, <, high);
  g_assert_cmpuint(high, <, lossless);
  g_assert_cmpuint(coded_size("rate-control=psnr psnr=30", &source, raw), <,
                   coded_size("rate-control=psnr psnr=50", &source, raw));
  g_assert_cmpuint(coded_size("rate-control=qstep quant-step=0.05", &source, raw), <,
                   coded_size("rate-control=qstep quant-step=0.001", &source, raw));
  gst_buffer_unref(raw);
}

/* A changed bit rate applies from the next frame on, without new caps. */
static void test_rate_changes(void)
{
  static const guint rates[] = {4000, 1000, 2500};
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_encoder("rate-control=cbr bitrate=4000", &source);
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
    g_object_set(element, "bitrate", rates[i], NULL);
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    gsize ceiling = rates[i] * 125 / FPS;
    g_assert_cmpuint(gst_buffer_get_size(coded), <=, ceiling);
    g_assert_cmpuint(gst_buffer_get_size(coded), >=, ceiling * 8 / 10);
    gst_buffer_unref(coded);
  }
  gst_object_unref(element);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Each frame is encoded with the quality that was set before it. */
static void test_quality_changes(void)
{
  static const guint qualities[] = {85, 30, 95, 30, 85};
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_encoder("", &source);
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  gsize sizes[G_N_ELEMENTS(qualities)];
  for (guint i = 0; i < G_N_ELEMENTS(qualities); i++) {
    g_object_set(element, "quality", qualities[i], NULL);
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    sizes[i] = gst_buffer_get_size(coded);
    gst_buffer_unref(coded);
  }
  g_assert_cmpuint(sizes[1], <, sizes[0]);
  g_assert_cmpuint(sizes[2], >, sizes[0]);
  g_assert_cmpuint(sizes[3], ==, sizes[1]);
  g_assert_cmpuint(sizes[4], ==, sizes[0]);
  gst_object_unref(element);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* Pushes frames `first` to 13, each of its own size and content, and adds the codestreams to a
 * list. From frame 7 on the video is larger. */
static GPtrArray *encode_film(const gchar *properties, guint first, gboolean interlaced)
{
  GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref);
  gchar *all = g_strdup_printf("%s first-frame=%u", properties, first);
  Rig rig = rig_encoder(all, NULL);
  g_free(all);
  for (guint i = first; i < 14; i++) {
    GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, i < 7 ? 192 : 256, 128);
    if (interlaced)
      GST_VIDEO_INFO_INTERLACE_MODE(&source) = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    if (i == first || i == 7)
      gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
    GstBuffer *raw = pixels_buffer(&source, i * i * 5);
    gst_buffer_memset(raw, 0, 0, i * 3000); /* makes frames differ in what they need */
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    g_ptr_array_add(list, gst_harness_pull(rig.h));
    gst_buffer_unref(raw);
  }
  rig_free(&rig);
  return list;
}

static guint count_equal(GPtrArray *whole, GPtrArray *part)
{
  guint equal = 0;
  for (guint i = 0; i < part->len; i++) {
    GstBuffer *a = g_ptr_array_index(whole, whole->len - part->len + i);
    equal += same_bytes(a, g_ptr_array_index(part, i)) ? 1 : 0;
  }
  return equal;
}

/* A part of a film that begins at a multiple of rate-period has the bytes of the whole, also when
 * the caps change and when a frame is two codestreams. */
static void test_rate_period(gconstpointer profile)
{
  gboolean interlaced = profile != NULL;
  gchar *properties = g_strdup_printf("%s rate-control=cbr bits-per-pixel=2 rate-period=5",
                                      interlaced ? (const gchar *)profile : "block-coder=ht");
  GPtrArray *whole = encode_film(properties, 0, interlaced);
  for (guint first = 3; first <= 10; first++) {
    GPtrArray *part = encode_film(properties, first, interlaced);
    guint equal = count_equal(whole, part);
    if (first % 5 == 0 || first == 7) /* there a new encoder begins in any case */
      g_assert_cmpuint(equal, ==, part->len);
    else
      g_assert_cmpuint(equal, <, part->len);
    g_ptr_array_unref(part);
  }
  g_ptr_array_unref(whole);
  g_free(properties);
}

/* A budget smaller than the headers does not end the stream: a warning, and the old one stays. */
static void test_small_budget(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_encoder("max-frame-bytes=4000", &source);
  GstElement *element = rig_element(&rig, "cudaj2kenc");
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    g_assert_cmpuint(gst_buffer_get_size(coded), <=, 4000);
    g_assert_cmpuint(gst_buffer_get_size(coded), >=, 3000);
    gst_buffer_unref(coded);
    g_object_set(element, "max-frame-bytes", 50, NULL);
  }
  gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "too small: headers need"));
  g_free(text);
  g_assert_null(rig_message(&rig, GST_MESSAGE_ERROR));
  gst_object_unref(element);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* A rate property selects its rate control; a property without effect causes a warning. */
static void test_selected_modes(void)
{
  static const struct {
    const gchar *properties, *same; /* `same` gives the same bytes */
    const gchar *warning;
  } cases[] = {
      {"psnr=45", "rate-control=psnr", NULL},
      {"psnr=40", "rate-control=psnr psnr=40", NULL},
      {"quant-step=0.01", "rate-control=qstep quant-step=0.01", NULL},
      {"reversible-transform=true", "rate-control=lossless", NULL},
      {"max-frame-bytes=4000 rate-control=quality quality=20", "quality=20", NULL},
      {"main-level=3", "name=plain", "main-level has no effect"},
      {"xyz-transfer=srgb", "name=plain", "xyz-transfer has no effect"},
      {"rate-control=psnr quality=50", "psnr=45", "quality has no effect"},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    Rig rig = rig_encoder(cases[i].properties, &source);
    g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
    GstBuffer *coded = gst_harness_pull(rig.h);
    gchar *description = g_strdup_printf("cudaj2kenc %s", cases[i].same);
    GstBuffer *same = encode_one(description, &source, raw, NULL);
    if (!same_bytes(same, coded))
      g_error("%s is not %s", cases[i].properties, cases[i].same);
    gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
    g_assert_cmpint(text != NULL, ==, cases[i].warning != NULL);
    if (text)
      g_assert_nonnull(strstr(text, cases[i].warning));
    g_free(text);
    g_free(description);
    gst_buffer_unref(same);
    gst_buffer_unref(coded);
    rig_free(&rig);
  }
  gst_buffer_unref(raw);
}

/* ------------------------------------------------------------------------------- regions --- */

/* Adds a region with a weight for the encoder; weight 0: with none. */
static void add_region(GstBuffer *raw, guint x, guint y, guint w, guint h, gdouble weight)
{
  GstVideoRegionOfInterestMeta *meta =
      gst_buffer_add_video_region_of_interest_meta(raw, "face", x, y, w, h);
  if (weight > 0)
    gst_video_region_of_interest_meta_add_param(
        meta, gst_structure_new("roi/cudaj2kenc", "weight", G_TYPE_DOUBLE, weight, NULL));
}

/* Regions of metadata have an effect on their buffer, on fields too, and none without a weight. */
static void test_regions(void)
{
  static const gchar *const encoders[] = {
      "max-frame-bytes=4000", "max-frame-bytes=4000 block-coder=ht",
      "profile=broadcast-multi max-frame-bytes=9000 num-resolutions=4"};
  for (guint i = 0; i < G_N_ELEMENTS(encoders); i++) {
    GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
    if (i == 2) {
      GST_VIDEO_INFO_INTERLACE_MODE(&source) = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
      GST_VIDEO_INFO_FIELD_ORDER(&source) = GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
    }
    GstBuffer *plain = pixels_buffer(&source, 0), *raw = pixels_buffer(&source, 0),
              *other = pixels_buffer(&source, 0), *coded[3];
    add_region(raw, 17, 31, 60, 41, 16);
    add_region(raw, 200, 90, 500, 500, 0.25);
    add_region(raw, 9000, 0, 10, 10, 4);
    add_region(other, 17, 31, 60, 41, 0);
    Rig rig = rig_encoder(encoders[i], &source);
    GstBuffer *const raws[] = {plain, raw, other};
    for (guint f = 0; f < 3; f++) {
      g_assert_cmpint(push_frame(rig.h, raws[f], f), ==, GST_FLOW_OK);
      coded[f] = gst_harness_pull(rig.h);
    }
    g_assert_false(same_bytes(coded[1], coded[0]));
    g_assert_false(same_bytes(coded[1], coded[2]));
    g_assert_cmpuint(gst_buffer_get_size(coded[1]), <=, i == 2 ? 9000 : 4000);
    g_assert_null(rig_message(&rig, GST_MESSAGE_WARNING));
    for (guint f = 0; f < 3; f++) {
      gst_buffer_unref(coded[f]);
      gst_buffer_unref(raws[f]);
    }
    rig_free(&rig);
  }
}

/* The first frame with a region of metadata has the bytes of one with the property. */
static void test_same_regions(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, 255, 127);
  GstBuffer *plain = pixels_buffer(&source, 0), *raw = pixels_buffer(&source, 0);
  add_region(raw, 17, 31, 60, 41, 16);
  add_region(raw, 200, 90, 500, 500, 0.25);
  GstBuffer *meta = encode_one("cudaj2kenc max-frame-bytes=4000", &source, raw, NULL);
  GstBuffer *property =
      encode_one("cudaj2kenc max-frame-bytes=4000 roi=17,31,60,41,16;200,90,500,500,0.25", &source,
                 plain, NULL);
  g_assert_true(same_bytes(meta, property));
  gst_buffer_unref(meta);
  gst_buffer_unref(property);
  gst_buffer_unref(raw);
  gst_buffer_unref(plain);
}

/* Without a budget regions of metadata cause one warning, and those of the property an error. */
static void test_refused_regions(void)
{
  static const gchar *const properties[] = {"roi=1,2,3", "quality=50 roi=1,2,3,4,5"};
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  add_region(raw, 17, 31, 60, 41, 16);
  Rig rig = rig_encoder("quality=50", &source);
  for (guint f = 0; f < 3; f++) {
    g_assert_cmpint(push_frame(rig.h, raw, f), ==, GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(rig.h));
    gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
    g_assert_cmpint(text != NULL, ==, f == 0);
    if (text)
      g_assert_nonnull(strstr(text, "Regions of interest have no effect: roi needs"));
    g_free(text);
  }
  rig_free(&rig);
  for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
    Rig refused = rig_encoder(properties[i], NULL);
    gst_harness_set_src_caps(refused.h, gst_video_info_to_caps(&source));
    gst_harness_push(refused.h, gst_buffer_ref(raw));
    gchar *text = rig_message(&refused, GST_MESSAGE_ERROR);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, i ? "roi needs rate-control cbr" : "x,y,w,h,weight"));
    g_free(text);
    rig_free(&refused);
  }
  gst_buffer_unref(raw);
}

/* ------------------------------------------------------------------------------- markers --- */

/* The offset of a marker in the main header; -1: not found. */
static gint find_marker(const GstMapInfo *map, guint marker)
{
  gsize at = 2;
  while (at + 4 <= map->size) {
    guint found = gst_cuda_j2k_read16(map->data + at);
    if (found == marker)
      return (gint)at;
    if (found == 0xFF90)
      return -1;
    at += 2 + gst_cuda_j2k_read16(map->data + at + 2);
  }
  return -1;
}

/* Properties that are visible in the COD marker segment (T.800 A.6.1): the byte and its value. */
static void test_coding_style(void)
{
  static const struct {
    const gchar *properties;
    guint byte, mask, value; /* byte 4 is Scod */
  } cases[] = {
      {"", 4, 0xFF, 0},
      {"precincts=128x64", 4, 1, 1},
      {"sop=true", 4, 2, 2},
      {"eph=true", 4, 4, 4},
      {"progression-order=rpcl", 5, 0xFF, 2},
      {"progression-order=cprl", 5, 0xFF, 4},
      {"num-layers=3", 7, 0xFF, 3},
      {"mct=on", 8, 0xFF, 1},
      {"mct=off", 8, 0xFF, 0},
      {"num-resolutions=3", 9, 0xFF, 2},
      {"codeblock-width=32", 10, 0xFF, 3},
      {"codeblock-height=16", 11, 0xFF, 2},
      {"codeblock-style=bypass+segmark", 12, 0xFF, 0x21},
      {"block-coder=ht", 12, 0xFF, 0x40},
      {"", 13, 0xFF, 0}, /* 9/7 */
      {"rate-control=lossless", 13, 0xFF, 1},
      {"reversible-transform=true bits-per-pixel=4", 13, 0xFF, 1},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gchar *description = g_strdup_printf("cudaj2kenc %s", cases[i].properties);
    GstBuffer *coded = encode_one(description, &source, raw, NULL);
    GstMapInfo map;
    gst_buffer_map(coded, &map, GST_MAP_READ);
    gint cod = find_marker(&map, 0xFF52);
    g_assert_cmpint(cod, >, 0);
    if ((map.data[cod + (gint)cases[i].byte] & cases[i].mask) != cases[i].value)
      g_error("%s: byte %u of COD is 0x%02x", cases[i].properties, cases[i].byte,
              map.data[cod + (gint)cases[i].byte]);
    gst_buffer_unmap(coded, &map);
    gst_buffer_unref(coded);
    g_free(description);
  }
  gst_buffer_unref(raw);
}

static void test_optional_markers(void)
{
  static const struct {
    const gchar *properties;
    guint marker;
  } cases[] = {
      {"tlm=true", 0xFF55},
      {"comment=\"hello\"", 0xFF64},
      {"block-coder=ht", 0xFF50},
  };
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    for (guint on = 0; on < 2; on++) {
      gchar *description = g_strdup_printf("cudaj2kenc %s", on ? cases[i].properties : "name=e");
      GstBuffer *coded = encode_one(description, &source, raw, NULL);
      GstMapInfo map;
      gst_buffer_map(coded, &map, GST_MAP_READ);
      if (on)
        g_assert_cmpint(find_marker(&map, cases[i].marker), >, 0);
      else
        g_assert_cmpint(find_marker(&map, cases[i].marker), ==, -1);
      gst_buffer_unmap(coded, &map);
      gst_buffer_unref(coded);
      g_free(description);
    }
  gst_buffer_unref(raw);
}

/* Tiles with one tile-part for each component. */
static void test_tiles(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  GstBuffer *coded = encode_one("cudaj2kenc tile-width=64 tile-height=32 tile-parts=component "
                                "progression-order=cprl",
                                &source, raw, NULL);
  GstMapInfo map;
  guint tile_parts = 0;
  gst_buffer_map(coded, &map, GST_MAP_READ);
  gint siz = find_marker(&map, 0xFF51);
  g_assert_cmpuint(gst_cuda_j2k_read32(map.data + siz + 22), ==, 64);
  g_assert_cmpuint(gst_cuda_j2k_read32(map.data + siz + 26), ==, 32);
  gsize at = 2;
  while (gst_cuda_j2k_read16(map.data + at) != 0xFF90)
    at += 2 + gst_cuda_j2k_read16(map.data + at + 2);
  for (; at + 12 < map.size; tile_parts++)
    at += gst_cuda_j2k_read32(map.data + at + 6);
  g_assert_cmpuint(tile_parts, ==, 4 * 3);
  gst_buffer_unmap(coded, &map);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
}

/* ------------------------------------------------------------------------------ profiles --- */

static void test_profiles(void)
{
  static const struct {
    const gchar *properties;
    GstVideoFormat format;
    gint rsiz, main_level, sub_level; /* -1: not in the caps */
  } cases[] = {
      {"profile=cinema-2k rate-control=cbr", GST_VIDEO_FORMAT_GBR_12LE, 3, -1, -1},
      {"profile=cinema-4k rate-control=cbr", GST_VIDEO_FORMAT_GBR_12LE, 4, -1, -1},
      {"profile=broadcast-single main-level=2", GST_VIDEO_FORMAT_I422_10LE, 0x0102, 2, -1},
      {"profile=broadcast-multi-r main-level=3 rate-control=lossless", GST_VIDEO_FORMAT_I422_10LE,
       0x0303, 3, -1},
      {"profile=imf-4k main-level=6 sub-level=3", GST_VIDEO_FORMAT_GBR_12LE, 0x0536, 6, 3},
      {"profile=imf-2k-r main-level=1 sub-level=1 rate-control=lossless", GST_VIDEO_FORMAT_GBR_10LE,
       0x0711, 1, 1},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].format, 256, 128);
    source.fps_n = 24;
    GstBuffer *raw = pixels_buffer(&source, 0);
    gchar *description = g_strdup_printf("cudaj2kenc %s", cases[i].properties);
    GstCaps *caps;
    GstBuffer *coded = encode_one(description, &source, raw, &caps);
    const GstStructure *s = gst_caps_get_structure(caps, 0);
    guint8 rsiz[2];
    gint profile = 0;
    guint level = 0;
    gst_buffer_extract(coded, 6, rsiz, sizeof rsiz);
    g_assert_cmpint(gst_cuda_j2k_read16(rsiz), ==, cases[i].rsiz);
    g_assert_true(gst_structure_get_int(s, "profile", &profile));
    g_assert_cmpint(profile, ==, cases[i].rsiz);
    g_assert_cmpint(gst_structure_get_uint(s, "main-level", &level), ==, cases[i].main_level >= 0);
    if (cases[i].main_level >= 0)
      g_assert_cmpint((gint)level, ==, cases[i].main_level);
    g_assert_cmpint(gst_structure_get_uint(s, "sub-level", &level), ==, cases[i].sub_level >= 0);
    if (cases[i].sub_level >= 0)
      g_assert_cmpint((gint)level, ==, cases[i].sub_level);
    gst_caps_unref(caps);
    gst_buffer_unref(coded);
    gst_buffer_unref(raw);
    g_free(description);
  }
}

static GstVideoInfo cinema_video(GstVideoTransferFunction transfer)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_GBR_12LE, 64, 48);
  source.fps_n = 24;
  source.colorimetry = (GstVideoColorimetry){.range = GST_VIDEO_COLOR_RANGE_0_255,
                                             .matrix = GST_VIDEO_COLOR_MATRIX_RGB,
                                             .transfer = transfer,
                                             .primaries = GST_VIDEO_COLOR_PRIMARIES_BT709};
  return source;
}

static GBytes *encode_cinema(const gchar *xyz_transfer, GstVideoTransferFunction transfer)
{
  GstVideoInfo source = cinema_video(transfer);
  GstBuffer *raw = pixels_buffer(&source, 0);
  gchar *description = g_strdup_printf(
      "cudaj2kenc profile=cinema-2k rate-control=cbr xyz-transfer=%s", xyz_transfer);
  GstBuffer *coded = encode_one(description, &source, raw, NULL);
  gpointer data;
  gsize size;
  gst_buffer_extract_dup(coded, 0, G_MAXSIZE, &data, &size);
  gst_buffer_unref(coded);
  gst_buffer_unref(raw);
  g_free(description);
  return g_bytes_new_take(data, size);
}

/* The transfer curve of R'G'B' comes from the caps, or from xyz-transfer. */
static void test_xyz_transfer(void)
{
  static const struct {
    GstVideoTransferFunction transfer;
    const gchar *named;
  } cases[] = {
      {GST_VIDEO_TRANSFER_UNKNOWN, "bt709"},    {GST_VIDEO_TRANSFER_BT709, "bt709"},
      {GST_VIDEO_TRANSFER_BT2020_12, "bt709"},  {GST_VIDEO_TRANSFER_SRGB, "srgb"},
      {GST_VIDEO_TRANSFER_GAMMA10, "linear"},   {GST_VIDEO_TRANSFER_GAMMA18, "gamma18"},
      {GST_VIDEO_TRANSFER_GAMMA20, "gamma20"},  {GST_VIDEO_TRANSFER_GAMMA22, "gamma22"},
      {GST_VIDEO_TRANSFER_GAMMA28, "gamma28"},  {GST_VIDEO_TRANSFER_SMPTE2084, "pq"},
      {GST_VIDEO_TRANSFER_ARIB_STD_B67, "hlg"},
  };
  GBytes *coded[G_N_ELEMENTS(cases)];
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GBytes *named = encode_cinema(cases[i].named, GST_VIDEO_TRANSFER_LOG100);
    coded[i] = encode_cinema("auto", cases[i].transfer);
    g_assert_true(g_bytes_equal(coded[i], named));
    g_bytes_unref(named);
    for (guint k = 0; k < i; k++)
      g_assert_cmpint(g_bytes_equal(coded[i], coded[k]), ==,
                      g_str_equal(cases[i].named, cases[k].named));
  }
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_bytes_unref(coded[i]);
}

/* A transfer curve that cannot be converted is an error; primaries that are not known cause a
 * warning. */
static void test_xyz_colorimetry(void)
{
  for (guint i = 0; i < 2; i++) {
    GstVideoInfo source = cinema_video(i ? GST_VIDEO_TRANSFER_SRGB : GST_VIDEO_TRANSFER_LOG100);
    if (i)
      source.colorimetry.primaries = GST_VIDEO_COLOR_PRIMARIES_FILM;
    Rig rig = rig_encoder("profile=cinema-2k rate-control=cbr", &source);
    GstBuffer *raw = pixels_buffer(&source, 0);
    g_assert_cmpint(push_frame(rig.h, raw, 0) == GST_FLOW_OK, ==, i);
    gchar *text = rig_message(&rig, i ? GST_MESSAGE_WARNING : GST_MESSAGE_ERROR);
    g_assert_nonnull(text);
    g_assert_nonnull(strstr(text, i ? "primaries" : "xyz-transfer"));
    g_free(text);
    gst_buffer_unref(raw);
    rig_free(&rig);
  }
}

/* The primaries of R'G'B' come from the caps, or from xyz-primaries. */
static void test_xyz_primaries(void)
{
  static const struct {
    GstVideoColorPrimaries primaries;
    const gchar *named;
  } cases[] = {{GST_VIDEO_COLOR_PRIMARIES_BT709, "bt709"},
               {GST_VIDEO_COLOR_PRIMARIES_BT2020, "bt2020"},
               {GST_VIDEO_COLOR_PRIMARIES_SMPTEEG432, "p3-d65"},
               {GST_VIDEO_COLOR_PRIMARIES_SMPTERP431, "p3-dci"}};
  GstBuffer *last = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = cinema_video(GST_VIDEO_TRANSFER_SMPTE2084);
    GstBuffer *raw = pixels_buffer(&source, 0);
    gchar *description = g_strdup_printf(
        "cudaj2kenc profile=cinema-2k rate-control=cbr xyz-primaries=%s", cases[i].named);
    GstBuffer *named = encode_one(description, &source, raw, NULL);
    GstCaps *caps;
    source.colorimetry.primaries = cases[i].primaries;
    GstBuffer *coded =
        encode_one("cudaj2kenc profile=cinema-2k rate-control=cbr", &source, raw, &caps);
    GstVideoInfo info = video_of_caps(caps);
    g_assert_true(same_bytes(coded, named));
    g_assert_false(last && same_bytes(coded, last));
    g_assert_cmpint(info.colorimetry.primaries, ==, GST_VIDEO_COLOR_PRIMARIES_SMPTEST428);
    g_assert_cmpint(info.colorimetry.transfer, ==, GST_VIDEO_TRANSFER_SMPTE2084);
    gst_caps_unref(caps);
    gst_clear_buffer(&last);
    last = coded;
    gst_buffer_unref(named);
    gst_buffer_unref(raw);
    g_free(description);
  }
  gst_buffer_unref(last);
}

/* Contradictory properties are refused when the format is set, with one message that names them,
 * although the caps come again with each buffer. */
static void test_contradictions(void)
{
  static const struct {
    const gchar *properties;
    GstVideoFormat format;
    const gchar *names[2];
  } cases[] = {
      {"profile=cinema-2k progression-order=rlcp",
       GST_VIDEO_FORMAT_GBR_12LE,
       {"progression-order", "cinema-2k"}},
      {"profile=cinema-2k block-coder=ht", GST_VIDEO_FORMAT_GBR_12LE, {"block-coder", "cinema"}},
      {"profile=cinema-2k", GST_VIDEO_FORMAT_Y444_12LE, {"cinema", "RGB"}},
      {"profile=cinema-2k", GST_VIDEO_FORMAT_RGBA, {"alpha", "GBR_12LE"}},
      {"profile=broadcast-single num-layers=2",
       GST_VIDEO_FORMAT_I422_10LE,
       {"num-layers", "broadcast-single"}},
      {"profile=imf-2k", GST_VIDEO_FORMAT_I420, {"imf-2k", ""}},
      {"codeblock-width=128 codeblock-height=128", GST_VIDEO_FORMAT_I420, {"code-block", "4096"}},
      {"codeblock-width=48", GST_VIDEO_FORMAT_I420, {"codeblock-width", "power"}},
      {"block-coder=ht codeblock-style=bypass", GST_VIDEO_FORMAT_I420, {"codeblock-style", "ht"}},
      {"mct=on", GST_VIDEO_FORMAT_I420, {"mct", ""}},
      {"rate-control=cbr", GST_VIDEO_FORMAT_I420, {"rate-control", "bitrate"}},
      {"precincts=100x100", GST_VIDEO_FORMAT_I420, {"precincts", ""}},
      {"layer-rates=2,1", GST_VIDEO_FORMAT_I420, {"layer-rates", ""}},
      {"layer-rates=1,2,x", GST_VIDEO_FORMAT_I420, {"layer-rates", ""}},
      {"rate-control=qstep", GST_VIDEO_FORMAT_I420, {"quant-step", ""}},
      {"rate-control=lossless bitrate=9000", GST_VIDEO_FORMAT_I420, {"rate-control", "bitrate"}},
      {"rate-control=lossless bits-per-pixel=2",
       GST_VIDEO_FORMAT_I420,
       {"lossless", "bits-per-pixel"}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstVideoInfo source = video(cases[i].format, 256, 128);
    source.fps_n = 24;
    Rig rig = rig_encoder(cases[i].properties, &source);
    GstBuffer *raw = pixels_buffer(&source, 0);
    g_assert_cmpint(push_frame(rig.h, raw, 0), !=, GST_FLOW_OK);
    gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
    if (!text || !strstr(text, cases[i].names[0]) || !strstr(text, cases[i].names[1]))
      g_error("%s: the message is \"%s\"", cases[i].properties, text);
    g_assert_cmpint(push_frame(rig.h, raw, 1), !=, GST_FLOW_OK);
    for (gchar *next; (next = rig_message(&rig, GST_MESSAGE_ERROR)); g_free(next))
      g_assert_cmpstr(next, !=, text); /* the base class has errors of its own */
    g_free(text);
    gst_buffer_unref(raw);
    rig_free(&rig);
  }
}

/* Without profile-strict the profile overrides the property, with a warning. */
static void test_lenient(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, 256, 128);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig =
      rig_encoder("profile=broadcast-single progression-order=rlcp profile-strict=false", &source);
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  gchar *text = rig_message(&rig, GST_MESSAGE_WARNING);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "progression-order"));
  g_free(text);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

static void test_no_frame_rate(void)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  source.fps_n = 0;
  Rig rig = rig_encoder("bitrate=1000", &source);
  GstBuffer *raw = pixels_buffer(&source, 0);
  g_assert_cmpint(push_frame(rig.h, raw, 0), !=, GST_FLOW_OK);
  gchar *text = rig_message(&rig, GST_MESSAGE_ERROR);
  g_assert_nonnull(text);
  g_assert_nonnull(strstr(text, "frame rate"));
  g_free(text);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* ---------------------------------------------------------------------------------- main --- */

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/encoder/ceilings", test_ceilings);
  g_test_add_func("/encoder/quality-order", test_quality_order);
  g_test_add_func("/encoder/rate-changes", test_rate_changes);
  g_test_add_func("/encoder/quality-changes", test_quality_changes);
  g_test_add_data_func("/encoder/rate-period/frames", NULL, test_rate_period);
  g_test_add_data_func("/encoder/rate-period/fields", "profile=broadcast-single", test_rate_period);
  g_test_add_func("/encoder/small-budget", test_small_budget);
  g_test_add_func("/encoder/selected-modes", test_selected_modes);
  g_test_add_func("/encoder/coding-style", test_coding_style);
  g_test_add_func("/encoder/optional-markers", test_optional_markers);
  g_test_add_func("/encoder/tiles", test_tiles);
  g_test_add_func("/encoder/profiles", test_profiles);
  g_test_add_func("/encoder/xyz-transfer", test_xyz_transfer);
  g_test_add_func("/encoder/xyz-primaries", test_xyz_primaries);
  g_test_add_func("/encoder/xyz-colorimetry", test_xyz_colorimetry);
  g_test_add_func("/encoder/contradictions", test_contradictions);
  g_test_add_func("/encoder/lenient", test_lenient);
  g_test_add_func("/encoder/no-frame-rate", test_no_frame_rate);
  g_test_add_func("/encoder/regions", test_regions);
  g_test_add_func("/encoder/same-regions", test_same_regions);
  g_test_add_func("/encoder/refused-regions", test_refused_regions);
  int result = g_test_run();
  gst_deinit();
  return result;
}
