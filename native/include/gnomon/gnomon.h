/*
 * Gnomon's counters for C: event sets, presets and timers (libgnomon).
 *
 *	gn_set set;
 *	int64_t count[2];
 *
 *	if (gn_set_create(&set, NULL) || gn_set_add(set, "PAPI_TOT_INS") ||
 *	    gn_set_add(set, "page-faults") || gn_set_start(set))
 *		errx(1, "%s", gn_message());
 *	work();
 *	gn_set_stop(set, count);
 *
 * Functions return GN_OK or a negative GN_E*, whose names and numbers are PAPI's; gn_message() then
 * says in one sentence what was wrong, why, and what to do. Nothing here prints or ends the
 * program; a signal is handled only once gn_set_overflow() or gn_set_profil() was called. Several
 * threads may use several sets at once; one set is for one thread at a time. The interface is not
 * source-compatible with papi.h: docs/counters/c-api.md has the table.
 */
#ifndef GNOMON_GNOMON_H
#define GNOMON_GNOMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GN_API __attribute__((visibility("default")))
#else
#define GN_API
#endif

/* The version of this header; gn_version() gives the library's. */
#define GN_VERSION_MAJOR 0
#define GN_VERSION_MINOR 1
#define GN_VERSION_PATCH 0
#define GN_VERSION (GN_VERSION_MAJOR * 10000 + GN_VERSION_MINOR * 100 + GN_VERSION_PATCH)

GN_API int gn_version(void);

/* What went wrong. Names and numbers are those of PAPI 7. */
enum gn_error {
	GN_OK = 0,
	GN_EINVAL = -1,	     /* a wrong argument, or a call that is not possible now */
	GN_ENOMEM = -2,	     /* out of memory */
	GN_ESYS = -3,	     /* a system call failed */
	GN_ECMP = -4,	     /* the component cannot do it */
	GN_ECLOST = -5,	     /* the counters were taken away */
	GN_EBUG = -6,	     /* a bug in the library */
	GN_ENOEVNT = -7,     /* no such event, or not to be had here */
	GN_ECNFLCT = -8,     /* the event cannot be counted together with those in the set */
	GN_ENOTRUN = -9,     /* the set is not running */
	GN_EISRUN = -10,     /* a set is running */
	GN_ENOEVST = -11,    /* no such set */
	GN_ENOTPRESET = -12, /* not the name of a preset */
	GN_ENOCNTR = -13,    /* no counters */
	GN_EMISC = -14,	     /* anything else */
	GN_EPERM = -15,	     /* no right to count this */
	GN_ENOINIT = -16,    /* too early or too late */
	GN_ENOCMP = -17,     /* no such component */
	GN_ENOSUPP = -18,    /* not supported */
	GN_ENOIMPL = -19,    /* not implemented */
	GN_EBUF = -20,	     /* too small a buffer */
	GN_EINVAL_DOM = -21, /* a domain that cannot be counted */
	GN_EATTR = -22,	     /* a wrong attribute of an event */
	GN_ECOUNT = -23,     /* too many: descriptors, events */
	GN_ECOMBO = -24,     /* a wrong combination of attributes */
};

/* "PAPI_ENOEVNT" for GN_ENOEVNT, and what it means in a few words; never NULL. */
GN_API const char *gn_error_name(int error);
GN_API const char *gn_error_text(int error);

/*
 * What was wrong with the last call of this thread that failed: "thing: cause; remedy". "" if none
 * did. Valid until the next call that fails.
 */
GN_API const char *gn_message(void);

/* Privilege levels to count in; 0 is the default: all of them, or user mode where the kernel
 * allows no more (gn_value.domain says so). */
enum gn_domain {
	GN_DOMAIN_DEFAULT = 0,
	GN_DOMAIN_USER = 1,
	GN_DOMAIN_KERNEL = 2,
	GN_DOMAIN_HYPERVISOR = 4,
	GN_DOMAIN_ALL = 7,
};

