/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * soak [--streams=N] [--frames=N] [--seconds=N] [--backend=cpu|cuda] [--seed=N] [--verbose]
 *
 * Streams that run for long: each is an encoder, an RTP sender and receiver and a decoder, whose
 * rate, caps and coder change while packets are lost, codestreams are damaged, and the stream is
 * flushed, ended, stopped and made anew. The run has PHASES parts; between them every stream is
 * brought into the same state, in which it must pass a few pictures without a fault, and the
 * process is measured: bytes in use, resident memory, handles and threads, and with CUDA what it
 * has of the GPUs' memory. The driver tells that through NVML: of this process if it lists it, else
 * of all, so that others must be at rest; without NVML it is not known and not judged. The first
 * part warms up; growth from the second to the last is a failure. Latencies are printed and not
 * judged. Prints one line. Exit status 1: something grew, a picture was missing, or an element
 * reported an error.
 */
#include "examples/bench_gpus.h"
#include "harness.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define PHASES      10
#define MAX_STREAMS 256
#define SETTLED     24   /* frames that must pass without a fault between two parts */
#define RING        1024 /* frames that may be on their way */
#define LIMIT_S     300  /* time without a frame after which the program has hung */
#define TIME        (GST_SECOND / FPS)
/* Growth for each stream that is no failure: a stream has one or two frames' memory when it is
 * measured; the allocator keeps arenas, and GLib threads that have ended, for reuse. */
#define HEAP_GROWTH   (2 << 20)  /* bytes */
#define RSS_GROWTH    (16 << 20) /* bytes */
#define DEVICE_GROWTH 4.0        /* MB: the driver gives 2 MB at a time */
#define THREAD_GROWTH 4
#define HANDLE_GROWTH 1

static const struct {
  GstVideoFormat format;
  guint width, height;
} kinds[] = {
    {GST_VIDEO_FORMAT_I420, 96, 64},    {GST_VIDEO_FORMAT_I422_10LE, 130, 50},
    {GST_VIDEO_FORMAT_GRAY8, 33, 21},   {GST_VIDEO_FORMAT_RGB, 48, 80},
    {GST_VIDEO_FORMAT_GRAY16_LE, 1, 1}, {GST_VIDEO_FORMAT_UYVY, 64, 49},
};

static GstBuffer *pictures[G_N_ELEMENTS(kinds)];
static GstCaps *caps_of[G_N_ELEMENTS(kinds)];

static gint streams = 2, frames = 600, seconds = 0, seed = 1;
static gchar *backend = NULL;
static gboolean verbose = FALSE;
static gint64 part_end = G_MAXINT64; /* when this part ends, whatever it has done */

typedef struct {
  Rig rig;
  GThread *thread;
  guint kind;
  guint64 next;         /* number of the next frame */
  gint64 entered[RING]; /* atomic: when a frame was pushed, in microseconds */
  GMutex lock;          /* guards random and latencies, which probes of other threads use */
  GRand *random;
  GArray *latencies;     /* gint64, of this part */
  gint clean;            /* atomic: nothing is lost or damaged */
  gint arrived, flagged; /* atomic: pictures since the last reset, those flagged CORRUPTED */
  gint since_start;      /* atomic: pictures since the decoder was started */
  gint errors;           /* atomic: error messages */
  gint empty; /* atomic: of streams of which no picture could be decoded until they ended */
  guint64 total, lost, damaged, changes, flushes, restarts;
} Chain;

/* TRUE once in `of` times. */
static gboolean chance(Chain *stream, gint of)
{
  g_mutex_lock(&stream->lock);
  gboolean now = g_rand_int_range(stream->random, 0, of) == 0;
  g_mutex_unlock(&stream->lock);
  return now;
}

static guint below(Chain *stream, guint limit)
{
  g_mutex_lock(&stream->lock);
  guint number = (guint)g_rand_int_range(stream->random, 0, (gint32)limit);
  g_mutex_unlock(&stream->lock);
  return number;
}

/* ------------------------------------------------------------------- inside a stream --- */

