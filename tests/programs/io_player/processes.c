/* Operations that make processes, threads and signals. */
#define _GNU_SOURCE
#include "player.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

extern char **environ;
static char program[4096], flags_text[8];
static struct player *handled;

void begin_processes(int flags)
{
	const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[n < 0 ? 0 : n] = 0;
	snprintf(flags_text, sizeof(flags_text), "%d", flags);
}

/* What ended how; another program would say it itself. */
static void note_end(struct player *player, pid_t child, const char *what)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	note(player, status, 0, "%s", what);
}

/* --- copies of the process -------------------------------------------------------------------- */

static void end_child(struct player *player, uint32_t way)
{
	log_flush(player);
	if (way == 0)
		exit(10);
	if (way == 1 && !player->is_unkilled)
		kill(getpid(), SIGKILL);
	_exit(11);
}

void play_fork(struct player *player)
{
	const unsigned long n = 1 + below(player, 25), left = player->left;
	const uint32_t seed = below(player, UINT32_MAX) | 1, way = below(player, 3);
	/* What a child of one thread of several did cannot be written beside what others do. */
	uint32_t *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (told == MAP_FAILED)
		abort();
	if (player->level > 1 || (player->is_thread && player->is_unforked))
		return;
	log_flush(player);
	child = fork();
	if (!child) {
		player->level++;
		player->random = seed;
		play(player, n);
		if (player->log.is_kept)
			*told = hash_of(player->log.text, player->log.n);
		/* Handlers at the exit would have what other threads had. */
		end_child(player, player->is_thread && !way ? 2 : way);
	}
	player->left = left;
	note_end(player, child, "fork");
	note(player, *told, 0, "what it did");
	munmap(told, sizeof(*told));
}

static void become(struct player *player, const char *what, char *seed, char *n)
{
	char *const words[] = {program, (char *)what, seed, n, flags_text, NULL};

	(void)player;
	/* It has no handler, and the clock goes on. */
	if (what[2] == 'c' && what[3] == 'o')
		signal(SIGALRM, SIG_IGN);
	execve(program, words, environ);
}

/* Between vfork and exec a child changes what is its own, and nothing of the parent's. */
void play_vfork(struct player *player)
{
	const int fd = player->fd[below(player, SLOTS)], other = player->fd[below(player, SLOTS)];
	const int executes = (int)below(player, 2);
	char seed[16], n[16];
	pid_t child;

	if (player->level > 1)
		return;
	snprintf(seed, sizeof(seed), "%u", below(player, UINT32_MAX));
	snprintf(n, sizeof(n), "%u", 1 + below(player, 30));
	log_flush(player);
	child = vfork();
	if (!child) {
		const int null = open("/dev/null", O_RDWR);

		if (fd >= 0 && other >= 0)
			dup2(other, fd);
		write(fd, "from vfork", 10);
		lseek(other, 3, SEEK_CUR);
		if (null >= 0)
			close(null);
		if (executes)
			become(player, "--child", seed, n);
		_exit(12);
	}
	note_end(player, child, executes ? "vfork and exec" : "vfork");
}

