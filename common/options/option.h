/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One table describes all parameters of an encoder or decoder: name, range, default, unit and help
 * text. The parameter checks of the library, the options and --help of the command line tools and
 * the properties of the elements are made from it.
 */
#ifndef CJ2K_OPTIONS_OPTION_H
#define CJ2K_OPTIONS_OPTION_H

#include "common/cj2k.h"

typedef enum {
  CJ2K_OPTION_BOOLEAN, /* bool */
  CJ2K_OPTION_INTEGER, /* of 1, 2, 4 or 8 bytes; signed when `min` is below 0 */
  CJ2K_OPTION_NUMBER,  /* double */
  CJ2K_OPTION_WORD,    /* enum: one of `words` */
  CJ2K_OPTION_FLAGS,   /* uint8_t: a sum of `words` */
  CJ2K_OPTION_TEXT,    /* const char *; the text stays the caller's */
  CJ2K_OPTION_LIST,    /* text that `parse` turns into several fields */
} Cj2kOptionKind;

enum {
  CJ2K_OPTION_LIVE = 1,       /* may change while encoding */
  CJ2K_OPTION_UNSET = 2,      /* 0 in the field is allowed and means the default */
  CJ2K_OPTION_POWER_OF_2 = 4, /* INTEGER */
  CJ2K_OPTION_NEGATED = 8,    /* BOOLEAN: the field holds the opposite */
  CJ2K_OPTION_MIB = 32,       /* INTEGER of 8 bytes: the field counts bytes, the option MiB */
  CJ2K_OPTION_AUTO =
      64, /* INTEGER: in the elements 0 is the default and leaves it to the element */
  CJ2K_OPTION_SWITCH = 128, /* WORD with `false` = 0, `true` = 1 and others: it can be given like a
                               BOOLEAN, in the tools by its name alone */
  CJ2K_OPTION_NO_PROPERTY =
      16, /* only for the library and the tools: the element takes the value from the stream */
};

/* A value of an enum or a bit of a set of flags. The table of words ends with a name of NULL. */
typedef struct {
  int value;
  const char *name, *blurb;
} Cj2kOptionWord;

typedef struct {
  const char *
      name; /* lower case with hyphens: name of the property, and of the tools' option after "--" */
  const char *nick;  /* title of the property */
  const char *blurb; /* what it does, without range and default */
  const char *unit;  /* NULL: none */
  Cj2kOptionKind kind;
  double min, max, standard; /* INTEGER, NUMBER; the default of all kinds but TEXT and LIST */
  size_t offset, size;       /* of the field in the parameter struct */
  const Cj2kOptionWord *words;
  const char *type; /* name of the type of `words`, as "RateControl" */
  const char *form; /* LIST: what is expected, as "a list of up to 64 numbers" */
  bool (*parse)(const char *text, void *params);
  unsigned flags;
} Cj2kOption;

typedef struct {
  const Cj2kOption *options;
  size_t count;
} Cj2kOptionTable;

const Cj2kOption *cj2k_option_find(const Cj2kOptionTable *table, const char *name);

/* Sets a field from text. On CJ2K_ERROR_ARGUMENT the field is unchanged, and *error names the
 * option, the text and what is expected. A TEXT field points to `text` itself afterwards. */
Cj2kStatus cj2k_option_parse(const Cj2kOption *option, const char *text, void *params,
                             Cj2kError *error);

/* Checks the range of every field; CJ2K_ERROR_ARGUMENT names the first field out of range. */
Cj2kStatus cj2k_option_check(const Cj2kOptionTable *table, const void *params, Cj2kError *error);

/* Read and write a field of kind INTEGER, BOOLEAN, WORD or FLAGS as a number. With
 * CJ2K_OPTION_UNSET a field of 0 reads as the default, unless CJ2K_OPTION_AUTO is set; with
 * CJ2K_OPTION_NEGATED the value is the opposite of the field. */
int64_t cj2k_option_get(const Cj2kOption *option, const void *params);
void cj2k_option_set(const Cj2kOption *option, void *params, int64_t value);
/* The same for a field of kind NUMBER. */
double cj2k_option_get_number(const Cj2kOption *option, const void *params);
void cj2k_option_set_number(const Cj2kOption *option, void *params, double value);

/* Writes what a value must be, such as "an integer in 1..100"; `text` has room for `size` bytes. */
void cj2k_option_expects(const Cj2kOption *option, char *text, size_t size);
/* Writes the default, such as "85" or "mq"; empty if there is none. */
void cj2k_option_default(const Cj2kOption *option, char *text, size_t size);
/* Do the tools take its name alone, without a value? */
bool cj2k_option_is_switch(const Cj2kOption *option);
/* Writes the blurb with range and default, for --help. */
void cj2k_option_help(const Cj2kOption *option, char *text, size_t size);
/* Name of a word; "unknown" for a value that has none. */
const char *cj2k_option_word(const Cj2kOptionWord *words, int64_t value);

/* Read one entry of a list, a number or an unsigned integer, at *text and move *text past it.
 * Return false if there is none in this range. */
bool cj2k_option_read_number(const char **text, double min, double max, double *value);
bool cj2k_option_read_integer(const char **text, uint64_t max, uint64_t *value);

/* the words of options that are in both tables */
extern const Cj2kOptionWord cj2k_backend_words[], cj2k_component_streams_words[];

#endif
