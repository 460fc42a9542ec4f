#include "module_exposure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file_calls.h"
#include "io_process.h"
#include "module_calls.h"
#include "module_process.h"
#include "system_calls.h"

/* --- what the kernel alone has from now on ---------------------------------------------------- */

void gn_io_expose(int fd)
{
	struct gn_io_work work;

	if (!gn_mio_file_is_at(fd))
		return;
	gn_io_work_begin(&work);
	if (!gn_io_is_child())
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

	if (!gn_mio_has_files() || first > last || first > INT_MAX || gn_io_is_child() ||
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

	if (!gn_mio_file_is_at(fd) || gn_io_is_child())
		return 0;
	file = gn_mio_file_lock(fd, &error);
	if (!file)
		return 0;
	gn_io_own_begin();
	gn_mio_file_settle(file);
	gn_io_own_end();
	gn_io_module_unlock(file, fd);
	return 1;
}

void gn_io_resume(int fd)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return;
	gn_mio_file_resume(file);
	gn_io_module_unlock(file, fd);
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
	if (!gn_io_is_child())
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
	gn_io_module_unlock(file, fd);
}

void gn_io_duplicating(int fd, int other)
{
	struct gn_io_work work;

	if (!gn_mio_file_is_at(fd) && !gn_mio_file_is_at(other))
		return;
	gn_io_work_begin(&work);
	if (gn_io_is_child())
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

	if (duplicate < 0 || duplicate == fd || !gn_mio_file_is_at(fd) || gn_io_is_child())
		return;
	gn_io_work_begin(&work);
	file = gn_mio_file_lock(fd, &error);
	if (file) {
		gn_mio_file_add_descriptor(file, duplicate);
		gn_io_module_unlock(file, fd);
	}
	gn_io_work_end(&work);
}