static GstPadProbeReturn lose_packets(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Chain *stream = data;
  (void)pad;
  if (g_atomic_int_get(&stream->clean))
    return GST_PAD_PROBE_OK;
  GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
  info->data = list;
  for (guint i = gst_buffer_list_length(list); i-- > 0;) {
    if (chance(stream, 100)) {
      gst_buffer_list_remove(list, i, 1);
      stream->lost++;
    }
  }
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn damage(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Chain *stream = data;
  GstMapInfo map;
  (void)pad;
  if (g_atomic_int_get(&stream->clean) || !chance(stream, 40))
    return GST_PAD_PROBE_OK;
  GstBuffer *copy = gst_buffer_copy_deep(GST_PAD_PROBE_INFO_BUFFER(info));
  gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
  info->data = copy;
  g_assert_true(gst_buffer_map(copy, &map, GST_MAP_WRITE));
  for (guint i = 1 + below(stream, 3); i > 0 && map.size > 0; i--)
    map.data[below(stream, (guint)map.size)] ^= (guint8)(1 << below(stream, 8));
  gst_buffer_unmap(copy, &map);
  stream->damaged++;
  return GST_PAD_PROBE_OK;
}

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *picture)
{
  Chain *stream = g_object_get_data(G_OBJECT(pad), "stream");
  (void)parent;
  g_atomic_int_inc(&stream->arrived);
  g_atomic_int_inc(&stream->since_start);
  if (GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_CORRUPTED))
    g_atomic_int_inc(&stream->flagged);
  if (GST_BUFFER_PTS_IS_VALID(picture)) {
    guint64 number = GST_BUFFER_PTS(picture) / TIME;
    gint64 entered = __atomic_load_n(&stream->entered[number % RING], __ATOMIC_RELAXED);
    gint64 latency = g_get_monotonic_time() - entered;
    g_mutex_lock(&stream->lock);
    g_array_append_val(stream->latencies, latency);
    g_mutex_unlock(&stream->lock);
  }
  gst_buffer_unref(picture);
  return GST_FLOW_OK;
}

static gboolean swallow(GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void)pad, (void)parent;
  gst_event_unref(event);
  return TRUE;
}

/* GstVideoDecoder's error at the end of a stream of which everything was lost or damaged. */
static gboolean says_empty(Chain *stream, const GError *error)
{
  return g_error_matches(error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE) &&
         !g_atomic_int_get(&stream->clean) && !g_atomic_int_get(&stream->since_start);
}

/* Counts errors and drops every message, so that none is kept. */
static GstBusSyncReply on_message(GstBus *bus, GstMessage *message, gpointer data)
{
  Chain *stream = data;
  GError *error = NULL;
  gchar *details = NULL;
  (void)bus;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message, &error, &details);
    gboolean empty = says_empty(stream, error);
    if (!empty)
      g_printerr("soak: %s: %s (%s)\n", GST_MESSAGE_SRC_NAME(message), error->message, details);
    g_clear_error(&error);
    g_free(details);
    g_atomic_int_inc(empty ? &stream->empty : &stream->errors);
  }
  gst_message_unref(message);
  return GST_BUS_DROP;
}

static void add_probe(Chain *stream, const gchar *factory, GstPadProbeType type,
                      GstPadProbeCallback call)
{
  GstElement *element = rig_element(&stream->rig, factory);
  GstPad *pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, type, call, stream, NULL);
  gst_object_unref(pad);
  gst_object_unref(element);
}

/* The events with which a source begins a stream. */
static void push_segment(Chain *stream)
{
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(stream->rig.h, gst_event_new_segment(&segment));
}

static void begin(Chain *stream)
{
  gst_harness_push_event(stream->rig.h, gst_event_new_stream_start("soak"));
  gst_harness_push_event(stream->rig.h, gst_event_new_caps(caps_of[stream->kind]));
  push_segment(stream);
}

static void stream_open(Chain *stream, gboolean plain)
{
  static const gchar *const coders[] = {
      "block-coder=ht precincts=64x64 progression-order=rpcl plt=true",
      "block-coder=mq num-layers=3 sop=true",
      "block-coder=ht tile-width=64 tile-height=48 tile-parts=resolution",
      "block-coder=mq precincts=32x32 progression-order=pcrl",
  };
  gchar *description = g_strdup_printf(
      "cudaj2kenc backend=%s num-threads=2 frames-in-flight=%u rate-control=cbr max-frame-bytes=6000 "
      "%s ! rtpj2ksclpay mtu=300 ! rtpj2kscldepay deadline=10 ! "
      "cudaj2kdec backend=%s num-threads=2 frames-in-flight=%u max-memory=64 max-errors=-1",
      backend, plain ? 2 : 1 + below(stream, 3),
      coders[plain ? 0 : below(stream, G_N_ELEMENTS(coders))], backend,
      plain ? 2 : 1 + below(stream, 3));
  stream->rig = rig_new(description);
  g_free(description);
  gst_bus_set_sync_handler(stream->rig.bus, on_message, stream, NULL);
  g_object_set_data(G_OBJECT(stream->rig.h->sinkpad), "stream", stream);
  gst_pad_set_chain_function(stream->rig.h->sinkpad, chain);
  gst_pad_set_event_function(stream->rig.h->sinkpad, swallow);
  add_probe(stream, "rtpj2ksclpay", GST_PAD_PROBE_TYPE_BUFFER_LIST, lose_packets);
  add_probe(stream, "rtpj2kscldepay", GST_PAD_PROBE_TYPE_BUFFER, damage);
  g_atomic_int_set(&stream->since_start, 0);
  begin(stream);
}

