/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mq_blocks.h"

#define QE(state, qe, nmps, nlps, change) QE_##state = (qe),
enum { CJ2K_MQ_STATES(QE) };

#define WORD(state, mps) (QE_##state | (uint32_t)(2 * (state) + (mps)) << CJ2K_MQ_MPS_SHIFT)
#define NEXT(state, qe, nmps, nlps, change)                                                        \
  {WORD(nmps, 0), WORD(nlps, (change))}, {WORD(nmps, 1), WORD(nlps, 1 - (change))},

const uint32_t cj2k_mq_next[2 * CJ2K_MQ_NUM_STATES][2] = {CJ2K_MQ_STATES(NEXT)};

const uint8_t cj2k_mq_zero_contexts[4][512] = {
    [CJ2K_LL] = {CJ2K_TABLE_512(CJ2K_CX_ZERO_LH)},
    [CJ2K_HL] = {CJ2K_TABLE_512(CJ2K_CX_ZERO_HL)},
    [CJ2K_LH] = {CJ2K_TABLE_512(CJ2K_CX_ZERO_LH)},
    [CJ2K_HH] = {CJ2K_TABLE_512(CJ2K_CX_ZERO_HH)},
};

const uint8_t cj2k_mq_sign_contexts[256] = {CJ2K_TABLE_256(CJ2K_CX_SIGN_ENTRY, 0)};

void cj2k_mq_reset_contexts(Cj2kMqContexts *contexts)
{
  for (int i = 0; i < CJ2K_CX_COUNT; i++)
    contexts->words[i] = WORD(0, 0);
  contexts->words[CJ2K_CX_ZERO] = WORD(4, 0);
  contexts->words[CJ2K_CX_RUN] = WORD(3, 0);
  contexts->words[CJ2K_CX_UNI] = WORD(46, 0);
}
