/* Files and pipes, written as a whole. */
#include "write_all.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int gn_write_all(int fd, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	while (size) {
		const ssize_t written = write(fd, from, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};

			poll(&room, 1, -1);
			continue;
		}
		if (written <= 0)
			return written ? errno : EIO;
		from += written;
		size -= (size_t)written;
	}
	return 0;
}
