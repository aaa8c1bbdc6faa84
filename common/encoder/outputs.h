/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for the bytes of finished frames. Released memory is reused. Outputs that the application
 * still holds when the encoder is closed live until they are released.
 *
 * A back end may write into outputs, which are then ordinary memory that it has pinned. So they are
 * ordinary memory again, and stay valid, when the back end is closed while the application holds
 * them, or when the application destroys a context in which the encoder has worked.
 */
#ifndef CJ2K_ENCODER_OUTPUTS_H
#define CJ2K_ENCODER_OUTPUTS_H

#include "common/backend.h"
#include "common/cj2k.h"
#include "common/codestream/bitwriter.h"

typedef struct Cj2kOutputs Cj2kOutputs;

typedef struct Cj2kOutput {
  struct Cj2kOutput *next; /* in a list of free outputs */
  struct Cj2kOutput *next_of_all;
  Cj2kOutputs *outputs; /* a reference, while the output is not in one of those lists */
  Cj2kByteBuffer bytes;
  bool pinned; /* guarded by the lock of `outputs` */
} Cj2kOutput;

Cj2kOutputs *cj2k_outputs_new(void);
/* From now on the memory of outputs that are reserved is pinned, if `memory` can do that. It has
 * room for `likely` bytes from the begin; an output that needs more after all gets half as much
 * again, because all others wait for it meanwhile. */
void cj2k_outputs_pin(Cj2kOutputs *outputs, const Cj2kBackendMemory *memory, void *backend,
                      size_t likely);
/* Makes all memory ordinary. Call it before the back end is closed; there is no frame in flight,
 * but the application may hold outputs. */
void cj2k_outputs_unpin(Cj2kOutputs *outputs);
/* Drops the reference of the encoder. NULL is allowed. */
void cj2k_outputs_unref(Cj2kOutputs *outputs);

Cj2kOutput *cj2k_output_get(Cj2kOutputs *outputs);
/* Returns an output to the list. May be called from any thread, even after the encoder was closed.
 * NULL is allowed. */
void cj2k_output_put(Cj2kOutput *output);

/* True if its memory is pinned, or will probably be when it is reserved. */
bool cj2k_output_is_pinned(Cj2kOutput *output);
/* Makes room for `size` bytes; what it held is lost. Returns whether the memory is pinned. */
bool cj2k_output_reserve(Cj2kOutput *output, size_t size);

#endif
