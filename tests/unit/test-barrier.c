/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A model of how woken threads take part in a loop (cj2k_awake_for and
 * cj2k_awake_stay of common/runtime/awake.c): a caller that opens, works on and closes several
 * loops in turn, and helpers that enter and leave them. Every order in which the steps of all
 * threads can follow each other is tried. In none may an index be lost, done twice or still be at
 * work when the loop returns, may a thread read what another one is about to write, or may all
 * threads wait.
 *
 * Then each step is left out, and each two neighbours are exchanged: the model must fail, or the
 * table of harmless changes must say why it does not. An exchange is what a weaker order of memory
 * would allow: the caller's "close" and "wait", and a helper's "enter" and "check", are a store and
 * a load that only sequentially consistent operations keep apart; that "open" stays behind what it
 * publishes, and "leave" behind the work, needs release; that "work" stays behind "check", acquire.
 */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define HELPERS   2
#define LOOPS     2
#define MAX_STEPS 9

static const guint8 lengths[LOOPS + 1] = {0, 2, 1}; /* indices of each loop; loops count from 1 */

typedef enum {
  SET_FN,   /* plain writes */
  SET_N,    /* */
  RESET,    /* next = 0 */
  OPEN,     /* turn rises and is odd */
  WORK,     /* takes indices until none is left */
  CLOSE,    /* turn rises and is even */
  WAIT,     /* until active is 0 */
  RETURN,   /* the caller of the loop goes on */
  NEXT,     /* begins the next loop */
  AWAIT,    /* until turn is odd and another than the last */
  ENTER,    /* active rises */
  CHECK,    /* not if turn has changed meanwhile: work */
  LEAVE,    /* active falls */
  REMEMBER, /* which turn that was */
  AGAIN
} Step;

static const Step caller_steps[] = {SET_FN, SET_N, RESET, OPEN, WORK, CLOSE, WAIT, RETURN, NEXT};
static const Step helper_steps[] = {AWAIT, ENTER, CHECK, WORK, LEAVE, REMEMBER, AGAIN};
static const char *const names[] = {"fn",    "n",     "reset",  "open",     "work",
                                    "close", "wait",  "return", "next",     "await",
                                    "enter", "check", "leave",  "remember", "again"};

typedef struct {
  Step caller[MAX_STEPS], helper[MAX_STEPS];
  guint caller_length, helper_length;
  bool torn_next, torn_active; /* these are raised by a load and a store, not in one step */
} Model;

/* Parts of WORK: an index is taken, compared with n, fn is read, and the call ends. */
enum { TAKE, STORE, COMPARE, READ_FN, END };

typedef struct {
  guint8 step, part, index, fn, turn, last, old; /* old: of a torn rise */
} Thread;

/* All members are bytes, so that states are compared as memory. `next` wraps around after 256
 * steps, and in the library after 2^32: a helper that enters the same loop again and again would
 * bring it there. */
typedef struct {
  guint8 fn, n, next, turn, active, loop; /* loop: that the caller is in */
  guint8 runs[LOOPS + 1][4];
  Thread threads[1 + HELPERS]; /* the caller first */
} State;

