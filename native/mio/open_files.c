#include "open_files.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "cache_process.h"
#include "mio_heap.h"
#include "own_calls.h"
#include "system_calls.h"

/* How long something that is for all files waits for a call of one that goes on. */
#define WAIT_SECONDS 1
/* Locks of a thread at a time. */
#define HELD_MOST 8u

gn_mio_slot *_Atomic gn_mio_block[GN_MIO_BLOCKS];
/* Of changes in the slots, and of what follows. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gn_mio_file *_Atomic first;
static _Atomic unsigned int n_open;
static void (*_Atomic after_call)(void);

void gn_mio_files_lock_table(void)
{
	pthread_mutex_lock(&table_lock);
}

void gn_mio_files_unlock_table(void)
{
	pthread_mutex_unlock(&table_lock);
}

struct gn_mio_file *gn_mio_files_first(void)
{
	return first;
}

bool gn_mio_has_files(void)
{
	return atomic_load_explicit(&n_open, memory_order_relaxed) > 0;
}

/* --- the table -------------------------------------------------------------------------------- */

/* With the table's lock held. NULL: there is no memory. */
static gn_mio_slot *make_slot(int fd)
{
	const unsigned int number = (unsigned int)fd / GN_MIO_BLOCK;

	if (number < GN_MIO_BLOCKS && !gn_mio_block[number])
		atomic_store_explicit(&gn_mio_block[number],
				      gn_take_memory(GN_MIO_BLOCK * sizeof(gn_mio_slot)),
				      memory_order_release);
	return gn_mio_slot_of(fd);
}

int gn_mio_file_next(int fd)
{
	const unsigned int number = (unsigned int)fd;

	for (unsigned int i = number / GN_MIO_BLOCK; i < GN_MIO_BLOCKS; i++)
		for (unsigned int j = 0; gn_mio_block[i] && j < GN_MIO_BLOCK; j++)
			if (i * GN_MIO_BLOCK + j >= number && gn_mio_block[i][j])
				return (int)(i * GN_MIO_BLOCK + j);
	return -1;
}

/*
 * The files that this thread has the locks of, or is about to take: one, and more in handlers of
 * signals. It is told before a lock is taken and after it is given back, as a signal may come
 * between: a mutex that knows its owner would not see that.
 */
static __thread const struct gn_mio_file *volatile held[HELD_MOST]
	__attribute__((tls_model("initial-exec")));

static bool is_mine(const struct gn_mio_file *file)
{
	const unsigned int n = gn_calls_entered;

	for (unsigned int i = 0; i < n; i++)
		if (held[i] == file)
			return true;
	/* Handlers that never returned. */
	return n == HELD_MOST;
}

static void hold(const struct gn_mio_file *file)
{
	const unsigned int i = gn_calls_entered;

	gn_calls_entered = i + 1;
	held[i] = file;
}

static void let_go(void)
{
	const unsigned int i = gn_calls_entered - 1;

	held[i] = NULL;
	gn_calls_entered = i;
}

/* Of the C library, since 2.32; others have none. */
extern char __libc_single_threaded __attribute__((weak));

/* The only thread needs no lock but to tell its own handlers. */
static void lock_file(struct gn_mio_file *file)
{
	hold(file);
	if (&__libc_single_threaded && __libc_single_threaded) {
		file->is_without_lock = true;
		return;
	}
	pthread_mutex_lock(&file->lock);
	file->is_without_lock = false;
}

void gn_mio_file_unlock(struct gn_mio_file *file)
{
	if (!file->is_without_lock)
		pthread_mutex_unlock(&file->lock);
	let_go();
	if (__builtin_expect(atomic_load_explicit(&after_call, memory_order_relaxed) != NULL, 0))
		atomic_load (&after_call)();
}

void gn_mio_files_after_call(void (*call)(void))
{
	atomic_store(&after_call, call);
}

struct gn_mio_file *gn_mio_file_lock(int fd, int *error)
{
	struct gn_mio_file *file;

	*error = 0;
	while ((file = gn_mio_file_of(fd))) {
		if (is_mine(file)) {
			*error = EDEADLK;
			return NULL;
		}
		lock_file(file);
		if (gn_mio_file_of(fd) == file && file->stack)
			return file;
		gn_mio_file_unlock(file);
	}
	return NULL;
}

/* With its lock held. */
static int other_descriptor(const struct gn_mio_file *file)
{
	for (unsigned int i = 0; i < GN_MIO_BLOCKS; i++)
		for (unsigned int j = 0; gn_mio_block[i] && j < GN_MIO_BLOCK; j++)
			if (gn_mio_block[i][j] == file)
				return (int)(i * GN_MIO_BLOCK + j);
	return -1;
}

