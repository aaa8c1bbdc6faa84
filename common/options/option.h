/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One table says everything about the parameters of an encoder or decoder: name, range, default,
 * unit and text for users. The library's check of parameters, the options of the command line tools
 * with their --help, and the properties of the elements are all made from it.
 */
#ifndef CJ2K_OPTION_H
#define CJ2K_OPTION_H

#include "common/cj2k.h"

typedef enum {
  CJ2K_OPTION_BOOLEAN, /* bool */
  CJ2K_OPTION_INTEGER, /* of 1, 2, 4 or 8 bytes; signed when `min` is below 0 */
  CJ2K_OPTION_NUMBER,  /* double */
  CJ2K_OPTION_WORD,    /* enum: one of `words` */
  CJ2K_OPTION_FLAGS,   /* uint8_t: a sum of `words` */
  CJ2K_OPTION_TEXT,    /* const char *, which stays the caller's */
  CJ2K_OPTION_LIST,    /* text that `parse` turns into several fields */
} Cj2kOptionKind;

enum {
  CJ2K_OPTION_LIVE = 1,         /* may change while encoding */
  CJ2K_OPTION_UNSET = 2,        /* 0 in the field is allowed, and stands for the default */
  CJ2K_OPTION_POWER_OF_2 = 4,   /* INTEGER */
  CJ2K_OPTION_NEGATED = 8,      /* BOOLEAN: the field says the opposite */
  CJ2K_OPTION_NO_PROPERTY = 16, /* only for the library and the tools; the element knows better */
};

/* A value of an enum or a bit of a set of flags. The table of words ends with a name of NULL. */
typedef struct {
  int value;
  const char *name, *blurb;
} Cj2kOptionWord;

typedef struct {
  const char *name;  /* in lower case with hyphens: of the property, and after "--" of the tools */
  const char *nick;  /* title of the property */
  const char *blurb; /* what it does, without range and default */
  const char *unit;  /* NULL: none */
  Cj2kOptionKind kind;
  double min, max, standard; /* INTEGER, NUMBER; the default of all kinds but TEXT and LIST */
  size_t offset, size;       /* of the field in the struct of parameters */
  const Cj2kOptionWord *words;
  const char *type; /* name of the type of `words`, as "RateControl" */
  const char *form; /* LIST: what is expected, as "numbers with commas between" */
  bool (*parse)(const char *text, void *params);
  unsigned flags;
} Cj2kOption;

typedef struct {
  const Cj2kOption *options;
  size_t count;
} Cj2kOptionTable;

const Cj2kOption *cj2k_option_find(const Cj2kOptionTable *table, const char *name);

/* Sets a field from text. CJ2K_ERROR_ARGUMENT names option, text and what is expected, and the
 * field stays as it was. A TEXT field points to `text` itself afterwards. */
Cj2kStatus cj2k_option_parse(const Cj2kOption *option, const char *text, void *params,
                             Cj2kError *error);

/* Checks the range of every field; CJ2K_ERROR_ARGUMENT names the first that is outside of it. */
Cj2kStatus cj2k_option_check(const Cj2kOptionTable *table, const void *params, Cj2kError *error);

/* INTEGER, BOOLEAN, WORD and FLAGS: a field as a number. With CJ2K_OPTION_UNSET 0 reads as the
 * default, with CJ2K_OPTION_NEGATED as the opposite. */
int64_t cj2k_option_get(const Cj2kOption *option, const void *params);
void cj2k_option_set(const Cj2kOption *option, void *params, int64_t value);
/* NUMBER. */
double cj2k_option_get_number(const Cj2kOption *option, const void *params);
void cj2k_option_set_number(const Cj2kOption *option, void *params, double value);

/* What a value must be, as "an integer in 1..100"; `text` has room for `size` bytes. */
void cj2k_option_expects(const Cj2kOption *option, char *text, size_t size);
/* The default in words, as "85" or "mq"; empty where there is none. */
void cj2k_option_default(const Cj2kOption *option, char *text, size_t size);
/* The blurb with range and default, for --help. */
void cj2k_option_help(const Cj2kOption *option, char *text, size_t size);
/* Name of a word; "unknown" for a value that has none. */
const char *cj2k_option_word(const Cj2kOptionWord *words, int64_t value);

/* Parts of lists: a number and an unsigned integer at *text, which moves behind it; false: there is
 * none in this range. */
bool cj2k_option_read_number(const char **text, double min, double max, double *value);
bool cj2k_option_read_integer(const char **text, uint64_t max, uint64_t *value);

/* backend, of both tables */
extern const Cj2kOptionWord cj2k_backend_words[];

#endif
