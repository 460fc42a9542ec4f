#include "page_cache.h"

#include "mio_heap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

struct gn_cached_file {
	dev_t device;
	ino_t number;
	struct gn_stamp stamp;
	unsigned int users;
	atomic_uint pages;
	atomic_uint_fast64_t epoch;
	struct gn_cached_file *next;
};

struct gn_page_cache {
	pthread_mutex_t lock;
	int number; /* GN_PRIVATE_CACHE or that of a global one */
	unsigned int users;
	size_t page_bytes;
	uint32_t n_pages, hand; /* the next page to give up, unless it was used */
	uint32_t buckets;	/* a power of two */
	struct gn_page **bucket;
	struct gn_page *page;
	char *data;
	struct gn_cached_file *files;
};

static pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gn_page_cache *global[GN_GLOBAL_CACHES];

void gn_page_caches_after_fork(void)
{
	pthread_mutex_init(&global_lock, NULL);
	memset(global, 0, sizeof(global));
}

static void release(struct gn_page_cache *cache)
{
	struct gn_cached_file *next;

	for (struct gn_cached_file *file = cache->files; file; file = next) {
		next = file->next;
		gn_mio_heap_give(file);
	}
	if (cache->data)
		munmap(cache->data, cache->n_pages * cache->page_bytes);
	pthread_mutex_destroy(&cache->lock);
	gn_mio_heap_give(cache->bucket);
	gn_mio_heap_give(cache->page);
	gn_mio_heap_give(cache);
}

static struct gn_page_cache *create(int number, size_t cache_bytes, size_t page_bytes)
{
	const int before = errno;
	struct gn_page_cache *cache = gn_mio_heap_take(sizeof(*cache));

	if (!cache)
		goto out;
	if (page_bytes > cache_bytes)
		page_bytes = cache_bytes;
	pthread_mutex_init(&cache->lock, NULL);
	cache->number = number;
	cache->page_bytes = page_bytes;
	cache->n_pages = (uint32_t)(cache_bytes / page_bytes);
	cache->buckets = 1;
	while (cache->buckets < cache->n_pages)
		cache->buckets *= 2;
	cache->bucket = gn_mio_heap_take(cache->buckets * sizeof(*cache->bucket));
	cache->page = gn_mio_heap_take(cache->n_pages * sizeof(*cache->page));
	cache->data = mmap(NULL, cache->n_pages * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cache->data == MAP_FAILED)
		cache->data = NULL;
	if (!cache->bucket || !cache->page || !cache->data) {
		release(cache);
		cache = NULL;
		goto out;
	}
	for (uint32_t i = 0; i < cache->n_pages; i++)
		cache->page[i].data = cache->data + i * page_bytes;
out:
	errno = before;
	return cache;
}

struct gn_page_cache *gn_page_cache_open(int number, size_t cache_bytes, size_t page_bytes)
{
	struct gn_page_cache *cache;

	if (number == GN_PRIVATE_CACHE) {
		cache = create(number, cache_bytes, page_bytes);
		if (cache)
			cache->users = 1;
		return cache;
	}
	pthread_mutex_lock(&global_lock);
	if (!global[number])
		global[number] = create(number, cache_bytes, page_bytes);
	cache = global[number];
	if (cache)
		cache->users++;
	pthread_mutex_unlock(&global_lock);
	return cache;
}

void gn_page_cache_close(struct gn_page_cache *cache, int is_released)
{
	int is_last;

	pthread_mutex_lock(&global_lock);
	is_last = !--cache->users && (cache->number == GN_PRIVATE_CACHE || is_released);
	if (is_last && cache->number != GN_PRIVATE_CACHE)
		global[cache->number] = NULL;
	pthread_mutex_unlock(&global_lock);
	if (is_last)
		release(cache);
}

size_t gn_page_cache_page_bytes(const struct gn_page_cache *cache)
{
	return cache->page_bytes;
}

