/* Files and pipes, written as a whole. */
#include "whole.h"

#include <errno.h>
#include <unistd.h>

int hpm_write_all(int fd, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	while (size) {
		const ssize_t written = write(fd, from, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? errno : EIO;
		from += written;
		size -= (size_t)written;
	}
	return 0;
}
