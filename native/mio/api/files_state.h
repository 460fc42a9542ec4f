/* The files of a process, for what its forks and its end do with them. */
#ifndef GNOMON_MIO_FILES_STATE_H
#define GNOMON_MIO_FILES_STATE_H

#include "open_files.h"

struct gn_mio_files_state {
	pthread_mutex_t lock;
	unsigned int n_descriptors;
	struct gn_mio_file **descriptor; /* n_descriptors; NULL: none of MIO's */
	struct gn_mio_file *first;	 /* of all that are open */
};

extern struct gn_mio_files_state gn_mio_state;

/* 0 or a negative errno. */
int gn_mio_file_init_lock(pthread_mutex_t *lock);

/* Once a process. */
void gn_mio_files_begin(void);

#endif
