/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests when the receiver of RFC 9828 hands out codestreams, with senders that restart, send
 * padding, or write no markers. */
#include "rtp-sender.h"

#include "common/codestream/markers.h"
#include "common/rtp/sequence.h"

#define NONE UINT32_MAX

static const char small_packets[] =
    "block-coder=ht precincts=32x32 progression-order=rpcl num-resolutions=3";

static Cj2kRtpReceiver *receiver_new(uint32_t window, uint64_t deadline)
{
  Cj2kRtpReceiverParams params = {.window = window, .deadline = deadline, .max_resolution = 7};
  return cj2k_rtp_receiver_new(&params);
}

static Cj2kRtpStats stats_of(const Cj2kRtpReceiver *receiver)
{
  Cj2kRtpStats stats;
  cj2k_rtp_receiver_stats(receiver, &stats);
  g_assert_cmpuint(stats.received, ==,
                   stats.used + stats.unused + stats.left_out + stats.late + stats.duplicates +
                       stats.malformed + stats.waiting);
  return stats;
}

/* The numbers themselves: the 64th strange packet in succession restarts them, which is counted. */
static void test_suspects(void)
{
  Cj2kRtpSequence *sequence = g_new0(Cj2kRtpSequence, 1);
  bool first, restarted;

  g_assert_cmpint(cj2k_rtp_sequence_take(sequence, 1000, &first, &restarted), >=, 0);
  for (uint32_t round = 1; round <= 2; round++) {
    for (uint32_t i = 1; i < 64; i++)
      g_assert_cmpint(cj2k_rtp_sequence_suspect(sequence, 500 + i), ==, -1);
    g_assert_cmpuint(sequence->restarts, ==, round - 1);
    int64_t highest = sequence->highest;
    g_assert_cmpint(cj2k_rtp_sequence_suspect(sequence, 600), >, highest);
    g_assert_cmpuint(sequence->restarts, ==, round);
    g_assert_cmpuint(sequence->raw_highest, ==, 600);
  }
  /* A packet that is no suspect: the count begins anew. */
  for (uint32_t i = 1; i < 64; i++)
    cj2k_rtp_sequence_suspect(sequence, 500);
  cj2k_rtp_sequence_take(sequence, 601, &first, &restarted);
  g_assert_cmpint(cj2k_rtp_sequence_suspect(sequence, 500), ==, -1);
  g_assert_cmpuint(sequence->restarts, ==, 2);
  g_free(sequence);
}

/* A sender that restarts with numbers slightly lower than before is recognised after 64 packets;
 * packets of known codestreams that come twice or late are no restart. */
