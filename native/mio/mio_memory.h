/* Memory of many pieces that end together: what was read of a specification, a file's layers. */
#ifndef GNOMON_MIO_MEMORY_H
#define GNOMON_MIO_MEMORY_H

#include <stddef.h>

struct gn_mio_piece;

struct gn_mio_memory {
	struct gn_mio_piece *last;
};

/* Zeroed, and aligned for everything; NULL: there is none. */
void *gn_mio_memory_take(struct gn_mio_memory *memory, size_t bytes);

/* NULL: there is no memory, or `text` is NULL. */
char *gn_mio_memory_text(struct gn_mio_memory *memory, const char *text, size_t length);

void gn_mio_memory_free(struct gn_mio_memory *memory);

#endif
