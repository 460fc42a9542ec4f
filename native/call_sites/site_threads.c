#include "site_threads.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "call_stack.h"
#include "own_calls.h"
#include "stacks.h"

static struct {
	pthread_mutex_t lock;
	struct gn_site_thread *idle;
	uint32_t n;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct gn_site_thread *make_thread(size_t bytes)
{
	struct gn_thread_record record = {.thread = threads.n, .tid = (int32_t)gettid()};
	struct gn_site_thread *thread = gn_take_memory(bytes);

	if (!thread)
		return NULL;
	prctl(PR_GET_NAME, record.name);
	thread->number = record.thread;
	thread->record = gn_totals_add(&thread->chunk, GN_TOTALS_THREAD, &record, sizeof(record));
	if (!thread->record) {
		gn_give_memory(thread, bytes);
		return NULL;
	}
	threads.n++;
	return thread;
}

struct gn_site_thread *gn_site_thread_take(size_t bytes)
{
	const struct gn_stack_bounds bounds = gn_stack_bounds();
	struct gn_site_thread *thread;

	pthread_mutex_lock(&threads.lock);
	thread = threads.idle;
	if (thread)
		threads.idle = thread->next_idle;
	else
		thread = make_thread(bytes);
	pthread_mutex_unlock(&threads.lock);
	if (!thread)
		return NULL;
	/* The stacks of one that had it before are gone. */
	gn_places_forget(thread);
	thread->stack_begin = bounds.begin;
	thread->stack_end = bounds.end;
	return thread;
}

void gn_site_thread_give_back(struct gn_site_thread *thread)
{
	pthread_mutex_lock(&threads.lock);
	thread->next_idle = threads.idle;
	threads.idle = thread;
	pthread_mutex_unlock(&threads.lock);
}

void gn_call_sites_forget(void)
{
	/* A thread of the parent may have had it. */
	pthread_mutex_init(&threads.lock, NULL);
	threads.idle = NULL;
	threads.n = 0;
	gn_stacks_forget();
	gn_totals_forget();
}
