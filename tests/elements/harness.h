/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helpers of the element tests: harnesses with a bus, encoded patterns, video infos. */
#ifndef TESTS_ELEMENTS_HARNESS_H
#define TESTS_ELEMENTS_HARNESS_H

#include "pixels.h"

#include <gst/check/gstharness.h>

#define FPS 25

/* A harness of one element or of a bin description, with a bus of its own. */
typedef struct {
  GstHarness *h;
  GstBus *bus;
} Rig;

Rig rig_new(const gchar *description);
/* cudaj2kdec with these properties, and caps at its sink pad (transfer full of caps; NULL: set
 * later). */
Rig rig_decoder(const gchar *properties, GstCaps *caps);
/* cudaj2kenc with these properties, and caps of this video at its sink pad (NULL: set later). */
Rig rig_encoder(const gchar *properties, const GstVideoInfo *info);
void rig_free(Rig *rig);
/* Flushes, discards the output so far, and begins a new segment. */
void rig_flush(Rig *rig);
/* The text of the first error (or warning) on the bus; NULL: none (transfer full). The first
 * ignores messages about a missing GPU, the second returns only these. */
gchar *rig_message(Rig *rig, GstMessageType type);
gchar *rig_no_gpu_message(Rig *rig, GstMessageType type);
GstElement *rig_element(Rig *rig, const gchar *factory);
/* The element's property stats (transfer full), and one of its guint64 fields. */
GstStructure *rig_stats(Rig *rig, const gchar *factory);
guint64 rig_count(Rig *rig, const gchar *factory, const gchar *field);

/* Progressive video of this format at FPS frames a second. */
GstVideoInfo video(GstVideoFormat format, guint width, guint height);
GstVideoInfo video_of_caps(GstCaps *caps);
/* The current output format of the harness. */
GstVideoInfo output_video(GstHarness *h);

/* Passes one raw buffer (not taken) through a bin such as "cudaj2kenc rate-control=lossless" and
 * returns the output. If `caps` is not NULL, *caps are those of the output (transfer full). */
GstBuffer *encode_one(const gchar *description, const GstVideoInfo *info, GstBuffer *raw,
                      GstCaps **caps);
/* A losslessly coded picture of pixels_buffer(). */
GstBuffer *encode_pattern(const GstVideoInfo *info, guint phase, GstCaps **caps);

/* Pushes a copy of a buffer with the timestamp of frame number n. */
GstFlowReturn push_frame(GstHarness *h, GstBuffer *buffer, guint n);

/* Whether both buffers have the same bytes. */
gboolean same_bytes(GstBuffer *a, GstBuffer *b);

/* Fails the test unless all samples of both pictures are equal. */
void assert_same_pictures(const GstVideoInfo *info_a, GstBuffer *a, const GstVideoInfo *info_b,
                          GstBuffer *b);

/* Pulls a picture; fails the test unless it is pixels_buffer(info, phase). */
void assert_next_picture(GstHarness *h, const GstVideoInfo *info, guint phase);

/* Fails the test unless this bin leaves a picture unchanged. */
void assert_lossless(const gchar *description, const GstVideoInfo *info);

/* A pipeline of this description; an error ends the program. */
GstElement *launch_pipeline(const gchar *description);

gboolean have_element(const gchar *factory);

/* Skips the test, and is true, where an element is missing. */
gboolean skip_without(const gchar *factory);

#endif
