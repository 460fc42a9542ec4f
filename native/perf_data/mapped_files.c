#include "mapped_files.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "sample_file.h"

#define MODULES_MAX 1000000u

int gn_file_mapping_read(struct gn_file_mapping *mapping, const uint8_t *record,
			 const struct gn_perf_header *header, bool swaps)
{
	struct gn_fields fields = {record + GN_RECORD_HEADER_BYTES,
				   header->size - GN_RECORD_HEADER_BYTES, swaps, false};
	const unsigned int mode = header->misc & GN_MISC_MODE;

	memset(mapping, 0, sizeof(*mapping));
	mapping->pid = (int32_t)gn_fields_32(&fields);
	mapping->tid = (int32_t)gn_fields_32(&fields);
	mapping->start = gn_fields_64(&fields);
	mapping->length = gn_fields_64(&fields);
	mapping->file_offset = gn_fields_64(&fields);
	mapping->is_code = !(header->misc & GN_MISC_IS_DATA);
	if (header->type == GN_RECORD_MMAP2) {
		const uint8_t *identity = gn_fields_take(&fields, 24);
		const uint32_t rights = gn_fields_32(&fields);

		gn_fields_32(&fields);
		if (identity && header->misc & GN_MISC_BUILD_ID) {
			mapping->build_id = identity + 4;
			mapping->build_id_bytes =
				identity[0] <= GN_BUILD_ID_MAX ? identity[0] : GN_BUILD_ID_MAX;
		} else if (identity) {
			mapping->inode = gn_field_64(identity + 8, swaps);
		}
		/* What perf writes down of the kernel has no rights. */
		if (mode != GN_MISC_KERNEL && mode != GN_MISC_GUEST_KERNEL)
			mapping->is_code = rights & PROT_EXEC;
	}
	mapping->path = (const char *)fields.next;
	mapping->is_kernel = mode == GN_MISC_KERNEL || mode == GN_MISC_GUEST_KERNEL;
	mapping->is_guest = mode == GN_MISC_GUEST_KERNEL || mode == GN_MISC_GUEST_USER;
	if (fields.is_short || !memchr(fields.next, 0, fields.n))
		return -EBADMSG;
	/* As Linux counts: what it maps at the end of the addresses ends there. */
	if (mapping->length > UINT64_MAX - mapping->start)
		mapping->length = UINT64_MAX - mapping->start;
	return 0;
}

/* A module's number, in the place of its path a copy of it. */
static uint32_t add(struct gn_mapped_files *files, const struct gn_mapped_module *module)
{
	struct gn_mapped_module *row;
	char *path;

	if (files->module.n >= MODULES_MAX)
		return GN_FIXED_UNKNOWN;
	path = strdup(module->path);
	row = path ? gn_rows_add(&files->module, sizeof(*row)) : NULL;
	if (!row) {
		free(path);
		return GN_NO_NUMBER;
	}
	*row = *module;
	row->path = path;
	return (uint32_t)files->module.n - 1;
}

int gn_mapped_files_begin(struct gn_mapped_files *files)
{
	static const char *const fixed[GN_FIXED_MODULES] = {
		[GN_FIXED_KERNEL] = "[kernel]",		[GN_FIXED_CUT] = "(truncated)",
		[GN_FIXED_UNKNOWN] = "[unknown]",	[GN_FIXED_GUEST] = "[guest]",
		[GN_FIXED_HYPERVISOR] = "[hypervisor]",
	};

	for (uint32_t i = 0; i < GN_FIXED_MODULES; i++) {
		const struct gn_mapped_module module = {
			.path = (char *)fixed[i],
			.kind = i == GN_FIXED_CUT ? GN_MODULE_IS_CUT : GN_MODULE_IS_KERNEL,
			.pid = -1,
		};

		if (add(files, &module) == GN_NO_NUMBER)
			return -ENOMEM;
	}
	return gn_slots_begin(&files->by_identity);
}

void gn_mapped_files_free(struct gn_mapped_files *files)
{
	for (uint32_t i = 0; i < files->module.n; i++) {
		free(gn_module(files, i)->path);
		free(gn_module(files, i)->local_path);
		free(gn_module(files, i)->segment);
	}
	gn_rows_free(&files->module);
	gn_slots_free(&files->by_identity);
}

static uint32_t hash_of(const struct gn_slots *slots, const struct gn_mapped_module *module)
{
	uint64_t hash = gn_mixed_bytes(slots, module->inode, module->path, strlen(module->path));

	hash = gn_mixed(slots, hash, (uint64_t)module->kind << 32 | (uint32_t)module->pid);
	return gn_slots_hash(slots,
			     gn_mixed_bytes(slots, hash, module->build_id, module->build_id_bytes));
}

