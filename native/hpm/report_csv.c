/*
 * NAME.csv: one row for each quantity of each section, after a row of names. Source: RFC 4180.
 * The columns stay as they are; new ones come last.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"
#include "text_escape.h"
#include "writers.h"

/* `kind` is usage, time, event or metric; what has no value has a reason. */
static const char columns[] =
	"program,host,process,task,section,label,parent,thread,file,line,group,exclusive,calls,"
	"kind,name,value,unit,how,modes,enabled_seconds,running_seconds,reason,formula,"
	"description";

/* Of a report over tasks, which has them in every row. */
static const char spread_columns[] = ",tasks,task_count,with_value,minimum,minimum_task,maximum,"
				     "maximum_task,deviation,bins";

/* The columns from `kind` on; NaN and NULL are empty fields. */
struct row {
	const char *kind;
	const char *name;
	double value;
	const char *unit;
	const char *how;
	const char *modes;
	double enabled_s;
	double running_s;
	const char *reason;
	const char *formula;
	const char *description;
	const hpm_spread *spread;
};

static void put_text(struct gn_atomic_file *output, const char *text)
{
	hpm_put_csv(output, hpm_text(text));
	gn_puts(output, ",");
}

static void put_number(struct gn_atomic_file *output, double value)
{
	char text[HPM_EXACT_SIZE] = "";

	if (isfinite(value))
		hpm_exact(value, text);
	gn_print(output, "%s,", text);
}

static void put_positive(struct gn_atomic_file *output, long value)
{
	put_number(output, value > 0 ? (double)value : (double)NAN);
}

/* A number behind a comma, or nothing. */
static void put_next(struct gn_atomic_file *output, double value)
{
	char text[HPM_EXACT_SIZE] = "";

	if (isfinite(value))
		hpm_exact(value, text);
	gn_print(output, ",%s", text);
}

static void put_spread(struct gn_atomic_file *output, const hpm_data_item *item,
		       const hpm_spread *spread)
{
	static const hpm_spread none = {0, NAN, NAN, NAN, -1, -1, 0, NULL};

	gn_puts(output, ",");
	hpm_put_csv(output, hpm_text(item->tasks));
	put_next(output, item->n_tasks > 0 ? item->n_tasks : (double)NAN);
	put_next(output, spread ? spread->n : (double)NAN);
	spread = spread && spread->n > 0 ? spread : &none;
	put_next(output, spread->minimum);
	put_next(output, spread->min_task >= 0 ? spread->min_task : (double)NAN);
	put_next(output, spread->maximum);
	put_next(output, spread->max_task >= 0 ? spread->max_task : (double)NAN);
	put_next(output, spread->deviation);
	for (int i = 0; i < spread->n_bins; i++)
		gn_print(output, "%s%lld", i ? " " : ",", spread->bins[i]);
	if (spread->n_bins <= 0)
		gn_puts(output, ",");
}

static void put_row(struct gn_atomic_file *output, const struct hpm_report *report,
		    const hpm_data_item *item, const struct row *row)
{
	const struct hpm_header *header = report->header;
	int is_section = !item->is_rusage;

	put_text(output, header->program);
	put_text(output, header->host);
	put_positive(output, item->process_id > 0 ? item->process_id : header->process);
	put_number(output, item->mpi_task_id >= 0 ? (double)item->mpi_task_id : (double)NAN);
	put_number(output, is_section ? (double)item->instr_id : (double)NAN);
	put_text(output, item->label);
	put_positive(output, item->parent_id);
	put_positive(output, item->thread_id);
	put_text(output, item->file);
	put_positive(output, item->line);
	put_text(output, item->group);
	put_text(output, !is_section ? "" : item->is_exclusive ? "yes" : "no");
	put_number(output, is_section ? (double)item->count : (double)NAN);
	put_text(output, row->kind);
	put_text(output, row->name);
	put_number(output, row->value);
	put_text(output, row->unit);
	put_text(output, row->how);
	put_text(output, row->modes);
	put_number(output, row->enabled_s);
	put_number(output, row->running_s);
	put_text(output, row->reason);
	put_text(output, row->formula);
	hpm_put_csv(output, hpm_text(row->description));
	if (report->is_over_tasks)
		put_spread(output, item, row->spread);
	gn_puts(output, "\r\n");
}

static void put_event(struct gn_atomic_file *output, const struct hpm_report *report,
		      const hpm_data_item *item, const hpm_event_info *event)
{
	double value = hpm_value(event);
	int is_count = isfinite(value) && !item->is_rusage;
	const struct row row = {
		.kind = item->is_rusage ? "usage" : "event",
		.name = event->name,
		.value = value,
		.unit = event->unit,
		.how = is_count ? hpm_how_name(event->how) : "",
		.modes = is_count ? hpm_modes_name(event->modes) : "",
		.enabled_s = is_count ? event->enabled_s : NAN,
		.running_s = is_count ? event->running_s : NAN,
		.reason = event->reason,
		.description = event->description,
		.spread = is_count || item->is_rusage ? event->spread : NULL,
	};

	put_row(output, report, item, &row);
}

static void put_times(struct gn_atomic_file *output, const struct hpm_report *report,
		      const hpm_data_item *item)
{
	for (int i = 0; i < HPM_NTIM; i++) {
		const struct row row = {
			.kind = "time",
			.name = hpm_time_names[i],
			.value = item->times[i],
			.unit = "s",
			.enabled_s = NAN,
			.running_s = NAN,
			.spread = item->times_spread ? &item->times_spread[i] : NULL,
		};

		if (isfinite(item->times[i]))
			put_row(output, report, item, &row);
	}
}

void hpm_csv_write(struct gn_atomic_file *output, const struct hpm_report *report)
{
	gn_puts(output, columns);
	gn_puts(output, report->is_over_tasks ? spread_columns : "");
	gn_puts(output, "\r\n");
	for (int i = 0; i < report->n; i++) {
		const hpm_data_item *item = &report->items[i];
		struct hpm_metric *metrics = NULL;
		int n = item->is_rusage ? 0 : hpm_report_metrics(output, report, item, &metrics);

		if (!item->is_rusage)
			put_times(output, report, item);
		for (int k = 0; k < item->num_data; k++)
			put_event(output, report, item, &item->data[k]);
		for (int k = 0; k < n; k++) {
			const struct row row = {
				.kind = "metric",
				.name = metrics[k].name,
				.value = metrics[k].value,
				.unit = metrics[k].unit,
				.how = hpm_how_name(metrics[k].how),
				.modes = hpm_modes_name(metrics[k].modes),
				.enabled_s = NAN,
				.running_s = NAN,
				.formula = metrics[k].formula,
				.description = metrics[k].description,
			};

			put_row(output, report, item, &row);
		}
		hpm_metrics_free(metrics, n);
		free(metrics);
	}
}