/* What is counted. */
enum gn_granularity {
	GN_GRANULARITY_THREAD = 0,	  /* one thread */
	GN_GRANULARITY_PROCESS = 1,	  /* its process: all threads, also later ones */
	GN_GRANULARITY_PROCESS_GROUP = 2, /* all processes of its process group */
	GN_GRANULARITY_CPU = 3,		  /* whatever runs on one CPU */
	GN_GRANULARITY_SYSTEM = 4,	  /* whatever runs on all CPUs */
};

/* A slice of multiplexing in nanoseconds. */
#define GN_SLICE_MIN_NS 10000000ull
#define GN_SLICE_DEFAULT_NS 100000000ull
#define GN_SLICE_MAX_NS 30000000000ull

/* How a set counts. Start from GN_OPTIONS_INIT, so that later versions can add fields. */
struct gn_options {
	size_t size;	   /* of this struct */
	int pid;	   /* the process or thread to count; 0 is the calling thread */
	int cpu;	   /* count on this CPU only; -1 is any */
	int domain;	   /* enum gn_domain */
	int granularity;   /* enum gn_granularity */
	int inherit;	   /* threads and processes that are created later count too */
	int pinned;	   /* on the counters always, or GN_ECLOST */
	int exclusive;	   /* alone on the PMU while it counts */
	int multiplex;	   /* take turns where the events do not all fit at once */
	uint64_t slice_ns; /* how long a turn is; 0 is GN_SLICE_DEFAULT_NS */
	int limit;	   /* at most so many native events a turn; 0 is as many as fit */
};

#define GN_OPTIONS_INIT                                                                            \
	{sizeof(struct gn_options),                                                                \
	 0,                                                                                        \
	 -1,                                                                                       \
	 GN_DOMAIN_DEFAULT,                                                                        \
	 GN_GRANULARITY_THREAD,                                                                    \
	 0,                                                                                        \
	 0,                                                                                        \
	 0,                                                                                        \
	 0,                                                                                        \
	 0,                                                                                        \
	 0}

/* How a value came to be. */
enum gn_how {
	GN_HOW_COUNTED = 0,
	GN_HOW_SCALED = 1, /* multiplexed, and extrapolated to the whole time */
};

/* Bits of gn_value.flags. */
enum gn_value_flags {
	GN_VALUE_MISSING = 1,	  /* nothing was measured, or a formula divides by 0: no value */
	GN_VALUE_DERIVED = 2,	  /* made of several native events by a formula */
	GN_VALUE_NEGATIVE = 4,	  /* a derived value below 0 */
	GN_VALUE_KERNEL_ONLY = 8, /* happens in the kernel, but only user mode is counted */
	GN_VALUE_NARROWED = 16,	  /* user mode only: the kernel allows no more */
	GN_VALUE_SHORT = 32,	  /* on the counters for fewer than 10 slices: may be far off */
};

/* A count with all that is known about it. */
struct gn_value {
	int64_t raw;	     /* as counted, not scaled; of a derived event: rounded, not scaled */
	uint64_t enabled_ns; /* for so long it was to count ... */
	uint64_t running_ns; /* ... and for so long it did */
	double scale;	     /* enabled / running; NaN where it never ran */
	double value;	     /* in `unit`, scaled; NaN where there is none */
	const char *unit;    /* "" for a plain count; valid while the event is in the set */
	int domain;	     /* enum gn_domain: what was really counted */
	int how;	     /* enum gn_how */
	unsigned int flags;  /* enum gn_value_flags */
};

/*
 * In an array of counts: there is no count. The event was never on the counters, it was added since
 * the last run, or what it counts had ended before.
 */
#define GN_NO_COUNT INT64_MIN

/* State of a set: one of the first two, and further bits. */
enum gn_state {
	GN_STATE_STOPPED = 1,
	GN_STATE_RUNNING = 2,
	GN_STATE_MULTIPLEXED = 4, /* multiplexing is allowed */
	GN_STATE_ROTATING = 8,	  /* the events do not fit: they take turns */
	GN_STATE_ATTACHED = 16,	  /* counts another thread, process or CPU than its maker */
};

