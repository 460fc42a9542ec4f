/* Bytes that no read and no write of the program moves: sendfile, copy_file_range, splice, mmap. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

enum { SIZE = 20000 };

/* What has two ends is counted at both, and called otherwise where it reads. */
static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", 1, SIZE, SIZE},
	{"data", "sendfile source", "posix", 2, SIZE, SIZE},
	{"data", "copy_file_range source", "posix", 2, SIZE + 100, SIZE},
	{"data", "mmap", "posix", 1, 0, 0},
	{"data", "splice source", "posix", 1, 1000, 1000},
	{"data", "close", "posix", 1, 0, 0},
	{"sent", "open", "posix", 1, 0, 0},
	{"sent", "sendfile", "posix", 2, SIZE, SIZE},
	{"sent", "close", "posix", 1, 0, 0},
	{"copied", "open", "posix", 1, 0, 0},
	{"copied", "copy_file_range", "posix", 2, SIZE + 100, SIZE},
	{"copied", "pread", "posix", 1, 10, 10},
	{"copied", "close", "posix", 1, 0, 0},
	{"mapped", "open", "posix", 1, 0, 0},
	{"mapped", "ftruncate", "posix", 1, 0, 0},
	{"mapped", "mmap", "posix", 1, 0, 0},
	{"mapped", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	static char bytes[SIZE];
	const char *source;
	char *mapped;
	int data, sent, copied, map_fd, ends[2];
	off_t from = SIZE / 2;
	off64_t at_end = SIZE;

	TELL(argc, argv, EXPECTED);
	fill(bytes, SIZE, 0);
	begin();
	data = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(data >= 0 && write(data, bytes, SIZE) == SIZE);
	sent = open("sent", O_WRONLY | O_CREAT, 0600);
	CHECK(sent >= 0 && sendfile(sent, data, &from, SIZE / 2) == SIZE / 2 && from == SIZE);
	from = 0;
	CHECK(sendfile64(sent, data, &from, SIZE / 2) == SIZE / 2 && from == SIZE / 2);
	copied = open("copied", O_RDWR | O_CREAT, 0600);
	CHECK(copied >= 0);
	CHECK(copy_file_range(data, (off64_t[]){0}, copied, NULL, SIZE, 0) == SIZE);
	CHECK(copy_file_range(data, &at_end, copied, NULL, 100, 0) == 0);
	CHECK(pread(copied, bytes, 10, SIZE - 10) == 10 && is_filled(bytes, 10, SIZE - 10));
	source = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, data, 0);
	CHECK(source != MAP_FAILED && is_filled(source, SIZE, 0));
	map_fd = open("mapped", O_RDWR | O_CREAT, 0600);
	CHECK(map_fd >= 0 && ftruncate(map_fd, SIZE) == 0);
	mapped = mmap64(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	CHECK(mapped != MAP_FAILED);
	memcpy(mapped, source, SIZE);
	CHECK(msync(mapped, SIZE, MS_SYNC) == 0 && munmap(mapped, SIZE) == 0);
	CHECK(pipe(ends) == 0 && splice(data, (off64_t[]){5}, ends[1], NULL, 1000, 0) == 1000);
	CHECK(read(ends[0], bytes, 1000) == 1000 && is_filled(bytes, 1000, 5));
	CHECK(close(data) == 0 && close(sent) == 0 && close(copied) == 0 && close(map_fd) == 0);
	end();
	say("copies: 4 times %d bytes\n", SIZE);
	return 0;
}
