/* Descriptors of ours in a program that counts on the lowest ones. */
#ifndef GNOMON_CORE_DESCRIPTOR_H
#define GNOMON_CORE_DESCRIPTOR_H

#include <fcntl.h>
#include <unistd.h>

/*
 * The descriptor moved to a high number. A program that closes descriptors which it does not know,
 * and opens others, then does not get one of ours, which we would go on using; nor do its own have
 * other numbers than without us.
 */
#define GN_DESCRIPTOR_HIGH 512

static inline int gn_descriptor_raise(int fd)
{
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, GN_DESCRIPTOR_HIGH);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Locks the file, for as long as this process lives and has the descriptor: it is in use. */
static inline void gn_descriptor_mark_used(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(fd, F_SETLK, &lock);
}

#endif
