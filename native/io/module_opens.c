#include "module_opens.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file_calls.h"
#include "io_process.h"
#include "module_exposure.h"
#include "module_process.h"
#include "result.h"
#include "scratch_memory.h"
#include "system_calls.h"

/* Files that are kept in mind; after more all count as mapped. */
#define MAPPED_MOST 1024u

/* --- which files ------------------------------------------------------------------------------ */

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
	       gn_mio_files_match(&gn_mio_settings()->files, path, &name_template) &&
	       !gn_io_is_child() && !is_pseudo(directory, path);
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
static int is_open_elsewhere(int folder, const struct stat *status, char *entries)
{
	long n;

	while ((n = syscall(SYS_getdents64, folder, entries, GN_SCRATCH_BYTES)) > 0)
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
	char *entries;
	struct stat status;
	int folder;

	if (gn_mio_system_status(fd, &status))
		return;
	entries = gn_scratch_take();
	folder = gn_mio_system_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	/* Without an answer it is taken for open. */
	if (folder < 0 || !entries || was_mapped(&status) ||
	    is_open_elsewhere(folder, &status, entries))
		gn_mio_file_flush_peers(&status, 1);
	if (folder >= 0)
		gn_mio_system_close(folder);
	gn_scratch_give(entries);
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

	if (!gn_mio_file_is_at(fd) || gn_io_is_child())
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
