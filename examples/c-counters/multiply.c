/*
 * Counts events around a matrix product: those named on the command line, else a few that every
 * machine has. An event that cannot be counted here is said so, and the others are counted.
 *
 *	./multiply [EVENT ...]
 */
#include <stdio.h>
#include <stdlib.h>

#include <gnomon/gnomon.h>

#define N 400
#define EVENTS_MAX 32

static double a[N][N], b[N][N], c[N][N];

static void multiply(void)
{
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < N; k++) {
			for (int j = 0; j < N; j++)
				c[i][j] += a[i][k] * b[k][j];
		}
	}
}

static void must(int error)
{
	if (error == GN_OK)
		return;
	fprintf(stderr, "multiply: %s: %s\n", gn_error_name(error), gn_message());
	exit(1);
}

static void print(gn_set set)
{
	struct gn_value value[EVENTS_MAX];
	const int n = gn_set_size(set);

	must(gn_set_values(set, value));
	for (int i = 0; i < n; i++) {
		if (value[i].flags & GN_VALUE_MISSING)
			printf("%20s", "not measured");
		else
			printf("%20.0f", value[i].value);
		printf(" %-3s %s%s\n", value[i].unit, gn_set_name(set, i),
		       value[i].how == GN_HOW_SCALED ? " (scaled)" : "");
	}
}

int main(int argc, char **argv)
{
	static const char *const always[] = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "task-clock",
					     "page-faults"};
	const int n = argc > 1 ? argc - 1 : (int)(sizeof(always) / sizeof(always[0]));
	int64_t begin;
	gn_set set;

	must(gn_set_create(&set, NULL));
	for (int i = 0; i < n && gn_set_size(set) < EVENTS_MAX; i++) {
		if (gn_set_add(set, argc > 1 ? argv[i + 1] : always[i]))
			fprintf(stderr, "multiply: %s\n", gn_message());
	}
	begin = gn_real_ns();
	must(gn_set_start(set));
	multiply();
	must(gn_set_stop(set, NULL));
	printf("%20.6f s   wall time\n", 1e-9 * (double)(gn_real_ns() - begin));
	print(set);
	must(gn_set_clear(set));
	must(gn_set_destroy(&set));
	return c[1][1] != 0;
}
