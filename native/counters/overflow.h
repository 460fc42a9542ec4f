/*
 * Events of a set that overflow: what is called, and how the kernel tells. Each is a watch. A
 * timer, which those of a set share, takes the place of their own signals with
 * GN_OVERFLOW_SOFTWARE, and empties the rings of histograms.
 */
#ifndef GNOMON_COUNTERS_OVERFLOW_H
#define GNOMON_COUNTERS_OVERFLOW_H

#include <stdatomic.h>

#include "overflow_signal.h"
#include "profil.h"
#include "ring.h"
#include "sets.h"

struct gn_watch {
	struct gn_signal_target target;
	struct gn_overflow_state *state;
	const struct gn_event *event;
	int index; /* of the event in the set */
	int64_t threshold;
	int flags;
	int precise, precise_wanted;
	gn_overflow_handler *handler; /* NULL: the histogram is what overflows go to */
	void *data;
	struct gn_histogram histogram;
	uint32_t asked;	     /* what the event leaves out */
	int fd;		     /* of the kernel's event; -1: its overflows go nowhere yet */
	struct gn_ring ring; /* mapped where an address comes from the kernel's record */
	char *whole;	     /* for gn_ring_next() */
	_Atomic int is_draining;
	uint64_t random;
	uint64_t period;
	int64_t deadline; /* the count at which the timer next calls it an overflow */
	uint64_t overflows;
	int64_t lost;
};

/* Reads a set in a signal handler, with scratch[2 * natives] to put aside what is interrupted. */
typedef int gn_set_peeker(struct gn_event_set *set, struct gn_count *scratch, int64_t *counts);

struct gn_overflow_state {
	struct gn_event_set *set;
	int n;
	struct gn_watch **watch;
	struct gn_sampling sampling;
	struct gn_signal_target tick;
	int tick_fd; /* -1: nothing needs it */
	gn_set_peeker *peek;
	struct gn_count *scratch;
	int64_t *counts;
	_Atomic int is_live; /* the set runs */
	int was_reset;
	int error; /* negative errno: why the set cannot start */
};

/* A watch of the event, or NULL. */
struct gn_watch *gn_overflow_watch(const struct gn_event_set *set, const struct gn_event *event);

/*
 * Puts a watch in the place of the one of its event (NULL: takes that away), and says what the
 * kernel's events are to be; they are to be opened anew then. The one before goes to *before.
 * 0 or -ENOMEM, and nothing has changed.
 */
int gn_overflow_put(struct gn_overflow_state *state, const struct gn_event *event,
		    struct gn_watch *watch, struct gn_watch **before);
void gn_watch_free(struct gn_watch *watch);

/*
 * Takes the letters p off a name of perf's, "cycles:upp" or "cpu/event=1/pp"; how many there were.
 */
int gn_take_precise(const char *name, char *bare, size_t size);

/* Lets signals go to the watches of a set that is open, and to none. 0 or a negative errno. */
int gn_overflow_arm(struct gn_event_set *set);
void gn_overflow_disarm(struct gn_event_set *set);

/* Ends it all, before the set's events are closed. */
void gn_overflow_forget(struct gn_event_set *set);

/*
 * Around a run: before it starts; when its events count no more, or did not start; when it has been
 * counted.
 */
int gn_overflow_start(struct gn_overflow_state *state);
void gn_overflow_pause(struct gn_overflow_state *state);
void gn_overflow_stop(struct gn_overflow_state *state);

/* Takes what the kernel has written about a watch so far. */
void gn_watch_drain(struct gn_watch *watch, void *context);

#endif
