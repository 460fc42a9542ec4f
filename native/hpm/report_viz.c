/* NAME.viz: XML that meets src/gnomon/hpm/viz.xsd. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"
#include "text_escape.h"
#include "writers.h"

/* Attributes that say nothing are left out. */
static void put_attribute(struct gn_atomic_file *output, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	gn_print(output, " %s=\"", name);
	hpm_put_xml(output, value);
	gn_puts(output, "\"");
}

static void put_number(struct gn_atomic_file *output, const char *name, double value)
{
	char text[HPM_EXACT_SIZE];

	if (!isfinite(value))
		return;
	hpm_exact(value, text);
	put_attribute(output, name, text);
}

/* A number of something, which is above zero. */
static void put_positive(struct gn_atomic_file *output, const char *name, long value)
{
	if (value > 0)
		gn_print(output, " %s=\"%ld\"", name, value);
}

static void put_task(struct gn_atomic_file *output, long task)
{
	if (task >= 0)
		gn_print(output, " task=\"%ld\"", task);
}

static void put_tasks(struct gn_atomic_file *output, const hpm_data_item *item)
{
	if (item->n_tasks <= 0)
		return;
	put_attribute(output, "tasks", item->tasks);
	put_positive(output, "task_count", item->n_tasks);
}

static void put_spread(struct gn_atomic_file *output, const hpm_spread *spread)
{
	if (!spread)
		return;
	gn_print(output, " with_value=\"%d\"", spread->n > 0 ? spread->n : 0);
	if (spread->n <= 0)
		return;
	put_number(output, "minimum", spread->minimum);
	if (spread->min_task >= 0)
		gn_print(output, " minimum_task=\"%d\"", spread->min_task);
	put_number(output, "maximum", spread->maximum);
	if (spread->max_task >= 0)
		gn_print(output, " maximum_task=\"%d\"", spread->max_task);
	put_number(output, "deviation", spread->deviation);
	for (int i = 0; i < spread->n_bins; i++)
		gn_print(output, i ? " %lld" : " bins=\"%lld", spread->bins[i]);
	if (spread->n_bins > 0)
		gn_puts(output, "\"");
}

static void put_run(struct gn_atomic_file *output, const struct hpm_header *header)
{
	char moment[HPM_TIMESTAMP_SIZE];

	gn_puts(output, "  <run program=\"");
	hpm_put_xml(output, header->program);
	gn_puts(output, "\" host=\"");
	hpm_put_xml(output, header->host);
	gn_puts(output, "\"");
	put_positive(output, "process", header->process);
	put_task(output, header->task);
	hpm_timestamp_text(header->started, 1, moment);
	put_attribute(output, "started", moment);
	hpm_timestamp_text(header->stopped, 1, moment);
	put_attribute(output, "stopped", moment);
	put_number(output, "wall_seconds", header->wall_s >= 0 ? header->wall_s : NAN);
	put_attribute(output, "events", header->events);
	if (header->command[0]) {
		gn_puts(output, ">\n    <argument>");
		hpm_put_xml(output, header->command);
		gn_puts(output, "</argument>\n  </run>\n");
	} else {
		gn_puts(output, "/>\n");
	}
}

static void put_usage(struct gn_atomic_file *output, const hpm_data_item *item)
{
	if (item->num_data <= 0)
		return;
	gn_puts(output, "  <usage");
	put_task(output, item->mpi_task_id);
	put_tasks(output, item);
	put_attribute(output, "description", item->xml_descr);
	gn_puts(output, ">\n");
	for (int i = 0; i < item->num_data; i++) {
		const hpm_event_info *field = &item->data[i];

		gn_puts(output, "    <field");
		put_attribute(output, "name", field->name);
		put_number(output, "value", hpm_value(field));
		put_attribute(output, "unit", field->unit);
		put_attribute(output, "description", field->description);
		put_attribute(output, "reason", field->reason);
		put_spread(output, field->spread);
		gn_puts(output, "/>\n");
	}
	gn_puts(output, "  </usage>\n");
}

static void put_event(struct gn_atomic_file *output, const hpm_event_info *event)
{
	double value = hpm_value(event);

	gn_puts(output, "      <event name=\"");
	hpm_put_xml(output, hpm_text(event->name));
	gn_puts(output, "\"");
	put_attribute(output, "component", event->component);
	put_number(output, "value", value);
	put_attribute(output, "unit", event->unit);
	if (isfinite(value)) {
		put_attribute(output, "how", hpm_how_name(event->how));
		put_number(output, "enabled_seconds",
			   event->enabled_s >= 0 ? event->enabled_s : NAN);
		put_number(output, "running_seconds",
			   event->running_s >= 0 ? event->running_s : NAN);
		put_attribute(output, "modes", hpm_modes_name(event->modes));
		if (event->flags & HPM_IS_NODE_WIDE)
			put_attribute(output, "scope", "node");
	}
	put_attribute(output, "description", event->description);
	put_attribute(output, "reason", event->reason);
	if (isfinite(value))
		put_spread(output, event->spread);
	gn_puts(output, "/>\n");
}

