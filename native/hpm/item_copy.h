/* Items that are the reader's own. */
#ifndef GNOMON_HPM_ITEM_COPY_H
#define GNOMON_HPM_ITEM_COPY_H

#include "gnomon/hpm_data.h"

struct hpm_chunk;

struct hpm_copy {
	int n;
	hpm_event_vector items; /* with everything that they point to */
	struct hpm_chunk *chunk;
	char lie[128]; /* what cannot be true of the original */
};

/*
 * 0, ENOMEM, or EBADMSG: a length makes no sense, copy->lie says which. A pointer that points
 * nowhere is a fault of this thread: see gn_call_guarded().
 */
int hpm_items_copy(int n, const hpm_data_item *items, struct hpm_copy *copy);
void hpm_items_copy_free(struct hpm_copy *copy);

#endif