/* An event set. A handle that was destroyed stays dead: GN_ENOEVST. */
typedef int gn_set;

#define GN_SET_NULL (-1)

/*
 * Makes an empty set; options NULL: the calling thread, in all domains.
 * GN_EINVAL, GN_EINVAL_DOM: options; GN_ENOMEM; GN_ECOUNT: 65536 sets at once.
 */
GN_API int gn_set_create(gn_set *set, const struct gn_options *options);

/*
 * Adds an event by name, or several in braces ("{cycles,instructions}": always counted at the same
 * time). It is opened at once; when that fails the set stays as it was. On a hybrid CPU one name
 * can add several events, one for each kind of core.
 * GN_ENOEVNT: no such event here; GN_ECNFLCT: in the set already, or does not fit in beside the
 * others; GN_EISRUN; GN_EPERM; GN_ENOSUPP; GN_ECOUNT: out of descriptors; GN_ENOCMP; GN_ESYS.
 */
GN_API int gn_set_add(gn_set set, const char *name);

/* Adds n events, stops at the first that fails; *added (may be NULL): how many names went in. */
GN_API int gn_set_add_all(gn_set set, const char *const *names, int n, int *added);

/* The event by its code instead of its name. */
GN_API int gn_set_add_code(gn_set set, uint32_t code);

/* Takes an event out, by the name it was added with; the others keep their order. */
GN_API int gn_set_remove(gn_set set, const char *name);

/* How many events, that is counts, the set has; or a negative error. */
GN_API int gn_set_size(gn_set set);

/* Puts the codes of the first *n events into codes, and how many the set has into *n. */
GN_API int gn_set_list(gn_set set, uint32_t *codes, int *n);

/* The name of an event of the set, in the order of adding; NULL if there is none. */
GN_API const char *gn_set_name(gn_set set, int index);

/*
 * Begins at zero. GN_ENOCMP: it never had an event; GN_EINVAL: all were taken out; GN_EISRUN: it
 * runs, or another set does with a component of this one on the same thread; GN_ECLOST: pinned, but
 * others have the counters; GN_ESYS: the thread or process that it counts has ended.
 */
GN_API int gn_set_start(gn_set set);

/* Stops; counts may be NULL. GN_ENOTRUN. */
GN_API int gn_set_stop(gn_set set, int64_t *counts);

/*
 * The counts, in the order of adding: since the start while running, else of the last run.
 * Scaled where events take turns; derived events are rounded: gn_set_values() has all of it.
 * GN_ENOTRUN: it was never started. The same holds for the three calls below.
 */
GN_API int gn_set_read(gn_set set, int64_t *counts);

/* The same; *ns: gn_real_ns() at the moment of reading. */
GN_API int gn_set_read_at(gn_set set, int64_t *counts, int64_t *ns);

/* The same counts, each with times, scale, unit, domain and how it came to be. */
GN_API int gn_set_values(gn_set set, struct gn_value *values);

/* Adds the counts to those given, then goes on from zero; a GN_NO_COUNT on either side stays. */
GN_API int gn_set_accumulate(gn_set set, int64_t *counts);

/* Goes on from zero. */
GN_API int gn_set_reset(gn_set set);

/* GN_ENOSUPP with the reason: the kernel's counters cannot be set to a number. */
GN_API int gn_set_write(gn_set set, const int64_t *counts);

/* Bits of enum gn_state, or a negative error. */
GN_API int gn_set_state(gn_set set);

/* Takes out all events. GN_EISRUN. */
GN_API int gn_set_clear(gn_set set);

/*
 * Gives the set back; *set becomes GN_SET_NULL. GN_EISRUN; GN_EINVAL: there are events in it.
 * In a forked child this gives back what the child got of its parent's set, which stays whole.
 */
