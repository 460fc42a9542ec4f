/* Pipes and sockets take the numbers of files that were closed: nothing of them is the files'. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 6, 0, 0},
	{"data", "write", "posix", 6, 60, 60},
	{"data", "close", "posix", 6, 0, 0},
};

/* Has written through two descriptors of the file, and closed them; returns the lower number. */
static int two_numbers(void)
{
	const int low = open("data", O_WRONLY | O_CREAT | O_APPEND, 0600);
	const int high = open("data", O_WRONLY | O_APPEND);

	CHECK(low >= 0 && high == low + 1);
	CHECK(write(low, "0123456789", 10) == 10 && write(high, "0123456789", 10) == 10);
	CHECK(close(low) == 0 && close(high) == 0);
	return low;
}

static void exchange(int from, int to)
{
	char bytes[100];

	fill(bytes, 100, 0);
	CHECK(write(from, bytes, 100) == 100);
	memset(bytes, 0, 100);
	CHECK(read(to, bytes, 100) == 100 && is_filled(bytes, 100, 0));
	CHECK(close(from) == 0 && close(to) == 0);
}

int main(int argc, char **argv)
{
	int ends[2], low;
	unsigned long long count = 3;

	TELL(argc, argv, EXPECTED);
	begin();
	low = two_numbers();
	CHECK(pipe(ends) == 0 && ends[0] == low && ends[1] == low + 1);
	exchange(ends[1], ends[0]);
	low = two_numbers();
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && ends[0] == low);
	exchange(ends[0], ends[1]);
	low = two_numbers();
	CHECK(eventfd(0, 0) == low && write(low, &count, 8) == 8 && read(low, &count, 8) == 8);
	CHECK(count == 3 && epoll_create1(0) == low + 1);
	CHECK(close(low) == 0 && close(low + 1) == 0);
	end();
	say("pipes: 60 bytes in the file\n");
	return 0;
}
