/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "receive.h"

#include <string.h>

#define MAX_OPEN  8          /* codestreams that are collected at the same time */
#define MAX_BYTES (1u << 29) /* of a codestream */
#define MAX_COUNT (1u << 21) /* packets of a codestream */
#define SEEN      (1u << 16) /* numbers whose arrival is remembered */
/* A packet numbered further behind or ahead of the highest number is neither late nor behind a
 * loss, because no network delays or loses that many. */
#define FAR_BEHIND (1 << 14)
#define FAR_AHEAD  (1 << 22)

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
  bool begins;         /* its first packet has arrived */
  bool sorted;         /* packets arrived in the order of sending */
  bool left_out;       /* packets were left out by max_resolution or max_layers */
} Set;

struct Cj2kRtpReceiver {
  Cj2kRtpReceiverParams params;
  Cj2kRtpStats stats;
  Set sets[MAX_OPEN]; /* rising by `first` */
  uint32_t num_sets;
  uint32_t newer; /* packets that arrived for sets behind the first one */
  int64_t end;    /* sets that begin below this number are handed out without waiting */

  bool repeats;         /* the sender repeats packets: some came further behind than the window */
  bool running;         /* a packet has arrived: the numbers below are valid */
  bool synced;          /* `expected` is the first number of a codestream */
  int64_t highest;      /* highest number so far, counted without wrapping */
  int64_t expected;     /* lowest number that has not been handed out */
  int64_t base;         /* number of the packet at which counting began */
  uint32_t raw_highest; /* `highest` as sent, in 24 bits */
  uint32_t jump;        /* 1 + number, as sent, of a packet far from the others; 0: none */
  uint8_t seen[SEEN / 8];

  Cj2kRtpRepairer *repairer;
  GArray *arrived;  /* Cj2kRtpArrived */
  GByteArray *kept; /* headers of the last codestream that allows reuse */
  Cj2kRtpHeader kept_main;
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
  receiver->running = receiver->synced = receiver->has_kept = receiver->repeats = false;
  receiver->end = 0;
  receiver->jump = 0;
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
  receiver->end = receiver->highest + 1;
}

void cj2k_rtp_receiver_stats(const Cj2kRtpReceiver *receiver, Cj2kRtpStats *stats)
{
  *stats = receiver->stats;
}

/* --- numbers --- */

static bool was_seen(const Cj2kRtpReceiver *receiver, int64_t number)
{
  return receiver->seen[(uint64_t)number % SEEN / 8] >> ((uint64_t)number % 8) & 1;
}

static void set_seen(Cj2kRtpReceiver *receiver, int64_t number, bool seen)
{
  uint8_t bit = (uint8_t)(1 << ((uint64_t)number % 8));
  uint8_t *byte = &receiver->seen[(uint64_t)number % SEEN / 8];
  *byte = seen ? *byte | bit : *byte & (uint8_t)~bit;
}

/* Notes that none of the numbers from first to last has arrived. */
static void forget_seen(Cj2kRtpReceiver *receiver, int64_t first, int64_t last)
{
  while (first <= last) {
    if (first % 8 == 0 && first + 7 <= last) {
      receiver->seen[(uint64_t)first % SEEN / 8] = 0;
      first += 8;
    } else {
      set_seen(receiver, first++, false);
    }
  }
}

/* Begins to count numbers at this packet. */
static int64_t start_numbers(Cj2kRtpReceiver *receiver, uint32_t raw)
{
  receiver->running = true;
  receiver->synced = false;
  receiver->raw_highest = raw;
  /* Leaves room for packets before this one, above all numbers counted before a restart. */
  receiver->highest += 2 * (int64_t)SEEN;
  receiver->base = receiver->highest;
  receiver->expected = receiver->highest - FAR_BEHIND;
  memset(receiver->seen, 0, sizeof receiver->seen);
  set_seen(receiver, receiver->highest, true);
  return receiver->highest;
}

/* The signed distance of `raw`, of 24 bits, from the highest number so far. Some senders do not
 * increment ESEQ when the sequence number wraps; then a small step forward of its 16 bits counts as
 * a wrap. */
static int64_t distance(const Cj2kRtpReceiver *receiver, uint32_t raw)
{
  int32_t delta = (int32_t)((raw - receiver->raw_highest) << 8) >> 8;
  int16_t low = (int16_t)(raw - receiver->raw_highest);
  if (raw >> 16 == receiver->raw_highest >> 16 && low > 0 && delta < -FAR_BEHIND &&
      low < FAR_BEHIND)
    return low;
  return delta;
}

/*
 * The number of a packet, counted without wrapping; -1: the packet is to be dropped. A packet far
 * from the others is dropped, unless it directly follows another such packet: then the sender has
 * restarted.
 */
static int64_t number_of(Cj2kRtpReceiver *receiver, uint32_t raw)
{
  if (!receiver->running)
    return start_numbers(receiver, raw);
  int64_t delta = distance(receiver, raw);
  if (delta < -FAR_BEHIND || delta > FAR_AHEAD) {
    bool again = receiver->jump != 0 && ((receiver->jump ^ raw) & 0xffffff) == 0;
    receiver->jump = raw + 1;
    if (!again)
      return -1;
    receiver->jump = 0;
    receiver->end = receiver->highest + 1;
    receiver->stats.restarts++;
    return start_numbers(receiver, raw);
  }
  receiver->jump = 0;
  int64_t number = receiver->highest + delta;
  if (delta <= 0)
    return number;
  forget_seen(receiver, receiver->highest + 1, MIN(number, receiver->highest + SEEN));
  receiver->stats.lost += (uint64_t)delta - 1;
  receiver->highest = number;
  receiver->raw_highest = raw;
  set_seen(receiver, number, true);
  return number;
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

/* Inserts a new set among the others, which are fewer than MAX_OPEN. */
static Set *new_set(Cj2kRtpReceiver *receiver, uint32_t timestamp, uint8_t part, int64_t number,
                    uint64_t time)
{
  uint32_t at = receiver->num_sets++;
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
                             .sorted = true};
  return &receiver->sets[at];
}

