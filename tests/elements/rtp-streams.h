/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams of buffers for the tests of the RTP elements, and a simulated network that loses
 * packets. */
#ifndef TESTS_ELEMENTS_RTP_STREAMS_H
#define TESTS_ELEMENTS_RTP_STREAMS_H

#include "harness.h"

/* Buffers with their caps. */
typedef struct {
  GPtrArray *buffers; /* GstBuffer */
  GstCaps *caps;      /* NULL: there was no buffer */
} Stream;

/* A stream without buffers; takes a reference to caps, which may be NULL. */
Stream stream_new(GstCaps *caps);
void stream_clear(Stream *stream);
/* Encodes pictures of pixels_buffer() by cudaj2kenc with these properties. */
Stream stream_encode(const gchar *properties, GstVideoFormat format, guint width, guint height,
                     guint count, const gchar *colorimetry);
/* Encodes one picture of noise losslessly. */
Stream stream_encode_noise(GstVideoFormat format, guint width, guint height);
/* Encodes interlaced pictures of 80x64 at 25 per second, two codestreams per buffer; order is tff,
 * bff or psf. */
Stream stream_encode_fields(const gchar *order, guint count);
/* Passes the stream and EOS through an element. *stats: the element's property stats at the end
 * (transfer full); may be NULL. */
Stream stream_pass(const gchar *factory, const gchar *properties, const Stream *in,
                   GstStructure **stats);
/* Fails the test unless the buffers received are those sent, byte by byte, and none is flagged
 * CORRUPTED. */
void stream_assert_same(const Stream *sent, const Stream *received);
/* The size of the largest buffer. */
gsize stream_largest(const Stream *stream);

/* The fields of an RTP packet that the tests examine. */
typedef struct {
  guint16 seq;
  guint32 timestamp;
  gboolean marker;
  guint8 eseq, part;
} RtpView;
RtpView rtp_view(GstBuffer *buffer);

guint64 stats_get(const GstStructure *stats, const gchar *name);
/* Fails the test unless the counts of packets add up to `received` and none is waiting. */
void stats_check(const GstStructure *stats);

/* A simulated network; probabilities are in thousandths. */
typedef struct {
  guint seed;
  guint loss, duplicate, reorder;
} Network;

/* Returns the packets that arrive, and the numbers of those lost and doubled. The first and the
 * last packet are neither lost nor moved, so that the receiver can count all losses. */
Stream network_pass(const Network *network, const Stream *packets, guint *dropped, guint *doubled);
/* Changes a byte of a randomly chosen packet, or truncates it; `count` times. */
void network_mutate(const Network *network, Stream *packets, guint count);

#endif