static bool is_same(const void *table, uint32_t number, const void *sought)
{
	const struct gn_mapped_module *own = gn_module(table, number), *module = sought;

	return own->kind == module->kind && own->pid == module->pid &&
	       own->inode == module->inode && own->build_id_bytes == module->build_id_bytes &&
	       !memcmp(own->build_id, module->build_id, module->build_id_bytes) &&
	       !strcmp(own->path, module->path);
}

static uint32_t intern(struct gn_mapped_files *files, const struct gn_file_mapping *mapping,
		       const char *path, uint32_t kind, int32_t pid)
{
	struct gn_mapped_module module = {
		.path = (char *)path,
		.kind = kind,
		.pid = pid,
		.inode = mapping->inode,
		.build_id_bytes = mapping->build_id_bytes,
	};
	struct gn_slot *slot;
	uint32_t hash, number;

	if (mapping->build_id_bytes)
		memcpy(module.build_id, mapping->build_id, mapping->build_id_bytes);
	hash = hash_of(&files->by_identity, &module);
	slot = gn_slots_place(&files->by_identity, hash, is_same, files, &module);
	if (slot->number)
		return slot->number - 1;
	number = add(files, &module);
	if (number == GN_NO_NUMBER || number < GN_FIXED_MODULES)
		return number;
	return gn_slots_put(&files->by_identity, slot, hash, number) < 0 ? GN_NO_NUMBER : number;
}

/* "/lib/modules/6.1/kernel/net/nf-tables.ko.xz" is "[nf_tables]", as the kernel calls it. */
static uint32_t kernel_module(struct gn_mapped_files *files, const struct gn_file_mapping *mapping)
{
	const struct gn_file_mapping bare = {0};
	const char *base = strrchr(mapping->path, '/');
	char name[80];
	size_t n;

	if (mapping->is_guest)
		return GN_FIXED_GUEST;
	if (!strncmp(mapping->path, "[kernel", 7) || !strncmp(mapping->path, "[guest", 6))
		return GN_FIXED_KERNEL;
	if (mapping->path[0] == '[')
		return intern(files, &bare, mapping->path, GN_MODULE_IS_KERNEL, -1);
	base = base ? base + 1 : mapping->path;
	n = strcspn(base, ".");
	/* The image itself, by whatever path. */
	if (!strstr(base, ".ko"))
		return GN_FIXED_KERNEL;
	snprintf(name, sizeof(name), "[%.*s]", (int)(n < 64 ? n : 64), base);
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return intern(files, &bare, name, GN_MODULE_IS_KERNEL, -1);
}

/* Source: tools/perf/util/map.c, what is no file. */
static bool is_made(const char *path)
{
	static const char *const begins[] = {"//anon", "/dev/zero", "/anon_hugepage", "[heap]",
					     "[stack", "[anon",	    "/SYSV",	      "/memfd:"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	return path[0] != '/' && strcmp(path, "[vdso]") != 0;
}

uint32_t gn_module_of(struct gn_mapped_files *files, const struct gn_file_mapping *mapping)
{
	const struct gn_file_mapping bare = {0};

	if (mapping->is_kernel)
		return kernel_module(files, mapping);
	if (mapping->is_guest)
		return GN_FIXED_GUEST;
	if (!strcmp(mapping->path, "[vsyscall]"))
		return intern(files, &bare, mapping->path, GN_MODULE_IS_KERNEL, -1);
	if (is_made(mapping->path))
		return intern(files, &bare, "[jit]", GN_MODULE_IS_JIT, mapping->pid);
	return intern(files, mapping, mapping->path, GN_MODULE_IS_FILE, -1);
}

uint64_t gn_module_address(const struct gn_mapped_module *module, uint64_t file_offset)
{
	for (uint32_t i = 0; i < module->n_segments; i++) {
		const struct gn_segment *segment = &module->segment[i];

		if (file_offset - segment->file_offset < segment->bytes)
			return file_offset - segment->file_offset + segment->address;
	}
	return file_offset;
}

int gn_module_place(struct gn_mapped_module *module, const char *local_path,
		    const struct gn_segment *segment, uint32_t n)
{
	char *path = strdup(local_path);
	struct gn_segment *copy = malloc((n ? n : 1) * sizeof(*copy));

	if (!path || !copy) {
		free(path);
		free(copy);
		return -ENOMEM;
	}
	if (n)
		memcpy(copy, segment, n * sizeof(*copy));
	free(module->local_path);
	free(module->segment);
	module->local_path = path;
	module->segment = copy;
	module->n_segments = n;
	return 0;
}
