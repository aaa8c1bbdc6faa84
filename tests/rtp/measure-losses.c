/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures what losses of RTP packets cost: encodes a film, sends it through a simulated network
 * with a seed, receives and decodes it, and compares with the film. losses.py runs it and makes a
 * table.
 *
 * measure-losses FILM WIDTHxHEIGHT ENCODER PAYLOADER DEPAYLOADER DECODER SEEDS MODEL...
 *
 * FILM: frames of I422_10LE, at 25 a second. Then properties of cudaj2kenc; a payloader, a
 * depayloader with properties; properties of cudaj2kdec. "fec=N" in front of the payloader adds
 * forward error correction of N rows and N columns. MODEL: uniform:P, bursts:P (mean length 5),
 * reorder:P (by up to 64 places), double:P, headers:P (all packets with the main header of a
 * frame); P is the probability of a packet, or of a frame.
 *
 * Prints lines of words: "sent FRAMES PACKETS BYTES PSNR" (median PSNR of all frames), then for
 * each model "hit MODEL FRAMES PERFECT CONCEALED LOST" of all seeds together, and "psnr MODEL
 * VALUE..." of concealed frames.
 */
#include "tests/elements/rtp-streams.h"

#include <gst/rtp/gstrtpbuffer.h>
#include <math.h>
#include <stdio.h>

typedef struct {
  GstVideoInfo info;
  GMappedFile *file;
  guint count;
} Film;

typedef struct {
  const gchar *name; /* as given */
  gchar *kind;
  gdouble probability;
  gboolean in_burst;
  GRand *rand;
} Model;

/* How the film is sent and received. */
typedef struct {
  const gchar *payloader, *depayloader, *decoder;
  gchar *fec; /* properties of the elements for FEC; NULL: none */
} Path;

static const guint8 *film_frame(const Film *film, guint i)
{
  return (const guint8 *)g_mapped_file_get_contents(film->file) +
         i * GST_VIDEO_INFO_SIZE(&film->info);
}

static Stream encode(const Film *film, const gchar *properties)
{
  Stream out = stream_new(NULL);
  gchar *description = g_strdup_printf("cudaj2kenc backend=cpu %s", properties);
  GstHarness *h = gst_harness_new_parse(description);
  GstCaps *caps = gst_video_info_to_caps(&film->info);
  GstBuffer *buffer;
  gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, "bt709", NULL);
  gst_harness_set_src_caps(h, caps);
  for (guint i = 0; i < film->count; i++) {
    GstBuffer *raw = gst_buffer_new_memdup(film_frame(film, i), GST_VIDEO_INFO_SIZE(&film->info));
    g_assert_cmpint(push_frame(h, raw, i), ==, GST_FLOW_OK);
    gst_buffer_unref(raw);
  }
  gst_harness_push_event(h, gst_event_new_eos());
  while ((buffer = gst_harness_try_pull(h)))
    g_ptr_array_add(out.buffers, buffer);
  out.caps = gst_pad_get_current_caps(h->sinkpad);
  gst_harness_teardown(h);
  g_free(description);
  return out;
}

static guint number_of(const GstBuffer *buffer)
{
  return (guint)((GST_BUFFER_PTS(buffer) + GST_SECOND / FPS / 2) / (GST_SECOND / FPS));
}

static gdouble psnr(const Film *film, GstBuffer *picture, guint number)
{
  const guint16 *want = (const guint16 *)film_frame(film, number);
  gsize samples = GST_VIDEO_INFO_SIZE(&film->info) / 2;
  guint64 sum = 0;
  GstMapInfo map;
  g_assert_true(gst_buffer_map(picture, &map, GST_MAP_READ));
  g_assert_cmpuint(map.size, ==, 2 * samples);
  for (gsize i = 0; i < samples; i++) {
    gint difference = ((const guint16 *)map.data)[i] - want[i];
    sum += (guint64)(difference * difference);
  }
  gst_buffer_unmap(picture, &map);
  return 10 * log10(1023.0 * 1023 * (gdouble)samples / (gdouble)MAX(sum, 1));
}

/* Decodes the buffers for which `wanted` is set, and those before them, which may supply what is
 * missing. Adds the PSNR of the wanted ones. */
static guint decode(const Film *film, const Stream *stream, const gboolean *wanted,
                    const gchar *properties, GArray *out)
{
  gchar *description = g_strdup_printf("cudaj2kdec backend=cpu %s", properties);
  GstHarness *h = gst_harness_new_parse(description);
  GHashTable *numbers = g_hash_table_new(NULL, NULL);
  guint pictures = 0, count = stream->buffers->len;
  gst_harness_set_src_caps(h, gst_caps_ref(stream->caps));
  for (guint i = 0; i <= count; i++) {
    GstBuffer *picture;
    if (i == count) {
      gst_harness_push_event(h, gst_event_new_eos());
    } else if (wanted[i] || (i + 1 < count && wanted[i + 1])) {
      if (wanted[i])
        g_hash_table_add(numbers, GUINT_TO_POINTER(number_of(stream->buffers->pdata[i]) + 1));
      gst_harness_push(h, gst_buffer_ref(stream->buffers->pdata[i]));
    }
    while ((picture = gst_harness_try_pull(h))) {
      guint number = number_of(picture);
      if (g_hash_table_contains(numbers, GUINT_TO_POINTER(number + 1))) {
        gdouble value = psnr(film, picture, number);
        g_array_append_val(out, value);
        pictures++;
      }
      gst_buffer_unref(picture);
    }
  }
  gst_harness_teardown(h);
  g_hash_table_unref(numbers);
  g_free(description);
  return pictures;
}

