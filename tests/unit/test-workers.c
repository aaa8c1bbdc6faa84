/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads that all codecs of a process share: shares come and go while others work, jobs that
 * wait hold up nobody, jobs of a share start in order, there are no more threads than are needed,
 * and they end.
 */
#include "cj2k.h"
#include "common/runtime/threads.h"

#include <glib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARES  8
#define THREADS 3
#define INDICES 500
#define LIMIT_S 60 /* what takes longer is held up for ever */

static guint num_threads(void)
{
  GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
  guint count = 0;

  while (tasks && g_dir_read_name(tasks))
    count++;
  g_clear_pointer(&tasks, g_dir_close);
  return count;
}

static guint at_first; /* threads before any share */

/* Waits until so few are left; a thread that was joined may be listed for a moment. */
static void wait_for_threads(guint most)
{
  gint64 until = g_get_monotonic_time() + LIMIT_S * G_USEC_PER_SEC;

  while (num_threads() > most && g_get_monotonic_time() < until)
    g_usleep(5000);
  g_assert_cmpuint(num_threads(), <=, most);
}

/* The number of threads without any of the library's. */
static guint settle(void)
{
  wait_for_threads(at_first);
  return at_first;
}

static void wait_for_zero(gint *left)
{
  while (g_atomic_int_get(left))
    g_usleep(200);
}

static void wait_for(gint *count, gint wanted)
{
  while (g_atomic_int_get(count) < wanted)
    g_usleep(200);
}

/* --- jobs --- */

/* A share, and what its jobs do. */
typedef struct {
  Cj2kThreads *threads;
  gint left;    /* atomic, as are all that follow: jobs that have not ended */
  gint inside;  /* jobs that wait at the gate */
  gint *open;   /* the gate */
  gint errors;  /* calls of a loop on a lane that is out of range, or was in use */
  gint started; /* jobs of this share */
} Share;

typedef struct {
  Share *share;
  gint busy[256]; /* lanes */
  gint runs[INDICES];
} Loop;

static void run_index(void *ctx, uint32_t index, uint32_t lane)
{
  Loop *loop = ctx;

  if (lane >= cj2k_threads_count(loop->share->threads) || g_atomic_int_add(&loop->busy[lane], 1)) {
    g_atomic_int_inc(&loop->share->errors);
    return;
  }
  g_atomic_int_inc(&loop->runs[index]);
  if (index % 50 == 0)
    g_usleep(20);
  g_atomic_int_add(&loop->busy[lane], -1);
}

static void run_loop(Share *share)
{
  Loop *loop = g_new0(Loop, 1);

  loop->share = share;
  cj2k_parallel_for(share->threads, INDICES, run_index, loop);
  for (guint i = 0; i < INDICES; i++)
    g_assert_cmpint(loop->runs[i], ==, 1);
  g_free(loop);
}

static void run_job(void *ctx)
{
  Share *share = ctx;

  for (guint i = 0; i < 5; i++)
    run_loop(share);
  g_atomic_int_add(&share->left, -1);
}

static void wait_at_gate(void *ctx)
{
  Share *share = ctx;

  g_atomic_int_inc(&share->inside);
  while (!g_atomic_int_get(share->open))
    g_usleep(500);
  g_atomic_int_add(&share->left, -1);
}

static void share_open(Share *share, uint32_t threads, gint *gate)
{
  *share = (Share){.threads = cj2k_threads_new(threads), .open = gate};
  g_assert_nonnull(share->threads);
}

static void share_start(Share *share, guint jobs, void (*fn)(void *ctx))
{
  g_atomic_int_add(&share->left, (gint)jobs);
  for (guint i = 0; i < jobs; i++)
    cj2k_threads_start(share->threads, fn, share);
}

static void share_close(Share *share)
{
  cj2k_threads_free(share->threads);
  g_assert_cmpint(share->left, ==, 0);
  g_assert_cmpint(share->errors, ==, 0);
}

/* --- tests --- */

/* Shares of all sizes, one after the other. Some are closed with jobs that have not begun. */
static gpointer come_and_go(gpointer data)
{
  guint number = GPOINTER_TO_UINT(data);

  for (guint round = 0; round < 60; round++) {
    Share share;
    gint open = 1;
    share_open(&share, 1 + (number + round) % 5, &open);
    if (round % 3)
      share_start(&share, round % 4, run_job);
    if (round % 4 == 1)
      cj2k_threads_wake(share.threads, 2);
    if (round % 5)
      run_loop(&share);
    wait_for_zero(&share.left); /* loops are begun by jobs */
    if (round % 7 == 0)
      share_start(&share, 6, wait_at_gate);
    share_close(&share);
  }
  return NULL;
}

