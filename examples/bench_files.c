/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures files, each by itself or all as parts of one frame. */
#include "bench.h"
#include "common/options/stats.h"

/* A run with several parts; one of its frames is one frame of each part. */
typedef struct {
  BenchRun run;
  BenchRun **parts;
  guint count;
} Group;

static Cj2kStatus submit(BenchRun *run, uint32_t index, Cj2kError *error)
{
  const Group *group = (const Group *)run;
  Cj2kStatus status = CJ2K_OK;
  for (guint i = 0; i < group->count && status == CJ2K_OK; i++)
    status = group->parts[i]->submit(group->parts[i], index, error);
  return status;
}

static Cj2kStatus receive(BenchRun *run, Cj2kError *error)
{
  const Group *group = (const Group *)run;
  Cj2kStatus status = CJ2K_OK;
  for (guint i = 0; i < group->count && status == CJ2K_OK; i++)
    status = group->parts[i]->receive(group->parts[i], error);
  return status;
}

/* Sums over all parts; the number of frames is that of one part. */
static void get_stats(BenchRun *run, Cj2kStats *stats)
{
  const Group *group = (const Group *)run;
  group->parts[0]->get_stats(group->parts[0], stats);
  uint64_t frames = stats->frames;
  for (guint i = 1; i < group->count; i++) {
    Cj2kStats part;
    group->parts[i]->get_stats(group->parts[i], &part);
    cj2k_stats_add(stats, &part);
  }
  stats->frames = frames;
}

static int measure_group(const BenchOptions *options, BenchRun **parts, guint count)
{
  Group group = {.run = *parts[0], .parts = parts, .count = count};
  char *names = g_strdup(parts[0]->file);
  for (guint i = 1; i < count; i++) {
    char *longer = g_strconcat(names, " ", parts[i]->file, NULL);
    g_free(names);
    names = longer;
    group.run.pixels = MAX(group.run.pixels, parts[i]->pixels);
  }
  group.run.file = names;
  group.run.submit = submit;
  group.run.receive = receive;
  group.run.get_stats = get_stats;
  int result = bench_measure(&group.run, options);
  g_free(names);
  return result;
}

/* Measures `count` files at once. */
static int measure(const BenchOptions *options, const BenchOpener *opener, char **paths,
                   guint count)
{
  BenchTimeline timeline;
  BenchRun **runs = g_new(BenchRun *, count);
  guint opened = 0;
  int result = BENCH_OK;
  bench_timeline_init(&timeline, options);
  while (opened < count && result == BENCH_OK) {
    int status = BENCH_FAILED;
    runs[opened] = opener->open(opener->options, paths[opened], &timeline, &status);
    if (runs[opened])
      opened++;
    else
      result = status;
  }
  if (result == BENCH_OK)
    result = count > 1 ? measure_group(options, runs, count) : bench_measure(runs[0], options);
  for (guint i = 0; i < opened; i++)
    opener->close(runs[i]);
  bench_timeline_clear(&timeline);
  g_free(runs);
  return result;
}

int bench_files(const BenchOptions *options, const BenchOpener *opener, char **paths, int count)
{
  int result = BENCH_OK;
  if (options->together)
    return measure(options, opener, paths, (guint)count);
  for (int i = 0; i < count && result == BENCH_OK; i++)
    result = measure(options, opener, paths + i, 1);
  return result;
}
