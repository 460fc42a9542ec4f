#include "code_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stack_memory.h"

/* Linux allows 65,530 unless told otherwise. */
#define MAPPINGS_MAX (1u << 20)

int gn_unwind_space_new(struct gn_unwind_space **space, struct gn_unwind_files *files, int pid)
{
	struct gn_unwind_space *created = calloc(1, sizeof(*created));

	if (!created)
		return -ENOMEM;
	created->files = files;
	created->pid = pid;
	*space = created;
	return 0;
}

int gn_unwind_space_fork(struct gn_unwind_space **child, const struct gn_unwind_space *parent,
			 int pid)
{
	int error = gn_unwind_space_new(child, parent->files, pid);

	if (error || !parent->n)
		return error;
	(*child)->mappings = malloc(parent->n * sizeof(*parent->mappings));
	if (!(*child)->mappings) {
		gn_unwind_space_free(*child);
		return -ENOMEM;
	}
	memcpy((*child)->mappings, parent->mappings, parent->n * sizeof(*parent->mappings));
	(*child)->n = (*child)->capacity = parent->n;
	return 0;
}

static void forget_code(struct gn_unwind_space *space)
{
	gn_rule_cache_free(&space->code_rows);
	gn_rule_cache_free(&space->calls);
}

void gn_unwind_space_free(struct gn_unwind_space *space)
{
	if (!space)
		return;
	forget_code(space);
	free(space->mappings);
	free(space);
}

void gn_unwind_space_clear(struct gn_unwind_space *space)
{
	forget_code(space);
	space->n = space->last = 0;
	space->changes++;
}

uint64_t gn_unwind_space_changes(const struct gn_unwind_space *space)
{
	return space->changes;
}

int gn_unwind_space_mapping(const struct gn_unwind_space *space, uint32_t number,
			    struct gn_unwind_mapping *mapping)
{
	for (uint32_t i = 0; i < space->n; i++) {
		const struct gn_mapping *found = &space->mappings[i];
		const char *path;

		if (!found->is_code || number--)
			continue;
		path = gn_unwind_file_path(space->files, found->file);
		*mapping = (struct gn_unwind_mapping){.start = found->start,
						      .length = found->end - found->start,
						      .file_offset = found->file_offset,
						      .path = path ? path : "",
						      .prot = PROT_EXEC};
		return 0;
	}
	return -ENOENT;
}

