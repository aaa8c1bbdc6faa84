/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that the tools write. A file is written under a temporary name in the folder where it
 * belongs and renamed when it is complete, so that a failure or a signal leaves neither half a file
 * nor a damaged older one.
 */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Host and process are part of the name, so that a later run can remove what a killed one left. So
 * is the name space of process numbers, because containers may share a host's name. */
static char *temporary_start(void)
{
  struct stat space;
  guint64 inode = stat("/proc/self/ns/pid", &space) == 0 ? (guint64)space.st_ino : 0;

  return g_strdup_printf(".cj2k-%s-%" G_GUINT64_FORMAT "-", g_get_host_name(), inode);
}

static bool durable;

void image_output_set_durable(bool on)
{
  durable = on;
}

/* ---------------------------------------------------------------------------- signals --- */

/* The temporary files being written, for the signal handler; a name is valid while `set`. */
static struct {
  char name[4096];
  volatile sig_atomic_t set;
} pending[IMAGE_MAX_OUTPUTS];
static GMutex pending_lock;

static void remove_pending(int number)
{
  for (size_t i = 0; i < G_N_ELEMENTS(pending); i++)
    if (pending[i].set)
      unlink(pending[i].name);
  signal(number, SIG_DFL);
  raise(number);
}

/* A signal that the caller ignores (as nohup does) stays ignored. */
static void watch_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
  static bool watched;

  for (size_t i = 0; !watched && i < G_N_ELEMENTS(numbers); i++)
    if (signal(numbers[i], remove_pending) == SIG_IGN)
      signal(numbers[i], SIG_IGN);
  watched = true;
}

/* Replaces `from` among the pending files by `to`; NULL: none. */
static void set_pending(const char *from, const char *to)
{
  g_mutex_lock(&pending_lock);
  watch_signals();
  for (size_t i = 0; i < G_N_ELEMENTS(pending); i++) {
    if (from ? !pending[i].set || strcmp(pending[i].name, from) != 0 : pending[i].set != 0)
      continue;
    pending[i].set = 0;
    if (to && g_strlcpy(pending[i].name, to, sizeof pending[i].name) < sizeof pending[i].name)
      pending[i].set = 1;
    break;
  }
  g_mutex_unlock(&pending_lock);
}

/* ------------------------------------------------------------------------------ files --- */

/*
 * Opens a temporary file beside output->path, with the mode that the file will have. NULL where
 * there can be none, for instance because the folder is not writable.
 */
static FILE *open_temporary(ImageOutput *output, const struct stat *old)
{
  char *folder = g_path_get_dirname(output->path), *start = temporary_start();

  output->temporary = g_strdup_printf("%s/%s%d-XXXXXX", folder, start, (int)getpid());
  g_free(folder);
  g_free(start);
  int fd = g_mkstemp_full(output->temporary, O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0 && old && fchmod(fd, old->st_mode & 0777) != 0) {
    close(fd);
    unlink(output->temporary);
    fd = -1;
  }
  FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (file) {
    set_pending(NULL, output->temporary);
  } else {
    g_free(output->temporary);
    output->temporary = NULL;
  }
  return file;
}

bool image_output_open(ImageOutput *output, const char *path, char *why)
{
  struct stat old;
  *output = (ImageOutput){.path = g_strdup(path)};
  if (!strcmp(path, "-")) {
    output->file = stdout;
    return true;
  }
  char *target = realpath(path, NULL); /* so that a symbolic link stays one */
  if (target) {
    g_free(output->path);
    output->path = g_strdup(target);
    free(target);
  }
  bool exists = stat(output->path, &old) == 0;
  if (!exists || (S_ISREG(old.st_mode) && access(output->path, W_OK) == 0))
    output->file = open_temporary(output, exists ? &old : NULL);
  if (!output->file) /* a device, a pipe, or a folder that takes no temporary file */
    output->file = fopen(output->path, "wb");
  if (output->file)
    return true;
  image_fail_errno(why, path);
  image_output_drop(output);
  return false;
}

void image_output_drop(ImageOutput *output)
{
  if (output->file && output->file != stdout)
    fclose(output->file);
  if (output->temporary) {
    unlink(output->temporary);
    set_pending(output->temporary, NULL);
  }
  g_free(output->temporary);
  g_free(output->path);
  *output = (ImageOutput){0};
}

bool image_output_close(ImageOutput *output, bool ok, char *why)
{
  const char *path = output->file == stdout ? "-" : output->path;

  if (!ok)
    image_fail_errno(why, path);
  else if (durable && output->temporary &&
           (fflush(output->file) != 0 || fsync(fileno(output->file)) != 0))
    ok = image_fail_errno(why, path);
  if ((output->file == stdout ? fflush(output->file) : fclose(output->file)) != 0 && ok)
    ok = image_fail_errno(why, path);
  output->file = NULL;
  if (ok && output->temporary) {
    if (rename(output->temporary, output->path) == 0) {
      set_pending(output->temporary, NULL);
      g_clear_pointer(&output->temporary, g_free); /* it is the file now */
    } else {
      ok = image_fail_errno(why, path);
    }
  }
  image_output_drop(output);
  return ok;
}

/* Whether a file is a temporary one of a process of this host and name space that has ended. */
static bool is_left(const char *name)
{
  char *start = temporary_start(), *end = NULL;
  gint64 process =
      g_str_has_prefix(name, start) ? g_ascii_strtoll(name + strlen(start), &end, 10) : 0;
  g_free(start);
  return process > 0 && process <= INT_MAX && end && *end == '-' && kill((pid_t)process, 0) != 0 &&
         errno == ESRCH;
}

void image_output_clean(const char *folder)
{
  GDir *dir = g_dir_open(folder, 0, NULL);

  for (const char *name; dir && (name = g_dir_read_name(dir));)
    if (is_left(name)) {
      char *path = g_build_filename(folder, name, NULL);
      unlink(path);
      g_free(path);
    }
  if (dir)
    g_dir_close(dir);
}

bool image_output_sync_folder(const char *folder, char *why)
{
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* Some file systems cannot flush a folder, and say so. */
  bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);

  if (!ok)
    image_fail_errno(why, folder);
  if (fd >= 0)
    close(fd);
  return ok;
}
