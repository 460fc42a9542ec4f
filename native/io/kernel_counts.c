#include "kernel_counts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "own_calls.h"
#include "totals_file.h"

static struct gn_totals_chunk chunk;

/* The number behind a name in lines "name: number"; 0: it is not there. */
static uint64_t number_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* 0, or -1. */
static int read_counts(const char *path, char *text, size_t size)
{
	const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = gn_read(fd, text, size - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	return 0;
}

static void read_record(struct gn_process_io_record *record)
{
	struct rusage usage;
	char text[512];

	if (!read_counts("/proc/thread-self/io", text, sizeof(text))) {
		record->thread_read_bytes = number_of(text, "rchar:");
		record->thread_written_bytes = number_of(text, "wchar:");
	}
	if (!read_counts("/proc/self/io", text, sizeof(text))) {
		record->read_bytes = number_of(text, "rchar:");
		record->written_bytes = number_of(text, "wchar:");
		record->device_read_bytes = number_of(text, "\nread_bytes:");
		record->device_written_bytes = number_of(text, "\nwrite_bytes:");
	}
	if (!getrusage(RUSAGE_SELF, &usage))
		record->major_faults = (uint64_t)usage.ru_majflt;
}

static void add(uint16_t is_last, int is_new)
{
	struct gn_process_io_record record = {
		.is_last = is_last,
		.parent = (uint32_t)syscall(SYS_getppid),
	};

	if (!is_new)
		read_record(&record);
	gn_totals_add(&chunk, GN_TOTALS_PROCESS_IO, &record, sizeof(record));
}

void gn_io_count_begin(int is_forked)
{
	memset(&chunk, 0, sizeof(chunk));
	add(0, is_forked);
}

void gn_io_count_end(void)
{
	add(1, 0);
}
