#include "replay_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mio_stack.h"
#include "system_calls.h"

/* Larger requests go in pieces. */
#define PIECE_BYTES ((uint64_t)64 << 20)
/* What a sleep is too coarse for. */
#define SLEEP_LEAST_NS 200000u
#define NS_OF_SECOND 1000000000u

struct replay {
	const struct gn_replayed_file *file;
	const struct gn_mio_list *modules;
	struct gn_replay_result *result;
	char *memory;
	size_t memory_bytes;
	int fd[GN_REPLAY_SLOTS_MAX];
	struct gn_mio_stack *stack[GN_REPLAY_SLOTS_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_OF_SECOND + (uint64_t)now.tv_nsec;
}

/* Returns how long it took. */
static uint64_t pause_for(uint64_t ns)
{
	const uint64_t begin = now_ns();

	if (ns >= SLEEP_LEAST_NS) {
		const struct timespec length = {(time_t)(ns / NS_OF_SECOND),
						(long)(ns % NS_OF_SECOND)};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
	}
	while (now_ns() - begin < ns)
		;
	return now_ns() - begin;
}

static int64_t open_slot(struct replay *replay, uint32_t slot)
{
	const struct gn_mio_open file = {.path = replay->file->path,
					 .flags = replay->file->open_flags | O_CLOEXEC};

	if (replay->modules)
		return gn_mio_stack_open(&replay->stack[slot], replay->modules, &file);
	replay->fd[slot] = gn_mio_system_open(file.path, file.flags, 0);
	return replay->fd[slot] < 0 ? replay->fd[slot] : 0;
}

static int64_t close_slot(struct replay *replay, uint32_t slot)
{
	int64_t result = 0;

	if (replay->stack[slot])
		result = gn_mio_stack_close(replay->stack[slot]);
	else if (replay->fd[slot] >= 0)
		result = gn_mio_system_close(replay->fd[slot]);
	replay->stack[slot] = NULL;
	replay->fd[slot] = -1;
	return result;
}

static int64_t move_piece(struct replay *replay, const struct gn_replay_operation *own,
			  size_t bytes, int64_t offset)
{
	struct gn_mio_stack *stack = replay->stack[own->slot];
	const int fd = replay->fd[own->slot];

	if (own->kind == GN_REPLAY_READ)
		return stack ? gn_mio_stack_read(stack, replay->memory, bytes, offset)
			     : gn_mio_system_pread(fd, replay->memory, bytes, offset);
	return stack ? gn_mio_stack_write(stack, replay->memory, bytes, offset)
		     : gn_mio_system_pwrite(fd, replay->memory, bytes, offset);
}

static int64_t move(struct replay *replay, const struct gn_replay_operation *own)
{
	uint64_t done = 0;

	do {
		const uint64_t left = own->bytes - done;
		const size_t bytes = left < replay->memory_bytes ? left : replay->memory_bytes;
		const int64_t n = move_piece(replay, own, bytes, (int64_t)(own->offset + done));

		if (n < 0)
			return n;
		done += (uint64_t)n;
		if ((size_t)n < bytes)
			break;
	} while (done < own->bytes);
	if (own->kind == GN_REPLAY_READ)
		replay->result->read_bytes += done;
	else
		replay->result->written_bytes += done;
	return 0;
}

static int64_t do_other(struct replay *replay, const struct gn_replay_operation *own)
{
	struct gn_mio_stack *stack = replay->stack[own->slot];
	const int fd = replay->fd[own->slot];
	const int data_only = own->kind == GN_REPLAY_DATA_SYNC;
	struct stat status;

	switch (own->kind) {
	case GN_REPLAY_SEEK:
		return stack ? gn_mio_stack_seek(stack, 0, (int64_t)own->offset)
			     : gn_mio_system_seek(fd, (int64_t)own->offset, SEEK_SET);
	case GN_REPLAY_SYNC:
	case GN_REPLAY_DATA_SYNC:
		return stack ? gn_mio_stack_sync(stack, data_only)
			     : gn_mio_system_sync(fd, data_only);
	default:
		return stack ? gn_mio_stack_status(stack, &status)
			     : gn_mio_system_status(fd, &status);
	}
}

static int64_t do_operation(struct replay *replay, const struct gn_replay_operation *own)
{
	if (own->kind == GN_REPLAY_OPEN)
		return open_slot(replay, own->slot);
	/* It could not be opened, which was counted. */
	if (!replay->stack[own->slot] && replay->fd[own->slot] < 0)
		return 0;
	if (own->kind == GN_REPLAY_CLOSE)
		return close_slot(replay, own->slot);
	if (own->kind == GN_REPLAY_READ || own->kind == GN_REPLAY_WRITE)
		return move(replay, own);
	return do_other(replay, own);
}

static void note(struct gn_replay_result *result, int64_t returned)
{
	if (returned >= 0)
		return;
	if (!result->failures++)
		result->first_errno = (int)-returned;
}

static void run(struct replay *replay, const struct gn_replay_list *list)
{
	const int has_pauses = (list->header.flags & GN_REPLAY_PAUSES) != 0;
	const uint64_t begin = now_ns();
	uint64_t paused = 0;

	for (uint64_t i = 0; i < list->header.n_operations; i++) {
		const struct gn_replay_operation *own = &list->operation[i];

		if (has_pauses && own->pause_ns)
			paused += pause_for(own->pause_ns);
		note(replay->result, do_operation(replay, own));
	}
	for (uint32_t slot = 0; slot < GN_REPLAY_SLOTS_MAX; slot++)
		note(replay->result, close_slot(replay, slot));
	replay->result->ns = now_ns() - begin - paused;
}

int gn_replay_run(const struct gn_replay_list *list, const struct gn_replayed_file *file,
		  const struct gn_mio_list *modules, struct gn_replay_result *result)
{
	const uint64_t most = list->most_bytes < PIECE_BYTES ? list->most_bytes : PIECE_BYTES;
	struct replay replay = {.file = file, .modules = modules, .result = result};

	*result = (struct gn_replay_result){0};
	replay.memory_bytes = most ? (size_t)most : 1;
	replay.memory = mmap(NULL, replay.memory_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (replay.memory == MAP_FAILED)
		return -errno;
	/* Pages are there before the time begins. */
	memset(replay.memory, 'g', replay.memory_bytes);
	for (uint32_t slot = 0; slot < GN_REPLAY_SLOTS_MAX; slot++)
		replay.fd[slot] = -1;
	run(&replay, list);
	munmap(replay.memory, replay.memory_bytes);
	return 0;
}
