/* The functions of MIO_user.h that are of one file; docs/io/mio-reference.md tells of each. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "api_life.h"
#include "file_calls.h"
#include "gnomon/MIO_user.h"
#include "result.h"
#include "system_calls.h"

/* --- opening and closing ---------------------------------------------------------------------- */

static int read_extra(struct gn_mio_request *request, const struct mio_extra *extra)
{
	/* Both kinds begin alike. */
	const struct mio_extra_old *old = (const struct mio_extra_old *)extra;

	if (!extra)
		return 0;
	if (extra->cookie != MIO_EXTRA_COOKIE && extra->cookie != MIO_EXTRA_COOKIE_OLD)
		return -EINVAL;
	request->file.taskid = old->taskid;
	request->file.bufsiz = old->bufsiz;
	request->file.logical_name = old->logical_name;
	request->modules = old->modules;
	if (extra->cookie == MIO_EXTRA_COOKIE) {
		request->skips_files = extra->flags & MIO_EXTRA_SKIP_MIO_FILES_FLAG;
		request->skips_defaults = extra->flags & MIO_EXTRA_SKIP_MIO_DEFAULTS_FLAG;
		request->is_plain = extra->flags & MIO_EXTRA_OPEN_FOR_UNLINK;
	}
	return 0;
}

static int open_file(const char *path, int flags, int mode, const struct mio_extra *extra)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct gn_mio_request request = {
		.file = {.path = path, .flags = flags, .mode = (mode_t)mode}};
	const bool is_scratch = extra && extra->cookie == MIO_EXTRA_COOKIE &&
				(unsigned int)extra->flags & MIO_EXTRA_FLAG_SCRATCH;
	struct stat status;
	int result;

	if (!path)
		return -EFAULT;
	result = read_extra(&request, extra);
	if (result)
		return result;
	pthread_once(&once, gn_mio_api_begin);
	if (gn_mio_has_files() && !stat(path, &status))
		gn_mio_file_flush_peers(&status, false);
	return gn_mio_file_open(&request, is_scratch);
}

int MIO_open64(const char *path, int flags, int mode, struct mio_extra *extra)
{
	const int fd = open_file(path, flags, mode, extra);

	if (extra && extra->cookie == MIO_EXTRA_COOKIE)
		extra->extra_errno = fd < 0 ? -fd : 0;
	return (int)gn_mio_returned(fd);
}

int MIO_close(int fd)
{
	int result;

	return gn_mio_file_close(fd, &result) ? (int)gn_mio_returned(result) : close(fd);
}

/* --- reading and writing ---------------------------------------------------------------------- */

ssize_t MIO_read_wide(int fd, void *to, size_t bytes)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	ssize_t result;

	if (!file)
		return error ? gn_mio_returned(-error) : read(fd, to, bytes);
	result = gn_mio_file_read(file, to, bytes);
	gn_mio_file_unlock(file);
	return gn_mio_returned(result);
}

ssize_t MIO_write_wide(int fd, const void *from, size_t bytes)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	ssize_t result;

	if (!file)
		return error ? gn_mio_returned(-error) : write(fd, from, bytes);
	result = gn_mio_file_write(file, from, bytes);
	gn_mio_file_unlock(file);
	return gn_mio_returned(result);
}

int MIO_read(int fd, void *to, int bytes)
{
	return bytes < 0 ? (int)gn_mio_returned(-EINVAL)
			 : (int)MIO_read_wide(fd, to, (size_t)bytes);
}

int MIO_write(int fd, const void *from, int bytes)
{
	return bytes < 0 ? (int)gn_mio_returned(-EINVAL)
			 : (int)MIO_write_wide(fd, from, (size_t)bytes);
}

/* --- position, size, state -------------------------------------------------------------------- */

int64 MIO_lseek64(int fd, int64 offset, int whence)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int64_t result;

	if (!file)
		return error ? gn_mio_returned(-error) : lseek(fd, offset, whence);
	result = gn_mio_file_seek(file, offset, whence);
	gn_mio_file_unlock(file);
	return gn_mio_returned(result);
}

int MIO_ftruncate64(int fd, int64 bytes)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int result;

	if (!file)
		return error ? (int)gn_mio_returned(-error) : ftruncate(fd, bytes);
	result = gn_mio_file_truncate(file, bytes);
	gn_mio_file_unlock(file);
	return (int)gn_mio_returned(result);
}

int MIO_fstat64(int fd, MIO_STRUCT_STAT *status)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int result;

	if (!file)
		return error ? (int)gn_mio_returned(-error) : fstat(fd, (struct stat *)status);
	result = gn_mio_file_status(file, (struct stat *)status);
	gn_mio_file_unlock(file);
	return (int)gn_mio_returned(result);
}

int MIO_fsync(int fd)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int result;

	if (!file)
		return error ? (int)gn_mio_returned(-error) : fsync(fd);
	result = gn_mio_file_sync(file, false);
	gn_mio_file_unlock(file);
	return (int)gn_mio_returned(result);
}

/* --- fcntl ------------------------------------------------------------------------------------ */

int MIO_fcntl(int fd, int command, int *argument)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int result;

	if (!file)
		return error ? (int)gn_mio_returned(-error) : fcntl(fd, command, argument);
	result = gn_mio_file_control(file, command, argument);
	gn_mio_file_unlock(file);
	return (int)gn_mio_returned(result);
}

/* --- ffinfo ----------------------------------------------------------------------------------- */

/* Bytes of a request at most, as the kernel has it (MAX_RW_COUNT). */
#define REQUEST_BYTES_MAX 0x7ffff000u
/* Of direct I/O, where the kernel does not tell: right for every disk. */
#define ALIGNMENT_USUAL 4096u

int MIO_ffinfo(int fd, int command, struct diocapbuf *buffer, int bytes)
{
	uint64_t memory = ALIGNMENT_USUAL, offset = ALIGNMENT_USUAL;

	if (command != FI_DIOCAP || bytes < (int)sizeof(*buffer))
		return (int)gn_mio_returned(-EINVAL);
	if (!buffer)
		return (int)gn_mio_returned(-EFAULT);
	if (fcntl(fd, F_GETFD) < 0)
		return -1;
#ifdef STATX_DIOALIGN
	{
		struct statx status;

		if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) &&
		    status.stx_mask & STATX_DIOALIGN && status.stx_dio_offset_align) {
			memory = status.stx_dio_mem_align;
			offset = status.stx_dio_offset_align;
		}
	}
#endif
	*buffer = (struct diocapbuf){.dio_offset = offset,
				     .dio_max = REQUEST_BYTES_MAX / offset * offset,
				     .dio_min = offset,
				     .dio_align = memory};
	return 0;
}
