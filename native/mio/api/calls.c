/* The functions of MIO_user.h that are of one file; docs/io/mio-reference.md tells of each. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "files_state.h"
#include "gnomon/MIO_user.h"
#include "mio_settings.h"
#include "open_files.h"
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
	struct gn_mio_stack *stack;
	int fd, result;

	if (!path)
		return -EFAULT;
	result = read_extra(&request, extra);
	if (result)
		return result;
	pthread_once(&once, gn_mio_files_begin);
	gn_mio_file_flush_peers(path);
	result = gn_mio_request_open(&stack, &request);
	if (result)
		return result;
	fd = gn_mio_stack_descriptor(stack);
	result = gn_mio_file_add(stack, is_scratch);
	return result ? result : fd;
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

static ssize_t read_file(struct gn_mio_file *file, void *to, size_t bytes)
{
	ssize_t result = gn_mio_file_find_position(file);

	if (result)
		return result;
	/* What the other open of the file wrote since. */
	if (file->has_peer)
		gn_mio_stack_drop(file->stack);
	if (!file->has_position)
		return gn_mio_stack_read(file->stack, to, bytes, GN_MIO_NO_OFFSET);
	result = gn_mio_stack_read(file->stack, to, bytes, file->position);
	file->position += result > 0 ? result : 0;
	return result;
}

static ssize_t write_file(struct gn_mio_file *file, const void *from, size_t bytes)
{
	const bool has_offset = file->has_position && !file->is_append;
	ssize_t result = has_offset ? gn_mio_file_find_position(file) : 0;
	int flushed;

	if (result)
		return result;
	result = gn_mio_stack_write(file->stack, from, bytes,
				    has_offset ? file->position : GN_MIO_NO_OFFSET);
	if (has_offset)
		file->position += result > 0 ? result : 0;
	else if (file->has_position && result > 0)
		file->is_at_end = true;
	if (result > 0 && file->has_peer) {
		flushed = gn_mio_stack_flush(file->stack);
		result = flushed < 0 ? flushed : result;
	}
	return result;
}

ssize_t MIO_read_wide(int fd, void *to, size_t bytes)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	ssize_t result;

	if (!file)
		return error ? gn_mio_returned(-error) : read(fd, to, bytes);
	result = read_file(file, to, bytes);
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
	result = write_file(file, from, bytes);
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

/* What only the kernel can tell: of holes, of devices' ends. */
static int64_t kernel_position(struct gn_mio_file *file, int64_t offset, int whence)
{
	const int result = gn_mio_stack_flush(file->stack);

	return result ? result
		      : gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), offset, whence);
}

static int64_t new_position(struct gn_mio_file *file, int64_t offset, int whence)
{
	int64_t base = 0, target;

	if (whence != SEEK_SET && whence != SEEK_CUR)
		return kernel_position(file, offset, whence);
	if (whence == SEEK_CUR)
		base = file->position;
	if (__builtin_add_overflow(base, offset, &target))
		return -EOVERFLOW;
	return target < 0 ? -EINVAL : target;
}

static int64_t seek_file(struct gn_mio_file *file, int64_t offset, int whence)
{
	int64_t position;
	int result;

	if (!file->has_position)
		return kernel_position(file, offset, whence);
	result = gn_mio_file_find_position(file);
	if (result)
		return result;
	position = new_position(file, offset, whence);
	if (position < 0)
		return position;
	result = gn_mio_stack_seek(file->stack, file->position, position);
	if (result < 0)
		return result;
	file->position = position;
	return position;
}

int64 MIO_lseek64(int fd, int64 offset, int whence)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int64_t result;

	if (!file)
		return error ? gn_mio_returned(-error) : lseek(fd, offset, whence);
	result = seek_file(file, offset, whence);
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
	result = gn_mio_stack_flush(file->stack);
	if (!result)
		result = gn_mio_stack_truncate(file->stack, bytes);
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
	result = gn_mio_stack_flush(file->stack);
	if (!result)
		result = gn_mio_stack_status(file->stack, (struct stat *)status);
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
	result = gn_mio_stack_flush(file->stack);
	if (!result && !file->is_scratch)
		result = gn_mio_stack_sync(file->stack, false);
	gn_mio_file_unlock(file);
	return (int)gn_mio_returned(result);
}

/* --- fcntl ------------------------------------------------------------------------------------ */

static bool is_lock_command(int command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
	       command == F_OFD_SETLKW;
}

static int set_flags(struct gn_mio_file *file, void *argument)
{
	const bool is_append = (intptr_t)argument & O_APPEND;
	/* The kernel's position is where appends end; ours goes on from there. */
	int result = gn_mio_file_find_position(file);

	if (!result)
		result = gn_mio_stack_flush(file->stack);
	if (!result)
		result = gn_mio_stack_control(file->stack, F_SETFL, argument);
	if (result >= 0)
		file->is_append = is_append;
	return result;
}

static int control_file(struct gn_mio_file *file, int command, void *argument)
{
	int added, result;

	if (command == F_SETFL)
		return set_flags(file, argument);
	/* What was written under a lock is there for who gets it next. */
	result = is_lock_command(command) ? gn_mio_stack_flush(file->stack) : 0;
	if (!result)
		result = gn_mio_stack_control(file->stack, command, argument);
	if (result >= 0 && is_lock_command(command))
		gn_mio_stack_drop(file->stack);
	if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) {
		added = gn_mio_file_add_descriptor(file, result);
		if (added) {
			gn_mio_system_close(result);
			result = added;
		}
	}
	return result;
}

int MIO_fcntl(int fd, int command, int *argument)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);
	int result;

	if (!file)
		return error ? (int)gn_mio_returned(-error) : fcntl(fd, command, argument);
	result = control_file(file, command, argument);
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