static void put_values(struct gn_atomic_file *output, const struct hpm_report *report,
		       const hpm_data_item *item)
{
	struct hpm_metric *metrics;
	int n = hpm_report_metrics(output, report, item, &metrics);

	gn_print(output, "    <values exclusive=\"%s\" continues=\"%s\"",
		 item->is_exclusive ? "true" : "false", item->is_mplex_cont ? "true" : "false");
	put_attribute(output, "group", item->group);
	gn_print(output, " calls=\"%d\">\n", item->count > 0 ? item->count : 0);
	for (int i = 0; i < HPM_NTIM; i++) {
		if (!isfinite(item->times[i]))
			continue;
		gn_print(output, "      <time name=\"%s\"", hpm_time_names[i]);
		put_number(output, "seconds", item->times[i]);
		put_spread(output, item->times_spread ? &item->times_spread[i] : NULL);
		gn_puts(output, "/>\n");
	}
	for (int i = 0; i < item->num_data; i++)
		put_event(output, &item->data[i]);
	for (int i = 0; i < n; i++) {
		gn_puts(output, "      <metric");
		put_attribute(output, "name", metrics[i].name);
		put_number(output, "value", metrics[i].value);
		put_attribute(output, "unit", metrics[i].unit);
		put_attribute(output, "how", hpm_how_name(metrics[i].how));
		put_attribute(output, "modes", hpm_modes_name(metrics[i].modes));
		put_attribute(output, "formula", metrics[i].formula);
		put_attribute(output, "description", metrics[i].description);
		gn_puts(output, "/>\n");
	}
	gn_puts(output, "    </values>\n");
	hpm_metrics_free(metrics, n);
	free(metrics);
}

/*
 * Of tasks that an aggregator put together it is this process's, which is the same program's: a
 * section of another one has another label.
 */
static void put_start(struct gn_atomic_file *output, const struct hpm_header *header,
		      const hpm_data_item *item)
{
	int low = 0, high = header->n_starts - 1;

	while (low <= high) {
		const int middle = (low + high) / 2;
		const struct hpm_start_address *start = &header->start[middle];

		if (start->id < item->instr_id) {
			low = middle + 1;
			continue;
		}
		if (start->id > item->instr_id) {
			high = middle - 1;
			continue;
		}
		if (strcmp(start->label, hpm_text(item->label)) != 0)
			return;
		put_attribute(output, "module", start->module);
		gn_print(output, " offset=\"0x%llx\"", start->offset);
		put_attribute(output, "build_id", start->build_id);
		return;
	}
}

static void put_section(struct gn_atomic_file *output, const struct hpm_header *header,
			const hpm_data_item *item, int element)
{
	gn_print(output, "  <section kind=\"%s\" id=\"%d\" element=\"%d\" label=\"",
		 item->instr_id > 0 ? "region" : "program", item->instr_id > 0 ? item->instr_id : 0,
		 element);
	hpm_put_xml(output, hpm_text(item->label));
	gn_puts(output, "\"");
	put_attribute(output, "file", item->file);
	put_positive(output, "line", item->line);
	if (!hpm_text(item->file)[0])
		put_start(output, header, item);
	put_positive(output, "parent", item->parent_id);
	put_positive(output, "thread", item->thread_id);
	put_positive(output, "process", item->process_id);
	put_task(output, item->mpi_task_id);
	put_tasks(output, item);
	put_attribute(output, "description", item->xml_descr);
	gn_puts(output, ">\n");
}

static void put_notes(struct gn_atomic_file *output, const char *notes)
{
	while (*notes) {
		size_t length = strcspn(notes, "\n");
		char *note = strndup(notes, length);

		gn_puts(output, "  <note>");
		hpm_put_xml(output, hpm_text(note));
		gn_puts(output, "</note>\n");
		free(note);
		notes += length + (notes[length] == '\n');
	}
}

void hpm_viz_write(struct gn_atomic_file *output, const struct hpm_report *report)
{
	const hpm_data_item *items = report->items;
	int element = 0;

	gn_puts(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<hpm version=\"1\" producer=\"libhpm\" release=\"" GNOMON_RELEASE "\">\n");
	put_run(output, report->header);
	for (int i = 0; i < report->n; i++)
		if (items[i].is_rusage)
			put_usage(output, &items[i]);
	for (int i = 0; i < report->n; i++) {
		if (items[i].is_rusage)
			continue;
		if (!i || !hpm_is_same_section(&items[i - 1], &items[i]))
			put_section(output, report->header, &items[i], ++element);
		put_values(output, report, &items[i]);
		if (i + 1 == report->n || !hpm_is_same_section(&items[i], &items[i + 1]))
			gn_puts(output, "  </section>\n");
	}
	put_notes(output, report->header->notes);
	gn_puts(output, "</hpm>\n");
}
