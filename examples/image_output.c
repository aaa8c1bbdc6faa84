/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that the tools write. A file is written under a temporary name in the folder where it
 * belongs and renamed when it is complete, so that a failure or a signal leaves neither half a file
 * nor a damaged older one.
 */
#include "image.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_NAME ".cj2k-XXXXXX"

/* ---------------------------------------------------------------------------- signals --- */

/* The temporary file being written, for the signal handler; valid while `pending` is set. */
static char pending_name[4096];
static volatile sig_atomic_t pending;

static void remove_pending(int number)
{
  if (pending)
    unlink(pending_name);
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

static void set_pending(const char *name)
{
  pending = 0;
  if (name && g_strlcpy(pending_name, name, sizeof pending_name) < sizeof pending_name)
    pending = 1;
}

/* ------------------------------------------------------------------------------ files --- */

/*
 * Opens a temporary file beside output->path, with the mode that the file will have. NULL where
 * there can be none, for instance because the folder is not writable.
 */
static FILE *open_temporary(ImageOutput *output, const struct stat *old)
{
  char *folder = g_path_get_dirname(output->path);

  output->temporary = g_build_filename(folder, TEMPORARY_NAME, NULL);
  g_free(folder);
  watch_signals();
  int fd = g_mkstemp_full(output->temporary, O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0 && old && fchmod(fd, old->st_mode & 0777) != 0) {
    close(fd);
    unlink(output->temporary);
    fd = -1;
  }
  FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (file) {
    set_pending(output->temporary);
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
  if (output->temporary)
    unlink(output->temporary);
  set_pending(NULL);
  g_free(output->temporary);
  g_free(output->path);
  *output = (ImageOutput){0};
}

bool image_output_close(ImageOutput *output, bool ok, char *why)
{
  const char *path = output->file == stdout ? "-" : output->path;

  if (!ok)
    image_fail_errno(why, path);
  if ((output->file == stdout ? fflush(output->file) : fclose(output->file)) != 0 && ok)
    ok = image_fail_errno(why, path);
  output->file = NULL;
  if (ok && output->temporary) {
    if (rename(output->temporary, output->path) == 0)
      g_clear_pointer(&output->temporary, g_free); /* it is the file now */
    else
      ok = image_fail_errno(why, path);
  }
  image_output_drop(output);
  return ok;
}
