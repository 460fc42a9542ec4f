/*
 *	io_player LOG SEED OPERATIONS [faults] [ticks] [unkilled]
 *	io_player --child SEED OPERATIONS FLAGS, --continue SEED OPERATIONS FLAGS
 *
 * It plays in the folder it is run in, which is empty. With `faults` it also hands over addresses
 * that it does not have; with `ticks` a signal's handler does I/O meanwhile; with `unkilled` no
 * process ends by SIGKILL, at which a module that writes behind may lose what it holds.
 */
#define _GNU_SOURCE
#include "player.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOG_BYTES 60000
#define WITH_FAULTS 1
#define WITH_TICKS 2
#define WITHOUT_KILLS 4
#define WITHOUT_FORKS 8 /* by one thread of several */
#define TICK_US 700

static const char *const names[] = {"a",    "b",     "c",	  "d",	   "e",
				    "f",    "sub/a", "sub/b",	  "sub/c", "./sub/../a",
				    "sub/", "sub",   "missing/a", ""};

/* --- what is random --------------------------------------------------------------------------- */

uint32_t below(struct player *player, uint32_t limit)
{
	player->random ^= player->random << 13;
	player->random ^= player->random >> 17;
	player->random ^= player->random << 5;
	return player->random % limit;
}

size_t some_bytes(struct player *player)
{
	switch (below(player, 16)) {
	case 0:
		return below(player, MOST_BYTES);
	case 1:
		return 4096u * below(player, 5);
	default:
		return below(player, 600);
	}
}

int64_t some_offset(struct player *player)
{
	switch (below(player, 8)) {
	case 0:
		return below(player, 200000);
	case 1:
		return 4096 * below(player, 20);
	case 2:
		return -1 - (int64_t)below(player, 3);
	default:
		return below(player, 3000);
	}
}

const char *some_data(struct player *player, size_t bytes)
{
	const uint32_t first = below(player, 256);

	for (size_t i = 0; i < bytes; i++)
		player->buffer[i] = (char)(i % 40 == 39 ? '\n' : first + i * 7);
	return player->buffer;
}

const char *path_below(struct player *player, const char *name)
{
	char *path = player->path[player->n_paths++ % 4];

	snprintf(path, PATH_BYTES, "%s%s", player->folder, name);
	return path;
}

const char *some_path(struct player *player)
{
	const uint32_t n = sizeof(names) / sizeof(names[0]);

	/* Mostly files that may be there. */
	return path_below(player, names[below(player, below(player, 6) ? 9 : n)]);
}

/* Of FNV-1a. */
uint32_t hash_of(const void *data, size_t bytes)
{
	const unsigned char *byte = data;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ byte[i]) * 16777619u;
	return hash;
}

/* --- what is written down, past the C library ------------------------------------------------- */

void log_flush(struct player *player)
{
	struct log *log = &player->log;

	if (log->is_kept)
		return;
	for (size_t done = 0; done < log->n;) {
		const long n = syscall(SYS_write, LOG_DESCRIPTOR, log->text + done, log->n - done);

		if (n <= 0)
			abort();
		done += (size_t)n;
	}
	log->n = 0;
}

static void append(struct player *player, const char *format, va_list list)
{
	struct log *log = &player->log;

	if (log->n + 512 > log->size) {
		log_flush(player);
		if (log->n || !log->text) {
			log->size = 2 * log->size + LOG_BYTES;
			log->text = realloc(log->text, log->size);
			if (!log->text)
				abort();
		}
	}
	log->n += (size_t)vsnprintf(log->text + log->n, 500, format, list);
}

static void print(struct player *player, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append(player, format, list);
	va_end(list);
}

void note(struct player *player, int64_t result, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append(player, format, list);
	va_end(list);
	print(player, " = %lld", (long long)result);
	if (error)
		print(player, " (%s)", strerrorname_np(error));
	print(player, "\n");
}

void note_text(struct player *player, const struct log *other)
{
	log_flush(player);
	for (size_t done = 0; done < other->n;) {
		const long n =
			syscall(SYS_write, LOG_DESCRIPTOR, other->text + done, other->n - done);

		if (n <= 0)
			abort();
		done += (size_t)n;
	}
}

void note_data(struct player *player, const void *data, int64_t bytes)
{
	if (bytes > 0)
		print(player, "\t%08x\n", hash_of(data, (size_t)bytes));
}

/* --- operations ------------------------------------------------------------------------------- */

