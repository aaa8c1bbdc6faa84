/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every CUDA call of an encoder's or decoder's life fails once, in each way of failing
 * (call-faults.h). The library must say so, hang nowhere and free what it has; the frames around
 * the one that suffers must be as without a fault, and so must a new codec.
 *
 * Linked with the CUDA runtime it needs a GPU and skips without. Linked with pretend-runtime.c it
 * needs none, and tests the host side alone. --share N: only each Nth call fails in each way; with
 * 5 each call fails in one way; in a short run (effort.h) it is four times N. --only TEXT: cases
 * with this text in their names. --beside 1: another codec is open, so that codecs get memory that
 * others have left. Linked with pretend-coders.c as well blocks have bytes, so that frames are cut;
 * --must-cut 1 asks for that. Prints TAP.
 */
#include "call-faults.h"
#include "common/backend.h"
#include "tests/unit/effort.h"
#include "tests/unit/encoder-pictures.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES     4
#define MANY       14    /* frames, so that slots make graphs of what the GPU decides */
#define MAX_CALLS  20000 /* more is a loop that does not end */
#define HANG_AFTER 60    /* seconds */

typedef struct {
  const char *name;
  cudaError_t error;
  FaultExtent extent;
} Fault;

static const Fault faults[] = {
    {"out of memory", cudaErrorMemoryAllocation, FAULT_ONCE},
    {"invalid value", cudaErrorInvalidValue, FAULT_ONCE},
    {"launch failure", cudaErrorLaunchFailure, FAULT_ONCE},
    {"illegal address, and all calls after it", cudaErrorIllegalAddress, FAULT_FROM},
    {"no more memory from then on", cudaErrorMemoryAllocation, FAULT_MEMORY},
};

typedef struct {
  const char *name, *options; /* options: of the encoder */
  uint32_t in_flight;
  Cj2kMemoryKind memory; /* of the pictures */
  bool decodes, traced;
  bool parts;      /* decodes frames in parts */
  uint32_t slices; /* decodes in so many slices of rows */
  bool components; /* component-streams=on */
  uint32_t frames; /* encodes so many; 0: FRAMES */
} Case;

#define IN_ROWS "progression-order=pcrl precincts=64x32,32x16 num-resolutions=3 "
#define SLICES  IN_ROWS "block-coder=ht slices=true "

