/* Calls before main and after it: in constructors, a handler of atexit and a destructor. */
#include "corpus.h"
#include <fcntl.h>

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 5, 50, 50},
	{"data", "close", "posix", 1, 0, 0},
};

static int fd = -1, writes;

static void note(void)
{
	if (fd >= 0 && write(fd, "0123456789", 10) == 10)
		writes++;
}

/* The first of the program's; what glibc hands to constructors are main's arguments. */
__attribute__((constructor(101))) static void first(int argc, char **argv)
{
	TELL(argc, argv, EXPECTED);
	begin();
	fd = open("data", O_WRONLY | O_CREAT, 0600);
	note();
}

__attribute__((constructor)) static void second(void)
{
	note();
}

__attribute__((destructor(101))) static void last(void)
{
	note();
	CHECK(writes == 5 && close(fd) == 0);
	end();
	say("early: %d writes\n", writes);
}

int main(void)
{
	CHECK(atexit(note) == 0);
	note();
	return 0;
}
