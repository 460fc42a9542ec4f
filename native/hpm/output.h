/* A file that is there as a whole or not at all. */
#ifndef GNOMON_HPM_OUTPUT_H
#define GNOMON_HPM_OUTPUT_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>

#define HPM_OUTPUT_BUFFER 65536

struct hpm_output {
	int fd;
	int error;	     /* errno of the first thing that failed; nothing is written after it */
	size_t used;	     /* bytes of `buffer` */
	const char *what;    /* as the user knows it: the path, or "standard output" */
	char path[PATH_MAX]; /* "" for a descriptor that was there before */
	char temporary[PATH_MAX]; /* beside it until it is complete; "" for what is no plain file */
	char buffer[HPM_OUTPUT_BUFFER];
};

/* Begins a file, or what goes to a descriptor that stays open. Failure is kept until the end. */
void hpm_output_open(struct hpm_output *output, const char *path);
void hpm_output_to(struct hpm_output *output, int fd, const char *what);

void hpm_put(struct hpm_output *output, const char *text, size_t length);
void hpm_puts(struct hpm_output *output, const char *text);
__attribute__((format(printf, 2, 3))) void hpm_print(struct hpm_output *output, const char *format,
						     ...);

/*
 * Writes the rest and gives the file its name. 0, or -1: said on stderr, and what had the name
 * before still has it. A pipe without readers is no failure.
 */
int hpm_output_close(struct hpm_output *output);

/* Writes all of it, waiting where it must: 0, or the errno. */
int hpm_write(int fd, const char *text, size_t length);

/*
 * Between the two, a broken pipe and the limit of a file's size are errors in the calling thread,
 * not signals that end the program.
 */
struct hpm_signals {
	sigset_t held;
	sigset_t before;
	sigset_t pending;
};
void hpm_signals_hold(struct hpm_signals *signals);
void hpm_signals_release(const struct hpm_signals *signals);

#endif
