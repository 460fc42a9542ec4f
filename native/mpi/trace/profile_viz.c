#include "profile_viz.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atomic_file.h"
#include "call_places.h"
#include "routine_sums.h"
#include "settings.h"
#include "totals_file.h"

struct site {
	uint32_t routine;
	struct gn_trace_frame frame; /* its caller does not tell sites apart here */
	uint64_t calls, sent, received, ticks;
};

/* What XML does not have, and what may be no UTF-8, is a question mark. */
static void put_escaped(struct gn_atomic_file *file, const char *text)
{
	for (; *text; text++) {
		const unsigned char byte = (unsigned char)*text;

		if (byte == '&')
			gn_puts(file, "&amp;");
		else if (byte == '<')
			gn_puts(file, "&lt;");
		else if (byte == '"')
			gn_puts(file, "&quot;");
		else
			gn_put(file, byte < ' ' || byte > '~' ? "?" : text, 1);
	}
}

static void put_moment(struct gn_atomic_file *file, const char *name, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / 1000000000u);
	char text[32];
	struct tm moment;

	if (gmtime_r(&seconds, &moment) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &moment))
		gn_print(file, " %s=\"%s.%06dZ\"", name, text,
			 (int)(realtime_ns / 1000u % 1000000u));
}

static void put_head(struct gn_atomic_file *file, const struct gn_totals_header *header)
{
	gn_puts(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<hpm version=\"1\" producer=\"libmpitrace\">\n  <run program=\"");
	put_escaped(file, header->program);
	gn_puts(file, "\" host=\"");
	put_escaped(file, header->host);
	gn_print(file, "\" process=\"%u\" task=\"%d\"", header->pid, header->rank);
	put_moment(file, "started", header->realtime_ns);
	gn_print(file, " wall_seconds=\"%.9f\"/>\n", gn_trace_elapsed());
	gn_puts(file, "  <section kind=\"program\" id=\"0\" element=\"1\" label=\"");
	put_escaped(file, header->program);
	gn_print(file, "\" task=\"%d\">\n    <values calls=\"1\">\n", header->rank);
	gn_print(file, "      <time name=\"wall\" seconds=\"%.9f\"/>\n", gn_trace_elapsed());
	gn_puts(file, "    </values>\n  </section>\n");
}

static void put_event(struct gn_atomic_file *file, const char *name, uint64_t bytes)
{
	gn_print(file,
		 "      <event name=\"%s\" component=\"mpi\" value=\"%llu\" unit=\"bytes\" "
		 "how=\"counted\"/>\n",
		 name, (unsigned long long)bytes);
}

static void put_site(struct gn_atomic_file *file, const struct gn_trace_places *places,
		     const struct site *site, uint32_t number, int32_t rank)
{
	const struct gn_trace_module *module = gn_trace_module(places, site->frame.module);

	gn_print(file, "  <section kind=\"region\" id=\"%u\" element=\"%u\" label=\"%s\"", number,
		 number + 1, gn_trace_name((int)site->routine));
	if (module && module->path) {
		gn_puts(file, " module=\"");
		put_escaped(file, module->path);
		gn_print(file, "\" offset=\"0x%llx\"", (unsigned long long)site->frame.offset);
		if (module->build_id_bytes)
			gn_puts(file, " build_id=\"");
		for (int i = 0; i < module->build_id_bytes; i++)
			gn_print(file, "%02x", module->build_id[i]);
		if (module->build_id_bytes)
			gn_puts(file, "\"");
	}
	gn_print(file, " task=\"%d\">\n    <values calls=\"%llu\">\n", rank,
		 (unsigned long long)site->calls);
	gn_print(file, "      <time name=\"wall\" seconds=\"%.9f\"/>\n",
		 gn_trace_seconds(site->ticks));
	put_event(file, "MPI bytes sent", site->sent);
	put_event(file, "MPI bytes received", site->received);
	gn_puts(file, "    </values>\n  </section>\n");
}

static int compare(const void *left, const void *right)
{
	const struct site *a = left, *b = right;

	if (a->routine != b->routine)
		return a->routine < b->routine ? -1 : 1;
	if (a->frame.module != b->frame.module)
		return a->frame.module < b->frame.module ? -1 : 1;
	return (a->frame.offset > b->frame.offset) - (a->frame.offset < b->frame.offset);
}

/* Sites by what they are told apart by here: of all threads and communicators. */
static uint32_t collect(const struct gn_trace_places *places, int level, struct site **sites)
{
	const union gn_totals_record *record;
	uint32_t n_sites = 0, n_apart = 0;
	uint64_t n;

	record = gn_totals_records(&n);
	*sites = calloc((size_t)n + 1, sizeof(**sites));
	for (uint64_t i = 0; *sites && i < n; i++, record++)
		if (record->kind == GN_TOTALS_SITE && record->site.calls)
			(*sites)[n_sites++] = (struct site){
				record->site.routine,
				gn_trace_frame_above(places, record->site.frame, level),
				record->site.calls,
				record->site.sent,
				record->site.received,
				record->site.ticks};
	if (n_sites)
		qsort(*sites, n_sites, sizeof(**sites), compare);
	for (uint32_t i = 0; i < n_sites; i++) {
		struct site *into = n_apart ? &(*sites)[n_apart - 1] : NULL;

		if (!into || compare(into, &(*sites)[i])) {
			(*sites)[n_apart++] = (*sites)[i];
			continue;
		}
		into->calls += (*sites)[i].calls;
		into->sent += (*sites)[i].sent;
		into->received += (*sites)[i].received;
		into->ticks += (*sites)[i].ticks;
	}
	return n_apart;
}

void gn_trace_write_viz(int32_t rank)
{
	const struct gn_totals_header *header = gn_totals_header();
	struct gn_atomic_file *file = malloc(sizeof(*file));
	struct gn_trace_places *places = gn_trace_places_read();
	struct site *sites = NULL;
	char name[64], path[PATH_MAX];
	uint32_t n = 0;
	int failed;

	snprintf(name, sizeof(name), "mpi_profile_%d.viz", rank);
	if (places)
		n = collect(places, gn_trace_traceback_level(), &sites);
	if (!file || !sites || gn_trace_path(name, path, sizeof(path))) {
		gn_trace_say("%s is not written: its path is too long, or there is no memory",
			     name);
	} else {
		gn_atomic_file_open(file, path);
		put_head(file, header);
		for (uint32_t i = 0; i < n; i++)
			put_site(file, places, &sites[i], i + 1, rank);
		gn_puts(file, "</hpm>\n");
		failed = gn_atomic_file_close(file);
		if (failed)
			gn_trace_say("%s is not written: %s; name another folder with TRACE_DIR",
				     path, strerror(failed));
	}
	free(sites);
	gn_trace_places_free(places);
	free(file);
}
