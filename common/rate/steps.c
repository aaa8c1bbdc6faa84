/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Index of a band in QCD: LL, then HL LH HH of r = 1, 2, ... */
static uint32_t band_index(uint32_t resolution, uint32_t orientation)
{
  return resolution ? 3 * (resolution - 1) + orientation : 0;
}

/* log2 of the band's nominal gain (table E.1). */
static int log2_gain(uint32_t orientation)
{
  return orientation == CJ2K_LL ? 0 : orientation == CJ2K_HH ? 2 : 1;
}

/* Puts the representable step closest to `wanted` into QCD, at index i. */
static Cj2kSignalledStep set_step(Cj2kQuantisation *q, uint32_t i, double wanted, uint8_t range)
{
  Cj2kSignalledStep step = cj2k_step_signal(wanted, range, q->guard_bits);

  q->exponent[i] = step.exponent;
  q->mantissa[i] = step.mantissa;
  return step;
}

void cj2k_quantisation_init(Cj2kQuantisation *quantisation, const Cj2kHeader *header, uint32_t c,
                            uint8_t guard_bits)
{
  const Cj2kCoding *coding = &header->coding.coding[c];
  /* The differences of the RCT have one bit more than its input. */
  int depth = header->components[c].depth + (coding->reversible && header->coding.mct ? 1 : 0);

  memset(quantisation, 0, sizeof *quantisation);
  quantisation->style = coding->reversible ? 0 : 2;
  quantisation->guard_bits = guard_bits;
  quantisation->num_steps = (uint8_t)(3 * coding->num_levels + 1);
  for (uint32_t r = 0; r <= coding->num_levels; r++)
    for (uint32_t o = r ? CJ2K_HL : CJ2K_LL; o <= (r ? CJ2K_HH : CJ2K_LL); o++) {
      uint8_t range = (uint8_t)(depth + log2_gain(o));
      if (coding->reversible)
        quantisation->exponent[band_index(r, o)] = range;
      else
        set_step(quantisation, band_index(r, o), ldexp(1, header->components[c].depth - 11), range);
    }
}

static double visual_of(const Cj2kFrameSteps *steps, uint32_t b)
{
  return steps->visual ? steps->visual[b] : 1;
}

void cj2k_frame_steps_init(Cj2kFrameSteps *steps, const Cj2kPlan *plan, const double *visual,
                           double finest)
{
  const Cj2kHeader *header = plan->header;

  steps->components =
      g_memdup2(header->coding.quantisation, header->num_components * sizeof *steps->components);
  steps->quantisers = g_new0(Cj2kFrameQuantiser, plan->num_bands + 1);
  steps->weights = g_new0(double, plan->num_bands + 1);
  steps->visual = visual;
  steps->finest = finest;
  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kPlanBand *band = &plan->bands[b];
    uint32_t depth = header->components[plan->tile_comps[band->tile_comp].component].depth;
    double step = band->reversible ? 1.0 : band->step,
           unit = step * band->norm * visual_of(steps, b) / ldexp(16, (int)depth);
    steps->quantisers[b] =
        (Cj2kFrameQuantiser){.inv_scale = band->inv_scale, .num_bitplanes = band->num_bitplanes};
    steps->weights[b] = unit * unit;
  }
}

void cj2k_frame_steps_clear(Cj2kFrameSteps *steps)
{
  g_free(steps->components);
  g_free(steps->quantisers);
  g_free(steps->weights);
}

/*
 * Contrast sensitivity by decomposition level d = 1, 2 ... and direction, relative to low
 * frequencies, at the viewing distance that JPEG's quantisation tables assume, for luminance, blue
 * and red difference. Levels without an entry have 1.
 */
