/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../common/backend.h"

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  return NULL;
}
