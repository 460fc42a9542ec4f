/* Call stacks of places, as frames which threads share: a new place is rare. */
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "places.h"

#define FRAMES_MAX 512u
#define MODULES_MAX 1024u
#define PAGE_BYTES 4096u
#define BUILD_ID_BYTES 32u

struct stack {
	const struct gn_mpi_thread *thread;
	struct gn_mpi_place *place;
	struct gn_mpi_checked *checked;
	uintptr_t address[FRAMES_MAX]; /* the innermost first */
	uint32_t n;
	int is_outside; /* of wrappers: the caller of MPI has been reached */
};

struct module {
	uintptr_t begin, end, base;
	uint32_t number;
};

struct frame {
	uint32_t hash, number;
	uint32_t caller, module;
	uint64_t offset;
};

/* Of the process, with a lock. */
static struct {
	pthread_mutex_t lock;
	struct module module[MODULES_MAX];
	uint32_t n_modules, n_module_numbers;
	struct gn_mpi_table frames;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- modules ---------------------------------------------------------------------------------- */

struct search {
	struct gn_mpi_chunk *chunk;
	uintptr_t address;
	const struct module *module;
};

static uint32_t build_id_of(const struct dl_phdr_info *info, uint8_t *id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const char *note = (const char *)(info->dlpi_addr + header->p_vaddr);
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

static void write_module(struct gn_mpi_chunk *chunk, const struct dl_phdr_info *info,
			 uint32_t number)
{
	struct gn_mpi_module_record record = {.module = number};
	char path[PATH_MAX] = "";

	record.build_id_bytes = (uint16_t)build_id_of(info, record.build_id);
	gn_mpi_totals_add(chunk, GN_MPI_MODULE, &record, sizeof(record));
	/* The program itself has no name there. */
	if (!info->dlpi_name[0] && readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		path[0] = 0;
	gn_mpi_totals_add_text(chunk, GN_MPI_MODULE, number,
			       info->dlpi_name[0] ? info->dlpi_name : path);
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		struct module *module;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || search->address < begin ||
		    search->address >= begin + info->dlpi_phdr[i].p_memsz)
			continue;
		if (shared.n_modules == MODULES_MAX)
			return 1;
		module = &shared.module[shared.n_modules++];
		*module = (struct module){.begin = begin,
					  .end = begin + info->dlpi_phdr[i].p_memsz,
					  .base = info->dlpi_addr,
					  .number = shared.n_module_numbers++};
		write_module(search->chunk, info, module->number);
		search->module = module;
		return 1;
	}
	return 0;
}

/* What is mapped where a module was that has been closed is taken for it: none is forgotten. */
static const struct module *module_of(struct gn_mpi_chunk *chunk, uintptr_t address)
{
	struct search search = {.chunk = chunk, .address = address};

	for (uint32_t i = 0; i < shared.n_modules; i++)
		if (address >= shared.module[i].begin && address < shared.module[i].end)
			return &shared.module[i];
	dl_iterate_phdr(look_at_module, &search);
	return search.module;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The number of a frame; GN_MPI_NONE without memory. */
static uint32_t frame_of(struct gn_mpi_chunk *chunk, uint32_t caller, uint32_t module,
			 uint64_t offset)
{
	const struct gn_mpi_frame_record record = {
		.frame = shared.frames.n, .caller = caller, .module = module, .offset = offset};
	const uint32_t hash = gn_mpi_hash(offset, (uint64_t)module << 32 | caller);
	struct frame *frame;

	if (gn_mpi_table_make_room(&shared.frames, sizeof(*frame)))
		return GN_MPI_NONE;
	for (uint32_t i = hash;; i++) {
		frame = (struct frame *)shared.frames.entry + (i & shared.frames.mask);
		if (!frame->hash)
			break;
		if (frame->caller == caller && frame->module == module && frame->offset == offset)
			return frame->number;
	}
	*frame = (struct frame){hash, shared.frames.n++, caller, module, offset};
	gn_mpi_totals_add(chunk, GN_MPI_FRAME, &record, sizeof(record));
	return frame->number;
}

/* --- unwinding -------------------------------------------------------------------------------- */

/*
 * Where a return address lies on the stack, and that it does. Of a stack that is not the thread's
 * own it is not known how far it goes: there the caller's page is all that is looked at.
 */
static void check_later(struct stack *stack, uintptr_t slot, uintptr_t address)
{
	struct gn_mpi_place *place = stack->place;
	const struct gn_mpi_thread *thread = stack->thread;
	const int is_own = place->frame >= thread->stack_begin && slot < thread->stack_end;

	if (place->n_checked == GN_MPI_FRAMES_CHECKED || slot < place->frame ||
	    slot % sizeof(uintptr_t) ||
	    (!is_own && slot / PAGE_BYTES != place->frame / PAGE_BYTES) ||
	    *(const uintptr_t *)slot != address)
		return;
	stack->checked[place->n_checked].slot = slot;
	stack->checked[place->n_checked++].address = address;
}

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *argument)
{
	struct stack *stack = argument;
	const uintptr_t address = _Unwind_GetIP(context);

	if (!stack->is_outside && address != stack->place->return_address)
		return _URC_NO_REASON;
	stack->is_outside = 1;
	if (!address || stack->n == FRAMES_MAX)
		return _URC_END_OF_STACK;
	stack->address[stack->n++] = address;
	/* Before a frame begins, the address that its callee returns to. */
	if (stack->n > 1)
		check_later(stack, _Unwind_GetCFA(context) - sizeof(uintptr_t), address);
	return _URC_NO_REASON;
}

uint32_t gn_mpi_stack_record(struct gn_mpi_thread *thread, struct gn_mpi_place *place,
			     struct gn_mpi_checked *checked)
{
	struct stack stack = {.thread = thread, .place = place, .checked = checked};
	uint32_t caller = GN_MPI_NONE;

	_Unwind_Backtrace(look_at_frame, &stack);
	if (!stack.n)
		stack.address[stack.n++] = place->return_address;
	pthread_mutex_lock(&shared.lock);
	for (uint32_t i = stack.n; i-- > 0;) {
		/* The call, not where it returns to. */
		const uintptr_t address = stack.address[i] - 1;
		const struct module *module = module_of(&thread->chunk, address);

		caller = frame_of(&thread->chunk, caller, module ? module->number : GN_MPI_NONE,
				  module ? address - module->base : address);
	}
	pthread_mutex_unlock(&shared.lock);
	return caller;
}
