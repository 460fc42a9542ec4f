/*
 * What an overflow costs: page faults, each of which overflows, handled by a bare signal handler,
 * by that of gn_set_overflow() and by that of PAPI_overflow(), interleaved.
 *
 *	bench_overflow ROUNDS	a line for each round, in ns a fault: not watched, bare, gn, PAPI
 *
 * Without libpapi its column is 0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnomon/gnomon.h>
#include <gnomon/perf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "now.h"

#define PAGES 512
#define PASSES 4

static volatile uint64_t calls;
static volatile char *pages;

static void fail(const char *what)
{
	fprintf(stderr, "bench_overflow: %s\n", what);
	exit(1);
}

/* Nanoseconds of a page fault. */
static double faults(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	double spent = 0;

	for (int pass = 0; pass < PASSES; pass++) {
		double begun;

		madvise((void *)pages, PAGES * size, MADV_DONTNEED);
		begun = now_ns();
		for (size_t i = 0; i < PAGES; i++)
			pages[i * size] = 1;
		spent += now_ns() - begun;
	}
	return spent / (PASSES * PAGES);
}

/* The handlers were called, each time. */
static void check_calls(const char *whose)
{
	if (calls < PASSES * PAGES)
		fail(whose);
	calls = 0;
}

/* --- bare ------------------------------------------------------------------------------------- */

static int bare_fd;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	calls += info->si_fd == bare_fd;
}

static void make_bare(void)
{
	const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
	const struct sigaction action = {.sa_sigaction = on_signal,
					 .sa_flags = SA_SIGINFO | SA_RESTART};
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.wakeup_events = 1,
		.disabled = 1,
	};

	bare_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (bare_fd < 0 || sigaction(SIGRTMIN + 3, &action, NULL) ||
	    fcntl(bare_fd, F_SETSIG, SIGRTMIN + 3) || fcntl(bare_fd, F_SETOWN_EX, &owner) ||
	    fcntl(bare_fd, F_SETFL, O_ASYNC))
		fail(strerror(errno));
}

static double run_bare(void)
{
	double ns;

	ioctl(bare_fd, PERF_EVENT_IOC_ENABLE, 0);
	ns = faults();
	ioctl(bare_fd, PERF_EVENT_IOC_DISABLE, 0);
	check_calls("the bare handler was not called");
	return ns;
}

/* --- libgnomon -------------------------------------------------------------------------------- */

static void on_overflow(const struct gn_overflow *overflow, void *data)
{
	(void)data;
	calls += overflow->weight;
}

static gn_set make_set(void)
{
	gn_set set;
	int error = gn_set_create(&set, NULL);

	if (!error)
		error = gn_set_add(set, "page-faults");
	if (!error)
		error = gn_set_overflow(set, "page-faults", 1, 0, on_overflow, NULL);
	if (error)
		fail(gn_message());
	return set;
}

static double run_set(gn_set set)
{
	double ns;

	if (gn_set_start(set))
		fail(gn_message());
	ns = faults();
	gn_set_stop(set, NULL);
	check_calls("the handler of gn_set_overflow() was not called");
	return ns;
}

/* --- PAPI ------------------------------------------------------------------------------------- */

/* Our own declarations of what is called of PAPI 7. Source: its manual pages. */
static struct {
	int (*library_init)(int version);
	int (*create_eventset)(int *set);
	int (*add_named_event)(int set, const char *name);
	int (*event_name_to_code)(const char *name, int *code);
	int (*overflow)(int set, int code, int threshold, int flags,
			void (*handler)(int set, void *address, long long vector, void *context));
	int (*start)(int set);
	int (*stop)(int set, long long *counts);
} papi;

#define PAPI_VERSION_7 (7 << 24)

static int find_papi(void)
{
	const struct {
		const char *name;
		void *function;
	} all[] = {
		{"PAPI_library_init", &papi.library_init},
		{"PAPI_create_eventset", &papi.create_eventset},
		{"PAPI_add_named_event", &papi.add_named_event},
		{"PAPI_event_name_to_code", &papi.event_name_to_code},
		{"PAPI_overflow", &papi.overflow},
		{"PAPI_start", &papi.start},
		{"PAPI_stop", &papi.stop},
	};
	void *library = dlopen("libpapi.so.7.0", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(all) / sizeof(all[0]); i++) {
		void *function = dlsym(library, all[i].name);

		if (!function)
			return 0;
		memcpy(all[i].function, &function, sizeof(function));
	}
	return library && papi.library_init(PAPI_VERSION_7) == PAPI_VERSION_7;
}

static void on_papi_overflow(int set, void *address, long long vector, void *context)
{
	(void)set;
	(void)address;
	(void)context;
	calls += (uint64_t)vector;
}

static int make_papi(void)
{
	int set = -1, code;

	if (!find_papi())
		return -1;
	if (papi.create_eventset(&set) || papi.add_named_event(set, "perf::PAGE-FAULTS") ||
	    papi.event_name_to_code("perf::PAGE-FAULTS", &code) ||
	    papi.overflow(set, code, 1, 0, on_papi_overflow))
		fail("PAPI_overflow");
	return set;
}

static double run_papi(int set)
{
	long long count = 0;
	double ns;

	if (set < 0)
		return 0;
	if (papi.start(set))
		fail("PAPI_start");
	ns = faults();
	papi.stop(set, &count);
	check_calls("the handler of PAPI_overflow() was not called");
	return ns;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 20;
	const size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	gn_set set;
	int papi_set;

	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		fail(strerror(errno));
	madvise((void *)pages, bytes, MADV_NOHUGEPAGE);
	make_bare();
	set = make_set();
	papi_set = make_papi();
	for (int round = -1; round < rounds; round++) {
		double ns[4];

		ns[0] = faults();
		ns[1] = run_bare();
		ns[2] = run_set(set);
		ns[3] = run_papi(papi_set);
		/* The first round warms everything up. */
		if (round >= 0)
			printf("%.1f %.1f %.1f %.1f\n", ns[0], ns[1], ns[2], ns[3]);
	}
	return 0;
}
