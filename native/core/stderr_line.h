/* What a library in a measured program says, in one line. */
#ifndef GNOMON_CORE_STDERR_LINE_H
#define GNOMON_CORE_STDERR_LINE_H

#include <sys/uio.h>

/*
 * Writes texts, whose lengths are counted here, to stderr. Neither a pipe that nobody reads, nor
 * one that is full, nor a file at the limit of its size may be felt by the program: then the line
 * is lost. The program's errno, signal handlers and cancellation have nothing to do with it.
 */
void gn_stderr_line(struct iovec *texts, int count);

#endif
