/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The layout of a frame's codestream: which passes are in which layer, and the exact size with all
 * headers.
 */
#ifndef CJ2K_RATE_LAYOUT_H
#define CJ2K_RATE_LAYOUT_H

#include "common/codestream/write_codestream.h"
#include "selection.h"

/* The quality layers of an encoder's codestreams. */
typedef struct {
  uint16_t count;
  double rates[CJ2K_MAX_LAYERS]; /* cumulative bits per pixel; 0: half of the next layer's */
  uint32_t width, height;        /* of the image */
} Cj2kLayers;

/* Bytes that layers 0..layer may have together if all layers may have `all`. */
uint64_t cj2k_layer_bytes(const Cj2kLayers *layers, uint32_t layer, double all);

/* Bytes of a codestream whose packets the back end makes in place(), so that its size is known
 * afterwards. If it is not within these bounds the host makes them. */
typedef struct {
  bool to_backend; /* the layout is left to the back end */
  uint64_t least, most;
} Cj2kExpectedSize;

typedef struct {
  Cj2kCodestreamWriter *writer;
  const Cj2kLayers *layers;
  uint32_t num_blocks;
  bool plt;          /* packets have entries in PLT */
  uint8_t *retained; /* [layer][block]: number of passes in layers 0..layer */
  Cj2kPacketSource source;
  Cj2kCodestreamSize size; /* of the last layout */
  bool sized;              /* the last layout was from sizes: the host has no packet headers */
  bool as_listed; /* then: packets follow each other as cj2k_codestream_list_steps() says */
  Cj2kExpectedSize expected; /* of the layout that the back end makes */
  double ms;                 /* time that layouts took */
} Cj2kFrameLayout;

Cj2kStatus cj2k_layout_init(Cj2kFrameLayout *layout, Cj2kPlan *plan, const Cj2kLayers *layers,
                            const Cj2kWriteOptions *options, Cj2kError *error);
void cj2k_layout_clear(Cj2kFrameLayout *layout);

/* Sets the coded blocks and what is retained of them. `selection` must stay valid until the frame
 * is written. */
void cj2k_layout_set_source(Cj2kFrameLayout *layout, const Cj2kEncodedBlock *blocks,
                            const Cj2kPassLength *passes, const uint8_t *bytes,
                            const Cj2kSelection *selection);
/* Divides the retained passes of the source's blocks into layers. Several layers need the blocks'
 * hulls; `budget` is the frame's; `cut` is overwritten. */
void cj2k_layout_divide(Cj2kFrameLayout *layout, const Cj2kSelection *selection,
                        const Cj2kHulls *hulls, uint64_t budget, Cj2kSelection *cut);
/* Lays out packets of these sizes, as place() could make them; layout->size is exact. */
Cj2kStatus cj2k_layout_run_sizes(Cj2kFrameLayout *layout, const Cj2kQuantisation *quantisation,
                                 const Cj2kPacketSize *sizes, Cj2kError *error);
/* Lays out the source; layout->size is exact. */
Cj2kStatus cj2k_layout_run(Cj2kFrameLayout *layout, const Cj2kQuantisation *quantisation,
                           Cj2kThreads *threads, Cj2kError *error);

#endif
