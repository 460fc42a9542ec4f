#include "pf.h"

#include "cache_process.h"
#include "system_calls.h"

#include <time.h>

/* What is beyond is the system's to refuse or to cut. */
#define MOST_OFFSET (INT64_MAX - (INT64_C(1) << 32))
#define MOST_BYTES (1u << 30)

#define SAMPLE_READS 64
#define UNCACHED_READS 1024u
#define MOST_DOUBLINGS 5

int64_t gn_pf_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int gn_pf_status(struct gn_pf *pf, struct stat *status)
{
	return pf->fd >= 0 ? gn_mio_system_status(pf->fd, status)
			   : gn_mio_below_status(pf->layer, status);
}

void gn_pf_forget(struct gn_pf *pf)
{
	pf->page = NULL;
	if (gn_is_over_a_call()) {
		atomic_fetch_add(&pf->inode->writes, 1);
		gn_page_cache_outdate(pf->file);
		return;
	}
	gn_page_cache_forget(pf->cache, pf->file);
	gn_prefetch_forget(&pf->prefetch, 0, -1);
	pf->count.drops++;
}

int gn_pf_check(struct gn_pf *pf)
{
	const uint64_t writes = atomic_load(&pf->inode->writes);
	struct gn_stamp stamp = {.bytes = -1};
	struct stat status;
	int is_changed;

	if (!gn_pf_status(pf, &status))
		stamp = gn_stamp_of(&status);
	is_changed = gn_page_cache_check(pf->cache, pf->file, &stamp);
	if (writes != pf->writes_seen || !gn_stamp_is_equal(&pf->stamp, &stamp) || stamp.bytes < 0)
		is_changed = 1;
	if (is_changed)
		gn_pf_forget(pf);
	pf->stamp = stamp;
	pf->writes_seen = writes;
	pf->reads_unchecked = 0;
	pf->checked_ns = gn_pf_clock();
	pf->count.checks++;
	return is_changed;
}

static int is_due(struct gn_pf *pf)
{
	return ++pf->reads_unchecked >= GN_PF_READS_UNCHECKED ||
	       gn_pf_clock() - pf->checked_ns > GN_PF_UNCHECKED_NS ||
	       atomic_load_explicit(&pf->inode->writes, memory_order_acquire) != pf->writes_seen;
}

void gn_pf_begin(struct gn_pf *pf, const struct stat *status)
{
	const struct gn_mio_setting *setting = pf->layer->setting;

	gn_cache_process_watch();
	pf->process = gn_cache_process;
	pf->cache = gn_page_cache_open((int)setting[GN_PF_CACHE].number,
				       (size_t)setting[GN_PF_CACHE_SIZE].number,
				       (size_t)setting[GN_PF_PAGE_SIZE].number);
	pf->file = pf->cache ? gn_page_cache_open_file(pf->cache, status) : NULL;
	pf->inode = pf->file ? gn_inode_open(status) : NULL;
	if (!pf->inode) {
		if (pf->file)
			gn_page_cache_close_file(pf->cache, pf->file, 0);
		if (pf->cache)
			gn_page_cache_close(pf->cache, 1);
		pf->is_aside = 1;
		return;
	}
	pf->page_bytes = gn_page_cache_page_bytes(pf->cache);
	pf->stamp = gn_stamp_of(status);
	pf->writes_seen = atomic_load(&pf->inode->writes);
	pf->checked_ns = gn_pf_clock();
	pf->prefetch.status = *status;
}

/* A child has pages and threads of its own; those of its parent are left as they are. */
static void begin_in_child(struct gn_pf *pf)
{
	struct stat status;
	int error = gn_pf_status(pf, &status);

	memset(&pf->prefetch.stream, 0, sizeof(pf->prefetch.stream));
	pf->prefetch.engine = GN_ENGINE_NONE;
	pf->direct.fd = -1;
	pf->page = NULL;
	if (error)
		pf->is_aside = 1;
	else
		gn_pf_begin(pf, &status);
}

/* Bytes of the page, or a negative errno. */
static ssize_t read_page(struct gn_pf *pf, char *to, int64_t start)
{
	if (pf->direct.program_fd >= 0) {
		struct gn_prefetch_job job = {
			.file = &pf->direct, .to = to, .bytes = pf->page_bytes, .offset = start};

		if (!gn_prefetch_submit(&job)) {
			gn_prefetch_wait(&job, 1);
			if (job.result >= 0)
				return job.result;
		}
	}
	return gn_prefetch_read(&pf->prefetch, to, pf->page_bytes, start);
}