static guint state_hash(gconstpointer data)
{
  const guint8 *bytes = data;
  guint hash = 2166136261u;
  for (gsize i = 0; i < sizeof(State); i++)
    hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

static gboolean state_equal(gconstpointer a, gconstpointer b)
{
  return memcmp(a, b, sizeof(State)) == 0;
}

static Step step_of(const Model *model, const State *state, guint who)
{
  guint8 at = state->threads[who].step;
  return who == 0 ? model->caller[at] : model->helper[at];
}

/* ------------------------------------------------------------------------- one step --- */

/* What is wrong with the end of a call; NULL: nothing. */
static const char *end_call(State *state, const Thread *thread)
{
  if (thread->fn == 0 || thread->fn > LOOPS || thread->index >= lengths[thread->fn])
    return "an index that the loop does not have";
  return ++state->runs[thread->fn][thread->index] > 1 ? "an index was done twice" : NULL;
}

/* One part of WORK. */
static const char *work(const Model *model, State *state, Thread *thread)
{
  switch (thread->part++) {
  case TAKE:
    thread->index = state->next;
    if (!model->torn_next) {
      state->next++;
      thread->part = COMPARE;
    }
    break;
  case STORE: state->next = thread->index + 1; break;
  case COMPARE:
    if (thread->index >= state->n) {
      thread->part = TAKE;
      thread->step++;
    }
    break;
  case READ_FN: thread->fn = state->fn; break;
  default: thread->part = TAKE; return end_call(state, thread);
  }
  return NULL;
}

static void raise_active(const Model *model, State *state, Thread *thread, int by)
{
  if (model->torn_active && thread->part == 0) {
    thread->old = state->active;
    thread->part = 1;
    return;
  }
  state->active = (guint8)((model->torn_active ? thread->old : state->active) + by);
  thread->part = 0;
  thread->step++;
}

static const char *check_loop(const State *state)
{
  for (guint i = 0; i < lengths[state->loop]; i++)
    if (state->runs[state->loop][i] != 1)
      return "the loop returned before all was done";
  return NULL;
}

/* Whether a thread can go on. */
static bool enabled(const Model *model, const State *state, guint who)
{
  const Thread *thread = &state->threads[who];
  switch (step_of(model, state, who)) {
  case SET_FN:
  case SET_N:
  case RESET: return state->loop <= LOOPS;
  case WAIT: return state->active == 0;
  case AWAIT: return state->turn % 2 != 0 && state->turn != thread->last;
  default: return true;
  }
}

/* Where a helper goes on whose check, step `at`, found another turn: at "leave", if it has entered.
 */
static guint8 behind_work(const Model *model, guint8 at)
{
  bool entered = false;
  for (guint8 i = 0; i < model->helper_length; i++) {
    if (model->helper[i] == REMEMBER || (i > at && entered && model->helper[i] == LEAVE))
      return i;
    entered |= i < at && model->helper[i] == ENTER;
  }
  return 0;
}

/* Lets a thread do its next step. Returns what went wrong, or NULL. */
static const char *advance(const Model *model, State *state, guint who)
{
  Thread *thread = &state->threads[who];
  Step step = step_of(model, state, who);
  if (step == WORK)
    return work(model, state, thread);
  if (step == ENTER || step == LEAVE) {
    raise_active(model, state, thread, step == ENTER ? 1 : -1);
    return NULL;
  }
  thread->step++;
  switch (step) {
  case SET_FN: state->fn = state->loop; break;
  case SET_N: state->n = lengths[state->loop]; break;
  case RESET: state->next = 0; break;
  case OPEN:
  case CLOSE: state->turn++; break;
  case RETURN: return check_loop(state);
  case NEXT: state->loop++, thread->step = 0; break;
  case AWAIT: thread->turn = state->turn; break;
  case CHECK:
    if (state->turn != thread->turn)
      thread->step = behind_work(model, thread->step - 1);
    break;
  case REMEMBER: thread->last = thread->turn; break;
  case AGAIN: thread->step = 0; break;
  default: break;
  }
  return NULL;
}

/* ------------------------------------------------------------------------ all orders --- */

/* Whether a helper is about to read what the caller is about to write. */
static bool races(const Model *model, const State *state)
{
  Step step = step_of(model, state, 0);
  for (guint who = 1; who <= HELPERS; who++) {
    guint8 part = state->threads[who].part;
    if (step_of(model, state, who) == WORK && state->loop <= LOOPS &&
        ((step == SET_N && part == COMPARE) || (step == SET_FN && part == READ_FN)))
      return true;
  }
  return false;
}

typedef struct {
  GHashTable *seen; /* State */
  GPtrArray *open;  /* those of which the next steps were not tried */
} Search;

static void add_state(Search *search, const State *state)
{
  if (g_hash_table_contains(search->seen, state))
    return;
  State *copy = g_memdup2(state, sizeof *state);
  g_hash_table_add(search->seen, copy);
  g_ptr_array_add(search->open, copy);
}

/* Tries all next steps of a state. */
static const char *expand(Search *search, const Model *model, const State *state)
{
  guint ways = 0;
  if (races(model, state))
    return "a helper reads what the caller writes";
  for (guint who = 0; who <= HELPERS; who++) {
    State after = *state;
    if (!enabled(model, state, who))
      continue;
    ways++;
    const char *wrong = advance(model, &after, who);
    if (wrong)
      return wrong;
    add_state(search, &after);
  }
  return ways > 0 || state->loop > LOOPS ? NULL : "all threads wait";
}

/* Tries all orders of steps. Returns what can go wrong, or NULL. *states: states that were found.
 */
static const char *explore(const Model *model, guint *states)
{
  Search search = {.seen = g_hash_table_new_full(state_hash, state_equal, g_free, NULL),
                   .open = g_ptr_array_new()};
  const char *wrong = NULL;
  State first = {.loop = 1};
  add_state(&search, &first);
  while (!wrong && search.open->len > 0)
    wrong = expand(&search, model, g_ptr_array_steal_index(search.open, search.open->len - 1));
  *states = g_hash_table_size(search.seen);
  g_ptr_array_unref(search.open);
  g_hash_table_unref(search.seen);
  return wrong;
}

/* ------------------------------------------------------------------------------ tests --- */

static Model whole_model(void)
{
  Model model = {.caller_length = G_N_ELEMENTS(caller_steps),
                 .helper_length = G_N_ELEMENTS(helper_steps)};
  memcpy(model.caller, caller_steps, sizeof caller_steps);
  memcpy(model.helper, helper_steps, sizeof helper_steps);
  return model;
}

static void test_all_orders(void)
{
  Model model = whole_model();
  guint states;
  g_assert_cmpstr(explore(&model, &states), ==, NULL);
  g_test_message("%u states", states);
  g_assert_cmpuint(states, >, 1000); /* helpers do take part */
}

/* Changes after which nothing goes wrong, and why. */
static const struct {
  const char *change, *why;
} harmless[] = {
    {"exchange fn n", "both are published by open"},
    {"exchange n reset", "both are published by open"},
    {"exchange open work", "the caller does all alone before it lets others in"},
    {"exchange work close", "helpers that are in help on, others stay outside"},
    {"exchange leave remember", "what a helper remembers is its own"},
    {"leave out helper's work", "the caller does what helpers do not"},
};

static void check_change(const Model *model, const char *change)
{
  guint states;
  const char *wrong = explore(model, &states), *why = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(harmless); i++)
    if (g_str_equal(harmless[i].change, change))
      why = harmless[i].why;
  g_test_message("%s: %s", change, wrong ? wrong : why ? why : "not noticed");
  if (!wrong != (why != NULL))
    g_error("%s: %s", change, wrong ? wrong : "nothing goes wrong");
}

