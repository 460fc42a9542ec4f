#include "open_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "files_state.h"
#include "mio_intermediate.h"
#include "mio_settings.h"
#include "system_calls.h"

/* How long a report waits for a call that is going on. */
#define TELL_WAIT_NS 1000000000

struct gn_mio_files_state gn_mio_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the table -------------------------------------------------------------------------------- */

static void lock_table(void)
{
	pthread_mutex_lock(&gn_mio_state.lock);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&gn_mio_state.lock);
}

/* With the table's lock held. */
static bool make_room(int fd)
{
	unsigned int n = gn_mio_state.n_descriptors ? gn_mio_state.n_descriptors : 64;
	struct gn_mio_file **descriptor;

	while (n <= (unsigned int)fd)
		n *= 2;
	if (n == gn_mio_state.n_descriptors)
		return true;
	descriptor = realloc(gn_mio_state.descriptor, n * sizeof(struct gn_mio_file *));
	if (!descriptor)
		return false;
	memset(descriptor + gn_mio_state.n_descriptors, 0,
	       (n - gn_mio_state.n_descriptors) * sizeof(struct gn_mio_file *));
	gn_mio_state.descriptor = descriptor;
	gn_mio_state.n_descriptors = n;
	return true;
}

/* With the table's lock held. */
static struct gn_mio_file *file_of(int fd)
{
	return fd >= 0 && (unsigned int)fd < gn_mio_state.n_descriptors
		       ? gn_mio_state.descriptor[fd]
		       : NULL;
}

static void leave(struct gn_mio_file *file)
{
	bool is_last;

	lock_table();
	is_last = !--file->n_users;
	if (is_last) {
		*(file->before ? &file->before->next : &gn_mio_state.first) = file->next;
		if (file->next)
			file->next->before = file->before;
	}
	unlock_table();
	if (is_last) {
		pthread_mutex_destroy(&file->lock);
		free(file);
	}
}

struct gn_mio_file *gn_mio_file_lock(int fd, int *error)
{
	struct gn_mio_file *file;

	*error = 0;
	lock_table();
	file = file_of(fd);
	if (file)
		file->n_users++;
	unlock_table();
	if (!file)
		return NULL;
	*error = pthread_mutex_lock(&file->lock);
	if (!*error && file->stack)
		return file;
	if (!*error) {
		pthread_mutex_unlock(&file->lock);
		*error = EBADF;
	}
	leave(file);
	return NULL;
}

void gn_mio_file_unlock(struct gn_mio_file *file)
{
	pthread_mutex_unlock(&file->lock);
	leave(file);
}

/* With its lock held; lets go of it, and of the descriptor's part in the file. */
static int drop_descriptor(struct gn_mio_file *file, int fd, bool is_open)
{
	int result = 0, other = -1;

	lock_table();
	for (unsigned int i = 0; i < gn_mio_state.n_descriptors && other < 0; i++)
		if (gn_mio_state.descriptor[i] == file)
			other = (int)i;
	unlock_table();
	if (other >= 0) {
		const int flushed = gn_mio_stack_flush(file->stack);

		if (gn_mio_stack_descriptor(file->stack) == fd)
			gn_mio_stack_set_descriptor(file->stack, other);
		result = is_open ? gn_mio_system_close(fd) : 0;
		result = flushed ? flushed : result;
	} else {
		if (!is_open)
			gn_mio_stack_set_descriptor(file->stack, -1);
		result = gn_mio_stack_close(file->stack);
		file->stack = NULL;
	}
	pthread_mutex_unlock(&file->lock);
	leave(file);
	return result;
}

bool gn_mio_file_close(int fd, int *result)
{
	struct gn_mio_file *file;

	lock_table();
	file = file_of(fd);
	if (file)
		gn_mio_state.descriptor[fd] = NULL;
	unlock_table();
	if (!file)
		return false;
	if (pthread_mutex_lock(&file->lock)) {
		lock_table();
		gn_mio_state.descriptor[fd] = file;
		unlock_table();
		*result = -EDEADLK;
		return true;
	}
	*result = drop_descriptor(file, fd, true);
	return true;
}

/* A file whose descriptor the program closed by other means than MIO, and which has a new one. */
static void forget(struct gn_mio_file *file, int fd)
{
	if (file && !pthread_mutex_lock(&file->lock))
		drop_descriptor(file, fd, false);
}

/* With the table's lock held. */
static struct gn_mio_file *replace(struct gn_mio_file *file, int fd)
{
	struct gn_mio_file *former = file_of(fd);

	gn_mio_state.descriptor[fd] = file;
	file->n_users++;
	return former;
}

