/*
 * The programs, libraries and parts of the kernel that a file's records say were mapped: each is a
 * module with a number. Who reads the file says where modules are here, and how they are linked.
 */
#ifndef GNOMON_PERF_DATA_MAPPED_FILES_H
#define GNOMON_PERF_DATA_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "event_record.h"
#include "number_slots.h"
#include "rows.h"

#define GN_BUILD_ID_MAX 20u

/* Those that are always there; the first two as native/sampling numbers them. */
enum gn_fixed_module {
	GN_FIXED_KERNEL,
	GN_FIXED_CUT,
	GN_FIXED_UNKNOWN, /* addresses at which nothing is known to be mapped */
	GN_FIXED_GUEST,
	GN_FIXED_HYPERVISOR,
	GN_FIXED_MODULES
};

/* A part of a file that is loaded, as its program header has it. */
struct gn_segment {
	uint64_t file_offset, bytes, address;
};

struct gn_mapped_module {
	char *path;
	char *local_path; /* the same file here; NULL: there is none */
	struct gn_segment *segment;
	uint32_t n_segments;
	uint32_t kind; /* enum gn_module_kind of native/sampling */
	int32_t pid;   /* of code that a process made */
	uint32_t build_id_bytes;
	uint8_t build_id[GN_BUILD_ID_MAX];
	uint64_t inode; /* 0: not known */
};

struct gn_mapped_files {
	struct gn_rows module; /* struct gn_mapped_module */
	struct gn_slots by_identity;
};

/* PERF_RECORD_MMAP and MMAP2. */
struct gn_file_mapping {
	int32_t pid, tid;
	uint64_t start, length, file_offset;
	const char *path;
	uint64_t inode;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	bool is_code;
	bool is_kernel;
	bool is_guest;
};

/* 0, or -EBADMSG: it is too short, or its path does not end. */
int gn_file_mapping_read(struct gn_file_mapping *mapping, const uint8_t *record,
			 const struct gn_perf_header *header, bool swaps);

/* 0 or -ENOMEM. */
int gn_mapped_files_begin(struct gn_mapped_files *files);
void gn_mapped_files_free(struct gn_mapped_files *files);

/* The number of a mapping's module, a new one for what was not mapped before; GN_NO_NUMBER without
 * memory. */
uint32_t gn_module_of(struct gn_mapped_files *files, const struct gn_file_mapping *mapping);

static inline struct gn_mapped_module *gn_module(const struct gn_mapped_files *files, uint32_t n)
{
	return (struct gn_mapped_module *)files->module.row + n;
}

/* The address as linked of a byte of a module's file; the offset itself where that is not known. */
uint64_t gn_module_address(const struct gn_mapped_module *module, uint64_t file_offset);

/* Where a module is here. 0 or -ENOMEM. */
int gn_module_place(struct gn_mapped_module *module, const char *local_path,
		    const struct gn_segment *segment, uint32_t n);

#endif
