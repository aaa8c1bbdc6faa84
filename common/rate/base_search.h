/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The search for the base of the steps that gives a number of bytes: a secant method in logarithms
 * between the known bounds. Pure functions.
 */
#ifndef CJ2K_RATE_BASE_SEARCH_H
#define CJ2K_RATE_BASE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  double least;       /* smaller bases are useless */
  double base, bytes; /* of the last trial; base 0: there is none */
  double power;       /* bytes are proportional to base^-power near here */
  double fits, over;  /* the finest base that fits and the coarsest one that does not; 0: unknown */
} Cj2kBaseSearch;

/* `power`: an estimate for use before the first trial. */
Cj2kBaseSearch cj2k_base_search(double least, double power);
/* Forgets the last trial, which is not comparable with the next one; the bounds remain. */
void cj2k_base_search_forget(Cj2kBaseSearch *search);
/* The secant's next base after `base` gave `bytes`, for a result of `target`; within
 * cj2k_clamp_base() and not below search->least. */
double cj2k_base_search_secant(Cj2kBaseSearch *search, double base, double bytes, double target);
/* The same between the bounds: the middle of both if the secant is outside of them or if `trial`,
 * which counts from 0, is a late one. */
double cj2k_base_search_next(Cj2kBaseSearch *search, double base, double bytes, double target,
                             uint32_t trial);
void cj2k_base_search_bound(Cj2kBaseSearch *search, double base, bool fits);
/* True if no base is left between the bounds. */
bool cj2k_base_search_is_closed(const Cj2kBaseSearch *search);

/* Limits a base to values of which steps can be made. */
double cj2k_clamp_base(double base);
/* Limits a power that was learnt to what can be. */
double cj2k_clamp_power(double power);
#define CJ2K_MIN_BASE 1e-7

#endif
