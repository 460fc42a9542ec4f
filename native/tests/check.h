/* What the C tests share: checks that say what was expected, and how much work to do. */
#ifndef GNOMON_TESTS_CHECK_H
#define GNOMON_TESTS_CHECK_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			check_failed(__FILE__, __LINE__, #condition);                              \
	} while (0)

/* Compares integers of any type and shows both. */
#define CHECK_EQ(actual, expected)                                                                 \
	do {                                                                                       \
		int64_t check_actual = (int64_t)(actual), check_expected = (int64_t)(expected);    \
		if (check_actual != check_expected) {                                              \
			fprintf(stderr, "%lld instead of %lld: ", (long long)check_actual,         \
				(long long)check_expected);                                        \
			check_failed(__FILE__, __LINE__, #actual " == " #expected);                \
		}                                                                                  \
	} while (0)

/*
 * Runs a test in a process of its own, so that neither state nor crashes reach the next one;
 * main() returns check_result.
 */
#define RUN(test) check_run(#test, test)

static int check_result;

static inline _Noreturn void check_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
	fflush(NULL);
	_exit(1);
}

/* GNOMON_TEST_WORK is a percentage: valgrind makes everything many times slower. */
static inline unsigned int check_work(unsigned int full)
{
	const char *percent = getenv("GNOMON_TEST_WORK");
	unsigned long long work = full;

	if (percent)
		work = work * strtoul(percent, NULL, 10) / 100;
	return work ? (unsigned int)work : 1;
}

static inline void check_run(const char *name, void (*test)(void))
{
	int status;
	pid_t child;

	printf("%s\n", name);
	fflush(NULL);
	child = fork();
	if (!child) {
		test();
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror(name);
		check_result = 1;
		return;
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: killed by signal %d\n", name, WTERMSIG(status));
	if (status) {
		fprintf(stderr, "%s: failed\n", name);
		check_result = 1;
	}
}

#endif
