/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decodes the encoder's streams with GStreamer's other decoders: lossless streams exactly, lossy
 * ones with the same PSNR as cudaj2kdec. */
#include "harness.h"

#include <math.h>

#define WIDTH  96
#define HEIGHT 64
#define LARGE  256 /* size of lossy pictures: single samples hardly affect the PSNR */

typedef struct {
  const gchar *decoder;
  GstVideoFormat format;
} Peer;

static void test_lossless(gconstpointer data)
{
  const Peer *peer = data;
  GstVideoInfo source = video(peer->format, WIDTH, HEIGHT);
  if (skip_without(peer->decoder))
    return;
  gchar *chain = g_strdup_printf("cudaj2kenc rate-control=lossless ! %s", peer->decoder);
  assert_lossless(chain, &source);
  g_free(chain);
}

/* PSNR of b against a, two pictures with the same depth and sub-sampling. */
static gdouble psnr(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                    GstBuffer *b)
{
  const GstCudaJ2kFormat *format = gst_cuda_j2k_format_find(GST_VIDEO_INFO_FORMAT(info_a));
  GstVideoFrame frame_a, frame_b;
  gdouble squares = 0, full_range = (1u << format->samples[0].depth) - 1;
  guint64 samples = 0;
  g_assert_true(gst_video_frame_map(&frame_a, info_a, a, GST_MAP_READ));
  g_assert_true(gst_video_frame_map(&frame_b, info_b, b, GST_MAP_READ));
  for (guint c = 0; c < format->num_components; c++)
    for (guint y = 0; y < pixels_height(&frame_a, c); y++)
      for (guint x = 0; x < pixels_width(&frame_a, c); x++, samples++) {
        gdouble d = (gdouble)pixels_of(&frame_a, c, x, y) - pixels_of(&frame_b, c, x, y);
        squares += d * d;
      }
  gst_video_frame_unmap(&frame_a);
  gst_video_frame_unmap(&frame_b);
  g_assert_cmpfloat(squares, >, 0);
  return 10 * log10(full_range * full_range * (gdouble)samples / squares);
}

static gdouble psnr_of(const gchar *decoder, const gchar *properties, const GstVideoInfo *source,
                       GstBuffer *raw)
{
  gchar *chain = g_strdup_printf("cudaj2kenc %s ! %s", properties, decoder);
  GstCaps *caps;
  GstBuffer *decoded = encode_one(chain, source, raw, &caps);
  GstVideoInfo info = video_of_caps(caps);
  g_assert_cmpint(GST_VIDEO_INFO_COMP_DEPTH(&info, 0), ==, GST_VIDEO_INFO_COMP_DEPTH(source, 0));
  gdouble result = psnr(source, raw, &info, decoded);
  gst_caps_unref(caps);
  gst_buffer_unref(decoded);
  g_free(chain);
  return result;
}

static void test_lossy(gconstpointer data)
{
  static const gchar *const properties[] = {"bits-per-pixel=1", "quality=80",
                                            "rate-control=qstep quant-step=0.01",
                                            "bits-per-pixel=2 codeblock-style=bypass"};
  const Peer *peer = data;
  GstVideoInfo source = video(peer->format, LARGE, LARGE);
  if (skip_without(peer->decoder))
    return;
  GstBuffer *raw = pixels_buffer(&source, 0);
  for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
    gdouble ours = psnr_of("cudaj2kdec", properties[i], &source, raw);
    gdouble theirs = psnr_of(peer->decoder, properties[i], &source, raw);
    g_test_message("%s: %.3f dB, ours %.3f", properties[i], theirs, ours);
    g_assert_cmpfloat(fabs(ours - theirs), <=, 0.01);
  }
  gst_buffer_unref(raw);
}

static void add(const gchar *kind, const Peer *peer, GTestDataFunc run)
{
  gchar *path = g_strdup_printf("/peers/%s/%s/%s", peer->decoder, kind,
                                gst_video_format_to_string(peer->format));
  g_test_add_data_func(path, peer, run);
  g_free(path);
}

int main(int argc, char **argv)
{
  /* gst-libav has no video format for 4:4:4 of more than 8 bits. */
  static const Peer lossless[] = {
      {"openjpegdec", GST_VIDEO_FORMAT_I420},
      {"openjpegdec", GST_VIDEO_FORMAT_UYVY},
      {"openjpegdec", GST_VIDEO_FORMAT_v210},
      {"openjpegdec", GST_VIDEO_FORMAT_Y444_10LE},
      {"openjpegdec", GST_VIDEO_FORMAT_RGB},
      {"openjpegdec", GST_VIDEO_FORMAT_ARGB64},
      {"openjpegdec", GST_VIDEO_FORMAT_GRAY8},
      {"openjpegdec", GST_VIDEO_FORMAT_AYUV},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_I420},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_UYVY},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_v210},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_I422_12LE},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_I420_10LE},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_Y444},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_RGB},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_GRAY8},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_GRAY16_LE},
  };
  static const Peer lossy[] = {
      {"openjpegdec", GST_VIDEO_FORMAT_I420},      {"openjpegdec", GST_VIDEO_FORMAT_I422_10LE},
      {"openjpegdec", GST_VIDEO_FORMAT_Y444_10LE}, {"openjpegdec", GST_VIDEO_FORMAT_GRAY8},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_I420},   {"avdec_jpeg2000", GST_VIDEO_FORMAT_I422_10LE},
      {"avdec_jpeg2000", GST_VIDEO_FORMAT_RGB},    {"avdec_jpeg2000", GST_VIDEO_FORMAT_GRAY8},
  };
  gst_init(&argc, &argv);
  g_test_init(&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(lossless); i++)
    add("lossless", &lossless[i], test_lossless);
  for (guint i = 0; i < G_N_ELEMENTS(lossy); i++)
    add("lossy", &lossy[i], test_lossy);
  int result = g_test_run();
  gst_deinit();
  return result;
}
