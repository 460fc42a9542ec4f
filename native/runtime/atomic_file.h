/* A file that is there as a whole or not at all. */
#ifndef GNOMON_RUNTIME_ATOMIC_FILE_H
#define GNOMON_RUNTIME_ATOMIC_FILE_H

#include <limits.h>
#include <stddef.h>

#define GN_ATOMIC_FILE_BUFFER 65536

struct gn_atomic_file {
	int fd;
	int error;	     /* errno of the first thing that failed; nothing is written after it */
	size_t used;	     /* bytes of `buffer` */
	const char *name;    /* as the user knows it: the path, or "standard output" */
	char path[PATH_MAX]; /* "" for a descriptor that was there before */
	char temporary[PATH_MAX]; /* beside it until it is complete; "" for what is no plain file */
	char buffer[GN_ATOMIC_FILE_BUFFER];
};

/* Begins a file, or what goes to a descriptor that stays open. Failure is kept until the end. */
void gn_atomic_file_open(struct gn_atomic_file *file, const char *path);
void gn_atomic_file_wrap(struct gn_atomic_file *file, int fd, const char *name);

void gn_put(struct gn_atomic_file *file, const char *text, size_t length);
void gn_puts(struct gn_atomic_file *file, const char *text);
__attribute__((format(printf, 2, 3))) void gn_print(struct gn_atomic_file *file, const char *format,
						    ...);

/*
 * Writes the rest and gives the file its name. 0, or the errno of what failed first: then nothing
 * is left of it, and what had the name before still has it.
 */
int gn_atomic_file_close(struct gn_atomic_file *file);

#endif
