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

#define CJ2K_MOST_RATIOS    61
#define CJ2K_MOST_ESTIMATES 3 /* of a frame, before blocks are coded or left out */

/* Ratios of bases to the one of an estimate, in ascending order: ratios[i] is for estimates up to
 * ends[i], and the last one for all that are above. */
typedef struct {
  uint32_t count;
  double ratios[CJ2K_MOST_RATIOS];
  uint64_t ends[CJ2K_MOST_RATIOS];
} Cj2kBaseRatios;

/* HT: an estimate from one in `quad_rows` rows of quads, as measure() makes it (ht_estimate.h),
 * and what follows from it. */
typedef struct {
  uint32_t quad_rows;
  uint64_t least, most;           /* the limits between which it should be */
  uint64_t sure_least, sure_most; /* within them: the base for it is the right one */
  double base;                    /* of the steps for which the first one is made */
  double least_base, most_base;   /* no base is chosen that is beyond these */
  bool finest;         /* there are no useful steps finer than those of the first one of these */
  Cj2kBaseRatios near; /* within the limits; count 0: the steps remain as they are */
  Cj2kBaseRatios far;  /* out of them; count 0: there is none for such an estimate */
} Cj2kEstimateRange;

typedef enum {
  CJ2K_ESTIMATE_OUT = 0, /* blocks are not coded */
  CJ2K_ESTIMATE_AGAIN,   /* another estimate is made, with other steps */
  CJ2K_ESTIMATE_IN       /* blocks are coded */
} Cj2kEstimateVerdict;

/* The base for an estimate that was made for `base`, within the limits of bases. One product, and
 * no sum that a compiler could join with it, so that all compilers come to the same. */
CJ2K_STEP_FUNCTION double cj2k_estimate_choose(const Cj2kEstimateRange *range,
                                               const Cj2kBaseRatios *ratios, double base,
                                               uint64_t estimate)
{
  uint32_t i = 0;

  while (i + 1 < ratios->count && estimate > ratios->ends[i])
    i++;
  base *= ratios->ratios[i];
  if (base > range->most_base)
    base = range->most_base;
  return base < range->least_base ? range->least_base : base;
}

/* What follows from an estimate that was made for *base, and is the `number`th of a frame, from 0.
 * *base becomes that of the steps with which blocks are coded, or the next estimate is made. One
 * that is too small will do if there are no finer steps. */
CJ2K_STEP_FUNCTION Cj2kEstimateVerdict cj2k_estimate_judge(const Cj2kEstimateRange *range,
                                                           uint32_t number, uint64_t estimate,
                                                           double *base)
{
  bool chooses = range->near.count > 0, last = number + 1 == CJ2K_MOST_ESTIMATES;
  double least = range->finest ? range->least_base : 0;
  bool reached = chooses && *base * range->near.ratios[0] <= least;
  bool is_in = estimate <= range->most && (estimate >= range->least || reached);
  bool sure = estimate <= range->sure_most && (estimate >= range->sure_least || *base <= least);

  if (!chooses)
    return is_in ? CJ2K_ESTIMATE_IN : CJ2K_ESTIMATE_OUT;
  if (!is_in && (last || !range->far.count))
    return CJ2K_ESTIMATE_OUT;
  double next = cj2k_estimate_choose(range, is_in ? &range->near : &range->far, *base, estimate);
  bool settled = last || next == *base; /* another estimate would be the same */
  *base = next;
  if (is_in)
    return sure || settled ? CJ2K_ESTIMATE_IN : CJ2K_ESTIMATE_AGAIN;
  return settled ? CJ2K_ESTIMATE_OUT : CJ2K_ESTIMATE_AGAIN;
}

/* What follows from all estimates of a frame. */
typedef struct {
  Cj2kEstimateVerdict verdict; /* of the last one; never CJ2K_ESTIMATE_AGAIN */
  uint32_t last;               /* its number */
  double last_base;            /* the one that it was made for */
  double base;                 /* CJ2K_ESTIMATE_IN: of the steps with which blocks are coded */
} Cj2kEstimateOutcome;

CJ2K_STEP_FUNCTION Cj2kEstimateOutcome
cj2k_estimate_follow(const Cj2kEstimateRange *range, const uint64_t estimates[CJ2K_MOST_ESTIMATES])
{
  Cj2kEstimateOutcome outcome = {CJ2K_ESTIMATE_AGAIN, 0, range->base, range->base};

  for (uint32_t i = 0; i < CJ2K_MOST_ESTIMATES && outcome.verdict == CJ2K_ESTIMATE_AGAIN; i++) {
    outcome.last = i;
    outcome.last_base = outcome.base;
    outcome.verdict = cj2k_estimate_judge(range, i, estimates[i], &outcome.base);
  }
  return outcome;
}

#endif
