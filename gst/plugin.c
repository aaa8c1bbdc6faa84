/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * plugin-cudaj2k:
 *
 * JPEG 2000 (Rec. ITU-T T.800) and High-Throughput JPEG 2000 (Rec. ITU-T T.814) on NVIDIA GPUs,
 * with a CPU back end that gives the same bytes and the same samples.
 */
#include "config.h"
#include "gstcudaj2kcommon.h"
#include "gstcudaj2krtp.h"

/* The CUDA driver maps the streams of a process to 8 hardware queues unless this variable asks for
 * more; streams that share a queue wait for each other. But the processes on a GPU share about
 * 512 of them: with 32 each, the sixteenth one cannot start (docs/deployment.md). The driver reads
 * the variable when it makes a context, so it is set before the first CUDA call, and a value of the
 * user's stays. */
static void ask_for_queues(void)
{
  g_setenv("CUDA_DEVICE_MAX_CONNECTIONS", "16", FALSE);
}

static gboolean plugin_init(GstPlugin *plugin)
{
  ask_for_queues();
  gst_cuda_j2k_register_typefinders(plugin);
#ifdef CJ2K_HAVE_GST_RTP
  if (!GST_ELEMENT_REGISTER(rtpj2ksclpay, plugin) || !GST_ELEMENT_REGISTER(rtpj2kscldepay, plugin))
    return FALSE;
#endif
  return GST_ELEMENT_REGISTER(cudaj2kdec, plugin) && GST_ELEMENT_REGISTER(cudaj2kenc, plugin);
}

#define PACKAGE "cudaj2k" /* required by GST_PLUGIN_DEFINE */
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cudaj2k,
                  "JPEG 2000 and HTJ2K encoder and decoder on NVIDIA GPUs and CPUs", plugin_init,
                  CJ2K_VERSION, "LGPL", "cudaj2k", "Unknown package origin")
