/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * RTP (RFC 9828). An input that begins like a codestream is sent: all packets must bring it back
 * unchanged, and with some of them lost what comes out must have readable headers. Sent in parts,
 * it gives the same packets. Any other input is received: three bytes of parameters, then packets:
 * a byte with marker and step of the sequence number, two bytes of length, payload.
 */
#include "common/rtp/image.h"
#include "common/rtp/locate_parts.h"
#include "common/rtp/packetise.h"
#include "common/rtp/receive.h"
#include "fuzz.h"

static void check_headers(const uint8_t *data, size_t size)
{
  Cj2kHeaderReader *reader = cj2k_header_reader_new();
  Cj2kError error = {0};
  Cj2kHeader *header;
  bool same;
  Cj2kStatus status =
      cj2k_header_read(reader, data, size, false, 1 << 20, &header, &same, NULL, &error);
  FUZZ_CHECK(status != CJ2K_ERROR_CODESTREAM, "repaired: %s", error.text);
  cj2k_header_reader_free(reader);
}

/* What was handed out of the codestream that is next. */
static uint8_t *begun;
static size_t begun_size;

static void forget_begun(void)
{
  g_clear_pointer(&begun, g_free);
  begun_size = 0;
}

/* Hands out what is there of the codestream that is next. */
static void pull_begin(Cj2kRtpReceiver *receiver)
{
  Cj2kRtpBegin begin;
  if (!cj2k_rtp_receiver_pull_begin(receiver, &begin))
    return;
  if (!begin.given)
    forget_begun();
  FUZZ_CHECK(begin.given == begun_size && begin.size > begin.given, "begins of %zu and %zu bytes",
             begin.given, begin.size);
  FUZZ_CHECK(!begun_size || !memcmp(begin.data, begun, begun_size), "a begin has changed");
  g_free(begun);
  begun = g_memdup2(begin.data, begin.size);
  begun_size = begin.size;
}

/* Hands out what is ready. `sent`: what was sent, if all of it should come. */
static uint32_t pull(Cj2kRtpReceiver *receiver, const uint8_t *sent, size_t size)
{
  Cj2kRtpCodestream codestream;
  Cj2kRtpImage image;
  uint32_t count = 0;
  while (cj2k_rtp_receiver_pull(receiver, &codestream)) {
    count++;
    FUZZ_CHECK(!sent || (codestream.size == size && !memcmp(codestream.data, sent, size)),
               "%zu bytes came, %zu were sent", codestream.size, size);
    FUZZ_CHECK(!sent || !codestream.repaired, "repaired without a loss");
    if (codestream.given)
      FUZZ_CHECK(codestream.given <= codestream.size && codestream.given <= begun_size &&
                     !memcmp(codestream.data, begun, codestream.given),
                 "a codestream does not begin as before");
    cj2k_rtp_image_read(codestream.data, codestream.size, &image);
    if (codestream.repaired)
      check_headers(codestream.data, codestream.size);
    g_free(codestream.data);
  }
  return count;
}

static void check_stats(const Cj2kRtpReceiver *receiver)
{
  Cj2kRtpStats s;
  cj2k_rtp_receiver_stats(receiver, &s);
  FUZZ_CHECK(s.received ==
                 s.used + s.unused + s.left_out + s.late + s.duplicates + s.malformed + s.waiting,
             "%" G_GUINT64_FORMAT " packets are not the sum of their kinds", s.received);
}

