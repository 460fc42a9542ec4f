/* Call stacks of places, as frames which threads share: a new place is rare. */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "places.h"

#define MODULES_MAX 1024u
#define FRAMES_FIRST 1024u
#define BUILD_ID_BYTES 32u

struct module {
	uintptr_t begin, end, base;
	uint32_t number;
};

struct frame_key {
	uint32_t caller, module;
	uint64_t offset;
};

/* Of the process, with a lock. */
static struct {
	pthread_mutex_t lock;
	struct module module[MODULES_MAX];
	uint32_t n_modules, n_module_numbers;
	struct frame_key *frame;
	uint32_t *slot; /* number + 1 of a frame by its key; 0: free */
	uint32_t n_frames, room;
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

static uint32_t hash_of(const struct frame_key *key)
{
	uint64_t hash = key->offset * 0x9e3779b97f4a7c15u;

	hash ^= ((uint64_t)key->caller << 32 | key->module) * 0xc2b2ae3d27d4eb4fu;
	return (uint32_t)(hash >> 32);
}

static uint32_t *slot_of(const struct frame_key *key)
{
	const uint32_t mask = 2 * shared.room - 1;
	uint32_t i = hash_of(key) & mask;

	while (shared.slot[i] && memcmp(&shared.frame[shared.slot[i] - 1], key, sizeof(*key)) != 0)
		i = (i + 1) & mask;
	return &shared.slot[i];
}

static int make_room(void)
{
	const uint32_t room = shared.room ? 2 * shared.room : FRAMES_FIRST;
	struct frame_key *frames;
	uint32_t *slots;

	if (shared.n_frames < shared.room)
		return 0;
	slots = calloc(2 * (size_t)room, sizeof(*slots));
	frames = slots ? realloc(shared.frame, room * sizeof(*frames)) : NULL;
	if (!frames) {
		free(slots);
		return -ENOMEM;
	}
	free(shared.slot);
	shared.frame = frames;
	shared.slot = slots;
	shared.room = room;
	for (uint32_t i = 0; i < shared.n_frames; i++)
		*slot_of(&shared.frame[i]) = i + 1;
	return 0;
}

/* The number of a frame; GN_MPI_NONE without memory. */
static uint32_t frame_of(struct gn_mpi_chunk *chunk, const struct frame_key *key)
{
	struct gn_mpi_frame_record record = {
		.caller = key->caller, .module = key->module, .offset = key->offset};
	uint32_t *slot;

	if (make_room())
		return GN_MPI_NONE;
	slot = slot_of(key);
	if (!*slot) {
		record.frame = shared.n_frames;
		shared.frame[shared.n_frames++] = *key;
		*slot = shared.n_frames;
		gn_mpi_totals_add(chunk, GN_MPI_FRAME, &record, sizeof(record));
	}
	return *slot - 1;
}

/* --- stacks ----------------------------------------------------------------------------------- */

uint32_t gn_mpi_stack_record(struct gn_mpi_thread *thread, struct gn_mpi_place *place)
{
	const struct gn_stack_bounds bounds = {thread->stack_begin, thread->stack_end};
	struct gn_stack stack;
	struct frame_key key = {.caller = GN_MPI_NONE};

	gn_stack_unwind(&stack, &place->callers, place->return_address, place->frame, bounds);
	pthread_mutex_lock(&shared.lock);
	for (uint32_t i = stack.n; i-- > 0;) {
		/* The call, not where it returns to. */
		const uintptr_t address = stack.address[i] - 1;
		const struct module *module = module_of(&thread->chunk, address);

		key.module = module ? module->number : GN_MPI_NONE;
		key.offset = module ? address - module->base : address;
		key.caller = frame_of(&thread->chunk, &key);
	}
	pthread_mutex_unlock(&shared.lock);
	return key.caller;
}
