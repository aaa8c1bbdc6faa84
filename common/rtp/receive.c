/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "receive.h"

#include "common/codestream/markers.h"
#include "common/codestream/packets_parts.h"
#include "sequence.h"

#include <string.h>

#define MAX_OPEN  8          /* codestreams that are collected at the same time */
#define MAX_BYTES (1u << 29) /* of a codestream */
#define MAX_COUNT (1u << 21) /* packets of a codestream */
#define EARLIER   (1 << 14)  /* numbers in front of the first packet that may still arrive */
#define MAX_ZEROS 64         /* packets of padding behind a codestream */
#define RECENT    64         /* codestreams whose timestamps are remembered */
/* Codestreams without a repeated packet after which the sender is taken for one that repeats none.
 */
#define MAX_UNREPEATED 16

/* A packet that arrived. */
typedef struct {
  int64_t number;
  uint32_t offset, size; /* in the bytes of its set; size 0: left out */
  Cj2kRtpHeader header;
} Fragment;

/* A codestream that is being collected. */
typedef struct {
  uint32_t timestamp;
  uint8_t part;
  uint64_t time;
  GByteArray *bytes;   /* in the order of arrival */
  GArray *fragments;   /* Fragment, in the order of arrival */
  int64_t first, last; /* lowest and highest number */
  int64_t marker;      /* number of the packet with the marker; -1: it has not arrived */
  int64_t last_data;   /* highest number of a packet that is not all zeros */
  /* Numbers above last_data of packets that are all zeros: padding, if last_data has the EOC. */
  int64_t zeros[MAX_ZEROS];
  uint32_t num_zeros;
  uint64_t began; /* when its first packet arrived */
  /* When its last packet arrived, or, if `ended`, when it became known that packets were missing.
   */
  uint64_t since;
  bool ended;     /* the marker or a packet of a later codestream has arrived */
  bool begins;    /* its first packet has arrived */
  bool sorted;    /* packets arrived in the order of sending */
  bool left_out;  /* packets were left out by max_resolution or max_layers */
  uint32_t safe;  /* bytes in front of the last marked precinct, if no packet is missing there */
  uint32_t given; /* bytes that were handed out */
  bool lasting;   /* a repair leaves its headers as they are */
  bool whole;     /* nothing of it is handed out before its end */
} Set;

struct Cj2kRtpReceiver {
  Cj2kRtpReceiverParams params;
  Cj2kRtpStats stats;
  Set sets[MAX_OPEN]; /* rising by `first` */
  uint32_t num_sets;
  uint32_t newer; /* packets that arrived for sets behind the first one */
  int64_t end;    /* sets that begin below this number are handed out without waiting */

  Cj2kRtpSequence sequence;
  bool synced;         /* `expected` is the first number of a codestream */
  int64_t expected;    /* lowest number that has not been handed out */
  bool repeats;        /* the sender repeats packets: some came further behind than the window */
  uint32_t unrepeated; /* codestreams handed out since such a packet came */
  uint64_t now;        /* time: what cj2k_rtp_receiver_advance told, without jumps back */
  uint64_t skipped;    /* sum of the jumps back: now is the time told plus this */
  uint64_t began;      /* when the first packet of the newest codestream arrived */
  uint64_t periods[2]; /* times between the last codestreams; 0: not known */
  uint32_t recent[RECENT]; /* timestamps of the last codestreams handed out */
  uint64_t num_recent;     /* number of codestreams handed out */

  Cj2kRtpRepairer *repairer;
  GArray *arrived;  /* Cj2kRtpArrived */
  GByteArray *kept; /* headers of the last codestream that allows reuse */
  Cj2kRtpHeader kept_main;
  uint32_t kept_packets; /* number of Main packets that they came in */
  bool has_kept;
  guint last_size;
};

Cj2kRtpReceiver *cj2k_rtp_receiver_new(const Cj2kRtpReceiverParams *params)
{
  Cj2kRtpReceiver *receiver = g_new0(Cj2kRtpReceiver, 1);
  receiver->params = *params;
  receiver->repairer = cj2k_rtp_repairer_new();
  receiver->arrived = g_array_new(FALSE, FALSE, sizeof(Cj2kRtpArrived));
  receiver->kept = g_byte_array_new();
  return receiver;
}

