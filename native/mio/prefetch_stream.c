#include "prefetch_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int gn_stream_open(struct gn_prefetch_stream *stream, int fd, const struct stat *status,
		   size_t window_bytes)
{
	unsigned int n = (unsigned int)(window_bytes / GN_STREAM_PAGE_BYTES);
	const int before = errno;
	char *memory;

	n = n < 3 ? 3 : n > GN_STREAM_PAGES ? GN_STREAM_PAGES : n;
	memory = mmap(NULL, (size_t)n * GN_STREAM_PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		madvise(memory, (size_t)n * GN_STREAM_PAGE_BYTES, MADV_HUGEPAGE); /* fewer faults */
	errno = before;
	if (memory == MAP_FAILED)
		return -ENOMEM;
	stream->file = (struct gn_direct_file){fd, 0, status->st_dev, status->st_ino, -1, 0};
	stream->n_pages = n;
	stream->memory = memory;
	stream->current = -1;
	stream->file_bytes = status->st_size;
	for (unsigned int i = 0; i < n; i++) {
		struct gn_prefetch_job *job = &stream->page[i].job;

		stream->page[i].number = -1;
		atomic_store(&job->state, GN_JOB_IDLE);
		job->file = &stream->file;
		job->to = memory + (size_t)i * GN_STREAM_PAGE_BYTES;
		job->bytes = GN_STREAM_PAGE_BYTES;
	}
	return 0;
}

void gn_stream_close(struct gn_prefetch_stream *stream)
{
	if (!stream->memory)
		return;
	for (unsigned int i = 0; i < stream->n_pages; i++)
		gn_prefetch_wait(&stream->page[i].job, 0);
	gn_direct_file_close(&stream->file);
	munmap(stream->memory, (size_t)stream->n_pages * GN_STREAM_PAGE_BYTES);
	stream->memory = NULL;
}

int gn_stream_is_open(const struct gn_prefetch_stream *stream)
{
	return stream->memory != NULL;
}

static struct gn_stream_page *page_of(struct gn_prefetch_stream *stream, int64_t number)
{
	return &stream->page[number % stream->n_pages];
}

static int begin_page(struct gn_prefetch_stream *stream, int64_t number)
{
	struct gn_stream_page *page = page_of(stream, number);
	int error;

	if (page->number == number)
		return 0;
	gn_prefetch_wait(&page->job, 0);
	page->number = number;
	page->job.offset = number * GN_STREAM_PAGE_BYTES;
	error = gn_prefetch_submit(&page->job);
	if (error)
		page->number = -1;
	else
		stream->begun++;
	return error;
}

int gn_stream_advance(struct gn_prefetch_stream *stream, int64_t offset, int direction)
{
	const int64_t current = offset / GN_STREAM_PAGE_BYTES;
	/* One page stays: requests may lie across two, and those backward end in the last one. */
	const int64_t ahead = stream->n_pages - 2;
	int64_t halfway = current + direction * (ahead / 2);
	int error = 0;

	if (current == stream->current)
		return 0;
	stream->current = current;
	if (stream->is_in_batches && halfway >= 0 &&
	    halfway * GN_STREAM_PAGE_BYTES < stream->file_bytes &&
	    page_of(stream, halfway)->number == halfway)
		return 0;
	for (int64_t i = 0; i <= ahead && !error; i++) {
		const int64_t number = current + direction * i;

		if (number < 0 || number * GN_STREAM_PAGE_BYTES >= stream->file_bytes)
			break;
		error = begin_page(stream, number);
	}
	return error;
}

size_t gn_stream_read(struct gn_prefetch_stream *stream, void *to, size_t bytes, int64_t offset)
{
	const int64_t number = offset / GN_STREAM_PAGE_BYTES;
	const int64_t within = offset % GN_STREAM_PAGE_BYTES;
	struct gn_stream_page *page = page_of(stream, number);

	if (page->number != number)
		return 0;
	gn_prefetch_wait(&page->job, 1);
	if (page->job.result <= within)
		return 0; /* also an error, which a read of the program's own may meet again */
	if (bytes > (size_t)(page->job.result - within))
		bytes = (size_t)(page->job.result - within);
	memcpy(to, (const char *)page->job.to + within, bytes);
	stream->bytes_read += bytes;
	return bytes;
}

void gn_stream_forget(struct gn_prefetch_stream *stream, int64_t offset, int64_t bytes)
{
	for (unsigned int i = 0; stream->memory && i < stream->n_pages; i++) {
		struct gn_stream_page *page = &stream->page[i];
		const int64_t start = page->number * GN_STREAM_PAGE_BYTES;

		if (page->number < 0 || start + GN_STREAM_PAGE_BYTES <= offset ||
		    (bytes >= 0 && start >= offset + bytes))
			continue;
		gn_prefetch_wait(&page->job, 0);
		page->number = -1;
		stream->current = -1;
	}
}
