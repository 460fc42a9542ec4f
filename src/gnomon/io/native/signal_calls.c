/*
 * What a program asks of its signals. Those that end it are ours while modules hold what it wrote
 * (fatal_signals.h): it sees the default that they have without us.
 */
#include <signal.h>

#include "fatal_signals.h"
#include "next_symbol.h"
#include "open_files.h"

typedef void (*handler)(int);

/* One that the program sets to the default ends it from now on: then it is ours, too. */
static void handle_again(handler set)
{
	static __thread int is_within __attribute__((tls_model("initial-exec")));

	if (set != SIG_DFL || is_within || !gn_mio_has_files())
		return;
	is_within = 1;
	gn_mio_fatal_signals_again();
	is_within = 0;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *former)
{
	typedef int (*call)(int, const struct sigaction *, struct sigaction *);
	static call next;
	int result;

	if (!next)
		next = (call)gn_next_symbol("sigaction");
	result = next(number, action, former);
	if (!result && former && gn_mio_is_fatal_action(former))
		*former = (struct sigaction){.sa_handler = SIG_DFL};
	if (!result && action)
		handle_again(action->sa_handler);
	return result;
}

#define SETS_HANDLER(name)                                                                         \
	handler name(int number, handler action)                                                   \
	{                                                                                          \
		handler (*const next)(int, handler) =                                              \
			(handler (*)(int, handler))gn_next_symbol(#name);                          \
		const handler former = next ? next(number, action) : SIG_ERR;                      \
                                                                                                   \
		handle_again(action);                                                              \
		return gn_mio_is_fatal_handler(former) ? SIG_DFL : former;                         \
	}

SETS_HANDLER(signal)
SETS_HANDLER(bsd_signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)
