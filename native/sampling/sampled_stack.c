#include "sampled_stack.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* 100 MB of paths; a program with more has unbounded recursion in as many ways. */
#define NODES_MAX (4u << 20)
/* Of samples so young it is believed that their threads have not left all that they were in. */
#define FRESH_NS 25000000ull
/* As enum gn_unwind_machine numbers registers: those of DWARF. */
#define X86_RDI 5

/* --- modules ---------------------------------------------------------------------------------- */

static void write_module(struct gn_stack_paths *paths, const struct gn_sample_module *module,
			 const char *path)
{
	gn_sample_append_text(paths->out, GN_SAMPLE_PATH, module->module, path);
	gn_sample_append(paths->out, GN_SAMPLE_MODULE, module);
}

static void write_reserved(struct gn_stack_paths *paths)
{
	const struct gn_sample_module kernel = {
		.module = GN_MODULE_KERNEL, .kind = GN_MODULE_IS_KERNEL, .pid = -1};
	const struct gn_sample_module cut = {
		.module = GN_MODULE_CUT, .kind = GN_MODULE_IS_CUT, .pid = -1};

	write_module(paths, &kernel, "[kernel]");
	write_module(paths, &cut, "(truncated)");
	paths->n_modules = GN_MODULES_RESERVED;
}

static int make_room(struct gn_stack_paths *paths, uint32_t file)
{
	const uint32_t n = 2 * file + 64;
	uint32_t *more;

	if (file < paths->n_files)
		return 0;
	more = realloc(paths->module_of_file, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = paths->n_files; i < n; i++)
		more[i] = GN_UNNUMBERED;
	paths->module_of_file = more;
	paths->n_files = n;
	return 0;
}

static uint32_t number_file(struct gn_stack_paths *paths, uint32_t file, int32_t pid)
{
	struct gn_sample_module module = {.kind = GN_MODULE_IS_FILE, .pid = pid};
	const char *path;

	if (make_room(paths, file))
		return GN_PATH_NONE;
	path = gn_unwind_file_path(paths->files, file);
	module.inode = gn_unwind_file_inode(paths->files, file);
	module.module = paths->module_of_file[file] = paths->n_modules++;
	module.build_id_bytes =
		(uint32_t)gn_unwind_file_build_id(paths->files, file, module.build_id);
	write_module(paths, &module, path ? path : "");
	return module.module;
}

static uint32_t module_of_file(struct gn_stack_paths *paths, uint32_t file, int32_t pid)
{
	if (file < paths->n_files && paths->module_of_file[file] != GN_UNNUMBERED)
		return paths->module_of_file[file];
	return number_file(paths, file, pid);
}