static const Case cases[] = {
    {"encode HT", "block-coder=ht rate-control=lossless", 1, CJ2K_MEMORY_HOST, false, false},
    {"encode HT, traced", "block-coder=ht quant-step=0.01", 1, CJ2K_MEMORY_PINNED, false, true},
    {"encode HT to a budget", "block-coder=ht max-frame-bytes=4000", 3, CJ2K_MEMORY_HOST, false,
     false},
    {"encode MQ to an average", "block-coder=mq average-bitrate=800 average-window=16", 3,
     CJ2K_MEMORY_HOST, false, false},
    {"encode MQ", "block-coder=mq rate-control=lossless", 3, CJ2K_MEMORY_HOST, false, false},
    {"encode MQ to a budget", "block-coder=mq max-frame-bytes=4000", 1, CJ2K_MEMORY_CUDA, false,
     false},
    {"encode MQ, cut by the GPU", "block-coder=mq max-frame-bytes=200000", 2, CJ2K_MEMORY_PINNED,
     false, true},
    {"encode HT, cut by the GPU", "block-coder=ht max-frame-bytes=120000", 2, CJ2K_MEMORY_PINNED,
     false, false, false, 0, false, MANY},
    {"encode HT as X'Y'Z'", "block-coder=ht quant-step=0.01 rgb-to-xyz=on", 1, CJ2K_MEMORY_HOST,
     false, false},
    {"encode MQ in layers", "block-coder=mq max-frame-bytes=4000 num-layers=3", 2, CJ2K_MEMORY_HOST,
     false, false},
    {"encode HT with best effort", "block-coder=ht max-frame-bytes=4000 rate-effort=best", 1,
     CJ2K_MEMORY_HOST, false, false},
    {"encode HT with best effort to a PSNR", "block-coder=ht psnr=40 rate-effort=best", 3,
     CJ2K_MEMORY_PINNED, false, false},
    {"encode HT in slices", SLICES "quant-step=0.01", 1, CJ2K_MEMORY_HOST, false, false},
    {"encode HT in slices to a budget", SLICES "max-frame-bytes=2500", 2, CJ2K_MEMORY_PINNED, false,
     false},
    {"encode MQ in slices", IN_ROWS "block-coder=mq slices=true quant-step=0.01", 1,
     CJ2K_MEMORY_HOST, false, false},
    {"encode MQ in slices to a budget", IN_ROWS "block-coder=mq slices=true max-frame-bytes=2500",
     2, CJ2K_MEMORY_PINNED, false, false},
    {"decode HT", "block-coder=ht rate-control=lossless", 1, CJ2K_MEMORY_HOST, true, true},
    {"decode HT to device memory", "block-coder=ht rate-control=lossless", 3, CJ2K_MEMORY_CUDA,
     true, false},
    {"decode MQ", "block-coder=mq rate-control=lossless", 3, CJ2K_MEMORY_PINNED, true, false},
    {"decode MQ, 4:2:0", "block-coder=mq quant-step=0.01", 1, CJ2K_MEMORY_HOST, true, false},
    {"decode HT in parts", IN_ROWS "block-coder=ht rate-control=lossless", 1, CJ2K_MEMORY_HOST,
     true, true, true},
    {"decode HT in parts to device memory", IN_ROWS "block-coder=ht quant-step=0.01", 1,
     CJ2K_MEMORY_CUDA, true, false, true},
    {"decode MQ in parts, 4:2:0", IN_ROWS "block-coder=mq quant-step=0.01", 2, CJ2K_MEMORY_PINNED,
     true, false, true},
    {"decode HT, downloaded in slices", "block-coder=ht rate-control=lossless", 1,
     CJ2K_MEMORY_PINNED, true, true, false, 3},
    {"decode MQ, downloaded in slices, 4:2:0", "block-coder=mq quant-step=0.01", 1,
     CJ2K_MEMORY_HOST, true, false, false, 2},
    {"decode HT by components", "block-coder=ht quant-step=0.01", 1, CJ2K_MEMORY_HOST, true, false,
     false, 0, true},
    {"decode HT by components, several", "block-coder=ht quant-step=0.01", 3, CJ2K_MEMORY_PINNED,
     true, false, false, 0, true},
    {"encode HT by components", "block-coder=ht quant-step=0.01", 1, CJ2K_MEMORY_HOST, false, true,
     false, 0, true},
    {"encode MQ by components, 4:2:0", "block-coder=mq max-frame-bytes=4000", 2, CJ2K_MEMORY_PINNED,
     false, false, false, 0, true},
    {"decode MQ by components, 4:2:0", "block-coder=mq quant-step=0.01", 2, CJ2K_MEMORY_CUDA, true,
     false, false, 0, true},
};

/* One life of a codec. */
typedef struct {
  const Case *what;
  const TestPicture *picture;
  Cj2kEncoderParams params;
  GBytes *coded;          /* by the CPU; what a decoder gets */
  size_t picture_bytes;   /* of a decoded picture */
  GBytes *expected[MANY]; /* what frames give without a fault */
  uint64_t kernels;       /* with one frame in flight: those that each frame needs */
  uint32_t failed;        /* frames, or a codec that cannot be opened */
  bool ends;              /* the codec cannot be opened, or memory for pictures cannot be had */
  gchar *why;             /* what is wrong; NULL: nothing */
  const Fault *fault;     /* NULL: none */
} Life;

static uint32_t num_tests;
static bool any_failed;
static bool beside;         /* codecs live beside another one */
static bool must_cut;       /* cases that are cut by the GPU have such frames for sure */
static gint num_cuts;       /* launches of that, of codecs that are traced */
static char hang_text[200]; /* what is said if the current codec does not end */

