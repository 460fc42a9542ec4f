/* What dlerror(3) has for the program is there when it has called others meanwhile. */
#include <dlfcn.h>
#include <fcntl.h>

#include "corpus.h"

static const struct expected rows[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 1, 5, 5},
	{"data", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	const char *message;
	int fd;

	TELL(argc, argv, rows);
	CHECK(!dlopen("there/is/none.so", RTLD_NOW));
	begin();
	fd = open("data", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, "hello", 5) == 5 && !close(fd));
	end();
	message = dlerror();
	say("loader: %s\n", message ? message : "nothing");
	return 0;
}