static uint32_t jit_module(struct gn_stack_paths *paths, struct gn_process *process)
{
	struct gn_sample_module module = {.kind = GN_MODULE_IS_JIT, .pid = process->pid};

	if (process->jit_module == GN_UNNUMBERED) {
		module.module = process->jit_module = paths->n_modules++;
		write_module(paths, &module, "[jit]");
	}
	return process->jit_module;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static uint32_t place_of(struct gn_stack_paths *paths, uint32_t module, uint64_t offset)
{
	const uint32_t before = paths->tree.n_places;
	const uint32_t place =
		module == GN_PATH_NONE ? module : gn_path_place(&paths->tree, module, offset);

	if (paths->tree.n_places > before) {
		const struct gn_sample_place record = {.offset = offset, .module = module};

		gn_sample_append(paths->out, GN_SAMPLE_PLACE, &record);
	}
	return place;
}

static int extend_anew(struct gn_stack_paths *paths, uint32_t *path, uint32_t module,
		       uint64_t offset)
{
	const uint32_t before = paths->tree.n_nodes;
	const uint32_t place = place_of(paths, module, offset);
	const uint32_t node =
		place == GN_PATH_NONE ? place : gn_path_node(&paths->tree, *path, place);

	if (node == GN_PATH_NONE)
		return 0;
	if (paths->tree.n_nodes > before) {
		const struct gn_sample_node record = {place};
		const struct gn_sample_branch branch = {node, *path};

		if (*path == GN_PATH_NONE || *path + 1 != node)
			gn_sample_append(paths->out, GN_SAMPLE_BRANCH, &branch);
		gn_sample_append(paths->out, GN_SAMPLE_NODE, &record);
	}
	*path = node;
	return 1;
}

/* The path with one place more; 0 where there is no room for it, and the path stays. */
static int extend(struct gn_stack_paths *paths, uint32_t *path, uint32_t module, uint64_t offset)
{
	const uint32_t last = gn_path_last(&paths->tree, *path, module, offset);

	if (last == GN_PATH_NONE)
		return extend_anew(paths, path, module, offset);
	*path = last;
	return 1;
}

static uint32_t module_of_frame(struct gn_stack_paths *paths, struct gn_process *process,
				const struct gn_unwind_frame *frame)
{
	return frame->file == GN_UNWIND_NO_FILE ? jit_module(paths, process)
						: module_of_file(paths, frame->file, process->pid);
}

uint32_t gn_stack_paths_place(struct gn_stack_paths *paths, struct gn_process *process,
			      uint64_t address)
{
	struct gn_unwind_frame frame;

	if (address >> 63)
		return place_of(paths, GN_MODULE_KERNEL, address);
	if (gn_unwind_space_find(process->space, address, &frame))
		return GN_PATH_NONE;
	return place_of(paths, module_of_frame(paths, process, &frame), frame.offset);
}

static int extend_by_frame(struct gn_stack_paths *paths, uint32_t *path, struct gn_process *process,
			   const struct gn_unwind_frame *frame)
{
	return extend(paths, path, module_of_frame(paths, process, frame), frame->offset);
}

/* The kernel's part, below all others: of return addresses the calls. */
static int extend_by_kernel(struct gn_stack_paths *paths, uint32_t *path, const uint64_t *kernel,
			    uint64_t n)
{
	uint64_t innermost = 0;
	int is_whole = 1;

	while (innermost < n && kernel[innermost] >= (uint64_t)PERF_CONTEXT_MAX)
		innermost++;
	for (uint64_t i = n; is_whole && i-- > innermost;) {
		const uint64_t address = kernel[i];

		if (address < (uint64_t)PERF_CONTEXT_MAX)
			is_whole = extend(paths, path, GN_MODULE_KERNEL, address - (i > innermost));
	}
	return is_whole;
}

static void unwind(struct gn_stack_paths *paths, const struct gn_process *process, int32_t tid,
		   uint64_t time_ns, const struct gn_sampled_stack *stack,
		   struct gn_unwind_result *result)
{
	struct gn_unwind_registers registers;
	const int machine = gn_unwind_own_machine();

	memset(result, 0, sizeof(*result));
	result->end = GN_UNWIND_NO_RULES;
	if (machine < 0 || gn_unwind_from_perf((enum gn_unwind_machine)machine, stack->abi,
					       stack->registers, stack->n_registers, &registers))
		return;
	paths->argument = registers.value[machine == GN_UNWIND_X86_64 ? X86_RDI : 0];
	registers.thread = tid;
	registers.is_fresh = paths->read_ns < time_ns + FRESH_NS;
	gn_unwind_stack(process->space, &registers, stack->stack,
			registers.value[machine == GN_UNWIND_X86_64 ? 7 : 31], stack->stack_bytes,
			paths->frame, GN_FRAMES_MAX, result);
	paths->n_beyond += result->is_beyond;
}

void gn_stack_paths_add(struct gn_stack_paths *paths, struct gn_process *process, int32_t tid,
			const struct gn_sampled_stack *stack, struct gn_sample_sample *sample)
{
	struct gn_unwind_result result = {.end = GN_UNWIND_COMPLETE};
	uint32_t path = GN_PATH_NONE;
	int is_whole = 1;

	paths->argument = UINT64_MAX;
	if (stack->abi)
		unwind(paths, process, tid, sample->time_ns, stack, &result);
	else
		sample->flags |= GN_SAMPLE_KERNEL_ONLY;
	paths->n_frames = result.n;
	sample->end = (uint8_t)result.end;
	if (result.n_guessed)
		sample->flags |= GN_SAMPLE_GUESSED;
	if (result.end != GN_UNWIND_COMPLETE)
		is_whole = extend(paths, &path, GN_MODULE_CUT, result.end);
	for (uint32_t i = result.n; is_whole && i-- > 0;)
		is_whole = extend_by_frame(paths, &path, process, &paths->frame[i]);
	if (is_whole)
		is_whole = extend_by_kernel(paths, &path, stack->kernel, stack->n_kernel);
	if (!is_whole)
		sample->flags |= GN_SAMPLE_SHORTENED;
	sample->node = path;
}

void gn_stack_paths_add_kernel(struct gn_stack_paths *paths, const uint64_t *kernel, uint32_t n,
			       struct gn_sample_sample *sample)
{
	if (!(sample->flags & GN_SAMPLE_SHORTENED) &&
	    !extend_by_kernel(paths, &sample->node, kernel, n))
		sample->flags |= GN_SAMPLE_SHORTENED;
}

uint32_t gn_stack_paths_leaf(const struct gn_stack_paths *paths, uint32_t node)
{
	return node == GN_PATH_NONE ? node : paths->tree.node[node].place;
}

int gn_stack_paths_begin(struct gn_stack_paths *paths, struct gn_sample_file *out,
			 struct gn_unwind_files *files)
{
	const int failed = gn_path_tree_begin(&paths->tree, NODES_MAX);

	if (failed)
		return failed;
	paths->out = out;
	paths->files = files;
	paths->module_of_file = NULL;
	paths->n_files = 0;
	paths->read_ns = paths->n_beyond = 0;
	write_reserved(paths);
	return 0;
}

void gn_stack_paths_end(struct gn_stack_paths *paths)
{
	gn_path_tree_end(&paths->tree);
	free(paths->module_of_file);
	paths->module_of_file = NULL;
}