#define TABLE_LEVELS 5
static const float table_weights[3][TABLE_LEVELS][2] = {
    /* one high-pass direction, both */
    {{0.2758f, 0.0901f},
     {0.8378f, 0.7018f},
     {1.0000f, 1.0000f},
     {1.0000f, 1.0000f},
     {1.0000f, 1.0000f}},
    {{0.0863f, 0.0263f},
     {0.2564f, 0.1362f},
     {0.4691f, 0.3346f},
     {0.6523f, 0.5444f},
     {0.7797f, 0.7078f}},
    {{0.1835f, 0.0773f},
     {0.4130f, 0.2598f},
     {0.6464f, 0.5040f},
     {0.8254f, 0.7220f},
     {0.9424f, 0.8769f}},
};

static double table_weight_at(uint32_t kind, uint32_t level, uint32_t orientation)
{
  if (orientation == CJ2K_LL || level > TABLE_LEVELS)
    return 1;
  /* levels count from 1. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn) */
  return table_weights[kind][level - 1][orientation == CJ2K_HH];
}

/* The finest level of a sub-sampled component is the second level of the image. */
static double table_weight(const Cj2kPlan *plan, const Cj2kPlanBand *band, bool colour_difference)
{
  const Cj2kPlanTileComp *tc = &plan->tile_comps[band->tile_comp];
  const Cj2kComponent *component = &plan->header->components[tc->component];
  uint32_t kind = colour_difference && tc->component < 3 ? tc->component : 0;
  uint32_t level = band->resolution ? tc->num_levels - band->resolution + 1u : tc->num_levels;
  double fine =
      table_weight_at(kind, level + (component->dx > 1 && component->dy > 1), band->orientation);
  if ((component->dx > 1) == (component->dy > 1))
    return fine;
  return sqrt(fine * table_weight_at(kind, level + 1, band->orientation));
}

Cj2kStepFactors cj2k_no_factors(void)
{
  Cj2kStepFactors factors;

  for (size_t i = 0; i < G_N_ELEMENTS(factors.of); i++)
    factors.of[i] = 1;
  return factors;
}

uint32_t cj2k_step_factor_index(const Cj2kPlan *plan, uint32_t b)
{
  const Cj2kPlanBand *band = &plan->bands[b];
  uint32_t c = MIN(plan->tile_comps[band->tile_comp].component, CJ2K_FACTOR_COMPONENTS - 1u);

  return c * CJ2K_MAX_BANDS + band_index(band->resolution, band->orientation);
}

static Cj2kStepRule rule_of(const Cj2kFrameSteps *steps, const Cj2kPlan *plan, uint32_t b)
{
  const Cj2kPlanBand *band = &plan->bands[b];
  uint32_t c = plan->tile_comps[band->tile_comp].component;
  uint8_t depth = plan->header->components[c].depth;

  return (Cj2kStepRule){.norm = band->norm,
                        .visual = visual_of(steps, b),
                        .finest = steps->visual ? steps->finest : 0,
                        .scale = (double)band->inv_scale * band->step,
                        .depth = depth,
                        .range = (uint8_t)(depth + log2_gain(band->orientation)),
                        .guard_bits = steps->components[c].guard_bits,
                        .reversible = band->reversible};
}

void cj2k_frame_steps_rules(const Cj2kFrameSteps *steps, const Cj2kPlan *plan, Cj2kStepRule *rules)
{
  for (uint32_t b = 0; b < plan->num_bands; b++)
    rules[b] = rule_of(steps, plan, b);
}

/* Puts one band's step into the component's quantisation and derives the frame's quantiser from the
 * signalled step. false: the step cannot be so fine. */
static bool set_band(Cj2kFrameSteps *steps, const Cj2kPlan *plan, uint32_t b,
                     const Cj2kStepRule *rule, double wanted)
{
  const Cj2kPlanBand *band = &plan->bands[b];
  Cj2kQuantisation *q = &steps->components[plan->tile_comps[band->tile_comp].component];
  Cj2kSignalledStep step =
      set_step(q, band_index(band->resolution, band->orientation), wanted, rule->range);

  steps->quantisers[b] = cj2k_step_quantiser(rule, step);
  steps->weights[b] = cj2k_step_weight(rule, cj2k_step_size(step, rule->range));
  return step.found;
}