/* The last step of both only begins anew, and the caller's last but one is the check. */
static void test_left_out(void)
{
  for (guint who = 0; who < 2; who++) {
    guint count = (who ? G_N_ELEMENTS(helper_steps) : G_N_ELEMENTS(caller_steps) - 1) - 1;
    for (guint at = 0; at < count; at++) {
      Model model = whole_model();
      Step *steps = who ? model.helper : model.caller;
      gchar *change = g_strdup_printf("leave out %s%s", who && steps[at] == WORK ? "helper's " : "",
                                      names[steps[at]]);
      guint *length = who ? &model.helper_length : &model.caller_length;
      memmove(steps + at, steps + at + 1, (*length - at - 1) * sizeof *steps);
      (*length)--;
      check_change(&model, change);
      g_free(change);
    }
  }
}

static void test_exchanged(void)
{
  for (guint who = 0; who < 2; who++) {
    guint count = (who ? G_N_ELEMENTS(helper_steps) : G_N_ELEMENTS(caller_steps)) - 2;
    for (guint at = 0; at < count; at++) {
      Model model = whole_model();
      Step *steps = who ? model.helper : model.caller, step = steps[at];
      gchar *change = g_strdup_printf("exchange %s %s", names[step], names[steps[at + 1]]);
      steps[at] = steps[at + 1];
      steps[at + 1] = step;
      check_change(&model, change);
      g_free(change);
    }
  }
}

/* A helper that does not say that it is in the loop. */
static void test_unseen(void)
{
  static const Step steps[] = {AWAIT, CHECK, WORK, REMEMBER, AGAIN};
  Model model = whole_model();
  memcpy(model.helper, steps, sizeof steps);
  model.helper_length = G_N_ELEMENTS(steps);
  check_change(&model, "leave out enter and leave");
}

/* Counts that several threads raise must be raised in one step. */
static void test_torn(void)
{
  Model next = whole_model(), active = whole_model();
  next.torn_next = true;
  active.torn_active = true;
  check_change(&next, "raise next in two steps");
  check_change(&active, "raise active in two steps");
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/barrier/all-orders", test_all_orders);
  g_test_add_func("/barrier/left-out", test_left_out);
  g_test_add_func("/barrier/exchanged", test_exchanged);
  g_test_add_func("/barrier/unseen", test_unseen);
  g_test_add_func("/barrier/torn", test_torn);
  return g_test_run();
}
