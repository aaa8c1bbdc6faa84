/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses the rate control: the one that is set, or the one that belongs to the parameters that are
 * set. */
#include "params.h"

#include "common/options/encoder_options.h"
#include "common/runtime/error.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define DEFAULT_QUALITY 85
#define DEFAULT_PSNR    45
#define DEFAULT_VIEWING 25

#define REFUSE(...) return cj2k_error_set(error, CJ2K_ERROR_ARGUMENT, __VA_ARGS__)

/* A parameter that belongs to one rate control. */
typedef struct {
  const char *name;
  Cj2kRateControl mode; /* CJ2K_RATE_CBR: a budget, which is a ceiling for other lossy ones */
  bool set;
  bool preset; /* it is set to its default, as by programs that set everything; any other parameter
                  outweighs it */
  bool lossless; /* a budget that is a ceiling for CJ2K_RATE_LOSSLESS, too */
} Setting;

#define NUM_SETTINGS 7
static void list_settings(const Cj2kEncoderParams *p, Setting settings[NUM_SETTINGS])
{
  const Setting all[NUM_SETTINGS] = {
      {"bitrate", CJ2K_RATE_CBR, p->bitrate > 0, false, false},
      {"average-bitrate", CJ2K_RATE_CBR, p->average_bitrate > 0, false, false},
      {"bits-per-pixel", CJ2K_RATE_CBR, p->bits_per_pixel > 0, false, false},
      {"max-frame-bytes", CJ2K_RATE_CBR, p->max_frame_bytes > 0, false, true},
      {"quant-step", CJ2K_RATE_QSTEP, p->quant_step > 0, false, false},
      {"psnr", CJ2K_RATE_PSNR, p->psnr > 0, p->psnr == DEFAULT_PSNR, false},
      {"quality", CJ2K_RATE_QUALITY, p->quality > 0, p->quality == DEFAULT_QUALITY, false},
  };
  memcpy(settings, all, sizeof all);
}

static Cj2kRateControl default_mode(const Cj2kEncoderParams *p)
{
  if (cj2k_profile_is_cinema(p->profile))
    return CJ2K_RATE_CBR;
  if (p->reversible_transform || cj2k_profile_is_reversible(p->profile))
    return CJ2K_RATE_LOSSLESS;
  return CJ2K_RATE_QUALITY;
}

/* Chooses the mode of the parameters that are set. A quality, step or PSNR outweighs budgets, which
 * are its ceilings. A parameter at its default counts only if nothing else is set, because a
 * program that sets everything sets both quality and psnr. */
static Cj2kStatus choose(Cj2kEncoderParams *p, const Setting settings[NUM_SETTINGS],
                         Cj2kError *error)
{
  const Setting *chosen = NULL, *preset = NULL;
  bool presets_agree = true;

  for (const Setting *setting = settings; setting < settings + NUM_SETTINGS; setting++) {
    if (setting->set && setting->preset) {
      presets_agree &= !preset;
      preset = setting;
    } else if (setting->set && chosen && chosen->mode != CJ2K_RATE_CBR &&
               chosen->mode != setting->mode) {
      REFUSE("%s is for rate-control %s, %s for %s: set rate-control, or only one of them",
             chosen->name, cj2k_rate_control_name(chosen->mode), setting->name,
             cj2k_rate_control_name(setting->mode));
    } else if (setting->set) { /* budgets come first in the list */
      chosen = setting;
    }
  }
  if (!chosen && presets_agree)
    chosen = preset;
  p->rate_control = chosen ? chosen->mode : default_mode(p);
  return CJ2K_OK;
}

/* Checks parameters that belong to another rate control: a budget is a ceiling, or an error if the
 * rate control is lossless; a quality gives a warning. */
