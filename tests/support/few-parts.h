/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a decoder's back end one whose calls for parts of frames are dear, as CUDA's (few_parts in
 * common/backend.h): they come for rows only, and not while it is busy, which it says two times of
 * three. For one back end at a time.
 */
#ifndef TESTS_SUPPORT_FEW_PARTS_H
#define TESTS_SUPPORT_FEW_PARTS_H

#include "common/decoder/decoder.h"

static Cj2kDecodeBackend few_parts;
static const Cj2kDecodeBackend *few_parts_real;
static uint32_t few_parts_calls, few_parts_asked;

static Cj2kStatus few_parts_add(void *backend, Cj2kDecodeSlot *slot, const Cj2kDecodeJob *job,
                                const Cj2kPacketId *precincts, uint32_t count, uint32_t *rows,
                                Cj2kError *error)
{
  uint32_t ignored;
  few_parts_calls++;
  return few_parts_real->add_parts(backend, slot, job, precincts, count, rows ? rows : &ignored,
                                   error);
}

static bool few_parts_busy(void *backend, Cj2kDecodeSlot *slot)
{
  (void)backend, (void)slot;
  return few_parts_asked++ % 3 != 0;
}

static void make_few_parts(Cj2kDecoder *decoder)
{
  few_parts_real = decoder->backend.functions;
  few_parts = *few_parts_real;
  few_parts.few_parts = true;
  few_parts.add_parts = few_parts_add;
  few_parts.is_busy = few_parts_busy;
  decoder->backend.functions = &few_parts;
}

#endif
