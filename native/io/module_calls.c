#include "module_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "file_calls.h"
#include "io_process.h"
#include "memory_probe.h"
#include "own_calls.h"
#include "process_life.h"
#include "result.h"
#include "system_calls.h"

/* Files that are kept in mind; after more all count as mapped. */
#define MAPPED_MOST 1024u
/* Of a request's memory so many pages are looked at. */
#define PAGES_ASKED 64u

int gn_io_has_modules;

/* Whose files these are. A child of vfork(2) has the same memory and another number. */
static pid_t owner;
static _Atomic pid_t child; /* the last that changed descriptors; 0: its parent did since */

/* --- the process ------------------------------------------------------------------------------ */

static pid_t here(void)
{
	return (pid_t)syscall(SYS_getpid);
}

static void in_child(void)
{
	owner = here();
}

static __attribute__((constructor)) void begin(void)
{
	const char *files = getenv("MIO_FILES");
	struct gn_io_work work;

	if (!files || !*files)
		return;
	gn_io_work_begin(&work);
	if (gn_mio_settings()->files.n) {
		owner = here();
		gn_mio_files_begin();
		pthread_atfork(NULL, NULL, in_child);
		gn_io_has_modules = 1;
	}
	gn_io_work_end(&work);
}

static void end(void)
{
	struct gn_io_work work;

	gn_io_work_begin(&work);
	gn_mio_process_end();
	gn_io_work_end(&work);
}

static __attribute__((destructor)) void end_at_exit(void)
{
	gn_io_module_exit();
}

void gn_io_module_exit(void)
{
	if (gn_io_has_modules && here() == owner)
		end();
}

/*
 * What such a child changes is in a table of its own, the files are its parent's. They are shown
 * once, before the first change: later their descriptors may be others here.
 */
static int is_child(void)
{
	const pid_t pid = here();

	if (pid == owner) {
		atomic_store(&child, 0);
		return 0;
	}
	if (atomic_exchange(&child, pid) != pid)
		gn_mio_files_show(0);
	return 1;
}

/* Whether it has changed descriptors: those of its parent's files may be other ones there. */
static int is_changed_child(void)
{
	return __builtin_expect(atomic_load_explicit(&child, memory_order_relaxed) != 0, 0) &&
	       is_child();
}

void gn_io_module_spawn(int gets_all)
{
	struct gn_io_work work;

	if (!gn_mio_has_files())
		return;
	gn_io_work_begin(&work);
	if (!is_child())
		gn_mio_files_show(gets_all);
	gn_io_work_end(&work);
}

void gn_io_module_execute(const char *path)
{
	if (gn_io_has_modules && !is_child() &&
	    (!path || !strchr(path, '/') || !syscall(SYS_faccessat, AT_FDCWD, path, X_OK)))
		end();
}

/* --- calls of a file -------------------------------------------------------------------------- */

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

static void unlock(struct gn_mio_file *file, int fd)
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
		if (is_changed_child())                                                            \
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
		unlock(file, fd);                                                                  \
		return 1;                                                                          \
	} while (0)

/*
 * Whether layers may have a request of so many bytes. That for none is the kernel's, and whether
 * there is memory at the address is asked: layers copy, and a fault of theirs would be a signal
 * where the kernel returns EFAULT. What was there lately is not asked for again. Large requests,
 * which layers pass on as they are, are the kernel's to refuse.
 */
