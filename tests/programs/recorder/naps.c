/*
 * A library to be preloaded: records the calls of nanosleep(2) and those of usleep(3) of every
 * process, and the names of these functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gnomon/clock.h>
#include <gnomon/recorder.h>

struct nap {
	uint64_t begin;
	uint64_t end;
	uint64_t asked_ns;
	uint32_t thread;
	uint32_t function;
};

static const struct gn_record_field fields[] = {
	GN_RECORD_FIELD(struct nap, begin, GN_RECORD_U64),
	GN_RECORD_FIELD(struct nap, end, GN_RECORD_U64),
	GN_RECORD_FIELD(struct nap, asked_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct nap, thread, GN_RECORD_U32),
	GN_RECORD_FIELD(struct nap, function, GN_RECORD_U32),
};

enum { NAP, FUNCTION };

static const struct gn_record_kind kinds[] = {
	GN_RECORD_KIND("nap", struct nap, fields),
	GN_RECORD_TEXTS("function"),
};

static void name_functions(void)
{
	static const char *const names[] = {"nanosleep", "usleep"};
	struct gn_record_stream functions = {0};

	for (uint32_t i = 0; i < 2; i++)
		gn_recorder_append_text(&functions, FUNCTION, i, names[i], strlen(names[i]));
}

static const struct gn_recorder_plan plan = {"naps", kinds, 2, 0, name_functions};

__attribute__((constructor)) static void begin(void)
{
	gn_recorder_start(&plan);
}

static void record(uint64_t asked_ns, uint64_t begin_ticks, uint32_t function)
{
	static __thread struct gn_record_stream naps;
	const struct nap nap = {begin_ticks, gn_clock_ticks(), asked_ns, (uint32_t)gettid(),
				function};

	gn_recorder_append(&naps, NAP, &nap);
}

int nanosleep(const struct timespec *asked, struct timespec *left)
{
	int (*real)(const struct timespec *, struct timespec *);
	const uint64_t begin_ticks = gn_clock_ticks();
	void *found = dlsym(RTLD_NEXT, "nanosleep");
	int result;

	memcpy(&real, &found, sizeof(found));
	result = real(asked, left);
	record((uint64_t)asked->tv_sec * 1000000000u + (uint64_t)asked->tv_nsec, begin_ticks, 0);
	return result;
}

int usleep(useconds_t asked)
{
	int (*real)(useconds_t);
	const uint64_t begin_ticks = gn_clock_ticks();
	void *found = dlsym(RTLD_NEXT, "usleep");
	int result;

	memcpy(&real, &found, sizeof(found));
	result = real(asked);
	record((uint64_t)asked * 1000u, begin_ticks, 1);
	return result;
}
