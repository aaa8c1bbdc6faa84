/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which rate control holds: the one that is set, or the one that the values set ask for. */
#include "params.h"

#include "common/options/encoder_options.h"
#include "common/runtime/error.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define DEFAULT_QUALITY 85
#define DEFAULT_PSNR    45

#define REFUSE(...) return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, __VA_ARGS__)

/* A value that belongs to one rate control. */
typedef struct {
  const char *name;
  Cj2kRateControl mode;
  bool set;
  bool
      preset; /* to its default, as programs do that set everything: any other value outweighs it */
  bool only;  /* means nothing to other rate controls, not even a ceiling */
} Wish;

#define NUM_WISHES 6
static void get_wishes(const Cj2kEncoderParams *p, Wish wishes[NUM_WISHES])
{
  const Wish all[NUM_WISHES] = {
      {"bitrate", CJ2K_RATE_CBR, p->bitrate > 0, false, true},
      {"bits-per-pixel", CJ2K_RATE_CBR, p->bits_per_pixel > 0, false, true},
      {"max-frame-bytes", CJ2K_RATE_CBR, p->max_frame_bytes > 0, false, false},
      {"quant-step", CJ2K_RATE_QSTEP, p->quant_step > 0, false, true},
      {"psnr", CJ2K_RATE_PSNR, p->psnr > 0, p->psnr == DEFAULT_PSNR, true},
      {"quality", CJ2K_RATE_QUALITY, p->quality > 0, p->quality == DEFAULT_QUALITY, true},
  };
  memcpy(wishes, all, sizeof all);
}

static Cj2kRateControl without_wishes(const Cj2kEncoderParams *p)
{
  if (cj2k_profile_is_cinema(p->profile))
    return CJ2K_RATE_CBR;
  if (p->reversible_transform || cj2k_profile_is_reversible(p->profile))
    return CJ2K_RATE_LOSSLESS;
  return CJ2K_RATE_QUALITY;
}

/* The mode that the values ask for. One that was set to its default counts only when nothing else
 * was set: a program that sets everything sets both quality and psnr. */
static Cj2kStatus choose(Cj2kEncoderParams *p, const Wish wishes[NUM_WISHES], Cj2kError *error)
{
  const Wish *chosen = NULL, *preset = NULL;
  bool presets_agree = true;

  for (const Wish *wish = wishes; wish < wishes + NUM_WISHES; wish++) {
    if (wish->set && wish->preset) {
      presets_agree &= !preset;
      preset = wish;
    } else if (wish->set && chosen && chosen->mode != wish->mode) {
      REFUSE("%s is for rate-control %s, %s for %s: set rate-control, or only one of them",
             chosen->name, cj2k_rate_control_name(chosen->mode), wish->name,
             cj2k_rate_control_name(wish->mode));
    } else if (wish->set) {
      chosen = wish;
    }
  }
  if (!chosen && presets_agree)
    chosen = preset;
  p->rate_control = chosen ? chosen->mode : without_wishes(p);
  return CJ2K_OK;
}

/* What was set for another rate control: a budget is an error, a quality has no effect. */
static Cj2kStatus check_wishes(Cj2kEncoderSetup *setup, const Wish wishes[NUM_WISHES],
                               Cj2kError *error)
{
  const char *mode = cj2k_rate_control_name(setup->params.rate_control);

  for (uint32_t i = 0; i < NUM_WISHES; i++) {
    const Wish *wish = &wishes[i];
    if (!wish->set || wish->preset || !wish->only || wish->mode == setup->params.rate_control)
      continue;
    if (wish->mode == CJ2K_RATE_CBR)
      REFUSE("%s requires rate-control cbr; it is %s", wish->name, mode);
    cj2k_setup_warn(setup, "%s has no effect with rate-control %s", wish->name, mode);
  }
  return CJ2K_OK;
}

static Cj2kStatus check_reversible(const Cj2kEncoderParams *p, Cj2kError *error)
{
  if (p->rate_control == CJ2K_RATE_LOSSLESS || p->rate_control == CJ2K_RATE_CBR)
    return CJ2K_OK;
  if (cj2k_profile_is_reversible(p->profile))
    REFUSE("%s is reversible: use rate-control lossless or cbr, not %s",
           cj2k_profile_name(p->profile), cj2k_rate_control_name(p->rate_control));
  if (p->reversible_transform)
    REFUSE("reversible-transform has no step sizes: use rate-control lossless or cbr, not %s",
           cj2k_rate_control_name(p->rate_control));
  return CJ2K_OK;
}

Cj2kStatus cj2k_setup_rate_mode(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params;
  Wish wishes[NUM_WISHES];
  Cj2kStatus status = CJ2K_OK;

  get_wishes(p, wishes);
  if (p->rate_control == CJ2K_RATE_AUTO)
    status = choose(p, wishes, error);
  if (status != CJ2K_OK || (status = check_wishes(setup, wishes, error)) != CJ2K_OK ||
      (status = check_reversible(p, error)) != CJ2K_OK)
    return status;
  if (p->rate_control == CJ2K_RATE_QSTEP && !(p->quant_step > 0))
    REFUSE("rate-control qstep needs quant-step");
  if (p->bitrate && !(p->frame_rate > 0))
    REFUSE("bitrate needs a frame rate; bits-per-pixel and max-frame-bytes do not");
  if (!p->quality)
    p->quality = DEFAULT_QUALITY;
  if (!(p->psnr > 0))
    p->psnr = DEFAULT_PSNR;
  return CJ2K_OK;
}

/* --------------------------------------------------------------------------- budgets --- */

uint64_t cj2k_whole_bytes(double bytes)
{
  if (!(bytes > 0))
    return 0;
  /* What ought to be whole may have come out a little less. */
  double nearest = round(bytes);
  if (fabs(bytes - nearest) < 1e-9 * nearest)
    bytes = nearest;
  return bytes >= 0x1p63 ? UINT64_MAX : (uint64_t)bytes;
}

uint64_t cj2k_setup_user_bytes(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;
  const Cj2kEncoderImage *image = &setup->image;
  uint64_t bytes = p->max_frame_bytes ? p->max_frame_bytes : UINT64_MAX;

  if (p->bitrate)
    bytes = MIN(bytes, cj2k_whole_bytes((double)p->bitrate * 125 / p->frame_rate));
  if (bytes != UINT64_MAX)
    bytes = bytes > p->frame_overhead ? bytes - p->frame_overhead : 1;
  if (p->bits_per_pixel > 0)
    bytes = MIN(bytes, cj2k_whole_bytes(p->bits_per_pixel * image->width * image->height / 8));
  return bytes;
}

uint64_t cj2k_setup_frame_bytes(const Cj2kEncoderSetup *setup)
{
  uint64_t bytes = cj2k_setup_user_bytes(setup);

  return setup->profile_frame_bytes ? MIN(bytes, setup->profile_frame_bytes) : bytes;
}

uint64_t cj2k_setup_component_bytes(const Cj2kEncoderSetup *setup)
{
  uint64_t bytes =
      setup->params.max_component_bytes ? setup->params.max_component_bytes : UINT64_MAX;
  return setup->profile_component_bytes ? MIN(bytes, setup->profile_component_bytes) : bytes;
}
