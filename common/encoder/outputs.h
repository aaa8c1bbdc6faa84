/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of finished frames. Released memory is used again; what is still with the application when
 * the encoder is closed lives until its own release.
 */
#ifndef CJ2K_OUTPUTS_H
#define CJ2K_OUTPUTS_H

#include "common/cj2k.h"
#include "common/codestream/bitwriter.h"

typedef struct Cj2kOutputs Cj2kOutputs;

typedef struct Cj2kOutput {
  struct Cj2kOutput *next; /* in the list of free ones */
  Cj2kOutputs *outputs;    /* a reference, while it is not in the list */
  Cj2kByteBuffer bytes;
} Cj2kOutput;

Cj2kOutputs *cj2k_outputs_new(void);
/* The encoder's reference. NULL is allowed. */
void cj2k_outputs_unref(Cj2kOutputs *outputs);

Cj2kOutput *cj2k_output_get(Cj2kOutputs *outputs);
/* From any thread, also after the encoder was closed. NULL is allowed. */
void cj2k_output_put(Cj2kOutput *output);

#endif
