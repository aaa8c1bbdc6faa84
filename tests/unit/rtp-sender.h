/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sender of RFC 9828 for tests of the receiver: packets of one codestream, to be pushed one by
 * one with any number and timestamp. */
#ifndef TESTS_UNIT_RTP_SENDER_H
#define TESTS_UNIT_RTP_SENDER_H

#include "common/rtp/packetise.h"
#include "common/rtp/receive.h"
#include "encoder-pictures.h"

typedef struct {
  uint8_t *data; /* the codestream */
  gsize size;
  Cj2kRtpPayloads payloads;
  Cj2kRtpHeader main; /* of Main packets */
} Sender;

/* Takes the codestream, and divides it into payloads of max_size. */
static inline Sender sender_of_bytes(GBytes *bytes, uint32_t max_size)
{
  Cj2kError error = {0};
  Cj2kRtpMap map;
  Sender sender = {.main = {.kind = CJ2K_RTP_MAIN_ONLY}};
  Cj2kRtpLocator *locator = cj2k_rtp_locator_new();
  sender.data = g_bytes_unref_to_data(bytes, &sender.size);
  g_assert_cmpint(cj2k_rtp_locate(locator, sender.data, sender.size, &map, &error), ==, CJ2K_OK);
  cj2k_rtp_packetise(&map, max_size, &sender.payloads);
  sender.main.order = map.order;
  cj2k_rtp_locator_free(locator);
  return sender;
}

/* A codestream of 96x80 samples, with these options of the encoder, in payloads of max_size. */
static inline Sender sender_new(const char *options, uint32_t max_size)
{
  static const uint8_t ones[1] = {1};
  Cj2kEncoderParams params;
  Cj2kError error = {0};
  TestPicture picture;
  cj2k_encoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CPU;
  test_set_options(&params, options);
  test_picture_init(&picture, SCENE_NATURAL, 96, 80, 1, 8, false, ones, ones, 0, 0);
  GBytes *bytes = test_encode(&params, &picture, &error);
  g_assert_nonnull(bytes);
  test_picture_clear(&picture);
  return sender_of_bytes(bytes, max_size);
}

static inline void sender_clear(Sender *sender)
{
  g_free(sender->data);
  cj2k_rtp_payloads_clear(&sender->payloads);
}

/* Pushes a packet of any content. */
static inline void push_packet(Cj2kRtpReceiver *receiver, uint32_t number, uint32_t timestamp,
                               bool marker, const Cj2kRtpHeader *header, const uint8_t *data,
                               gsize size)
{
  uint8_t *bytes = (uint8_t *)g_malloc(CJ2K_RTP_HEADER_BYTES + size);
  Cj2kRtpHeader copy = *header;
  copy.extended = (uint8_t)(number >> 16);
  cj2k_rtp_header_write(&copy, bytes);
  memcpy(bytes + CJ2K_RTP_HEADER_BYTES, data, size);
  cj2k_rtp_receiver_push(receiver, (uint16_t)number, timestamp, marker, bytes,
                         CJ2K_RTP_HEADER_BYTES + size, 0);
  g_free(bytes);
}

/* Pushes packet i of the codestream, with the number first + i. */
static inline void sender_push(const Sender *sender, Cj2kRtpReceiver *receiver, uint32_t i,
                               uint32_t first, uint32_t timestamp, bool marker)
{
  const Cj2kRtpPayload *payload = &sender->payloads.payloads[i];
  Cj2kRtpHeader header = payload->header.kind == CJ2K_RTP_BODY ? payload->header : sender->main;
  header.kind = payload->header.kind;
  push_packet(receiver, first + i, timestamp, marker && i + 1 == sender->payloads.count, &header,
              sender->data + payload->offset, payload->size);
}

/* Pushes all packets but `without` (UINT32_MAX: none). Returns the number behind the last one. */
static inline uint32_t sender_push_all(const Sender *sender, Cj2kRtpReceiver *receiver,
                                       uint32_t first, uint32_t timestamp, uint32_t without)
{
  for (uint32_t i = 0; i < sender->payloads.count; i++)
    if (i != without)
      sender_push(sender, receiver, i, first, timestamp, true);
  return first + sender->payloads.count;
}

/* Pulls all codestreams and compares those that are not repaired with what was sent. */
static inline uint32_t sender_pull(const Sender *sender, Cj2kRtpReceiver *receiver,
                                   uint32_t *repaired)
{
  Cj2kRtpCodestream codestream;
  uint32_t count = 0;
  for (; cj2k_rtp_receiver_pull(receiver, &codestream); count++) {
    if (codestream.repaired)
      ++*repaired;
    else
      g_assert_cmpmem(codestream.data, codestream.size, sender->data, sender->size);
    g_free(codestream.data);
  }
  return count;
}

#endif