static void clear_set(Set *set)
{
  if (set->bytes)
    g_byte_array_unref(set->bytes);
  if (set->fragments)
    g_array_unref(set->fragments);
  *set = (Set){0};
}

/* Removes the first set. */
static void remove_set(Cj2kRtpReceiver *receiver)
{
  clear_set(&receiver->sets[0]);
  receiver->num_sets--;
  memmove(receiver->sets, receiver->sets + 1, receiver->num_sets * sizeof *receiver->sets);
  receiver->sets[receiver->num_sets] = (Set){0};
  receiver->newer = 0;
  for (uint32_t i = 1; i < receiver->num_sets; i++)
    receiver->newer += receiver->sets[i].fragments->len;
}

void cj2k_rtp_receiver_flush(Cj2kRtpReceiver *receiver)
{
  while (receiver->num_sets > 0) {
    receiver->stats.unused += receiver->sets[0].fragments->len;
    receiver->stats.waiting -= receiver->sets[0].fragments->len;
    remove_set(receiver);
  }
  cj2k_rtp_sequence_reset(&receiver->sequence);
  receiver->synced = receiver->has_kept = receiver->repeats = false;
  receiver->periods[0] = receiver->periods[1] = receiver->num_recent = 0;
}

void cj2k_rtp_receiver_free(Cj2kRtpReceiver *receiver)
{
  if (!receiver)
    return;
  cj2k_rtp_receiver_flush(receiver);
  cj2k_rtp_repairer_free(receiver->repairer);
  g_array_unref(receiver->arrived);
  g_byte_array_unref(receiver->kept);
  g_free(receiver);
}

void cj2k_rtp_receiver_set_params(Cj2kRtpReceiver *receiver, const Cj2kRtpReceiverParams *params)
{
  receiver->params = *params;
}

void cj2k_rtp_receiver_end(Cj2kRtpReceiver *receiver)
{
  receiver->end = receiver->sequence.highest + 1;
}

void cj2k_rtp_receiver_advance(Cj2kRtpReceiver *receiver, uint64_t now)
{
  if (now + receiver->skipped < receiver->now)
    receiver->skipped = receiver->now - now;
  receiver->now = now + receiver->skipped;
}

void cj2k_rtp_receiver_settle(Cj2kRtpReceiver *receiver, uint16_t sequence)
{
  cj2k_rtp_sequence_settle(&receiver->sequence, sequence);
}

void cj2k_rtp_receiver_stats(const Cj2kRtpReceiver *receiver, Cj2kRtpStats *stats)
{
  *stats = receiver->stats;
  stats->lost = receiver->sequence.lost;
  stats->restarts = receiver->sequence.restarts;
}

/* --- sets --- */

static bool begins_codestream(const Cj2kRtpHeader *header, const uint8_t *data, size_t size)
{
  return (header->kind == CJ2K_RTP_MAIN_MORE || header->kind == CJ2K_RTP_MAIN_ONLY ||
          header->kind == CJ2K_RTP_MAIN_LAST) &&
         (size < 1 || data[0] == 0xff) && (size < 2 || data[1] == 0x4f) &&
         (size < 3 || data[2] == 0xff) && (size < 4 || data[3] == 0x51);
}

static Set *find_set(Cj2kRtpReceiver *receiver, uint32_t timestamp, uint8_t part)
{
  for (uint32_t i = 0; i < receiver->num_sets; i++)
    if (receiver->sets[i].timestamp == timestamp && receiver->sets[i].part == part &&
        receiver->sets[i].first >= receiver->end)
      return &receiver->sets[i];
  return NULL;
}

/* Whether a packet with this timestamp has arrived not long ago. */
static bool is_known(const Cj2kRtpReceiver *receiver, uint32_t timestamp)
{
  for (uint32_t i = 0; i < receiver->num_sets; i++)
    if (receiver->sets[i].timestamp == timestamp)
      return true;
  for (uint32_t i = 0; i < MIN(receiver->num_recent, RECENT); i++)
    if (receiver->recent[i] == timestamp)
      return true;
  return false;
}

