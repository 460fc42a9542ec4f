#include "waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TELL_NS 1000000000ull

/*
 * Of a program that waited for less than this, and took no samples, nothing is written: reading
 * it would take longer than such a program runs.
 */
#define HELD_NS 50000000ull
#define HELD_MOST 256u

struct gn_held_wait {
	struct gn_sample_sample sample;
	struct gn_sample_wait wait;
};

int gn_waits_begin(struct gn_waits *waits, struct gn_sample_file *out, uint32_t *n_written,
		   uint64_t since_ns)
{
	memset(waits, 0, sizeof(*waits));
	waits->out = out;
	waits->n_written = n_written;
	waits->since_ns = since_ns;
	waits->held = calloc(HELD_MOST, sizeof(*waits->held));
	return waits->held ? 0 : -ENOMEM;
}

void gn_waits_end(struct gn_waits *waits)
{
	free(waits->held);
	waits->held = NULL;
}

/* --- lists of threads ------------------------------------------------------------------------- */

static void link_out(struct gn_waits *waits, struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;

	own->next_out = waits->out_first;
	own->link_out = &waits->out_first;
	if (own->next_out)
		own->next_out->waits->link_out = &own->next_out;
	waits->out_first = thread;
}

static void unlink_out(struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;

	if (!own->link_out)
		return;
	*own->link_out = own->next_out;
	if (own->next_out)
		own->next_out->waits->link_out = own->link_out;
	own->link_out = NULL;
	own->next_out = NULL;
}

static void link_rest(struct gn_waits *waits, struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;

	if (own->link_rest)
		return;
	own->next_rest = waits->rest_first;
	own->link_rest = &waits->rest_first;
	if (own->next_rest)
		own->next_rest->waits->link_rest = &own->next_rest;
	waits->rest_first = thread;
}

static void unlink_rest(struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;

	if (!own->link_rest)
		return;
	*own->link_rest = own->next_rest;
	if (own->next_rest)
		own->next_rest->waits->link_rest = own->link_rest;
	own->link_rest = NULL;
	own->next_rest = NULL;
}

void gn_waits_forget(struct gn_thread *thread)
{
	if (!thread->waits)
		return;
	unlink_out(thread);
	unlink_rest(thread);
	free(thread->waits);
	thread->waits = NULL;
}

