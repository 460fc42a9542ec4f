/* Numbers of descriptors that lead elsewhere later: close_range, dup2, dup3, fcntl, closefrom. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

static const struct expected EXPECTED[] = {
	{"first", "open", "posix", 1, 0, 0},	    {"first", "write", "posix", 4, 40, 40},
	{"first", "dup", "posix", 1, 0, 0},	    {"first", "dup2", "posix", 2, 0, 0},
	{"first", "fcntl", "posix", 2, 0, 0},	    {"first", "close", "posix", 2, 0, 0},
	{"second", "open", "posix", 1, 0, 0},	    {"second", "write", "posix", 1, 10, 10},
	{"third", "open", "posix", 2, 0, 0},	    {"third", "write", "posix", 2, 20, 20},
	{"third", "dup3", "posix", 1, 0, 0},	    {"/dev/null", "open", "posix", 3, 0, 0},
	{"/dev/null", "write", "posix", 3, 21, 21}, {"/dev/null", "dup2", "posix", 1, 0, 0},
	{"/dev/null", "close", "posix", 2, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[10];
	int first, second, null, copy, third;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	first = open("first", O_WRONLY | O_CREAT, 0600);
	CHECK(first >= 0 && write(first, bytes, 10) == 10);
	/* The copy outlives the first number. */
	copy = dup(first);
	CHECK(copy >= 0 && close(first) == 0 && write(copy, bytes, 10) == 10);
	null = open("/dev/null", O_WRONLY);
	CHECK(null == first && write(null, bytes, 7) == 7);
	/* Onto one that is in use: /dev/null is no longer there, then the file is not. */
	CHECK(dup2(copy, null) == null && write(null, bytes, 10) == 10);
	CHECK(dup2(copy, copy) == copy);
	CHECK(fcntl(copy, F_DUPFD, 100) == 100 && fcntl(copy, F_DUPFD_CLOEXEC, 200) == 200);
	CHECK(write(100, bytes, 10) == 10 && close(200) == 0);
	first = open("/dev/null", O_WRONLY);
	CHECK(first >= 0 && dup2(first, 100) == 100 && write(100, bytes, 7) == 7);
	CHECK(close(100) == 0 && close(first) == 0);
	/* A range of numbers, in one call. */
	second = open("second", O_WRONLY | O_CREAT, 0600);
	CHECK(second >= 0 && write(second, bytes, 10) == 10);
	CHECK(close_range((unsigned int)copy, (unsigned int)second, 0) == 0);
	CHECK(write(second, bytes, 0) == -1 && errno == EBADF);
	closefrom(null);
	null = open("/dev/null", O_WRONLY);
	CHECK(null >= 0 && write(null, bytes, 7) == 7);
	third = open("third", O_WRONLY | O_CREAT, 0600);
	CHECK(third >= 0 && dup3(third, null, O_CLOEXEC) == null && write(null, bytes, 10) == 10);
	closefrom(null);
	third = open("third", O_WRONLY | O_APPEND);
	CHECK(third == null && write(third, bytes, 10) == 10);
	end();
	say("stale: no descriptor is what it was\n");
	return 0;
}