GN_API int gn_set_destroy(gn_set *set);

/*
 * Counts another thread or process (pid; -1: whatever runs there) on another CPU (-1: any), of a
 * stopped set with or without events. GN_EINVAL: attached already; GN_EPERM; GN_ESYS: no such
 * process.
 */
GN_API int gn_set_attach(gn_set set, int pid, int cpu);

/* Counts the thread that made the set again. GN_EINVAL: was not attached. */
GN_API int gn_set_detach(gn_set set);

/* Lets the events take turns of slice_ns (0: the default) where they do not all fit. */
GN_API int gn_set_multiplex(gn_set set, uint64_t slice_ns);

/* How often the turn has passed on since the start; 0 where all events fit. */
GN_API int gn_set_turns(gn_set set, uint64_t *turns);

/*
 * Overflow: a call each time that an event of a set has counted `threshold` more. In PAPI:
 * PAPI_overflow, PAPI_profil, PAPI_sprofil. docs/counters/overflow.md has the semantics.
 */

/* Bits of the flags of the calls below; numbers are PAPI's where it has such a flag. */
enum gn_overflow_flags {
	GN_OVERFLOW_SOFTWARE = 0x40, /* a timer looks at the count every GN_OVERFLOW_TICK_NS: of
					events whose counters cannot interrupt, of derived events */
	GN_OVERFLOW_DATA = 0x80,     /* the address of the data, where the event has one */
	GN_OVERFLOW_RANDOM = 0x1,    /* each threshold is random: between half and 1.5 of it */
	GN_PROFIL_WEIGHTED = 0x2,    /* adds what an overflow stands for, a threshold, and not 1 */
	GN_PROFIL_BUCKET_16 = 0x8,   /* uint16_t, the default */
	GN_PROFIL_BUCKET_32 = 0x10,
	GN_PROFIL_BUCKET_64 = 0x20,
};

/* The period of the timer, in nanoseconds of CPU time of the thread. */
#define GN_OVERFLOW_TICK_NS 10000000ull

/* What a handler is told. */
struct gn_overflow {
	gn_set set;
	int event;	       /* which one: gn_set_name(set, event) */
	uint64_t address;      /* of the instruction */
	uint64_t data_address; /* with GN_OVERFLOW_DATA; 0: not known */
	uint64_t weight;       /* the events that this overflow stands for */
	void *context;	       /* ucontext_t of the signal; see sigaction(2) */
};

/*
 * Runs as a signal handler of the counted thread, while it is interrupted: it may call what
 * signal-safety(7) lists and gn_real_ns(), and no other function of this library.
 */
typedef void gn_overflow_handler(const struct gn_overflow *overflow, void *data);

/*
 * Calls handler(overflow, data) for each `threshold` counts of an event of a stopped set, from the
 * next start on; threshold 0 ends that, whatever the rest. Events of a set have thresholds of their
 * own. `event` is a name that was added; with the letter p once to three times as a modifier
 * (`cycles:pp`) it is attributed more precisely where the PMU can: gn_set_overflow_info() says.
 *
 * GN_EISRUN; GN_ENOEVNT: the event is not in the set; GN_EINVAL: threshold or flags, a derived
 * event without GN_OVERFLOW_SOFTWARE, or a set whose events take turns; GN_ECNFLCT: some overflow
 * with GN_OVERFLOW_SOFTWARE, others without; GN_ECMP: its counter cannot interrupt; GN_ENOSUPP: the
 * set counts more, or another, than the thread that made it; GN_EPERM, GN_ENOMEM, GN_ESYS.
 */
GN_API int gn_set_overflow(gn_set set, const char *event, int64_t threshold, int flags,
			   gn_overflow_handler *handler, void *data);

