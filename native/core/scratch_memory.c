#include "scratch_memory.h"

#include <stdatomic.h>
#include <stddef.h>

#include "own_calls.h"

/* Of more that are in use at once, the others are given back to the kernel. */
#define KEPT 8u

static _Atomic(void *) kept[KEPT];

void *gn_scratch_take(void)
{
	for (unsigned int i = 0; i < KEPT; i++) {
		void *scratch = atomic_exchange(&kept[i], NULL);

		if (scratch)
			return scratch;
	}
	return gn_take_memory(GN_SCRATCH_BYTES);
}

void gn_scratch_give(void *scratch)
{
	for (unsigned int i = 0; scratch && i < KEPT; i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&kept[i], &none, scratch))
			return;
	}
	gn_give_memory(scratch, GN_SCRATCH_BYTES);
}
