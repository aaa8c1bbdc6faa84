/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the element tests share: harnesses with a bus, codestreams made on the fly, video infos. */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include "pixels.h"

#include <gst/check/gstharness.h>

#define FPS 25

/* A harness of one element or of a bin description, with a bus of its own. */
typedef struct {
  GstHarness *h;
  GstBus *bus;
} Rig;

Rig rig_new(const gchar *description);
/* cudaj2kdec with these properties, and caps at its sink (transfer full of caps; NULL: later). */
Rig rig_decoder(const gchar *properties, GstCaps *caps);
void rig_free(Rig *rig);
/* Flushes, throws away what has come out, and begins anew. */
void rig_flush(Rig *rig);
/* The text of the first error (or warning) on the bus, NULL: none (transfer full). What elements
 * say of a GPU that is missing is left out, and looked for by the other one. */
gchar *rig_message(Rig *rig, GstMessageType type);
gchar *rig_no_gpu_message(Rig *rig, GstMessageType type);
GstElement *rig_element(Rig *rig, const gchar *factory);

/* Progressive video of this format at FPS frames a second. */
GstVideoInfo video(GstVideoFormat format, guint width, guint height);
GstVideoInfo video_of_caps(GstCaps *caps);
/* Info of what the harness puts out now. */
GstVideoInfo output_video(GstHarness *h);

/* The codestream of one raw buffer (not taken), by a bin such as "cudaj2kenc
 * rate-control=lossless"; *caps, when not NULL, become those of the stream (transfer full). */
GstBuffer *encode_one(const gchar *description, const GstVideoInfo *info, GstBuffer *raw,
                      GstCaps **caps);
/* The pattern of pixels.h, losslessly coded. */
GstBuffer *encode_pattern(const GstVideoInfo *info, guint phase, GstCaps **caps);

/* Pushes a copy of a buffer with the time of frame number n. */
GstFlowReturn push_frame(GstHarness *h, GstBuffer *buffer, guint n);

/* Fails the test unless both pictures are the same, sample by sample. */
void assert_same_pictures(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                          GstBuffer *b);

/* Pulls a picture; fails the test unless it is pixels_buffer(info, phase). */
void assert_next_picture(GstHarness *h, const GstVideoInfo *info, guint phase);

/* Fails the test unless a picture comes out of this bin as it went in. */
void assert_lossless(const gchar *description, const GstVideoInfo *info);

gboolean have_element(const gchar *factory);

#endif