static void test_restart_behind(void)
{
  Sender sender = sender_new(small_packets, 200);
  Cj2kRtpReceiver *receiver = receiver_new(32, 0);
  uint32_t number = 20000, repaired = 0, length = sender.payloads.count;
  g_assert_cmpuint(length, >, 8);
  for (uint32_t i = 0; i < 10; i++) {
    number = sender_push_all(&sender, receiver, number, 1000 + i, NONE);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  }
  for (uint32_t i = 0; i < 200; i++)
    sender_push(&sender, receiver, i % length, number - length, 1009, true);
  g_assert_cmpuint(stats_of(receiver).restarts, ==, 0);
  g_assert_cmpuint(stats_of(receiver).duplicates, ==, 200);
  uint32_t again = 0, frames = 64 / length + 8;
  number -= 150;
  for (uint32_t i = 0; i < frames; i++) {
    number = sender_push_all(&sender, receiver, number, 900000 + i, NONE);
    again += sender_pull(&sender, receiver, &repaired);
  }
  Cj2kRtpStats stats = stats_of(receiver);
  g_assert_cmpuint(stats.restarts, ==, 1);
  g_assert_cmpuint(stats.duplicates + stats.late, ==, 200 + 63);
  g_assert_cmpuint(again, >=, 6);
  g_assert_cmpuint(repaired, <=, 1); /* the codestream that was sent while it was recognised */
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* Padding in packets of its own may overtake the packet with the EOC, or be lost. */
static void test_padding(void)
{
  static const uint8_t zeros[100];
  const Cj2kRtpHeader body = {.kind = CJ2K_RTP_BODY};
  Sender sender = sender_new(small_packets, 200);
  uint32_t last = sender.payloads.count - 1;
  for (uint32_t kind = 0; kind < 3; kind++) {
    Cj2kRtpReceiver *receiver = receiver_new(32, 0);
    uint32_t repaired = 0, count = 0, number = 500;
    for (uint32_t i = 0; i < 6; i++) {
      for (uint32_t k = 0; k < last; k++)
        sender_push(&sender, receiver, k, number, i, true);
      for (uint32_t k = 2; k > 0; k--)
        if (kind < 2 || k == 2) /* the first packet of padding is lost */
          push_packet(receiver, number + last + k, i, false, &body, zeros, sizeof zeros);
      sender_push(&sender, receiver, last, number, i, true);
      number += last + 3;
      count += sender_pull(&sender, receiver, &repaired);
      g_assert_cmpuint(count, ==, i + 1);
      if (kind == 1) /* once more, which is a duplicate */
        push_packet(receiver, number - 1, i, false, &body, zeros, sizeof zeros);
    }
    g_assert_cmpuint(repaired, ==, 0);
    g_assert_cmpuint(stats_of(receiver).lost, ==, kind == 2 ? 6 : 0);
    g_assert_cmpuint(stats_of(receiver).duplicates, ==, kind == 1 ? 6 : 0);
    cj2k_rtp_receiver_free(receiver);
  }
  sender_clear(&sender);
}

/* Where the marker is on the last packet of padding, the codestream is as intact as without it, and
 * is repaired only if one of its packets is lost. */
static void test_marked_padding(void)
{
  static const uint8_t zeros[100];
  const Cj2kRtpHeader body = {.kind = CJ2K_RTP_BODY};
  Sender sender = sender_new(small_packets, 200);
  uint32_t length = sender.payloads.count;
  for (uint32_t padding = 1; padding < 80; padding += 26) {
    Cj2kRtpReceiver *receiver = receiver_new(32, 0);
    uint32_t repaired = 0, number = 500;
    for (uint32_t i = 0; i < 6; i++) {
      for (uint32_t k = 0; k < length; k++)
        if (i < 4 || k != length / 2)
          sender_push(&sender, receiver, k, number, i, false);
      number += length;
      for (uint32_t k = 1; k <= padding; k++)
        push_packet(receiver, number++, i, k == padding, &body, zeros, sizeof zeros);
      sender_pull(&sender, receiver, &repaired);
    }
    cj2k_rtp_receiver_end(receiver);
    sender_pull(&sender, receiver, &repaired);
    g_assert_cmpuint(stats_of(receiver).intact, ==, 4);
    g_assert_cmpuint(repaired, ==, 2);
    cj2k_rtp_receiver_free(receiver);
  }
  sender_clear(&sender);
}

/* A sender that writes neither markers nor new timestamps: a codestream ends where the next one
 * begins. */
static void test_no_marker(void)
{
  Sender sender = sender_new(small_packets, 200);
  Cj2kRtpReceiver *receiver = receiver_new(32, 0);
  uint32_t repaired = 0, number = 500, count = 0;
  for (uint32_t i = 0; i < 5; i++) {
    for (uint32_t k = 0; k < sender.payloads.count; k++)
      if (i != 2 || k != 5)
        sender_push(&sender, receiver, k, number, 77, false);
    number += sender.payloads.count;
    count += sender_pull(&sender, receiver, &repaired);
    g_assert_cmpuint(count, ==, i);
  }
  g_assert_cmpuint(repaired, ==, 1);
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* Packets of one codestream without end: it is handed out when it has as many as are allowed. */
static void test_endless(void)
{
  static const uint8_t byte[1] = {0x55};
  const Cj2kRtpHeader body = {.kind = CJ2K_RTP_BODY};
  Sender sender = sender_new(small_packets, 200);
  Cj2kRtpReceiver *receiver = receiver_new(32, 0);
  uint32_t repaired = 0, count = 0;
  for (uint32_t i = 0; i < (1u << 21) + 100 && count == 0; i++) {
    if (i < sender.payloads.count)
      sender_push(&sender, receiver, i, 0, 77, false);
    else
      push_packet(receiver, i, 77, false, &body, byte, 1);
    count += sender_pull(&sender, receiver, &repaired);
  }
  g_assert_cmpuint(count, ==, 1);
  g_assert_cmpuint(repaired, ==, 1);
  g_assert_cmpuint(stats_of(receiver).waiting, ==, 0);
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* With a deadline a codestream with a gap waits no longer than that after its end, however few
 * packets follow. */
static void test_deadline(void)
{
  Sender sender = sender_new(small_packets, 200);
  Cj2kRtpReceiver *receiver = receiver_new(1000, 20);
  uint32_t repaired = 0, count = sender.payloads.count, number = 500;
  cj2k_rtp_receiver_advance(receiver, 100);
  number = sender_push_all(&sender, receiver, number, 1, NONE);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, UINT64_MAX);

  /* A packet is missing: the marker comes at 200. */
  for (uint32_t i = 0; i < count; i++) {
    cj2k_rtp_receiver_advance(receiver, i + 1 < count ? 140 : 200);
    if (i != 4)
      sender_push(&sender, receiver, i, number, 2, true);
  }
  number += count;
  cj2k_rtp_receiver_advance(receiver, 219);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 0);
  g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, 220);
  cj2k_rtp_receiver_advance(receiver, 220);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  g_assert_cmpuint(repaired, ==, 1);

  /* The last packet is missing: it waits from the next codestream's first packet. */
  cj2k_rtp_receiver_advance(receiver, 240);
  number = sender_push_all(&sender, receiver, number, 3, count - 1);
  cj2k_rtp_receiver_advance(receiver, 270);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 0);
  number = sender_push_all(&sender, receiver, number, 4, NONE);
  g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, 290);
  cj2k_rtp_receiver_advance(receiver, 290);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 2);
  g_assert_cmpuint(repaired, ==, 2);

  /* The sender stops inside a codestream: it waits until one period after its first packet. */
  cj2k_rtp_receiver_advance(receiver, 300);
  for (uint32_t i = 0; i < 5; i++)
    sender_push(&sender, receiver, i, number, 5, true);
  g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, 300 + 30 + 20);
  cj2k_rtp_receiver_advance(receiver, 350);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  g_assert_cmpuint(repaired, ==, 3);
  g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, UINT64_MAX);
  stats_of(receiver);
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* A clock that is set back neither ends the wait nor stretches it. */
static void test_clock_back(void)
{
  Sender sender = sender_new(small_packets, 200);
  Cj2kRtpReceiver *receiver = receiver_new(1000, 20);
  uint32_t repaired = 0, number = 500;
  cj2k_rtp_receiver_advance(receiver, 1000000);
  number = sender_push_all(&sender, receiver, number, 1, NONE);
  g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  for (uint32_t i = 0; i < 2; i++) { /* before the codestream, and while it is waited for */
    cj2k_rtp_receiver_advance(receiver, 100 - i);
    number = sender_push_all(&sender, receiver, number, 2 + i, 4);
    g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, 120 - i);
    cj2k_rtp_receiver_advance(receiver, 110);
    cj2k_rtp_receiver_advance(receiver, 50);
    g_assert_cmpuint(cj2k_rtp_receiver_due(receiver), ==, 60 - i);
    cj2k_rtp_receiver_advance(receiver, 59 - i);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 0);
    cj2k_rtp_receiver_advance(receiver, 60 - i);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
  }
  g_assert_cmpuint(repaired, ==, 2);
  stats_of(receiver);
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* Packets that are known to be lost are not waited for: one inside a codestream, the last one, and
 * the first one of which no headers were kept. */
