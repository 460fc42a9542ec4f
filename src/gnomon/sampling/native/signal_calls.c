/* sigaction(2) and its relatives, where SIGTRAP is concerned. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next_symbol.h"
#include "program_calls.h"
#include "python_sampler.h"

typedef int (*sigaction_call)(int, const struct sigaction *, struct sigaction *);
typedef void (*handler_call)(int);
typedef handler_call (*signal_call)(int, handler_call);

static atomic_int is_taken;
static struct sigaction own;	/* by which the samples come */
static struct sigaction wanted; /* what the program asked for */

static sigaction_call next_sigaction(void)
{
	static _Atomic(sigaction_call) next;

	if (!next)
		next = (sigaction_call)gn_next_symbol("sigaction");
	return next;
}

int gn_take_signal(void (*handler)(int, siginfo_t *, void *))
{
	own.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	own.sa_sigaction = handler;
	sigfillset(&own.sa_mask);
	if (next_sigaction()(SIGTRAP, &own, &wanted))
		return -errno;
	atomic_store(&is_taken, 1);
	return 0;
}

void gn_ignore_signal(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	next_sigaction()(SIGTRAP, &ignored, NULL);
}

void gn_heed_signal(void)
{
	next_sigaction()(SIGTRAP, &own, NULL);
}

void gn_pass_signal(int number, siginfo_t *info, void *context)
{
	const struct sigaction action = wanted;

	if (action.sa_flags & SA_SIGINFO) {
		action.sa_sigaction(number, info, context);
	} else if (action.sa_handler == SIG_DFL) {
		const struct sigaction by_default = {.sa_handler = SIG_DFL};

		/* The process dies of it as soon as this handler returns. */
		next_sigaction()(number, &by_default, NULL);
		syscall(SYS_tgkill, getpid(), gettid(), number);
	} else if (action.sa_handler != SIG_IGN) {
		action.sa_handler(number);
	}
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	struct sigaction previous;

	gn_python_look();
	if (number != SIGTRAP || !is_taken)
		return next_sigaction()(number, action, before);
	previous = wanted;
	if (action)
		wanted = *action;
	if (before)
		*before = previous;
	return 0;
}

static handler_call set(const char *name, int number, handler_call handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
	signal_call next;

	if (number != SIGTRAP || !is_taken) {
		next = (signal_call)gn_next_symbol(name);
		return next ? next(number, handler) : SIG_ERR;
	}
	sigaction(number, &action, &before);
	return before.sa_handler;
}

handler_call signal(int number, handler_call handler)
{
	return set("signal", number, handler, SA_RESTART);
}

handler_call bsd_signal(int number, handler_call handler)
{
	return set("bsd_signal", number, handler, SA_RESTART);
}

handler_call sysv_signal(int number, handler_call handler)
{
	return set("sysv_signal", number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

handler_call __sysv_signal(int number, handler_call handler)
{
	return set("__sysv_signal", number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}
