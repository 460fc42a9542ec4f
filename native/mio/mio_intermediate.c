#include "mio_intermediate.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fatal_signals.h"
#include "stderr_line.h"

#define THREAD_STACK_BYTES ((size_t)256 << 10)
#define SIGNALS_MAX 65

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t requests;
static bool has_thread;
static bool is_asked_for[SIGNALS_MAX];
static void (*tell_all)(void);

/* Locks may be held where the signal comes: a thread does the rest. */
static void on_signal(int number)
{
	const int before = errno;

	(void)number;
	sem_post(&requests);
	errno = before;
}

static void *serve(void *unused)
{
	for (;;)
		if (!sem_wait(&requests))
			tell_all();
	return unused;
}

/* With the lock held. 0 or an errno. The program's signals are not for this thread. */
static int start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int result;

	if (has_thread)
		return 0;
	if (sem_init(&requests, 0, 0))
		return errno;
	result = pthread_attr_init(&attributes);
	if (result)
		return result;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread, &attributes, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	has_thread = !result;
	return result;
}

static void report(int number, const char *why)
{
	char text[16];
	struct iovec texts[] = {
		{.iov_base = "gnomon: no intermediate statistics of MIO at signal "},
		{.iov_base = text},
		{.iov_base = ": "},
		{.iov_base = (char *)why},
		{.iov_base = "; name another one with inter=\n"},
	};

	snprintf(text, sizeof(text), "%d", number);
	gn_stderr_line(texts, sizeof(texts) / sizeof(*texts));
}

/* With the lock held. */
static void install(int number)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, present;

	sigfillset(&action.sa_mask);
	if (sigaction(number, NULL, &present))
		report(number, "there is no such signal");
	else if (!gn_mio_is_fatal_action(&present) &&
		 (present.sa_flags & SA_SIGINFO || present.sa_handler != SIG_DFL))
		report(number, "the program handles or ignores it");
	else if (start_thread())
		report(number, "a thread cannot be started");
	else if (sigaction(number, &action, NULL))
		report(number, "it cannot be handled");
}

void gn_mio_intermediate_at(int number, void (*tell)(void))
{
	if (number <= 0 || number >= SIGNALS_MAX)
		return;
	pthread_mutex_lock(&lock);
	tell_all = tell;
	if (!is_asked_for[number])
		install(number);
	else
		start_thread();
	is_asked_for[number] = true;
	pthread_mutex_unlock(&lock);
}

void gn_mio_intermediate_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	has_thread = false;
}
