#include "module_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "file_calls.h"
#include "io_process.h"
#include "memory_probe.h"
#include "module_process.h"
#include "own_calls.h"
#include "result.h"
#include "system_calls.h"

/* Of a request's memory so many pages are looked at. */
#define PAGES_ASKED 64u

/* What a signal's handler called over a call of the same file: it is done when that has ended. */
struct late_call {
	struct late_call *next;
	size_t bytes;
	int is_read; /* which was done, but for the position */
	char written[];
};

static void add_late(struct gn_mio_file *file, const void *from, size_t bytes)
{
	struct late_call *call = gn_take_memory(sizeof(*call) + (from ? bytes : 0));
	void *next = atomic_load(&file->late);

	if (!call)
		return;
	call->bytes = bytes;
	call->is_read = !from;
	if (from)
		memcpy(call->written, from, bytes);
	do
		call->next = next;
	while (!atomic_compare_exchange_weak(&file->late, &next, call));
}

/* The first one first. */
static void do_late(struct gn_mio_file *file, struct late_call *call)
{
	if (!call)
		return;
	do_late(file, call->next);
	if (call->is_read)
		gn_mio_file_seek(file, (int64_t)call->bytes, SEEK_CUR);
	else
		gn_mio_file_write(file, call->written, call->bytes);
	gn_give_memory(call, sizeof(*call) + (call->is_read ? 0 : call->bytes));
}

void gn_io_module_unlock(struct gn_mio_file *file, int fd)
{
	int error;

	while (file) {
		if (atomic_load_explicit(&file->late, memory_order_relaxed))
			do_late(file, atomic_exchange(&file->late, NULL));
		gn_mio_file_unlock(file);
		if (!atomic_load_explicit(&file->late, memory_order_relaxed))
			return;
		file = gn_mio_file_lock(fd, &error);
	}
}

/* CALL is done with `file`, which is locked. */
#define WITH_FILE(fd, result, type, CALL, NESTED)                                                  \
	do {                                                                                       \
		int error;                                                                         \
		struct gn_mio_file *file;                                                          \
                                                                                                   \
		if (gn_io_is_changed_child())                                                      \
			return 0;                                                                  \
		file = gn_mio_file_lock(fd, &error);                                               \
		if (error) {                                                                       \
			NESTED;                                                                    \
		}                                                                                  \
		if (!file)                                                                         \
			return 0;                                                                  \
		gn_io_own_begin();                                                                 \
		*(result) = (type)gn_mio_returned(CALL);                                           \
		gn_io_own_end();                                                                   \
		gn_io_module_unlock(file, fd);                                                     \
		return 1;                                                                          \
	} while (0)

int gn_io_is_readable(const void *memory, size_t bytes)
{
	static __thread struct gn_probe probe __attribute__((tls_model("initial-exec")));
	const uintptr_t first = (uintptr_t)memory >> GN_PROBE_PAGE_BITS;
	const uintptr_t last = ((uintptr_t)memory + bytes - 1) >> GN_PROBE_PAGE_BITS;

	if (!bytes || last < first)
		return 0;
	for (uintptr_t page = first; page <= last && page - first < PAGES_ASKED; page++)
		if (!gn_probe_page(&probe, page))
			return 0;
	return 1;
}

/* Calls that move bytes are where threads are cancelled; with layers none of the C library's is
 * made. Before a lock is taken. */
static void test_cancel(int fd)
{
	if (gn_mio_file_is_at(fd))
		pthread_testcancel();
}

/*
 * Whether layers may have a request of so many bytes. That for none is the kernel's, and whether
 * there is memory at the address is asked: layers copy, and a fault of theirs would be a signal
 * where the kernel returns EFAULT. What was there lately is not asked for again. Large requests,
 * which layers pass on as they are, are the kernel's to refuse.
 */
static int may_copy(int fd, const void *memory, size_t bytes)
{
	return gn_mio_file_is_at(fd) && gn_io_is_readable(memory, bytes);
}

static int read_late(int fd, void *to, size_t bytes, ssize_t *result)
{
	struct gn_mio_file *file = gn_mio_file_of(fd);
	ssize_t got;

	if (!file)
		return 0;
	got = gn_mio_system_pread(fd, to, bytes, file->position);
	if (got > 0)
		add_late(file, NULL, (size_t)got);
	*result = (ssize_t)gn_mio_returned(got);
	return 1;
}

static int write_late(int fd, const void *from, size_t bytes, ssize_t *result)
{
	struct gn_mio_file *file = gn_mio_file_of(fd);

	if (!file)
		return 0;
	add_late(file, from, bytes);
	*result = (ssize_t)bytes;
	return 1;
}

