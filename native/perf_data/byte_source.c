#include "byte_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gn_byte_source_open(struct gn_byte_source *source, int descriptor)
{
	struct stat status;

	memset(source, 0, sizeof(*source));
	source->descriptor = descriptor;
	if (fstat(descriptor, &status))
		return -errno;
	source->size = (uint64_t)status.st_size;
	return 0;
}

void gn_byte_source_close(struct gn_byte_source *source)
{
	for (uint32_t i = 0; i < GN_BLOCKS; i++)
		free(source->block[i].bytes);
	free(source->joined);
	memset(source, 0, sizeof(*source));
}

static int fill(struct gn_byte_source *source, struct gn_byte_block *block, uint64_t number)
{
	block->used = block->n = 0;
	block->number = number;
	if (!block->bytes)
		block->bytes = malloc(GN_BLOCK_BYTES);
	if (!block->bytes)
		return -ENOMEM;
	while (block->n < GN_BLOCK_BYTES) {
		const ssize_t got = pread(source->descriptor, block->bytes + block->n,
					  GN_BLOCK_BYTES - block->n,
					  (off_t)(number * GN_BLOCK_BYTES + block->n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		block->n += (uint64_t)got;
	}
	return 0;
}

static struct gn_byte_block *block_of(struct gn_byte_source *source, uint64_t number)
{
	struct gn_byte_block *oldest = source->block;

	if (source->last && source->last->number == number && source->last->used)
		return source->last;
	for (uint32_t i = 0; i < GN_BLOCKS; i++) {
		struct gn_byte_block *block = &source->block[i];

		if (block->used && block->number == number) {
			block->used = ++source->uses;
			return source->last = block;
		}
		if (block->used < oldest->used)
			oldest = block;
	}
	if (fill(source, oldest, number))
		return NULL;
	oldest->used = ++source->uses;
	return source->last = oldest;
}

static const uint8_t *join(struct gn_byte_source *source, uint64_t offset, uint64_t n)
{
	uint64_t have = 0;

	if (n > source->joined_room) {
		uint8_t *more = realloc(source->joined, n);

		if (!more)
			return NULL;
		source->joined = more;
		source->joined_room = n;
	}
	while (have < n) {
		const uint64_t at = (offset + have) % GN_BLOCK_BYTES;
		const struct gn_byte_block *block =
			block_of(source, (offset + have) / GN_BLOCK_BYTES);
		uint64_t part = n - have;

		if (!block || block->n <= at)
			return NULL;
		if (part > block->n - at)
			part = block->n - at;
		memcpy(source->joined + have, block->bytes + at, part);
		have += part;
	}
	return source->joined;
}

const uint8_t *gn_bytes_at(struct gn_byte_source *source, uint64_t offset, uint64_t n)
{
	const uint64_t at = offset % GN_BLOCK_BYTES;
	const struct gn_byte_block *block;

	if (offset > source->size || n > source->size - offset)
		return NULL;
	if (at + n > GN_BLOCK_BYTES)
		return join(source, offset, n);
	block = block_of(source, offset / GN_BLOCK_BYTES);
	return block && at + n <= block->n ? block->bytes + at : NULL;
}
