/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The processes of cj2k-bench live, which meet at their parent: none goes on before all have come.
 * Each has a channel to it, a pair of sockets, so that the parent learns from the same place that a
 * process has come and that it has ended, however that was.
 */
#include "bench_live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A result has no more bytes: its line is written at once, so that no other one mixes in. */
#define LINE_SIZE 65536

typedef struct {
  pid_t pid;
  int channel; /* -1: the process has ended */
} Child;

typedef struct {
  Child *children;
  int count, alive;
  int come; /* processes that wait for the others */
  bool failed;
} Family;

/* --- in a process --- */

gint64 live_meet(int channel)
{
  gint64 now = g_get_monotonic_time();
  ssize_t size;

  if (channel < 0)
    return now;
  if (send(channel, &now, sizeof now, MSG_NOSIGNAL) < 0)
    return -1;
  do
    size = recv(channel, &now, sizeof now, 0);
  while (size < 0 && errno == EINTR);
  return size == sizeof now ? now : -1;
}

/* --- in the parent --- */

static void close_channel(Child *child)
{
  close(child->channel);
  child->channel = -1;
}

/* The streams of a measurement that has failed are not worth waiting for. */
static void end_all(Family *family)
{
  for (int i = 0; i < family->count && !family->failed; i++)
    if (family->children[i].channel >= 0)
      kill(family->children[i].pid, SIGTERM);
  family->failed = true;
}

/* A process has ended: its end of the channel is closed. */
static void bury(Family *family, int number)
{
  Child *child = &family->children[number];
  int status = 0;

  close_channel(child);
  family->alive--;
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
    ;
  if ((WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK) || family->failed)
    return;
  if (WIFSIGNALED(status))
    g_printerr("cj2k-bench: process %d: %s\n", number, g_strsignal(WTERMSIG(status)));
  else
    g_printerr("cj2k-bench: process %d has failed\n", number);
  end_all(family);
}

/* All have come: they go on. */
static void let_go(Family *family)
{
  gint64 now = g_get_monotonic_time();

  family->come = 0;
  for (int i = 0; i < family->count; i++)
    if (family->children[i].channel >= 0)
      (void)!send(family->children[i].channel, &now, sizeof now, MSG_NOSIGNAL);
}

static void listen_to(Family *family, int number)
{
  gint64 time;

  if (recv(family->children[number].channel, &time, sizeof time, 0) == sizeof time)
    family->come++;
  else
    bury(family, number);
}

/* Until all processes have ended. */
static void watch(Family *family)
{
  struct pollfd *channels = g_new0(struct pollfd, family->count);

  while (family->alive) {
    for (int i = 0; i < family->count; i++) /* one that has ended, -1, is left out */
      channels[i] = (struct pollfd){.fd = family->children[i].channel, .events = POLLIN};
    if (poll(channels, (nfds_t)family->count, -1) < 0)
      continue;
    for (int i = 0; i < family->count; i++)
      if (channels[i].revents)
        listen_to(family, i);
    if (family->come && family->come == family->alive)
      let_go(family);
  }
  g_free(channels);
}

/* Runs process `number` and does not return. */
static void run_child(Family *family, int number, int channel, LiveProcess run, void *ctx)
{
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (int i = 0; i < number; i++) /* else the parent's death would not be noticed */
    close(family->children[i].channel);
  g_free(family->children);
  setvbuf(stdout, NULL, _IOFBF, LINE_SIZE);
  exit(run(ctx, number, channel));
}

static bool start_child(Family *family, int number, LiveProcess run, void *ctx)
{
  int ends[2];

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    run_child(family, number, ends[1], run, ctx);
  }
  close(ends[1]);
  family->children[number] = (Child){pid, ends[0]};
  if (pid < 0) {
    close_channel(&family->children[number]);
    return false;
  }
  family->alive++;
  return true;
}

int live_processes(int count, LiveProcess run, void *ctx)
{
  Family family = {.children = g_new(Child, count), .count = count};

  for (int i = 0; i < count; i++)
    family.children[i].channel = -1;
  fflush(NULL);
  for (int i = 0; i < count && !family.failed; i++)
    if (!start_child(&family, i, run, ctx)) {
      g_printerr("cj2k-bench: process %d cannot be started: %s\n", i, g_strerror(errno));
      end_all(&family);
    }
  watch(&family);
  g_free(family.children);
  return family.failed ? BENCH_FAILED : BENCH_OK;
}
