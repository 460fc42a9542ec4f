/* What ranks send each other, and what is missing in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"

/* --- what is missing -------------------------------------------------------------------------- */

static int are_same(const struct gn_gaps *gaps, int i, int first, int last, int is_in,
		    const char *why)
{
	return gaps->gap[i].is_in == is_in && !strcmp(gaps->gap[i].why, why) &&
	       first <= gaps->gap[i].last + 1 && last >= gaps->gap[i].first - 1;
}

void gn_gaps_add(struct gn_gaps *gaps, int first, int last, int is_in, const char *why)
{
	int i = 0;

	/* What this one touches becomes one with it. */
	while (i < gaps->n) {
		if (!are_same(gaps, i, first, last, is_in, why)) {
			i++;
			continue;
		}
		if (gaps->gap[i].first < first)
			first = gaps->gap[i].first;
		if (gaps->gap[i].last > last)
			last = gaps->gap[i].last;
		gaps->gap[i] = gaps->gap[--gaps->n];
		i = 0;
	}
	if (gaps->n == GN_GAPS_MAX) {
		i = GN_GAPS_MAX - 1;
		is_in = 0;
		why = "are not all there, for more reasons than there is room for";
		if (gaps->gap[i].first < first)
			first = gaps->gap[i].first;
		if (gaps->gap[i].last > last)
			last = gaps->gap[i].last;
	} else {
		i = gaps->n++;
	}
	gaps->gap[i].first = first;
	gaps->gap[i].last = last;
	gaps->gap[i].is_in = is_in;
	memset(gaps->gap[i].why, 0, GN_REASON_SIZE);
	snprintf(gaps->gap[i].why, GN_REASON_SIZE, "%s", why);
}

void gn_gaps_join(struct gn_gaps *gaps, const struct gn_gaps *other)
{
	for (int i = 0; i < other->n; i++)
		gn_gaps_add(gaps, other->gap[i].first, other->gap[i].last, other->gap[i].is_in,
			    other->gap[i].why);
}

static int by_first(const void *one, const void *other)
{
	const struct gn_gap *a = one, *b = other;

	return (a->first > b->first) - (a->first < b->first);
}

int gn_gaps_list(const struct gn_gaps *gaps, struct gn_gap list[GN_GAPS_MAX])
{
	for (int i = 0; i < gaps->n; i++)
		list[i] = (struct gn_gap){gaps->gap[i].first, gaps->gap[i].last, gaps->gap[i].is_in,
					  gaps->gap[i].why};
	qsort(list, (size_t)gaps->n, sizeof(*list), by_first);
	return gaps->n;
}

/* --- messages ------------------------------------------------------------------------------------
 */

#define MESSAGE_MAGIC 0x48504d4cu

struct message_head {
	uint32_t magic;
	int32_t n_gaps;
	int32_t has_blob;
	uint32_t size_of_gap;
	uint64_t size;
};

int gn_message_pack(const struct gn_message *message, unsigned char **bytes, size_t *size)
{
	const size_t gaps = (size_t)message->gaps.n * sizeof(message->gaps.gap[0]);
	const struct message_head head = {MESSAGE_MAGIC, message->gaps.n, message->has_blob,
					  sizeof(message->gaps.gap[0]),
					  message->has_blob ? message->blob.size : 0};
	unsigned char *packed;

	if (head.size > GN_BLOB_MAX)
		return EOVERFLOW;
	packed = malloc(sizeof(head) + gaps + head.size);
	if (!packed)
		return ENOMEM;
	memcpy(packed, &head, sizeof(head));
	memcpy(packed + sizeof(head), message->gaps.gap, gaps);
	if (head.size)
		memcpy(packed + sizeof(head) + gaps, message->blob.data, head.size);
	*bytes = packed;
	*size = sizeof(head) + gaps + head.size;
	return 0;
}

int gn_message_unpack(const unsigned char *bytes, size_t size, struct gn_message *message)
{
	struct message_head head;
	size_t gaps;

	memset(message, 0, sizeof(*message));
	if (size < sizeof(head))
		return EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != MESSAGE_MAGIC || head.n_gaps < 0 || head.n_gaps > GN_GAPS_MAX ||
	    head.size_of_gap != sizeof(message->gaps.gap[0]) || head.size > GN_BLOB_MAX ||
	    (head.has_blob != 0 && head.has_blob != 1))
		return EBADMSG;
	gaps = (size_t)head.n_gaps * sizeof(message->gaps.gap[0]);
	if (size != sizeof(head) + gaps + head.size)
		return EBADMSG;
	memcpy(message->gaps.gap, bytes + sizeof(head), gaps);
	message->gaps.n = head.n_gaps;
	for (int i = 0; i < head.n_gaps; i++)
		message->gaps.gap[i].why[GN_REASON_SIZE - 1] = 0;
	if (head.size) {
		message->blob.data = malloc(head.size);
		if (!message->blob.data) {
			memset(message, 0, sizeof(*message));
			return ENOMEM;
		}
		memcpy(message->blob.data, bytes + sizeof(head) + gaps, head.size);
		message->blob.size = head.size;
	}
	message->has_blob = head.has_blob;
	return 0;
}

void gn_message_free(struct gn_message *message)
{
	free(message->blob.data);
	memset(message, 0, sizeof(*message));
}

void gn_message_merge(struct gn_message *into, struct gn_message *from, int rank,
		      const struct gn_merging *merging)
{
	int failed;

	gn_gaps_join(&into->gaps, &from->gaps);
	if (from->has_blob && into->has_blob) {
		failed = merging->merge(&into->blob, &from->blob, merging->context);
		if (failed) {
			char why[GN_REASON_SIZE];

			snprintf(why, sizeof(why),
				 "could not be merged, with those below it in the tree: %s",
				 failed > 0 ? strerror(failed) : merging->not_merged);
			gn_gaps_add(&into->gaps, rank, rank, 0, why);
		}
	} else if (from->has_blob) {
		into->blob = from->blob;
		into->has_blob = 1;
		memset(&from->blob, 0, sizeof(from->blob));
	}
	gn_message_free(from);
}