/* A region of addresses and its histogram. */
struct gn_profil {
	void *buckets;	 /* that are added to, until the overflow is ended */
	size_t size;	 /* of the buckets, in bytes */
	uint64_t offset; /* the address that the first bucket begins with */
	uint32_t scale;	 /* of profil(3): bucket = (address - offset) * scale >> 17 */
};

/* A bucket for each address; half of it, 0x10000: one for two addresses, and so on. */
#define GN_PROFIL_SCALE_MAX 0x20000u

/*
 * Counts the addresses at which an event overflows in buckets: those of the instruction, or with
 * GN_OVERFLOW_DATA of the data. A bucket stays at its largest number once it is there. They are
 * complete after gn_set_stop(). Errors: those of gn_set_overflow(); GN_EINVAL: region or flags.
 */
GN_API int gn_set_profil(gn_set set, const char *event, void *buckets, size_t size, uint64_t offset,
			 uint32_t scale, int64_t threshold, int flags);

/*
 * The same of several regions; an address is counted in the last to begin of those that have it. A
 * region of offset 0 and scale 2 takes what is in none of the others into its first bucket.
 */
GN_API int gn_set_sprofil(gn_set set, const char *event, const struct gn_profil *regions, int n,
			  int64_t threshold, int flags);

/* How a component tells that a counter has passed a threshold. */
enum gn_overflow_kind {
	GN_OVERFLOW_IMPOSSIBLE = 0,
	GN_OVERFLOW_SLOW = 1, /* with GN_OVERFLOW_SOFTWARE: up to a tick later */
	GN_OVERFLOW_FAST = 2, /* an interrupt, or the kernel itself, when it happens */
};

/* What is known about the overflow of an event. */
struct gn_overflow_info {
	size_t size; /* of this struct: to be set by the caller */
	int64_t threshold;
	int flags;
	int kind;	    /* enum gn_overflow_kind */
	int precise;	    /* 0: any distance from the event; 1: a constant one; 2: none is asked
			       for; 3: none */
	int precise_wanted; /* what the name asked for */
	int signal;	    /* the number of the signal that it takes */
	uint64_t overflows; /* of the run */
	int64_t lost;	    /* that were due by the count of the run, and did not come; -1: not
			       known, as before the end of a run */
	uint64_t outside;   /* addresses in no region of a profile */
};

/* GN_ENOEVNT: the event is not in the set, or does not overflow; GN_EINVAL: info->size. */
GN_API int gn_set_overflow_info(gn_set set, const char *event, struct gn_overflow_info *info);

/* A total from samples. */
struct gn_estimate {
	double value;	  /* events */
	double error;	  /* the total is between value - error and value + error */
	double weight;	  /* events that a sample stands for */
	uint64_t samples; /* overflows */
};

/*
 * The count of the last run from its overflows alone. The error is a bound: half a threshold, and
 * a threshold for each overflow that was lost. GN_ENOEVNT; GN_EISRUN; GN_ENOTRUN; GN_EINVAL: of
 * random thresholds, of GN_OVERFLOW_SOFTWARE and of a run that was reset there is none.
 */
GN_API int gn_set_estimate(gn_set set, const char *event, struct gn_estimate *estimate);

/*
 * The part of a total that some of its samples are, a function's for one; 95 of 100 times the true
 * one is within the error. GN_EINVAL: more samples than the total has.
 */
GN_API int gn_estimate_part(const struct gn_estimate *total, uint64_t samples,
			    struct gn_estimate *part);

/* Bits of gn_event_info.flags. */
enum gn_event_flags {
	GN_EVENT_HARDWARE = 1,	  /* counts on a PMU */
	GN_EVENT_TRACEPOINT = 2,  /* a tracepoint of the kernel */
	GN_EVENT_KERNEL_ONLY = 4, /* happens in the kernel: counted in user mode it is 0 */
	GN_EVENT_EVERY_MODE = 8,  /* a clock, which counts every mode whatever the domain */
	GN_EVENT_PRESET = 16,	  /* one of the standard names */
	GN_EVENT_MODIFIED = 32,	  /* the name says what to leave out: the set's domain does not */
	GN_EVENT_CPU_WIDE = 64,	  /* counts a CPU or more, never a thread */
};

