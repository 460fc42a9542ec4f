/* Writing inside a measured program, whose signals are not to tell of it. */
#ifndef GNOMON_RUNTIME_FILE_SIGNALS_H
#define GNOMON_RUNTIME_FILE_SIGNALS_H

#include <signal.h>

/*
 * Between the two, a broken pipe and the limit of a file's size are errors in the calling thread,
 * not signals that end the program.
 */
struct gn_file_signals {
	sigset_t held;
	sigset_t before;
	sigset_t pending;
};

void gn_file_signals_hold(struct gn_file_signals *signals);
void gn_file_signals_release(const struct gn_file_signals *signals);

#endif