/* --------------------------------------------------------------------------- what is wrong --- */

static void wrong(Life *life, const char *what)
{
  if (!life->why)
    life->why = g_strdup(what);
}

/* A failure must have a status that fits and a text that tells what failed. */
static void check_error(Life *life, Cj2kStatus status, const Cj2kError *error)
{
  life->failed++;
  if (!life->fault)
    wrong(life, error->text);
  else if (status != CJ2K_ERROR_DEVICE && status != CJ2K_ERROR_MEMORY)
    wrong(life, "a status that is neither of the device nor of memory");
  else if (!strstr(error->text, "CUDA") && !strstr(error->text, "memory") &&
           !strstr(error->text, "GPU"))
    wrong(life, "an error whose text does not tell what failed");
}

/* Does every frame of this case give the same bytes, whatever became of those before? */
static bool is_repeatable(const Life *life)
{
  return life->what->decodes || (!strstr(life->what->options, "max-frame-bytes") &&
                                 !strstr(life->what->options, "average"));
}

/* A good frame needs the kernels that frames need without a fault: it relies on nothing that a
 * frame before it could not do. */
static void check_kernels(Life *life)
{
  uint64_t launched = call_faults_kernels();
  if (life->what->in_flight > 1)
    return;
  if (!life->fault)
    life->kernels &= launched;
  else if (life->kernels & ~launched)
    wrong(life, "a good frame was done without a kernel that frames need");
}

/* What a good frame gave. */
static void check_result(Life *life, uint32_t frame, const void *data, size_t size)
{
  check_kernels(life);
  if (frame > 0 && life->failed && !is_repeatable(life)) /* it may have learnt something else */
    return;
  if (!life->expected[frame]) {
    life->expected[frame] = g_bytes_new(data, size);
    return;
  }
  gsize expected;
  gconstpointer bytes = g_bytes_get_data(life->expected[frame], &expected);
  if (size != expected || memcmp(data, bytes, size) != 0)
    wrong(life, "a good frame differs from that of a run without a fault");
}

static void trace(void *user, uint32_t stream, const char *stage, double begin, double end)
{
  (void)user, (void)stream, (void)begin, (void)end;
  g_atomic_int_add(&num_cuts, strcmp(stage, "cut") == 0);
}

/* ---------------------------------------------------------------------------------- encoder --- */

/* Copies the picture to memory of the encoder's. NULL: there is none. */
static void *place_picture(Life *life, Cj2kEncoder *encoder, Cj2kPlane *planes,
                           Cj2kPicture *picture)
{
  const TestPicture *from = life->picture;
  size_t size = (size_t)from->width * from->height * 2;
  uint8_t *memory = cj2k_encoder_alloc(encoder, life->what->memory, size * from->num_components);
  for (uint32_t c = 0; memory && c < from->num_components; c++) {
    const Cj2kComponent *component = &from->components[c];
    size_t own = from->planes[c].pitch * (component->y1 - component->y0);
    planes[c] = (Cj2kPlane){.data = memory + c * size, .pitch = from->planes[c].pitch};
    if (life->what->memory != CJ2K_MEMORY_CUDA)
      memcpy(planes[c].data, from->planes[c].data, own);
    else if (!call_faults_copy(planes[c].data, from->planes[c].data, own))
      wrong(life, "no copy to device memory");
  }
  *picture = (Cj2kPicture){
      .memory = life->what->memory, .num_planes = from->num_components, .planes = planes};
  return memory;
}

static void receive_packet(Life *life, Cj2kEncoder *encoder, uint32_t frame)
{
  Cj2kPacket packet;
  if (cj2k_encoder_receive(encoder, &packet) != CJ2K_OK)
    wrong(life, "a frame that was submitted cannot be received");
  else if (packet.status != CJ2K_OK)
    check_error(life, packet.status, &packet.error);
  else if (packet.fallback)
    wrong(life, "done by the CPU");
  else
    check_result(life, frame, packet.data, packet.size);
  cj2k_encoder_release(encoder, &packet);
}