/* --- the network --- */

static gboolean happens(Model *model)
{
  return g_rand_double(model->rand) < model->probability;
}

/* Whether the packet has bytes of the main header, for both payload formats. */
static gboolean has_header(GstBuffer *packet, const Path *path)
{
  guint8 bytes[14] = {0};
  gst_buffer_extract(packet, 0, bytes, sizeof bytes);
  return g_str_has_prefix(path->payloader, "rtpj2kpay") ? (bytes[12] & 0x30) != 0 : bytes[12] >> 6;
}

/* Whether the network loses this packet. Gilbert's model for bursts: they begin so rarely that the
 * share of lost packets is the probability. */
static gboolean is_lost(Model *model, GstBuffer *packet, const Path *path)
{
  if (g_str_equal(model->kind, "uniform"))
    return happens(model);
  if (g_str_equal(model->kind, "headers"))
    return has_header(packet, path) && happens(model);
  if (!g_str_equal(model->kind, "bursts"))
    return FALSE;
  gdouble probability = model->in_burst ? 0.8 : model->probability / 5 / (1 - model->probability);
  model->in_burst = g_rand_double(model->rand) < probability;
  return model->in_burst;
}

static Stream lose(Model *model, const Stream *packets, const Path *path)
{
  Stream out = stream_new(packets->caps);
  for (guint i = 0; i < packets->buffers->len; i++) {
    GstBuffer *packet = packets->buffers->pdata[i];
    if (is_lost(model, packet, path))
      continue;
    g_ptr_array_add(out.buffers, gst_buffer_ref(packet));
    if (g_str_equal(model->kind, "double") && happens(model))
      g_ptr_array_add(out.buffers, gst_buffer_ref(packet));
  }
  for (guint i = 1; g_str_equal(model->kind, "reorder") && i < out.buffers->len; i++) {
    guint back = (guint)g_rand_int_range(model->rand, 1, 65);
    if (!happens(model) || back > i)
      continue;
    gpointer packet = g_ptr_array_steal_index(out.buffers, i);
    g_ptr_array_insert(out.buffers, (gint)(i - back), packet);
  }
  return out;
}

typedef struct {
  Model *model;
  const Path *path;
} Probe;

static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const Probe *probe = data;
  (void)pad;
  return is_lost(probe->model, GST_PAD_PROBE_INFO_BUFFER(info), probe->path) ? GST_PAD_PROBE_DROP
                                                                             : GST_PAD_PROBE_OK;
}

/* Gives the bin a pad of one of its elements. */
static void add_ghost(GstElement *bin, const gchar *name, const gchar *pad_name)
{
  GstElement *element = gst_bin_get_by_name(GST_BIN(bin), name);
  GstPad *pad = gst_element_get_static_pad(element, pad_name);
  gst_element_add_pad(bin, gst_ghost_pad_new(pad_name, pad));
  gst_object_unref(pad);
  gst_object_unref(element);
}

/* Passes RTP packets through FEC of ST 2022-1 with losses of its packets too, and the depayloader.
 */
static Stream receive_fec(const Path *path, Model *model, const Stream *in)
{
  static const gchar *const names[] = {"media", "columns", "rows"};
  Probe probe = {model, path};
  Stream out = stream_new(NULL);
  GstBuffer *buffer;
  gchar *description = g_strdup_printf(
      "rtpst2022-1-fecenc name=enc %s ! identity name=media ! rtpst2022-1-fecdec name=dec ! "
      "%s name=depay enc.fec_0 ! identity name=columns ! dec.fec_0 enc.fec_1 ! identity name=rows ! "
      "dec.fec_1",
      path->fec, path->depayloader);
  GstElement *bin = gst_parse_bin_from_description(description, FALSE, NULL);
  g_assert_nonnull(bin);
  add_ghost(bin, "enc", "sink");
  add_ghost(bin, "depay", "src");
  GstHarness *h = gst_harness_new_with_element(bin, "sink", "src");
  for (guint i = 0; model && i < G_N_ELEMENTS(names); i++) {
    GstElement *element = gst_bin_get_by_name(GST_BIN(bin), names[i]);
    GstPad *pad = gst_element_get_static_pad(element, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_packet, &probe, NULL);
    gst_object_unref(pad);
    gst_object_unref(element);
  }
  gst_harness_set_src_caps(h, gst_caps_ref(in->caps));
  for (guint i = 0; i < in->buffers->len; i++)
    gst_harness_push(h, gst_buffer_ref(in->buffers->pdata[i]));
  gst_harness_push_event(h, gst_event_new_eos());
  while ((buffer = gst_harness_try_pull(h)))
    g_ptr_array_add(out.buffers, buffer);
  out.caps = gst_pad_get_current_caps(h->sinkpad);
  gst_harness_teardown(h);
  gst_object_unref(bin);
  g_free(description);
  return out;
}