/* Bit of the codes of presets. */
#define GN_PRESET_MASK 0x80000000u

#define GN_NAME_MAX 256

/* What is known about an event. */
struct gn_event_info {
	size_t size;		/* of this struct: to be set by the caller */
	uint32_t code;		/* stable in this process; with GN_PRESET_MASK for presets */
	unsigned int flags;	/* enum gn_event_flags */
	int component;		/* see gn_component_describe() */
	int natives;		/* how many native events it is made of */
	char name[GN_NAME_MAX]; /* gn_set_add() takes it */
	char unit[16];		/* "" for a plain count */
	char kind[16];		/* "not derived", "sum", "difference", "infix", "postfix" */
	char formula[512];	/* over N0, N1 ...; "" if there is none */
	char definition[1024];	/* the native events, separated by commas */
	char description[1024];
};

/* The code of an event name, and the name of a code. GN_ENOEVNT; GN_EBUF: name too small. */
GN_API int gn_event_code(const char *name, uint32_t *code);
GN_API int gn_code_event(uint32_t code, char *name, size_t size);

/* GN_ENOEVNT; GN_EINVAL: info->size. */
GN_API int gn_event_describe(const char *name, struct gn_event_info *info);

/* Opens the event on the calling thread and closes it: GN_OK, or why it cannot be counted. */
GN_API int gn_event_available(const char *name);

/* Events of a component, by index from 0. A negative error, or how many there are. */
GN_API int gn_event_count(int component);
GN_API int gn_event_at(int component, int index, struct gn_event_info *info);

/* Presets, those without a definition on this machine too: they have no natives. */
GN_API int gn_preset_count(void);
GN_API int gn_preset_at(int index, struct gn_event_info *info);

/* The code of a preset. GN_ENOTPRESET: the name is not one. */
GN_API int gn_preset_code(const char *name, uint32_t *code);

/*
 * Loads presets from a file in PAPI's format of user events. GN_EINVAL: the message names file and
 * line, and nothing was loaded.
 */
GN_API int gn_presets_load(const char *path);

/* A source of events. */
struct gn_component_info {
	size_t size;	       /* of this struct: to be set by the caller */
	char name[32];	       /* "cpu", "kernel" ... */
	char description[256]; /* one line */
	int counters;	       /* of a core; -1: no limit; 0: there are none, or not known */
	int is_disabled;
	char reason[512]; /* why it cannot be used here, and the remedy; "" where it can */
};

/* Components by index from 0. GN_ENOCMP: there is none. */
GN_API int gn_component_count(void);
GN_API int gn_component_describe(int component, struct gn_component_info *info);
GN_API int gn_component_index(const char *name, int *component);

/*
 * How events of a component overflow here, found by trying: enum gn_overflow_kind, impossible where
 * it counts nothing. GN_ENOCMP.
 */
GN_API int gn_component_overflow(int component);

/* Leaves a component out; only before anything else is called: GN_ENOINIT. GN_ENOCMP. */
GN_API int gn_component_disable(const char *name);

/*
 * Time. Real: CLOCK_MONOTONIC_RAW; real cycles are those of the counter behind it, which runs at
 * one rate whatever the processor's frequency. Virtual: CPU time of the calling thread; virtual
 * cycles are that time at the rate of the real cycles. A negative error: there is no such clock.
 */
GN_API int64_t gn_real_cycles(void);
GN_API int64_t gn_real_ns(void);
GN_API int64_t gn_real_us(void);
GN_API int64_t gn_virtual_cycles(void);
GN_API int64_t gn_virtual_ns(void);
GN_API int64_t gn_virtual_us(void);

/* Real cycles per second; 0.0 where no counter of cycles can be read. */
GN_API double gn_cycles_hz(void);

#ifdef __cplusplus
}
#endif

#endif
