/*
 * The program's calls that concern the signal of the samples. It sees its own setting of SIGTRAP,
 * and no other program is executed while a signal may be on its way.
 */
#ifndef GNOMON_PROGRAM_CALLS_H
#define GNOMON_PROGRAM_CALLS_H

#include <signal.h>

/* From now on SIGTRAP is ours. 0 or a negative errno. */
int gn_take_signal(void (*handler)(int, siginfo_t *, void *));

/*
 * Ignores the signal of samples that cannot be stopped, so that the program to be executed does not
 * die of the last; and takes it again where that failed.
 */
void gn_ignore_signal(void);
void gn_heed_signal(void);

/* A SIGTRAP that is not ours: what the program has asked for. */
void gn_pass_signal(int number, siginfo_t *info, void *context);

#endif
