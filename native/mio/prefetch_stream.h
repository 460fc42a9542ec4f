/* Pages of 1 MiB that helper threads read ahead, past the kernel's cache: a window of a file. */
#ifndef GNOMON_MIO_PREFETCH_STREAM_H
#define GNOMON_MIO_PREFETCH_STREAM_H

#include "prefetch_pool.h"

#include <sys/stat.h>

#define GN_STREAM_PAGE_BYTES (1 << 20)
#define GN_STREAM_PAGES 64 /* at most */

struct gn_stream_page {
	struct gn_prefetch_job job;
	int64_t number; /* -1: none */
};

struct gn_prefetch_stream {
	struct gn_direct_file file;
	int is_in_batches; /* requests are begun by half a window, not by page */
	unsigned int n_pages;
	char *memory;
	int64_t current; /* the page that was read last; -1: none */
	int64_t file_bytes;
	uint64_t begun, bytes_read; /* pages, and bytes that they gave */
	struct gn_stream_page page[GN_STREAM_PAGES];
};

/* 0 or a negative errno. */
int gn_stream_open(struct gn_prefetch_stream *stream, int fd, const struct stat *status,
		   size_t window_bytes);
/* Waits for what is being read. */
void gn_stream_close(struct gn_prefetch_stream *stream);
int gn_stream_is_open(const struct gn_prefetch_stream *stream);
/* Reads ahead of this offset, forward (1) or backward (-1). A negative errno: no threads. */
int gn_stream_advance(struct gn_prefetch_stream *stream, int64_t offset, int direction);
/* Up to `bytes`, after waiting for the page if it is on its way; 0: no page has them. */
size_t gn_stream_read(struct gn_prefetch_stream *stream, void *to, size_t bytes, int64_t offset);
/* What pages have of these bytes may be old; bytes < 0: of all from there on. */
void gn_stream_forget(struct gn_prefetch_stream *stream, int64_t offset, int64_t bytes);

#endif