/* With the cache's lock. Who has the page's lock copies, or fills it and has it in no list. */
static void enter(struct gn_page *page)
{
	while (!gn_page_try(page))
		sched_yield();
}

static struct gn_page **bucket_of(struct gn_page_cache *cache, const struct gn_cached_file *file,
				  int64_t start)
{
	const uint64_t key = (uint64_t)start / cache->page_bytes + ((uintptr_t)file >> 4) * 31;

	/* Source: Knuth, TAOCP volume 3, multiplicative hashing with the golden ratio. */
	return &cache->bucket[(key * 0x9e3779b97f4a7c15u >> 32) & (cache->buckets - 1)];
}

static void unlink_page(struct gn_page_cache *cache, struct gn_page *page)
{
	struct gn_page **link = bucket_of(cache, page->file, page->start);

	while (*link != page)
		link = &(*link)->next;
	*link = page->next;
	atomic_fetch_sub(&page->file->pages, 1);
	page->file = NULL;
	page->valid = 0;
}

static void forget(struct gn_page_cache *cache, struct gn_cached_file *file)
{
	atomic_fetch_add(&file->epoch, 1);
	for (uint32_t i = 0; i < cache->n_pages && atomic_load(&file->pages); i++) {
		struct gn_page *page = &cache->page[i];

		/* Only with the cache's lock does a page come to belong to a file, or leave it; a
		 * page in filling is nobody's. */
		if (page->file != file)
			continue;
		enter(page);
		unlink_page(cache, page);
		gn_page_leave(page);
	}
}

struct gn_cached_file *gn_page_cache_open_file(struct gn_page_cache *cache,
					       const struct stat *status)
{
	const struct gn_stamp stamp = gn_stamp_of(status);
	struct gn_cached_file **link, *file = NULL;

	pthread_mutex_lock(&cache->lock);
	for (link = &cache->files; *link;) {
		if ((*link)->device == status->st_dev && (*link)->number == status->st_ino) {
			file = *link;
		} else if (!(*link)->users && !atomic_load(&(*link)->pages)) {
			struct gn_cached_file *unused = *link;

			*link = unused->next;
			gn_mio_heap_give(unused);
			continue;
		}
		link = &(*link)->next;
	}
	if (!file) {
		file = gn_mio_heap_take(sizeof(*file));
		if (!file)
			goto out;
		file->device = status->st_dev;
		file->number = status->st_ino;
		file->next = cache->files;
		cache->files = file;
	} else if (!gn_stamp_is_equal(&file->stamp, &stamp)) {
		forget(cache, file);
	}
	file->stamp = stamp;
	file->users++;
out:
	pthread_mutex_unlock(&cache->lock);
	return file;
}

void gn_page_cache_close_file(struct gn_page_cache *cache, struct gn_cached_file *file,
			      int is_retained)
{
	pthread_mutex_lock(&cache->lock);
	if (!--file->users && !is_retained)
		forget(cache, file);
	pthread_mutex_unlock(&cache->lock);
}

int gn_page_cache_holds(const struct gn_cached_file *file)
{
	return atomic_load(&file->pages) != 0;
}

uint64_t gn_page_cache_epoch(const struct gn_cached_file *file)
{
	return atomic_load(&file->epoch);
}

void gn_page_cache_outdate(struct gn_cached_file *file)
{
	atomic_fetch_add(&file->epoch, 1);
}

