/* Call stacks of places, as frames which threads share: a new place is rare. */
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "call_stack.h"
#include "loaded_object.h"
#include "scratch_memory.h"
#include "stacks.h"

#define MODULES_MAX 1024u
#define BUILD_ID_BYTES 32u
#define CODES_MAX 4096u

struct module {
	uintptr_t begin, end, base;
	uint32_t number;
};

struct frame {
	uint32_t hash, number;
	uint32_t caller, module;
	uint64_t offset;
};

/* A Python function, which another one may be later at its address. */
struct code {
	uintptr_t address;
	uint64_t identity;
};

/* Of the process, with a lock. */
static struct {
	pthread_mutex_t lock;
	struct module module[MODULES_MAX];
	uint32_t n_modules, n_module_numbers;
	struct gn_hash_table frames;
	struct code code[CODES_MAX];
	uint32_t n_codes;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What a new place takes, and the signal stack that a call may come from has no room for. */
struct work {
	struct gn_stack stack;
	struct gn_python_caller_frame python[GN_PYTHON_CALLER_FRAMES_MAX];
	char code[GN_PYTHON_CALLER_TEXT_BYTES];
	char path[PATH_MAX];
};

_Static_assert(sizeof(struct work) <= GN_SCRATCH_BYTES, "a place's work has room");

/* --- modules ---------------------------------------------------------------------------------- */

static uint32_t build_id_of(const struct gn_loaded_object *object, uint8_t *id)
{
	for (uint32_t i = 0; i < object->n_headers; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		const char *note = (const char *)(object->base + header->p_vaddr);
		const char *end = note + header->p_memsz;

		while (header->p_type == PT_NOTE && note + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
			const char *name = note + sizeof(*head);
			const char *value = name + ((head->n_namesz + 3u) & ~3u);

			note = value + ((head->n_descsz + 3u) & ~3u);
			if (note > end || head->n_type != NT_GNU_BUILD_ID || head->n_namesz != 4 ||
			    memcmp(name, "GNU", 4) || head->n_descsz > BUILD_ID_BYTES)
				continue;
			memcpy(id, value, head->n_descsz);
			return head->n_descsz;
		}
	}
	return 0;
}

static void write_module(struct gn_totals_chunk *chunk, struct work *work,
			 const struct gn_loaded_object *object, uint32_t number)
{
	struct gn_module_record record = {.module = number};
	ssize_t n = 0;

	record.build_id_bytes = (uint16_t)build_id_of(object, record.build_id);
	gn_totals_add(chunk, GN_TOTALS_MODULE, &record, sizeof(record));
	/* The program itself has no name there. */
	if (!object->name[0])
		n = readlink("/proc/self/exe", work->path, sizeof(work->path) - 1);
	work->path[n > 0 ? n : 0] = 0;
	gn_totals_add_text(chunk, GN_TOTALS_MODULE, number,
			   object->name[0] ? object->name : work->path);
}

/* Of the segment that has the address, or of the address alone where there are no headers. */
static struct module module_at(const struct gn_loaded_object *object, uintptr_t address)
{
	const ElfW(Phdr) *header = gn_segment_of(object, address);
	const uintptr_t begin = header ? object->base + header->p_vaddr : address;