/* The first mapping that ends behind an address. */
static uint32_t first_behind(const struct gn_unwind_space *space, uint64_t address)
{
	uint32_t low = 0, high = space->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (space->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int gn_unwind_space_map(struct gn_unwind_space *space, const struct gn_unwind_mapping *mapping)
{
	struct gn_mapping parts[3], *all = space->mappings;
	const uint64_t start = mapping->start, end = start + mapping->length;
	uint32_t first, behind, n_parts = 0, n;

	if (!mapping->length || end < start)
		return -EINVAL;
	space->changes++;
	first = first_behind(space, start);
	for (behind = first; behind < space->n && all[behind].start < end; behind++)
		;
	if (first < behind && all[first].start < start) {
		parts[n_parts] = all[first];
		parts[n_parts++].end = start;
	}
	parts[n_parts++] = (struct gn_mapping){start, end, mapping->file_offset,
					       gn_rule_file_number(space->files, mapping),
					       (mapping->prot & PROT_EXEC) != 0};
	if (first < behind && all[behind - 1].end > end) {
		parts[n_parts] = all[behind - 1];
		parts[n_parts].file_offset += end - parts[n_parts].start;
		parts[n_parts++].start = end;
	}
	n = space->n - (behind - first) + n_parts;
	if (n > space->capacity) {
		uint32_t capacity = n < 32 ? 64 : 2 * n;
		void *more = NULL;

		if (capacity <= MAPPINGS_MAX)
			more = realloc(all, capacity * sizeof(*all));
		if (!more)
			return -ENOMEM;
		space->mappings = all = more;
		space->capacity = capacity;
	}
	memmove(all + first + n_parts, all + behind, (space->n - behind) * sizeof(*all));
	memcpy(all + first, parts, n_parts * sizeof(*all));
	space->n = n;
	space->last = 0;
	forget_code(space);
	return 0;
}

static const struct gn_mapping *mapping_of(struct gn_unwind_space *space, uint64_t address)
{
	const struct gn_mapping *mapping;
	uint32_t i = space->last;

	if (i >= space->n || address < space->mappings[i].start ||
	    address >= space->mappings[i].end) {
		i = first_behind(space, address);
		if (i == space->n || address < space->mappings[i].start)
			return NULL;
		space->last = i;
	}
	mapping = &space->mappings[i];
	return mapping;
}

struct gn_place gn_space_place(struct gn_unwind_space *space, uint64_t address)
{
	struct gn_place place = {mapping_of(space, address), NULL, address};
	const struct gn_mapping *mapping = place.mapping;
	struct gn_mapped_at mapped;

	if (!mapping || mapping->file == GN_UNWIND_NO_FILE)
		return place;
	mapped = (struct gn_mapped_at){space->pid, mapping->start, mapping->end - mapping->start};
	place.file = gn_rule_file(space->files, mapping->file, &mapped);
	/* Without the file's segments the offset in it is the next best, as most are linked so. */
	place.offset = address - mapping->start + mapping->file_offset;
	if (place.file && !gn_elf_image_address(&place.file->image, place.offset, &place.offset))
		place.file = NULL;
	return place;
}

bool gn_space_is_code(struct gn_unwind_space *space, uint64_t address)
{
	const struct gn_mapping *mapping = mapping_of(space, address);

	return mapping && mapping->is_code;
}

int gn_unwind_space_find(struct gn_unwind_space *space, uint64_t address,
			 struct gn_unwind_frame *frame)
{
	const struct gn_place place = gn_space_place(space, address);

	if (!place.mapping || !place.mapping->is_code)
		return -ENOENT;
	*frame = (struct gn_unwind_frame){
		.address = address, .offset = place.offset, .file = place.mapping->file};
	return 0;
}

/* Code as the process has it, or where that is gone, its file. */
static size_t read_code(struct gn_unwind_space *space, uint64_t address, uint8_t *to, size_t bytes)
{
	size_t n = gn_process_read(space->pid, address, to, bytes);
	struct gn_place place;

	if (n)
		return n;
	place = gn_space_place(space, address);
	if (!place.file)
		return 0;
	return gn_elf_image_read(&place.file->image,
				 address - place.mapping->start + place.mapping->file_offset, to,
				 bytes);
}

/* What keeps frame pointers has no need of its instructions. */
static bool row_of_function(struct gn_unwind_space *space, uint64_t address,
			    struct gn_rule_row *row)
{
	const struct gn_place place = gn_space_place(space, address);

	return place.file && !place.file->is_sparse &&
	       gn_code_functions_row(&place.file->functions, &place.file->image, place.offset, row);
}

const struct gn_rule_row *gn_space_code_row(struct gn_unwind_space *space,
					    enum gn_unwind_machine machine, uint64_t address,
					    bool is_return)
{
	const uint64_t key = (address << 2) | 2 | is_return;
	uint32_t number = gn_rule_cache_find(&space->code_rows, key);
	uint8_t bytes[GN_CODE_BYTES];
	struct gn_rule_row row;

	if (number == GN_ROW_UNSEEN) {
		const bool is_code = gn_space_is_code(space, address - is_return);
		const size_t n = is_code ? read_code(space, address, bytes, sizeof(bytes)) : 0;
		const bool has_row = is_code && (gn_code_row(machine, bytes, n, &row) ||
						 row_of_function(space, address - is_return, &row));

		number = gn_rule_cache_put(&space->code_rows, key, GN_ROW_NONE,
					   has_row ? &row : NULL);
	}
	return number == GN_ROW_NONE ? NULL : &space->code_rows.rows[number];
}

/* What stands before an address; any other number is the distance to the function called. */
enum {
	NO_CALL = 0,
	CALL_OF_ANYTHING = 1,
};

static uint32_t call_before(struct gn_unwind_space *space, enum gn_unwind_machine machine,
			    uint64_t address)
{
	const uint64_t key = (address << 2) | 2;
	uint8_t before[GN_CALL_BYTES_MAX];
	uint64_t target, distance;
	uint32_t call;
	size_t n;

	if (!gn_space_is_code(space, address - 1))
		return NO_CALL;
	call = gn_rule_cache_find(&space->calls, key);
	if (call != GN_ROW_UNSEEN)
		return call;
	n = read_code(space, address - sizeof(before), before, sizeof(before));
	if (n == sizeof(before)) {
		call = gn_code_is_call(machine, before, n) ? CALL_OF_ANYTHING : NO_CALL;
		target = gn_code_call_target(machine, before + sizeof(before) - 5, address);
		distance = target - address;
		/* Nobody calls what lies within the call. */
		if (target && call && distance + 8 > 16)
			call = (uint32_t)distance;
	} else {
		call = CALL_OF_ANYTHING;
	}
	return gn_rule_cache_put(&space->calls, key, call, NULL);
}

bool gn_space_is_behind_call(struct gn_unwind_space *space, enum gn_unwind_machine machine,
			     uint64_t address)
{
	return call_before(space, machine, address) != NO_CALL;
}

bool gn_space_is_function(struct gn_unwind_space *space, uint64_t address)
{
	const struct gn_place place = gn_space_place(space, address);
	struct gn_frame_entry entry;

	return place.file && !gn_entry_find(&place.file->index, place.offset, &entry) &&
	       entry.start == place.offset;
}

uint64_t gn_space_call_target(struct gn_unwind_space *space, enum gn_unwind_machine machine,
			      uint64_t address)
{
	const uint32_t call = call_before(space, machine, address);

	if (call == NO_CALL || call == CALL_OF_ANYTHING)
		return 0;
	return address + (uint64_t)(int64_t)(int32_t)call;
}