int gn_io_module_read(int fd, void *to, size_t bytes, ssize_t *result)
{
	test_cancel(fd);
	if (!may_copy(fd, to, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_read(file, to, bytes),
		  return read_late(fd, to, bytes, result));
}

int gn_io_module_write(int fd, const void *from, size_t bytes, ssize_t *result)
{
	test_cancel(fd);
	if (!may_copy(fd, from, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_write(file, from, bytes),
		  return write_late(fd, from, bytes, result));
}

int gn_io_module_read_at(int fd, void *to, size_t bytes, int64_t offset, ssize_t *result)
{
	test_cancel(fd);
	if (!may_copy(fd, to, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_read_at(file, to, bytes, offset), return 0);
}

int gn_io_module_write_at(int fd, const void *from, size_t bytes, int64_t offset, ssize_t *result)
{
	test_cancel(fd);
	if (!may_copy(fd, from, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_write_at(file, from, bytes, offset), return 0);
}

int gn_io_module_seek(int fd, int64_t offset, int whence, off_t *result)
{
	WITH_FILE(fd, result, off_t, gn_mio_file_seek(file, offset, whence), return 0);
}

int gn_io_module_truncate(int fd, int64_t bytes, int *result)
{
	WITH_FILE(fd, result, int, gn_mio_file_truncate(file, bytes), return 0);
}

int gn_io_module_status(int fd, struct stat *status, int *result)
{
	WITH_FILE(fd, result, int, gn_mio_file_status(file, status), return 0);
}

int gn_io_module_sync(int fd, int data_only, int *result)
{
	test_cancel(fd);
	WITH_FILE(fd, result, int, gn_mio_file_sync(file, data_only), return 0);
}

int gn_io_module_control(int fd, int command, void *argument, int *result)
{
	const int duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;

	if ((!duplicates && command != F_SETFL) || !gn_mio_file_is_at(fd) || gn_io_is_child())
		return 0;
	WITH_FILE(fd, result, int, gn_mio_file_control(file, command, argument), return 0);
}

/* --- vectors ---------------------------------------------------------------------------------- */

/* Whether it may be done piece by piece: the kernel takes it as a whole, or not at all. */
static int is_vector(int fd, const struct iovec *vector, int n)
{
	const struct gn_mio_file *file = gn_mio_file_of(fd);
	uint64_t bytes = 0;

	if (!file || file->is_direct || n < 0 || n > IOV_MAX ||
	    !may_copy(fd, vector, (size_t)n * sizeof(*vector)))
		return 0;
	for (int i = 0; i < n; i++) {
		const size_t more = vector[i].iov_len;

		if (more > SSIZE_MAX - bytes || (more && !may_copy(fd, vector[i].iov_base, more)))
			return 0;
		bytes += more;
	}
	return bytes > 0;
}

static ssize_t read_piece(struct gn_mio_file *file, const struct iovec *piece, int64_t offset)
{
	return offset < 0 ? gn_mio_file_read(file, piece->iov_base, piece->iov_len)
			  : gn_mio_file_read_at(file, piece->iov_base, piece->iov_len, offset);
}

static ssize_t write_piece(struct gn_mio_file *file, const struct iovec *piece, int64_t offset)
{
	return offset < 0 ? gn_mio_file_write(file, piece->iov_base, piece->iov_len)
			  : gn_mio_file_write_at(file, piece->iov_base, piece->iov_len, offset);
}

/* Piece by piece until there is less than was asked for; an error is told if it comes first. */
static ssize_t
move_vector(struct gn_mio_file *file, const struct iovec *vector, int n, int64_t offset,
	    ssize_t (*move)(struct gn_mio_file *file, const struct iovec *piece, int64_t offset))
{
	ssize_t sum = 0;

	for (int i = 0; i < n; i++) {
		const ssize_t moved =
			move(file, &vector[i], offset < 0 ? offset : offset + (int64_t)sum);

		if (moved < 0)
			return sum ? sum : moved;
		sum += moved;
		if ((size_t)moved < vector[i].iov_len)
			break;
	}
	return sum;
}

int gn_io_module_read_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			     ssize_t *result)
{
	test_cancel(fd);
	if (!is_vector(fd, vector, n))
		return 0;
	WITH_FILE(fd, result, ssize_t, move_vector(file, vector, n, offset, read_piece), return 0);
}

int gn_io_module_write_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			      ssize_t *result)
{
	test_cancel(fd);
	if (!is_vector(fd, vector, n) || gn_mio_file_of(fd)->is_append)
		return 0;
	WITH_FILE(fd, result, ssize_t, move_vector(file, vector, n, offset, write_piece), return 0);
}