double cj2k_exact_base(const Cj2kHeader *header)
{
  int depth = 1;

  for (uint32_t c = 0; c < header->num_components; c++)
    depth = MAX(depth, header->components[c].depth);
  return ldexp(1, -depth - 3);
}

double cj2k_finest_base(const Cj2kHeader *header)
{
  return cj2k_exact_base(header) / 4;
}

bool cj2k_frame_steps_set(Cj2kFrameSteps *steps, const Cj2kPlan *plan, double base,
                          const Cj2kStepFactors *factors)
{
  bool all = true;

  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kStepRule rule = rule_of(steps, plan, b);
    if (rule.reversible)
      continue;
    double step = cj2k_step_wanted(&rule, base);
    if (factors)
      step *= factors->of[cj2k_step_factor_index(plan, b)];
    all = set_band(steps, plan, b, &rule, step) && all;
  }
  return all;
}

/* --- quality --- */

/*
 * The step base and the power of visual weights for a quality factor. As in JPEG, 50 is the middle;
 * steps are proportional to 1/q below it and fall linearly above. Towards 100 the visual weights
 * fade out, because higher quality is viewed from a shorter distance, and the base step falls below
 * the error of rounding to 8 bits.
 */
static void quality_to_steps(uint32_t quality, double *base, double *visual_power)
{
  const double fade_from = 65, fade_to = 97, alpha_from = 0.04, alpha_to = 0.10,
               least = 0.00276; /* sqrt(.5)/256 */
  double m = quality < 50 ? 50.0 / quality : 2 * (1 - quality / 100.0);
  double m_from = 2 * (1 - fade_from / 100), m_to = 2 * (1 - fade_to / 100), power = 1,
         alpha = alpha_from;

  if (quality >= fade_to) {
    power = 0;
    alpha = alpha_to;
  } else if (quality > fade_from) {
    power = (log(m_to) - log(m)) / (log(m_to) - log(m_from));
    alpha = alpha_to * pow(alpha_from / alpha_to, power);
  }
  *base = alpha * m + least / 2;
  *visual_power = power;
}

static double quality_weight(const Cj2kFrameSteps *steps, const Cj2kPlan *plan, uint32_t b,
                             const Cj2kQualityWeights *weights)
{
  switch (weights->weights) {
  case CJ2K_VISUAL_NONE: return 1;
  case CJ2K_VISUAL_CSF: return visual_of(steps, b);
  default: return table_weight(plan, &plan->bands[b], weights->colour_difference);
  }
}

void cj2k_frame_steps_quality_weights(const Cj2kFrameSteps *steps, const Cj2kPlan *plan,
                                      uint32_t quality, const Cj2kQualityWeights *weights,
                                      double *result)
{
  double base, power;

  quality_to_steps(quality, &base, &power);
  for (uint32_t b = 0; b < plan->num_bands; b++)
    result[b] = pow(quality_weight(steps, plan, b, weights), power);
}

void cj2k_frame_steps_set_quality(Cj2kFrameSteps *steps, const Cj2kPlan *plan, uint32_t quality,
                                  const Cj2kQualityWeights *weights)
{
  double base, power;

  quality_to_steps(quality, &base, &power);
  /* Norms include the weight of luminance in RGB, which the quality factor does not. */
  if (plan->header->coding.mct)
    base *= 1.7320508;
  for (uint32_t b = 0; b < plan->num_bands; b++) {
    const Cj2kStepRule rule = rule_of(steps, plan, b);
    Cj2kStepRule even = rule;
    even.visual = 1;
    even.finest = 0;
    double weight = pow(quality_weight(steps, plan, b, weights), power);
    if (!rule.reversible)
      set_band(steps, plan, b, &rule, cj2k_step_wanted(&even, base) / weight);
  }
}