/* `keep`: bit i % 64 says whether payload i arrives. */
static void send(const Cj2kRtpPayloads *payloads, const uint8_t *data, size_t size, uint64_t keep)
{
  Cj2kRtpReceiverParams params = {.window = 4, .max_resolution = 7};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  for (uint32_t i = 0; i < payloads->count; i++) {
    const Cj2kRtpPayload *payload = &payloads->payloads[i];
    if (!(keep >> i % 64 & 1))
      continue;
    uint8_t *bytes = g_malloc(CJ2K_RTP_HEADER_BYTES + payload->size);
    cj2k_rtp_header_write(&payload->header, bytes);
    memcpy(bytes + CJ2K_RTP_HEADER_BYTES, data + payload->offset, payload->size);
    cj2k_rtp_receiver_push(receiver, (uint16_t)i, 1, i + 1 == payloads->count, bytes,
                           CJ2K_RTP_HEADER_BYTES + payload->size, 0);
    g_free(bytes);
    pull_begin(receiver);
  }
  cj2k_rtp_receiver_end(receiver);
  uint32_t count = pull(receiver, keep == UINT64_MAX ? data : NULL, size);
  FUZZ_CHECK(count == 1 || keep != UINT64_MAX, "%u codestreams", count);
  check_stats(receiver);
  cj2k_rtp_receiver_free(receiver);
  forget_begun();
}

/* A payload that begins with SOC and SIZ is taken for the first one of a codestream; such bytes in
 * the middle of one are not worth more. */
static bool is_ambiguous(const uint8_t *data, size_t size)
{
  for (size_t at = 2; at + 4 <= size; at++)
    if (data[at] == 0xff && data[at + 1] == 0x4f && data[at + 2] == 0xff && data[at + 3] == 0x51)
      return true;
  return false;
}

static bool same_units(const Cj2kRtpMap *a, const Cj2kRtpMap *b)
{
  if (a->num_units != b->num_units)
    return false;
  for (uint32_t i = 0; i < a->num_units; i++)
    if (a->units[i].offset != b->units[i].offset || a->units[i].size != b->units[i].size)
      return false;
  return true;
}

static void check_payload(const Cj2kRtpPayload *part, const Cj2kRtpPayload *whole, uint32_t i)
{
  const Cj2kRtpHeader *a = &part->header, *b = &whole->header;
  FUZZ_CHECK(part->offset == whole->offset && part->size == whole->size &&
                 part->lowest == whole->lowest && a->kind == b->kind &&
                 a->resolution == b->resolution && a->layer == b->layer && a->marked == b->marked &&
                 a->position == b->position && a->precinct == b->precinct,
             "payload %u of a part is not that of the whole", i);
}

/* Sends the codestream in parts of `step` bytes. Where its packets are those of the whole, so are
 * the payloads. */
static void test_parts(const uint8_t *data, const Cj2kRtpMap *whole, uint32_t max_size, size_t step)
{
  Cj2kRtpPartsLocator *locator = cj2k_rtp_parts_locator_new();
  Cj2kRtpPayloads payloads = {0}, expected = {0};
  Cj2kRtpCursor cursor = {0};
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Cj2kRtpPayload));
  Cj2kRtpMap map = {0};
  Cj2kRtpPartsState state = CJ2K_RTP_PARTS_MORE;
  size_t end = (size_t)whole->end, at = 0;

  cj2k_rtp_parts_begin(locator);
  while (at < end && state != CJ2K_RTP_PARTS_WHOLE) {
    at = MIN(at + step, end);
    uint8_t *part = fuzz_copy(data, at);
    state = cj2k_rtp_parts_locate(locator, part, at, at == end, &map);
    if (state == CJ2K_RTP_PARTS_READY)
      cj2k_rtp_packetise_on(&map, &cursor, max_size, &payloads);
    if (state == CJ2K_RTP_PARTS_READY && payloads.count)
      g_array_append_vals(all, payloads.payloads, payloads.count);
    g_free(part);
  }
  FUZZ_CHECK(state == CJ2K_RTP_PARTS_WHOLE || cursor.at == end, "bytes are left over");
  if (state == CJ2K_RTP_PARTS_READY && map.order == whole->order && same_units(&map, whole)) {
    cj2k_rtp_packetise(whole, max_size, &expected);
    FUZZ_CHECK(all->len == expected.count, "%u payloads in parts, %u of the whole", all->len,
               expected.count);
    for (uint32_t i = 0; i < all->len; i++)
      check_payload(&g_array_index(all, Cj2kRtpPayload, i), &expected.payloads[i], i);
  }
  g_array_unref(all);
  cj2k_rtp_payloads_clear(&payloads);
  cj2k_rtp_payloads_clear(&expected);
  cj2k_rtp_parts_locator_free(locator);
}

