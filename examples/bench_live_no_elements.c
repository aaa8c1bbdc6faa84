/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cj2k-bench live of a build without GStreamer. */
#include "bench_live.h"

const LiveWay *live_elements(void)
{
  return NULL;
}
