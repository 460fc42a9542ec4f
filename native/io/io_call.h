/*
 * A call on files, from its begin to its account. Wrappers, which are generated from
 * gnomon/io/calls.toml, call what the program called and then say what it was about.
 */
#ifndef GNOMON_IO_CALL_H
#define GNOMON_IO_CALL_H

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "descriptors.h"
#include "io_process.h"

struct gn_io_call {
	struct gn_io_thread *thread; /* NULL: it is not recorded */
	uint64_t begin;
	uintptr_t return_address, frame;
	uint32_t routine;
	uint32_t opening; /* number of the open file that is closed; GN_TOTALS_NONE */
};

/* What a call is about. */
struct gn_io_target {
	uint32_t file;
	uint32_t opening; /* number of its open file; GN_TOTALS_NONE */
};

#define GN_IO_NOTHING ((struct gn_io_target){GN_IO_NO_FILE, GN_TOTALS_NONE})

enum gn_io_direction { GN_IO_READS, GN_IO_WRITES };

GN_IO_INLINE struct gn_io_call gn_io_call_begin(uint32_t routine, void *return_address, void *frame)
{
	return (struct gn_io_call){
		.thread = gn_io_thread(),
		.return_address = (uintptr_t)return_address,
		.frame = (uintptr_t)frame,
		.routine = routine,
		.opening = GN_TOTALS_NONE,
		.begin = gn_bare_ticks(gn_io_uses_counter),
	};
}

/* In a wrapper. */
#define GN_IO_CALL(routine)                                                                        \
	gn_io_call_begin(routine, __builtin_return_address(0), __builtin_frame_address(0))

/* Of a call that failed, the parts may be where nothing can be read. */
uint64_t gn_io_failed_vector_bytes(const struct iovec *vector, int n);

static inline uint64_t gn_io_vector_bytes(const struct iovec *vector, int n, ssize_t result)
{
	uint64_t bytes = 0;

	if (result < 0)
		return gn_io_failed_vector_bytes(vector, n);
	for (int i = 0; i < n; i++)
		bytes += vector[i].iov_len;
	return bytes;
}

/* Where a copy began, of the offset that it moved; -1: at the position, or it failed. */
static inline int64_t gn_io_offset_before(const off_t *offset, ssize_t result)
{
	return offset && result >= 0 ? *offset - result : -1;
}

static inline uint64_t gn_io_length(const char *text)
{
	return text ? strlen(text) : 0;
}

/* A call of a descriptor that moves no bytes of it. */
void gn_io_used(const struct gn_io_call *call, int fd, int failed);

/* Bytes that were asked for, and came; negative: it failed. At the file's position, which moves. */
void gn_io_moved(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
		 uint64_t asked, ssize_t result);

/* At an offset; -1: at the position (preadv2(2)). */
void gn_io_moved_at(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
		    uint64_t asked, ssize_t result, int64_t offset);

/* From a descriptor to another one, which has the call, as `from` has one of the number `source`;
 * offsets are -1 where positions move. */
void gn_io_copied(const struct gn_io_call *call, uint32_t source, int to, int64_t to_offset,
		  int from, int64_t from_offset, uint64_t asked, ssize_t result);

/* Of a file that is known, which it moves no bytes of; `offset`: where it led to, or
 * GN_IO_NO_POSITION. */
void gn_io_add(const struct gn_io_call *call, struct gn_io_target target, int64_t offset,
	       int failed);

/* The position is `result` now; negative: it failed. */
void gn_io_sought(const struct gn_io_call *call, int fd, int64_t result);

/* `fd` was opened; negative: the path could not be. NULL: it has none. */
void gn_io_opened(const struct gn_io_call *call, int fd, int directory, const char *path,
		  int flags);

void gn_io_duplicated(const struct gn_io_call *call, int fd, int of);

/* Before descriptors are closed: the file of the first one, for gn_io_closed(). */
uint32_t gn_io_closing(struct gn_io_call *call, unsigned int first, unsigned int last);
void gn_io_closed(const struct gn_io_call *call, uint32_t file, int failed);

/* The same of several, where the first one's file is none; CLOSE_RANGE_CLOEXEC closes nothing yet.
 */
uint32_t gn_io_range_closing(const struct gn_io_call *call, unsigned int first, unsigned int last,
			     int flags);

/* fcntl(2). */
void gn_io_controlled(const struct gn_io_call *call, int fd, int command, const void *argument,
		      int result);

/* Bytes that are asked for in one call and come in another one. */
void gn_io_sized(const struct gn_io_call *call, int fd, uint64_t asked, uint64_t delivered,
		 int failed);
void gn_io_mapped(const struct gn_io_call *call, int fd, int flags, int failed);
void gn_io_listed(const struct gn_io_call *call, struct aiocb *const list[], int n, int failed);

/* A path before the call, which changes what it means. */
uint32_t gn_io_name(const struct gn_io_call *call, int directory, const char *path);

/* A path, seen from a directory. */
void gn_io_named(const struct gn_io_call *call, int directory, const char *path, int failed);

/* Of a stream's descriptor; -1: it is in memory. */
void gn_io_stream_request(const struct gn_io_call *call, int fd, enum gn_io_direction direction,
			  uint64_t asked, uint64_t delivered, int failed);

/* A call of stdio(3), within a stream's file; `asked` and `delivered` are bytes. */
void gn_io_stream_moved(const struct gn_io_call *call, FILE *stream, enum gn_io_direction direction,
			uint64_t asked, uint64_t delivered, int failed);
/* NULL: all streams. */
void gn_io_stream_flushed(const struct gn_io_call *call, FILE *stream, int failed);
void gn_io_stream_used(const struct gn_io_call *call, FILE *stream, int failed);
/* Where a stream is that has been sought; -1: it failed. */
int64_t gn_io_told(const struct gn_io_call *call, FILE *stream, int failed);
/* Its position is `result` now; negative: it failed. */
void gn_io_stream_sought(const struct gn_io_call *call, FILE *stream, int64_t result);
void gn_io_stream_opened(const struct gn_io_call *call, FILE *stream, const char *path,
			 const char *mode);
uint32_t gn_io_stream_closing(struct gn_io_call *call, FILE *stream);

void gn_io_directory_opened(const struct gn_io_call *call, DIR *directory, const char *path);
void gn_io_directory_used(const struct gn_io_call *call, DIR *directory, int failed);
uint32_t gn_io_directory_closing(struct gn_io_call *call, DIR *directory);

#endif
