/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout.h"

#include <glib.h>
#include <math.h>

uint64_t cj2k_layer_bytes(const Cj2kLayers *layers, uint32_t layer, double all)
{
  double rate = layers->rates[layer];

  if (rate > 0)
    return (uint64_t)(rate * layers->width * layers->height / 8);
  return (uint64_t)ldexp(all, (int)layer + 1 - layers->count);
}

Cj2kStatus cj2k_layout_init(Cj2kFrameLayout *layout, Cj2kPlan *plan, const Cj2kLayers *layers,
                            const Cj2kWriteOptions *options, Cj2kError *error)
{
  *layout = (Cj2kFrameLayout){.layers = layers,
                              .num_blocks = plan->num_blocks,
                              .plt = options->plt,
                              .retained =
                                  g_new0(uint8_t, ((size_t)plan->num_blocks + 1) * layers->count)};
  return cj2k_codestream_writer_new(plan, options, &layout->writer, error);
}

void cj2k_layout_clear(Cj2kFrameLayout *layout)
{
  cj2k_codestream_writer_free(layout->writer);
  g_free(layout->retained);
}

void cj2k_layout_set_source(Cj2kFrameLayout *layout, const Cj2kEncodedBlock *blocks,
                            const Cj2kPassLength *passes, const uint8_t *bytes,
                            const Cj2kSelection *selection)
{
  layout->source =
      (Cj2kPacketSource){.blocks = blocks,
                         .passes = passes,
                         .bytes = bytes,
                         .num_layers = layout->layers->count,
                         .retained = layout->retained,
                         .lengths = layout->layers->count == 1 ? selection->lengths : NULL};
}

void cj2k_layout_divide(Cj2kFrameLayout *layout, const Cj2kSelection *selection,
                        const Cj2kHulls *hulls, uint64_t budget, Cj2kSelection *cut)
{
  const Cj2kEncodedBlock *coded = layout->source.blocks;
  size_t blocks = layout->num_blocks;
  uint32_t last = layout->layers->count - 1u;
  uint8_t *retained = layout->retained + last * blocks;

  const uint8_t *options = selection->options;
  /* The option of an HT block is a bit-plane. */
  for (size_t b = 0; b < blocks; b++) {
    uint8_t option = options[b], passes = coded[b].num_passes;
    retained[b] = coded[b].is_ht && option ? passes : option;
  }
  for (uint32_t layer = last; layer-- > 0;) {
    double all = MIN((double)cj2k_hulls_bytes(hulls, 0), (double)budget);
    /* Packet headers take about a thirtieth. */
    uint32_t slope = cj2k_hulls_cut(hulls, cj2k_layer_bytes(layout->layers, layer, all) / 30 * 29);
    cj2k_hulls_apply(hulls, slope, cut);
    const uint8_t *above = retained;
    retained -= blocks;
    for (size_t b = 0; b < blocks; b++)
      retained[b] = MIN(cut->options[b], above[b]);
  }
}

static void count_time(Cj2kFrameLayout *layout, gint64 start)
{
  layout->ms += (double)(g_get_monotonic_time() - start) / 1000;
}

Cj2kStatus cj2k_layout_run_sizes(Cj2kFrameLayout *layout, const Cj2kQuantisation *quantisation,
                                 const Cj2kPacketSize *sizes, Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();
  Cj2kStatus status = cj2k_codestream_layout_sizes(layout->writer, quantisation, sizes,
                                                   &layout->size, &layout->as_listed, error);

  layout->sized = true;
  count_time(layout, start);
  return status;
}

Cj2kStatus cj2k_layout_run(Cj2kFrameLayout *layout, const Cj2kQuantisation *quantisation,
                           Cj2kThreads *threads, Cj2kError *error)
{
  gint64 start = g_get_monotonic_time();
  Cj2kStatus status = cj2k_codestream_layout(layout->writer, quantisation, &layout->source, threads,
                                             &layout->size, error);

  layout->sized = false;
  count_time(layout, start);
  return status;
}
