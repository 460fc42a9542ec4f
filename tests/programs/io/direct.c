/* O_DIRECT: what is aligned must stay so, and what is not fails as it did. Status 77: not here. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

enum { PAGE = 4096, PAGES = 4 };

/* Whether what is not aligned is refused depends on the file system. */
static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 1, PAGES * PAGE, PAGES * PAGE},
	{"data", "pread", "posix", 2, PAGES * PAGE + 100, ANY},
	{"data", "read", "posix", 2, 2 * PAGE, PAGE},
	{"data", "lseek", "posix", 1, 0, 0},
	{"data", "fcntl", "posix", 1, 0, 0},
	{"data", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char *pages;
	ssize_t odd;
	int fd;

	TELL(argc, argv, EXPECTED);
	CHECK(posix_memalign((void **)&pages, PAGE, PAGES * PAGE) == 0);
	fill(pages, PAGES * PAGE, 0);
	begin();
	fd = open("data", O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd < 0)
		return 77;
	CHECK(write(fd, pages, PAGES * PAGE) == PAGES * PAGE);
	memset(pages, 0, PAGES * PAGE);
	CHECK(pread(fd, pages, PAGES * PAGE, 0) == PAGES * PAGE);
	CHECK(is_filled(pages, PAGES * PAGE, 0));
	odd = pread(fd, pages + 1, 100, 3);
	CHECK((odd == -1 && errno == EINVAL) || (odd == 100 && is_filled(pages + 1, 100, 3)));
	CHECK(lseek(fd, (PAGES - 1) * PAGE, SEEK_SET) == (PAGES - 1) * PAGE);
	CHECK(read(fd, pages, PAGE) == PAGE && is_filled(pages, PAGE, (PAGES - 1) * PAGE));
	CHECK(read(fd, pages, PAGE) == 0);
	CHECK(fcntl(fd, F_GETFL) & O_DIRECT);
	CHECK(close(fd) == 0);
	end();
	say("direct: %d pages, unaligned %zd\n", PAGES, odd);
	return 0;
}
