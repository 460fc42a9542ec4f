#include "topology.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "routine_sums.h"
#include "settings.h"
#include "totals_file.h"

#define SIZE_MAX_OF_ONE (1 << 24)
#define LINE_SIZE 256

struct reading {
	const char *path;
	int line;
	char *why;
	int why_size;
};

static int refuse(const struct reading *reading, const char *what)
{
	snprintf(reading->why, (size_t)reading->why_size, "%s, line %d: %s", reading->path,
		 reading->line, what);
	return -1;
}

/* As many whole numbers as there are, five at most; -1: there is something else, or more. */
static int numbers_of(char *text, int64_t number[5])
{
	int n = 0;

	for (;; n++) {
		char *end;

		text += strspn(text, " \t\r\n");
		if (!*text)
			return n;
		errno = 0;
		if (n == 5)
			return -1;
		number[n] = strtol(text, &end, 10);
		if (end == text || errno || !strchr(" \t\r\n", *end))
			return -1;
		text = end;
	}
}

static int read_size(const struct reading *reading, char *text, struct gn_trace_topology *topology)
{
	char *torus = strstr(text, "torus");
	int64_t size[5];

	if (torus) {
		if (torus[5 + strspn(torus + 5, " \t\r\n")])
			return refuse(reading, "\"torus\" ends the line of the size");
		*torus = 0;
	}
	if (topology->size[0] || numbers_of(text, size) != 3)
		return refuse(reading, "one line has \"size X Y Z\", or \"size X Y Z torus\"");
	for (int i = 0; i < 3; i++) {
		if (size[i] < 1 || size[i] > SIZE_MAX_OF_ONE)
			return refuse(reading, "sizes are from 1 to 16777216");
		topology->size[i] = (int32_t)size[i];
	}
	topology->is_torus = torus != NULL;
	return 0;
}

static int read_rank(const struct reading *reading, char *text, struct gn_trace_topology *topology)
{
	int64_t number[5] = {0, 0, 0, 0, -1};
	const int n = numbers_of(text, number);
	struct gn_trace_place *place;

	if (n != 4 && n != 5)
		return refuse(reading, "a line has RANK X Y Z, and PROCESSOR if that is known");
	if (!topology->size[0])
		return refuse(reading, "a line \"size X Y Z\" comes before those of ranks");
	if (number[0] < 0 || number[4] < -1 || number[4] > INT32_MAX)
		return refuse(reading, "ranks and processors are not negative");
	/* A file may be for more ranks than there are now. */
	if (number[0] >= topology->n)
		return 0;
	place = &topology->place[number[0]];
	if (place->at[0] >= 0)
		return refuse(reading, "this rank has been there before");
	for (int i = 0; i < 3; i++) {
		if (number[1 + i] < 0 || number[1 + i] >= topology->size[i])
			return refuse(reading, "these coordinates are not within the size");
		place->at[i] = (int32_t)number[1 + i];
	}
	place->procid = (int32_t)number[4];
	return 0;
}

static int read_line(const struct reading *reading, char *text, struct gn_trace_topology *topology)
{
	if (strlen(text) == LINE_SIZE - 1)
		return refuse(reading, "the line is too long");
	text += strspn(text, " \t\r\n");
	if (!*text || *text == '#')
		return 0;
	if (!strncmp(text, "size", 4))
		return read_size(reading, text + 4, topology);
	return read_rank(reading, text, topology);
}

static int read_lines(FILE *file, struct reading *reading, struct gn_trace_topology *topology)
{
	char text[LINE_SIZE];

	while (fgets(text, sizeof(text), file)) {
		reading->line++;
		if (read_line(reading, text, topology))
			return -1;
	}
	for (int32_t rank = 0; rank < topology->n; rank++)
		if (topology->place[rank].at[0] < 0) {
			snprintf(reading->why, (size_t)reading->why_size,
				 "%s has no line for rank %d", reading->path, rank);
			return -1;
		}
	return 0;
}

int gn_trace_topology_read(const char *path, int32_t n, struct gn_trace_topology *topology,
			   char *why, int why_size)
{
	struct reading reading = {path, 0, why, why_size};
	FILE *file;
	int failed;

	memset(topology, 0, sizeof(*topology));
	file = fopen(path, "re");
	if (!file) {
		snprintf(why, (size_t)why_size, "%s: %s", path, strerror(errno));
		return -1;
	}
	topology->n = n;
	topology->place = malloc(((size_t)n + 1) * sizeof(*topology->place));
	for (int32_t i = 0; topology->place && i < n; i++)
		topology->place[i] = (struct gn_trace_place){{-1, -1, -1}, -1};
	failed = topology->place ? read_lines(file, &reading, topology)
				 : refuse(&reading, "there is no memory for it");
	fclose(file);
	if (failed) {
		free(topology->place);
		topology->place = NULL;
	}
	return failed;
}

static struct gn_trace_topology known;
static int is_known;

static void read_once(void)
{
	const struct gn_totals_header *header = gn_totals_header();
	const char *path = getenv(GN_TRACE_TOPOLOGY_VARIABLE);
	char why[512];

	if (!header || !path || !*path)
		return;
	is_known = !gn_trace_topology_read(path, header->n_ranks, &known, why, sizeof(why));
	if (!is_known && header->rank == 0)
		gn_trace_say("%s: %s; coordinates and hops are not known",
			     GN_TRACE_TOPOLOGY_VARIABLE, why);
}

const struct gn_trace_topology *gn_trace_topology(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_once);
	return is_known ? &known : NULL;
}

int64_t gn_trace_hops(const struct gn_trace_topology *topology, int32_t from, int32_t to)
{
	int64_t hops = 0;

	for (int i = 0; i < 3; i++) {
		const int64_t way =
			llabs((int64_t)topology->place[from].at[i] - topology->place[to].at[i]);
		const int64_t round = topology->size[i] - way;

		hops += topology->is_torus && round < way ? round : way;
	}
	return hops;
}

double gn_trace_average_hops(void)
{
	const struct gn_totals_header *header = gn_totals_header();
	const struct gn_trace_topology *topology;
	double *bytes, all = 0, travelled = 0;

	if (!header || header->rank < 0)
		return NAN;
	topology = gn_trace_topology();
	if (!topology)
		return NAN;
	bytes = calloc((size_t)topology->n, sizeof(*bytes));
	if (!bytes)
		return NAN;
	gn_trace_sent(bytes, topology->n);
	for (int32_t i = 0; i < topology->n; i++) {
		all += bytes[i];
		travelled += bytes[i] * (double)gn_trace_hops(topology, header->rank, i);
	}
	free(bytes);
	return all > 0 ? travelled / all : NAN;
}
