/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "outputs.h"

#include <glib.h>

struct Cj2kOutputs {
  GMutex lock;
  uint32_t references; /* held by the encoder and by each output that is not in the list */
  Cj2kOutput *free;
};

Cj2kOutputs *cj2k_outputs_new(void)
{
  Cj2kOutputs *outputs = g_new0(Cj2kOutputs, 1);
  g_mutex_init(&outputs->lock);
  outputs->references = 1;
  return outputs;
}

static void free_all(Cj2kOutputs *outputs)
{
  while (outputs->free) {
    Cj2kOutput *output = outputs->free;
    outputs->free = output->next;
    g_free(output->bytes.data);
    g_free(output);
  }
  g_mutex_clear(&outputs->lock);
  g_free(outputs);
}

/* Drops a reference. Call it with the lock held; it releases the lock. */
static void drop_reference(Cj2kOutputs *outputs)
{
  bool last = --outputs->references == 0;
  g_mutex_unlock(&outputs->lock);
  if (last)
    free_all(outputs);
}

void cj2k_outputs_unref(Cj2kOutputs *outputs)
{
  if (!outputs)
    return;
  g_mutex_lock(&outputs->lock);
  drop_reference(outputs);
}

Cj2kOutput *cj2k_output_get(Cj2kOutputs *outputs)
{
  g_mutex_lock(&outputs->lock);
  Cj2kOutput *output = outputs->free;
  if (output)
    outputs->free = output->next;
  outputs->references++;
  g_mutex_unlock(&outputs->lock);
  if (!output)
    output = g_new0(Cj2kOutput, 1);
  output->outputs = outputs;
  return output;
}

void cj2k_output_put(Cj2kOutput *output)
{
  if (!output)
    return;
  Cj2kOutputs *outputs = output->outputs;
  g_mutex_lock(&outputs->lock);
  output->next = outputs->free;
  outputs->free = output;
  drop_reference(outputs);
}
