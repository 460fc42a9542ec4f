#include "inode.h"

#include "mio_heap.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gn_inode *first;

void gn_inodes_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	first = NULL;
}

struct gn_inode *gn_inode_open(const struct stat *status)
{
	struct gn_inode *inode;

	pthread_mutex_lock(&lock);
	for (inode = first; inode; inode = inode->next) {
		if (inode->device == status->st_dev && inode->number == status->st_ino)
			break;
	}
	if (inode) {
		inode->users++;
	} else {
		inode = gn_mio_heap_take(sizeof(*inode));
		if (inode) {
			inode->device = status->st_dev;
			inode->number = status->st_ino;
			inode->users = 1;
			inode->next = first;
			first = inode;
		}
	}
	pthread_mutex_unlock(&lock);
	return inode;
}

void gn_inode_close(struct gn_inode *inode)
{
	struct gn_inode **link = &first;

	pthread_mutex_lock(&lock);
	if (!--inode->users) {
		while (*link != inode)
			link = &(*link)->next;
		*link = inode->next;
		gn_mio_heap_give(inode);
	}
	pthread_mutex_unlock(&lock);
}