static void run_encoder(Life *life, Cj2kEncoder *encoder, const Cj2kPicture *picture)
{
  bool submitted[MANY] = {false};
  uint32_t frames = life->what->frames ? life->what->frames : FRAMES;
  Cj2kError error = {0};
  for (uint32_t i = 0; i < frames + life->what->in_flight; i++) {
    if (i >= life->what->in_flight && submitted[i - life->what->in_flight])
      receive_packet(life, encoder, i - life->what->in_flight);
    if (i >= frames)
      continue;
    call_faults_kernels();
    Cj2kStatus status = cj2k_encoder_submit(encoder, picture, NULL, &error);
    submitted[i] = status == CJ2K_OK;
    if (status != CJ2K_OK)
      check_error(life, status, &error);
  }
}

static void encode(Life *life)
{
  Cj2kError error = {0};
  Cj2kPlane planes[3];
  Cj2kPicture picture;
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&life->params, &life->picture->image, &life->picture->layout, &error);
  if (!encoder) {
    check_error(life, error.code, &error);
    life->ends = true;
    return;
  }
  void *memory = NULL;
  if (life->what->memory == CJ2K_MEMORY_HOST)
    picture = life->picture->picture;
  else
    memory = place_picture(life, encoder, planes, &picture);
  if (life->what->memory == CJ2K_MEMORY_HOST || memory)
    run_encoder(life, encoder, &picture);
  else
    life->failed++;
  life->ends = life->what->memory != CJ2K_MEMORY_HOST && !memory;
  cj2k_encoder_free(encoder, life->what->memory, memory);
  cj2k_encoder_close(encoder);
}

/* ---------------------------------------------------------------------------------- decoder --- */

/* Memory for the pictures of all frames in flight, and the picture of one. */
typedef struct {
  uint8_t *memory;
  Cj2kPlane planes[FRAMES][3];
  Cj2kPicture pictures[FRAMES];
} Targets;

static void make_targets(Life *life, Cj2kDecoder *decoder, Targets *targets)
{
  const TestPicture *like = life->picture;
  targets->memory = cj2k_decoder_alloc(decoder, life->what->memory, life->picture_bytes * FRAMES);
  for (uint32_t i = 0; targets->memory && i < FRAMES; i++) {
    uint8_t *at = targets->memory + i * life->picture_bytes;
    for (uint32_t c = 0; c < like->num_components; c++) {
      const Cj2kComponent *component = &like->components[c];
      size_t pitch = like->planes[c].pitch;
      targets->planes[i][c] = (Cj2kPlane){.data = at, .pitch = pitch};
      at += pitch * (component->y1 - component->y0);
    }
    targets->pictures[i] = (Cj2kPicture){.memory = life->what->memory,
                                         .num_planes = like->num_components,
                                         .planes = targets->planes[i]};
  }
}

static void receive_frame(Life *life, Cj2kDecoder *decoder, const Targets *targets, uint32_t number)
{
  Cj2kFrame frame;
  const uint8_t *at = targets->memory + number * life->picture_bytes;
  if (cj2k_decoder_receive(decoder, &frame) != CJ2K_OK) {
    wrong(life, "a frame that was submitted cannot be received");
  } else if (frame.status != CJ2K_OK) {
    check_error(life, frame.status, &frame.error);
  } else if (frame.fallback || frame.corrupt_blocks) {
    wrong(life, "done by the CPU, or corrupt");
  } else if (life->what->memory == CJ2K_MEMORY_CUDA) {
    uint8_t *copy = g_malloc(life->picture_bytes);
    if (call_faults_copy(copy, at, life->picture_bytes))
      check_result(life, number, copy, life->picture_bytes);
    else
      wrong(life, "no copy from device memory");
    g_free(copy);
  } else {
    check_result(life, number, at, life->picture_bytes);
  }
  cj2k_decoder_release(decoder, &frame);
}

#define PARTS 4