static void test_come_and_go(void)
{
  guint before = settle();
  GThread *visitors[5];
  Share share;

  for (guint i = 0; i < G_N_ELEMENTS(visitors); i++)
    visitors[i] = g_thread_new("visitor", come_and_go, GUINT_TO_POINTER(i));
  for (guint round = 0; round < 20; round++) {
    share_open(&share, THREADS, NULL);
    share_start(&share, 10, run_job);
    wait_for_zero(&share.left);
    share_close(&share);
  }
  for (guint i = 0; i < G_N_ELEMENTS(visitors); i++)
    g_thread_join(visitors[i]);
  wait_for_threads(before);
}

/* Shares whose jobs all wait, more than there are cores, and one that works meanwhile. */
static void test_waiting_jobs(void)
{
  gint gate = 0;
  Share waiting[SHARES], share;

  alarm(LIMIT_S);
  for (guint i = 0; i < SHARES; i++) {
    share_open(&waiting[i], THREADS, &gate);
    share_start(&waiting[i], 3 * THREADS, wait_at_gate);
  }
  share_open(&share, THREADS, NULL);
  for (guint round = 0; round < 20; round++) {
    share_start(&share, 2 * THREADS, run_job);
    run_loop(&share);
    wait_for_zero(&share.left);
  }
  for (guint i = 0; i < SHARES; i++) { /* all of each share, and no more */
    wait_for(&waiting[i].inside, THREADS);
    g_assert_cmpint(waiting[i].inside, ==, THREADS);
  }
  share_close(&share);
  g_atomic_int_set(&gate, 1);
  for (guint i = 0; i < SHARES; i++)
    share_close(&waiting[i]);
  alarm(0);
}

/* Threads come when jobs wait, and end when these are over: as many as cores stay, and none when
 * the last share has gone. Shares without work need no thread beside the first one. */
static void test_number(void)
{
  guint before = settle(), cores = g_get_num_processors();
  gint gate = 0;
  Share shares[SHARES];

  for (guint i = 0; i < SHARES; i++)
    share_open(&shares[i], THREADS, &gate);
  g_assert_cmpuint(num_threads(), ==, before + 1);
  for (guint i = 0; i < SHARES; i++)
    share_start(&shares[i], 2 * THREADS, wait_at_gate);
  for (guint i = 0; i < SHARES; i++)
    wait_for(&shares[i].inside, THREADS);
  g_assert_cmpuint(num_threads(), ==, before + SHARES * THREADS);
  g_atomic_int_set(&gate, 1);
  for (guint i = 0; i < SHARES; i++)
    wait_for_zero(&shares[i].left);
  gint64 end = g_get_monotonic_time();
  wait_for_threads(before + MAX(cores, 1));
  g_test_message("threads ended after %" G_GINT64_FORMAT " ms",
                 (g_get_monotonic_time() - end) / 1000);
  for (guint i = 0; i < SHARES; i++) /* what is left of them works */
    share_start(&shares[i], 4, run_job);
  for (guint i = 0; i < SHARES; i++)
    share_close(&shares[i]);
  wait_for_threads(before);
}

static gpointer run_loops(gpointer share)
{
  for (guint round = 0; round < 40; round++)
    run_loop(share);
  return NULL;
}

/* Loops of many shares at once have no more helpers than cores, or threads of a share. */
static void test_helpers(void)
{
  guint before = settle(), most = MAX(g_get_num_processors(), THREADS), found = 0;
  GThread *callers[SHARES];
  Share shares[SHARES];

  for (guint i = 0; i < SHARES; i++)
    share_open(&shares[i], THREADS, NULL);
  for (guint i = 0; i < SHARES; i++)
    callers[i] = g_thread_new("caller", run_loops, &shares[i]);
  for (guint i = 0; i < 50; i++) {
    found = MAX(found, num_threads());
    g_usleep(500);
  }
  for (guint i = 0; i < SHARES; i++)
    g_thread_join(callers[i]);
  g_assert_cmpuint(found, <=, before + SHARES + most);
  for (guint i = 0; i < SHARES; i++)
    share_close(&shares[i]);
}

/* --- order --- */

typedef struct {
  Share *share;
  gint number;
} Numbered;

