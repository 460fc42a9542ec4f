/*
 * Signals that end the program, while layers hold what it wrote: that goes to the system first.
 * Only those whose action is the default are handled, and only once a file holds writes; the
 * program ends by the signal as it would have.
 */
#ifndef GNOMON_MIO_FATAL_SIGNALS_H
#define GNOMON_MIO_FATAL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* With each file: the program may have set an action to the default meanwhile. */
void gn_mio_fatal_signals_begin(void);

/* The program has set one to the default; nothing where none is handled. */
void gn_mio_fatal_signals_again(void);

/* Whether an action is ours, or what signal(2) returned. */
bool gn_mio_is_fatal_action(const struct sigaction *action);
bool gn_mio_is_fatal_handler(void (*handler)(int));

#endif