	return (struct module){
		.begin = begin,
		.end = begin + (header ? header->p_memsz : 1),
		.base = object->base,
	};
}

/* What is mapped where a module was that has been closed is taken for it: none is forgotten. */
static const struct module *module_of(struct gn_totals_chunk *chunk, struct work *work,
				      uintptr_t address)
{
	struct gn_loaded_object object;
	struct module *module;

	for (uint32_t i = 0; i < shared.n_modules; i++)
		if (address >= shared.module[i].begin && address < shared.module[i].end)
			return &shared.module[i];
	if (shared.n_modules == MODULES_MAX || !gn_loaded_object_of(address, &object))
		return NULL;
	module = &shared.module[shared.n_modules++];
	*module = module_at(&object, address);
	module->number = shared.n_module_numbers++;
	write_module(chunk, work, &object, module->number);
	return module;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The number of a frame; GN_TOTALS_NONE without memory. */
static uint32_t frame_of(struct gn_totals_chunk *chunk, uint32_t caller, uint32_t module,
			 uint64_t offset)
{
	const struct gn_frame_record record = {
		.frame = shared.frames.n, .caller = caller, .module = module, .offset = offset};
	const uint32_t hash = gn_hash_of(offset, (uint64_t)module << 32 | caller);
	struct frame *frame;

	if (gn_hash_table_make_room(&shared.frames, sizeof(*frame)))
		return GN_TOTALS_NONE;
	for (uint32_t i = hash;; i++) {
		frame = (struct frame *)shared.frames.entry + (i & shared.frames.mask);
		if (!frame->hash)
			break;
		if (frame->caller == caller && frame->module == module && frame->offset == offset)
			return frame->number;
	}
	*frame = (struct frame){hash, shared.frames.n++, caller, module, offset};
	gn_totals_add(chunk, GN_TOTALS_FRAME, &record, sizeof(record));
	return frame->number;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Frames of the `n` innermost, but those that are `hidden`; the innermost one's number. */
static uint32_t add_native(struct gn_totals_chunk *chunk, struct work *work, uint32_t n,
			   uint32_t caller, const struct module *hidden)
{
	for (uint32_t i = n; i-- > 0;) {
		/* The call, not where it returns to. */
		const uintptr_t address = work->stack.address[i] - 1;
		const struct module *module = module_of(chunk, work, address);

		if (module && hidden && module->base == hidden->base)
			continue;
		caller = frame_of(chunk, caller, module ? module->number : GN_TOTALS_NONE,
				  module ? address - module->base : address);
	}
	return caller;
}

/* --- Python ----------------------------------------------------------------------------------- */

/* The number of a function; GN_TOTALS_NONE where there are too many. */
static uint32_t code_of(struct gn_totals_chunk *chunk, struct work *work, uintptr_t address)
{
	const uint64_t identity = gn_python_caller_identity(address);

	for (uint32_t i = 0; i < shared.n_codes; i++)
		if (shared.code[i].address == address && shared.code[i].identity == identity)
			return i;
	if (shared.n_codes == CODES_MAX)
		return GN_TOTALS_NONE;
	shared.code[shared.n_codes] = (struct code){address, identity};
	gn_python_caller_name(address, work->code, sizeof(work->code));
	gn_totals_add_text(chunk, GN_TOTALS_CODE, shared.n_codes, work->code);
	return shared.n_codes++;
}

/*
 * Python's functions stand where the interpreter and what started it do; below the innermost one is
 * what it called in libraries. Those that called back into Python are left out. 0: there are none.
 */
static int add_python(struct gn_totals_chunk *chunk, struct work *work, uint32_t *innermost)
{
	const struct gn_stack *stack = &work->stack;
	const uint32_t n = gn_python_caller_stack(work->python, GN_PYTHON_CALLER_FRAMES_MAX);
	const struct module *interpreter = module_of(chunk, work, gn_python_caller_address());
	uint32_t caller = GN_TOTALS_NONE, n_native = 0;

	while (n_native < stack->n && !gn_python_caller_is_loop(stack->address[n_native] - 1))
		n_native++;
	if (!n || !interpreter || n_native == stack->n)
		return 0;
	for (uint32_t i = n; i-- > 0;) {
		const uint32_t code = code_of(chunk, work, work->python[i].code);

		if (code != GN_TOTALS_NONE)
			caller = frame_of(chunk, caller, code | GN_TOTALS_IS_CODE,
					  work->python[i].line);
	}
	*innermost = add_native(chunk, work, n_native, caller, interpreter);
	return 1;
}

void gn_stacks_forget(void)
{
	pthread_mutex_init(&shared.lock, NULL);
	shared.n_modules = shared.n_module_numbers = shared.n_codes = 0;
	gn_hash_table_free(&shared.frames, sizeof(struct frame));
}

_Static_assert(GN_FRAMES_CHECKED == GN_STACK_CHECKED, "a place has room for all callers");

uint32_t gn_stack_record(struct gn_site_thread *thread, struct gn_call_place *place,
			 struct gn_checked_frame *checked)
{
	const struct gn_stack_bounds bounds = {thread->stack_begin, thread->stack_end};
	struct gn_stack_callers callers;
	struct work *work = gn_scratch_take();
	uint32_t caller = GN_TOTALS_NONE;

	place->n_checked = 0;
	if (!work)
		return caller;
	gn_stack_unwind(&work->stack, &callers, place->return_address, place->frame, bounds);
	place->n_checked = callers.n;
	for (uint32_t i = 0; i < callers.n; i++)
		checked[i] = (struct gn_checked_frame){callers.caller[i].slot,
						       callers.caller[i].address};
	pthread_mutex_lock(&shared.lock);
	if (!gn_has_python_callers || !add_python(&thread->chunk, work, &caller))
		caller = add_native(&thread->chunk, work, work->stack.n, GN_TOTALS_NONE, NULL);
	pthread_mutex_unlock(&shared.lock);
	gn_scratch_give(work);
	return caller;
}