/* NULL without memory: its waits are not known. */
static struct gn_thread_waits *waits_of(struct gn_waits *waits, struct gn_thread *thread,
					uint64_t time_ns)
{
	if (!thread->waits) {
		thread->waits = calloc(1, sizeof(*thread->waits));
		if (thread->waits)
			thread->waits->begin_ns = waits->since_ns ? waits->since_ns : time_ns;
	}
	return thread->waits;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void append(struct gn_waits *waits, const struct gn_sample_sample *sample,
		   struct gn_sample_wait *wait)
{
	wait->sample = (*waits->n_written)++;
	gn_sample_append(waits->out, GN_SAMPLE_SAMPLE, sample);
	gn_sample_append(waits->out, GN_SAMPLE_WAIT, wait);
}

void gn_waits_release(struct gn_waits *waits)
{
	if (waits->is_released)
		return;
	waits->is_released = 1;
	for (uint32_t i = 0; i < waits->n_held; i++)
		append(waits, &waits->held[i].sample, &waits->held[i].wait);
	waits->n_held = 0;
}

static void write_wait(struct gn_waits *waits, const struct gn_sample_sample *sample,
		       struct gn_sample_wait *wait)
{
	if (!waits->is_released) {
		waits->held_ns += sample->weight;
		if (waits->n_held == HELD_MOST || waits->held_ns > HELD_NS)
			gn_waits_release(waits);
	}
	if (waits->is_released) {
		append(waits, sample, wait);
		return;
	}
	waits->held[waits->n_held].sample = *sample;
	waits->held[waits->n_held].wait = *wait;
	waits->n_held++;
}

static uint32_t duration_class(uint64_t ns)
{
	const uint32_t bits = ns ? 63 - (uint32_t)__builtin_clzll(ns) : 0;

	return bits < GN_WAIT_DURATIONS ? bits : GN_WAIT_DURATIONS - 1;
}

static void add_rest(struct gn_waits *waits, struct gn_thread *thread, int is_runnable, uint64_t ns)
{
	struct gn_wait_rest *rest = &thread->waits->rest[is_runnable][duration_class(ns)];

	if (!ns)
		return;
	rest->ns += ns;
	rest->n++;
	link_rest(waits, thread);
}

static void write_rest(struct gn_waits *waits, struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;

	unlink_rest(thread);
	for (uint32_t kind = 0; kind < 2; kind++) {
		for (uint32_t i = 0; i < GN_WAIT_DURATIONS; i++) {
			struct gn_wait_rest *rest = &own->rest[kind][i];
			const struct gn_sample_rest record = {
				.ns = rest->ns,
				.n = rest->n,
				.thread = thread->number,
				.duration = (uint16_t)i,
				.is_runnable = (uint8_t)kind,
			};

			if (rest->n)
				gn_sample_append(waits->out, GN_SAMPLE_REST, &record);
			*rest = (struct gn_wait_rest){0};
		}
	}
}

void gn_waits_tell(struct gn_waits *waits, uint64_t now_ns, int is_end)
{
	if (!is_end && now_ns < waits->rest_told_ns + TELL_NS)
		return;
	waits->rest_told_ns = now_ns;
	while (waits->rest_first)
		write_rest(waits, waits->rest_first);
}

/* --- what threads do -------------------------------------------------------------------------- */

void gn_waits_create(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		     int is_runnable)
{
	struct gn_thread_waits *own = waits_of(waits, thread, time_ns);

	if (!own || own->is_known)
		return;
	own->begin_ns = time_ns;
	own->is_known = 1;
	if (is_runnable) {
		own->out_ns = time_ns;
		own->is_runnable = 1;
	}
}

void gn_waits_suppose(struct gn_waits *waits, struct gn_thread *thread)
{
	struct gn_thread_waits *own = waits_of(waits, thread, waits->since_ns);

	if (!own || own->is_known)
		return;
	own->out_ns = own->begin_ns;
	link_out(waits, thread);
}

void gn_waits_sample(struct gn_waits *waits, struct gn_thread *thread,
		     const struct gn_sample_sample *sample)
{
	struct gn_thread_waits *own = waits_of(waits, thread, sample->time_ns);

	if (!own)
		return;
	own->sample = *sample;
	own->has_sample = 1;
	if (sample->flags & GN_SAMPLE_SIGNALLED)
		waits->n_signalled++;
	else
		waits->n_samples++;
}

void gn_waits_kernel(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		     const uint64_t *address, uint64_t n)
{
	struct gn_thread_waits *own = waits_of(waits, thread, time_ns);

	if (!own)
		return;
	own->kernel.n = n < GN_KERNEL_CHAIN_MAX ? (uint32_t)n : GN_KERNEL_CHAIN_MAX;
	memcpy(own->kernel.address, address, own->kernel.n * sizeof(*address));
}

void gn_waits_leave(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		    int is_runnable)
{
	struct gn_thread_waits *own = waits_of(waits, thread, time_ns);

	/* Several events may tell the same. */
	if (!own || (own->out_ns && own->is_known))
		return;
	unlink_out(thread);
	own->is_known = 1;
	own->out_ns = time_ns;
	own->is_runnable = !!is_runnable;
	own->woken_ns = 0;
	own->look.from_ns = 0;
	if (!is_runnable)
		link_out(waits, thread);
}

void gn_waits_wake(struct gn_thread *thread, uint64_t time_ns, int32_t waker, int is_interrupt)
{
	struct gn_thread_waits *own = thread->waits;

	if (!own || !own->out_ns || own->is_runnable || own->woken_ns || time_ns < own->out_ns)
		return;
	own->woken_ns = time_ns;
	own->waker = waker;
	own->is_interrupt = !!is_interrupt;
}

/* Its wait from a time to another; the thread has a number. */
static void write_end(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns)
{
	struct gn_thread_waits *own = thread->waits;
	const uint64_t woken = own->woken_ns ? own->woken_ns : time_ns;
	const struct gn_wait_look *look = &own->look;
	const int is_looked =
		look->from_ns >= own->out_ns && look->until_ns <= time_ns && look->from_ns;
	struct gn_sample_wait wait = {
		.woken_ns = own->woken_ns,
		.waker = own->woken_ns ? own->waker : 0,
	};

	waits->n++;
	/* A stack of the look is no stack of this wait if it was not read during it. */
	if (!own->has_sample || (own->sample.flags & GN_SAMPLE_LOOKED && !is_looked)) {
		if (own->is_runnable) {
			add_rest(waits, thread, 1, time_ns - own->out_ns);
		} else {
			add_rest(waits, thread, 0, woken - own->out_ns);
			add_rest(waits, thread, 1, time_ns - woken);
		}
		return;
	}
	wait.flags = (uint8_t)((own->is_runnable ? GN_WAIT_RUNNABLE : 0) |
			       (own->woken_ns && own->is_interrupt ? GN_WAIT_BY_INTERRUPT : 0));
	if (is_looked) {
		wait.call = look->call;
		wait.subject = look->subject;
		wait.holder = look->holder;
	}
	own->sample.thread = thread->number;
	own->sample.time_ns = own->out_ns;
	own->sample.weight = time_ns - own->out_ns;
	write_wait(waits, &own->sample, &wait);
}

void gn_waits_return(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns)
{
	struct gn_thread_waits *own = waits_of(waits, thread, time_ns);

	if (!own)
		return;
	/* It waited when the measurement began. */
	if (!own->is_known && waits->since_ns)
		own->out_ns = own->begin_ns;
	own->is_known = 1;
	if (own->out_ns && own->out_ns < time_ns)
		write_end(waits, thread, time_ns);
	own->out_ns = 0;
	own->has_sample = own->is_runnable = 0;
	own->kernel.is_apart = 0;
	own->kernel.n = 0;
	unlink_out(thread);
}

struct gn_thread *gn_waits_next(struct gn_waits *waits)
{
	struct gn_thread *thread = waits->out_first;

	if (thread)
		unlink_out(thread);
	return thread;
}

void gn_waits_look(struct gn_thread *thread, const struct gn_wait_look *look,
		   const struct gn_sample_sample *sample)
{
	struct gn_thread_waits *own = thread->waits;

	own->look = *look;
	if (!own->has_sample && sample) {
		own->sample = *sample;
		own->sample.flags |= GN_SAMPLE_LOOKED;
		own->has_sample = 1;
	}
}

void gn_waits_exit(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns)
{
	const struct gn_thread_waits *own = thread->waits;
	struct gn_sample_span span = {.thread = thread->number};

	if (!own)
		return;
	span.begin_ns = own->begin_ns;
	span.end_ns = time_ns;
	/* Of a thread that nothing was told of, only a look knows that it waited. */
	if (own->out_ns && (own->is_known || own->look.from_ns))
		gn_waits_return(waits, thread, time_ns);
	write_rest(waits, thread);
	gn_sample_append(waits->out, GN_SAMPLE_SPAN, &span);
	gn_waits_forget(thread);
}
