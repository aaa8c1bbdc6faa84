/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench: measures how fast frames are decoded and encoded; one JSON object per line. */
#include "bench.h"
#include "tool_locale.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} operations[] = {{"decode", "Decode codestreams and files", bench_decode},
                  {"encode", "Encode pictures and raw video", bench_encode},
                  {"live", "Encode and decode streams at a frame rate", bench_live},
                  {"bus", "Copy between page-locked host memory and the GPU", bench_bus}};

/* The same shape as the help of a GOptionContext: scripts/manpage.py reads it. */
static void print_help(FILE *out)
{
  fputs("Usage:\n"
        "  cj2k-bench OPERATION [OPTION...] [FILE...]\n\n"
        "Measure how fast frames are decoded and encoded.\n\n"
        "Each measurement is printed as one JSON object on a line.\n"
        "cj2k-bench OPERATION --help lists the options of an operation.\n\n"
        "Operations:\n",
        out);
  for (unsigned i = 0; i < G_N_ELEMENTS(operations); i++)
    fprintf(out, "  %-8s %s\n", operations[i].name, operations[i].summary);
  fputs(
      "\nExit status:\n  0  measured\n  1  failed; the reason is on standard error\n  2  wrong options\n",
      out);
}

static int run(unsigned operation, int argc, char **argv)
{
  char *name = g_strconcat("cj2k-bench ", operations[operation].name, NULL);
  g_set_prgname(name); /* "Usage:" of the operation's help */
  g_free(name);
  return operations[operation].run(argc, argv);
}

int main(int argc, char **argv)
{
  const char *first = argc > 1 ? argv[1] : "";
  tool_begin();
  for (unsigned i = 0; i < G_N_ELEMENTS(operations); i++) {
    if (!strcmp(first, operations[i].name))
      return run(i, argc - 1, argv + 1);
  }
  if (!strcmp(first, "--version")) {
    printf("cj2k-bench %s\n", cj2k_version());
    return BENCH_OK;
  }
  if (!strcmp(first, "--help") || !strcmp(first, "--help-all") || !strcmp(first, "-h")) {
    print_help(stdout);
    return BENCH_OK;
  }
  if (*first)
    fprintf(stderr, "cj2k-bench: %s is no operation\n", first);
  print_help(stderr);
  return BENCH_USAGE;
}