static const struct {
	operation *play;
	uint32_t weight;
	int alone; /* not beside other threads */
} operations[] = {
	{play_open, 80, 0},    {play_read, 150, 0},	  {play_write, 170, 0},
	{play_vector, 60, 0},  {play_seek, 60, 0},	  {play_duplicate, 30, 0},
	{play_close, 40, 0},   {play_control, 30, 0},	  {play_resize, 20, 0},
	{play_status, 50, 0},  {play_sync, 4, 0},	  {play_copy, 25, 0},
	{play_map, 40, 0},     {play_pipe, 5, 0},	  {play_bad_address, 10, 0},
	{play_stream, 240, 0}, {play_stream_open, 30, 0}, {play_path, 40, 0},
	{play_rename, 15, 0},  {play_directory, 12, 0},	  {play_temporary, 5, 0},
	{play_place, 4, 1},    {play_fork, 4, 0},	  {play_vfork, 2, 1},
	{play_spawn, 2, 0},    {play_shell, 1, 1},	  {play_handler, 6, 1},
	{play_exec, 1, 1},     {play_threads, 1, 1},	  {play_asynchronous, 2, 1},
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void play_any(struct player *player)
{
	static uint32_t sum;
	uint32_t choice, i = 0;

	if (!sum)
		for (uint32_t k = 0; k < N_OPERATIONS; k++)
			sum += operations[k].weight;
	for (choice = below(player, sum); choice >= operations[i].weight; i++)
		choice -= operations[i].weight;
	if (!operations[i].alone || !player->is_thread)
		operations[i].play(player);
}

void play(struct player *player, unsigned long n)
{
	for (player->left = n; player->left; player->left--)
		play_any(player);
}

void meet_descriptors(struct player *player)
{
	int slot = 0;

	for (int i = 0; i < SLOTS; i++)
		player->fd[i] = -1;
	for (int fd = 3; fd < 100 && slot < SLOTS; fd++)
		if (syscall(SYS_fcntl, fd, F_GETFD) >= 0)
			player->fd[slot++] = fd;
}

/* --- a handler that comes at any time --------------------------------------------------------- */

static void tick(int number)
{
	const int before = errno;
	struct iovec part = {.iov_base = (char[]){"tick"}, .iov_len = 4};
	struct stat status;
	char text[8];

	(void)number;
	if (pwrite(TICK_DESCRIPTOR, "tick", 4, 0) != 4 || pread(TICK_DESCRIPTOR, text, 4, 0) != 4 ||
	    memcmp(text, "tick", 4) || pwritev(TICK_DESCRIPTOR, &part, 1, 4) != 4 ||
	    fstat(TICK_DESCRIPTOR, &status) || status.st_size != 8 || read(-1, text, 1) != -1 ||
	    errno != EBADF || stat("/dev/null", &status))
		abort();
	errno = before;
}

static void begin_ticks(void)
{
	const struct itimerval often = {{0, TICK_US}, {0, TICK_US}};
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

/* --- the program ------------------------------------------------------------------------------ */

static void move_to(const char *path, int flags, int number)
{
	const long fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_RDWR, 0600);

	if (fd < 0 || syscall(SYS_dup3, fd, number, 0) != number)
		abort();
	syscall(SYS_close, fd);
}

static void begin_folder(const char *log)
{
	umask(022);
	/* Whatever the caller had open. */
	syscall(SYS_close_range, 3, ~0u, 0);
	if (syscall(SYS_mkdirat, AT_FDCWD, "sub", 0755))
		abort();
	move_to(log, O_APPEND, LOG_DESCRIPTOR);
	move_to("ticks", 0, TICK_DESCRIPTOR);
}

static int flag_of(const char *word)
{
	if (!strcmp(word, "faults"))
		return WITH_FAULTS;
	if (!strcmp(word, "unforked"))
		return WITHOUT_FORKS;
	return strcmp(word, "ticks") ? WITHOUT_KILLS : WITH_TICKS;
}

static void end(struct player *player)
{
	const uint32_t way = below(player, 5);

	note(player, way, 0, "end");
	log_flush(player);
	if (way == 0)
		_exit(3);
	if (way == 1)
		exit(4);
	if (way == 2 && !player->is_unkilled)
		kill(getpid(), SIGKILL);
	if (way == 3)
		quick_exit(5);
}

int main(int n, char **arguments)
{
	struct player player = {.folder = ""};
	int flags = 0;

	if (n < 4)
		return 2;
	if (arguments[1][0] == '-') {
		flags = atoi(arguments[4]);
		player.level = arguments[1][2] == 'c' && arguments[1][3] == 'h';
	} else {
		begin_folder(arguments[1]);
		for (int i = 4; i < n; i++)
			flags |= flag_of(arguments[i]);
	}
	begin_processes(flags);
	player.random = (uint32_t)strtoul(arguments[2], NULL, 10) | 1u << 31;
	player.is_unkilled = (flags & WITHOUT_KILLS) != 0;
	player.is_unforked = (flags & WITHOUT_FORKS) != 0;
	player.has_bad_addresses = (flags & WITH_FAULTS) != 0;
	player.buffer = aligned_alloc(4096, (MOST_BYTES / 4096 + 2) * 4096);
	if (!player.buffer)
		return 2;
	meet_descriptors(&player);
	begin_maps();
	if (flags & WITH_TICKS)
		begin_ticks();
	play(&player, strtoul(arguments[3], NULL, 10));
	end(&player);
	return 0;
}
