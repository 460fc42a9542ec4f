/* Work that the program around it does not feel: no signal handler, cancellation or errno of it. */
#ifndef GNOMON_CORE_SIGNAL_SHIELD_H
#define GNOMON_CORE_SIGNAL_SHIELD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>

struct gn_signal_shield {
	int saved_errno, cancel_state;
	sigset_t mask;
};

static inline void gn_signal_shield_begin(struct gn_signal_shield *shield)
{
	sigset_t all;

	shield->saved_errno = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &shield->cancel_state);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &shield->mask);
}

static inline void gn_signal_shield_end(const struct gn_signal_shield *shield)
{
	pthread_sigmask(SIG_SETMASK, &shield->mask, NULL);
	pthread_setcancelstate(shield->cancel_state, NULL);
	errno = shield->saved_errno;
}

#endif