/* Inserts a new set among the others, which are fewer than MAX_OPEN. */
static Set *new_set(Cj2kRtpReceiver *receiver, uint32_t timestamp, uint8_t part, int64_t number,
                    uint64_t time)
{
  uint32_t at = receiver->num_sets++;
  receiver->periods[1] = receiver->periods[0];
  if (at > 0 || receiver->num_recent > 0)
    receiver->periods[0] = receiver->now - receiver->began;
  receiver->began = receiver->now;
  for (; at > 0 && receiver->sets[at - 1].first > number; at--)
    receiver->sets[at] = receiver->sets[at - 1];
  receiver->sets[at] = (Set){.timestamp = timestamp,
                             .part = part,
                             .time = time,
                             .bytes = g_byte_array_sized_new(receiver->last_size),
                             .fragments = g_array_new(FALSE, FALSE, sizeof(Fragment)),
                             .first = number,
                             .last = number,
                             .marker = -1,
                             .last_data = -1,
                             .began = receiver->now,
                             .sorted = true};
  return &receiver->sets[at];
}

static bool is_left_out(const Cj2kRtpReceiverParams *params, const Cj2kRtpHeader *header)
{
  return header->kind == CJ2K_RTP_BODY &&
         (header->resolution > params->max_resolution ||
          (params->max_layers > 0 && header->layer >= params->max_layers));
}

/* Whether the payload is all zeros, which some senders append to a codestream in packets of their
 * own. */
static bool is_padding(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i < size; i++)
    if (data[i])
      return false;
  return true;
}

/* Notes which packets at the end of the set may be padding. */
static void note_zeros(Set *set, int64_t number, bool zeros)
{
  uint32_t kept = 0;
  if (zeros) {
    if (number > set->last_data && set->num_zeros < MAX_ZEROS)
      set->zeros[set->num_zeros++] = number;
    return;
  }
  set->last_data = MAX(set->last_data, number);
  for (uint32_t i = 0; i < set->num_zeros; i++)
    if (set->zeros[i] > set->last_data)
      set->zeros[kept++] = set->zeros[i];
  set->num_zeros = kept;
}

/* Notes that no loss behind it can change what precedes this packet: it begins a precinct, and none
 * is missing. */
static void note_safe(Set *set, const Fragment *fragment, const uint8_t *data, size_t size)
{
  const Cj2kRtpHeader *header = &fragment->header;
  bool marked = header->kind == CJ2K_RTP_BODY && header->marked;
  bool at_begin =
      header->position == 0 || (header->position == 6 && size >= 4 && cj2k_begins_sop(data));
  if (marked && at_begin && set->begins && set->sorted && !set->left_out &&
      set->last - set->first + 1 == (int64_t)set->fragments->len)
    set->safe = fragment->offset;
}

static void add_fragment(Cj2kRtpReceiver *receiver, Set *set, int64_t number,
                         const Cj2kRtpHeader *header, bool marker, const uint8_t *data, size_t size)
{
  bool left_out = is_left_out(&receiver->params, header);
  Fragment fragment = {number, set->bytes->len, left_out ? 0 : (uint32_t)size, *header};
  if (set->fragments->len > 0 && number < set->last)
    set->sorted = false;
  set->first = MIN(set->first, number);
  set->last = MAX(set->last, number);
  if (marker)
    set->marker = MAX(set->marker, number);
  note_zeros(set, number, header->kind == CJ2K_RTP_BODY && is_padding(data, size));
  set->begins |= begins_codestream(header, data, size);
  set->left_out |= left_out;
  if (!left_out)
    g_byte_array_append(set->bytes, data, (guint)size);
  g_array_append_val(set->fragments, fragment);
  note_safe(set, &fragment, data, size);
}

/* Restores the order of the sets after the lowest number of one has changed. */
static void sort_sets(Cj2kRtpReceiver *receiver)
{
  for (uint32_t i = 1; i < receiver->num_sets; i++)
    for (uint32_t k = i; k > 0 && receiver->sets[k - 1].first > receiver->sets[k].first; k--) {
      Set set = receiver->sets[k];
      receiver->sets[k] = receiver->sets[k - 1];
      receiver->sets[k - 1] = set;
    }
}

/* Whether the packet begins a codestream although its set has one already: the sender writes
 * neither markers nor new timestamps. */
static bool begins_another(const Set *set, int64_t number, const Cj2kRtpHeader *header,
                           const uint8_t *data, size_t size)
{
  return set->begins && set->marker < 0 && number > set->last && size >= 4 &&
         begins_codestream(header, data, size);
}