static int may_copy(int fd, const void *memory, size_t bytes)
{
	static __thread struct gn_probe probe __attribute__((tls_model("initial-exec")));
	const uintptr_t first = (uintptr_t)memory >> GN_PROBE_PAGE_BITS;
	const uintptr_t last = ((uintptr_t)memory + bytes - 1) >> GN_PROBE_PAGE_BITS;

	if (!gn_mio_file_is_at(fd) || !bytes || last < first)
		return 0;
	for (uintptr_t page = first; page <= last && page - first < PAGES_ASKED; page++)
		if (!gn_probe_page(&probe, page))
			return 0;
	return 1;
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
	if (!may_copy(fd, to, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_read(file, to, bytes),
		  return read_late(fd, to, bytes, result));
}

int gn_io_module_write(int fd, const void *from, size_t bytes, ssize_t *result)
{
	if (!may_copy(fd, from, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_write(file, from, bytes),
		  return write_late(fd, from, bytes, result));
}

int gn_io_module_read_at(int fd, void *to, size_t bytes, int64_t offset, ssize_t *result)
{
	if (!may_copy(fd, to, bytes))
		return 0;
	WITH_FILE(fd, result, ssize_t, gn_mio_file_read_at(file, to, bytes, offset), return 0);
}

int gn_io_module_write_at(int fd, const void *from, size_t bytes, int64_t offset, ssize_t *result)
{
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
	WITH_FILE(fd, result, int, gn_mio_file_sync(file, data_only), return 0);
}

int gn_io_module_control(int fd, int command, void *argument, int *result)
{
	const int duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;

	if ((!duplicates && command != F_SETFL) || !gn_mio_file_is_at(fd) || is_child())
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
	if (!is_vector(fd, vector, n))
		return 0;
	WITH_FILE(fd, result, ssize_t, move_vector(file, vector, n, offset, read_piece), return 0);
}

int gn_io_module_write_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			      ssize_t *result)
{
	if (!is_vector(fd, vector, n) || gn_mio_file_of(fd)->is_append)
		return 0;
	WITH_FILE(fd, result, ssize_t, move_vector(file, vector, n, offset, write_piece), return 0);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int is_pseudo(int directory, const char *path)
{
	static const unsigned int kinds[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	      DEBUGFS_MAGIC,
		TRACEFS_MAGIC,	  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC, BPF_FS_MAGIC,	      SELINUX_MAGIC};
	const int fd = (int)syscall(SYS_openat, directory, path, O_PATH | O_CLOEXEC);
	struct statfs status;
	int result = 0;

	if (fd < 0)
		return 0;
	if (!syscall(SYS_fstatfs, fd, &status))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			result |= (unsigned int)status.f_type == kinds[i];
	gn_mio_system_close(fd);
	return result;
}

/* Whether it is a regular file, or made now. What others hold of it is the system's from now on. */
static int is_candidate(int directory, const char *path, int flags)
{
	struct gn_io_work work;
	struct stat status;

	if (syscall(SYS_newfstatat, directory, path, &status, 0))
		return errno == ENOENT && flags & O_CREAT;
	if (gn_mio_has_files()) {
		gn_io_work_begin(&work);
		gn_mio_file_flush_peers(&status, 1);
		gn_io_work_end(&work);
	}
	return S_ISREG(status.st_mode) && !(flags & (O_PATH | O_DIRECTORY)) &&
	       (flags & O_TMPFILE) != O_TMPFILE;
}

/* Seen from another directory its name is another one to every layer. */
static int may_have_layers(int directory, const char *path, int flags)
{
	const char *name_template;

	return is_candidate(directory, path, flags) && (directory == AT_FDCWD || *path == '/') &&
	       gn_mio_files_match(&gn_mio_settings()->files, path, &name_template) && !is_child() &&
	       !is_pseudo(directory, path);
}

/* --- files that the kernel alone serves, too -------------------------------------------------- */

/* Files that were mapped: a mapping stays when descriptors are closed. */
static struct {
	_Atomic uint32_t n;
	struct {
		dev_t device;
		ino_t inode;
	} file[MAPPED_MOST];
} mapped;

static int was_mapped(const struct stat *status)
{
	const uint32_t n = mapped.n < MAPPED_MOST ? mapped.n : MAPPED_MOST;

	if (mapped.n > MAPPED_MOST)
		return 1;
	for (uint32_t i = 0; i < n; i++)
		if (mapped.file[i].inode == status->st_ino &&
		    mapped.file[i].device == status->st_dev)
			return 1;
	return 0;
}

void gn_io_mapping(int fd)
{
	struct stat status;
	uint32_t i;

	gn_io_expose(fd);
	if (fd < 0 || gn_mio_system_status(fd, &status) || was_mapped(&status))
		return;
	i = atomic_fetch_add(&mapped.n, 1);
	if (i >= MAPPED_MOST)
		return;
	mapped.file[i].inode = status.st_ino;
	mapped.file[i].device = status.st_dev;
}

/* Whether the process has another descriptor of the file that no layer knows of: of a stream. */
static int is_open_elsewhere(int folder, const struct stat *status)
{
	_Alignas(8) char entries[4096];
	long n;

	while ((n = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			const int fd = atoi(entry->d_name);
			struct stat other;

			at += entry->d_reclen;
			if (entry->d_name[0] != '.' && !gn_mio_file_is_at(fd) &&
			    !gn_mio_system_status(fd, &other) && other.st_ino == status->st_ino &&
			    other.st_dev == status->st_dev)
				return 1;
		}
	return 0;
}

static void meet_others(int fd)
{
	struct stat status;
	int folder;

	if (gn_mio_system_status(fd, &status))
		return;
	folder = gn_mio_system_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	/* Without an answer it is taken for open. */
	if (folder < 0 || was_mapped(&status) || is_open_elsewhere(folder, &status))
		gn_mio_file_flush_peers(&status, 1);
	if (folder >= 0)
		gn_mio_system_close(folder);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int open_file(const char *path, int flags, mode_t mode)
{
	const struct gn_mio_request request = {
		.file = {.path = path, .flags = flags, .mode = mode}};
	const int fd = gn_mio_file_open(&request, 0);

	if (fd >= 0)
		meet_others(fd);
	return fd;
}

int gn_io_module_open(int directory, const char *path, int flags, mode_t mode, int *result)
{
	const int before = errno;
	const int has_layers = path && may_have_layers(directory, path, flags);
	struct gn_io_work work;

	errno = before;
	if (!has_layers)
		return 0;
	gn_io_work_begin(&work);
	*result = open_file(path, flags, mode);
	if (gn_totals_header())
		gn_totals_header()->flags |= GN_TOTALS_HAS_MODULES;
	gn_io_work_end(&work);
	*result = (int)gn_mio_returned(*result);
	return 1;
}

int gn_io_module_close(int fd, int *result)
{
	struct gn_io_work work;
	int is_closed;

	if (!gn_mio_file_is_at(fd) || is_child())
		return 0;
	gn_io_work_begin(&work);
	is_closed = gn_mio_file_close(fd, result);
	gn_io_work_end(&work);
	/* Over a call of the same file: the kernel closes it. */
	if (!is_closed || *result == -EDEADLK)
		return 0;
	*result = (int)gn_mio_returned(*result);
	return 1;
}

void gn_io_expose(int fd)
{
	struct gn_io_work work;

	if (!gn_mio_file_is_at(fd))
		return;
	gn_io_work_begin(&work);
	if (!is_child())
		gn_mio_file_detach(fd);
	gn_io_work_end(&work);
}

void gn_io_expose_stream(FILE *stream)
{
	const int before = errno;

	if (stream && gn_mio_has_files())
		gn_io_expose(fileno_unlocked(stream));
	errno = before;
}

void gn_io_expose_list(struct aiocb *const list[], int n)
{
	for (int i = 0; i < n; i++)
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)
			gn_io_expose(list[i]->aio_fildes);
}

void gn_io_expose_range(unsigned int first, unsigned int last, int flags)
{
	struct gn_io_work work;

	if (!gn_mio_has_files() || first > last || first > INT_MAX || is_child() ||
	    flags & (int)CLOSE_RANGE_CLOEXEC)
		return;
	for (int fd = gn_mio_file_next((int)first); fd >= 0 && (unsigned int)fd <= last;
	     fd = gn_mio_file_next(fd + 1)) {
		gn_io_work_begin(&work);
		gn_mio_file_drop(fd);
		gn_io_work_end(&work);
	}
}

/* --- calls around which the kernel knows all -------------------------------------------------- */

int gn_io_settle(int fd)
{
	int error;
	struct gn_mio_file *file;

	if (!gn_mio_file_is_at(fd) || is_child())
		return 0;
	file = gn_mio_file_lock(fd, &error);
	if (!file)
		return 0;
	gn_io_own_begin();
	gn_mio_file_settle(file);
	gn_io_own_end();
	unlock(file, fd);
	return 1;
}

void gn_io_resume(int fd)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return;
	gn_mio_file_resume(file);
	unlock(file, fd);
}

static void settle_file(struct gn_mio_file *file, void *context)
{
	(void)context;
	gn_mio_file_settle(file);
}

static void resume_file(struct gn_mio_file *file, void *context)
{
	(void)context;
	gn_mio_file_resume(file);
}

static void for_all(void (*call)(struct gn_mio_file *file, void *context))
{
	struct gn_io_work work;

	if (!gn_mio_has_files())
		return;
	gn_io_work_begin(&work);
	if (!is_child())
		gn_mio_files_for_each(call, NULL);
	gn_io_work_end(&work);
}

void gn_io_flushing_stream(FILE *stream)
{
	if (stream)
		gn_io_expose_stream(stream);
	else
		for_all(settle_file);
}

void gn_io_flushed_stream(FILE *stream)
{
	if (!stream)
		for_all(resume_file);
}

void gn_io_show(int directory, const char *path, int is_changed)
{
	const int before = errno;
	struct gn_io_work work;
	struct stat status;

	if (!gn_mio_has_files() || !path)
		return;
	if (!syscall(SYS_newfstatat, directory, path, &status, AT_EMPTY_PATH)) {
		gn_io_work_begin(&work);
		gn_mio_file_flush_peers(&status, is_changed);
		gn_io_work_end(&work);
	}
	errno = before;
}

void gn_io_show_all(void)
{
	struct gn_io_work work;

	if (!gn_mio_has_files())
		return;
	gn_io_work_begin(&work);
	gn_mio_files_flush();
	gn_io_work_end(&work);
}

/* --- duplicates ------------------------------------------------------------------------------- */

/* In a child of vfork(2) that is what the program has which is executed then. */
static void hand_over(int fd)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return;
	gn_mio_file_hand_over(file);
	unlock(file, fd);
}

void gn_io_duplicating(int fd, int other)
{
	struct gn_io_work work;

	if (!gn_mio_file_is_at(fd) && !gn_mio_file_is_at(other))
		return;
	gn_io_work_begin(&work);
	if (is_child())
		hand_over(fd);
	else if (other >= 0 && other != fd && gn_mio_system_control(fd, F_GETFD, NULL) >= 0)
		gn_mio_file_drop(other);
	gn_io_work_end(&work);
}

void gn_io_module_duplicated(int fd, int duplicate)
{
	int error;
	struct gn_io_work work;
	struct gn_mio_file *file;

	if (duplicate < 0 || duplicate == fd || !gn_mio_file_is_at(fd) || is_child())
		return;
	gn_io_work_begin(&work);
	file = gn_mio_file_lock(fd, &error);
	if (file) {
		gn_mio_file_add_descriptor(file, duplicate);
		unlock(file, fd);
	}
	gn_io_work_end(&work);
}