static bool is_left_out(const Cj2kRtpReceiverParams *params, const Cj2kRtpHeader *header)
{
  return header->kind == CJ2K_RTP_BODY &&
         (header->resolution > params->max_resolution ||
          (params->max_layers > 0 && header->layer >= params->max_layers));
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
  set->begins |= begins_codestream(header, data, size);
  set->left_out |= left_out;
  if (!left_out)
    g_byte_array_append(set->bytes, data, (guint)size);
  g_array_append_val(set->fragments, fragment);
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

/* Whether the payload is all zeros, which some senders append to a codestream in packets of their
 * own. */
static bool is_padding(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i < size; i++)
    if (data[i])
      return false;
  return true;
}

/* Puts a packet into its set. false: there is no room. */
static bool store(Cj2kRtpReceiver *receiver, int64_t number, uint32_t timestamp, bool marker,
                  const Cj2kRtpHeader *header, const uint8_t *data, size_t size, uint64_t time)
{
  Set *set = find_set(receiver, timestamp, header->part);
  if (!set && receiver->num_sets == MAX_OPEN)
    return false;
  if (!set)
    set = new_set(receiver, timestamp, header->part, number, time);
  if (set->bytes->len + size > MAX_BYTES || set->fragments->len >= MAX_COUNT)
    return false;
  int64_t first = set->first;
  if (set != &receiver->sets[0])
    receiver->newer++;
  add_fragment(receiver, set, number, header, marker, data, size);
  if (set->first != first)
    sort_sets(receiver);
  return true;
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
  int64_t before = receiver->highest;
  int64_t number = number_of(receiver, (uint32_t)header.extended << 16 | sequence);
  if (number < 0) {
    stats->late++;
    return;
  }
  if (number <= before && number > receiver->highest - (int64_t)SEEN) {
    receiver->repeats |= number < receiver->highest - receiver->params.window;
    if (was_seen(receiver, number)) {
      stats->duplicates++;
      return;
    }
    set_seen(receiver, number, true);
    if (number > receiver->base)
      stats->lost--;
  }
  payload += skip;
  size -= skip;
  if (number < receiver->expected) {
    stats->late++;
  } else if (number == receiver->expected && receiver->synced && header.kind == CJ2K_RTP_BODY &&
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

/* Whether all packets of a set have arrived. */
static bool is_complete(const Set *set)
{
  return set->begins && set->marker == set->last &&
         set->last - set->first + 1 == (int64_t)set->fragments->len;
}

/* Whether a set's last packet has arrived and all its gaps are further back than the window, so
 * that the missing packets are lost and not just late. Never if the sender repeats packets, because
 * it does so behind the last one. */
static bool has_old_gaps(const Cj2kRtpReceiver *receiver, const Set *set)
{
  int64_t oldest = receiver->highest - receiver->params.window;
  if (receiver->repeats || set->marker < 0 || !set->begins ||
      (receiver->synced && set->first != receiver->expected) || receiver->params.window >= SEEN)
    return false;
  for (int64_t number = set->marker; number >= oldest && number > set->first; number--)
    if (!was_seen(receiver, number))
      return false;
  return true;
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
         has_old_gaps(receiver, set);
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

static void list_arrived(Cj2kRtpReceiver *receiver, Set *set)
{
  int64_t next = receiver->synced ? receiver->expected : set->first;
  g_array_set_size(receiver->arrived, 0);
  g_array_sort(set->fragments, compare_fragments);
  for (uint32_t i = 0; i < set->fragments->len; i++) {
    const Fragment *fragment = &g_array_index(set->fragments, Fragment, i);
    Cj2kRtpArrived arrived = {.data = set->bytes->data + fragment->offset,
                              .size = fragment->size,
                              .gap = fragment->number != next,
                              .header = fragment->header};
    /* Packets missing in front of a codestream's first one belong to the codestream before. */
    if (i == 0 && fragment->size > 0 &&
        begins_codestream(&fragment->header, arrived.data, fragment->size))
      arrived.gap = false;
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
  list_arrived(receiver, set);
  bool good =
      cj2k_rtp_repair(receiver->repairer, &g_array_index(receiver->arrived, Cj2kRtpArrived, 0),
                      receiver->arrived->len, reuse ? receiver->kept : NULL, out, &result);
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

/* Keeps the headers if they are announced to be the same in later codestreams. */
static void keep_headers(Cj2kRtpReceiver *receiver, const Cj2kRtpCodestream *codestream)
{
  receiver->has_kept = codestream->main.reuse;
  if (!receiver->has_kept)
    return;
  receiver->kept_main = codestream->main;
  size_t size = cj2k_rtp_headers_size(codestream->data, codestream->size);
  g_byte_array_set_size(receiver->kept, 0);
  g_byte_array_append(receiver->kept, codestream->data, (guint)size);
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
    keep_headers(receiver, codestream);
  receiver->expected = MAX(receiver->expected, set->last + 1);
  /* After a restart `expected` belongs to the new numbers, and this set to the old ones. */
  receiver->synced = set->marker == set->last && receiver->expected == set->last + 1;
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