static void test_settle(void)
{
  Sender sender = sender_new(small_packets, 200);
  uint32_t count = sender.payloads.count, gaps[] = {4, count - 1, 0};
  for (uint32_t i = 0; i < G_N_ELEMENTS(gaps); i++) {
    Cj2kRtpReceiver *receiver = receiver_new(1000, 0);
    uint32_t repaired = 0, number = 65530;
    number = sender_push_all(&sender, receiver, number, 1, NONE);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
    uint32_t lost = number + gaps[i];
    number = sender_push_all(&sender, receiver, number, 2, gaps[i]);
    sender_push(&sender, receiver, 0, number, 3, true);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 0);
    cj2k_rtp_receiver_settle(receiver, (uint16_t)lost);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, gaps[i] > 0);
    g_assert_cmpuint(repaired, ==, gaps[i] > 0);
    g_assert_cmpuint(stats_of(receiver).waiting, ==, 1);
    cj2k_rtp_receiver_free(receiver);
  }
  sender_clear(&sender);
}

/* If only the Main packets are lost and an earlier header may be used, no other packet is, even
 * where nothing marks the packets. With the first Body packet lost as well they cannot be found. */
static void test_reuse(void)
{
  Sender sender = sender_new("block-coder=ht rate-control=lossless num-resolutions=3", 200);
  sender.main.reuse = true;
  sender.main.order = CJ2K_RTP_ORDER_UNMARKED;
  for (uint32_t i = 0; i < sender.payloads.count; i++)
    if (sender.payloads.payloads[i].header.kind == CJ2K_RTP_BODY)
      sender.payloads.payloads[i].header.marked = false;
  for (uint32_t lost = 1; lost < 3; lost++) {
    Cj2kRtpReceiver *receiver = receiver_new(4, 0);
    Cj2kRtpCodestream codestream;
    uint32_t number = 9, repaired = 0;
    number = sender_push_all(&sender, receiver, number, 1, NONE);
    g_assert_cmpuint(sender_pull(&sender, receiver, &repaired), ==, 1);
    for (uint32_t i = lost; i < sender.payloads.count; i++)
      sender_push(&sender, receiver, i, number, 2, true);
    g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
    g_assert_true(codestream.repaired);
    if (lost == 1)
      g_assert_cmpmem(codestream.data + 200, codestream.size - 200, sender.data + 200,
                      sender.size - 200);
    g_assert_cmpuint(stats_of(receiver).filled > 0, ==, lost == 2);
    g_free(codestream.data);
    cj2k_rtp_receiver_free(receiver);
  }
  sender_clear(&sender);
}