static void stream_close(Chain *stream)
{
  gst_bus_set_sync_handler(stream->rig.bus, NULL, NULL, NULL);
  rig_free(&stream->rig);
}

/* --------------------------------------------------------------- what happens to it --- */

static void push_picture(Chain *stream)
{
  GstBuffer *buffer = gst_buffer_copy(pictures[stream->kind]);
  guint64 number = stream->next++;
  GST_BUFFER_PTS(buffer) = number * TIME;
  GST_BUFFER_DURATION(buffer) = TIME;
  __atomic_store_n(&stream->entered[number % RING], g_get_monotonic_time(), __ATOMIC_RELAXED);
  alarm(LIMIT_S);
  gst_harness_push(stream->rig.h, buffer);
  stream->total++;
}

static void flush(Chain *stream)
{
  gst_harness_push_event(stream->rig.h, gst_event_new_flush_start());
  gst_harness_push_event(stream->rig.h, gst_event_new_flush_stop(TRUE));
  push_segment(stream);
  stream->flushes++;
}

static void change_caps(Chain *stream, guint kind)
{
  stream->kind = kind;
  gst_harness_push_event(stream->rig.h, gst_event_new_caps(caps_of[kind]));
  stream->changes++;
}

static void change_rate(Chain *stream)
{
  GstElement *encoder = rig_element(&stream->rig, "cudaj2kenc");
  g_object_set(encoder, "max-frame-bytes", 1200 + 200 * below(stream, 40), NULL);
  gst_object_unref(encoder);
  stream->changes++;
}

static void restart(Chain *stream)
{
  static const GstState states[] = {GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL};
  GstState state = states[below(stream, G_N_ELEMENTS(states))];
  if (chance(stream, 2))
    gst_harness_push_event(stream->rig.h, gst_event_new_eos());
  gst_element_set_state(stream->rig.h->element, state);
  if (state != GST_STATE_PAUSED)
    g_atomic_int_set(&stream->since_start, 0);
  gst_element_set_state(stream->rig.h->element, GST_STATE_PLAYING);
  if (state == GST_STATE_PAUSED)
    flush(stream); /* only a flush ends EOS */
  else
    begin(stream);
  stream->restarts++;
}

static void remake(Chain *stream, gboolean plain)
{
  stream_close(stream);
  stream_open(stream, plain);
  stream->restarts++;
}

static void disturb(Chain *stream)
{
  if (chance(stream, 20))
    change_rate(stream);
  if (chance(stream, 60))
    change_caps(stream, below(stream, G_N_ELEMENTS(kinds)));
  if (chance(stream, 100))
    flush(stream);
  if (chance(stream, 200))
    restart(stream);
  if (chance(stream, 500))
    remake(stream, FALSE);
}

/* Leaves the stream as it was at the end of every other part; FALSE: pictures were missing. */
static gboolean settle(Chain *stream)
{
  g_atomic_int_set(&stream->clean, TRUE);
  remake(stream, TRUE);
  change_caps(stream, 0);
  g_atomic_int_set(&stream->arrived, 0);
  g_atomic_int_set(&stream->flagged, 0);
  for (guint i = 0; i < SETTLED; i++)
    push_picture(stream);
  gst_harness_push_event(stream->rig.h, gst_event_new_eos());
  gint arrived = g_atomic_int_get(&stream->arrived), flagged = g_atomic_int_get(&stream->flagged);
  if (arrived != SETTLED || flagged)
    g_printerr("soak: of %d pictures %d came, %d of them damaged\n", SETTLED, arrived, flagged);
  flush(stream);
  g_atomic_int_set(&stream->clean, FALSE);
  return arrived == SETTLED && flagged == 0;
}

static gpointer run_part(gpointer data)
{
  Chain *stream = data;
  g_array_set_size(stream->latencies, 0);
  for (gint i = 0; i < frames / streams / PHASES && g_get_monotonic_time() < part_end; i++) {
    disturb(stream);
    push_picture(stream);
  }
  return GINT_TO_POINTER(settle(stream));
}