/* Hands a codestream over, whole or in parts. */
static Cj2kStatus submit(const Life *life, Cj2kDecoder *decoder, const Cj2kPicture *picture,
                         Cj2kError *error)
{
  const Cj2kLayout *layout = &life->picture->layout;
  gsize size;
  const uint8_t *data = g_bytes_get_data(life->coded, &size);
  if (!life->what->parts)
    return cj2k_decoder_submit(decoder, data, size, layout, picture, NULL, error);
  Cj2kStatus status = cj2k_decoder_begin(decoder, layout, picture, NULL, NULL, NULL, error);
  for (gsize i = 0; i < PARTS && status == CJ2K_OK; i++)
    status = cj2k_decoder_append(decoder, data + size * i / PARTS,
                                 size * (i + 1) / PARTS - size * i / PARTS, error);
  return status == CJ2K_OK ? cj2k_decoder_end(decoder, error) : status;
}

static void run_decoder(Life *life, Cj2kDecoder *decoder, const Targets *targets)
{
  bool submitted[FRAMES] = {false};
  Cj2kError error = {0};
  for (uint32_t i = 0; i < FRAMES + life->what->in_flight; i++) {
    if (i >= life->what->in_flight && submitted[i - life->what->in_flight])
      receive_frame(life, decoder, targets, i - life->what->in_flight);
    if (i >= FRAMES)
      continue;
    call_faults_kernels();
    Cj2kStatus status = submit(life, decoder, &targets->pictures[i], &error);
    submitted[i] = status == CJ2K_OK;
    if (status != CJ2K_OK)
      check_error(life, status, &error);
  }
}

static void decode(Life *life)
{
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  Targets targets;
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  params.num_threads = 2;
  params.frames_in_flight = life->what->in_flight;
  params.low_latency = life->what->in_flight == 1;
  params.trace = life->what->traced ? trace : NULL;
  params.component_streams =
      life->what->components ? CJ2K_COMPONENT_STREAMS_ON : CJ2K_COMPONENT_STREAMS_OFF;
  cj2k_backend_test.slices = life->what->slices;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  if (!decoder) {
    check_error(life, error.code, &error);
    life->ends = true;
    return;
  }
  make_targets(life, decoder, &targets);
  if (targets.memory)
    run_decoder(life, decoder, &targets);
  else
    life->failed++;
  life->ends = !targets.memory;
  cj2k_decoder_free(decoder, life->what->memory, targets.memory);
  cj2k_decoder_close(decoder);
}

/* ------------------------------------------------------------------------------------ tests --- */

static void run(Life *life)
{
  life->what->decodes ? decode(life) : encode(life);
}

/* Opens a codec beside which others live, and lets one live and leave its memory to the next. */
static Cj2kEncoder *open_beside(Life *life)
{
  Cj2kError error = {0};
  Cj2kEncoder *encoder =
      cj2k_encoder_open(&life->params, &life->picture->image, &life->picture->layout, &error);
  if (!encoder)
    wrong(life, error.text);
  life->fault = NULL;
  run(life);
  return encoder;
}

/* Runs one codec with a fault at this call (NULL: none); false: the call is not reached. */
static bool live(Life *life, const Fault *fault, uint32_t number, const char **name)
{
  int alive = call_faults_alive(), blind = call_faults_blind_launches();
  Cj2kEncoder *other = beside ? open_beside(life) : NULL;
  life->failed = 0;
  life->ends = false;
  life->fault = fault;
  if (fault)
    call_faults_arm(number, fault->error, fault->extent);
  g_snprintf(hang_text, sizeof hang_text, "Bail out! %s does not end after call %u: %s\n",
             life->what->name, number, fault ? fault->name : "no fault");
  alarm(HANG_AFTER);
  run(life);
  alarm(0);
  *name = fault ? call_faults_disarm() : NULL;
  cj2k_encoder_close(other);
  if (call_faults_alive() != alive)
    wrong(life, "memory, a stream or an event is left");
  if (call_faults_blind_launches() != blind)
    wrong(life, "a kernel was launched after one that failed");
  return *name != NULL;
}

