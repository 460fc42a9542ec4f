/*
 * The files of a process that caches hold data of, by device and inode: two descriptors of a file
 * may have caches of their own, and each must learn of what goes through the other.
 */
#ifndef GNOMON_MIO_INODE_H
#define GNOMON_MIO_INODE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

struct gn_inode {
	atomic_uint_fast64_t writes; /* writes and truncations that have gone through */
	dev_t device;
	ino_t number;
	unsigned int users;
	struct gn_inode *next;
};

/* What says that a file was changed: compared with what was seen earlier. */
struct gn_stamp {
	int64_t bytes;
	struct timespec modified, changed;
};

/* NULL: no memory. */
struct gn_inode *gn_inode_open(const struct stat *status);
void gn_inode_close(struct gn_inode *inode);

static inline struct gn_stamp gn_stamp_of(const struct stat *status)
{
	return (struct gn_stamp){status->st_size, status->st_mtim, status->st_ctim};
}

static inline int gn_stamp_is_equal(const struct gn_stamp *a, const struct gn_stamp *b)
{
	return a->bytes == b->bytes && a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* In the child of a fork: locks and lists as at the start of a program. */
void gn_inodes_after_fork(void);

#endif