/* With its lock held, of which it lets go, and without the slot already. */
static int drop_descriptor(struct gn_mio_file *file, int fd, bool is_open)
{
	int result = 0, flushed;

	if (atomic_load(&file->n_descriptors) > 1) {
		flushed = gn_mio_stack_flush(file->stack);
		if (gn_mio_stack_descriptor(file->stack) == fd)
			gn_mio_stack_set_descriptor(file->stack, other_descriptor(file));
		result = is_open ? gn_mio_system_close(fd) : 0;
		result = flushed ? flushed : result;
	} else {
		if (!is_open)
			gn_mio_stack_set_descriptor(file->stack, -1);
		result = gn_mio_stack_close(file->stack);
		file->stack = NULL;
		atomic_fetch_sub(&n_open, 1);
	}
	gn_mio_file_unlock(file);
	/* Now it may be another's. */
	atomic_fetch_sub(&file->n_descriptors, 1);
	return result;
}

bool gn_mio_file_close(int fd, int *result)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file) {
		*result = -error;
		return error != 0;
	}
	atomic_store(gn_mio_slot_of(fd), NULL);
	*result = drop_descriptor(file, fd, true);
	return true;
}

int gn_mio_file_drop(int fd)
{
	int error, result;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return -error;
	result = gn_mio_stack_flush(file->stack);
	if (file->n_descriptors == 1)
		gn_mio_file_hand_over(file);
	atomic_store(gn_mio_slot_of(fd), NULL);
	drop_descriptor(file, fd, false);
	return result;
}

/* With its lock held: descriptors stay open. */
static void end_file(struct gn_mio_file *file)
{
	gn_mio_file_hand_over(file);
	for (int fd = other_descriptor(file); fd >= 0; fd = other_descriptor(file))
		atomic_store(gn_mio_slot_of(fd), NULL);
	gn_mio_stack_set_descriptor(file->stack, -1);
	gn_mio_stack_close(file->stack);
	file->stack = NULL;
	file->n_descriptors = 0;
	atomic_fetch_sub(&n_open, 1);
}

void gn_mio_file_detach(int fd)
{
	int error;
	struct gn_mio_file *file = gn_mio_file_lock(fd, &error);

	if (!file)
		return;
	end_file(file);
	gn_mio_file_unlock(file);
}

/* A file whose descriptor the program closed by other means, and which has a new one. */
static void forget(struct gn_mio_file *file, int fd)
{
	if (!file || is_mine(file))
		return;
	lock_file(file);
	if (file->stack)
		drop_descriptor(file, fd, false);
	else
		gn_mio_file_unlock(file);
}

int gn_mio_file_add_descriptor(struct gn_mio_file *file, int fd)
{
	struct gn_mio_file *former = NULL;
	gn_mio_slot *own;

	gn_mio_files_lock_table();
	own = make_slot(fd);
	if (own) {
		atomic_fetch_add(&file->n_descriptors, 1);
		former = atomic_exchange(own, file);
	}
	gn_mio_files_unlock_table();
	if (former == file)
		atomic_fetch_sub(&file->n_descriptors, 1);
	else
		forget(former, fd);
	return own ? 0 : -ENOMEM;
}

/* --- files ------------------------------------------------------------------------------------ */

static void read_facts(struct gn_mio_file *file, int fd)
{
	struct stat status;
	const int64_t position = gn_mio_system_seek(fd, 0, SEEK_CUR);
	const int flags = gn_mio_system_control(fd, F_GETFL, NULL);

	file->is_append = flags >= 0 && (flags & O_APPEND);
	file->is_direct = flags >= 0 && (flags & O_DIRECT);
	if (gn_mio_system_status(fd, &status))
		return;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->has_position = position >= 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
	file->position = file->has_position ? position : 0;
}

static bool is_same(const struct gn_mio_file *file, dev_t device, ino_t inode)
{
	return file->stack && file->inode == inode && file->device == device;
}

/* With the table's lock held. */
static void meet_peers(struct gn_mio_file *file)
{
	for (struct gn_mio_file *other = first; other; other = other->next)
		if (other != file && is_same(other, file->device, file->inode))
			other->has_peer = file->has_peer = true;
}

/* With the table's lock held: one that nobody has. */
static struct gn_mio_file *take_file(void)
{
	struct gn_mio_file *file = first;

	while (file && file->n_descriptors)
		file = file->next;
	if (file)
		return file;
	file = gn_mio_heap_take(sizeof(*file));
	if (!file)
		return NULL;
	pthread_mutex_init(&file->lock, NULL);
	file->next = first;
	first = file;
	return file;
}

/* With the table's lock held. */
static struct gn_mio_file *begin_file(struct gn_mio_stack *stack, bool is_scratch, int fd)
{
	struct gn_mio_file *file = make_slot(fd) ? take_file() : NULL;

	if (!file)
		return NULL;
	file->n_descriptors = 1;
	file->position = 0;
	file->has_position = file->is_stale = file->is_held_for_fork = file->has_peer = false;
	file->device = 0;
	file->inode = 0;
	file->is_scratch = is_scratch;
	file->stack = stack;
	read_facts(file, fd);
	meet_peers(file);
	atomic_fetch_add(&n_open, 1);
	return file;
}

