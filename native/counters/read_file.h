/* Small text files and folders of /proc, /sys and tracefs, read whole and distrusted. */
#ifndef GNOMON_COUNTERS_READ_FILE_H
#define GNOMON_COUNTERS_READ_FILE_H

#include <stddef.h>

/* The longest path that is made up here; a longer one is -ENAMETOOLONG. */
#define GN_PATH_MAX 4096

/* sysfs gives no file more than a page. */
#define GN_FILE_MAX 4096

/*
 * Reads a file, without the blanks around its text, into text[size]; the path is given as to
 * printf. Zero bytes become '\1', so that nobody mistakes a part for the whole.
 * Returns the length, or a negative errno with an empty text: -EFBIG for what does not fit.
 */
__attribute__((format(printf, 3, 4))) int gn_file_text(char *text, size_t size, const char *format,
						       ...);

/* The same, but what does not fit is left out. */
__attribute__((format(printf, 3, 4))) int gn_file_start(char *text, size_t size, const char *format,
							...);

/* Whether there is something at the path: 1, or 0. */
__attribute__((format(printf, 1, 2))) int gn_file_exists(const char *format, ...);

/* Whether a folder is there: 1, or 0. */
__attribute__((format(printf, 1, 2))) int gn_is_folder(const char *format, ...);

/* Names, in the order of their bytes. */
struct gn_names {
	char **name;
	size_t n;
	size_t room;
};

/*
 * The names in a folder. Returns 0, or a negative errno with an empty list: -ENOMEM, -EFBIG for
 * more than a million.
 */
__attribute__((format(printf, 2, 3))) int gn_names_in(struct gn_names *list, const char *format,
						      ...);

/* Whether the folder has any entry: 1, 0 or a negative errno. */
__attribute__((format(printf, 1, 2))) int gn_has_names(const char *format, ...);

void gn_names_free(struct gn_names *list);

/* Removes the blanks around a text in place and returns where it begins. */
char *gn_strip(char *text);

#endif