static void fail_at(Life *life, const Fault *fault, uint32_t number, bool *reached,
                    uint32_t *harmful)
{
  const char *name = NULL, *none;
  *reached = live(life, fault, number, &name);
  if (fault->extent == FAULT_ONCE && life->failed > 1)
    wrong(life, "more frames failed than were hit");
  *harmful += life->failed > 0;
  gchar *why = g_steal_pointer(&life->why);
  if (why && *reached)
    printf("# call %u, %s: %s\n", number, name, why);
  /* The fault is over: a new codec works. After harmless ones that is not tried each time. */
  if (*reached && (life->failed || number % 16 == 0)) {
    live(life, NULL, 0, &none);
    if (life->why)
      printf("# after call %u, %s: %s\n", number, name, life->why);
  }
  if (!why)
    why = g_steal_pointer(&life->why);
  g_free(life->why);
  life->why = why;
}

static void report(const Life *life, bool good, const Fault *fault, uint32_t calls,
                   uint32_t harmful)
{
  any_failed |= !good;
  printf("%sok %u - %s: %s, at each of %u calls, %u of them needed\n", good ? "" : "not ",
         ++num_tests, life->what->name, fault->name, calls, harmful);
}

/* Lets every call of a codec's life fail; with `share` of several only each such one. */
static void test_fault(Life *life, const Fault *fault, uint32_t first, uint32_t share)
{
  uint32_t number = first, harmful = 0, bad = 0;
  bool reached = true;
  while (reached && number < MAX_CALLS && bad < 5) {
    fail_at(life, fault, number, &reached, &harmful);
    bad += life->why != NULL;
    g_clear_pointer(&life->why, g_free);
    number += share;
  }
  if (number >= MAX_CALLS)
    printf("# more than %d calls\n", MAX_CALLS);
  report(life, !bad && number < MAX_CALLS && (harmful || share > 1), fault, number - share,
         harmful);
}

static void life_init(Life *life, const Case *what, const TestPicture *picture)
{
  *life = (Life){.what = what, .picture = picture, .kernels = UINT64_MAX};
  cj2k_encoder_params_init(&life->params);
  life->params.backend = CJ2K_BACKEND_CPU;
  life->params.num_threads = 2;
  life->params.frame_rate = 25;
  test_set_options(&life->params, what->options);
  if (what->decodes)
    life->coded = test_encode_valid(&life->params, picture);
  life->params.backend = CJ2K_BACKEND_CUDA;
  life->params.frames_in_flight = what->in_flight;
  life->params.low_latency = what->in_flight == 1;
  life->params.trace = what->traced ? trace : NULL;
  if (what->components)
    life->params.component_streams = CJ2K_COMPONENT_STREAMS_ON;
  for (uint32_t c = 0; c < picture->num_components; c++)
    life->picture_bytes +=
        picture->planes[c].pitch * (picture->components[c].y1 - picture->components[c].y0);
}

/* Are events for the host recorded by graphs? */
static bool makes_graphs(Life *life)
{
  int before = call_faults_graph_events();
  const char *name;
  live(life, NULL, 0, &name);
  return call_faults_graph_events() > before;
}

