/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams of buffers for the tests of the RTP elements, and a network that loses some of them. */
#ifndef TESTS_ELEMENTS_RTP_STREAMS_H
#define TESTS_ELEMENTS_RTP_STREAMS_H

#include "harness.h"

/* Buffers with their caps. */
typedef struct {
  GPtrArray *buffers; /* GstBuffer */
  GstCaps *caps;      /* NULL: there was no buffer */
} Stream;

void stream_clear(Stream *stream);
/* Pictures of pixels_buffer() through cudaj2kenc with these properties. */
Stream stream_encode(const gchar *properties, GstVideoFormat format, guint width, guint height,
                     guint count, const gchar *colorimetry);
/* Interlaced pictures of 80x64 at 25 a second, two codestreams a buffer; order is tff, bff or
 * psf. */
Stream stream_encode_fields(const gchar *order, guint count);
/* Through an element, with EOS at the end. Its property stats is read before that element goes
 * (NULL: not; transfer full). */
Stream stream_pass(const gchar *factory, const gchar *properties, const Stream *in,
                   GstStructure **stats);
gsize stream_largest(const Stream *stream);

/* What the tests look at in an RTP packet. */
typedef struct {
  guint16 seq;
  guint32 timestamp;
  gboolean marker;
  guint8 eseq, part;
} RtpView;
RtpView rtp_view(GstBuffer *buffer);

guint64 stats_get(const GstStructure *stats, const gchar *name);
/* Every packet must be accounted for. */
void stats_check(const GstStructure *stats);

/* Probabilities in 1/1000. */
typedef struct {
  guint seed;
  guint loss, duplicate, reorder;
} Network;

/* What arrives of the packets. The first and the last packet are neither lost nor moved, so that
 * all losses can be counted. */
Stream network_pass(const Network *network, const Stream *packets, guint *dropped, guint *doubled);
/* Changes `count` bytes behind the RTP headers, and cuts some packets short. */
void network_mutate(const Network *network, Stream *packets, guint count);

#endif
