/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a fuzz target on files and on all files of folders, without libFuzzer: any compiler can
 * build it, so that every run of the tests replays the inputs that were found. Prints TAP.
 */
#include "fuzz.h"

#include <unistd.h>

#define LIMIT_S 60 /* for one file, also with sanitizers on a busy machine */

static int count;

static void run_file(const char *path)
{
  gchar *text, *name = g_path_get_basename(path);
  gsize size;
  if (!g_file_get_contents(path, &text, &size, NULL)) {
    printf("not ok %d - cannot read %s\n", ++count, path);
    exit(1);
  }
  uint8_t *data = fuzz_copy((uint8_t *)text, size);
  printf("# %s\n", name);
  fflush(stdout);
  alarm(LIMIT_S);
  LLVMFuzzerTestOneInput(data, size);
  alarm(0);
  printf("ok %d - %s\n", ++count, name);
  g_free(data);
  g_free(text);
  g_free(name);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_folder(const char *path, GDir *dir)
{
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  const char *name;
  while ((name = g_dir_read_name(dir)))
    g_ptr_array_add(names, g_build_filename(path, name, NULL));
  g_dir_close(dir);
  g_ptr_array_sort(names, by_name);
  for (guint i = 0; i < names->len; i++)
    run_file(names->pdata[i]);
  g_ptr_array_unref(names);
}

/* Targets without a mutator of their own do not call it; those with one are not mutated here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
  (void)data, (void)max_size;
  return size;
}

int main(int argc, char **argv)
{
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  for (int i = 1; i < argc; i++) {
    GDir *dir = g_dir_open(argv[i], 0, NULL);
    if (dir)
      run_folder(argv[i], dir);
    else if (g_file_test(argv[i], G_FILE_TEST_EXISTS)) /* a target may have no folder */
      run_file(argv[i]);
  }
  printf("ok %d - empty input\n", ++count);
  printf("1..%d\n", count);
  return 0;
}