/* Notes that nothing more is to come for the sets in front of this one, or, if `marker` is set, for
 * this one too, but for packets that are late. */
static void note_ends(Cj2kRtpReceiver *receiver, Set *set, bool marker)
{
  if (!set->ended)
    set->since = receiver->now;
  set->ended |= marker;
  for (Set *before = receiver->sets; before < set; before++) {
    if (!before->ended)
      before->since = receiver->now;
    before->ended = true;
  }
}

/* Puts a packet into its set. false: there is no room. */
static bool store(Cj2kRtpReceiver *receiver, int64_t number, uint32_t timestamp, bool marker,
                  const Cj2kRtpHeader *header, const uint8_t *data, size_t size, uint64_t time)
{
  Set *set = find_set(receiver, timestamp, header->part);
  if (set && begins_another(set, number, header, data, size)) {
    if (set->last + 1 == number)
      set->marker = set->last_data;
    receiver->end = MAX(receiver->end, number);
    set = NULL;
  }
  if (!set && receiver->num_sets == MAX_OPEN)
    return false;
  if (!set)
    set = new_set(receiver, timestamp, header->part, number, time);
  if (set->bytes->len + size > MAX_BYTES || set->fragments->len >= MAX_COUNT) {
    receiver->end = MAX(receiver->end, set->last + 1);
    return false;
  }
  if (set->time == UINT64_MAX)
    set->time = time;
  int64_t first = set->first;
  if (set != &receiver->sets[0])
    receiver->newer++;
  add_fragment(receiver, set, number, header, marker, data, size);
  note_ends(receiver, set, marker);
  if (set->first != first)
    sort_sets(receiver);
  return true;
}

/* Begins to count at this number, which is above all numbers before. */
static void begin_numbers(Cj2kRtpReceiver *receiver, int64_t number)
{
  receiver->synced = false;
  receiver->expected = number - EARLIER;
  receiver->end = receiver->expected;
}

/* The number of a packet; -1: it is to be dropped, and has been counted. */
static int64_t number_of(Cj2kRtpReceiver *receiver, uint32_t raw, uint32_t timestamp)
{
  Cj2kRtpStats *stats = &receiver->stats;
  bool first, anew;
  int64_t number = cj2k_rtp_sequence_take(&receiver->sequence, raw, &first, &anew);
  if (number < 0) {
    stats->late++;
    return -1;
  }
  if (!anew && number < receiver->sequence.highest - receiver->params.window) {
    receiver->repeats = true;
    receiver->unrepeated = 0;
  }
  if (!anew && (!first || number < receiver->expected)) {
    int64_t again = -1;
    if (!is_known(receiver, timestamp))
      again = cj2k_rtp_sequence_suspect(&receiver->sequence, raw);
    if (again < 0)
      *(first ? &stats->late : &stats->duplicates) += 1;
    anew = again >= 0;
    number = again;
  }
  if (anew)
    begin_numbers(receiver, number);
  return number;
}

void cj2k_rtp_receiver_push(Cj2kRtpReceiver *receiver, uint16_t sequence, uint32_t timestamp,
                            bool marker, const uint8_t *payload, size_t size, uint64_t time)
{
  Cj2kRtpStats *stats = &receiver->stats;
  Cj2kRtpHeader header;
  size_t skip;
  stats->received++;
  if (!cj2k_rtp_header_read(&header, payload, size, &skip) || size == skip) {
    stats->malformed++;
    return;
  }
  int64_t number = number_of(receiver, (uint32_t)header.extended << 16 | sequence, timestamp);
  if (number < 0)
    return;
  payload += skip;
  size -= skip;
  if (number == receiver->expected && receiver->synced && header.kind == CJ2K_RTP_BODY &&
      !find_set(receiver, timestamp, header.part) && is_padding(payload, size)) {
    receiver->expected++;
    stats->unused++;
  } else if (store(receiver, number, timestamp, marker, &header, payload, size, time)) {
    stats->waiting++;
  } else {
    stats->unused++;
  }
}

/* --- handing out --- */

/* Whether all packets of a set have arrived. Those behind the last one with data are padding, of
 * which none has to arrive, unless the marker is there. */
