/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every tool does first. */
#ifndef EXAMPLES_TOOL_LOCALE_H
#define EXAMPLES_TOOL_LOCALE_H

/*
 * Takes the character set from the environment; UTF-8 where the environment names no locale ("C" or
 * "POSIX"), so that GLib does not refuse options with other characters than those of ASCII. Numbers
 * and messages stay those of the C locale.
 *
 * Asks CUDA for 16 hardware queues, unless the environment asks for another number, as the plugin
 * does: with CUDA's default of 8 no more than 8 frames in flight are on the GPU at once.
 *
 * A program that cannot write all of its standard output, for instance because the disk is full,
 * says so when it ends, and its exit status is 1.
 */
void tool_begin(void);

#endif
