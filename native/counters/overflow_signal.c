#include "overflow_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "locks.h"

#define SLOTS 1024
#define CHUNKS 1024

/* What belongs to a descriptor. A handler is in it while it is busy. */
struct slot {
	struct gn_signal_target *_Atomic target;
	_Atomic int busy;
};

static struct slot *_Atomic chunks[CHUNKS];

/* Under GN_LOCK_SIGNAL: the number, 0 before it was taken, and what was there before. */
static _Atomic int number_taken;
static struct sigaction passed_on;

static struct slot *slot_of(int fd)
{
	struct slot *chunk = NULL;

	if (fd >= 0 && fd < SLOTS * CHUNKS)
		chunk = atomic_load_explicit(&chunks[fd / SLOTS], memory_order_acquire);
	return chunk ? &chunk[fd % SLOTS] : NULL;
}

/* To a handler that was there before. What nobody handles is of an event that was closed. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	const struct sigaction *action = &passed_on;

	if (action->sa_flags & SA_SIGINFO) {
		if (action->sa_sigaction)
			action->sa_sigaction(number, info, context);
	} else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
		action->sa_handler(number);
	}
}

static void on_overflow(int number, siginfo_t *info, void *context)
{
	const int saved = errno;
	struct slot *slot =
		info->si_code > 0 || info->si_code == SI_SIGIO ? slot_of(info->si_fd) : NULL;
	struct gn_signal_target *target = NULL;

	if (slot) {
		atomic_fetch_add(&slot->busy, 1);
		target = atomic_load(&slot->target);
		if (target)
			target->notify(target, context);
		atomic_fetch_sub(&slot->busy, 1);
	}
	if (!target)
		pass_on(number, info, context);
	errno = saved;
}

/*
 * Where the queue of signals is full (RLIMIT_SIGPENDING), the kernel sends SIGIO instead, which
 * ends a program that does not handle it. That overflow is lost; gn_set_stop() finds out.
 */
static void on_full_queue(int number)
{
	(void)number;
}

static void take_full_queue(void)
{
	struct sigaction before, action = {.sa_handler = on_full_queue, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	if (!sigaction(SIGIO, NULL, &before) && !(before.sa_flags & SA_SIGINFO) &&
	    before.sa_handler == SIG_DFL)
		sigaction(SIGIO, &action, NULL);
}

static int take(int number)
{
	/* No other handler on top of ours but that of another signal: the program's own. */
	struct sigaction action = {.sa_sigaction = on_overflow,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	sigemptyset(&action.sa_mask);
	if (sigaction(number, &action, &passed_on))
		return -errno;
	return number;
}

static int is_free(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && !(action.sa_flags & SA_SIGINFO) &&
	       action.sa_handler == SIG_DFL;
}

static int is_ours(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_flags & SA_SIGINFO &&
	       action.sa_sigaction == on_overflow;
}

int gn_overflow_signal(void)
{
	int number = atomic_load(&number_taken);

	if (number && is_ours(number))
		return number;
	gn_lock(GN_LOCK_SIGNAL);
	number = number_taken;
	if (number && !is_ours(number))
		number = take(number);
	for (int free = SIGRTMAX; !number && free >= SIGRTMIN; free--)
		number = is_free(free) ? take(free) : 0;
	if (number > 0 && !number_taken)
		take_full_queue();
	if (number > 0)
		atomic_store(&number_taken, number);
	gn_unlock(GN_LOCK_SIGNAL);
	return number ? number : -EAGAIN;
}

static struct slot *make_slot(int fd)
{
	struct slot *none = NULL, *chunk;

	if (fd >= SLOTS * CHUNKS || slot_of(fd))
		return slot_of(fd);
	chunk = calloc(SLOTS, sizeof(*chunk));
	if (chunk && !atomic_compare_exchange_strong(&chunks[fd / SLOTS], &none, chunk))
		free(chunk);
	return slot_of(fd);
}

int gn_overflow_publish(int fd, int tid, struct gn_signal_target *target)
{
	const struct f_owner_ex owner = {F_OWNER_TID, tid};
	const int number = gn_overflow_signal();
	struct slot *slot = make_slot(fd);
	const int flags = fcntl(fd, F_GETFL);

	if (number < 0)
		return number;
	if (!slot)
		return -ENOMEM;
	if (flags < 0 || fcntl(fd, F_SETSIG, number) || fcntl(fd, F_SETOWN_EX, &owner))
		return -errno;
	/* Nobody is in a slot without a target; a fork may have caught another thread in it. */
	atomic_store(&slot->busy, 0);
	atomic_store(&slot->target, target);
	if (fcntl(fd, F_SETFL, flags | O_ASYNC)) {
		const int error = -errno;

		gn_overflow_withdraw(fd, 1);
		return error;
	}
	return 0;
}

void gn_overflow_withdraw(int fd, int is_own_thread)
{
	struct slot *slot = slot_of(fd);

	if (!slot)
		return;
	atomic_store(&slot->target, NULL);
	while (!is_own_thread && atomic_load(&slot->busy))
		sched_yield();
}

uint64_t gn_interrupted_address(const void *context)
{
	const ucontext_t *interrupted = context;

#if defined(__x86_64__)
	return (uint64_t)interrupted->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return interrupted->uc_mcontext.pc;
#elif defined(__powerpc64__)
	return interrupted->uc_mcontext.gp_regs[32]; /* PT_NIP */
#elif defined(__riscv)
	return interrupted->uc_mcontext.__gregs[REG_PC];
#else
	(void)interrupted;
	return 0;
#endif
}
