/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helpers of the element tests on a GPU: whether there is one, and the CUDA contexts of elements.
 */
#ifndef TESTS_ELEMENTS_GPU_H
#define TESTS_ELEMENTS_GPU_H

#include "harness.h"

/* Whether an element can be opened on the GPU of this number; -1: on any. */
gboolean have_gpu(gint number);
/* Skips the test, and is true, where no GPU can be used. */
gboolean lacks_gpu(void);

/* The context in the answer of an element to a query on this pad (transfer full). */
GstContext *ask_context(Rig *rig, const gchar *factory, const gchar *pad_name);
/* The GstCudaContext in such an answer (transfer none). */
gpointer cuda_of(const GstContext *context);
/* Both at once (transfer none): the element keeps its context. */
gpointer context_of(Rig *rig, const gchar *factory, const gchar *pad_name);

#endif
