/* A child of vfork runs in its parent's memory: it writes, opens and ends there. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { CHILDREN = 3 };

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 1 + 2 * CHILDREN, 10 * (1 + 2 * CHILDREN),
	 10 * (1 + 2 * CHILDREN)},
	{"data", "close", "posix", 1 + CHILDREN, 0, 0},
	{"own", "open", "posix", CHILDREN, 0, 0},
	{"own", "write", "posix", CHILDREN, 10 * CHILDREN, 10 * CHILDREN},
	{"next", "open", "posix", CHILDREN, 0, 0},
	{"next", "write", "posix", CHILDREN, 10 * CHILDREN, 10 * CHILDREN},
	{"next", "close", "posix", CHILDREN, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[10];
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	fd = open("data", O_WRONLY | O_CREAT | O_APPEND, 0600);
	CHECK(fd >= 0 && write(fd, bytes, 10) == 10);
	for (int i = 0; i < CHILDREN; i++) {
		volatile int own = -1;
		int status, next;
		const pid_t child = vfork();

		CHECK(child >= 0);
		if (child == 0) {
			if (write(fd, bytes, 10) != 10 || close(fd))
				_exit(1);
			/* Takes the number that is another file's in the parent. */
			own = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
			_exit(write(own, bytes, 10) == 10 ? 7 : 1);
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		CHECK(own == fd);
		CHECK(write(fd, bytes, 10) == 10);
		next = open("next", O_WRONLY | O_CREAT | O_APPEND, 0600);
		CHECK(next >= 0 && write(next, bytes, 10) == 10 && close(next) == 0);
	}
	CHECK(close(fd) == 0);
	end();
	say("vforked: %d children\n", CHILDREN);
	return 0;
}