static bool is_complete(const Set *set)
{
  int64_t count = set->fragments->len;
  if (!set->begins || set->marker < 0)
    return false;
  return set->marker == set->last_data
             ? set->last_data - set->first + 1 == count - set->num_zeros
             : set->marker == set->last && set->last - set->first + 1 == count;
}

/* Whether a set's last packet has arrived and all its gaps, and those in front of it, are known to
 * be losses: they are further back than the window, or settled. If the sender repeats packets,
 * which it does behind the last one, only those settled are. */
static bool has_old_gaps(const Cj2kRtpReceiver *receiver, const Set *set)
{
  const Cj2kRtpSequence *sequence = &receiver->sequence;
  int64_t oldest = sequence->settled + 1;
  if (set->marker < 0 || (!set->begins && !receiver->synced))
    return false;
  if (!receiver->repeats)
    oldest = MAX(oldest, sequence->highest - receiver->params.window);
  int64_t begin = receiver->synced ? receiver->expected : set->first;
  oldest = MAX(MAX(oldest, begin), sequence->highest - (int64_t)CJ2K_RTP_SEEN + 1);
  for (int64_t number = set->marker; number >= oldest; number--)
    if (!cj2k_rtp_sequence_seen(sequence, number))
      return false;
  return true;
}

/* Whether packets of the second set have arrived, and none of the first set can arrive any more. */
static bool is_settled(const Cj2kRtpReceiver *receiver)
{
  return receiver->num_sets > 1 && receiver->sequence.settled >= receiver->sets[1].first - 1;
}

uint64_t cj2k_rtp_receiver_due(const Cj2kRtpReceiver *receiver)
{
  const Set *set = &receiver->sets[0];
  uint64_t since = set->since, period = MAX(receiver->periods[0], receiver->periods[1]);
  if (receiver->num_sets == 0 || !receiver->params.deadline || (!set->ended && !period))
    return UINT64_MAX;
  if (!set->ended)
    since = MAX(since, set->began + period);
  return since + receiver->params.deadline - receiver->skipped;
}

static bool is_late(const Cj2kRtpReceiver *receiver)
{
  uint64_t due = cj2k_rtp_receiver_due(receiver);
  return due != UINT64_MAX && due + receiver->skipped <= receiver->now;
}

/* Whether the first set is to be handed out now. If packets in front of it are missing, it waits
 * even when complete: they may belong to an earlier codestream. */
static bool is_due(const Cj2kRtpReceiver *receiver)
{
  const Set *set = &receiver->sets[0];
  if (is_complete(set) && (!receiver->synced || set->first == receiver->expected))
    return true;
  return set->first < receiver->end || receiver->num_sets == MAX_OPEN ||
         (receiver->num_sets > 1 && receiver->newer > receiver->params.window) ||
         is_settled(receiver) || is_late(receiver) || has_old_gaps(receiver, set);
}

