/*
 * Event sets beside the floor, which is the bare system calls, and beside PAPI where libpapi is
 * installed; all in one program, taking turns.
 *
 *	bench_sets N ROUNDS	lines for each round: of every operation bare, gn, papi in ns
 *
 * Operations: read; start and stop; reset; accumulate; set up and tear down; real nanoseconds
 * (bare: the vDSO's). Without libpapi its columns are 0.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <gnomon/gnomon.h>
#include <gnomon/perf.h>

#include "now.h"

#define EVENTS_MAX 8
/* Batches are short, so that few of them are interrupted on a busy machine. */
#define BATCHES 20
#define CALLS 100
#define SETUPS 10
#define CLOCKS 1000

static const struct {
	const char *name;
	const char *papi;
	uint64_t config;
} events[EVENTS_MAX] = {
	{"page-faults", "perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS},
	{"context-switches", "perf::CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "perf::CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"task-clock", "perf::TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK},
	{"minor-faults", "perf::MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", "perf::MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"cpu-clock", "perf::CPU-CLOCK", PERF_COUNT_SW_CPU_CLOCK},
	{"cgroup-switches", "perf::CGROUP-SWITCHES", 11},
};

/* Our own declarations of what is called of PAPI 7. Source: its manual pages. */
static struct {
	int (*library_init)(int version);
	int (*create_eventset)(int *set);
	int (*add_named_event)(int set, const char *name);
	int (*start)(int set);
	int (*stop)(int set, long long *counts);
	int (*read)(int set, long long *counts);
	int (*accum)(int set, long long *counts);
	int (*reset)(int set);
	int (*cleanup_eventset)(int set);
	int (*destroy_eventset)(int *set);
	long long (*get_real_nsec)(void);
} papi;

#define PAPI_VERSION_7 (7 << 24)

static int n;
static int raw_fd[EVENTS_MAX];
static gn_set set;
static int papi_set = -1;
static int64_t counts[EVENTS_MAX];
static long long papi_counts[EVENTS_MAX];
static volatile int64_t sink;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_sets: %s: %s\n", what, gn_message());
	exit(1);
}

static int find_papi(void)
{
	const struct {
		const char *name;
		void *slot;
	} symbols[] = {
		{"PAPI_library_init", &papi.library_init},
		{"PAPI_create_eventset", &papi.create_eventset},
		{"PAPI_add_named_event", &papi.add_named_event},
		{"PAPI_start", &papi.start},
		{"PAPI_stop", &papi.stop},
		{"PAPI_read", &papi.read},
		{"PAPI_accum", &papi.accum},
		{"PAPI_reset", &papi.reset},
		{"PAPI_cleanup_eventset", &papi.cleanup_eventset},
		{"PAPI_destroy_eventset", &papi.destroy_eventset},
		{"PAPI_get_real_nsec", &papi.get_real_nsec},
	};
	void *library = dlopen("libpapi.so.7.0", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return 0;
		memcpy(symbols[i].slot, &symbol, sizeof(symbol));
	}
	return papi.library_init(PAPI_VERSION_7) == PAPI_VERSION_7;
}

/* --- the bare system calls -------------------------------------------------------------------- */

static void raw_open(void)
{
	for (int i = 0; i < n; i++) {
		struct gn_event_spec spec = {.type = PERF_TYPE_SOFTWARE,
					     .config = events[i].config};
		struct perf_event_attr attr;

		gn_attr_init(&attr, &spec, 0);
		attr.read_format |= PERF_FORMAT_GROUP;
		attr.disabled = i == 0;
		raw_fd[i] = gn_perf_open(&attr, 0, -1, i ? raw_fd[0] : -1);
		check(raw_fd[i] >= 0, "perf_event_open");
	}
}

static void raw_close(void)
{
	for (int i = n; i-- > 0;)
		close(raw_fd[i]);
}

static void raw_setup(void)
{
	int keep[EVENTS_MAX];

	memcpy(keep, raw_fd, sizeof(keep));
	raw_open();
	raw_close();
	memcpy(raw_fd, keep, sizeof(keep));
}

static void raw_read(void)
{
	uint64_t words[3 + EVENTS_MAX];
	const ssize_t size = (ssize_t)(3 + n) * 8;

	check(read(raw_fd[0], words, (size_t)size) == size, "read");
}

static void raw_reset(void)
{
	ioctl(raw_fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

static void raw_enable(void)
{
	ioctl(raw_fd[0], PERF_EVENT_IOC_ENABLE, 0);
}

static void raw_disable(void)
{
	ioctl(raw_fd[0], PERF_EVENT_IOC_DISABLE, 0);
}

static void raw_cycle(void)
{
	raw_reset();
	raw_enable();
	raw_read();
	raw_disable();
}

static void raw_accumulate(void)
{
	raw_read();
	raw_reset();
}

static void raw_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- libgnomon -------------------------------------------------------------------------------- */

static void own_start(void)
{
	check(!gn_set_start(set), "start");
}

static void own_stop(void)
{
	check(!gn_set_stop(set, counts), "stop");
}

static void own_cycle(void)
{
	own_start();
	own_stop();
}

static void own_read(void)
{
	check(!gn_set_read(set, counts), "read");
}

static void own_reset(void)
{
	check(!gn_set_reset(set), "reset");
}

static void own_accumulate(void)
{
	check(!gn_set_accumulate(set, counts), "accumulate");
}

static gn_set own_make(void)
{
	gn_set made;

	check(!gn_set_create(&made, NULL), "create");
	for (int i = 0; i < n; i++)
		check(!gn_set_add(made, events[i].name), "add");
	return made;
}

static void own_setup(void)
{
	gn_set made = own_make();

	check(!gn_set_clear(made), "clear");
	check(!gn_set_destroy(&made), "destroy");
}

static void own_clock(void)
{
	sink += gn_real_ns();
}

/* --- PAPI ------------------------------------------------------------------------------------- */

static void papi_start(void)
{
	check(!papi.start(papi_set), "PAPI_start");
}

static void papi_stop(void)
{
	check(!papi.stop(papi_set, papi_counts), "PAPI_stop");
}

static void papi_cycle(void)
{
	papi_start();
	papi_stop();
}

static void papi_read(void)
{
	check(!papi.read(papi_set, papi_counts), "PAPI_read");
}

static void papi_reset(void)
{
	check(!papi.reset(papi_set), "PAPI_reset");
}

static void papi_accumulate(void)
{
	check(!papi.accum(papi_set, papi_counts), "PAPI_accum");
}

static int papi_make(void)
{
	int made = -1;

	check(!papi.create_eventset(&made), "PAPI_create_eventset");
	for (int i = 0; i < n; i++)
		check(!papi.add_named_event(made, events[i].papi), "PAPI_add_named_event");
	return made;
}

static void papi_setup(void)
{
	int made = papi_make();

	check(!papi.cleanup_eventset(made), "PAPI_cleanup_eventset");
	check(!papi.destroy_eventset(&made), "PAPI_destroy_eventset");
}

static void papi_clock(void)
{
	sink += papi.get_real_nsec();
}

/* ---------------------------------------------------------------------------------------------- */

typedef void call(void);

struct subject {
	call *start, *stop;
	call *operation[6];
};

static const struct {
	int times;
	int is_running;
} operations[6] = {{CALLS, 1}, {CALLS, 0}, {CALLS, 1}, {CALLS, 1}, {SETUPS, 0}, {CLOCKS, 0}};

static double timed(call *what, int times)
{
	const double begin = now_ns();

	for (int i = 0; i < times; i++)
		what();
	return (now_ns() - begin) / times;
}

static double measure(const struct subject *subject, int operation)
{
	call *what = subject->operation[operation];
	double ns;

	if (operations[operation].is_running)
		subject->start();
	what();
	ns = timed(what, operations[operation].times);
	if (operations[operation].is_running)
		subject->stop();
	return ns;
}

int main(int argc, char **argv)
{
	static const struct subject subjects[] = {
		{raw_enable,
		 raw_disable,
		 {raw_read, raw_cycle, raw_reset, raw_accumulate, raw_setup, raw_clock}},
		{own_start,
		 own_stop,
		 {own_read, own_cycle, own_reset, own_accumulate, own_setup, own_clock}},
		{papi_start,
		 papi_stop,
		 {papi_read, papi_cycle, papi_reset, papi_accumulate, papi_setup, papi_clock}},
	};
	const int rounds = argc > 2 ? atoi(argv[2]) : 20;
	int there;

	n = argc > 1 ? atoi(argv[1]) : 1;
	if (n < 1 || n > EVENTS_MAX)
		return 2;
	there = 2 + find_papi();
	raw_open();
	set = own_make();
	if (there == 3)
		papi_set = papi_make();
	for (int batch = 0; batch < rounds * BATCHES; batch++) {
		for (int operation = 0; operation < 6; operation++) {
			double ns[3] = {0};

			/* Whoever comes first finds the processor as the last one left it. */
			for (int i = 0; i < there; i++) {
				const int who = (batch + i) % there;

				ns[who] = measure(&subjects[who], operation);
			}
			printf("%.2f %.2f %.2f ", ns[0], ns[1], ns[2]);
		}
		printf("\n");
	}
	raw_close();
	return 0;
}
