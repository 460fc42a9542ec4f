/* Nested, overlapping and recursive sections, of one thread and of several (OpenMP). */
#include <omp.h>
#include <stdlib.h>

#include "libhpm.h"
#include "trace.h"

static void start(int id, int parent)
{
	trace_start('t', id, parent);
	hpmTstartx(id, parent, "of a thread");
	trace_done();
}

static void stop(int id)
{
	trace_stop('t', id);
	hpmTstop(id);
	trace_done();
}

static void start_all(int id)
{
	trace_start('p', id, HPM_AUTO_PARENT);
	hpmStart(id, "of all threads");
	trace_done();
}

static void stop_all(int id)
{
	trace_stop('p', id);
	hpmStop(id);
	trace_done();
}

static void recursive(int base, int levels)
{
	start(base + 3, HPM_AUTO_PARENT);
	trace_touch(levels);
	if (levels > 1) {
		start(base + 4, HPM_AUTO_PARENT);
		recursive(base, levels - 1);
		trace_touch(1);
		stop(base + 4);
	}
	stop(base + 3);
}

static void all_kinds(int base)
{
	/* Nested. */
	start(base + 1, HPM_AUTO_PARENT);
	trace_touch(3);
	start(base + 2, HPM_AUTO_PARENT);
	trace_touch(5);
	stop(base + 2);
	trace_touch(7);
	stop(base + 1);
	recursive(base, 5);
	/* Overlapping, the second a child of the first; then one with a parent that is over. */
	start(base + 5, HPM_NO_PARENT);
	trace_touch(2);
	start(base + 6, HPM_AUTO_PARENT);
	trace_touch(4);
	start(base + 7, base + 5);
	trace_touch(8);
	stop(base + 6);
	trace_touch(16);
	stop(base + 5);
	trace_touch(32);
	stop(base + 7);
	start(base + 8, base + 5);
	trace_touch(9);
	start(base + 5, HPM_ONLY_EXCLUSIVE);
	trace_touch(6);
	stop(base + 8);
	trace_touch(1);
	stop(base + 5);
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 1;

	hpmInit(0, "program");
	omp_set_num_threads(threads);
	trace_begin();
	for (int round = 0; round < 3; round++) {
#pragma omp parallel
		all_kinds(10 * omp_get_thread_num());
		if (!round) {
			start_all(501);
			start_all(502);
			stop_all(502);
			stop_all(501);
		}
	}
	start_all(501);
	trace_touch(11);
#pragma omp parallel
	{
		trace_touch(100);
#pragma omp barrier
	}
	start_all(502);
#pragma omp parallel
	{
		trace_touch(50);
#pragma omp barrier
	}
	stop_all(502);
	trace_touch(13);
	stop_all(501);
	hpmTerminate(0);
	trace_print();
	return hpm_error_count;
}
