/* What the system tells of the device that a file is on, and of its pages in the kernel's cache. */
#ifndef GNOMON_MIO_PREFETCH_DEVICE_H
#define GNOMON_MIO_PREFETCH_DEVICE_H

#include <stdint.h>
#include <sys/types.h>

/* How far the kernel reads ahead, in KiB; -1: it does not say. */
int gn_device_read_ahead_kib(dev_t device);

/* What the kernel's cache has of a range, in percent; -1: it does not say (before Linux 6.5). */
int gn_device_cached_percent(int fd, int64_t offset, int64_t bytes);

#endif