static gint compare_fragments(gconstpointer a, gconstpointer b)
{
  const Fragment *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* The size without zeros behind EOC. */
static size_t without_padding(const uint8_t *data, size_t size)
{
  while (size > 0 && data[size - 1] == 0)
    size--;
  return size;
}

/* Sets *main to the payload header of a Main packet of the set, if one has arrived. */
static void set_main(const Set *set, Cj2kRtpHeader *main)
{
  for (uint32_t i = 0; i < set->fragments->len; i++) {
    const Fragment *fragment = &g_array_index(set->fragments, Fragment, i);
    if (fragment->header.kind != CJ2K_RTP_BODY) {
      *main = fragment->header;
      return;
    }
  }
}

/* Moves the bytes of a set, in the order of sending, into *codestream. */
static void hand_over(Set *set, Cj2kRtpCodestream *codestream)
{
  GByteArray *bytes = set->bytes;
  if (!set->sorted) {
    bytes = g_byte_array_sized_new(set->bytes->len);
    g_array_sort(set->fragments, compare_fragments);
    for (uint32_t i = 0; i < set->fragments->len; i++) {
      const Fragment *fragment = &g_array_index(set->fragments, Fragment, i);
      g_byte_array_append(bytes, set->bytes->data + fragment->offset, fragment->size);
    }
    g_byte_array_unref(set->bytes);
  }
  set->bytes = NULL;
  codestream->size = without_padding(bytes->data, bytes->len);
  codestream->given = MIN(set->given, codestream->size);
  codestream->data = g_byte_array_free(bytes, FALSE);
}

/* Whether the headers of an earlier codestream may replace those of this one. */
static bool may_reuse(const Cj2kRtpReceiver *receiver, const Set *set)
{
  Cj2kRtpHeader main = receiver->kept_main;
  if (!receiver->has_kept)
    return false;
  set_main(set, &main);
  return cj2k_rtp_header_alike(&main, &receiver->kept_main);
}

/* `reuse`: the headers of an earlier codestream are used if those of this one are missing. */
static void list_arrived(Cj2kRtpReceiver *receiver, Set *set, bool reuse)
{
  int64_t next = receiver->synced ? receiver->expected : set->first;
  g_array_set_size(receiver->arrived, 0);
  g_array_sort(set->fragments, compare_fragments);
  for (uint32_t i = 0; i < set->fragments->len; i++) {
    const Fragment *fragment = &g_array_index(set->fragments, Fragment, i);
    /* Without bytes there may be no memory. */
    Cj2kRtpArrived arrived = {.data = fragment->size ? set->bytes->data + fragment->offset : NULL,
                              .size = fragment->size,
                              .gap = fragment->number != next,
                              .lost = (uint32_t)CLAMP(fragment->number - next, 0, UINT32_MAX),
                              .header = fragment->header};
    /* Packets missing in front of a codestream's first one belong to the codestream before. */
    if (i == 0 && fragment->size > 0 &&
        begins_codestream(&fragment->header, arrived.data, fragment->size))
      arrived.gap = false;
    /* If only the Main packets are missing, the next one directly follows the headers used in their
     * place. */
    if (i == 0 && fragment->header.kind == CJ2K_RTP_BODY)
      arrived.gap =
          !reuse || !receiver->synced || fragment->number != next + receiver->kept_packets;
    g_array_append_val(receiver->arrived, arrived);
    next = fragment->number + 1;
  }
}

static void count_used(Cj2kRtpReceiver *receiver, const Set *set, bool good)
{
  for (uint32_t i = 0; i < set->fragments->len; i++) {
    const Fragment *fragment = &g_array_index(set->fragments, Fragment, i);
    const Cj2kRtpArrived *arrived = &g_array_index(receiver->arrived, Cj2kRtpArrived, i);
    if (fragment->size == 0)
      receiver->stats.left_out++;
    else if (good && arrived->used)
      receiver->stats.used++;
    else
      receiver->stats.unused++;
  }
}

static bool repair(Cj2kRtpReceiver *receiver, Set *set, bool complete,
                   Cj2kRtpCodestream *codestream)
{
  GByteArray *out = g_byte_array_sized_new(set->bytes->len + 4096);
  Cj2kRtpRepaired result;
  bool reuse = may_reuse(receiver, set);
  list_arrived(receiver, set, reuse);
  bool good =
      cj2k_rtp_repair(receiver->repairer, &g_array_index(receiver->arrived, Cj2kRtpArrived, 0),
                      receiver->arrived->len, reuse ? receiver->kept : NULL, out, &result);
  /* What was handed out has to stay. */
  if (set->given)
    good = good && out->len >= set->given && !memcmp(out->data, set->bytes->data, set->given);
  codestream->given = set->given;
  count_used(receiver, set, good);
  codestream->repaired = !complete;
  codestream->size = out->len;
  codestream->data = g_byte_array_free(out, !good);
  if (!good) {
    receiver->stats.failed++;
    return false;
  }
  if (complete)
    receiver->stats.reduced++;
  else
    receiver->stats.repaired++;
  receiver->stats.filled += complete ? 0 : result.filled;
  return true;
}

static uint32_t count_main_packets(const Set *set)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < set->fragments->len; i++)
    count += g_array_index(set->fragments, Fragment, i).header.kind != CJ2K_RTP_BODY;
  return count;
}

/* Keeps the headers of the set's codestream, of which no packet is missing, if they are announced
 * to be the same in later codestreams. */
