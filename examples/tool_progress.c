/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_progress.h"

#include <stdio.h>
#include <unistd.h>

#define MAX_MESSAGES 20 /* of failures; the summary has the numbers of all */

void tool_progress_init(ToolProgress *progress, const char *tool, bool lines)
{
  bool terminal = isatty(STDERR_FILENO);

  *progress = (ToolProgress){.tool = tool,
                             .terminal = terminal,
                             .lines = lines && !terminal,
                             .failed = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                             .left_out = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
}

void tool_progress_clear(ToolProgress *progress)
{
  g_array_unref(progress->failed);
  g_array_unref(progress->left_out);
}

static void clear_line(const ToolProgress *progress)
{
  if (progress->terminal && progress->shown)
    fputs("\r\033[K", stderr);
}

void tool_progress_start(ToolProgress *progress)
{
  progress->start = g_get_monotonic_time();
  if (progress->there)
    fprintf(stderr, "%s: %u of %u frames are there already%s\n", progress->tool, progress->there,
            progress->frames,
            progress->again ? "; some are coded again, because later ones learn from them" : "");
}

static void show(ToolProgress *progress)
{
  double seconds = (double)(g_get_monotonic_time() - progress->start) / G_TIME_SPAN_SECOND;
  double rate = seconds > 0 ? progress->done / seconds : 0;
  guint gone = progress->failed->len + progress->left_out->len;
  uint32_t left = progress->frames - progress->there - progress->done - MIN(gone, progress->frames);
  unsigned wait = rate > 0 ? (unsigned)(left / rate + 0.5) : 0;

  clear_line(progress);
  fprintf(stderr, "%s: %u of %u frames, %.1f frames/s, %u:%02u:%02u left%s", progress->tool,
          progress->there + progress->done, progress->frames, rate, wait / 3600, wait / 60 % 60,
          wait % 60, progress->terminal ? "" : "\n");
  progress->shown = g_get_monotonic_time();
}

void tool_progress_done(ToolProgress *progress)
{
  gint64 pause = progress->terminal ? G_TIME_SPAN_SECOND / 5 : G_TIME_SPAN_SECOND;
  gint64 last = progress->shown ? progress->shown : progress->start;

  progress->done++;
  if ((progress->terminal || progress->lines) && g_get_monotonic_time() - last >= pause)
    show(progress);
}

void tool_progress_fail(ToolProgress *progress, uint32_t number, const char *why)
{
  g_array_append_val(progress->failed, number);
  if (!why || progress->failed->len > MAX_MESSAGES)
    return;
  clear_line(progress);
  fprintf(stderr, "%s: frame %u: %s\n", progress->tool, number, why);
  if (progress->failed->len == MAX_MESSAGES)
    fprintf(stderr, "%s: further failures are only counted\n", progress->tool);
}

void tool_progress_leave_out(ToolProgress *progress, uint32_t number)
{
  g_array_append_val(progress->left_out, number);
}

static gint by_number(gconstpointer a, gconstpointer b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Prints "what: 3, 7-12 (7 frames)". */
static void print_numbers(const ToolProgress *progress, const char *what, GArray *numbers)
{
  if (!numbers->len)
    return;
  g_array_sort(numbers, by_number);
  fprintf(stderr, "%s: %s:", progress->tool, what);
  for (guint i = 0, end; i < numbers->len; i = end) {
    const uint32_t *at = &g_array_index(numbers, uint32_t, i);
    for (end = i + 1; end < numbers->len && at[end - i] == *at + (end - i);)
      end++;
    fprintf(stderr, end - i > 1 ? "%s %u-%u" : "%s %u", i ? "," : "", *at, at[end - i - 1]);
  }
  fprintf(stderr, " (%u of %u frames)\n", numbers->len, progress->frames);
}

bool tool_progress_end(ToolProgress *progress, bool stopped)
{
  double seconds = (double)(g_get_monotonic_time() - progress->start) / G_TIME_SPAN_SECOND;

  clear_line(progress);
  if (progress->terminal || progress->lines)
    fprintf(stderr, "%s: %u frames in %.1f s, %.1f frames/s\n", progress->tool, progress->done,
            seconds, seconds > 0 ? progress->done / seconds : 0);
  print_numbers(progress, "failed", progress->failed);
  print_numbers(progress, "left out, because they learn from a frame that failed",
                progress->left_out);
  if (stopped)
    fprintf(stderr, "%s: stopped with %u of %u frames; the same command goes on from there\n",
            progress->tool, progress->there + progress->done, progress->frames);
  return progress->failed->len || progress->left_out->len;
}
