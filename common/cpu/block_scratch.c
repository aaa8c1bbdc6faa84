/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "block_scratch.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

Cj2kBlockScratch *cj2k_block_scratch_new(void)
{
  Cj2kBlockScratch *scratch = aligned_alloc(_Alignof(Cj2kBlockScratch), sizeof *scratch);

  if (!scratch) /* as g_new does */
    g_error("no memory for a block coder's %zu bytes", sizeof *scratch);
  return memset(scratch, 0, sizeof *scratch);
}

void cj2k_block_scratch_free(Cj2kBlockScratch *scratch)
{
  free(scratch);
}
