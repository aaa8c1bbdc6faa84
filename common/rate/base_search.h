/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The search for the base of steps that gives a number of bytes: secant in logarithms, inside of
 * what is known to fit and not to fit. Pure functions.
 */
#ifndef CJ2K_RATE_BASE_SEARCH_H
#define CJ2K_RATE_BASE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  double least;       /* bases below are of no use */
  double base, bytes; /* of the last trial; base 0: there is none to compare with */
  double power;       /* bytes grow as base^-power here */
  double fits, over;  /* the finest base that fits, the coarsest that does not; 0: none is known */
} Cj2kBaseSearch;

/* `power`: what is known before the first trial. */
Cj2kBaseSearch cj2k_base_search(double least, double power);
/* Forgets the last trial, which is not to be compared with the next; bounds stay. */
void cj2k_base_search_forget(Cj2kBaseSearch *search);
/* The secant's next base, when `base` gave `bytes` and `target` is wanted; within
 * cj2k_clamp_base() and not below search->least. */
double cj2k_base_search_secant(Cj2kBaseSearch *search, double base, double bytes, double target);
/* The same between the bounds: their middle, where the secant leaves them or `trial`, which counts
 * from 0, is a late one. */
double cj2k_base_search_next(Cj2kBaseSearch *search, double base, double bytes, double target,
                             uint32_t trial);
void cj2k_base_search_bound(Cj2kBaseSearch *search, double base, bool fits);
/* There is no base between the bounds. */
bool cj2k_base_search_is_closed(const Cj2kBaseSearch *search);

/* A base that steps can be made of. */
double cj2k_clamp_base(double base);
#define CJ2K_MIN_BASE 1e-7

#endif
