/* posix_spawn with file actions, posix_spawnp, and what the children do with what they inherit. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* File actions are carried out by the C library, within posix_spawn. */
static const struct expected EXPECTED[] = {
	{"given", "open", "posix", 1, 0, 0},  {"given", "write", "posix", 3, 30, 30},
	{"given", "close", "posix", 1, 0, 0}, {"given", "dup2", "libc", 1, 0, 0},
	{"opened", "open", "libc", 1, 0, 0},  {"opened", "write", "posix", 1, 10, 10},
	{"opened", "dup2", "libc", 1, 0, 0},  {"opened", "close", "libc", 1, 0, 0},
	{"own", "open", "posix", 2, 0, 0},    {"own", "write", "posix", 2, 20, 20},
	{"own", "close", "posix", 2, 0, 0},
};

enum { OPENED = 50, GIVEN = 51 };

static int child(const char *kind)
{
	int fd;

	if (strcmp(kind, "actions") == 0) {
		CHECK(write(OPENED, "0123456789", 10) == 10);
		CHECK(write(GIVEN, "0123456789", 10) == 10);
	}
	fd = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
	CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10 && close(fd) == 0);
	return 21;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	int fd, status;
	pid_t pid;

	TELL(argc, argv, EXPECTED);
	if (argc > 1)
		return child(argv[1]);
	begin();
	fd = open("given", O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
	CHECK(posix_spawn_file_actions_init(&actions) == 0);
	CHECK(posix_spawn_file_actions_addopen(&actions, OPENED, "opened", O_WRONLY | O_CREAT,
					       0600) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, fd, GIVEN) == 0);
	CHECK(posix_spawn(&pid, "/proc/self/exe", &actions, NULL,
			  (char *[]){argv[0], (char *)"actions", NULL}, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 21);
	CHECK(posix_spawnp(&pid, "/proc/self/exe", NULL, NULL,
			   (char *[]){argv[0], (char *)"plain", NULL}, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 21);
	CHECK(write(fd, "0123456789", 10) == 10 && close(fd) == 0);
	CHECK(posix_spawn(&pid, "absent", NULL, NULL, argv, environ) == ENOENT);
	end();
	say("spawned: 2 children\n");
	return 0;
}
