/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of flow and order share: an element with frames in flight, and what its downstream
 * saw of them. */
#ifndef TESTS_ELEMENTS_STAGE_H
#define TESTS_ELEMENTS_STAGE_H

#include "harness.h"

#define MAX_ARRIVALS 1024

typedef struct {
  const gchar *factory, *properties;
} Kind;

extern const Kind stage_encoder, stage_decoder;

/* A harness of one element whose downstream is the test itself. */
typedef struct {
  Rig rig;
  GstBuffer *input; /* pushed repeatedly */
  GMutex lock;
  GCond changed;
  guint arrived;
  GstFlowReturn answer;              /* flow return for buffers, from number `refuse_from` on */
  guint refuse_from, num_refusals;   /* number of buffers that get `answer`; others GST_FLOW_OK */
  GstEventType events[MAX_ARRIVALS]; /* GST_EVENT_UNKNOWN stands for a buffer */
  guint num_events;
  gboolean blocked; /* downstream blocks in its chain function */
  gboolean holding; /* a buffer is in the blocked chain function */
} Stage;

/* Begins a test with an element of this kind. If stage_clear is not called in time, an alarm ends
 * the program. */
void stage_init(Stage *stage, const Kind *kind, guint in_flight);
void stage_clear(Stage *stage);
/* Pushes the input as frame number n. */
GstFlowReturn stage_push(Stage *stage, guint n);
void stage_push_segment(Stage *stage);
/* Waits until so many buffers have arrived. */
void stage_wait_for(Stage *stage, guint count);
/* Waits until a buffer is in the blocked chain function. */
void stage_wait_until_held(Stage *stage);
void stage_set_blocked(Stage *stage, gboolean blocked);
/* Blocks downstream, pushes the input as frame number n, and waits until a buffer is held there. */
void stage_hold(Stage *stage, guint n);

/* What a test of stage_add_tests is given. */
typedef struct {
  const Kind *kind;
  guint in_flight;
  GstFlowReturn answer;
} Case;

/* Adds a test /GROUP/ELEMENT/NAME, with 1, 3, 16 and 64 frames in flight; its data is a Case. */
void stage_add_tests(const gchar *group, const gchar *name, const Kind *kind, GstFlowReturn answer,
                     GTestDataFunc test);

#endif
