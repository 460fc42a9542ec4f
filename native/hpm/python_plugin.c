/*
 * A plug-in in Python runs as `python -m gnomon.hpm.ranks.plugin_host`, which says what went wrong
 * on stderr. gnomon.hpm.ranks.plugin tells how one speaks with it.
 */
#include "python_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "file_signals.h"
#include "item_codec.h"

#define CHANGES_FD 3
#define LOOK_EVERY_MS 100
#define ANSWER_MAX ((size_t)1 << 28)

extern char **environ;

struct talk {
	const unsigned char *given;
	size_t left;
	unsigned char *answer;
	size_t size;
	size_t room;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- the process ------------------------------------------------------------------------------ */

static int is_set_here(const char *entry)
{
	return !strncmp(entry, "HPM_JOB_", 8);
}

/* The program's environment and the task's place in the job; for free(), with its last two. */
static char **environment_of(const struct hpm_python_plugin *script, char *last[2])
{
	char **environment;
	size_t n = 0;

	while (environ[n])
		n++;
	environment = calloc(n + 3, sizeof(*environment));
	last[0] = last[1] = NULL;
	if (!environment)
		return NULL;
	n = 0;
	for (char **at = environ; *at; at++)
		if (!is_set_here(*at))
			environment[n++] = *at;
	if (script->job < 0)
		return environment;
	if (asprintf(&last[0], "HPM_JOB_FD=%d", script->job) < 0)
		last[0] = NULL;
	if (asprintf(&last[1], "HPM_JOB_DIR=%s", script->where) < 0)
		last[1] = NULL;
	environment[n] = last[0];
	environment[n + (last[0] != NULL)] = last[1];
	return environment;
}

/* in: it reads it; out: it writes it, as descriptor `out_as`. 0 or an errno. */
static int spawn(const struct hpm_python_plugin *script, const char *task, int in, int out,
		 int out_as, pid_t *pid)
{
	char *words[] = {(char *)script->python,
			 (char *)"-P",
			 (char *)"-m",
			 (char *)"gnomon.hpm.ranks.plugin_host",
			 (char *)task,
			 (char *)script->name,
			 NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	char *last[2], **environment;
	int error;

	environment = environment_of(script, last);
	if (!environment)
		return ENOMEM;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, out_as);
	if (out_as != STDOUT_FILENO)
		posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (script->job >= 0)
		posix_spawn_file_actions_adddup2(&actions, script->job, script->job);
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	error = posix_spawn(pid, script->python, &actions, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(last[0]);
	free(last[1]);
	free(environment);
	return error;
}

/* Two ends that no other process gets, above what a child's own are put on. */
static int open_pipe(int end[2])
{
	if (pipe2(end, O_CLOEXEC))
		return errno;
	for (int i = 0; i < 2; i++) {
		const int above = fcntl(end[i], F_DUPFD_CLOEXEC, CHANGES_FD + 1);

		if (above < 0) {
			close(end[0]);
			close(end[1]);
			return EMFILE;
		}
		close(end[i]);
		end[i] = above;
	}
	return 0;
}

/* --- talking ---------------------------------------------------------------------------------- */

/* 0, or an errno. *is_over: there is nothing more to come. */
static int take_answer(struct talk *talk, int fd, int *is_over)
{
	ssize_t got;

	if (talk->size == talk->room) {
		const size_t room = 2 * talk->room + 65536;
		void *larger = room > ANSWER_MAX ? NULL : realloc(talk->answer, room);

		if (!larger)
			return room > ANSWER_MAX ? EMSGSIZE : ENOMEM;
		talk->answer = larger;
		talk->room = room;
	}
	got = read(fd, talk->answer + talk->size, talk->room - talk->size);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : errno;
	talk->size += (size_t)got;
	*is_over = !got;
	return 0;
}

static void give(struct talk *talk, int *fd)
{
	const ssize_t given = talk->left ? write(*fd, talk->given, talk->left) : 0;

	if (given > 0) {
		talk->given += given;
		talk->left -= (size_t)given;
	}
	/* It need not read what it does not want. */
	if (!talk->left || (given < 0 && errno != EAGAIN && errno != EINTR)) {
		close(*fd);
		*fd = -1;
	}
}

/* While it waits for other tasks the time of the job's file goes on. */
static int has_beaten(const struct hpm_python_plugin *script, struct timespec *last)
{
	struct stat status;

	if (script->job < 0 || fstat(script->job, &status) ||
	    (status.st_mtim.tv_sec == last->tv_sec && status.st_mtim.tv_nsec == last->tv_nsec))
		return 0;
	*last = status.st_mtim;
	return 1;
}

/* Until it has answered: 0, ETIMEDOUT or another errno. Closes `to`. */
static int exchange(const struct hpm_python_plugin *script, struct talk *talk, int to, int from)
{
	struct timespec beat = {0, 0};
	double until = now_s() + script->limit_s;
	int is_over = 0, error = 0;

	fcntl(to, F_SETFL, O_NONBLOCK);
	while (!is_over && !error) {
		struct pollfd ends[2] = {{from, POLLIN, 0}, {to, POLLOUT, 0}};
		const int n = poll(ends, 2, LOOK_EVERY_MS);

		if (n < 0 && errno != EINTR)
			error = errno;
		if (n > 0 && ends[0].revents)
			error = take_answer(talk, from, &is_over);
		if (n > 0 && to >= 0 && ends[1].revents)
			give(talk, &to);
		if (has_beaten(script, &beat))
			until = now_s() + script->limit_s;
		if (now_s() > until && !is_over)
			error = ETIMEDOUT;
	}
	if (to >= 0)
		close(to);
	return error;
}

static int run(const struct hpm_python_plugin *script, const char *task, int answers_as,
	       struct talk *talk, char *why, size_t size)
{
	int to[2], from[2], error, status = 0;
	struct gn_file_signals signals;
	pid_t pid = -1;

	error = open_pipe(to);
	if (!error && (error = open_pipe(from))) {
		close(to[0]);
		close(to[1]);
	}
	if (error) {
		snprintf(why, size, "no process can be created for it: %s", strerror(error));
		return -1;
	}
	error = spawn(script, task, to[0], from[1], answers_as, &pid);
	close(to[0]);
	close(from[1]);
	if (error) {
		snprintf(why, size, "%s cannot be run: %s", script->python, strerror(error));
		close(to[1]);
		close(from[0]);
		return -1;
	}
	gn_file_signals_hold(&signals);
	error = exchange(script, talk, to[1], from[0]);
	gn_file_signals_release(&signals);
	close(from[0]);
	if (error)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (error == ETIMEDOUT)
		snprintf(why, size,
			 "it did not return within %.0f s (HPM_AGGREGATE_TIMEOUT gives it more "
			 "time)",
			 script->limit_s);
	else if (error)
		snprintf(why, size, "its answer cannot be read: %s", strerror(error));
	else if (WIFSIGNALED(status))
		snprintf(why, size, "it was killed by signal %d", WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		snprintf(why, size, "it says why above");
	else
		return 0;
	return -1;
}

/* --- what it is for --------------------------------------------------------------------------- */

int hpm_python_plugin_distribute(const struct hpm_python_plugin *script, char *why, size_t size)
{
	struct talk talk = {.given = (const unsigned char *)""};
	const int failed = run(script, "distribute", CHANGES_FD, &talk, why, size);
	char *variable = (char *)talk.answer, *end = variable + talk.size;

	for (; !failed && variable < end && memchr(variable, '\0', (size_t)(end - variable));
	     variable += strlen(variable) + 1) {
		char *equals = strchr(variable, '=');

		if (!equals) {
			unsetenv(variable);
			continue;
		}
		*equals = '\0';
		setenv(variable, equals + 1, 1);
		*equals = '=';
	}
	free(talk.answer);
	return failed;
}

int hpm_python_plugin_aggregate(const struct hpm_python_plugin *script,
				const struct hpm_header *header, int n, hpm_event_vector in,
				int *n_out, hpm_event_vector *out, int *is_print_task, char *why,
				size_t size)
{
	struct hpm_items items = {
		.task = (int)header->task,
		.process = header->process,
		.started = header->started,
		.stopped = header->stopped,
		.wall_s = header->wall_s,
		.program = (char *)header->program,
		.command = (char *)header->command,
		.host = (char *)header->host,
		.events = (char *)header->events,
		.notes = (char *)header->notes,
		.n = n,
		.item = in,
	};
	/* What comes out is for as long as the program. */
	static struct hpm_items aggregated;
	unsigned char *bytes;
	struct talk talk = {0};
	char lie[256];
	size_t used;
	int failed;

	if (hpm_items_write(&items, &bytes, &talk.left)) {
		snprintf(why, size, "there is no memory for it");
		return -1;
	}
	talk.given = bytes;
	failed = run(script, "aggregate", STDOUT_FILENO, &talk, why, size);
	free(bytes);
	if (!failed && talk.size < 1) {
		snprintf(why, size, "it gave no items");
		failed = -1;
	} else if (!failed &&
		   hpm_items_read(talk.answer + 1, talk.size - 1, &aggregated, &used, lie)) {
		snprintf(why, size, "its results are invalid: %s", lie);
		failed = -1;
	}
	*is_print_task = !failed && talk.answer[0];
	*n_out = aggregated.n;
	*out = aggregated.item;
	free(talk.answer);
	return failed;
}
