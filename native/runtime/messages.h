/* What ranks send each other in the tree, and what is missing in it. */
#ifndef GNOMON_RUNTIME_MESSAGES_H
#define GNOMON_RUNTIME_MESSAGES_H

#include <stdint.h>

#include <gnomon/rank_data.h>

#include "job.h"

#define GN_GAPS_MAX 64

/* More than anybody sends. */
#define GN_BLOB_MAX ((uint64_t)1 << 30)

/* Reasons that are told of ranks; the last one takes in all that there is no room for. */
struct gn_gaps {
	int n;
	struct {
		int first, last, is_in;
		char why[GN_REASON_SIZE];
	} gap[GN_GAPS_MAX];
};

void gn_gaps_add(struct gn_gaps *gaps, int first, int last, int is_in, const char *why);
void gn_gaps_join(struct gn_gaps *gaps, const struct gn_gaps *other);

/* The lowest rank first; the texts stay those of `gaps`. Returns how many there are. */
int gn_gaps_list(const struct gn_gaps *gaps, struct gn_gap list[GN_GAPS_MAX]);

/* What goes up and down: a blob, and what is missing in it. */
struct gn_message {
	int has_blob;
	struct gn_blob blob;
	struct gn_gaps gaps;
};

/* *bytes is for free(3). 0, or ENOMEM. */
int gn_message_pack(const struct gn_message *message, unsigned char **bytes, size_t *size);

/* Empty after a failure: EBADMSG or ENOMEM. */
int gn_message_unpack(const unsigned char *bytes, size_t size, struct gn_message *message);

void gn_message_free(struct gn_message *message);

struct gn_merging {
	gn_merge *merge;
	void *context;
	const char *not_merged; /* why, where it returned a negative number */
};

/* Puts the message of rank `from` and those below it into `into` and empties it. */
void gn_message_merge(struct gn_message *into, struct gn_message *from, int rank,
		      const struct gn_merging *merging);

#endif
