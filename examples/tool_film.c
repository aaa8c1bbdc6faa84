/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads: tool_film_run()'s own plans and submits, a pool reads, one receives, a pool writes.
 * At most `most` frames exist at a time.
 */
#include "tool_film.h"

#include "image.h"
#include "tool_files.h"
#include "tool_progress.h"

#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>

/* A frame that is submitted. */
typedef struct {
  uint32_t number;
  bool wanted;
} Step;

typedef struct {
  ToolFrame frame;
  bool is_read; /* `result` and `why` are those of reading */
  ToolResult result;
  char why[TOOL_WHY];
} Job;

typedef struct {
  const ToolFilmJob *job;
  ToolPattern in, out;
  ToolFrames frames;
  bool nowhere; /* nothing is written */
  GArray *steps;
  guint next; /* the next step to read */
  GThreadPool *readers, *writers;
  GAsyncQueue *submitted; /* Job; the film itself ends the thread */
  guint most;

  GMutex lock; /* for all below */
  GCond changed;
  guint alive;        /* jobs */
  guint coded;        /* of these, submitted and not yet freed */
  ToolResult stopped; /* TOOL_DONE: it goes on */
  ToolProgress progress;
} Film;

/* --------------------------------------------------------------------------------- plan --- */

static uint32_t place_of(const Film *film, uint32_t number)
{
  const uint32_t *first = film->job->first_place;

  return first ? *first + (number - film->frames.first) : number;
}

/* The frames that learn from each other have the same group. */
static uint32_t group_of(const Film *film, uint32_t number)
{
  uint32_t period = film->job->period;

  return film->job->learns ? (period ? place_of(film, number) / period : 0) : number;
}

/* Plans all frames without output and, where frames learn, all before them in their group. */
static void make_plan(Film *film)
{
  guint wanted = 0; /* length of the plan up to the last wanted step */
  uint64_t group = G_MAXUINT64;

  film->steps = g_array_new(FALSE, FALSE, sizeof(Step));
  for (uint64_t number = film->frames.first; number <= film->frames.last; number++) {
    char *out = film->nowhere ? NULL : tool_pattern_name(&film->out, (uint32_t)number);
    Step step = {(uint32_t)number, !out || film->job->options->overwrite ||
                                       !film->job->work->is_there(film->job->ctx, out)};
    uint64_t own = group_of(film, step.number);
    if (own != group)
      g_array_set_size(film->steps, wanted);
    group = own;
    g_array_append_val(film->steps, step);
    film->progress.frames++;
    film->progress.there += !step.wanted;
    if (step.wanted)
      wanted = film->steps->len;
    g_free(out);
  }
  g_array_set_size(film->steps, wanted);
  film->progress.again = film->steps->len - (film->progress.frames - film->progress.there);
}

/* -------------------------------------------------------------------------------- parts --- */

static void free_job(Film *film, Job *job, bool was_coded)
{
  film->job->work->clear(film->job->ctx, &job->frame);
  g_free(job->frame.in);
  g_free(job->frame.out);
  g_free(job);
  g_mutex_lock(&film->lock);
  film->alive--;
  film->coded -= was_coded;
  g_cond_broadcast(&film->changed);
  g_mutex_unlock(&film->lock);
}

/* Reports a failure, and that nothing more can be done. */
static void fail(Film *film, const Job *job, ToolResult result, const char *why)
{
  g_mutex_lock(&film->lock);
  tool_progress_fail(&film->progress, job->frame.number, film->stopped ? NULL : why);
  if (result != TOOL_FRAME_FAILED && !film->stopped)
    film->stopped = result;
  g_cond_broadcast(&film->changed);
  g_mutex_unlock(&film->lock);
}

static void leave_out(Film *film, const Job *job)
{
  g_mutex_lock(&film->lock);
  if (job->frame.wanted)
    tool_progress_leave_out(&film->progress, job->frame.number);
  g_mutex_unlock(&film->lock);
}

static bool is_stopped(Film *film)
{
  g_mutex_lock(&film->lock);
  bool stopped = film->stopped != TOOL_DONE;
  g_mutex_unlock(&film->lock);
  return stopped;
}

static void read_job(gpointer data, gpointer user)
{
  Job *job = data;
  Film *film = user;
  ToolResult result = film->job->work->read(film->job->ctx, &job->frame, job->why);

  g_mutex_lock(&film->lock);
  job->result = result;
  job->is_read = true;
  g_cond_broadcast(&film->changed);
  g_mutex_unlock(&film->lock);
}

