/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In place of cuda/ in a build without it. */
#include "backend.h"

#include <stddef.h>

const Cj2kDecodeBackend *cj2k_cuda_decode_backend(void)
{
  return NULL;
}

const Cj2kEncodeBackend *cj2k_cuda_encode_backend(void)
{
  return NULL;
}