/* A packet that comes once far behind, such as one doubled by the network, does not make the
 * receiver wait for repeated packets for ever. */
static void test_repeats(void)
{
  Sender sender = sender_new(small_packets, 100);
  Cj2kRtpReceiver *receiver = receiver_new(4, 0);
  uint32_t number = 500, repaired = 0, count = sender.payloads.count, pulled = 0;
  g_assert_cmpuint(count, >, 16);
  number = sender_push_all(&sender, receiver, number, 1, NONE);
  sender_push(&sender, receiver, 0, number - count, 1, true);
  for (uint32_t i = 2; i < 40; i++) {
    number = sender_push_all(&sender, receiver, number, i, i == 2 || i > 30 ? 5 : NONE);
    pulled += sender_pull(&sender, receiver, &repaired);
    if (i == 2) /* it waits, because packet 5 may be repeated */
      g_assert_cmpuint(pulled, ==, 1);
    if (i > 30)
      g_assert_cmpuint(pulled, ==, i);
  }
  cj2k_rtp_receiver_free(receiver);
  sender_clear(&sender);
}

/* Changes all Nsop: adds `step`, or sets them to 3 if step is 0. */
static void change_nsop(Sender *sender, uint32_t step)
{
  for (gsize at = 0; at + 6 < sender->size; at++) {
    uint8_t *sop = sender->data + at;
    uint32_t number = step ? cj2k_get16(sop + 4) + step : 3;
    if (cj2k_get16(sop) != CJ2K_SOP || cj2k_get16(sop + 2) != 4)
      continue;
    sop[4] = (uint8_t)(number >> 8);
    sop[5] = (uint8_t)number;
  }
}

