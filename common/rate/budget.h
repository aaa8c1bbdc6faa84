/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes and bases: functions that the searches for the steps of a budget share. None codes or
 * measures. */
#ifndef CJ2K_RATE_BUDGET_H
#define CJ2K_RATE_BUDGET_H

#include "frame.h"
#include "headers.h"

/* The part of the budget that is left for code-blocks if their headers take `headers` bytes; at
 * least 1. */
double cj2k_body_bytes(const Cj2kRateFrame *frame, double headers);
/* The base of the finest useful steps, at least CJ2K_MIN_BASE, and a base limited to it. */
double cj2k_least_base(const Cj2kRateFrame *frame);
double cj2k_useful_base(const Cj2kRateFrame *frame, double base);
/* A base to start with: that of natural pictures with as many bits per sample. */
double cj2k_guess_base(const Cj2kRateFrame *frame);
/* Estimates the size of headers in bytes; see cj2k_headers_estimate. */
Cj2kHeaderEstimate cj2k_frame_headers(const Cj2kRateFrame *frame, const uint8_t *passes,
                                      const uint32_t *lengths, uint32_t stride);
/* Estimates the bytes of a frame with all HT blocks at measured->first_plane + `plane`; a component
 * counts at most as many as its ceiling. least: with the smallest possible headers, else with the
 * expected ones. Overwrites frame->cut. */
uint64_t cj2k_measured_bytes(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane,
                             bool least);
/* Do the blocks of a component, without headers, exceed its ceiling there? The same. */
bool cj2k_measured_exceeds(Cj2kRateFrame *frame, const Cj2kMeasured *measured, uint32_t plane);

#endif
