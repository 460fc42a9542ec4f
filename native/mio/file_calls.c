#include "file_calls.h"

#include <errno.h>
#include <fcntl.h>

#include "fatal_signals.h"
#include "mio_intermediate.h"
#include "system_calls.h"

/* Bytes of a request at most, as the kernel has it (MAX_RW_COUNT). */
#define REQUEST_BYTES_MAX 0x7ffff000u

static size_t bounded(size_t bytes)
{
	return bytes < REQUEST_BYTES_MAX ? bytes : REQUEST_BYTES_MAX;
}

int gn_mio_file_open(const struct gn_mio_request *request, bool is_scratch)
{
	struct gn_mio_stack *stack;
	int fd, number, result = gn_mio_request_open(&stack, request);

	if (result)
		return result;
	fd = gn_mio_stack_descriptor(stack);
	number = gn_mio_stack_signal(stack);
	if (number)
		gn_mio_intermediate_at(number, gn_mio_files_tell);
	if (gn_mio_stack_holds_writes(stack) && (request->file.flags & O_ACCMODE) != O_RDONLY)
		gn_mio_fatal_signals_begin();
	result = gn_mio_file_add(stack, is_scratch);
	return result ? result : fd;
}

/* --- reading and writing ---------------------------------------------------------------------- */

/* What another open of the file wrote since. */
static void meet_peer(struct gn_mio_file *file)
{
	if (file->has_peer)
		gn_mio_stack_drop(file->stack);
}

static ssize_t show_peer(struct gn_mio_file *file, ssize_t result)
{
	int flushed;

	if (result <= 0 || !file->has_peer)
		return result;
	flushed = gn_mio_stack_flush(file->stack);
	return flushed < 0 ? flushed : result;
}

ssize_t gn_mio_file_read(struct gn_mio_file *file, void *to, size_t bytes)
{
	ssize_t result = gn_mio_file_find_position(file);

	if (result)
		return result;
	meet_peer(file);
	if (!file->has_position)
		return gn_mio_stack_read(file->stack, to, bounded(bytes), GN_MIO_NO_OFFSET);
	result = gn_mio_stack_read(file->stack, to, bounded(bytes), file->position);
	file->position += result > 0 ? result : 0;
	return result;
}

ssize_t gn_mio_file_write(struct gn_mio_file *file, const void *from, size_t bytes)
{
	const bool has_offset = file->has_position && !file->is_append;
	ssize_t result = has_offset ? gn_mio_file_find_position(file) : 0;

	if (result)
		return result;
	result = gn_mio_stack_write(file->stack, from, bounded(bytes),
				    has_offset ? file->position : GN_MIO_NO_OFFSET);
	if (has_offset)
		file->position += result > 0 ? result : 0;
	else if (file->has_position && result > 0)
		file->is_stale = true;
	return show_peer(file, result);
}

ssize_t gn_mio_file_read_at(struct gn_mio_file *file, void *to, size_t bytes, int64_t offset)
{
	if (offset < 0)
		return -EINVAL;
	meet_peer(file);
	return gn_mio_stack_read(file->stack, to, bounded(bytes), offset);
}

ssize_t gn_mio_file_write_at(struct gn_mio_file *file, const void *from, size_t bytes,
			     int64_t offset)
{
	ssize_t result;

	if (offset < 0)
		return -EINVAL;
	if (!file->is_append)
		return show_peer(file,
				 gn_mio_stack_write(file->stack, from, bounded(bytes), offset));
	/* At the end, as Linux has it (pwrite(2), "Bugs"), and the position stays. */
	result = gn_mio_stack_flush(file->stack);
	if (result < 0)
		return result;
	result = gn_mio_system_pwrite(gn_mio_stack_descriptor(file->stack), from, bytes, offset);
	gn_mio_stack_drop(file->stack);
	return result;
}

/* --- position, size, state -------------------------------------------------------------------- */

/* What only the kernel can tell: of holes, of devices' ends. */
static int64_t kernel_position(struct gn_mio_file *file, int64_t offset, int whence)
{
	gn_mio_stack_flush(file->stack);
	return gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), offset, whence);
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

int64_t gn_mio_file_seek(struct gn_mio_file *file, int64_t offset, int whence)
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

/* An error of what was written before waits for a call that has one to tell. */
int gn_mio_file_truncate(struct gn_mio_file *file, int64_t bytes)
{
	gn_mio_stack_flush(file->stack);
	return gn_mio_stack_truncate(file->stack, bytes);
}

int gn_mio_file_status(struct gn_mio_file *file, struct stat *status)
{
	gn_mio_stack_flush(file->stack);
	return gn_mio_stack_status(file->stack, status);
}

int gn_mio_file_sync(struct gn_mio_file *file, bool data_only)
{
	const int result = gn_mio_stack_flush(file->stack);

	return result || file->is_scratch ? result : gn_mio_stack_sync(file->stack, data_only);
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
	const bool is_direct = (intptr_t)argument & O_DIRECT;
	/* The kernel's position is where appends end; ours goes on from there. */
	int result = gn_mio_file_find_position(file);

	if (!result)
		result = gn_mio_stack_flush(file->stack);
	if (!result)
		result = gn_mio_stack_control(file->stack, F_SETFL, argument);
	if (result >= 0) {
		file->is_append = is_append;
		file->is_direct = is_direct;
	}
	return result;
}

int gn_mio_file_control(struct gn_mio_file *file, int command, void *argument)
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

/* --- calls of the system's own ---------------------------------------------------------------- */

void gn_mio_file_settle(struct gn_mio_file *file)
{
	gn_mio_stack_flush(file->stack);
	if (file->has_position && !file->is_stale)
		gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), file->position, SEEK_SET);
	/* The call moves the kernel's: a fork of another thread must not set it back meanwhile. */
	file->is_stale = file->has_position;
}

void gn_mio_file_resume(struct gn_mio_file *file)
{
	gn_mio_stack_drop(file->stack);
	/* Asked for when it is needed next. */
	file->is_stale = file->has_position;
}
