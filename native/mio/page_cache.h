/*
 * Pages of files in memory: one cache for many files, or one of a file's own.
 *
 * Locks: the cache's lock is taken before a page's (`busy`). A page's is held while bytes are
 * copied and while it is filled; a filling page is in no list, so that nobody waits for the disk
 * here.
 */
#ifndef GNOMON_MIO_PAGE_CACHE_H
#define GNOMON_MIO_PAGE_CACHE_H

#include "inode.h"

#include <string.h>
#include <sys/types.h>

#define GN_GLOBAL_CACHES 256
#define GN_PRIVATE_CACHE (-1)

struct gn_page_cache;

/* A file in a cache. */
struct gn_cached_file;

struct gn_page {
	atomic_int busy;
	uint32_t valid;		     /* bytes, from the start of the page */
	int64_t start;		     /* its offset in the file */
	struct gn_cached_file *file; /* NULL: nobody's */
	struct gn_page *next;	     /* with the same hash */
	char *data;
	int is_recent;	/* used since the search for a page to give up came by */
	int is_another; /* taken from a file's data, not from free memory */
};

/*
 * The cache of that number, or a private one. A global cache has the sizes of who opened it first.
 * NULL: no memory.
 */
struct gn_page_cache *gn_page_cache_open(int number, size_t cache_bytes, size_t page_bytes);
/* is_released: a global cache without files gives its memory back. */
void gn_page_cache_close(struct gn_page_cache *cache, int is_released);
size_t gn_page_cache_page_bytes(const struct gn_page_cache *cache);

/* Pages of an earlier user are still there if the stamp is the same. NULL: no memory. */
struct gn_cached_file *gn_page_cache_open_file(struct gn_page_cache *cache,
					       const struct stat *status);
void gn_page_cache_close_file(struct gn_page_cache *cache, struct gn_cached_file *file,
			      int is_retained);
/* Whether there are pages of the file. */
int gn_page_cache_holds(const struct gn_cached_file *file);
/* Drops the pages if the file was changed, and returns whether it was. */
int gn_page_cache_check(struct gn_page_cache *cache, struct gn_cached_file *file,
			const struct gn_stamp *stamp);
/* The file is now so by what went through this cache. */
void gn_page_cache_set_stamp(struct gn_page_cache *cache, struct gn_cached_file *file,
			     const struct gn_stamp *stamp);
void gn_page_cache_forget(struct gn_page_cache *cache, struct gn_cached_file *file);

/* The page that holds this offset, for gn_page_copy(); NULL: none does. */
struct gn_page *gn_page_cache_find(struct gn_page_cache *cache, const struct gn_cached_file *file,
				   int64_t offset);
/* A page to fill; NULL: all are in use. */
struct gn_page *gn_page_cache_take(struct gn_page_cache *cache);
/* Grows whenever what is being read may be old by now. */
uint64_t gn_page_cache_epoch(const struct gn_cached_file *file);
/* A later epoch begins. */
void gn_page_cache_outdate(struct gn_cached_file *file);
/*
 * The page holds `valid` bytes at `start`, read in this epoch: in a later one, or if valid is 0, it
 * stays nobody's. Returns whether it is the file's.
 */
int gn_page_cache_put(struct gn_page_cache *cache, struct gn_page *page,
		      struct gn_cached_file *file, int64_t start, size_t valid, uint64_t epoch);
/* These bytes were written (from NULL: it is not known what is there now). */
void gn_page_cache_update(struct gn_page_cache *cache, struct gn_cached_file *file, int64_t offset,
			  const char *from, size_t bytes);

static inline int gn_page_try(struct gn_page *page)
{
	return !atomic_exchange_explicit(&page->busy, 1, memory_order_acquire);
}

static inline void gn_page_leave(struct gn_page *page)
{
	atomic_store_explicit(&page->busy, 0, memory_order_release);
}

/* Up to `bytes` from a page that once held them; 0 if it no longer does. */
static inline size_t gn_page_copy(struct gn_page *page, const struct gn_cached_file *file,
				  int64_t offset, void *to, size_t bytes)
{
	size_t n = 0;

	if (!gn_page_try(page))
		return 0;
	if (page->file == file && offset >= page->start && offset - page->start < page->valid) {
		n = page->valid - (size_t)(offset - page->start);
		if (n > bytes)
			n = bytes;
		memcpy(to, page->data + (offset - page->start), n);
	}
	gn_page_leave(page);
	return n;
}

/* In the child of a fork: locks and lists as at the start of a program. */
void gn_page_caches_after_fork(void);

#endif
