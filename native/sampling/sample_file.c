#include "sample_file.h"

#include <errno.h>
#include <string.h>

static const struct gn_record_field setup_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_setup, monotonic_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_setup, realtime_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_setup, stack_bytes, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_setup, n_cpus, GN_RECORD_U32),
};
static const struct gn_record_field module_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_module, module, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_module, kind, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_module, pid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_sample_module, build_id_bytes, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_module, build_id, GN_RECORD_U8),
	GN_RECORD_FIELD(struct gn_sample_module, inode, GN_RECORD_U64),
};
static const struct gn_record_field place_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_place, offset, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_place, module, GN_RECORD_U32),
};
static const struct gn_record_field node_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_node, place, GN_RECORD_U32),
};
static const struct gn_record_field branch_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_branch, node, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_branch, parent, GN_RECORD_U32),
};
static const struct gn_record_field process_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_process, process, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_process, pid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_sample_process, name, GN_RECORD_CHAR),
};
static const struct gn_record_field thread_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_thread, thread, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_thread, process, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_thread, tid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_sample_thread, name, GN_RECORD_CHAR),
};
static const struct gn_record_field sample_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_sample, time_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_sample, weight, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_sample, thread, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_sample, node, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_sample, cpu, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_sample_sample, event, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_sample_sample, end, GN_RECORD_U8),
	GN_RECORD_FIELD(struct gn_sample_sample, flags, GN_RECORD_U8),
};
static const struct gn_record_field loss_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_loss, time_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_loss, count, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_loss, kind, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_loss, cpu, GN_RECORD_U32),
};
static const struct gn_record_field cost_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_cost, cpu_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_cost, ring_bytes, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_cost, left_out, GN_RECORD_U64),
};

static const struct gn_record_field time_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_time, counted_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_time, tid, GN_RECORD_I32),
};

static const struct gn_record_field value_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_value, value, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_value, sample, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_value, event, GN_RECORD_U32),
};
static const struct gn_record_field data_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_data, address, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_data, source, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_data, latency, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_data, sample, GN_RECORD_U32),
};
static const struct gn_record_field jump_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_jump, from_place, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_jump, to_place, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_jump, sample, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_jump, cycles, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_sample_jump, flags, GN_RECORD_U8),
};
static const struct gn_record_field wait_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_wait, woken_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_wait, subject, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_wait, sample, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_wait, waker, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_sample_wait, holder, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_sample_wait, call, GN_RECORD_U8),
	GN_RECORD_FIELD(struct gn_sample_wait, flags, GN_RECORD_U8),
};
static const struct gn_record_field rest_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_rest, ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_rest, n, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_rest, thread, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_sample_rest, duration, GN_RECORD_U16),
	GN_RECORD_FIELD(struct gn_sample_rest, is_runnable, GN_RECORD_U8),
};
static const struct gn_record_field span_fields[] = {
	GN_RECORD_FIELD(struct gn_sample_span, begin_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_span, end_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_sample_span, thread, GN_RECORD_U32),
};

static const struct gn_record_kind kinds[GN_SAMPLE_KINDS] = {
	[GN_SAMPLE_SETUP] = GN_RECORD_KIND("setup", struct gn_sample_setup, setup_fields),
	[GN_SAMPLE_EVENT] = GN_RECORD_TEXTS("event"),
	[GN_SAMPLE_MODULE] = GN_RECORD_KIND("module", struct gn_sample_module, module_fields),
	[GN_SAMPLE_PATH] = GN_RECORD_TEXTS("path"),
	[GN_SAMPLE_PLACE] = GN_RECORD_KIND("place", struct gn_sample_place, place_fields),
	[GN_SAMPLE_NODE] = GN_RECORD_KIND("node", struct gn_sample_node, node_fields),
	[GN_SAMPLE_BRANCH] = GN_RECORD_KIND("branch", struct gn_sample_branch, branch_fields),
	[GN_SAMPLE_PROCESS] = GN_RECORD_KIND("process", struct gn_sample_process, process_fields),
	[GN_SAMPLE_THREAD] = GN_RECORD_KIND("thread", struct gn_sample_thread, thread_fields),
	[GN_SAMPLE_SAMPLE] = GN_RECORD_KIND("sample", struct gn_sample_sample, sample_fields),
	[GN_SAMPLE_LOSS] = GN_RECORD_KIND("loss", struct gn_sample_loss, loss_fields),
	[GN_SAMPLE_COST] = GN_RECORD_KIND("cost", struct gn_sample_cost, cost_fields),
	[GN_SAMPLE_KERNEL] = GN_RECORD_TEXTS("kernel"),
	[GN_SAMPLE_TIME] = GN_RECORD_KIND("time", struct gn_sample_time, time_fields),
	[GN_SAMPLE_VALUE] = GN_RECORD_KIND("value", struct gn_sample_value, value_fields),
	[GN_SAMPLE_DATA] = GN_RECORD_KIND("data", struct gn_sample_data, data_fields),
	[GN_SAMPLE_JUMP] = GN_RECORD_KIND("jump", struct gn_sample_jump, jump_fields),
	[GN_SAMPLE_WAIT] = GN_RECORD_KIND("wait", struct gn_sample_wait, wait_fields),
	[GN_SAMPLE_REST] = GN_RECORD_KIND("rest", struct gn_sample_rest, rest_fields),
	[GN_SAMPLE_SPAN] = GN_RECORD_KIND("span", struct gn_sample_span, span_fields),
};

/* Address space alone: 64 GiB hold two billion samples. */
#define CAPACITY ((uint64_t)1 << 36)

int gn_sample_file_open(struct gn_sample_file *file, const char *path, int32_t rank)
{
	const struct gn_record_plan plan = {
		.writer = "samples",
		.kinds = kinds,
		.n_kinds = GN_SAMPLE_KINDS,
		.rank = rank,
		.capacity_bytes = CAPACITY,
	};
	struct gn_record_plan smaller = plan;
	int result;

	memset(file, 0, sizeof(*file));
	result = gn_record_file_open(&file->file, path, &plan);
	if (result != -ENOMEM && result != -EINVAL)
		return result;
	/* A limit of address space (RLIMIT_AS), or valgrind (-EINVAL), may leave room for less. */
	smaller.capacity_bytes = 0;
	return gn_record_file_open(&file->file, path, &smaller);
}

void gn_sample_file_close(struct gn_sample_file *file)
{
	gn_record_file_free(file->file);
	file->file = NULL;
}

void gn_sample_append(struct gn_sample_file *file, enum gn_sample_kind kind, const void *record)
{
	gn_record_append(&file->stream[kind], file->file, kind, record);
}

void gn_sample_append_text(struct gn_sample_file *file, enum gn_sample_kind kind, uint32_t number,
			   const char *text)
{
	const size_t length = strlen(text);

	gn_record_append_text(&file->stream[kind], file->file, kind, number, text,
			      length < GN_RECORD_TEXT_MAX ? length : GN_RECORD_TEXT_MAX);
}