/* The number of empty packets that take the place of missing ones if packet `lost` is. */
static uint64_t count_filled(const Sender *sender, uint32_t lost)
{
  Cj2kRtpReceiver *receiver = receiver_new(0, 0);
  Cj2kRtpCodestream codestream;
  sender_push_all(sender, receiver, 100, 1, lost);
  g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
  g_assert_true(codestream.repaired);
  uint64_t filled = stats_of(receiver).filled;
  g_free(codestream.data);
  cj2k_rtp_receiver_free(receiver);
  return filled;
}

/* Some encoders number packets by SOP from another number than 0, or give all the same one. */
static void test_nsop(gconstpointer data)
{
  const char *options = "block-coder=ht precincts=32x32 num-resolutions=3 sop=true eph=true";
  uint32_t step = GPOINTER_TO_UINT(data);
  /* With one number for all and without marks nothing tells what is missing. */
  for (uint32_t marked = step == 0; marked < 2; marked++) {
    Sender plain = sender_new(options, 400), odd = sender_new(options, 400);
    for (uint32_t i = 0; i < plain.payloads.count && !marked; i++)
      if (plain.payloads.payloads[i].header.marked)
        plain.payloads.payloads[i].header = odd.payloads.payloads[i].header = (Cj2kRtpHeader){0};
    change_nsop(&odd, step);
    /* The first packet tells where numbers begin; if it is lost, only marks help. */
    for (uint32_t lost = marked ? 1 : 2; lost + 1 < plain.payloads.count; lost++)
      g_assert_cmpuint(count_filled(&plain, lost), ==, count_filled(&odd, lost));
    sender_clear(&plain);
    sender_clear(&odd);
  }
}

/* POS may name the first packet's SOP or, as our sender has it, what follows it. */
static void test_position(void)
{
  const char *options = "block-coder=ht precincts=32x32 num-resolutions=3 sop=true";
  Sender behind = sender_new(options, 400), at_sop = sender_new(options, 400);
  uint32_t marked = 0;
  change_nsop(&behind, 0); /* so that only marks help */
  change_nsop(&at_sop, 0);
  for (uint32_t i = 0; i < at_sop.payloads.count; i++) {
    Cj2kRtpHeader *header = &at_sop.payloads.payloads[i].header;
    if (!header->marked)
      continue;
    g_assert_cmpuint(header->position, >=, 6);
    header->position -= 6;
    marked++;
  }
  g_assert_cmpuint(marked, >, 8);
  for (uint32_t lost = 1; lost + 1 < behind.payloads.count; lost++)
    g_assert_cmpuint(count_filled(&behind, lost), ==, count_filled(&at_sop, lost));
  sender_clear(&behind);
  sender_clear(&at_sop);
}

/* The bytes of a tile, which has one tile-part. */
static const uint8_t *find_tile(const uint8_t *data, gsize size, uint32_t tile, gsize *length)
{
  for (gsize at = 0; at + 12 < size; at++)
    if (cj2k_get16(data + at) == CJ2K_SOT && cj2k_get16(data + at + 2) == 10 &&
        cj2k_get16(data + at + 4) == tile) {
      *length = cj2k_get32(data + at + 6);
      return data + at;
    }
  g_assert_not_reached();
}

