/* Source: zstd.h, "Streaming decompression - HowTo"; an interface that has not changed since 1.0.
 * Its header need not be there when Gnomon is built. */
#include "zstd_stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNPACKED_ROOM ((size_t)128 << 10)
/* perf's records shrink to a fifth; what claims to be a thousand times as large is damaged. */
#define RATIO_MAX 1000u
#define ALWAYS_BYTES ((uint64_t)16 << 20)

struct zstd_input {
	const void *source;
	size_t size, position;
};

struct zstd_output {
	void *target;
	size_t size, position;
};

static struct {
	void *(*create)(void);
	size_t (*free)(void *stream);
	size_t (*decompress)(void *stream, struct zstd_output *to, struct zstd_input *from);
	unsigned int (*is_error)(size_t code);
} library;

static void load(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	memcpy(function, &symbol, sizeof(symbol));
}

static int begin(struct gn_zstd_stream *zstd)
{
	void *handle = library.is_error ? NULL : dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (handle) {
		load(handle, "ZSTD_createDStream", &library.create);
		load(handle, "ZSTD_freeDStream", &library.free);
		load(handle, "ZSTD_decompressStream", &library.decompress);
		load(handle, "ZSTD_isError", &library.is_error);
	}
	if (!library.create || !library.free || !library.decompress || !library.is_error)
		return -ELIBACC;
	zstd->unpacked = malloc(UNPACKED_ROOM);
	zstd->stream = library.create();
	return zstd->unpacked && zstd->stream ? 0 : -ENOMEM;
}

int gn_zstd_unpack(struct gn_zstd_stream *zstd, const uint8_t *packed, size_t n, gn_zstd_sink *sink,
		   void *to)
{
	struct zstd_input from = {packed, n, 0};
	struct zstd_output unpacked = {NULL, UNPACKED_ROOM, 0};
	int failed = zstd->stream ? 0 : begin(zstd);

	zstd->packed_bytes += n;
	/* What a full buffer left inside comes with the next turn. */
	while (!failed && (from.position < from.size || unpacked.position == unpacked.size)) {
		const size_t before = from.position;

		unpacked = (struct zstd_output){zstd->unpacked, UNPACKED_ROOM, 0};
		if (library.is_error(library.decompress(zstd->stream, &unpacked, &from)))
			return -EBADMSG;
		if (!unpacked.position && from.position == before)
			break;
		zstd->unpacked_bytes += unpacked.position;
		if (zstd->unpacked_bytes > ALWAYS_BYTES &&
		    zstd->unpacked_bytes / RATIO_MAX > zstd->packed_bytes)
			return -EFBIG;
		failed = sink(to, zstd->unpacked, unpacked.position);
	}
	return failed;
}

void gn_zstd_end(struct gn_zstd_stream *zstd)
{
	if (zstd->stream)
		library.free(zstd->stream);
	free(zstd->unpacked);
	memset(zstd, 0, sizeof(*zstd));
}
