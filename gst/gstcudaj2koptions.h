/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes properties of an element from the library's table of options, and keeps their values. */
#ifndef GST_CUDA_J2K_OPTIONS_H
#define GST_CUDA_J2K_OPTIONS_H

#include "common/options/option.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* The GType of an option's words, named GstCudaJ2k and the option's `type`; registered once. */
GType gst_cuda_j2k_option_type(const Cj2kOption *option);

/* Installs a property for each option of the table that is not marked NO_PROPERTY; option i has the
 * id first + i. Returns the next free id. */
guint gst_cuda_j2k_options_install(GObjectClass *klass, const Cj2kOptionTable *table, guint first);

/* The option with this id; NULL: none. */
const Cj2kOption *gst_cuda_j2k_option(const Cj2kOptionTable *table, guint first, guint id);

/* The values of an element's options. */
typedef struct {
  const Cj2kOptionTable *table;
  gpointer params; /* the library's struct, in the element; holds the options that are not text */
  gchar **texts;   /* one for each option of the table: NULL unless it is text and was set */
} GstCudaJ2kSettings;

void gst_cuda_j2k_settings_init(GstCudaJ2kSettings *settings, const Cj2kOptionTable *table,
                                gpointer params);
void gst_cuda_j2k_settings_clear(GstCudaJ2kSettings *settings);
/* Makes `to`, which is initialised for the same table, hold the values of `from`. `size`: of the
 * library's struct. */
void gst_cuda_j2k_settings_assign(GstCudaJ2kSettings *to, const GstCudaJ2kSettings *from,
                                  gsize size);
void gst_cuda_j2k_settings_set(GstCudaJ2kSettings *settings, const Cj2kOption *option,
                               const GValue *value);
void gst_cuda_j2k_settings_get(const GstCudaJ2kSettings *settings, const Cj2kOption *option,
                               GValue *value);
/* Sets the fields of `params` that follow from text options. FALSE: a text is wrong, and *reason
 * says why (transfer full). Fields may point into the settings afterwards. */
gboolean gst_cuda_j2k_settings_parse_texts(const GstCudaJ2kSettings *settings, gpointer params,
                                           gchar **reason);

G_END_DECLS

#endif
