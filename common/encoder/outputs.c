/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "outputs.h"

#include <glib.h>
#include <stdlib.h>

#define PAGE 4096
/* Outputs of an encoder: those in flight, and as many that the application keeps. Those beyond are
 * ordinary memory. */
#define MAX_PINNED (2 * CJ2K_MAX_IN_FLIGHT)

struct Cj2kOutputs {
  GMutex lock;
  uint32_t references; /* held by the encoder and by each output that is in use */
  Cj2kOutput *all;
  Cj2kOutput *free[2]; /* [pinned] */
  uint32_t num_pinned;
  const Cj2kBackendMemory *memory; /* NULL: outputs are not pinned */
  void *backend;
  size_t likely; /* bytes of an output that is pinned, at least */
  bool refused;  /* a page could not be pinned */
};

Cj2kOutputs *cj2k_outputs_new(void)
{
  Cj2kOutputs *outputs = g_new0(Cj2kOutputs, 1);
  g_mutex_init(&outputs->lock);
  outputs->references = 1;
  return outputs;
}

void cj2k_outputs_pin(Cj2kOutputs *outputs, const Cj2kBackendMemory *memory, void *backend,
                      size_t likely)
{
  outputs->likely = likely;
  outputs->memory = memory->pin ? memory : NULL;
  outputs->backend = backend;
}

/* Makes an output's memory ordinary. Call it with the lock held. */
static void unpin(Cj2kOutput *output)
{
  Cj2kOutputs *outputs = output->outputs;

  if (!output->pinned)
    return;
  outputs->memory->unpin(outputs->backend, output->bytes.data);
  output->pinned = false;
  outputs->num_pinned--;
}

void cj2k_outputs_unpin(Cj2kOutputs *outputs)
{
  g_mutex_lock(&outputs->lock);
  for (Cj2kOutput *output = outputs->all; output; output = output->next_of_all)
    unpin(output);
  outputs->memory = NULL;
  g_mutex_unlock(&outputs->lock);
}

static void free_all(Cj2kOutputs *outputs)
{
  while (outputs->all) {
    Cj2kOutput *output = outputs->all;
    outputs->all = output->next_of_all;
    free(output->bytes.data);
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

/* Could one more output be pinned? */
static bool has_room(const Cj2kOutputs *outputs)
{
  return outputs->memory && !outputs->refused && outputs->num_pinned < MAX_PINNED;
}

Cj2kOutput *cj2k_output_get(Cj2kOutputs *outputs)
{
  g_mutex_lock(&outputs->lock);
  bool pinned = outputs->free[true] != NULL;
  Cj2kOutput *output = outputs->free[pinned];
  if (output) {
    outputs->free[pinned] = output->next;
  } else {
    output = g_new0(Cj2kOutput, 1);
    output->outputs = outputs;
    output->next_of_all = outputs->all;
    outputs->all = output;
  }
  outputs->references++;
  g_mutex_unlock(&outputs->lock);
  return output;
}

void cj2k_output_put(Cj2kOutput *output)
{
  if (!output)
    return;
  Cj2kOutputs *outputs = output->outputs;
  g_mutex_lock(&outputs->lock);
  output->next = outputs->free[output->pinned];
  outputs->free[output->pinned] = output;
  drop_reference(outputs);
}

bool cj2k_output_is_pinned(Cj2kOutput *output)
{
  Cj2kOutputs *outputs = output->outputs;

  g_mutex_lock(&outputs->lock);
  bool pinned = output->pinned || has_room(outputs);
  g_mutex_unlock(&outputs->lock);
  return pinned;
}

/* Gives the output whole pages, more than it needs, and pins them. */
static void make_pinned(Cj2kOutput *output, size_t size)
{
  Cj2kOutputs *outputs = output->outputs;
  Cj2kByteBuffer *bytes = &output->bytes;
  void *memory = NULL;

  size = MAX(size + size / (output->pinned ? 2 : 4), outputs->likely);
  size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
  unpin(output);
  free(bytes->data);
  *bytes = (Cj2kByteBuffer){0};
  if (posix_memalign(&memory, PAGE, size))
    return;
  bytes->data = memory;
  bytes->capacity = size;
  output->pinned = outputs->memory->pin(outputs->backend, memory, size);
  outputs->num_pinned += output->pinned;
  outputs->refused = !output->pinned;
}

bool cj2k_output_reserve(Cj2kOutput *output, size_t size)
{
  Cj2kOutputs *outputs = output->outputs;
  Cj2kByteBuffer *bytes = &output->bytes;

  bytes->size = 0;
  g_mutex_lock(&outputs->lock);
  if (output->pinned ? size > bytes->capacity : has_room(outputs))
    make_pinned(output, size);
  bool pinned = output->pinned;
  g_mutex_unlock(&outputs->lock);
  cj2k_bytes_reserve(bytes, size); /* ordinary memory grows; pinned memory suffices */
  return pinned;
}
