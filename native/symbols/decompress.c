#include "decompress.h"

#include <dlfcn.h>
#include <stdlib.h>

/* What decompression may make of one section: above the debug information of the largest programs.
 */
#define SIZE_MAX_BYTES ((uint64_t)4 << 30)
#define XZ_MEMORY_MAX ((uint64_t)1 << 30)

/* Deflate makes at most 1032 bytes of one, zstd 32,768: what claims more is damaged. */
#define RATIO_MAX 32768

/* Interfaces that these libraries have kept since their first releases; their headers need not be
 * there when Gnomon is built. */
typedef int uncompress_function(uint8_t *to, unsigned long *to_size, const uint8_t *from,
				unsigned long from_size);
typedef size_t zstd_function(void *to, size_t to_size, const void *from, size_t from_size);
typedef int xz_function(uint64_t *memory_max, uint32_t flags, const void *allocator,
			const uint8_t *from, size_t *from_position, size_t from_size, uint8_t *to,
			size_t *to_position, size_t to_size);

enum { LZMA_OK = 0, LZMA_BUFFER_ERROR = 10 };

static void load(const char *library, const char *name, void *function)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void *symbol = handle ? dlsym(handle, name) : NULL;

	memcpy(function, &symbol, sizeof(symbol));
}

static bool inflate_zlib(struct gn_span compressed, uint8_t *to, uint64_t size)
{
	static uncompress_function *uncompress_zlib;
	unsigned long inflated = size;

	if (!uncompress_zlib)
		load("libz.so.1", "uncompress", &uncompress_zlib);
	return uncompress_zlib &&
	       !uncompress_zlib(to, &inflated, compressed.data, compressed.size) &&
	       inflated == size;
}

static bool inflate_zstd(struct gn_span compressed, uint8_t *to, uint64_t size)
{
	static zstd_function *decompress_zstd;

	if (!decompress_zstd)
		load("libzstd.so.1", "ZSTD_decompress", &decompress_zstd);
	return decompress_zstd &&
	       decompress_zstd(to, size, compressed.data, compressed.size) == size;
}

bool gn_decompress(struct gn_arena *arena, enum gn_compression kind, struct gn_span compressed,
		   uint64_t size, struct gn_span *content)
{
	uint8_t *to;

	if (size > SIZE_MAX_BYTES || size / RATIO_MAX > compressed.size)
		return false;
	to = gn_arena_alloc(arena, size + 1);
	if (kind == GN_ZLIB ? !inflate_zlib(compressed, to, size)
			    : kind != GN_ZSTD || !inflate_zstd(compressed, to, size))
		return false;
	*content = (struct gn_span){to, size};
	return true;
}

bool gn_decompress_xz(struct gn_arena *arena, struct gn_span compressed, struct gn_span *content)
{
	static xz_function *decode_xz;
	uint64_t size = 4 * compressed.size + 4096;
	int status = LZMA_BUFFER_ERROR;

	if (!decode_xz)
		load("liblzma.so.5", "lzma_stream_buffer_decode", &decode_xz);
	/* Symbols shrink to a quarter or so; each further try has twice the room. */
	while (decode_xz && status == LZMA_BUFFER_ERROR && size <= SIZE_MAX_BYTES) {
		uint64_t memory_max = XZ_MEMORY_MAX;
		size_t from_position = 0, to_position = 0;
		uint8_t *to = malloc(size);

		if (!to)
			return false;
		status = decode_xz(&memory_max, 0, NULL, compressed.data, &from_position,
				   compressed.size, to, &to_position, size);
		if (status == LZMA_OK) {
			content->data =
				memcpy(gn_arena_alloc(arena, to_position + 1), to, to_position);
			content->size = to_position;
		}
		free(to);
		size *= 2;
	}
	return status == LZMA_OK;
}
