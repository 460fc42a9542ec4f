#include "send_matrix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "routine_sums.h"
#include "settings.h"

#define NAME "send_bytes.matrix"

static int open_matrix(int flags)
{
	char path[PATH_MAX];
	int fd = -1;

	if (gn_trace_path(NAME, path, sizeof(path)))
		errno = ENAMETOOLONG;
	else
		fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
	if (fd < 0)
		gn_trace_say(NAME " is not written: %s; name another folder with TRACE_DIR, which "
				  "all ranks have",
			     strerror(errno));
	return fd;
}

int gn_trace_matrix_begin(int32_t n_ranks)
{
	int fd, failed;

	if (n_ranks > GN_TRACE_MATRIX_RANKS) {
		gn_trace_say(NAME
			     " is not written: %d ranks are more than %d; the run has what was "
			     "sent as a table: gnomon run",
			     n_ranks, GN_TRACE_MATRIX_RANKS);
		return -1;
	}
	fd = open_matrix(O_CREAT | O_TRUNC);
	if (fd < 0)
		return -1;
	failed = ftruncate(fd, (off_t)n_ranks * n_ranks * (off_t)sizeof(double));
	if (failed)
		gn_trace_say(NAME " is not written: %s; make room on the disk", strerror(errno));
	close(fd);
	return failed;
}

void gn_trace_matrix_write_row(int32_t rank, int32_t n_ranks)
{
	const size_t size = (size_t)n_ranks * sizeof(double);
	double *row = calloc((size_t)n_ranks, sizeof(*row));
	const int fd = row ? open_matrix(0) : -1;
	size_t done = 0;

	if (fd >= 0)
		gn_trace_sent(row, n_ranks);
	while (fd >= 0 && done < size) {
		const ssize_t n = pwrite(fd, (const char *)row + done, size - done,
					 (off_t)rank * (off_t)size + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			gn_trace_say(NAME " has no row of rank %d: %s; make room on the disk", rank,
				     strerror(errno));
			break;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	free(row);
}