static void keep_headers(Cj2kRtpReceiver *receiver, const Set *set,
                         const Cj2kRtpCodestream *codestream)
{
  receiver->has_kept = codestream->main.reuse;
  if (!receiver->has_kept)
    return;
  receiver->kept_main = codestream->main;
  size_t size = cj2k_rtp_headers_size(codestream->data, codestream->size);
  g_byte_array_set_size(receiver->kept, 0);
  g_byte_array_append(receiver->kept, codestream->data, (guint)size);
  receiver->kept_packets = count_main_packets(set);
  receiver->has_kept = size > 0;
}

/* Hands out the first set. false: it cannot be repaired and is discarded. */
static bool close_set(Cj2kRtpReceiver *receiver, bool complete, Cj2kRtpCodestream *codestream)
{
  Set *set = &receiver->sets[0];
  bool good = true;
  *codestream = (Cj2kRtpCodestream){.timestamp = set->timestamp,
                                    .time = set->time,
                                    .part = set->part,
                                    .main = receiver->kept_main};
  set_main(set, &codestream->main);
  receiver->last_size = MIN(set->bytes->len + set->bytes->len / 16, MAX_BYTES);
  receiver->stats.waiting -= set->fragments->len;
  if (complete && !set->left_out) {
    hand_over(set, codestream);
    receiver->stats.intact++;
    receiver->stats.used += set->fragments->len;
  } else {
    good = repair(receiver, set, complete, codestream);
  }
  if (good && complete && !set->left_out)
    keep_headers(receiver, set, codestream);
  receiver->expected = MAX(receiver->expected, set->last + 1);
  /* After a restart `expected` belongs to the new numbers, and this set to the old ones. */
  receiver->synced = (complete || set->marker == set->last) && receiver->expected == set->last + 1;
  receiver->recent[receiver->num_recent % RECENT] = set->timestamp;
  receiver->num_recent++;
  if (++receiver->unrepeated > MAX_UNREPEATED)
    receiver->repeats = false;
  remove_set(receiver);
  return good;
}

bool cj2k_rtp_receiver_pull(Cj2kRtpReceiver *receiver, Cj2kRtpCodestream *codestream)
{
  while (receiver->num_sets > 0 && is_due(receiver))
    if (close_set(receiver, is_complete(&receiver->sets[0]), codestream))
      return true;
  return false;
}

/* Whether a repair leaves the complete headers of this codestream as they are: the only tile-part
 * has no length, and there are no tables of lengths. */
static bool has_lasting_headers(const uint8_t *data, size_t size)
{
  Cj2kPartsHeader header = {0};
  if (cj2k_parts_header_scan(&header, data, size) != CJ2K_PARTS_DONE ||
      cj2k_get32(data + header.sot + 6) != 0 || cj2k_get16(data + header.sot + 10) != 1)
    return false;
  for (uint64_t at = 2; at + 4 <= header.at && cj2k_get16(data + at) != CJ2K_SOD;) {
    uint16_t marker = cj2k_get16(data + at);
    if (marker == CJ2K_TLM || marker == CJ2K_PLM || marker == CJ2K_PLT || marker == CJ2K_PPM ||
        marker == CJ2K_PPT)
      return false;
    at += cj2k_marker_bytes(data + at);
  }
  return true;
}

bool cj2k_rtp_receiver_peek_begin(Cj2kRtpReceiver *receiver, Cj2kRtpBegin *begin)
{
  Set *set = &receiver->sets[0];
  if (receiver->num_sets == 0 || set->safe <= set->given || set->whole ||
      set->first < receiver->end || (receiver->synced && set->first != receiver->expected))
    return false;
  if (!set->lasting)
    set->lasting = has_lasting_headers(set->bytes->data, set->safe);
  set->whole = !set->lasting;
  if (set->whole)
    return false;
  *begin = (Cj2kRtpBegin){.data = set->bytes->data,
                          .size = set->safe,
                          .given = set->given,
                          .timestamp = set->timestamp,
                          .time = set->time,
                          .part = set->part};
  set_main(set, &begin->main);
  return true;
}

bool cj2k_rtp_receiver_pull_begin(Cj2kRtpReceiver *receiver, Cj2kRtpBegin *begin)
{
  Set *set = &receiver->sets[0];
  if (!cj2k_rtp_receiver_peek_begin(receiver, begin))
    return false;
  set->given = set->safe;
  /* Packets in front of this codestream are late from now on. */
  receiver->synced = true;
  receiver->expected = set->first;
  return true;
}
