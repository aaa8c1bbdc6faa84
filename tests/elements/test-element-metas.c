/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metadata through encoder and decoder: time code, captions, AFD, bars, regions of interest,
 * ancillary data and HDR10's caps fields; and the tags that the encoder adds.
 */
#include "harness.h"

#include <gst/video/video-anc.h>
#include <string.h>

#define WIDTH  160
#define HEIGHT 96

#define LIGHT   "1000:400"
#define DISPLAY "35400:14600:8500:39850:6550:2300:15635:16450:10000000:1"

static const guint8 caption[] = {0xFC, 0x80, 0x80, 0xFD, 0x80, 0x80};

/* A raw picture with one metadata item of each kind. */
static GstBuffer *described_picture(const GstVideoInfo *info)
{
  GstBuffer *raw = pixels_buffer(info, 0);
  gst_buffer_add_video_time_code_meta_full(raw, FPS, 1, NULL, GST_VIDEO_TIME_CODE_FLAGS_NONE, 10,
                                           20, 30, 5, 0);
  gst_buffer_add_video_caption_meta(raw, GST_VIDEO_CAPTION_TYPE_CEA708_RAW, caption,
                                    sizeof caption);
  gst_buffer_add_video_afd_meta(raw, 0, GST_VIDEO_AFD_SPEC_SMPTE_ST2016_1,
                                GST_VIDEO_AFD_16_9_LETTER_16_9_FULL);
  gst_buffer_add_video_bar_meta(raw, 0, TRUE, 11, 84);
  GstVideoRegionOfInterestMeta *region =
      gst_buffer_add_video_region_of_interest_meta(raw, "face", 21, 30, 40, 50);
  region->id = 7;
  gst_video_region_of_interest_meta_add_param(
      region, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.5, NULL));
#if GST_CHECK_VERSION(1, 24, 0)
  GstAncillaryMeta *ancillary = gst_buffer_add_ancillary_meta(raw);
  ancillary->line = 9;
  ancillary->DID = 0x161;
  ancillary->SDID_block_number = 0x101;
  ancillary->data_count = 0x201;
  ancillary->data = g_new0(guint16, 1);
#endif
  return raw;
}

static guint count_metas(GstBuffer *buffer, GType api)
{
  gpointer state = NULL;
  guint n = 0;
  while (gst_buffer_iterate_meta_filtered(buffer, &state, api))
    n++;
  return n;
}

static void assert_described(GstBuffer *buffer, guint reduce)
{
  GstVideoTimeCodeMeta *time = gst_buffer_get_video_time_code_meta(buffer);
  g_assert_nonnull(time);
  g_assert_cmpuint(time->tc.hours, ==, 10);
  g_assert_cmpuint(time->tc.frames, ==, 5);
  GstVideoCaptionMeta *text = gst_buffer_get_video_caption_meta(buffer);
  g_assert_nonnull(text);
  g_assert_cmpmem(text->data, text->size, caption, sizeof caption);
  GstVideoAFDMeta *afd = gst_buffer_get_video_afd_meta(buffer);
  g_assert_nonnull(afd);
  g_assert_cmpint(afd->afd, ==, GST_VIDEO_AFD_16_9_LETTER_16_9_FULL);
  GstVideoBarMeta *bars = gst_buffer_get_video_bar_meta(buffer);
  g_assert_nonnull(bars);
  g_assert_true(bars->is_letterbox);
  g_assert_cmpuint(bars->bar_data1, ==,
                   reduce ? 5 : 11); /* 12 lines, or 6 of the smaller picture */
  g_assert_cmpuint(bars->bar_data2, ==, reduce ? 42 : 84);
  GstVideoRegionOfInterestMeta *region = gst_buffer_get_video_region_of_interest_meta_id(buffer, 7);
  g_assert_nonnull(region);
  g_assert_cmpstr(g_quark_to_string(region->roi_type), ==, "face");
  g_assert_cmpuint(region->x, ==, reduce ? 10 : 21);
  g_assert_cmpuint(region->y, ==, reduce ? 15 : 30);
  g_assert_cmpuint(region->w, ==, reduce ? 21 : 40); /* 21..60 touch 10..30 */
  g_assert_cmpuint(region->h, ==, reduce ? 25 : 50);
  g_assert_nonnull(gst_video_region_of_interest_meta_get_param(region, "detection"));
  g_assert_cmpuint(count_metas(buffer, GST_VIDEO_BAR_META_API_TYPE), ==, 1);
  g_assert_cmpuint(count_metas(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), ==, 1);
#if GST_CHECK_VERSION(1, 24, 0)
  /* The macro gst_buffer_get_ancillary_meta of GStreamer 1.26 lacks a bracket. */
  GstAncillaryMeta *ancillary =
      (GstAncillaryMeta *)gst_buffer_get_meta(buffer, GST_ANCILLARY_META_API_TYPE);
  g_assert_nonnull(ancillary);
  g_assert_cmpuint(ancillary->DID, ==, 0x161);
#endif
}

static GstCaps *hdr_caps(const GstVideoInfo *info)
{
  GstCaps *caps = gst_video_info_to_caps(info);
  gst_caps_set_simple(caps, "mastering-display-info", G_TYPE_STRING, DISPLAY, "content-light-level",
                      G_TYPE_STRING, LIGHT, "colorimetry", G_TYPE_STRING, "bt2100-pq", NULL);
  return caps;
}

