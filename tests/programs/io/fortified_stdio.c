/* Built with _FORTIFY_SOURCE: __fprintf_chk, __vfprintf_chk, __fread_chk, __fgets_chk, ... */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

enum { LINES = 1000, LENGTH = 8 };

static const struct expected EXPECTED[] = {
	{"text", "fopen", "stdio", 3, 0, 0},
	{"text", "fprintf", "stdio", LINES, LENGTH * LINES, LENGTH * LINES},
	{"text", "vfprintf", "stdio", 1, LENGTH, LENGTH},
	{"text", "fgets", "stdio", LINES, ANY, LENGTH * LINES},
	{"text", "fread", "stdio", 2, LENGTH * LINES, LENGTH * LINES},
	{"text", "fclose", "stdio", 3, 0, 0},
	{"printed", "open", "posix", 1, 0, 0},
	{"printed", "dprintf", "stdio", 1, LENGTH, LENGTH},
	{"printed", "vdprintf", "stdio", 1, LENGTH, LENGTH},
	{"printed", "close", "posix", 1, 0, 0},
};

__attribute__((format(printf, 3, 4))) static int print(FILE *stream, int fd, const char *format,
						       ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = stream ? vfprintf(stream, format, arguments) : vdprintf(fd, format, arguments);
	va_end(arguments);
	return length;
}

int main(int argc, char **argv)
{
	/* What the compiler cannot see: then the size of the buffer is checked in the call. */
	volatile int size = LENGTH + 1;
	volatile size_t half = LENGTH * LINES / 2;
	char line[16], bytes[LENGTH * LINES];
	FILE *stream;
	int fd;

	TELL(argc, argv, EXPECTED);
	begin();
	stream = fopen("text", "w");
	CHECK(stream);
	for (int i = 0; i < LINES; i++)
		CHECK(fprintf(stream, "%07d\n", i) == LENGTH);
	CHECK(print(stream, -1, "%07d\n", LINES) == LENGTH && fclose(stream) == 0);
	stream = fopen("text", "r");
	CHECK(stream);
	for (int i = 0; i < LINES; i++)
		CHECK(fgets(line, size, stream) == line && atoi(line) == i);
	CHECK(fclose(stream) == 0);
	stream = fopen("text", "r");
	CHECK(stream && fread(bytes, 1, half, stream) == half);
	CHECK(fread(bytes, half, 1, stream) == 1 && memcmp(bytes, "0000500\n", LENGTH) == 0);
	CHECK(fclose(stream) == 0);
	fd = open("printed", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && dprintf(fd, "%07d\n", 1) == LENGTH);
	CHECK(print(NULL, fd, "%07d\n", 2) == LENGTH && close(fd) == 0);
	end();
	say("fortified_stdio: %d lines\n", LINES);
	return 0;
}