void play_spawn(struct player *player)
{
	char out[PATH_BYTES], script[200];
	char *const words[] = {"sh", "-c", script, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	int error;

	snprintf(out, sizeof(out), "%sspawned", player->folder);
	snprintf(script, sizeof(script), "cat %sa %sb 2>/dev/null | wc -c; echo %u", player->folder,
		 player->folder, below(player, 1000));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_APPEND, 0644);
	log_flush(player);
	error = posix_spawnp(&child, "sh", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	note(player, error, 0, "posix_spawnp");
	if (!error)
		note_end(player, child, "spawned");
}

/* Not beside threads: a child that one of them makes waits for popen's lock, which it has for ever.
 */
void play_shell(struct player *player)
{
	const int writes = (int)below(player, 2);
	const size_t bytes = below(player, 3000);
	char command[200];
	FILE *file = NULL;
	int64_t n;

	snprintf(command, sizeof(command), writes ? "cat >> %spiped" : "cat %sa %sc 2>/dev/null",
		 player->folder, player->folder);
	log_flush(player);
	RESULT(player, (file = popen(command, writes ? "w" : "r")) != NULL, "popen %s", command);
	if (!file)
		return;
	if (writes) {
		RESULT(player, fwrite(some_data(player, bytes), 1, bytes, file), "fwrite");
	} else {
		/* To its end: who writes more is ended by a signal, or is not. */
		while ((n = RESULT(player, fread(player->buffer, 1, MOST_BYTES, file), "fread")))
			note_data(player, player->buffer, n);
	}
	RESULT(player, pclose(file), "pclose");
}

/* Another program in this process: what was in streams' buffers is lost. */
void play_exec(struct player *player)
{
	char seed[16], n[24];

	if (player->level || player->left < 2 || below(player, 3))
		return;
	note(player, (int64_t)player->left, 0, "exec");
	log_flush(player);
	snprintf(seed, sizeof(seed), "%u", below(player, UINT32_MAX));
	snprintf(n, sizeof(n), "%lu", player->left - 1);
	become(player, "--continue", seed, n);
	abort();
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signal(int number)
{
	const unsigned long left = handled->left;

	(void)number;
	handled->level++;
	for (int i = 0; i < 3; i++) {
		play_write(handled);
		play_read(handled);
		play_status(handled);
		play_path(handled);
	}
	handled->level--;
	handled->left = left;
}

void play_handler(struct player *player)
{
	const struct sigaction action = {.sa_handler = on_signal};

	handled = player;
	sigaction(SIGUSR1, &action, NULL);
	RESULT(player, raise(SIGUSR1), "raise");
}

/* --- threads ---------------------------------------------------------------------------------- */

struct part {
	pthread_t thread;
	struct player player;
	char folder[8];
	unsigned long n;
};

static void begin_part(struct part *part, struct player *player, int i)
{
	char sub[16];

	memset(part, 0, sizeof(*part));
	snprintf(part->folder, sizeof(part->folder), "t%d/", i);
	snprintf(sub, sizeof(sub), "t%d/sub", i);
	mkdir(part->folder, 0755);
	mkdir(sub, 0755);
	part->player = (struct player){.folder = part->folder,
				       .random = below(player, UINT32_MAX) | 1,
				       .is_thread = 1,
				       .has_bad_addresses = player->has_bad_addresses,
				       .is_unkilled = player->is_unkilled,
				       .is_unforked = player->is_unforked,
				       .level = player->level,
				       .log.is_kept = 1};
	for (int slot = 0; slot < SLOTS; slot++)
		part->player.fd[slot] = -1;
	part->player.buffer = aligned_alloc(4096, (MOST_BYTES / 4096 + 2) * 4096);
	part->n = 1 + below(player, 300);
}

static void *run_part(void *of)
{
	struct part *part = of;
	struct player *player = &part->player;

	play(player, part->n);
	for (int i = 0; i < SLOTS; i++)
		if (player->fd[i] >= 0)
			RESULT(player, close(player->fd[i]), "close at the end");
	for (int i = 0; i < STREAMS; i++)
		if (player->stream[i].file)
			RESULT(player, fclose(player->stream[i].file), "fclose at the end");
	for (int i = 0; i < STREAMS; i++) {
		free(player->stream[i].buffer);
		free(player->stream[i].memory);
	}
	return NULL;
}

void play_threads(struct player *player)
{
	struct part part[THREADS];

	if (player->level)
		return;
	for (int i = 0; i < THREADS; i++)
		begin_part(&part[i], player, i);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&part[i].thread, NULL, run_part, &part[i]))
			abort();
	for (int i = 0; i < THREADS; i++) {
		const unsigned long n = part[i].n;

		pthread_join(part[i].thread, NULL);
		player->left = player->left > n ? player->left - n : 1;
		note(player, (int64_t)n, 0, "thread %d", i);
		note_text(player, &part[i].player.log);
		free(part[i].player.log.text);
		free(part[i].player.buffer);
	}
}