/* The size of the packet with SOP at `sop`. */
static gsize packet_size(const uint8_t *sop, const uint8_t *end)
{
  const uint8_t *next = sop + 6;
  while (next + 6 < end && (cj2k_get16(next) != CJ2K_SOP || cj2k_get16(next + 2) != 4))
    next++;
  return (gsize)((next + 6 < end ? next : end) - sop);
}

/* Each packet of a repaired tile that has bytes is one of this tile as it was sent. */
static uint32_t check_tile(const Sender *sender, const Cj2kRtpCodestream *repaired, uint32_t tile)
{
  gsize length, sent_length;
  uint32_t count = 0;
  const uint8_t *data = find_tile(repaired->data, repaired->size, tile, &length);
  const uint8_t *sent = find_tile(sender->data, sender->size, tile, &sent_length);
  const uint8_t *end = data + length;
  for (gsize at = 14; at + 6 < length; at += packet_size(data + at, end)) {
    gsize size = packet_size(data + at, end);
    g_assert_cmpuint(cj2k_get16(data + at), ==, CJ2K_SOP);
    if (size <= 10) /* empty: SOP, header and EPH */
      continue;
    const uint8_t *same = sent;
    while (same + size <= sent + sent_length && memcmp(same, data + at, size) != 0)
      same++;
    g_assert_true(same + size <= sent + sent_length);
    count++;
  }
  return count;
}

/* Packets in a row are lost, with tile-part headers among them: what comes behind the gap is not
 * taken for packets of the tile before it, where SOP has the same numbers. */
static void test_tiles(void)
{
  Sender sender = sender_new("block-coder=ht precincts=32x32 num-resolutions=2 sop=true eph=true "
                             "tile-width=32 tile-height=80 rate-control=lossless",
                             150);
  uint32_t kept = 0;
  for (uint32_t first = 2; first + 1 < sender.payloads.count; first++)
    for (uint32_t count = 1; count < 16 && first + count < sender.payloads.count; count++) {
      Cj2kRtpReceiver *receiver = receiver_new(0, 0);
      Cj2kRtpCodestream codestream;
      for (uint32_t i = 0; i < sender.payloads.count; i++)
        if (i < first || i >= first + count)
          sender_push(&sender, receiver, i, 100, 1, true);
      g_assert_true(cj2k_rtp_receiver_pull(receiver, &codestream));
      g_assert_true(codestream.repaired);
      for (uint32_t tile = 0; tile < 3; tile++)
        kept += check_tile(&sender, &codestream, tile);
      g_free(codestream.data);
      cj2k_rtp_receiver_free(receiver);
    }
  g_assert_cmpuint(kept, >, 100);
  sender_clear(&sender);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rtp-receive/restart-behind", test_restart_behind);
  g_test_add_func("/rtp-receive/suspects", test_suspects);
  g_test_add_func("/rtp-receive/padding", test_padding);
  g_test_add_func("/rtp-receive/marked-padding", test_marked_padding);
  g_test_add_func("/rtp-receive/no-marker", test_no_marker);
  g_test_add_func("/rtp-receive/endless", test_endless);
  g_test_add_func("/rtp-receive/deadline", test_deadline);
  g_test_add_func("/rtp-receive/clock-back", test_clock_back);
  g_test_add_func("/rtp-receive/settle", test_settle);
  g_test_add_func("/rtp-receive/reuse", test_reuse);
  g_test_add_func("/rtp-receive/repeats", test_repeats);
  g_test_add_data_func("/rtp-receive/nsop/from-7", GUINT_TO_POINTER(7), test_nsop);
  g_test_add_data_func("/rtp-receive/nsop/constant", GUINT_TO_POINTER(0), test_nsop);
  g_test_add_func("/rtp-receive/position", test_position);
  g_test_add_func("/rtp-receive/tiles", test_tiles);
  return g_test_run();
}
