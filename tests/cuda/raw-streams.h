/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small lossless codestreams with selective arithmetic coding bypass (T.800 D.6), the same in every
 * run, for the programs that compare back ends. */
#ifndef TESTS_CUDA_RAW_STREAMS_H
#define TESTS_CUDA_RAW_STREAMS_H

#include <glib.h>
#include <stdint.h>

#define RAW_STREAMS 12

/* Stream `i`, below RAW_STREAMS; *name, which the caller frees: what it has. */
GBytes *raw_stream(uint32_t i, char **name);

#endif
