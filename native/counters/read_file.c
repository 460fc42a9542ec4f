/* Small text files and folders, read whole. */
#include "read_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 1000000u

static int path_of(char *path, const char *format, va_list arguments)
{
	const int length = vsnprintf(path, GN_PATH_MAX, format, arguments);

	if (length < 0)
		return -EINVAL;
	return length < GN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int is_blank(char one)
{
	return one == ' ' || (one >= '\t' && one <= '\r') || (one >= '\x1c' && one <= '\x1f');
}

char *gn_strip(char *text)
{
	size_t length;

	while (is_blank(*text))
		text++;
	length = strlen(text);
	while (length && is_blank(text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

static int drain(int fd, char *text, size_t size, int is_cut)
{
	size_t length = 0;

	while (length < size) {
		const ssize_t got = read(fd, text + length, size - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		length += (size_t)got;
	}
	if (length == size && !is_cut)
		return -EFBIG;
	if (length == size)
		length--;
	text[length] = '\0';
	return (int)length;
}

static int read_path(const char *path, char *text, size_t size, int is_cut)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *begin;
	int length;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	length = drain(fd, text, size, is_cut);
	close(fd);
	if (length < 0) {
		text[0] = '\0';
		return length;
	}
	for (int i = 0; i < length; i++)
		if (!text[i])
			text[i] = '\1';
	begin = gn_strip(text);
	length = (int)strlen(begin);
	memmove(text, begin, (size_t)length + 1);
	return length;
}

static int read_named(char *text, size_t size, int is_cut, const char *format, va_list arguments)
{
	char path[GN_PATH_MAX];
	const int failed = path_of(path, format, arguments);

	text[0] = '\0';
	return failed ? failed : read_path(path, text, size, is_cut);
}

int gn_file_text(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int failed;

	va_start(arguments, format);
	failed = read_named(text, size, 0, format, arguments);
	va_end(arguments);
	return failed;
}

int gn_file_start(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int failed;

	va_start(arguments, format);
	failed = read_named(text, size, 1, format, arguments);
	va_end(arguments);
	return failed;
}

int gn_file_exists(const char *format, ...)
{
	char path[GN_PATH_MAX];
	struct stat about;
	va_list arguments;
	int failed;

	va_start(arguments, format);
	failed = path_of(path, format, arguments);
	va_end(arguments);
	return !failed && !stat(path, &about);
}

int gn_is_folder(const char *format, ...)
{
	char path[GN_PATH_MAX];
	struct stat about;
	va_list arguments;
	int failed;

	va_start(arguments, format);
	failed = path_of(path, format, arguments);
	va_end(arguments);
	return !failed && !stat(path, &about) && S_ISDIR(about.st_mode);
}

static int add_name(struct gn_names *list, const char *name)
{
	if (list->n == list->room) {
		const size_t room = list->room ? 2 * list->room : 64;
		char **grown = realloc(list->name, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->name = grown;
		list->room = room;
	}
	list->name[list->n] = strdup(name);
	if (!list->name[list->n])
		return -ENOMEM;
	list->n++;
	return 0;
}

void gn_names_free(struct gn_names *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->name[i]);
	free(list->name);
	memset(list, 0, sizeof(*list));
}

static int by_bytes(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* readdir() says neither end nor error but through errno. */
static int collect(DIR *folder, struct gn_names *list)
{
	for (;;) {
		const struct dirent *entry;
		int failed;

		errno = 0;
		entry = readdir(folder);
		if (!entry)
			return -errno;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (list->n == NAMES_MAX)
			return -EFBIG;
		failed = add_name(list, entry->d_name);
		if (failed)
			return failed;
	}
}

int gn_names_in(struct gn_names *list, const char *format, ...)
{
	char path[GN_PATH_MAX];
	va_list arguments;
	DIR *folder;
	int failed;

	memset(list, 0, sizeof(*list));
	va_start(arguments, format);
	failed = path_of(path, format, arguments);
	va_end(arguments);
	if (failed)
		return failed;
	folder = opendir(path);
	if (!folder)
		return -errno;
	failed = collect(folder, list);
	closedir(folder);
	if (failed) {
		gn_names_free(list);
		return failed;
	}
	if (list->n)
		qsort(list->name, list->n, sizeof(*list->name), by_bytes);
	return 0;
}

int gn_has_names(const char *format, ...)
{
	char path[GN_PATH_MAX];
	const struct dirent *entry;
	va_list arguments;
	DIR *folder;
	int failed;

	va_start(arguments, format);
	failed = path_of(path, format, arguments);
	va_end(arguments);
	if (failed)
		return failed;
	folder = opendir(path);
	if (!folder)
		return -errno;
	do {
		errno = 0;
		entry = readdir(folder);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	failed = entry ? 1 : -errno;
	closedir(folder);
	return failed;
}
