/* SIGPIPE and SIGXFSZ, kept from the program while we write. */
#include "file_signals.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

void gn_file_signals_hold(struct gn_file_signals *signals)
{
	sigemptyset(&signals->held);
	sigaddset(&signals->held, SIGPIPE);
	sigaddset(&signals->held, SIGXFSZ);
	sigpending(&signals->pending);
	pthread_sigmask(SIG_BLOCK, &signals->held, &signals->before);
}

void gn_file_signals_release(const struct gn_file_signals *signals)
{
	static const struct timespec at_once;
	const int ours[] = {SIGPIPE, SIGXFSZ};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		sigset_t wanted;

		/* What waited before is the program's own. */
		if (sigismember(&signals->pending, ours[i]))
			continue;
		sigemptyset(&wanted);
		sigaddset(&wanted, ours[i]);
		while (sigtimedwait(&wanted, NULL, &at_once) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
