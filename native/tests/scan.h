/* What is in a record file, told by a reader that shares only checksums with the writer. */
#ifndef GNOMON_TESTS_SCAN_H
#define GNOMON_TESTS_SCAN_H

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "crc32c.h"
#include "gnomon/record_file.h"

struct scan {
	struct gn_record_header header;
	uint64_t file_bytes;
	uint64_t records; /* of a fixed size */
	uint64_t texts;
	uint64_t blocks;
	uint64_t unused; /* blocks that were taken, and never begun */
	uint64_t end;	 /* of the last block */
};

/* Called for every record, those of a block in their order. */
typedef void check_record_function(uint32_t kind, const char *record, size_t bytes);

static inline void scan_block(struct scan *found, const char *block, const uint32_t *record_bytes,
			      check_record_function *check)
{
	const char *at = block + sizeof(struct gn_record_block);
	struct gn_record_block head;
	const char *end;

	memcpy(&head, block, sizeof(head));
	if (!head.state) {
		found->unused++;
		return;
	}
	CHECK(!memcmp(head.magic, "GNBK", 4));
	CHECK(head.kind < found->header.n_kinds);
	CHECK_EQ(head.offset, found->end);
	CHECK((uint32_t)head.state <= found->header.block_bytes - sizeof(head));
	end = at + (uint32_t)head.state;
	CHECK_EQ(gn_crc32c_by_table(0, block + 8, (size_t)(end - block) - 8), head.state >> 32);
	while (at < end) {
		const uint32_t *text = (const uint32_t *)at;
		size_t bytes = record_bytes[head.kind];

		if (!bytes) {
			bytes = (8 + text[1] + 7) & ~7u;
			found->texts++;
		} else {
			found->records++;
		}
		CHECK(bytes <= (size_t)(end - at));
		check(head.kind, at, bytes);
		at += bytes;
	}
	found->blocks++;
}

static inline struct scan scan_file(const char *path, check_record_function *check)
{
	uint32_t record_bytes[GN_RECORD_KINDS_MAX];
	struct scan found = {0};
	struct stat status;
	uint64_t limit;
	char *data;
	int fd;

	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &status), 0);
	found.file_bytes = (uint64_t)status.st_size;
	data = malloc(found.file_bytes);
	CHECK(data != NULL);
	CHECK_EQ(read(fd, data, found.file_bytes), found.file_bytes);
	close(fd);

	CHECK(found.file_bytes >= 2 * GN_RECORD_PAGE);
	memcpy(&found.header, data, sizeof(found.header));
	CHECK(!memcmp(found.header.magic, "\x89GNOMON\n", 8));
	CHECK_EQ(found.header.byte_order, 0x01020304);
	CHECK_EQ(found.header.version, 2);
	CHECK_EQ(found.header.header_bytes % 4096, 0);
	CHECK_EQ(found.header.block_bytes, 16384);
	for (uint32_t kind = 0; kind < found.header.n_kinds; kind++)
		memcpy(&record_bytes[kind], data + 4096 + 32 * kind + 24, 4);
	CHECK_EQ(gn_crc32c_by_table(0, data + 4096,
				    32 * (found.header.n_kinds + found.header.n_fields)),
		 found.header.tables_crc);
	limit = found.header.flags & GN_RECORD_CLOSED ? found.header.final_bytes
						      : found.header.tail;
	limit = limit < found.file_bytes ? limit : found.file_bytes;
	for (found.end = found.header.header_bytes; found.end + found.header.block_bytes <= limit;
	     found.end += found.header.block_bytes)
		scan_block(&found, data + found.end, record_bytes, check);
	free(data);
	return found;
}

#endif