int gn_page_cache_check(struct gn_page_cache *cache, struct gn_cached_file *file,
			const struct gn_stamp *stamp)
{
	int is_changed;

	pthread_mutex_lock(&cache->lock);
	is_changed = !gn_stamp_is_equal(&file->stamp, stamp);
	if (is_changed) {
		forget(cache, file);
		file->stamp = *stamp;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_changed;
}

void gn_page_cache_set_stamp(struct gn_page_cache *cache, struct gn_cached_file *file,
			     const struct gn_stamp *stamp)
{
	pthread_mutex_lock(&cache->lock);
	file->stamp = *stamp;
	pthread_mutex_unlock(&cache->lock);
}

void gn_page_cache_forget(struct gn_page_cache *cache, struct gn_cached_file *file)
{
	pthread_mutex_lock(&cache->lock);
	forget(cache, file);
	pthread_mutex_unlock(&cache->lock);
}

static struct gn_page *find(struct gn_page_cache *cache, const struct gn_cached_file *file,
			    int64_t offset)
{
	const int64_t start = offset - offset % (int64_t)cache->page_bytes;
	struct gn_page *page = *bucket_of(cache, file, start);

	while (page && (page->file != file || page->start != start))
		page = page->next;
	return page;
}

struct gn_page *gn_page_cache_find(struct gn_page_cache *cache, const struct gn_cached_file *file,
				   int64_t offset)
{
	struct gn_page *page;

	pthread_mutex_lock(&cache->lock);
	page = find(cache, file, offset);
	if (page)
		page->is_recent = 1;
	pthread_mutex_unlock(&cache->lock);
	return page;
}

struct gn_page *gn_page_cache_take(struct gn_page_cache *cache)
{
	struct gn_page *taken = NULL;

	pthread_mutex_lock(&cache->lock);
	for (uint64_t i = 0; i < 2 * (uint64_t)cache->n_pages && !taken; i++) {
		struct gn_page *page = &cache->page[cache->hand];

		cache->hand = (cache->hand + 1) % cache->n_pages;
		if (page->is_recent && page->file) {
			page->is_recent = 0;
			continue;
		}
		if (!gn_page_try(page))
			continue;
		page->is_another = page->file != NULL;
		if (page->file)
			unlink_page(cache, page);
		taken = page;
	}
	pthread_mutex_unlock(&cache->lock);
	return taken;
}

int gn_page_cache_put(struct gn_page_cache *cache, struct gn_page *page,
		      struct gn_cached_file *file, int64_t start, size_t valid, uint64_t epoch)
{
	struct gn_page *shorter;
	int is_put = 0;

	pthread_mutex_lock(&cache->lock);
	shorter = find(cache, file, start);
	if (valid && atomic_load(&file->epoch) == epoch && (!shorter || shorter->valid < valid)) {
		struct gn_page **bucket = bucket_of(cache, file, start);

		if (shorter) {
			enter(shorter);
			unlink_page(cache, shorter);
			gn_page_leave(shorter);
		}
		page->file = file;
		page->start = start;
		page->valid = (uint32_t)valid;
		page->is_recent = 1;
		page->next = *bucket;
		*bucket = page;
		atomic_fetch_add(&file->pages, 1);
		is_put = 1;
	}
	gn_page_leave(page);
	pthread_mutex_unlock(&cache->lock);
	return is_put;
}

void gn_page_cache_update(struct gn_page_cache *cache, struct gn_cached_file *file, int64_t offset,
			  const char *from, size_t bytes)
{
	const int64_t end = offset + (int64_t)bytes;
	int64_t start = offset - offset % (int64_t)cache->page_bytes;

	pthread_mutex_lock(&cache->lock);
	atomic_fetch_add(&file->epoch, 1);
	if (bytes / cache->page_bytes > cache->n_pages) {
		forget(cache, file);
		start = end;
	}
	for (; start < end; start += (int64_t)cache->page_bytes) {
		struct gn_page *page = find(cache, file, start);
		const int64_t first = offset > start ? offset : start;
		const int64_t page_end = start + (int64_t)cache->page_bytes;
		const int64_t last = end < page_end ? end : page_end;

		if (!page)
			continue;
		enter(page);
		if (!from || first - start > page->valid) {
			/* What lies between the page's end and the bytes is a hole, or not known.
			 */
			unlink_page(cache, page);
		} else {
			memcpy(page->data + (first - start), from + (first - offset),
			       (size_t)(last - first));
			if (last - start > page->valid)
				page->valid = (uint32_t)(last - start);
		}
		gn_page_leave(page);
	}
	pthread_mutex_unlock(&cache->lock);
}
