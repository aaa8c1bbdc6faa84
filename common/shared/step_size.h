/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a base to the step sizes that QCD signals, and from these to the quantisers of bands; and
 * which base fits a frame by an estimate. Rate control and both back ends compile this header: the
 * GPU chooses the steps of a frame without asking the host, which then has to come to the same.
 * All operations are in double precision and rounded once; the only sums are exact, so that it does
 * not matter whether they are contracted.
 */
#ifndef CJ2K_SHARED_STEP_SIZE_H
#define CJ2K_SHARED_STEP_SIZE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CJ2K_STEP_FUNCTION static inline __host__ __device__
#else
#define CJ2K_STEP_FUNCTION static inline
#endif

#define CJ2K_STEP_MAX_BITPLANES 30 /* largest Mb that the block coders support */

/* The quantiser of a band for one frame. The quantiser in the plan belongs to the base step sizes.
 */
typedef struct {
  float inv_scale; /* docs/arithmetic.md; unused when the band is reversible */
  uint8_t
      num_bitplanes; /* Mb; larger magnitudes are clipped to 2^Mb - 1 and counted as saturated */
  uint8_t pad[3];    /* 0, because quantisers are compared as a whole */
} Cj2kFrameQuantiser;

/* How the step of a band depends on the base. */
typedef struct {
  double norm;   /* of the band's synthesis filter, with the weight of its component */
  double visual; /* how visible an error is; 1: all are alike */
  double finest; /* the base that the step does not fall below because it is visible; 0: none */
  double scale;  /* inv_scale of the plan's quantiser, times its step */
  uint8_t depth; /* of the component */
  uint8_t range; /* log2 of the band's nominal range R_b (T.800 E-4) */
  uint8_t guard_bits;
  bool reversible; /* there is no step: the quantiser stays as it is */
  uint8_t pad[4];  /* 0, likewise */
} Cj2kStepRule;

/* A step size as in QCD: 2^(range - exponent) (1 + mantissa / 2^11) (E-3). */
typedef struct {
  uint16_t mantissa;
  uint8_t exponent;
  bool found; /* false: no step is as fine as it should be; this is the finest one */
} Cj2kSignalledStep;

/* The step with which a band adds the same visible error as all others, for a base that is a
 * fraction of the component's range. */
CJ2K_STEP_FUNCTION double cj2k_step_wanted(const Cj2kStepRule *rule, double base)
{
  double visible = base / rule->visual;

  return ldexp(visible > rule->finest ? visible : rule->finest, rule->depth) / rule->norm;
}

/* The representable step closest to `wanted`; mantissa and exponent never form 0xFFD9 in QCD. */
CJ2K_STEP_FUNCTION Cj2kSignalledStep cj2k_step_signal(double wanted, uint8_t range,
                                                      uint8_t guard_bits)
{
  Cj2kSignalledStep step = {0, 0, true};
  int exponent, most = CJ2K_STEP_MAX_BITPLANES + 1 - guard_bits;
  double fraction = frexp(wanted, &exponent); /* of a number in [0.5, 1) and a power of two */
  int eps = range - (exponent - 1), mu = (int)lrint((2 * fraction - 1) * 2048);

  if (most > 31)
    most = 31;
  if (mu == 2048) {
    mu = 0;
    eps--;
  }
  if (eps < 0) {
    eps = 0;
    mu = 2047;
  } else if (eps > most) {
    eps = most;
    mu = 0;
    step.found = false;
  }
  if ((mu & 0xff) == 0xff)
    mu--;
  step.exponent = (uint8_t)eps;
  step.mantissa = (uint16_t)mu;
  return step;
}

CJ2K_STEP_FUNCTION double cj2k_step_size(Cj2kSignalledStep step, uint8_t range)
{
  return ldexp(1 + step.mantissa / 2048.0, range - step.exponent);
}

CJ2K_STEP_FUNCTION Cj2kFrameQuantiser cj2k_step_quantiser(const Cj2kStepRule *rule,
                                                          Cj2kSignalledStep step)
{
  Cj2kFrameQuantiser quantiser = {0, 0, {0}};

  quantiser.inv_scale = (float)(rule->scale / cj2k_step_size(step, rule->range));
  quantiser.num_bitplanes = (uint8_t)(rule->guard_bits + step.exponent - 1);
  return quantiser;
}

/* Cj2kFrameSteps.weights of the band (rate/steps.h). step: 1 if it is reversible. */
CJ2K_STEP_FUNCTION double cj2k_step_weight(const Cj2kStepRule *rule, double step)
{
  double unit = step * rule->norm * rule->visual / ldexp(16.0, rule->depth);

  return unit * unit;
}

/* The quantiser of a band for a base, which stays as it is if the band is reversible, and its
 * weight. */
CJ2K_STEP_FUNCTION void cj2k_step_choose(const Cj2kStepRule *rule, double base,
                                         Cj2kFrameQuantiser *quantiser, double *weight)
{
  double size = 1;

  if (!rule->reversible) {
    Cj2kSignalledStep step =
        cj2k_step_signal(cj2k_step_wanted(rule, base), rule->range, rule->guard_bits);
    *quantiser = cj2k_step_quantiser(rule, step);
    size = cj2k_step_size(step, rule->range);
  }
  *weight = cj2k_step_weight(rule, size);
}

/* The quantisers of all bands for a base, where nobody wants the weights. Both arrays have an entry
 * for each band. */
CJ2K_STEP_FUNCTION void cj2k_step_choose_quantisers(const Cj2kStepRule *rules, uint32_t num_bands,
                                                    double base, Cj2kFrameQuantiser *quantisers)
{
  double weight;

  for (uint32_t b = 0; b < num_bands; b++)
    cj2k_step_choose(&rules[b], base, &quantisers[b], &weight);
}

/* ---------------------------------------------------------------------- an HT estimate --- */

#define CJ2K_MOST_BASES 61

/* HT: an estimate from one in `quad_rows` rows of quads, as measure() makes it (ht_estimate.h),
 * and what follows from it. */
typedef struct {
  uint32_t quad_rows;
  uint32_t num_bases;   /* 0: the steps are not chosen by the estimate */
  uint64_t least, most; /* the limits between which it should be */
  /* In ascending order, among them that of the steps for which the estimate is made: with bases[i]
   * are coded estimates up to ends[i], and with the last one all that are above. */
  double bases[CJ2K_MOST_BASES];
  uint64_t ends[CJ2K_MOST_BASES];
} Cj2kEstimateRange;

CJ2K_STEP_FUNCTION bool cj2k_estimate_is_in(const Cj2kEstimateRange *range, uint64_t estimate)
{
  return estimate >= range->least && estimate <= range->most;
}

/* The base for an estimate; num_bases is not 0. */
CJ2K_STEP_FUNCTION double cj2k_estimate_base(const Cj2kEstimateRange *range, uint64_t estimate)
{
  uint32_t i = 0;

  while (i + 1 < range->num_bases && estimate > range->ends[i])
    i++;
  return range->bases[i];
}

#endif
