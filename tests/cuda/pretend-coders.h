/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files that stand in for the encoding kernels have in common, and what tests read and set
 * of them. All numbers are atomic; those that make kernels do something else are 0 at first.
 */
#ifndef TESTS_CUDA_PRETEND_CODERS_H
#define TESTS_CUDA_PRETEND_CODERS_H

#include "pretend-graphs.h"

#include <glib.h>
#include <stdint.h>

/* pretend-coders.c */
extern const void *seen_plane;   /* the first one of the picture that was transformed last */
extern gint num_graphs;          /* times that graphs coded blocks */
extern gint num_chosen;          /* frames whose blocks were coded as chosen, into new room */
extern gint num_again;           /* lists of blocks that were coded again, into their room */
extern gint num_again_in_graphs; /* of them, in graphs */
extern gint longer_when_again;   /* blocks are then longer than measured */
extern gint num_estimates;       /* of what blocks take */
extern gint odd_estimate;        /* the number of one that is in units of odd_unit; 0: none is */
extern uint32_t odd_unit;        /* the others are in units of 128 */
extern gint num_left_out; /* frames that were not coded, because the estimate was out of range */

/* pretend-cuts.c */
extern gint num_cut;           /* frames that the GPU has cut, or left whole */
extern gint num_cut_in_graphs; /* of them, HT frames */
extern gint cuts_another;      /* it then leaves out a block more than it should */
extern gint cuts_nothing;      /* the GPU then leaves it to the host */
extern gint retains_less;      /* without every second block */

/* pretend-packets.c */
extern gint num_placed; /* frames of which there was something to place */
extern gint num_made;   /* of them, those whose packets were made */
extern gint no_room;    /* headers of large packets then have none */

#endif
