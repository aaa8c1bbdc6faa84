/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The character set of the command line. */
#ifndef EXAMPLES_TOOL_LOCALE_H
#define EXAMPLES_TOOL_LOCALE_H

/*
 * Takes the character set from the environment; UTF-8 where the environment names no locale ("C" or
 * "POSIX"), so that GLib does not refuse options with other characters than those of ASCII. Numbers
 * and messages stay those of the C locale. A tool calls it first.
 */
void tool_set_locale(void);

#endif
