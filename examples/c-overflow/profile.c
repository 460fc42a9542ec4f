/* Which function takes the CPU time: a profile of the program's own code, without a profiler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnomon/gnomon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD 200000 /* nanoseconds of CPU time */
#define BYTES 16	 /* of code, for each bucket */
#define FUNCTIONS 64

/* Where the program's code begins and ends, as the linker has it. */
extern const char __executable_start, etext;

static double a[256][256], b[256][256], c[256][256];

/* Neither is static, so that dladdr(3) finds its name. */
void multiply(void) __attribute__((noinline));
void transpose(void) __attribute__((noinline));

void multiply(void)
{
	for (int i = 0; i < 256; i++)
		for (int k = 0; k < 256; k++)
			for (int j = 0; j < 256; j++)
				c[i][j] += a[i][k] * b[k][j];
}

void transpose(void)
{
	for (int times = 0; times < 60; times++)
		for (int i = 0; i < 256; i++)
			for (int j = 0; j < 256; j++)
				a[j][i] = b[i][j];
}

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", gn_message());
	exit(1);
}

static void report(const uint32_t *buckets, size_t n, const struct gn_estimate *total)
{
	static struct {
		const char *name;
		uint64_t samples;
	} function[FUNCTIONS];
	int functions = 0;

	for (size_t i = 0; i < n; i++) {
		Dl_info info;
		int f = 0;

		if (!buckets[i] || !dladdr(&__executable_start + i * BYTES, &info) ||
		    !info.dli_sname)
			continue;
		while (f < functions && strcmp(function[f].name, info.dli_sname))
			f++;
		if (f == FUNCTIONS)
			continue;
		functions += f == functions;
		function[f].name = info.dli_sname;
		function[f].samples += buckets[i];
	}
	for (int f = 0; f < functions; f++) {
		struct gn_estimate part;

		check(gn_estimate_part(total, function[f].samples, &part));
		printf("%-10s %7.1f ms  within %.1f ms\n", function[f].name, part.value / 1e6,
		       part.error / 1e6);
	}
}

int main(void)
{
	const uintptr_t start = (uintptr_t)&__executable_start;
	const size_t n = ((uintptr_t)&etext - start) / BYTES + 1;
	uint32_t *buckets = calloc(n, sizeof(*buckets));
	struct gn_estimate total;
	int64_t counted;
	gn_set set;

	if (!buckets)
		return 1;
	check(gn_set_create(&set, NULL));
	check(gn_set_add(set, "task-clock"));
	check(gn_set_profil(set, "task-clock", buckets, n * sizeof(*buckets), start,
			    GN_PROFIL_SCALE_MAX / BYTES, THRESHOLD, GN_PROFIL_BUCKET_32));
	check(gn_set_start(set));
	for (int times = 0; times < 5; times++) {
		multiply();
		transpose();
	}
	check(gn_set_stop(set, &counted));
	check(gn_set_estimate(set, "task-clock", &total));
	report(buckets, n, &total);
	printf("%-10s %7.1f ms  within %.1f ms; counted %.1f ms\n", "all", total.value / 1e6,
	       total.error / 1e6, (double)counted / 1e6);
	check(gn_set_clear(set));
	check(gn_set_destroy(&set));
	free(buckets);
	return 0;
}
