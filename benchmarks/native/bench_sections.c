/*
 * A section's start and stop beside the floor, which is one bare read(2) of the same group, and
 * beside a region of PAPI's high-level interface where libpapi is installed; all take turns.
 *
 *	GNOMON_EVENTS=... bench_sections ROUNDS	lines of: read, hpmTstart+hpmTstop,
 *		hpmStart+hpmStop, the PAPI region; in ns, 0 without libpapi
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gnomon/libhpm.h>
#include <gnomon/perf.h>

#include "now.h"

/* Batches are short, so that few of them are interrupted on a busy machine. */
#define BATCHES 20
#define CALLS 100
#define EVENTS 4

static const uint64_t config[EVENTS] = {
	PERF_COUNT_SW_TASK_CLOCK,
	PERF_COUNT_SW_CONTEXT_SWITCHES,
	PERF_COUNT_SW_PAGE_FAULTS,
	PERF_COUNT_SW_PAGE_FAULTS_MIN,
};

/* Our own declarations of what is called of PAPI 7. Source: its manual pages. */
static struct {
	int (*begin)(const char *region);
	int (*end)(const char *region);
} papi;

static int fd;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_sections: %s failed\n", what);
	exit(1);
}

static void open_group(void)
{
	for (int i = 0; i < EVENTS; i++) {
		const struct gn_event_spec spec = {.type = PERF_TYPE_SOFTWARE, .config = config[i]};
		struct perf_event_attr attr;
		int opened;

		gn_attr_init(&attr, &spec, 0);
		attr.read_format |= PERF_FORMAT_GROUP;
		opened = gn_perf_open(&attr, 0, -1, i ? fd : -1);
		check(opened >= 0, "perf_event_open");
		fd = i ? fd : opened;
	}
}

static void find_papi(void)
{
	void *library = dlopen("libpapi.so.7.0", RTLD_NOW | RTLD_LOCAL);
	void *begin = library ? dlsym(library, "PAPI_hl_region_begin") : NULL;
	void *end = library ? dlsym(library, "PAPI_hl_region_end") : NULL;

	if (!begin || !end)
		return;
	memcpy(&papi.begin, &begin, sizeof(begin));
	memcpy(&papi.end, &end, sizeof(end));
	if (papi.begin("warm") || papi.end("warm"))
		papi.begin = NULL;
}

/* Nanoseconds of one of CALLS. No function in between, whose return would cost more after a system
 * call.
 */
#define TIME(what)                                                                                 \
	__extension__({                                                                            \
		const double time_begin = now_ns();                                                \
		for (int call = 0; call < CALLS; call++) {                                         \
			what;                                                                      \
		}                                                                                  \
		(now_ns() - time_begin) / CALLS;                                                   \
	})

static int by_value(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 20;
	uint64_t words[3 + EVENTS];

	open_group();
	find_papi();
	hpmInit(0, "bench_sections");
	for (int round = 0; round < rounds; round++) {
		double ns[4][BATCHES] = {{0}};

		for (int batch = 0; batch < BATCHES; batch++) {
			ns[0][batch] = TIME(check(
				read(fd, words, sizeof(words)) == (ssize_t)sizeof(words), "read"));
			ns[1][batch] = TIME(hpmTstart(1, "thread"); hpmTstop(1));
			ns[2][batch] = TIME(hpmStart(2, "process"); hpmStop(2));
			if (papi.begin)
				ns[3][batch] = TIME(papi.begin("region"); papi.end("region"));
		}
		for (int s = 0; s < 4; s++) {
			qsort(ns[s], BATCHES, sizeof(ns[s][0]), by_value);
			printf("%.1f ", ns[s][BATCHES / 2]);
		}
		printf("\n");
	}
	check(!hpm_error_count, "libhpm");
	return 0;
}
