/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * encode-refined [OPTIONS] IN OUT
 *
 * Makes a codestream with HT refinement passes, which rate control never selects, to test and
 * measure their decoding: every code-block has its cleanup pass at bit-plane 1, and SigProp and
 * MagRef at bit-plane 0. The options are those of cj2k-encode without those for a rate:
 * --quant-step, or --rate-control lossless, whose result is then not lossless.
 */
#include "common/encoder/encoder.h"
#include "examples/encode_input.h"

#include <stdio.h>

/* The back end that encodes, and the choices for the only frame. */
static const Cj2kEncodeBackend *coder;
static Cj2kHtChoice *choices;
static uint32_t num_blocks;

/* Every block with all passes; one that is zero at bit-plane 1 is left out. */
static Cj2kStatus code_refined(void *backend, Cj2kEncodeSlot *slot, const Cj2kCodeJob *job,
                               Cj2kError *error)
{
  Cj2kCodeJob refined = *job;

  for (uint32_t b = 0; b < num_blocks; b++)
    choices[b] = (Cj2kHtChoice){.plane = 1, .passes = 3};
  refined.choices = choices;
  return coder->code(backend, slot, &refined, error);
}

static bool encode(Cj2kEncoder *encoder, const EncodeInput *input, const char *path)
{
  Cj2kEncodeBackend backend = *encoder->backend.functions;
  Cj2kError error = {0};
  Cj2kPacket packet;
  bool ok = false;

  coder = encoder->backend.functions;
  num_blocks = encoder->plan->num_blocks;
  choices = g_new(Cj2kHtChoice, encoder->plan->num_blocks + 1u);
  backend.code = code_refined;
  encoder->backend.functions = &backend;
  if (cj2k_encoder_submit(encoder, &input->picture, NULL, &error) == CJ2K_OK) {
    cj2k_encoder_receive(encoder, &packet);
    error = packet.error;
    ok = packet.status == CJ2K_OK &&
         g_file_set_contents(path, (const char *)packet.data, (gssize)packet.size, NULL);
    cj2k_encoder_release(encoder, &packet);
  }
  encoder->backend.functions = coder;
  g_free(choices);
  if (!ok)
    fprintf(stderr, "encode-refined: %s: %s\n", path, error.code ? error.text : "cannot write");
  return ok;
}

static bool run(const EncodeOptions *options, const char *in, const char *out)
{
  Cj2kEncoderParams params;
  Cj2kError error;
  EncodeInput input;
  char why[IMAGE_WHY];

  params = options->params;
  params.backend = CJ2K_BACKEND_CPU;
  params.block_coder = CJ2K_CODER_HT;
  if (!(params.quant_step > 0) && params.rate_control != CJ2K_RATE_LOSSLESS) {
    fputs("encode-refined: only with --quant-step or --rate-control lossless\n", stderr);
    return false;
  }
  if (!encode_input_read(&input, options, &params, in, why)) {
    fprintf(stderr, "encode-refined: %s\n", why);
    return false;
  }
  Cj2kEncoder *encoder = cj2k_encoder_open(&params, &input.image, &input.layout, &error);
  bool ok = encoder && encode(encoder, &input, out);
  if (!encoder)
    fprintf(stderr, "encode-refined: %s\n", error.text);
  cj2k_encoder_close(encoder);
  encode_input_clear(&input);
  return ok;
}

int main(int argc, char **argv)
{
  EncodeOptions options;
  GError *error = NULL;
  bool ok = false;

  encode_options_init(&options);
  GOptionContext *context = g_option_context_new("IN OUT");
  g_option_context_add_group(context, encode_options_group(&options));
  if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 3)
    fprintf(stderr, "encode-refined: %s\n", error ? error->message : "one input and one output");
  else
    ok = run(&options, argv[1], argv[2]);
  g_clear_error(&error);
  g_option_context_free(context);
  encode_options_clear(&options);
  return !ok;
}