static void read_pages_ahead(struct gn_pf *pf, int64_t start)
{
	const struct gn_mio_setting *setting = pf->layer->setting;
	const int64_t stride = setting[GN_PF_STRIDE].number * (int64_t)pf->page_bytes;
	const int64_t depth = setting[GN_PF_PREFETCH].number, distance = start - pf->last_fill;
	const int is_new = distance != pf->last_distance;

	pf->last_fill = start;
	pf->last_distance = distance;
	/* One page ahead is what the engine and the kernel do as well. */
	if ((depth == 1 && stride == (int64_t)pf->page_bytes) ||
	    (distance != stride && distance != -stride))
		return;
	for (int64_t i = 1; i <= depth; i++) {
		const int64_t place = start + i * distance;
		const uint64_t epoch = gn_page_cache_epoch(pf->file);
		struct gn_page *page;
		ssize_t n;

		if (place < 0 || place >= pf->stamp.bytes)
			break;
		if (gn_page_cache_find(pf->cache, pf->file, place))
			continue;
		if (setting[GN_PF_ASYNCHRONOUS].number && pf->fd >= 0) {
			/* All but the farthest were told of with the pages before. */
			if (i == depth || is_new)
				gn_mio_system_will_need(pf->fd, place, (int64_t)pf->page_bytes);
			pf->count.pages_ahead += i == depth || is_new;
			continue;
		}
		page = gn_page_cache_take(pf->cache);
		if (!page)
			break;
		n = gn_mio_below_read(pf->layer, page->data, pf->page_bytes, place);
		gn_page_cache_put(pf->cache, page, pf->file, place, n > 0 ? (size_t)n : 0, epoch);
		pf->count.pages_ahead++;
		if (n <= 0)
			break;
	}
}

/* Fills the page of this offset and copies from it; -EAGAIN: there is no page, or it failed. */
static ssize_t fill(struct gn_pf *pf, char *to, size_t bytes, int64_t offset)
{
	const int64_t start = offset - offset % (int64_t)pf->page_bytes;
	const uint64_t epoch = gn_page_cache_epoch(pf->file);
	struct gn_page *page = gn_page_cache_take(pf->cache);
	ssize_t n;

	if (!page)
		return -EAGAIN;
	pf->replaced += (unsigned int)page->is_another;
	n = read_page(pf, page->data, start);
	pf->count.fills++;
	if (n < 0) {
		gn_page_cache_put(pf->cache, page, pf->file, start, 0, epoch);
		return -EAGAIN;
	}
	pf->count.fill_bytes += (uint64_t)n;
	if (n <= offset - start) {
		bytes = 0;
	} else {
		if (bytes > (size_t)(n - (offset - start)))
			bytes = (size_t)(n - (offset - start));
		memcpy(to, page->data + (offset - start), bytes);
	}
	pf->page =
		gn_page_cache_put(pf->cache, page, pf->file, start, (size_t)n, epoch) ? page : NULL;
	read_pages_ahead(pf, start);
	return (ssize_t)bytes;
}

static size_t copy(struct gn_pf *pf, char *to, size_t bytes, int64_t offset)
{
	size_t n = pf->page ? gn_page_copy(pf->page, pf->file, offset, to, bytes) : 0;

	if (n)
		return n;
	pf->page = gn_page_cache_find(pf->cache, pf->file, offset);
	return pf->page ? gn_page_copy(pf->page, pf->file, offset, to, bytes) : 0;
}