static void run_numbered(void *ctx)
{
  Numbered *job = ctx;

  if (g_atomic_int_add(&job->share->started, 1) != job->number)
    g_atomic_int_inc(&job->share->errors);
  g_usleep(job->number % 7 * 10);
}

/* Jobs of a share with one thread run in the order in which they were started, whatever other
 * shares do. */
static void test_order(void)
{
  static Numbered jobs[SHARES][100];
  Share shares[SHARES];

  for (guint i = 0; i < SHARES; i++)
    share_open(&shares[i], 1, NULL);
  for (guint j = 0; j < 100; j++)
    for (guint i = 0; i < SHARES; i++) {
      jobs[i][j] = (Numbered){&shares[i], (gint)j};
      cj2k_threads_start(shares[i].threads, run_numbered, &jobs[i][j]);
    }
  for (guint i = 0; i < SHARES; i++) {
    share_close(&shares[i]);
    g_assert_cmpint(shares[i].started, ==, 100);
  }
}

/* A process that was forked has none of its parent's threads; codecs that it opens work. */
static void test_fork(void)
{
#if defined __SANITIZE_THREAD__
  g_test_skip("ThreadSanitizer refuses threads of a process that was forked from one with threads");
#else
  Share parent, child;
  int status = -1;

  share_open(&parent, THREADS, NULL);
  share_start(&parent, 5, run_job);
  wait_for_zero(&parent.left);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(LIMIT_S);
    share_open(&child, THREADS, NULL);
    share_start(&child, 5, run_job);
    run_loop(&child);
    share_close(&child);
    _exit(0);
  }
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  g_assert_cmpint(status, ==, 0);
  run_loop(&parent);
  share_close(&parent);
#endif
}

/* --- codecs --- */

static Cj2kEncoder *open_encoder(void)
{
  static const Cj2kComponent component = {.dx = 1, .dy = 1, .depth = 8};
  static const Cj2kEncoderImage image = {
      .width = 64, .height = 64, .num_components = 1, .components = &component};
  static const Cj2kSampleLayout sample = {
      .unit_bytes = 1, .unit_samples = 1, .word_bytes = 1, .depth = 8};
  static const Cj2kLayout layout = {.num_components = 1, .num_planes = 1, .samples = &sample};
  Cj2kEncoderParams params;

  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  params.frames_in_flight = 1;
  params.codeblock_width = params.codeblock_height = 8;
  return cj2k_encoder_open(&params, &image, &layout, NULL);
}

static void encode(Cj2kEncoder *encoder)
{
  static uint8_t samples[64 * 64];
  Cj2kPlane plane = {.data = samples, .pitch = 64};
  Cj2kPicture picture = {.num_planes = 1, .planes = &plane};
  Cj2kPacket packet;

  g_assert_cmpint(cj2k_encoder_submit(encoder, &picture, NULL, NULL), ==, CJ2K_OK);
  g_assert_cmpint(cj2k_encoder_receive(encoder, &packet), ==, CJ2K_OK);
  g_assert_cmpint(packet.status, ==, CJ2K_OK);
  cj2k_encoder_release(encoder, &packet);
}

/* Codecs that work in turn need the threads of one; a few may still be leaving the one before. */
static void test_codecs(void)
{
  guint before = settle(), cores = g_get_num_processors(), found = 0;
  Cj2kEncoder *encoders[16];

  for (guint i = 0; i < G_N_ELEMENTS(encoders); i++)
    encoders[i] = open_encoder();
  for (guint i = 0; i < G_N_ELEMENTS(encoders); i++) {
    encode(encoders[i]);
    found = MAX(found, num_threads());
  }
  g_test_message("%u threads for %u codecs on %u cores", found - before,
                 (guint)G_N_ELEMENTS(encoders), cores);
  g_assert_cmpuint(found, <=, before + cores + 4);
  for (guint i = 0; i < G_N_ELEMENTS(encoders); i++)
    cj2k_encoder_close(encoders[i]);
  wait_for_threads(before);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  cj2k_threads_free(cj2k_threads_new(1)); /* sanitizers have a thread of their own from then on */
  g_usleep(100000);
  at_first = num_threads();
  g_test_add_func("/workers/come-and-go", test_come_and_go);
  g_test_add_func("/workers/waiting-jobs", test_waiting_jobs);
  g_test_add_func("/workers/number", test_number);
  g_test_add_func("/workers/helpers", test_helpers);
  g_test_add_func("/workers/order", test_order);
  g_test_add_func("/workers/fork", test_fork);
  g_test_add_func("/workers/codecs", test_codecs);
  return g_test_run();
}
