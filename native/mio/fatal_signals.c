#include "fatal_signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "open_files.h"

static const int by_others[] = {SIGHUP,	 SIGINT,  SIGQUIT, SIGABRT,   SIGUSR1, SIGUSR2, SIGPIPE,
				SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF, SIGIO};
/* The instruction that raised it would be executed again. */
static const int by_code[] = {SIGILL, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGTRAP};

#define N(signals) (sizeof(signals) / sizeof(*(signals)))

/* What came while its thread was in a call of a file. */
static _Atomic int pending;
static _Atomic int is_begun, is_ending;

static void set_default(int number)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	is_ending = 1;
	sigaction(number, &action, NULL);
}

static void end_by(int number)
{
	set_default(number);
	raise(number);
}

/* The end of a call, which a signal waits for. */
static void deliver(void)
{
	const int number = pending;

	if (!number || gn_mio_is_in_call())
		return;
	gn_mio_files_after_call(NULL);
	pending = 0;
	gn_mio_files_flush();
	end_by(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const int before = errno;

	(void)info, (void)context;
	if (gn_mio_is_in_call()) {
		pending = number;
		gn_mio_files_after_call(deliver);
	} else {
		gn_mio_files_flush();
		end_by(number);
	}
	errno = before;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const int before = errno;

	(void)context;
	gn_mio_files_flush();
	set_default(number);
	/* Of a fault the code that raised it goes on, and raises it again. */
	if (info->si_code <= 0)
		raise(number);
	errno = before;
}

bool gn_mio_is_fatal_action(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO &&
	       (action->sa_sigaction == on_signal || action->sa_sigaction == on_fault);
}

bool gn_mio_is_fatal_handler(void (*handler)(int))
{
	return (void (*)(int, siginfo_t *, void *))(void (*)(void))handler == on_signal ||
	       (void (*)(int, siginfo_t *, void *))(void (*)(void))handler == on_fault;
}

static void install(const int *numbers, size_t n, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < n; i++) {
		struct sigaction present;

		if (!sigaction(numbers[i], NULL, &present) && !(present.sa_flags & SA_SIGINFO) &&
		    present.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	}
}

void gn_mio_fatal_signals_begin(void)
{
	is_begun = 1;
	install(by_others, N(by_others), on_signal);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		install(&number, 1, on_signal);
	install(by_code, N(by_code), on_fault);
}

void gn_mio_fatal_signals_again(void)
{
	if (is_begun && !is_ending)
		gn_mio_fatal_signals_begin();
}
