/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for the bytes of finished frames. Released memory is reused. Outputs that the application
 * still holds when the encoder is closed live until they are released.
 */
#ifndef CJ2K_ENCODER_OUTPUTS_H
#define CJ2K_ENCODER_OUTPUTS_H

#include "common/cj2k.h"
#include "common/codestream/bitwriter.h"

typedef struct Cj2kOutputs Cj2kOutputs;

typedef struct Cj2kOutput {
  struct Cj2kOutput *next; /* in the list of free outputs */
  Cj2kOutputs *outputs;    /* a reference, while the output is not in that list */
  Cj2kByteBuffer bytes;
} Cj2kOutput;

Cj2kOutputs *cj2k_outputs_new(void);
/* Drops the reference of the encoder. NULL is allowed. */
void cj2k_outputs_unref(Cj2kOutputs *outputs);

Cj2kOutput *cj2k_output_get(Cj2kOutputs *outputs);
/* Returns an output to the list. May be called from any thread, even after the encoder was closed.
 * NULL is allowed. */
void cj2k_output_put(Cj2kOutput *output);

#endif