static void test_case(const Case *what, const TestPicture *picture, uint32_t share)
{
  Life life;
  const char *name;
  life_init(&life, what, picture);
  num_cuts = 0;
  if (strstr(what->name, "cut by the GPU"))
    life.params.trace = trace;
  live(&life, NULL, 0, &name);
  life.params.trace = what->traced ? trace : NULL;
  /* Without a GPU kernels mostly do nothing, and frames are far below their budget. */
  bool full = must_cut || (life.expected[0] && g_bytes_get_size(life.expected[0]) > 100000);
  if (num_cuts)
    printf("# %s: %d cuts launched\n", what->name, num_cuts);
  if (strstr(what->name, "cut by the GPU") && full && !num_cuts)
    wrong(&life, "no frame was to be cut by the GPU");
  if (must_cut && what->frames && !makes_graphs(&life))
    wrong(&life, "no frame that was cut by the GPU was a graph");
  /* Where memory of codestreams cannot be pinned, the host puts them together: kernels that do that
   * are not needed. */
  call_faults_refuse("cudaHostRegister");
  live(&life, NULL, 0, &name);
  call_faults_refuse(NULL);
  if (life.why) {
    printf("not ok %u - %s: without a fault: %s\n", ++num_tests, what->name, life.why);
    any_failed = true;
  }
  for (uint32_t i = 0; i < G_N_ELEMENTS(faults) && !life.why; i++)
    test_fault(&life, &faults[i], i % share, share);
  g_free(life.why);
  for (uint32_t i = 0; i < MANY; i++)
    g_clear_pointer(&life.expected[i], g_bytes_unref);
  g_clear_pointer(&life.coded, g_bytes_unref);
}

/* New device memory is zero: what another process left must not be seen. */
static void test_zeros(void)
{
  enum { SIZE = 100000 };
  Cj2kDecoderParams params;
  Cj2kError error = {0};
  cj2k_decoder_params_init(&params);
  params.backend = CJ2K_BACKEND_CUDA;
  Cj2kDecoder *decoder = cj2k_decoder_open(&params, &error);
  uint8_t *copy = g_malloc(SIZE);
  void *memory = decoder ? cj2k_decoder_alloc(decoder, CJ2K_MEMORY_CUDA, SIZE) : NULL;
  bool good = memory && call_faults_copy(copy, memory, SIZE);
  for (size_t i = 0; i < SIZE && good; i++)
    good = copy[i] == 0;
  printf("%sok %u - new device memory is zero\n", good ? "" : "not ", ++num_tests);
  any_failed |= !good;
  cj2k_decoder_free(decoder, CJ2K_MEMORY_CUDA, memory);
  cj2k_decoder_close(decoder);
  g_free(copy);
}

static void hung(int signal)
{
  (void)signal;
  _exit(write(STDOUT_FILENO, hang_text, strlen(hang_text)) > 0 ? 1 : 2);
}

int main(int argc, char **argv)
{
  TestPicture picture, subsampled, film, large;
  static const uint8_t dx[] = {1, 2, 2}, dy[] = {1, 2, 2};
  const char *only = "";
  int share = 1, count = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--share") == 0)
      share = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--only") == 0)
      only = argv[i + 1];
    else if (strcmp(argv[i], "--beside") == 0)
      beside = atoi(argv[i + 1]) != 0;
    else if (strcmp(argv[i], "--must-cut") == 0)
      must_cut = atoi(argv[i + 1]) != 0;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("1..0 # SKIP no GPU\n");
    return 0;
  }
  signal(SIGALRM, hung);
  test_picture_init(&picture, SCENE_NATURAL, 90, 70, 3, 10, false, NULL, NULL, 0, 0);
  test_picture_init(&subsampled, SCENE_NATURAL, 90, 70, 3, 10, false, dx, dy, 0, 0);
  test_picture_init(&film, SCENE_NATURAL, 90, 70, 3, 12, false, NULL, NULL, 0, 0);
  test_picture_init(&large, SCENE_NATURAL, 400, 300, 3, 10, false, NULL, NULL, 0, 0);
  test_zeros();
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
    if (strstr(cases[i].name, only))
      test_case(&cases[i],
                strstr(cases[i].name, "4:2:0")    ? &subsampled
                : strstr(cases[i].name, "X'Y'Z'") ? &film
                : strstr(cases[i].name, "cut by") ? &large
                                                  : &picture,
                (uint32_t)MAX(share, 1) * (test_is_short() ? 4 : 1));
  printf("1..%u\n", num_tests);
  test_picture_clear(&picture);
  test_picture_clear(&subsampled);
  test_picture_clear(&film);
  test_picture_clear(&large);
  return any_failed ? 1 : 0;
}
