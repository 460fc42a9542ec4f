/*
 * `pf`, a cache for reads with prefetch: small requests are served from pages of a cache, and what
 * is read into it, or is larger than a page, goes through prefetch.h.
 *
 * What is held is compared with the file's size and times before a page is filled, at the 64th read
 * and when 10 ms have gone by since it was last compared.
 */
#ifndef GNOMON_MIO_PF_H
#define GNOMON_MIO_PF_H

#include "inode.h"
#include "mio_module.h"
#include "page_cache.h"
#include "prefetch.h"

extern const struct gn_mio_module gn_mio_pf;

enum gn_pf_setting {
	GN_PF_CACHE, /* GN_PRIVATE_CACHE or a number */
	GN_PF_CACHE_SIZE,
	GN_PF_PAGE_SIZE,
	GN_PF_PREFETCH,
	GN_PF_STRIDE,
	GN_PF_RELEASE,
	GN_PF_RETAIN,
	GN_PF_ASYNCHRONOUS,
	GN_PF_DIRECT, /* 2: as prefetch.h chooses */
	GN_PF_LISTIO,
	GN_PF_ENGINE,
	GN_PF_WINDOW,
	GN_PF_UNIT,
	GN_PF_STATS,
	GN_PF_INTER,
	GN_PF_TAG,
	GN_PF_PFFW,
	GN_PF_MEMCPY,
	GN_PF_SETTINGS,
};

struct gn_pf_counts {
	uint64_t reads, read_bytes;
	uint64_t hits, hit_bytes; /* that needed nothing from below */
	uint64_t fills, fill_bytes;
	uint64_t pages_ahead;
	uint64_t writes, write_bytes;
	uint64_t checks, drops;
};

struct gn_pf {
	/* Of each read that a page serves. */
	struct gn_page *page; /* the last one */
	struct gn_cached_file *file;
	struct gn_inode *inode;
	uint64_t writes_seen; /* of the inode */
	size_t page_bytes;    /* 0: no reads are served */
	unsigned int process;
	unsigned int reads_unchecked;
	int64_t checked_ns;
	struct gn_pf_counts count;

	struct gn_mio_layer *layer;
	struct gn_page_cache *cache;
	struct gn_stamp stamp;
	int fd; /* -1: layers below may hold what it does not show */
	int is_aside, may_read;
	int64_t last_fill, last_distance; /* of pages */
	/* Of the last small reads: what they found, and how many are to go past the cache. */
	unsigned int found, replaced, uncached, doublings;
	struct gn_direct_file direct;
	struct gn_prefetch prefetch;
};

#define GN_PF_READS_UNCHECKED 64
#define GN_PF_UNCHECKED_NS 10000000

/* The clock that ages are told by: it costs little and ticks every few milliseconds. */
int64_t gn_pf_clock(void);
/* Compares the file with what it was; what is held is dropped if it is another. Returns whether. */
int gn_pf_check(struct gn_pf *pf);
/* What is held is dropped: at the next read, if a call was come over that may hold locks. */
void gn_pf_forget(struct gn_pf *pf);
ssize_t gn_pf_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset);
ssize_t gn_pf_write(struct gn_mio_layer *layer, const void *from, size_t bytes, int64_t offset);
int gn_pf_truncate(struct gn_mio_layer *layer, int64_t bytes);
/* Opens cache and inode by the file's status; where memory is lacking it steps aside. */
void gn_pf_begin(struct gn_pf *pf, const struct stat *status);
int gn_pf_status(struct gn_pf *pf, struct stat *status);
void gn_pf_tell(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final);

#endif
