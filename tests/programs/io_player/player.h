/*
 * Random operations on files, from a seed: a program whose results, errors, data and files have to
 * be the same whatever it is run under. It writes down each operation with what came of it.
 */
#ifndef GNOMON_IO_PLAYER_H
#define GNOMON_IO_PLAYER_H

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SLOTS 12
#define STREAMS 5
#define PATH_BYTES 64
#define MOST_BYTES 40000
#define LOG_DESCRIPTOR 1000
#define TICK_DESCRIPTOR 1001

struct log {
	char *text;
	size_t n, size;
	int is_kept; /* until its thread ends */
};

struct map {
	volatile char *start;
	size_t bytes;
	int can_write;
};

struct stream {
	FILE *file;
	int last; /* what the last operation was: 'r', 'w', or 0 for neither */
	int is_used;
	char *buffer, *memory;
};

struct player {
	const char *folder; /* its own, with a slash behind; "" */
	uint32_t random;
	int is_thread; /* others open and close descriptors meanwhile: their numbers say nothing */
	int has_bad_addresses, is_unkilled, is_unforked;
	int level; /* of processes and handlers within others */
	int fd[SLOTS];
	struct stream stream[STREAMS];
	DIR *directory;
	char path[4][PATH_BYTES];
	unsigned int n_paths;
	char *buffer; /* of MOST_BYTES and a page, at the start of a page */
	struct log log;
	unsigned long left; /* operations */
};

uint32_t below(struct player *player, uint32_t limit);
size_t some_bytes(struct player *player);
int64_t some_offset(struct player *player);
/* What to write. */
const char *some_data(struct player *player, size_t bytes);
uint32_t hash_of(const void *data, size_t bytes);
/* A name below its folder. */
const char *some_path(struct player *player);
const char *path_below(struct player *player, const char *name);

void note(struct player *player, int64_t result, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void log_flush(struct player *player);
/* Data that an operation brought. */
void note_data(struct player *player, const void *data, int64_t bytes);
/* Between operations: nothing that was is known of the slots. */
void meet_descriptors(struct player *player);
void play(struct player *player, unsigned long operations);

/* An operation and its result; errno is written down, too, where it succeeds. */
#define RESULT(player, expression, ...)                                                            \
	({                                                                                         \
		int64_t result_;                                                                   \
		errno = 0;                                                                         \
		result_ = (int64_t)(expression);                                                   \
		note(player, result_, errno, __VA_ARGS__);                                         \
		result_;                                                                           \
	})
/* Of one that returns a descriptor. */
#define DESCRIPTOR(player, expression, ...)                                                        \
	({                                                                                         \
		int fd_;                                                                           \
		errno = 0;                                                                         \
		fd_ = (expression);                                                                \
		note(player, (player)->is_thread && fd_ > 0 ? 0 : fd_, errno, __VA_ARGS__);        \
		fd_;                                                                               \
	})

typedef void operation(struct player *player);

operation play_open, play_read, play_write, play_vector, play_seek, play_duplicate, play_close,
	play_control, play_resize, play_status, play_sync, play_copy, play_map, play_pipe,
	play_bad_address, play_asynchronous;
operation play_stream, play_stream_open;
operation play_path, play_rename, play_directory, play_temporary, play_place;
operation play_fork, play_vfork, play_spawn, play_shell, play_handler, play_exec, play_threads;

/* Of another player: all that it wrote down. */
void note_text(struct player *player, const struct log *other);
/* A mapping may be longer than its file. */
void begin_maps(void);
/* What child processes are told. */
void begin_processes(int flags);

#endif