static Stream receive(const Path *path, Model *model, const Stream *packets)
{
  if (path->fec)
    return receive_fec(path, model, packets);
  Stream arrived = lose(model, packets, path);
  gchar **words = g_strsplit(path->depayloader, " ", 2);
  Stream out = stream_pass(words[0], words[1] ? words[1] : "", &arrived, NULL);
  g_strfreev(words);
  stream_clear(&arrived);
  return out;
}

/* --- figures --- */

static void measure(const Film *film, const Path *path, Model *model, guint seeds,
                    const Stream *coded, const Stream *packets)
{
  GArray *values = g_array_new(FALSE, FALSE, sizeof(gdouble));
  guint perfect = 0, concealed = 0, lost = 0;
  for (guint seed = 0; seed < seeds; seed++) {
    model->rand = g_rand_new_with_seed(1000 + seed);
    model->in_burst = FALSE;
    Stream received = receive(path, model, packets);
    gboolean *wanted = g_new0(gboolean, received.buffers->len + 1), any = FALSE;
    guint intact = 0, decoded = 0;
    for (guint i = 0; i < received.buffers->len; i++) {
      guint number = number_of(received.buffers->pdata[i]);
      g_assert_cmpuint(number, <, film->count);
      wanted[i] = !same_bytes(coded->buffers->pdata[number], received.buffers->pdata[i]);
      any |= wanted[i];
      intact += !wanted[i];
    }
    if (any)
      decoded = decode(film, &received, wanted, path->decoder, values);
    perfect += intact;
    concealed += decoded;
    lost += film->count - intact - decoded;
    g_free(wanted);
    stream_clear(&received);
    g_rand_free(model->rand);
  }
  g_print("hit %s %u %u %u %u\npsnr %s", model->name, seeds * film->count, perfect, concealed, lost,
          model->name);
  for (guint i = 0; i < values->len; i++)
    g_print(" %.2f", g_array_index(values, gdouble, i));
  g_print("\n");
  g_array_unref(values);
}

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
  gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
  return (x > y) - (x < y);
}

static void print_sent(const Film *film, const Path *path, const Stream *coded,
                       const Stream *packets)
{
  GArray *values = g_array_new(FALSE, FALSE, sizeof(gdouble));
  gboolean *all = g_new(gboolean, coded->buffers->len);
  gsize bytes = 0;
  for (guint i = 0; i < coded->buffers->len; i++)
    all[i] = TRUE;
  decode(film, coded, all, path->decoder, values);
  g_array_sort(values, compare_doubles);
  for (guint i = 0; i < packets->buffers->len; i++)
    bytes += gst_buffer_get_size(packets->buffers->pdata[i]);
  g_print("sent %u %u %" G_GSIZE_FORMAT " %.2f\n", film->count, packets->buffers->len, bytes,
          g_array_index(values, gdouble, values->len / 2));
  g_array_unref(values);
  g_free(all);
}

static Path path_of(gchar **arguments)
{
  Path path = {.payloader = arguments[0], .depayloader = arguments[1], .decoder = arguments[2]};
  gint lines;
  if (sscanf(path.payloader, "fec=%d", &lines) == 1) {
    path.fec = g_strdup_printf("rows=%d columns=%d", lines, lines);
    path.payloader = strchr(path.payloader, ' ') + 1;
  }
  return path;
}

int main(int argc, char **argv)
{
  Film film = {.count = 0};
  guint width, height;
  gst_init(&argc, &argv);
  if (argc < 9 || sscanf(argv[2], "%ux%u", &width, &height) != 2)
    g_error("usage: measure-losses FILM WIDTHxHEIGHT ENCODER PAYLOADER DEPAYLOADER DECODER SEEDS "
            "MODEL...");
  film.info = video(GST_VIDEO_FORMAT_I422_10LE, width, height);
  film.file = g_mapped_file_new(argv[1], FALSE, NULL);
  g_assert_nonnull(film.file);
  film.count = (guint)(g_mapped_file_get_length(film.file) / GST_VIDEO_INFO_SIZE(&film.info));
  Path path = path_of(argv + 4);
  gchar **payloader = g_strsplit(path.payloader, " ", 2);
  Stream coded = encode(&film, argv[3]);
  Stream packets = stream_pass(payloader[0], payloader[1] ? payloader[1] : "", &coded, NULL);
  print_sent(&film, &path, &coded, &packets);
  for (gint i = 8; i < argc; i++) {
    gchar **words = g_strsplit(argv[i], ":", 2);
    Model model = {
        .name = argv[i], .kind = words[0], .probability = g_ascii_strtod(words[1], NULL)};
    measure(&film, &path, &model, (guint)atoi(argv[7]), &coded, &packets);
    g_strfreev(words);
  }
  stream_clear(&coded);
  stream_clear(&packets);
  g_strfreev(payloader);
  g_free(path.fec);
  g_mapped_file_unref(film.file);
  return 0;
}