int gn_mio_file_add_descriptor(struct gn_mio_file *file, int fd)
{
	struct gn_mio_file *former = NULL;
	bool has_room;

	lock_table();
	has_room = make_room(fd);
	if (has_room)
		former = replace(file, fd);
	unlock_table();
	if (former != file)
		forget(former, fd);
	return has_room ? 0 : -ENOMEM;
}

/* --- files ------------------------------------------------------------------------------------ */

static void read_facts(struct gn_mio_file *file, int fd)
{
	struct stat status;
	const int64_t position = gn_mio_system_seek(fd, 0, SEEK_CUR);
	const int flags = gn_mio_system_control(fd, F_GETFL, NULL);

	file->is_append = flags >= 0 && (flags & O_APPEND);
	if (gn_mio_system_status(fd, &status))
		return;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->has_position = position >= 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
	file->position = file->has_position ? position : 0;
}

/* With the table's lock held. */
static void meet_peers(struct gn_mio_file *file)
{
	for (struct gn_mio_file *other = gn_mio_state.first; other; other = other->next)
		if (other->inode == file->inode && other->device == file->device)
			other->has_peer = file->has_peer = true;
}

/* Not a mutex that waits for itself in the handler of a signal. */
int gn_mio_file_init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;
	int result = pthread_mutexattr_init(&kind);

	if (result)
		return -result;
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
	result = pthread_mutex_init(lock, &kind);
	pthread_mutexattr_destroy(&kind);
	return -result;
}

int gn_mio_file_add(struct gn_mio_stack *stack, bool is_scratch)
{
	const int fd = gn_mio_stack_descriptor(stack), number = gn_mio_stack_signal(stack);
	struct gn_mio_file *file = calloc(1, sizeof(*file)), *former = NULL;
	int result = -ENOMEM;

	if (!file || gn_mio_file_init_lock(&file->lock))
		goto out;
	file->stack = stack;
	file->is_scratch = is_scratch;
	read_facts(file, fd);
	lock_table();
	if (make_room(fd)) {
		meet_peers(file);
		former = replace(file, fd);
		file->next = gn_mio_state.first;
		if (file->next)
			file->next->before = file;
		gn_mio_state.first = file;
		result = 0;
	}
	unlock_table();
	forget(former, fd);
out:
	if (result) {
		gn_mio_stack_close(stack);
		free(file);
	} else if (number) {
		gn_mio_intermediate_at(number, gn_mio_files_tell);
	}
	return result;
}

int gn_mio_file_find_position(struct gn_mio_file *file)
{
	int64_t position;
	int result;

	if (!file->is_at_end)
		return 0;
	result = gn_mio_stack_flush(file->stack);
	if (result)
		return result;
	position = gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), 0, SEEK_CUR);
	if (position < 0)
		return (int)position;
	file->position = position;
	file->is_at_end = false;
	return 0;
}

/* --- all files -------------------------------------------------------------------------------- */

static void leave_unlocked(struct gn_mio_file *file, int error)
{
	if (!error)
		pthread_mutex_unlock(&file->lock);
	leave(file);
}

/* Calls for each file that is open, one after another, with its lock if that can be had in time. */
static void for_each(void (*call)(struct gn_mio_file *file, void *context), void *context)
{
	struct gn_mio_file *file, *next;

	lock_table();
	for (file = gn_mio_state.first; file; file = next) {
		struct timespec until;
		int error;

		file->n_users++;
		unlock_table();
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += TELL_WAIT_NS / 1000000000;
		error = pthread_mutex_timedlock(&file->lock, &until);
		if (!error && file->stack)
			call(file, context);
		lock_table();
		next = file->next;
		if (next)
			next->n_users++;
		unlock_table();
		leave_unlocked(file, error);
		lock_table();
		if (next)
			next->n_users--;
	}
	unlock_table();
}

static void tell_file(struct gn_mio_file *file, void *context)
{
	(void)context;
	gn_mio_stack_tell(file->stack, false);
}

void gn_mio_files_tell(void)
{
	for_each(tell_file, NULL);
}

static void flush_same(struct gn_mio_file *file, void *context)
{
	const struct stat *status = context;

	if (file->inode == status->st_ino && file->device == status->st_dev)
		gn_mio_stack_flush(file->stack);
}

void gn_mio_file_flush_peers(const char *path)
{
	struct stat status;
	bool has_peer = false;

	lock_table();
	if (gn_mio_state.first && !stat(path, &status))
		for (struct gn_mio_file *file = gn_mio_state.first; file; file = file->next)
			has_peer |= file->inode == status.st_ino && file->device == status.st_dev;
	unlock_table();
	if (has_peer)
		for_each(flush_same, &status);
}
