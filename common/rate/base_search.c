/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base_search.h"

#include <glib.h>
#include <math.h>

#define MAX_BASE 64.0   /* a larger base does not enlarge the steps of any band */
#define SECANTS  5      /* number of trials before bisection */
#define CLOSE    1.0002 /* bases within this ratio count as equal */

double cj2k_clamp_base(double base)
{
  return CLAMP(base, CJ2K_MIN_BASE, MAX_BASE);
}

double cj2k_clamp_power(double power)
{
  return CLAMP(power, 0.3, 3.0);
}

Cj2kBaseSearch cj2k_base_search(double least, double power)
{
  return (Cj2kBaseSearch){.least = least, .power = power};
}

void cj2k_base_search_forget(Cj2kBaseSearch *search)
{
  search->base = 0;
}

double cj2k_base_search_secant(Cj2kBaseSearch *search, double base, double bytes, double target)
{
  if (search->base > 0 && search->bytes > 0 && bytes > 0 && fabs(log(base / search->base)) > 1e-3) {
    double power = -log(bytes / search->bytes) / log(base / search->base);
    search->power = cj2k_clamp_power(power);
  }
  search->base = base;
  search->bytes = bytes;
  double factor = bytes > 0 ? CLAMP(pow(bytes / target, 1 / search->power), 1.0 / 32, 32.0) : 0.25;
  return MAX(cj2k_clamp_base(base * factor), search->least);
}

double cj2k_base_search_next(Cj2kBaseSearch *search, double base, double bytes, double target,
                             uint32_t trial)
{
  double next = cj2k_base_search_secant(search, base, bytes, target);

  if (search->fits > 0 && search->over > 0 &&
      (trial >= SECANTS || next >= search->fits || next <= search->over))
    next = sqrt(search->fits * search->over);
  return next;
}

void cj2k_base_search_bound(Cj2kBaseSearch *search, double base, bool fits)
{
  if (fits)
    search->fits = search->fits > 0 ? MIN(search->fits, base) : base;
  else
    search->over = MAX(search->over, base);
}

bool cj2k_base_search_is_closed(const Cj2kBaseSearch *search)
{
  return search->fits > 0 && search->over > 0 && search->fits < search->over * CLOSE;
}