/* ---------------------------------------------------------------------------- figures --- */

typedef struct {
  gint64 heap, rss; /* bytes */
  double device;    /* MB on the GPUs; below 0: unknown */
  gint handles, threads;
  double median, p99; /* milliseconds */
} Figures;

static gint entries(const gchar *folder)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  gint count = -1; /* the handle that reads the folder */
  g_assert_nonnull(dir);
  while (g_dir_read_name(dir))
    count++;
  g_dir_close(dir);
  return count;
}

static gint64 resident(void)
{
  gchar *text;
  g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
  gchar **fields = g_strsplit(text, " ", 3);
  gint64 pages = g_ascii_strtoll(fields[1], NULL, 10);
  g_strfreev(fields);
  g_free(text);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Bytes that were allocated and not freed; 0 where the C library does not know. */
static gint64 allocated(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
  malloc_trim(0);
  return (gint64)(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

/* Without CUDA or NVML. */
static double device_unknown(void)
{
  return -1;
}

static double (*device_memory)(void) = device_unknown;

/* Chooses how the memory on the GPUs is measured, the same way for the whole run. */
static void find_device_memory(void)
{
  bench_gpus_choose(-1);
  if (bench_gpus_own_memory() >= 0)
    device_memory = bench_gpus_own_memory;
  else if (bench_gpus_memory() >= 0)
    device_memory = bench_gpus_memory;
}

static gint by_size(gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return (x > y) - (x < y);
}

static Figures measure(Chain *all)
{
  GArray *sorted = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint i = 0; i < streams; i++)
    g_array_append_vals(sorted, all[i].latencies->data, all[i].latencies->len);
  g_array_sort(sorted, by_size);
  Figures figures = {.handles = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
  guint half = sorted->len / 2, most = sorted->len * 99 / 100;
  if (sorted->len > 0) {
    figures.median = (double)g_array_index(sorted, gint64, half) / 1000;
    figures.p99 = (double)g_array_index(sorted, gint64, most) / 1000;
  }
  g_array_unref(sorted);
  figures.heap = allocated();
  figures.rss = resident();
  figures.device = device_memory();
  return figures;
}

/* Nothing without CUDA. */
static void print_device(double device)
{
  if (g_strcmp0(backend, "cuda") != 0)
    return;
  if (device < 0)
    g_print(", memory on the GPU unknown (NVML does not tell)");
  else
    g_print(", %.1f MB on the GPU%s", device,
            device_memory == bench_gpus_own_memory ? "" : " of all processes");
}

static void print_figures(const gchar *when, const Figures *figures)
{
  g_print("%s %.1f MB in use, %.1f MB resident", when, (double)figures->heap / 1e6,
          (double)figures->rss / 1e6);
  print_device(figures->device);
  g_print(", %d handles, %d threads, latency %.2f/%.2f ms", figures->handles, figures->threads,
          figures->median, figures->p99);
}

static gboolean device_grew(const Figures *first, const Figures *last)
{
  gboolean unknown = last->device < 0; /* the driver does not tell any more */

  return first->device >= 0 && (unknown || last->device > first->device + streams * DEVICE_GROWTH);
}

/* With the address sanitizer freed memory stays resident for a while. */
static gboolean grew(const Figures *first, const Figures *last)
{
#ifdef __SANITIZE_ADDRESS__
  const gint64 resident_growth = G_MAXINT32;
#else
  const gint64 resident_growth = RSS_GROWTH;
#endif
  return last->heap > first->heap + (gint64)streams * HEAP_GROWTH ||
         last->rss > first->rss + (gint64)streams * resident_growth ||
         last->threads > first->threads + streams * THREAD_GROWTH ||
         last->handles > first->handles + streams * HANDLE_GROWTH || device_grew(first, last);
}

/* Threads of codecs that were closed may need a moment to end on a busy machine. */
static void wait_for_threads(gint most)
{
  for (guint i = 0; i < 200 && entries("/proc/self/task") > most; i++)
    g_usleep(50000);
}

/* Runs all streams for one part; FALSE: a stream did not settle. */
static gboolean run_all(Chain *all)
{
  gboolean ok = TRUE;
  for (gint i = 0; i < streams; i++)
    all[i].thread = g_thread_new("soak", run_part, &all[i]);
  for (gint i = 0; i < streams; i++)
    ok &= GPOINTER_TO_INT(g_thread_join(all[i].thread));
  return ok;
}

static gint soak(Chain *all)
{
  Figures first = {0}, last = {0};
  gint64 begin_time = g_get_monotonic_time();
  gboolean ok = TRUE;
  for (guint part = 0; part < PHASES; part++) {
    if (seconds)
      part_end = begin_time + (part + 1) * (seconds * G_USEC_PER_SEC / PHASES);
    ok &= run_all(all);
    if (part >= 2)
      wait_for_threads(first.threads + streams);
    last = measure(all);
    if (part < 2)
      first = last;
    if (verbose) {
      print_figures("part:", &last);
      g_print("\n");
      fflush(stdout); /* a run that is ended from outside has said how far it came */
    }
  }
  Chain sum = {0};
  for (gint i = 0; i < streams; i++) {
    sum.total += all[i].total, sum.lost += all[i].lost, sum.damaged += all[i].damaged;
    sum.changes += all[i].changes, sum.flushes += all[i].flushes, sum.restarts += all[i].restarts;
    sum.errors += all[i].errors;
    sum.empty += all[i].empty;
  }
  g_print("%d streams, %" G_GUINT64_FORMAT " frames in %.0f s, %" G_GUINT64_FORMAT
          " packets lost, %" G_GUINT64_FORMAT " codestreams damaged, %" G_GUINT64_FORMAT
          " changes, %" G_GUINT64_FORMAT " flushes, %" G_GUINT64_FORMAT
          " restarts, %d streams without a picture, %d errors; ",
          streams, sum.total, (double)(g_get_monotonic_time() - begin_time) / G_USEC_PER_SEC,
          sum.lost, sum.damaged, sum.changes, sum.flushes, sum.restarts, sum.empty, sum.errors);
  print_figures("at the start", &first);
  print_figures("; at the end", &last);
  ok &= !grew(&first, &last) && sum.errors == 0;
  g_print("; %s\n", ok ? "ok" : "FAILED");
  return ok ? 0 : 1;
}

static void read_options(int *argc, char ***argv)
{
  const GOptionEntry entries_known[] = {
      {"streams", 0, 0, G_OPTION_ARG_INT, &streams, "Streams at the same time (2)", "N"},
      {"frames", 0, 0, G_OPTION_ARG_INT, &frames, "Frames of all streams in all (600)", "N"},
      {"seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "End after this time, with fewer frames", "N"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &backend, "cpu (default) or cuda", "NAME"},
      {"seed", 0, 0, G_OPTION_ARG_INT, &seed, "Other events (1)", "N"},
      {"verbose", 0, 0, G_OPTION_ARG_NONE, &verbose, "Figures after each part", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  GError *error = NULL;
  GOptionContext *context = g_option_context_new("- streams that run for long");
  g_option_context_add_main_entries(context, entries_known, NULL);
  if (!g_option_context_parse(context, argc, argv, &error) || streams < 1 ||
      streams > MAX_STREAMS) {
    g_printerr("soak: %s\n", error ? error->message : "1 to 256 streams");
    exit(2);
  }
  g_option_context_free(context);
  backend = backend ? backend : g_strdup("cpu");
}

/* Large blocks are given back as soon as they are freed. Else each of the allocator's arenas keeps
 * as much as the largest damaged picture has ever needed there, and the resident memory would say
 * nothing about leaks. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
}

int main(int argc, char **argv)
{
  give_memory_back();
  /* Else a kernel that is first launched late would look like growth. */
  g_setenv("CUDA_MODULE_LOADING", "EAGER", FALSE);
  gst_init(&argc, &argv);
  read_options(&argc, &argv);
  if (g_strcmp0(backend, "cuda") == 0)
    find_device_memory();
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    GstVideoInfo info = video(kinds[i].format, kinds[i].width, kinds[i].height);
    pictures[i] = pixels_buffer(&info, i);
    caps_of[i] = gst_video_info_to_caps(&info);
  }
  Chain *all = g_new0(Chain, streams);
  for (gint i = 0; i < streams; i++) {
    g_mutex_init(&all[i].lock);
    all[i].random = g_rand_new_with_seed((guint32)(seed * MAX_STREAMS + i));
    all[i].latencies = g_array_sized_new(FALSE, FALSE, sizeof(gint64),
                                         (guint)(frames / streams / PHASES) + SETTLED);
    stream_open(&all[i], TRUE);
  }
  gint status = soak(all);
  for (gint i = 0; i < streams; i++) {
    stream_close(&all[i]);
    g_rand_free(all[i].random);
    g_array_unref(all[i].latencies);
    g_mutex_clear(&all[i].lock);
  }
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    gst_buffer_unref(pictures[i]);
    gst_caps_unref(caps_of[i]);
  }
  g_free(all);
  g_free(backend);
  return status;
}
