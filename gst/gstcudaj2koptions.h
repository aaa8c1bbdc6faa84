/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties of an element from the library's table of options. */
#ifndef GST_CUDA_J2K_OPTIONS_H
#define GST_CUDA_J2K_OPTIONS_H

#include "common/options/option.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* The type of an option's words: GstCudaJ2k and the option's `type`. Registered once. */
GType gst_cuda_j2k_option_type(const Cj2kOption *option);

/* Installs a property for each option of the table but those marked NO_PROPERTY; option i has the
 * id first + i. Returns the next free id. */
guint gst_cuda_j2k_options_install(GObjectClass *klass, const Cj2kOptionTable *table, guint first);

/* The option with this id; NULL: the id is none of theirs. */
const Cj2kOption *gst_cuda_j2k_option(const Cj2kOptionTable *table, guint first, guint id);

/* A property is a string: its text is not kept in the struct of parameters. */
gboolean gst_cuda_j2k_option_is_text(const Cj2kOption *option);

/* Between property and parameters, for options that are not text. */
void gst_cuda_j2k_option_set(const Cj2kOption *option, gpointer params, const GValue *value);
void gst_cuda_j2k_option_get(const Cj2kOption *option, gconstpointer params, GValue *value);

G_END_DECLS

#endif