static void test_sender(const uint8_t *data, size_t size)
{
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  Cj2kRtpPayloads payloads = {0};
  Cj2kError error = {0};
  Cj2kRtpMap map;

  if (cj2k_rtp_locate(locator, data, size, &map, &error) == CJ2K_OK) {
    uint64_t sum = 0;
    cj2k_rtp_packetise(&map, 20 + size % 1400, &payloads);
    for (uint32_t i = 0; i < payloads.count; i++) {
      FUZZ_CHECK(payloads.payloads[i].offset == sum && payloads.payloads[i].size,
                 "payload %u has a gap before it", i);
      sum += payloads.payloads[i].size;
    }
    FUZZ_CHECK(sum == map.end && sum <= size, "%" G_GUINT64_FORMAT " bytes are sent", sum);
    if (payloads.count < 4096) {
      if (!is_ambiguous(data, size))
        send(&payloads, data, (size_t)map.end, UINT64_MAX);
      test_parts(data, &map, 20 + size % 1400, map.end / 16 + size % 7 + 1);
      send(&payloads, data, (size_t)map.end, ~(UINT64_C(0x1042) << size % 48));
    }
  } else {
    FUZZ_CHECK(error.text[0], "refused without a reason");
  }
  cj2k_rtp_payloads_clear(&payloads);
  cj2k_rtp_locator_free(locator);
}

/* What was read of a header and written again must be read as the same. */
static void check_header(const uint8_t *bytes, size_t size)
{
  Cj2kRtpHeader header, again;
  uint8_t written[CJ2K_RTP_HEADER_BYTES];
  size_t payload;
  if (!cj2k_rtp_header_read(&header, bytes, size, &payload))
    return;
  FUZZ_CHECK(payload <= size, "the payload begins behind the packet");
  header.num_extension = 0;
  cj2k_rtp_header_write(&header, written);
  FUZZ_CHECK(cj2k_rtp_header_read(&again, written, sizeof written, &payload), "not read again");
  FUZZ_CHECK(memcmp(&header, &again, sizeof header) == 0, "another header");
}

static void test_receiver(const uint8_t *data, size_t size)
{
  FuzzInput in = fuzz_input(data, size);
  Cj2kRtpReceiverParams params = {.window = fuzz_range(&in, 0, 40),
                                  .max_resolution = (uint8_t)fuzz_range(&in, 0, 7),
                                  .max_layers = (uint8_t)fuzz_range(&in, 0, 3)};
  Cj2kRtpReceiver *receiver = cj2k_rtp_receiver_new(&params);
  uint16_t sequence = 65530;
  uint32_t timestamp = 0;

  while (fuzz_left(&in)) {
    uint32_t control = (uint32_t)fuzz_take(&in, 1);
    size_t length = (size_t)fuzz_take(&in, 2);
    length = MIN(length, fuzz_left(&in));
    uint8_t *payload = fuzz_copy(in.at, length);
    in.at += length;
    check_header(payload, length);
    int step = control & 7 ? (int)(control & 7) : -3;
    sequence = (uint16_t)(sequence + step + (control & 64 ? 30000 : 0));
    timestamp += control & 8 ? 1 : 0;
    cj2k_rtp_receiver_push(receiver, sequence, timestamp, control & 16, payload, length, 0);
    g_free(payload);
    if (control & 32) {
      pull(receiver, NULL, 0);
      pull_begin(receiver);
    }
    if (control == 255)
      cj2k_rtp_receiver_flush(receiver);
  }
  cj2k_rtp_receiver_end(receiver);
  pull(receiver, NULL, 0);
  check_stats(receiver);
  cj2k_rtp_receiver_free(receiver);
  forget_begun();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size >= 2 && data[0] == 0xff && data[1] == 0x4f)
    test_sender(data, size);
  else
    test_receiver(data, size);
  return 0;
}