static void write_job(gpointer data, gpointer user)
{
  Job *job = data;
  Film *film = user;
  char why[TOOL_WHY];
  ToolResult result = TOOL_DONE;
  bool dropped = is_stopped(film);

  if (!dropped && !film->nowhere)
    result = film->job->work->write(film->job->ctx, &job->frame, why);
  if (result != TOOL_DONE) {
    fail(film, job, result, why);
  } else if (!dropped) {
    g_mutex_lock(&film->lock);
    tool_progress_done(&film->progress);
    g_mutex_unlock(&film->lock);
  }
  free_job(film, job, true);
}

static gpointer receive_all(gpointer data)
{
  Film *film = data;
  char why[TOOL_WHY];

  for (Job *job; (gpointer)(job = g_async_queue_pop(film->submitted)) != film;) {
    ToolResult result = film->job->work->receive(film->job->ctx, &job->frame, why);
    if (result != TOOL_DONE)
      fail(film, job, result, why);
    if (result == TOOL_DONE && job->frame.wanted)
      g_thread_pool_push(film->writers, job, NULL);
    else
      free_job(film, job, true);
  }
  return NULL;
}

/* --------------------------------------------------------------------------------- feed --- */

/* Starts reading further frames while there is room; `ahead` gets them in order. */
static void read_ahead(Film *film, GQueue *ahead)
{
  g_mutex_lock(&film->lock);
  while (film->next < film->steps->len && film->alive < film->most && !film->stopped) {
    const Step *step = &g_array_index(film->steps, Step, film->next++);
    Job *job = g_new0(Job, 1);
    job->frame =
        (ToolFrame){.number = step->number,
                    .place = place_of(film, step->number),
                    .in = tool_pattern_name(&film->in, step->number),
                    .out = film->nowhere ? NULL : tool_pattern_name(&film->out, step->number),
                    .wanted = step->wanted};
    film->alive++;
    g_queue_push_tail(ahead, job);
    g_thread_pool_push(film->readers, job, NULL);
  }
  g_mutex_unlock(&film->lock);
}

/* The next frame, when it is read; NULL: there is none. */
static Job *next_job(Film *film, GQueue *ahead)
{
  for (;;) {
    read_ahead(film, ahead);
    Job *job = g_queue_pop_head(ahead);
    g_mutex_lock(&film->lock);
    while (job && !job->is_read)
      g_cond_wait(&film->changed, &film->lock);
    bool end = job || film->stopped || film->next == film->steps->len;
    while (!end && film->alive == film->most && !film->stopped)
      g_cond_wait(&film->changed, &film->lock);
    g_mutex_unlock(&film->lock);
    if (end)
      return job;
  }
}

/* Waits until nothing is being coded. */
static void drain(Film *film)
{
  g_mutex_lock(&film->lock);
  while (film->coded)
    g_cond_wait(&film->changed, &film->lock);
  g_mutex_unlock(&film->lock);
}

static bool submit(Film *film, Job *job, bool anew)
{
  char why[TOOL_WHY];

  if (anew)
    drain(film);
  g_mutex_lock(&film->lock);
  film->coded++;
  g_mutex_unlock(&film->lock);
  ToolResult result = film->job->work->submit(film->job->ctx, &job->frame, anew, why);
  if (result == TOOL_DONE) {
    g_async_queue_push(film->submitted, job);
    return true;
  }
  fail(film, job, result, why);
  free_job(film, job, true);
  return false;
}

/* Reads and submits all frames. Where frames learn, a frame that cannot be read or submitted costs
 * the rest of its group. */
static void feed(Film *film)
{
  GQueue ahead = G_QUEUE_INIT;
  uint64_t failed_group = G_MAXUINT64, expected = G_MAXUINT64;

  for (Job *job; (job = next_job(film, &ahead));) {
    uint32_t number = job->frame.number, group = group_of(film, number);
    bool anew = expected == G_MAXUINT64 || (film->job->learns && number != expected);
    bool stopped = is_stopped(film), left_out = group == failed_group, submitted = false;
    if (left_out && !stopped)
      leave_out(film, job);
    else if (job->result != TOOL_DONE && !stopped)
      fail(film, job, job->result, job->why);
    if (left_out || stopped || job->result != TOOL_DONE)
      free_job(film, job, false);
    else if ((submitted = submit(film, job, anew)))
      expected = (uint64_t)number + 1;
    if (!submitted && film->job->learns)
      failed_group = group;
  }
}

/* ---------------------------------------------------------------------------------- all --- */

/* Keeps memory that was freed for the next frame. The C library would give blocks of a picture's
 * size back to the system each time, and clearing their pages anew costs as much as reading. */