static ssize_t read_small(struct gn_pf *pf, char *to, size_t bytes, int64_t offset)
{
	size_t done = 0;
	int is_checked = 0;

	if (is_due(pf)) {
		gn_pf_check(pf);
		is_checked = 1;
	}
	while (done < bytes) {
		const int64_t place = offset + (int64_t)done;
		ssize_t n = (ssize_t)copy(pf, to + done, bytes - done, place);

		if (n) {
			pf->found++;
			done += (size_t)n;
			continue;
		}
		/* What is held is not mixed with what is newer. */
		if (!is_checked && (done || gn_page_cache_holds(pf->file) ||
				    pf->prefetch.engine == GN_ENGINE_STREAM)) {
			is_checked = 1;
			if (gn_pf_check(pf)) {
				done = 0;
				continue;
			}
		}
		n = fill(pf, to + done, bytes - done, place);
		if (n <= 0) {
			/* The end, an error, or a read that came short: as the system has it. */
			n = gn_mio_below_read(pf->layer, to + done, bytes - done, place);
			return n >= 0 ? (ssize_t)done + n : done ? (ssize_t)done : n;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static ssize_t read_large(struct gn_pf *pf, void *to, size_t bytes, int64_t offset)
{
	if (pf->prefetch.engine == GN_ENGINE_STREAM &&
	    (is_due(pf) || gn_prefetch_is_refill(&pf->prefetch, offset)))
		gn_pf_check(pf);
	return gn_prefetch_read(&pf->prefetch, to, bytes, offset);
}

/*
 * A page costs some three small reads: where more than a third of them push out pages that are not
 * found again, the cache is too small for what the program does.
 */
static int is_cache_in_vain(struct gn_pf *pf)
{
	if (pf->uncached) {
		pf->uncached--;
		return 1;
	}
	if (pf->found + pf->replaced >= SAMPLE_READS) {
		if (pf->replaced > SAMPLE_READS / 3) {
			pf->uncached = UNCACHED_READS << pf->doublings;
			if (pf->doublings < MOST_DOUBLINGS)
				pf->doublings++;
		} else {
			pf->doublings = 0;
		}
		pf->found = pf->replaced = 0;
	}
	return 0;
}

static ssize_t read_slowly(struct gn_pf *pf, void *to, size_t bytes, int64_t offset)
{
	ssize_t n;

	if (gn_is_over_a_call())
		return gn_mio_below_read(pf->layer, to, bytes, offset);
	if (!pf->is_aside && pf->process != gn_cache_process)
		begin_in_child(pf);
	if (pf->is_aside || !pf->may_read || offset < 0 || offset > MOST_OFFSET || !bytes ||
	    bytes > MOST_BYTES)
		n = gn_mio_below_read(pf->layer, to, bytes, offset);
	else if (bytes < pf->page_bytes && !is_cache_in_vain(pf))
		n = read_small(pf, to, bytes, offset);
	else
		n = read_large(pf, to, bytes, offset);
	pf->count.reads++;
	if (n > 0)
		pf->count.read_bytes += (uint64_t)n;
	return n;
}

ssize_t gn_pf_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	struct gn_pf *pf = layer->state;

	if (bytes - 1 < pf->page_bytes && pf->page && pf->process == gn_cache_process &&
	    !is_due(pf) && gn_page_copy(pf->page, pf->file, offset, to, bytes) == bytes) {
		pf->count.hits++;
		pf->found++;
		pf->count.hit_bytes += bytes;
		return (ssize_t)bytes;
	}
	return read_slowly(pf, to, bytes, offset);
}

/* What went through this layer is not another's. */
static void set_stamp(struct gn_pf *pf)
{
	struct stat status;

	if (gn_is_over_a_call() || gn_pf_status(pf, &status))
		return;
	pf->stamp = gn_stamp_of(&status);
	gn_page_cache_set_stamp(pf->cache, pf->file, &pf->stamp);
}

/* Other layers of the file learn of it. */
static void count_write(struct gn_pf *pf)
{
	const uint64_t before = atomic_fetch_add(&pf->inode->writes, 1);

	if (before == pf->writes_seen)
		pf->writes_seen = before + 1;
}

static ssize_t write_over_a_call(struct gn_pf *pf, const void *from, size_t bytes, int64_t offset)
{
	const ssize_t n = gn_mio_below_write(pf->layer, from, bytes, offset);

	if (!pf->is_aside && pf->process == gn_cache_process)
		gn_pf_forget(pf);
	return n;
}

ssize_t gn_pf_write(struct gn_mio_layer *layer, const void *from, size_t bytes, int64_t offset)
{
	struct gn_pf *pf = layer->state;
	size_t written;
	int is_holding;
	ssize_t n;

	if (gn_is_over_a_call())
		return write_over_a_call(pf, from, bytes, offset);
	if (!pf->is_aside && pf->process != gn_cache_process)
		begin_in_child(pf);
	if (pf->is_aside)
		return gn_mio_below_write(layer, from, bytes, offset);
	is_holding = gn_page_cache_holds(pf->file) || pf->prefetch.engine == GN_ENGINE_STREAM;
	if (is_holding)
		gn_pf_check(pf);
	n = gn_mio_below_write(layer, from, bytes, offset);
	written = n > 0 ? (size_t)n : 0;
	count_write(pf);
	pf->count.writes++;
	pf->count.write_bytes += written;
	if (offset < 0) {
		gn_pf_forget(pf);
	} else {
		gn_page_cache_update(pf->cache, pf->file, offset, from, written);
		if (written < bytes)
			gn_page_cache_update(pf->cache, pf->file, offset + (int64_t)written, NULL,
					     bytes - written);
		gn_prefetch_forget(&pf->prefetch, offset, (int64_t)bytes);
	}
	if (is_holding)
		set_stamp(pf);
	return n;
}

int gn_pf_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	struct gn_pf *pf = layer->state;
	int error = gn_mio_below_truncate(layer, bytes);

	if (pf->is_aside || pf->process != gn_cache_process)
		return error;
	count_write(pf);
	gn_pf_forget(pf);
	set_stamp(pf);
	return error;
}
