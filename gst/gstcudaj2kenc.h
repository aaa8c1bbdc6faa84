/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GST_CUDA_J2K_ENC_H
#define GST_CUDA_J2K_ENC_H

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_CUDA_J2K_ENC (gst_cuda_j2k_enc_get_type())
GType gst_cuda_j2k_enc_get_type(void);

G_END_DECLS

#endif