static void keep_memory(void)
{
#ifdef __GLIBC__
  if (!mallopt(M_MMAP_THRESHOLD, 1 << 30))
    mallopt(M_MMAP_THRESHOLD, 1 << 25); /* the most that older versions take */
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

static ToolResult run(Film *film)
{
  guint cores = g_get_num_processors();
  guint readers = CLAMP(cores / 2, 2, 8), writers = CLAMP(cores / 2, 4, 16);

  film->most = readers + 2 * film->job->in_flight + writers;
  film->readers = g_thread_pool_new(read_job, film, (gint)readers, FALSE, NULL);
  film->writers = g_thread_pool_new(write_job, film, (gint)writers, FALSE, NULL);
  film->submitted = g_async_queue_new();
  GThread *receiver = g_thread_new("receive", receive_all, film);
  keep_memory();
  tool_progress_start(&film->progress);
  feed(film);
  g_async_queue_push(film->submitted, film);
  g_thread_join(receiver);
  g_thread_pool_free(film->readers, FALSE, TRUE);
  g_thread_pool_free(film->writers, FALSE, TRUE);
  g_async_queue_unref(film->submitted);
  bool failed = film->stopped == TOOL_WRONG ||
                tool_progress_end(&film->progress, film->stopped == TOOL_STOPPED);
  return film->stopped ? film->stopped : failed ? TOOL_FRAME_FAILED : TOOL_DONE;
}

/* Makes the output folder and removes what killed processes left there; after the run, flushes it.
 */
static ToolResult run_in_folder(Film *film)
{
  char *name = tool_pattern_name(&film->out, film->frames.first),
       *folder = g_path_get_dirname(name);
  char why[IMAGE_WHY];
  ToolResult result = TOOL_STOPPED;

  if (g_mkdir_with_parents(folder, 0777) != 0) {
    image_fail_errno(why, folder);
    fprintf(stderr, "%s: %s\n", film->job->tool, why);
  } else {
    image_output_clean(folder);
    image_output_set_durable(true);
    result = run(film);
    if (!image_output_sync_folder(folder, why)) {
      fprintf(stderr, "%s: %s\n", film->job->tool, why);
      result = TOOL_STOPPED;
    }
  }
  g_free(folder);
  g_free(name);
  return result;
}

/* The pattern of outputs: `out` itself, or the inputs' names in the folder `out`. */
static bool parse_out(Film *film, GError **error)
{
  const ToolFilmJob *job = film->job;

  if (!tool_is_folder(job->out))
    return tool_pattern_parse(&film->out, job->out, error);
  char *pattern = tool_pattern_in_folder(job->in, job->out, job->ending);
  bool ok = tool_pattern_parse(&film->out, pattern, error);
  g_free(pattern);
  return ok;
}

/* Reads the names and numbers; false with *error set: they are wrong. */
static bool begin(Film *film, GError **error)
{
  const ToolFilmJob *job = film->job;
  char *same = NULL;

  film->nowhere = !strcmp(job->out, TOOL_NOWHERE);
  if (!tool_pattern_parse(&film->in, job->in, error) ||
      (!film->nowhere && !parse_out(film, error)) ||
      !tool_sequence_frames(job->options, &film->in, &film->frames, error))
    return false;
  for (uint64_t n = film->frames.first; !film->nowhere && !same && n <= film->frames.last; n++) {
    char *in = tool_pattern_name(&film->in, (uint32_t)n);
    char *out = tool_pattern_name(&film->out, (uint32_t)n);
    if (tool_is_same_file(in, out))
      same = g_steal_pointer(&in);
    g_free(in);
    g_free(out);
  }
  if (same)
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, TOOL_SAME_FILE, same);
  g_free(same);
  return !same;
}

static void clear_names(Film *film)
{
  tool_pattern_clear(&film->in);
  tool_pattern_clear(&film->out);
}

bool tool_film_check(const ToolFilmJob *job, GError **error)
{
  Film film = {.job = job};
  bool ok = begin(&film, error);

  clear_names(&film);
  return ok;
}

bool tool_film_names(char **names, const char *output, ToolFile *film)
{
  guint count = names ? g_strv_length(names) : 0;

  if (count + (output ? 1 : 0) != 2 || !tool_pattern_is(names[0]))
    return false;
  *film = (ToolFile){names[0], output ? (char *)output : names[1]};
  return true;
}

bool tool_film_run(const ToolFilmJob *job, ToolResult *result, GError **error)
{
  Film film = {.job = job};
  bool ok = begin(&film, error);

  if (ok) {
    g_mutex_init(&film.lock);
    g_cond_init(&film.changed);
    tool_progress_init(&film.progress, job->tool, job->options->progress);
    make_plan(&film);
    *result = film.nowhere ? run(&film) : run_in_folder(&film);
    g_array_unref(film.steps);
    tool_progress_clear(&film.progress);
    g_mutex_clear(&film.lock);
    g_cond_clear(&film.changed);
  }
  clear_names(&film);
  return ok;
}
