/* Memory that a fork clears: what belongs to a process and not to its children. */
#ifndef GNOMON_CORE_FORK_PAGE_H
#define GNOMON_CORE_FORK_PAGE_H

/*
 * A page of zeros, which is zeros again in each forked child before anything else runs there. For
 * munmap(2), of a whole page. NULL with errno set: there is none.
 */
void *gn_fork_page(void);

/* Gives it back. */
void gn_fork_page_free(void *page);

#endif
