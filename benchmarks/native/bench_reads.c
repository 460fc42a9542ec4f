/*
 * Nanoseconds of a raw group read(2), of gn_group_read() and of start + stop, interleaved.
 *
 *	bench_reads N ROUNDS	a line for each round: raw read, gn read, raw cycle, gn cycle
 */
#include <gnomon/perf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "now.h"

#define CALLS 50000
#define CYCLES 10000

int main(int argc, char **argv)
{
	/* Software events, cheap ones and dear ones in turn, as everywhere in this benchmark. */
	static const uint64_t configs[] = {1, 2, 3, 4, 5, 6, 7, 8};
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	const int rounds = argc > 2 ? atoi(argv[2]) : 20;
	struct gn_event_spec spec[8];
	struct gn_group group;
	struct {
		struct gn_reading head;
		uint64_t value[8];
	} out;
	int failed;

	if (n < 1 || n > 8)
		return 2;
	memset(spec, 0, sizeof(spec));
	for (int i = 0; i < n; i++) {
		spec[i].type = PERF_TYPE_SOFTWARE;
		spec[i].config = configs[i];
	}
	if (gn_group_open(&group, spec, n, 0, -1, GN_USER_READ, &failed) < 0) {
		fprintf(stderr, "bench_reads: event %d does not open\n", failed);
		return 1;
	}
	gn_group_enable(&group);
	for (int round = 0; round < rounds; round++) {
		const size_t size = gn_reading_size(n);
		double t[5];

		t[0] = now_ns();
		for (int i = 0; i < CALLS; i++) {
			if (read(group.fd[0], &out, size) != (ssize_t)size)
				return 1;
		}
		t[1] = now_ns();
		for (int i = 0; i < CALLS; i++) {
			if (gn_group_read(&group, &out.head) < 0)
				return 1;
		}
		t[2] = now_ns();
		for (int i = 0; i < CYCLES; i++) {
			ioctl(group.fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
			ioctl(group.fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
			if (read(group.fd[0], &out, size) != (ssize_t)size)
				return 1;
			ioctl(group.fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		}
		t[3] = now_ns();
		for (int i = 0; i < CYCLES; i++) {
			gn_group_reset(&group);
			gn_group_enable(&group);
			if (gn_group_read(&group, &out.head) < 0)
				return 1;
			gn_group_disable(&group);
		}
		t[4] = now_ns();
		gn_group_enable(&group);
		printf("%.1f %.1f %.1f %.1f\n", (t[1] - t[0]) / CALLS, (t[2] - t[1]) / CALLS,
		       (t[3] - t[2]) / CYCLES, (t[4] - t[3]) / CYCLES);
		fflush(stdout);
	}
	gn_group_close(&group);
	return 0;
}
