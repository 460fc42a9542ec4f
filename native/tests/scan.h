/* What is in a raw file, told by a reader that shares nothing with the writer but the layout. */
#ifndef GNOMON_TESTS_SCAN_H
#define GNOMON_TESTS_SCAN_H

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "gnomon/buffer.h"

struct scan {
	struct gn_buffer_header header;
	uint64_t file_bytes;
	uint64_t committed;
	uint64_t reserved;
	uint64_t hole_bytes;
	uint64_t end; /* of the last record that was begun */
};

/* `check` is called for every complete record. */
static inline struct scan scan_file(const char *path,
				    void (*check)(uint16_t type, const char *payload, size_t bytes))
{
	struct scan found = {.end = GN_BUFFER_HEADER_BYTES};
	struct stat status;
	uint64_t at, limit;
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

	CHECK(found.file_bytes >= sizeof(found.header));
	memcpy(&found.header, data, sizeof(found.header));
	CHECK(!memcmp(found.header.magic, "\x89GNOMON\n", 8));
	CHECK_EQ(found.header.byte_order, 0x01020304);
	CHECK_EQ(found.header.version, 1);
	CHECK_EQ(found.header.header_bytes, 4096);
	limit = found.header.flags & GN_BUFFER_CLOSED ? found.header.final_bytes
						      : found.header.tail;
	limit = limit < found.file_bytes ? limit : found.file_bytes;
	for (at = 4096; at + 8 <= limit;) {
		struct gn_record record;

		memcpy(&record, data + at, sizeof(record));
		if (!record.size) {
			at += 8;
			found.hole_bytes += 8;
			continue;
		}
		CHECK(record.size >= 8 && record.size <= limit - at);
		if (record.state == GN_RECORD_COMMITTED) {
			found.committed++;
			check(record.type, data + at + 8, record.size - 8);
		} else {
			CHECK_EQ(record.state, GN_RECORD_RESERVED);
			found.reserved++;
		}
		at += (record.size + 7) & ~7u;
		found.end = at;
	}
	free(data);
	return found;
}

#endif