static void assert_hdr(GstHarness *h)
{
  GstCaps *caps = gst_pad_get_current_caps(h->sinkpad);
  const GstStructure *s = gst_caps_get_structure(caps, 0);
  g_assert_cmpstr(gst_structure_get_string(s, "mastering-display-info"), ==, DISPLAY);
  g_assert_cmpstr(gst_structure_get_string(s, "content-light-level"), ==, LIGHT);
  g_assert_cmpstr(gst_structure_get_string(s, "colorimetry"), ==, "bt2100-pq");
  gst_caps_unref(caps);
}

typedef struct {
  const gchar *name, *elements;
  gboolean interlaced;
  guint reduce;
} Way;

static const Way ways[] = {
    {"encoder", "cudaj2kenc", FALSE, 0},
    {"encoder-fields",
     "cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=3", TRUE, 0},
    {"both", "cudaj2kenc ! cudaj2kdec", FALSE, 0},
    {"both-ht", "cudaj2kenc block-coder=ht ! cudaj2kdec", FALSE, 0},
    {"both-fields",
     "cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=3 ! cudaj2kdec",
     TRUE, 0},
    {"reduce", "cudaj2kenc ! cudaj2kdec reduce=1", FALSE, 1},
    {"reduce-fields",
     "cudaj2kenc profile=broadcast-multi-r rate-control=lossless num-resolutions=3 ! cudaj2kdec reduce=1",
     TRUE, 1},
};

static void test_passes(gconstpointer data)
{
  const Way *way = data;
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I422_10LE, WIDTH, HEIGHT);
  if (way->interlaced) {
    GST_VIDEO_INFO_INTERLACE_MODE(&source) = GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    GST_VIDEO_INFO_FIELD_ORDER(&source) = GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST;
  }
  GstBuffer *raw = described_picture(&source);
  Rig rig = rig_new(way->elements);
  gst_harness_set_src_caps(rig.h, hdr_caps(&source));
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint(push_frame(rig.h, raw, i), ==, GST_FLOW_OK);
  g_assert_true(gst_harness_push_event(rig.h, gst_event_new_eos()));
  for (guint i = 0; i < 3; i++) {
    GstBuffer *out = gst_harness_pull(rig.h);
    assert_described(out, way->reduce);
    gst_buffer_unref(out);
  }
  assert_hdr(rig.h);
  gst_buffer_unref(raw);
  rig_free(&rig);
}

/* ----------------------------------------------------------------------------------- tags --- */

/* The tags of the first tag event behind the encoder (transfer full); NULL: none. */
static GstTagList *tags_of(const gchar *encoder)
{
  GstVideoInfo source = video(GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
  GstBuffer *raw = pixels_buffer(&source, 0);
  Rig rig = rig_new(encoder);
  GstTagList *tags = NULL;
  GstEvent *event;
  gst_harness_set_src_caps(rig.h, gst_video_info_to_caps(&source));
  g_assert_cmpint(push_frame(rig.h, raw, 0), ==, GST_FLOW_OK);
  gst_buffer_unref(gst_harness_pull(rig.h));
  while ((event = gst_harness_try_pull_event(rig.h))) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_TAG && !tags) {
      gst_event_parse_tag(event, &tags);
      tags = gst_tag_list_ref(tags);
    }
    gst_event_unref(event);
  }
  gst_buffer_unref(raw);
  rig_free(&rig);
  return tags;
}

static void test_tags(void)
{
  static const struct {
    const gchar *encoder, *codec;
    guint nominal, most; /* 0: no tag */
  } cases[] = {
      {"cudaj2kenc", "JPEG 2000", 0, 0},
      {"cudaj2kenc block-coder=ht rate-control=lossless", "HTJ2K", 0, 0},
      {"cudaj2kenc rate-control=cbr bits-per-pixel=2", "JPEG 2000", WIDTH * HEIGHT * 2 * FPS,
       WIDTH * HEIGHT * 2 * FPS},
      {"cudaj2kenc rate-control=cbr max-frame-bytes=4000", "JPEG 2000", 4000 * 8 * FPS,
       4000 * 8 * FPS},
      {"cudaj2kenc rate-control=cbr bitrate=900", "JPEG 2000", 900000, 900000},
      {"cudaj2kenc bitrate=900", "JPEG 2000", 900000, 900000},
      {"cudaj2kenc quality=50 bitrate=900 max-frame-bytes=4000000", "JPEG 2000", 0, 900000},
      {"cudaj2kenc average-bitrate=700 bitrate=900", "JPEG 2000", 700000, 900000},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GstTagList *tags = tags_of(cases[i].encoder);
    gchar *codec = NULL;
    guint nominal = 0, most = 0;
    g_assert_nonnull(tags);
    g_assert_true(gst_tag_list_get_string(tags, GST_TAG_VIDEO_CODEC, &codec));
    g_assert_cmpstr(codec, ==, cases[i].codec);
    gst_tag_list_get_uint(tags, GST_TAG_NOMINAL_BITRATE, &nominal);
    gst_tag_list_get_uint(tags, GST_TAG_MAXIMUM_BITRATE, &most);
    g_assert_cmpuint(nominal, ==, cases[i].nominal);
    g_assert_cmpuint(most, ==, cases[i].most);
    g_free(codec);
    gst_tag_list_unref(tags);
  }
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
    gchar *path = g_strdup_printf("/metas/%s", ways[i].name);
    g_test_add_data_func(path, &ways[i], test_passes);
    g_free(path);
  }
  g_test_add_func("/metas/tags", test_tags);
  int result = g_test_run();
  gst_deinit();
  return result;
}
