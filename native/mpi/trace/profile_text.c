#include "profile_text.h"

#include <gnomon/clock.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "all_ranks.h"
#include "atomic_file.h"
#include "routine_sums.h"
#include "settings.h"
#include "topology.h"

#define RULE "-----------------------------------------------------------------\n"
#define NAME_WIDTH 28
/* The first line of sizes has those up to 4 bytes, as Example 4-4. */
#define FIRST_CLASSES 3u

static void put_row(struct gn_atomic_file *file, const char *name, const struct gn_trace_sum *sum)
{
	const double calls = sum->calls ? (double)sum->calls : 1;

	gn_print(file, "%-*s %10llu %14.1f %13.3f\n", NAME_WIDTH, name,
		 (unsigned long long)sum->calls, (double)sum->bytes / calls,
		 gn_trace_seconds(sum->ticks));
}

static void put_routines(struct gn_atomic_file *file)
{
	const struct gn_trace_sum all = gn_trace_sum_of(0);

	gn_puts(file, RULE);
	gn_print(file, "%-*s %10s %14s %13s\n", NAME_WIDTH, "MPI Routine", "#calls", "avg. bytes",
		 "time(sec)");
	gn_puts(file, RULE);
	for (int id = 1; gn_trace_name(id); id++) {
		const struct gn_trace_sum sum = gn_trace_sum_of(id);

		if (sum.calls && !gn_trace_is_frame(id))
			put_row(file, gn_trace_name(id), &sum);
	}
	gn_puts(file, RULE);
	gn_print(file, "total communication time = %.3f seconds.\n", gn_trace_seconds(all.ticks));
	gn_print(file, "total elapsed time       = %.3f seconds.\n", gn_trace_elapsed());
}

static void put_sizes(struct gn_atomic_file *file)
{
	gn_puts(file, "\n" RULE "Message size distributions:\n");
	for (int id = 1; gn_trace_name(id); id++) {
		struct gn_trace_sum size[GN_TRACE_BINS] = {{0, 0, 0}};

		if (!gn_trace_sum_of(id).bytes)
			continue;
		gn_trace_sizes(id, size);
		for (unsigned int i = 0; i < FIRST_CLASSES; i++) {
			size[FIRST_CLASSES].calls += size[i].calls;
			size[FIRST_CLASSES].bytes += size[i].bytes;
			size[FIRST_CLASSES].ticks += size[i].ticks;
		}
		gn_print(file, "\n%-*s %10s %14s %13s\n", NAME_WIDTH, gn_trace_name(id), "#calls",
			 "avg. bytes", "time(sec)");
		for (unsigned int i = FIRST_CLASSES; i < GN_TRACE_BINS; i++)
			if (size[i].calls)
				put_row(file, "", &size[i]);
	}
}

/* --- all tasks, in the file of rank 0 --------------------------------------------------------- */

static void put_tasks(struct gn_atomic_file *file, const struct gn_trace_rank *all,
		      const struct gn_trace_value *order, int32_t n)
{
	const struct gn_trace_topology *topology = gn_trace_topology();

	gn_print(file, "%7s %7s %7s %7s %7s %16s %9s\n", "taskid", "xcoord", "ycoord", "zcoord",
		 "procid", "total_comm(sec)", "avg_hops");
	for (int32_t i = 0; i < n; i++) {
		const int32_t rank = order ? order[i].rank : i;

		gn_print(file, "%7d", rank);
		for (int d = 0; d < 3; d++) {
			if (topology)
				gn_print(file, " %7d", topology->place[rank].at[d]);
			else
				gn_print(file, " %7s", "-");
		}
		if (topology && topology->place[rank].procid >= 0)
			gn_print(file, " %7d", topology->place[rank].procid);
		else
			gn_print(file, " %7s", "-");
		gn_print(file, " %16.3f", all[rank].seconds);
		if (isnan(all[rank].hops))
			gn_print(file, " %9s\n", "-");
		else
			gn_print(file, " %9.2f\n", all[rank].hops);
	}
}

static void put_extremes(struct gn_atomic_file *file, const struct gn_trace_value *order, int32_t n)
{
	static const char *const names[] = {"minimum", "median ", "maximum"};
	const int32_t places[] = {0, gn_trace_median(order, n), n - 1};

	for (int i = 0; i < 3; i++)
		gn_print(file, "  %s communication time = %.3f sec for task %d\n", names[i],
			 order[places[i]].value, order[places[i]].rank);
}

static void put_summary(struct gn_atomic_file *file, const struct gn_trace_rank *all, int32_t n)
{
	struct gn_trace_value *order = malloc((size_t)n * sizeof(*order));

	if (!order)
		return;
	for (int32_t i = 0; i < n; i++)
		order[i] = (struct gn_trace_value){all[i].seconds, i, 0};
	gn_trace_sort(order, n);
	gn_puts(file, "\n" RULE "Communication summary for all tasks:\n\n");
	put_extremes(file, order, n);
	if (!gn_trace_topology())
		gn_puts(file, "\n  coordinates and hops are not known: " GN_TRACE_TOPOLOGY_VARIABLE
			      " names no topology file\n");
	gn_puts(file, "\n");
	put_tasks(file, all, NULL, n);
	gn_puts(file, "\nMPI tasks sorted by communication time:\n");
	put_tasks(file, all, order, n);
	free(order);
}

void gn_trace_write_text(int32_t rank, const struct gn_trace_rank *all, int32_t n)
{
	struct gn_atomic_file *file = malloc(sizeof(*file));
	char name[64], path[PATH_MAX];
	int failed;

	snprintf(name, sizeof(name), "mpi_profile.%d", rank);
	if (!file || gn_trace_path(name, path, sizeof(path))) {
		free(file);
		gn_trace_say("%s is not written: its path is too long, or there is no memory",
			     name);
		return;
	}
	gn_atomic_file_open(file, path);
	gn_print(file, "elapsed time from clock-cycles using freq = %.1f MHz\n",
		 gn_clock_hz() / 1e6);
	put_routines(file);
	put_sizes(file);
	if (all)
		put_summary(file, all, n);
	failed = gn_atomic_file_close(file);
	if (failed)
		gn_trace_say("%s is not written: %s; name another folder with TRACE_DIR", path,
			     strerror(failed));
	free(file);
}
