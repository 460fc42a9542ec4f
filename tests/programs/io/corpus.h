/*
 * What the programs of this folder share: the marks that enclose their calls, how they say what
 * came of them, and the table of what they expect to be counted.
 *
 * Each program works in an empty working directory, checks its own data, prints the same in every
 * run, and with --expect only prints its table: JSON lines, with null where nothing is expected.
 * Layers: "posix" and "stdio" are what the program calls itself; "libc" are system calls that the C
 * library makes within such a call (file actions of posix_spawn), which only strace sees.
 */
#ifndef GNOMON_IO_CORPUS_H
#define GNOMON_IO_CORPUS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANY (-1L) /* of bytes: whatever it is */
#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))
#define TELL(argc, argv, rows) tell_if_asked(argc, argv, rows, sizeof(rows) / sizeof(*(rows)))

struct expected {
	const char *path, *name, *layer;
	long calls, bytes_asked, bytes;
};

/* Not with stdio: what the program prints is outside of what is counted, but stdio may be in it. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		_exit(71);
}

static inline void fail(const char *file, int line, const char *condition)
{
	say("%s:%d: %s is false (errno %d)\n", file, line, condition, errno);
	_exit(70);
}

static inline void begin(void)
{
	access("/gnomon-corpus-begin", F_OK);
}

static inline void end(void)
{
	access("/gnomon-corpus-end", F_OK);
}

static inline void tell(const struct expected *row)
{
	say("{\"path\": \"%s\", \"name\": \"%s\", \"layer\": \"%s\", \"calls\": %ld", row->path,
	    row->name, row->layer, row->calls);
	if (row->bytes_asked == ANY)
		say(", \"bytes_asked\": null");
	else
		say(", \"bytes_asked\": %ld", row->bytes_asked);
	if (row->bytes == ANY)
		say(", \"bytes\": null}\n");
	else
		say(", \"bytes\": %ld}\n", row->bytes);
}

static inline int is_asked(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "--expect") == 0;
}

static inline void tell_if_asked(int argc, char **argv, const struct expected *rows, size_t n)
{
	if (!is_asked(argc, argv))
		return;
	for (size_t row = 0; row < n; row++)
		tell(&rows[row]);
	_exit(0);
}

/* Content of which each byte tells its offset. */
static inline void fill(char *bytes, size_t n, size_t offset)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)('a' + (offset + i) % 23);
}

static inline int is_filled(const char *bytes, size_t n, size_t offset)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != (char)('a' + (offset + i) % 23))
			return 0;
	}
	return 1;
}

#endif
