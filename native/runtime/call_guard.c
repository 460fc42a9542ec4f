/*
 * Calling what somebody else wrote: a crash or a hang of it ends the call, not the program.
 *
 * What it held then, a lock of malloc(3) perhaps, stays held, so that whatever comes after it in
 * this thread is better guarded, too.
 */
#include "call_guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536

/* Glibc of Debian 12 has the name for the union's member only since 2.38. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
#define N_FATAL (sizeof(fatal) / sizeof(*fatal))

static struct {
	sigjmp_buf back;
	pid_t tid; /* of who is guarded; 0: nobody */
	int alarm; /* the timer's signal */
	int beat_fd;
	struct timespec beat; /* when the file was touched last */
	struct sigaction before[N_FATAL];
	struct sigaction alarm_before;
} guard;

static void give_back(int number)
{
	for (size_t i = 0; i < N_FATAL; i++)
		if (fatal[i] == number)
			sigaction(number, &guard.before[i], NULL);
}

/* Whether the call does something that takes long, such as to wait for others. */
static int has_beaten(void)
{
	struct stat status;

	if (guard.beat_fd < 0 || fstat(guard.beat_fd, &status) ||
	    (status.st_mtim.tv_sec == guard.beat.tv_sec &&
	     status.st_mtim.tv_nsec == guard.beat.tv_nsec))
		return 0;
	guard.beat = status.st_mtim;
	return 1;
}

static void end_call(int number, siginfo_t *info, void *context)
{
	const int before = errno;

	(void)context;
	if (number == guard.alarm && has_beaten()) {
		errno = before;
		return;
	}
	if (guard.tid == gettid())
		siglongjmp(guard.back, number);
	/* Another thread's is not ours: what faulted does so again. */
	give_back(number);
	if (info->si_code <= 0 && number != guard.alarm)
		raise(number);
}

/* One that nobody has a handler for. */
static int free_signal(void)
{
	struct sigaction action;

	for (int number = SIGRTMAX; number >= SIGRTMIN; number--)
		if (!sigaction(number, NULL, &action) && action.sa_handler == SIG_DFL)
			return number;
	return SIGALRM;
}

static void set_handlers(sigset_t *all)
{
	struct sigaction action = {.sa_sigaction = end_call,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	sigemptyset(&action.sa_mask);
	sigemptyset(all);
	guard.alarm = free_signal();
	for (size_t i = 0; i < N_FATAL; i++) {
		sigaddset(all, fatal[i]);
		sigaction(fatal[i], &action, &guard.before[i]);
	}
	sigaddset(all, guard.alarm);
	sigaction(guard.alarm, &action, &guard.alarm_before);
}

static void reset_handlers(void)
{
	for (size_t i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &guard.before[i], NULL);
	sigaction(guard.alarm, &guard.alarm_before, NULL);
}

int gn_call_guarded(void (*work)(void *context), void *context, double seconds, int beat_fd)
{
	const struct timespec period = {(time_t)seconds,
					(long)((seconds - (double)(time_t)seconds) * 1e9)};
	const struct itimerspec when = {period, period};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID};
	stack_t stack = {.ss_size = STACK_BYTES}, stack_before;
	sigset_t all, mask_before;
	timer_t timer;
	int has_timer, ended;

	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED) {
		stack.ss_sp = NULL;
		stack.ss_flags = SS_DISABLE;
	}
	sigaltstack(&stack, &stack_before);
	guard.beat_fd = beat_fd;
	has_beaten();
	set_handlers(&all);
	event.sigev_signo = guard.alarm;
	event.sigev_notify_thread_id = gettid();
	has_timer = !timer_create(CLOCK_MONOTONIC, &event, &timer);
	pthread_sigmask(SIG_UNBLOCK, &all, &mask_before);
	ended = sigsetjmp(guard.back, 1);
	if (!ended) {
		guard.tid = gettid();
		if (has_timer)
			timer_settime(timer, 0, &when, NULL);
		work(context);
	}
	guard.tid = 0;
	if (has_timer)
		timer_delete(timer);
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	ended = ended == guard.alarm ? -ETIMEDOUT : ended;
	reset_handlers();
	sigaltstack(&stack_before, NULL);
	if (stack.ss_sp)
		munmap(stack.ss_sp, STACK_BYTES);
	return ended;
}

int gn_call_guard_leave(void)
{
	const int is_here = guard.tid == gettid();

	if (is_here)
		guard.tid = 0;
	return is_here;
}
