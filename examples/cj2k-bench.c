/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench: how fast frames are decoded and encoded, one JSON object a line. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} operations[] = {{"decode", bench_decode}, {"encode", bench_encode}, {"bus", bench_bus}};

int main(int argc, char **argv)
{
  for (unsigned i = 0; argc > 1 && i < G_N_ELEMENTS(operations); i++) {
    if (!strcmp(argv[1], operations[i].name))
      return operations[i].run(argc - 1, argv + 1);
  }
  if (argc > 1 && !strcmp(argv[1], "--version")) {
    printf("cj2k-bench %s\n", cj2k_version());
    return BENCH_OK;
  }
  fprintf(stderr, "usage: cj2k-bench OPERATION [OPTION...] [FILE...]\noperations:");
  for (unsigned i = 0; i < G_N_ELEMENTS(operations); i++)
    fprintf(stderr, " %s", operations[i].name);
  fprintf(stderr, "\ncj2k-bench OPERATION --help tells an operation's options.\n");
  return BENCH_USAGE;
}