static Cj2kStatus check_settings(Cj2kEncoderSetup *setup, const Setting settings[NUM_SETTINGS],
                                 Cj2kError *error)
{
  const char *mode = cj2k_rate_control_name(setup->params.rate_control);

  for (uint32_t i = 0; i < NUM_SETTINGS; i++) {
    const Setting *setting = &settings[i];
    if (!setting->set || setting->preset || setting->mode == setup->params.rate_control)
      continue;
    if (setting->mode != CJ2K_RATE_CBR)
      cj2k_setup_warn(setup, "%s has no effect with rate-control %s", setting->name, mode);
    else if (setup->params.rate_control == CJ2K_RATE_LOSSLESS && !setting->lossless)
      REFUSE("%s requires a lossy rate-control; it is %s", setting->name, mode);
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

bool cj2k_quantises_best(const Cj2kEncoderParams *params)
{
  return params->rate_effort == CJ2K_EFFORT_BEST && params->block_coder == CJ2K_CODER_HT &&
         params->rate_control != CJ2K_RATE_LOSSLESS && !params->reversible_transform;
}

/* Warns of parameters for several frames that do nothing without others. */
static void warn_of_frames(Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;

  if (p->average_window && p->average_window != CJ2K_DEFAULT_WINDOW && !p->average_bitrate)
    cj2k_setup_warn(setup, "average-window has no effect without average-bitrate");
  if (p->first_frame && !p->rate_period)
    cj2k_setup_warn(setup, "first-frame has no effect without rate-period");
}

Cj2kStatus cj2k_setup_rate_mode(Cj2kEncoderSetup *setup, Cj2kError *error)
{
  Cj2kEncoderParams *p = &setup->params;
  Setting settings[NUM_SETTINGS];
  Cj2kStatus status = CJ2K_OK;

  list_settings(p, settings);
  if (p->rate_control == CJ2K_RATE_AUTO)
    status = choose(p, settings, error);
  if (status != CJ2K_OK || (status = check_settings(setup, settings, error)) != CJ2K_OK ||
      (status = check_reversible(p, error)) != CJ2K_OK)
    return status;
  if (p->rate_control == CJ2K_RATE_QSTEP && !(p->quant_step > 0))
    REFUSE("rate-control qstep needs quant-step");
  if (p->bitrate && !(p->frame_rate > 0))
    REFUSE("bitrate needs a frame rate; bits-per-pixel and max-frame-bytes do not");
  if (p->average_bitrate && !(p->frame_rate > 0))
    REFUSE("average-bitrate needs a frame rate");
  if (!p->quality)
    p->quality = DEFAULT_QUALITY;
  if (!(p->psnr > 0))
    p->psnr = DEFAULT_PSNR;
  if (p->viewing_distance > 0 && p->viewing_distance != DEFAULT_VIEWING &&
      p->visual_weights != CJ2K_VISUAL_CSF)
    cj2k_setup_warn(setup, "viewing-distance has no effect without visual-weights csf");
  if (!(p->viewing_distance > 0))
    p->viewing_distance = DEFAULT_VIEWING;
  if (p->rate_effort == CJ2K_EFFORT_BEST && !cj2k_quantises_best(p))
    cj2k_setup_warn(setup, "rate-effort best has an effect with HT and the 9/7 filter alone");
  warn_of_frames(setup);
  return CJ2K_OK;
}

/* --------------------------------------------------------------------------- budgets --- */

uint64_t cj2k_whole_bytes(double bytes)
{
  if (!(bytes > 0))
    return 0;
  /* Rounding errors may have made a whole number slightly smaller. */
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

uint64_t cj2k_setup_average_bytes(const Cj2kEncoderSetup *setup)
{
  const Cj2kEncoderParams *p = &setup->params;

  if (!p->average_bitrate)
    return 0;
  uint64_t bytes = cj2k_whole_bytes((double)p->average_bitrate * 125 / p->frame_rate);
  return bytes > p->frame_overhead ? bytes - p->frame_overhead : 1;
}

uint64_t cj2k_setup_component_bytes(const Cj2kEncoderSetup *setup)
{
  uint64_t bytes =
      setup->params.max_component_bytes ? setup->params.max_component_bytes : UINT64_MAX;
  return setup->profile_component_bytes ? MIN(bytes, setup->profile_component_bytes) : bytes;
}
