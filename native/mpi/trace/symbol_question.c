#include "symbol_question.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION_MAGIC 0x51534e47u
#define ANSWER_MAGIC 0x41534e47u
#define VERSION 1u
#define RESOLVED 0u
#define SECONDS "60"
#define DEBUG_FOLDERS "/usr/lib/debug"
/* More than an answer about one address has. */
#define NUMBER_MAX (1u << 20)
#define INSTALLED "/lib/python3*/site-packages/gnomon/lib/gnomon-symbols"

enum { PATH, BUILD_ID, DEBUG_PATH, FOLDERS, N_TEXTS };

struct question {
	uint32_t magic, version, n, sizes[N_TEXTS];
	uint32_t offset[2];
};

struct answer {
	uint32_t magic, version, outcome, error, flags, n_addresses, n_frames, n_texts, n_inputs,
		zero;
	uint64_t texts_size, inputs_size;
};

struct frame {
	uint64_t start;
	uint32_t function, file, line, flags;
};

/* --- the program ------------------------------------------------------------------------------ */

/* libmpitrace.so is in a folder of its own beside it. */
static int is_beside_library(char *path)
{
	Dl_info own;
	char *slash;

	if (!dladdr((void *)&gn_trace_ask_symbol, &own) || !own.dli_fname ||
	    !realpath(own.dli_fname, path))
		return 0;
	for (int i = 0; i < 3; i++) {
		slash = strrchr(path, '/');
		if (!slash)
			return 0;
		*slash = 0;
	}
	return snprintf(slash, (size_t)(PATH_MAX - (slash - path)), "/gnomon-symbols") > 0 &&
	       !access(path, X_OK);
}

/* Of the installation whose command is found first. */
static int is_in_path(char *path)
{
	const char *folder = getenv("PATH");
	char command[PATH_MAX], pattern[PATH_MAX + sizeof(INSTALLED)];
	glob_t places;
	int is_there = 0;

	for (; folder && *folder && !is_there; folder += *folder == ':') {
		const int length = (int)strcspn(folder, ":");
		char *slash;

		if (snprintf(command, sizeof(command), "%.*s/gnomon", length, folder) >=
			    (int)sizeof(command) ||
		    access(command, X_OK) || !realpath(command, path)) {
			folder += length;
			continue;
		}
		for (int i = 0; i < 2 && (slash = strrchr(path, '/')); i++)
			*slash = 0;
		snprintf(pattern, sizeof(pattern), "%s" INSTALLED, path);
		if (!glob(pattern, 0, NULL, &places)) {
			is_there = snprintf(path, PATH_MAX, "%s", places.gl_pathv[0]) < PATH_MAX;
			globfree(&places);
		}
		folder += length;
	}
	return is_there;
}

static int find_program(char *path)
{
	const char *named = getenv(GN_TRACE_SYMBOLS_VARIABLE);

	if (named && *named)
		return snprintf(path, PATH_MAX, "%s", named) < PATH_MAX;
	return is_beside_library(path) || is_in_path(path);
}

/* One end of a connection to it; what cannot be written raises no signal. */
static int start(pid_t *process)
{
	char path[PATH_MAX];
	char *const words[] = {path, SECONDS, NULL}, *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], failed;

	if (!find_program(path) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	failed = posix_spawn(process, path, &actions, NULL, words, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (!failed)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* --- the conversation ------------------------------------------------------------------------- */

static int write_whole(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = send(fd, (const char *)bytes + done, size - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

static int read_whole(int fd, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = recv(fd, (char *)bytes + done, size - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

static int ask(int fd, const char *module, uint64_t offset)
{
	struct question question = {.magic = QUESTION_MAGIC, .version = VERSION, .n = 1};

	question.sizes[PATH] = (uint32_t)strlen(module);
	question.sizes[FOLDERS] = sizeof(DEBUG_FOLDERS) - 1;
	memcpy(question.offset, &offset, sizeof(offset));
	return write_whole(fd, &question, sizeof(question)) ||
	       write_whole(fd, module, question.sizes[PATH]) ||
	       write_whole(fd, DEBUG_FOLDERS, question.sizes[FOLDERS]);
}

/* NULL: it is not known. */
static char *text_of(const char *texts, const uint64_t *ends, const struct answer *head,
		     uint32_t number)
{
	const uint64_t begin = number ? ends[number - 1] : 0;

	if (number >= head->n_texts || ends[number] > head->texts_size || begin >= ends[number])
		return NULL;
	return strndup(texts + begin, ends[number] - begin);
}

static int hear(int fd, struct gn_trace_symbol *symbol)
{
	struct answer head;
	struct frame *frames = NULL;
	uint64_t *ends = NULL;
	char *texts = NULL;
	uint32_t first[2];
	int failed = -1;

	if (read_whole(fd, &head, sizeof(head)) || head.magic != ANSWER_MAGIC ||
	    head.version != VERSION || head.outcome != RESOLVED || head.n_addresses != 1 ||
	    !head.n_frames || head.n_frames > NUMBER_MAX || head.n_texts > NUMBER_MAX ||
	    head.texts_size > NUMBER_MAX || read_whole(fd, first, sizeof(first)))
		return -1;
	frames = calloc(head.n_frames, sizeof(*frames));
	ends = calloc((size_t)head.n_texts + 1, sizeof(*ends));
	texts = calloc(1, head.texts_size + 1);
	if (frames && ends && texts && !read_whole(fd, frames, head.n_frames * sizeof(*frames)) &&
	    !read_whole(fd, ends, head.n_texts * sizeof(*ends)) &&
	    !read_whole(fd, texts, head.texts_size)) {
		symbol->function = text_of(texts, ends, &head, frames[0].function);
		symbol->file = text_of(texts, ends, &head, frames[0].file);
		symbol->line = (int)frames[0].line;
		failed = symbol->function || symbol->file ? 0 : -1;
	}
	free(frames);
	free(ends);
	free(texts);
	return failed;
}

int gn_trace_ask_symbol(const char *module, uint64_t offset, struct gn_trace_symbol *symbol)
{
	pid_t process;
	const int fd = start(&process);
	int failed;

	memset(symbol, 0, sizeof(*symbol));
	if (fd < 0)
		return -1;
	failed = ask(fd, module, offset) || hear(fd, symbol);
	close(fd);
	while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
		;
	return failed ? -1 : 0;
}
