/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sequence.h"

#include <string.h>

/* A packet numbered further behind or ahead of the highest number is neither late nor behind a
 * loss, because no network delays or loses that many. */
#define FAR_BEHIND (1 << 14)
#define FAR_AHEAD  (1 << 22)
/* Strange packets in succession that tell a restart. */
#define MAX_SUSPECTS 64

void cj2k_rtp_sequence_reset(Cj2kRtpSequence *sequence)
{
  sequence->running = false;
  sequence->jump = 0;
}

bool cj2k_rtp_sequence_seen(const Cj2kRtpSequence *sequence, int64_t number)
{
  uint32_t at = (uint64_t)number % CJ2K_RTP_SEEN;
  return sequence->seen[at / 8] >> at % 8 & 1;
}

static void set_seen(Cj2kRtpSequence *sequence, int64_t number, bool seen)
{
  uint32_t at = (uint64_t)number % CJ2K_RTP_SEEN;
  uint8_t bit = (uint8_t)(1 << at % 8), *byte = &sequence->seen[at / 8];
  *byte = seen ? *byte | bit : *byte & (uint8_t)~bit;
}

/* Notes that none of the numbers from first to last has arrived. */
static void forget_seen(Cj2kRtpSequence *sequence, int64_t first, int64_t last)
{
  while (first <= last) {
    if (first % 8 == 0 && first + 7 <= last) {
      sequence->seen[(uint64_t)first % CJ2K_RTP_SEEN / 8] = 0;
      first += 8;
    } else {
      set_seen(sequence, first++, false);
    }
  }
}

/* Begins to count numbers at this packet. */
static int64_t start(Cj2kRtpSequence *sequence, uint32_t raw)
{
  sequence->running = true;
  sequence->raw_highest = raw;
  /* Leaves room for packets before this one, above all numbers counted before a restart. */
  sequence->highest += 2 * (int64_t)CJ2K_RTP_SEEN;
  sequence->base = sequence->highest;
  sequence->settled = sequence->highest - CJ2K_RTP_SEEN;
  sequence->jump = sequence->suspects = 0;
  memset(sequence->seen, 0, sizeof sequence->seen);
  set_seen(sequence, sequence->highest, true);
  return sequence->highest;
}

/* The signed distance of `raw`, of 24 bits, from the highest number so far. Some senders do not
 * increment ESEQ when the sequence number wraps; then a small step forward of its 16 bits counts as
 * a wrap. */
static int64_t distance(const Cj2kRtpSequence *sequence, uint32_t raw)
{
  int32_t delta = (int32_t)((raw - sequence->raw_highest) << 8) >> 8;
  int16_t low = (int16_t)(raw - sequence->raw_highest);
  if (raw >> 16 == sequence->raw_highest >> 16 && low > 0 && delta < -FAR_BEHIND &&
      low < FAR_BEHIND)
    return low;
  return delta;
}

int64_t cj2k_rtp_sequence_take(Cj2kRtpSequence *sequence, uint32_t raw, bool *first,
                               bool *restarted)
{
  *first = true;
  *restarted = false;
  if (!sequence->running)
    return start(sequence, raw);
  int64_t delta = distance(sequence, raw);
  if (delta < -FAR_BEHIND || delta > FAR_AHEAD) {
    bool again = sequence->jump != 0 && ((sequence->jump ^ raw) & 0xffffff) == 0;
    sequence->jump = raw + 1;
    if (!again)
      return -1;
    *restarted = true;
    sequence->restarts++;
    return start(sequence, raw);
  }
  sequence->jump = 0;
  int64_t number = sequence->highest + delta;
  if (delta > 0) {
    forget_seen(sequence, sequence->highest + 1, MIN(number, sequence->highest + CJ2K_RTP_SEEN));
    sequence->lost += (uint64_t)delta - 1;
    sequence->highest = number;
    sequence->raw_highest = raw;
    sequence->suspects = 0;
  } else {
    *first = !cj2k_rtp_sequence_seen(sequence, number);
    if (*first && number > sequence->base)
      sequence->lost--;
  }
  set_seen(sequence, number, true);
  return number;
}

int64_t cj2k_rtp_sequence_suspect(Cj2kRtpSequence *sequence, uint32_t raw)
{
  if (++sequence->suspects < MAX_SUSPECTS)
    return -1;
  sequence->restarts++;
  return start(sequence, raw);
}

void cj2k_rtp_sequence_settle(Cj2kRtpSequence *sequence, uint16_t low)
{
  int64_t number = sequence->highest + (int16_t)(low - (uint16_t)sequence->raw_highest);
  if (sequence->running)
    sequence->settled = MAX(sequence->settled, number);
}
