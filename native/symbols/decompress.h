/*
 * Sections and files that are compressed, by the libraries for it, which are loaded when the first
 * one needs them: most machines have them, few files do.
 */
#pragma once

#include "bytes.h"
#include "memory.h"

enum gn_compression { GN_ZLIB = 1, GN_ZSTD = 2 }; /* as ELF numbers them: ch_type */

/* False where the library is missing or the content is damaged. */
bool gn_decompress(struct gn_arena *arena, enum gn_compression kind, struct gn_span compressed,
		   uint64_t size, struct gn_span *content);

/* A whole .xz file, whose size is not known before. */
bool gn_decompress_xz(struct gn_arena *arena, struct gn_span compressed, struct gn_span *content);
