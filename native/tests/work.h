/* Work of known counts, and what the tests of event sets ask of the process. */
#ifndef GNOMON_TESTS_WORK_H
#define GNOMON_TESTS_WORK_H

#include "check.h"
#include "pages.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <gnomon/gnomon.h>

/* Fails with the library's own sentence. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		int ok_error = (call);                                                             \
		if (ok_error != GN_OK) {                                                           \
			fprintf(stderr, "%s: %s\n", gn_error_name(ok_error), gn_message());        \
			check_failed(__FILE__, __LINE__, #call);                                   \
		}                                                                                  \
	} while (0)

/*
 * The call fails so, and says so in a sentence of thing, cause and remedy that has `part` in it.
 * (A name that nothing is like has no remedy of its own.)
 */
#define FAILS(call, error, part)                                                                   \
	do {                                                                                       \
		CHECK_EQ((call), (error));                                                         \
		if (!strstr(gn_message(), part))                                                   \
			fprintf(stderr, "message: %s\n", gn_message());                            \
		CHECK(strstr(gn_message(), part));                                                 \
		CHECK(strstr(gn_message(), ": "));                                                 \
		CHECK((error) == GN_ENOEVNT || strstr(gn_message(), "; "));                        \
	} while (0)

/* A first call faults in its code and stack; sanitizers and valgrind touch pages of their own. */
static inline int64_t slack(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 400;
#else
	return getenv("GNOMON_TEST_WORK") && strcmp(getenv("GNOMON_TEST_WORK"), "100") ? 400 : 20;
#endif
}

#define CHECK_ABOUT(actual, expected)                                                              \
	do {                                                                                       \
		int64_t about_actual = (int64_t)(actual), about = (int64_t)(expected);             \
		if (llabs(about_actual - about) > slack()) {                                       \
			fprintf(stderr, "%lld instead of %lld: ", (long long)about_actual,         \
				(long long)about);                                                 \
			check_failed(__FILE__, __LINE__, #actual);                                 \
		}                                                                                  \
	} while (0)

static inline uint64_t cpu_time_ns(void)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Burns CPU time, so that slices pass for a thread however busy the machine is. */
static inline void burn_ms(uint64_t ms)
{
	const uint64_t end = cpu_time_ns() + ms * 1000000u;

	while (cpu_time_ns() < end)
		;
}

/* Entries of a folder in /proc/self: open descriptors, or threads. */
static inline int entries_of(const char *path)
{
	DIR *folder = opendir(path);
	int n = 0;

	CHECK(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static inline int open_descriptors(void)
{
	return entries_of("/proc/self/fd");
}

static inline int threads(void)
{
	return entries_of("/proc/self/task");
}

/* A process that does nothing, and ends with its parent at the latest. */
static inline pid_t make_sleeper(void)
{
	const pid_t child = fork();

	CHECK(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (1)
		pause();
}

static inline gn_set set_of(const char *first, const char *second)
{
	gn_set set;

	OK(gn_set_create(&set, NULL));
	OK(gn_set_add(set, first));
	if (second)
		OK(gn_set_add(set, second));
	return set;
}

static inline void end_set(gn_set set)
{
	OK(gn_set_clear(set));
	OK(gn_set_destroy(&set));
	CHECK_EQ(set, GN_SET_NULL);
}

#endif
