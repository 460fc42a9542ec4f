/*
 * What is replayed: the operations of a process on a file, as `gnomon io --advise` writes them. A
 * list is taken for hostile: whatever it holds, reading it gives operations that are in bounds, or
 * an error.
 *
 *	struct gn_replay_header
 *	struct gn_replay_operation, header.n_operations of them
 *
 * All in the byte order of the machine.
 */
#ifndef GNOMON_MIO_OPERATION_LIST_H
#define GNOMON_MIO_OPERATION_LIST_H

#include <stddef.h>
#include <stdint.h>

#define GN_REPLAY_MAGIC "\211GNPLAY"
#define GN_REPLAY_BYTE_ORDER 0x01020304u
#define GN_REPLAY_VERSION 1u

/* Files of the list that are open at once, operations, bytes of a file, of a request, of a pause.
 */
#define GN_REPLAY_SLOTS_MAX 256u
#define GN_REPLAY_OPERATIONS_MAX (1u << 23)
#define GN_REPLAY_FILE_MAX ((uint64_t)1 << 46)
#define GN_REPLAY_REQUEST_MAX ((uint64_t)1 << 31)
#define GN_REPLAY_PAUSE_MAX ((uint64_t)60000000000)

/* Bits of gn_replay_header.flags. */
#define GN_REPLAY_ON_SCRATCH 1u /* it writes */
#define GN_REPLAY_COLD 2u	/* with as little of the file in memory as the kernel allows */
#define GN_REPLAY_PAUSES 4u	/* with the pauses of operations */
#define GN_REPLAY_FLAGS 7u

struct gn_replay_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint32_t flags;
	uint32_t zero;
	uint64_t n_operations;
	uint64_t begin_bytes; /* size of the file before the first operation */
	uint64_t end;	      /* no operation reaches beyond this offset */
};

enum gn_replay_kind {
	GN_REPLAY_OPEN,
	GN_REPLAY_CLOSE,
	GN_REPLAY_READ,
	GN_REPLAY_WRITE,
	GN_REPLAY_SEEK,
	GN_REPLAY_SYNC,
	GN_REPLAY_DATA_SYNC,
	GN_REPLAY_STATUS,
	GN_REPLAY_KINDS,
};

struct gn_replay_operation {
	uint32_t kind;
	uint32_t slot; /* which of the open files */
	uint64_t offset;
	uint64_t bytes;
	uint64_t pause_ns; /* before it */
};

struct gn_replay_list {
	struct gn_replay_header header;
	struct gn_replay_operation *operation;
	uint64_t most_bytes; /* of a request */
};

struct gn_replay_error {
	uint64_t offset; /* in the file */
	char message[160];
};

/* 0, or a negative errno with `error`; to be freed only after 0. */
int gn_replay_list_read(struct gn_replay_list *list, const char *path,
			struct gn_replay_error *error);
void gn_replay_list_free(struct gn_replay_list *list);

#endif
