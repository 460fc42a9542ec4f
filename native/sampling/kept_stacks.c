#include "kept_stacks.h"

#include <string.h>

static const struct gn_record_field stack_fields[] = {
	GN_RECORD_FIELD(struct gn_kept_stack, time_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_kept_stack, pid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_kept_stack, tid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_kept_stack, space, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_stack, n_frames, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_stack, stack_bytes, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_stack, machine, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_kept_stack, end, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_kept_stack, value, GN_RECORD_U64),
};
static const struct gn_record_field bytes_fields[] = {
	GN_RECORD_FIELD(struct gn_kept_bytes, stack, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_bytes, offset, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_bytes, n, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_bytes, data, GN_RECORD_U8),
};
static const struct gn_record_field frame_fields[] = {
	GN_RECORD_FIELD(struct gn_kept_frame, address, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_kept_frame, stack, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_kept_frame, flags, GN_RECORD_U32),
};
static const struct gn_record_field mapping_fields[] = {
	GN_RECORD_FIELD(struct gn_kept_mapping, start, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_kept_mapping, length, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_kept_mapping, file_offset, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_kept_mapping, space, GN_RECORD_U32),
};

static const struct gn_record_kind kinds[GN_KEPT_KINDS] = {
	[GN_KEPT_STACK] = GN_RECORD_KIND("stack", struct gn_kept_stack, stack_fields),
	[GN_KEPT_BYTES] = GN_RECORD_KIND("bytes", struct gn_kept_bytes, bytes_fields),
	[GN_KEPT_FRAME] = GN_RECORD_KIND("frame", struct gn_kept_frame, frame_fields),
	[GN_KEPT_MAPPING] = GN_RECORD_KIND("mapping", struct gn_kept_mapping, mapping_fields),
	[GN_KEPT_PATH] = GN_RECORD_TEXTS("path"),
};

/* What blocks need beside records, in which the room is counted. */
#define HEAD_BYTES ((uint64_t)1 << 20)

int gn_kept_stacks_open(struct gn_kept_stacks *kept, const char *path, int32_t rank, uint64_t bytes)
{
	const struct gn_record_plan plan = {
		.writer = "stacks",
		.kinds = kinds,
		.n_kinds = GN_KEPT_KINDS,
		.rank = rank,
		.capacity_bytes = bytes + bytes / 8 + HEAD_BYTES,
	};

	memset(kept, 0, sizeof(*kept));
	kept->room = bytes;
	return gn_record_file_open(&kept->file, path, &plan);
}

void gn_kept_stacks_close(struct gn_kept_stacks *kept)
{
	gn_record_file_free(kept->file);
	kept->file = NULL;
}

static void append(struct gn_kept_stacks *kept, enum gn_kept_kind kind, const void *record)
{
	gn_record_append(&kept->stream[kind], kept->file, kind, record);
}

static uint64_t bytes_of_space(const struct gn_unwind_space *space)
{
	struct gn_unwind_mapping mapping;
	uint64_t bytes = 0;

	for (uint32_t i = 0; !gn_unwind_space_mapping(space, i, &mapping); i++)
		bytes += sizeof(struct gn_kept_mapping) + strlen(mapping.path) + 16;
	return bytes;
}

static void write_space(struct gn_kept_stacks *kept, struct gn_process *process)
{
	struct gn_unwind_mapping mapping;

	process->kept_space = ++kept->n_spaces;
	process->kept_changes = gn_unwind_space_changes(process->space);
	for (uint32_t i = 0; !gn_unwind_space_mapping(process->space, i, &mapping); i++) {
		const struct gn_kept_mapping record = {.start = mapping.start,
						       .length = mapping.length,
						       .file_offset = mapping.file_offset,
						       .space = process->kept_space};
		const size_t length = strlen(mapping.path);

		append(kept, GN_KEPT_MAPPING, &record);
		gn_record_append_text(&kept->stream[GN_KEPT_PATH], kept->file, GN_KEPT_PATH,
				      kept->n_mappings++, mapping.path,
				      length < GN_RECORD_TEXT_MAX ? length : GN_RECORD_TEXT_MAX);
	}
}

static void write_bytes(struct gn_kept_stacks *kept, const struct gn_sampled_stack *stack)
{
	for (size_t offset = 0; offset < stack->stack_bytes; offset += GN_KEPT_BYTES_MAX) {
		const size_t left = stack->stack_bytes - offset;
		struct gn_kept_bytes record = {
			.stack = (uint32_t)kept->n,
			.offset = (uint32_t)offset,
			.n = (uint32_t)(left < GN_KEPT_BYTES_MAX ? left : GN_KEPT_BYTES_MAX),
		};

		memcpy(record.data, (const char *)stack->stack + offset, record.n);
		append(kept, GN_KEPT_BYTES, &record);
	}
}

void gn_kept_stacks_add(struct gn_kept_stacks *kept, struct gn_process *process,
			const struct gn_sample_record *sample, const struct gn_unwind_frame *frame,
			uint32_t n, unsigned int end)
{
	const struct gn_sampled_stack *stack = &sample->stack;
	const int machine = gn_unwind_own_machine();
	const int is_new = !process->kept_space ||
			   process->kept_changes != gn_unwind_space_changes(process->space);
	struct gn_unwind_registers registers;
	struct gn_kept_stack record = {
		.time_ns = sample->time_ns,
		.pid = sample->pid,
		.tid = sample->tid,
		.n_frames = n,
		.stack_bytes = (uint32_t)stack->stack_bytes,
		.machine = (uint16_t)machine,
		.end = (uint16_t)end,
	};
	const uint64_t bytes =
		sizeof(record) + (uint64_t)n * sizeof(struct gn_kept_frame) +
		(stack->stack_bytes / GN_KEPT_BYTES_MAX + 1) * sizeof(struct gn_kept_bytes) +
		(is_new ? bytes_of_space(process->space) : 0);

	if (!kept->room || machine < 0 ||
	    gn_unwind_from_perf((enum gn_unwind_machine)machine, stack->abi, stack->registers,
				stack->n_registers, &registers))
		return;
	/* Those before it stay whole, and none after it comes. */
	if (bytes > kept->room) {
		kept->room = 0;
		return;
	}
	kept->room -= bytes;
	if (is_new)
		write_space(kept, process);
	record.space = process->kept_space;
	memcpy(record.value, registers.value, sizeof(record.value));
	append(kept, GN_KEPT_STACK, &record);
	write_bytes(kept, stack);
	for (uint32_t i = 0; i < n; i++) {
		const struct gn_kept_frame of_stack = {frame[i].address, (uint32_t)kept->n,
						       frame[i].flags};

		append(kept, GN_KEPT_FRAME, &of_stack);
	}
	kept->n++;
}
