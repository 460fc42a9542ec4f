/*
 * A plug-in that does what BAD says: "fail" and "negative" return it, "lie" gives more items than
 * there are, "wild" a pointer to nowhere, "hang" and "spin" never return, "segv", "abort" and
 * "exit" end the process, "print" tells every task to print nothing; "distribute-..." does it in
 * the distributor. Only on the task that BAD_TASK names, where that is set.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpm_agg.h"

static int is_me(void)
{
	const char *who = getenv("BAD_TASK");
	const char *task = getenv("OMPI_COMM_WORLD_RANK");

	if (!task)
		task = getenv("PMI_RANK");
	return !who || (task && !strcmp(who, task));
}

static int does(const char *what)
{
	const char *bad = getenv("BAD");

	return bad && is_me() && !strcmp(bad, what);
}

static int misbehave(const char *prefix)
{
	char what[64];
	static const char *const ends[] = {"segv", "abort", "exit", "hang", "spin"};

	for (int i = 0; i < 5; i++) {
		strcpy(what, prefix);
		strcat(what, ends[i]);
		if (!does(what))
			continue;
		if (i == 0)
			raise(SIGSEGV);
		if (i == 1)
			abort();
		if (i == 2)
			_exit(7);
		for (;;)
			if (i == 3)
				pause();
	}
	strcpy(what, prefix);
	if (does(strcat(what, "fail")))
		return ENOMEM;
	strcpy(what, prefix);
	return does(strcat(what, "negative")) ? -1 : 0;
}

int distributor(void)
{
	return misbehave("distribute-");
}

int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
	       int *is_print_task)
{
	int failed = misbehave("");

	*num_out = does("lie") ? 1 << 20 : num_in;
	*out = does("wild") ? (hpm_event_vector)(uintptr_t)4096 : in;
	*is_print_task = !does("print");
	return failed;
}