int gn_mio_file_add(struct gn_mio_stack *stack, bool is_scratch)
{
	const int fd = gn_mio_stack_descriptor(stack);
	struct gn_mio_file *file, *former = NULL;

	gn_mio_files_lock_table();
	file = begin_file(stack, is_scratch, fd);
	if (file)
		former = atomic_exchange(gn_mio_slot_of(fd), file);
	gn_mio_files_unlock_table();
	forget(former, fd);
	if (!file) {
		gn_mio_stack_close(stack);
		return -ENOMEM;
	}
	return 0;
}

void gn_mio_file_hand_over(struct gn_mio_file *file)
{
	gn_mio_stack_flush(file->stack);
	gn_mio_stack_drop(file->stack);
	if (file->has_position && !file->is_stale)
		gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), file->position, SEEK_SET);
	file->has_position = file->is_stale = false;
}

int gn_mio_file_find_position(struct gn_mio_file *file)
{
	int64_t position;
	int result;

	if (!file->is_stale)
		return 0;
	result = gn_mio_stack_flush(file->stack);
	if (result)
		return result;
	position = gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), 0, SEEK_CUR);
	if (position < 0)
		return (int)position;
	file->position = position;
	file->is_stale = false;
	return 0;
}

/* --- all files -------------------------------------------------------------------------------- */

static bool lock_mutex(struct gn_mio_file *file)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_SECONDS;
	return !pthread_mutex_timedlock(&file->lock, &until);
}

bool gn_mio_file_lock_for_fork(struct gn_mio_file *file)
{
	return !is_mine(file) && lock_mutex(file);
}

static bool lock_in_time(struct gn_mio_file *file)
{
	if (is_mine(file))
		return false;
	hold(file);
	if (lock_mutex(file)) {
		file->is_without_lock = false;
		return true;
	}
	let_go();
	return false;
}

void gn_mio_files_for_each(void (*call)(struct gn_mio_file *file, void *context), void *context)
{
	for (struct gn_mio_file *file = first; file; file = file->next) {
		if (!file->stack || !lock_in_time(file))
			continue;
		if (file->stack)
			call(file, context);
		gn_mio_file_unlock(file);
	}
}

static void tell_file(struct gn_mio_file *file, void *context)
{
	(void)context;
	gn_mio_stack_tell(file->stack, false);
}

void gn_mio_files_tell(void)
{
	gn_mio_files_for_each(tell_file, NULL);
}

bool gn_mio_is_in_call(void)
{
	for (struct gn_mio_file *file = first; file; file = file->next)
		if (is_mine(file))
			return true;
	return false;
}

static void flush_file(struct gn_mio_file *file, void *context)
{
	(void)context;
	gn_mio_stack_flush(file->stack);
}

void gn_mio_files_flush(void)
{
	gn_mio_files_for_each(flush_file, NULL);
}

static void flush_same(struct gn_mio_file *file, void *context)
{
	const struct stat *status = context;

	if (is_same(file, status->st_dev, status->st_ino))
		flush_file(file, NULL);
}

void gn_mio_file_flush_peers(const struct stat *status, bool has_peer)
{
	bool is_open = false;

	for (struct gn_mio_file *file = first; file; file = file->next)
		if (is_same(file, status->st_dev, status->st_ino)) {
			is_open = true;
			if (has_peer)
				file->has_peer = true;
		}
	if (is_open)
		gn_mio_files_for_each(flush_same, (void *)status);
}

/* --- forks and the end ------------------------------------------------------------------------ */

/* In the child: its only thread has none of the locks but those that were taken for the fork. A
 * file that another thread was at is unknown here. */
void gn_mio_files_forked(void)
{
	for (unsigned int i = 0; i < GN_MIO_BLOCKS; i++)
		for (unsigned int j = 0; gn_mio_block[i] && j < GN_MIO_BLOCK; j++) {
			const struct gn_mio_file *file = gn_mio_block[i][j];

			if (file && !file->is_held_for_fork)
				gn_mio_block[i][j] = NULL;
		}
	for (struct gn_mio_file *file = first; file; file = file->next) {
		pthread_mutex_init(&file->lock, NULL);
		if (!file->stack)
			continue;
		if (file->is_held_for_fork) {
			gn_mio_stack_forked(file->stack);
			continue;
		}
		file->stack = NULL;
		file->n_descriptors = 0;
		atomic_fetch_sub(&n_open, 1);
	}
	pthread_mutex_init(&table_lock, NULL);
}

/* What else runs at the end of the process may write to descriptors, by the system's calls. Files
 * that a thread is at still have no report. */
void gn_mio_files_end(void)
{
	for (struct gn_mio_file *file = first; file; file = file->next) {
		if (!file->stack || !lock_in_time(file))
			continue;
		if (file->stack)
			end_file(file);
		gn_mio_file_unlock(file);
	}
}
