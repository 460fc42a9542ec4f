/*
 * Whether memory that an aggregator names is there. The kernel is asked to copy it one byte of each
 * page: it answers EFAULT where we would crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "item_codec.h"

struct check {
	int pipe[2];
	size_t page;
	char *why;
	int item; /* that is looked at */
	int failed;
};

static void report_invalid(struct check *check, int error, const char *what, long long n)
{
	if (check->failed)
		return;
	check->failed = error;
	if (error == EOVERFLOW)
		snprintf(check->why, 256, "item %d: %s is %lld, which is impossible", check->item,
			 what, n);
	else
		snprintf(check->why, 256, "item %d: %s is not readable memory", check->item, what);
}

/* Whether one byte is there, and so its page. */
static int is_readable(struct check *check, const char *from)
{
	char copy;
	struct iovec to = {&copy, 1}, of = {(void *)(uintptr_t)from, 1};
	ssize_t bytes = process_vm_readv(getpid(), &to, 1, &of, 1, 0);

	if (bytes == 1 || errno == EFAULT)
		return bytes == 1;
	/* Some sandboxes forbid that. */
	do
		bytes = write(check->pipe[1], from, 1);
	while (bytes < 0 && errno == EINTR);
	return bytes == 1 && read(check->pipe[0], &copy, 1) == 1;
}

static size_t to_page_end(const struct check *check, const char *from)
{
	return check->page - ((uintptr_t)from & (check->page - 1));
}

static void check_bytes(struct check *check, const void *memory, size_t size, const char *what)
{
	const char *from = memory;

	while (!check->failed && size) {
		size_t piece = to_page_end(check, from);

		if (!from || !is_readable(check, from)) {
			report_invalid(check, EFAULT, what, 0);
			return;
		}
		if (piece > size)
			piece = size;
		from += piece;
		size -= piece;
	}
}

static void check_string(struct check *check, const char *text, const char *what)
{
	const char *from = text;
	size_t left = HPM_ITEMS_STRING_MAX;

	while (!check->failed && text) {
		size_t piece = to_page_end(check, from);

		if (piece > left)
			piece = left;
		if (!piece) {
			report_invalid(check, EOVERFLOW, what, HPM_ITEMS_STRING_MAX);
			return;
		}
		if (!is_readable(check, from)) {
			report_invalid(check, EFAULT, what, 0);
			return;
		}
		if (strnlen(from, piece) < piece)
			return;
		from += piece;
		left -= piece;
	}
}

static void check_number(struct check *check, long long n, long long least, long long most,
			 const char *what)
{
	if (n < least || n > most)
		report_invalid(check, EOVERFLOW, what, n);
}

static void check_spreads(struct check *check, const hpm_spread *spread, int n)
{
	if (!spread || check->failed)
		return;
	check_bytes(check, spread, (size_t)n * sizeof(*spread), "a spread");
	for (int i = 0; !check->failed && i < n; i++) {
		check_number(check, spread[i].n, 0, INT32_MAX, "a spread's number of tasks");
		check_number(check, spread[i].min_task, -1, INT32_MAX, "the task of a minimum");
		check_number(check, spread[i].max_task, -1, INT32_MAX, "the task of a maximum");
		check_number(check, spread[i].n_bins, 0, HPM_ITEMS_BINS_MAX, "the number of bins");
		if (!check->failed)
			check_bytes(check, spread[i].bins,
				    (size_t)spread[i].n_bins * sizeof(*spread[i].bins), "bins");
	}
}

static void check_event(struct check *check, const hpm_event_info *event)
{
	check_string(check, event->name, "an event's name");
	check_string(check, event->component, "an event's component");
	check_string(check, event->unit, "an event's unit");
	check_string(check, event->description, "an event's description");
	check_string(check, event->reason, "an event's reason");
	check_number(check, event->how, HPM_UNAVAILABLE, HPM_ESTIMATED, "how a value was obtained");
	check_number(check, event->modes, 0, HPM_MODE_ALL, "an event's modes");
	check_number(check, event->flags, 0, INT32_MAX, "an event's flags");
	check_spreads(check, event->spread, 1);
}

static void check_item(struct check *check, const hpm_data_item *item)
{
	check_number(check, item->num_data, 0, HPM_ITEMS_DATA_MAX, "num_data");
	if (check->failed)
		return;
	check_bytes(check, item->data, (size_t)item->num_data * sizeof(*item->data), "data");
	for (int i = 0; !check->failed && i < item->num_data; i++)
		check_event(check, &item->data[i]);
	check_number(check, item->mpi_task_id, -1, INT32_MAX, "mpi_task_id");
	check_number(check, item->count, 0, INT32_MAX, "count");
	check_number(check, item->n_tasks, 0, INT32_MAX, "n_tasks");
	check_string(check, item->description, "description");
	check_string(check, item->xml_descr, "xml_descr");
	check_string(check, item->label, "label");
	check_string(check, item->group, "group");
	check_string(check, item->file, "file");
	check_string(check, item->parent_label, "parent_label");
	check_string(check, item->tasks, "tasks");
	check_spreads(check, item->times_spread, HPM_NTIM);
}

int hpm_items_check(int n, hpm_event_vector items, char why[256])
{
	struct check check = {.why = why, .page = (size_t)sysconf(_SC_PAGESIZE)};

	*why = 0;
	if (n < 0 || n > HPM_ITEMS_MAX) {
		snprintf(why, 256, "num_out is %d, which is impossible", n);
		return EOVERFLOW;
	}
	/* Without descriptors nothing can be found out: believe it. */
	if (pipe2(check.pipe, O_CLOEXEC))
		return 0;
	check_bytes(&check, items, (size_t)n * sizeof(*items), "out");
	if (check.failed)
		snprintf(why, 256, "out (%d items) is not readable memory", n);
	for (int i = 0; !check.failed && i < n; i++) {
		check.item = i;
		check_item(&check, &items[i]);
	}
	close(check.pipe[0]);
	close(check.pipe[1]);
	return check.failed;
}
