#include "prefetch_device.h"

#include "system_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* of all machines */
#endif

static int number_in(const char *path)
{
	char text[32];
	ssize_t n;
	int fd = gn_mio_system_open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	n = gn_mio_system_pread(fd, text, sizeof(text) - 1, 0);
	gn_mio_system_close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return atoi(text);
}

int gn_device_read_ahead_kib(dev_t device)
{
	/* Of a partition the queue is that of the disk; NFS and others have no queue. */
	static const char *const form[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb",
	};
	int kib = -1;

	for (unsigned int i = 0; i < sizeof(form) / sizeof(*form) && kib < 0; i++) {
		char path[96];

		snprintf(path, sizeof(path), form[i], major(device), minor(device));
		kib = number_in(path);
	}
	return kib;
}

int gn_device_cached_percent(int fd, int64_t offset, int64_t bytes)
{
	struct {
		uint64_t offset, bytes;
	} range = {(uint64_t)offset, (uint64_t)bytes};
	struct {
		uint64_t cached, dirty, writeback, evicted, recently_evicted;
	} count;
	const int before = errno;
	const int64_t page = sysconf(_SC_PAGESIZE);

	if (gn_mio_result(syscall(SYS_cachestat, fd, &range, &count, 0), before) < 0 || bytes <= 0)
		return -1;
	return (int)((int64_t)count.cached * page * 100 / bytes);
}
