#include "tasks.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "sample_file.h"

/* Linux allows 65,530 unless told otherwise. */
#define MAPS_MAX (1u << 16)
/* Processes of a file are none of those that run here. */
#define NO_PID (-1)
/* PERF_RECORD_MISC_FORK_EXEC: what perf writes of processes that were there before. */
#define MISC_HAS_OWN_MAPS (1u << 13)

static struct gn_map_set *new_set(struct gn_tasks *tasks)
{
	struct gn_map_set *set = calloc(1, sizeof(*set));

	if (set) {
		set->uses = 1;
		set->serial = ++tasks->serials;
	}
	return set;
}

static void release(struct gn_map_set *set)
{
	if (!set || --set->uses)
		return;
	gn_unwind_space_free(set->space);
	free(set->map);
	free(set);
}

int gn_tasks_begin(struct gn_tasks *tasks, const struct gn_mapped_files *files,
		   uint64_t copied_most)
{
	memset(tasks, 0, sizeof(*tasks));
	tasks->files = files;
	tasks->copied_most = copied_most;
	tasks->kernel = new_set(tasks);
	return tasks->kernel ? 0 : -ENOMEM;
}

void gn_tasks_end(struct gn_tasks *tasks)
{
	for (uint32_t i = 0; i < tasks->process.n; i++)
		release(gn_file_process(tasks, i)->maps);
	release(tasks->kernel);
	gn_rows_free(&tasks->process);
	gn_rows_free(&tasks->thread);
	gn_number_map_free(&tasks->by_pid);
	gn_number_map_free(&tasks->by_tid);
	gn_unwind_files_free(tasks->unwound);
	memset(tasks, 0, sizeof(*tasks));
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* A process of a number, a new one in the place of another that had it. */
static uint32_t new_process(struct gn_tasks *tasks, int32_t pid)
{
	struct gn_file_process *process = gn_rows_add(&tasks->process, sizeof(*process));
	const uint32_t number = (uint32_t)tasks->process.n - 1;

	if (!process || gn_number_put(&tasks->by_pid, (uint32_t)pid, number))
		return GN_NO_NUMBER;
	process->pid = pid;
	process->number = GN_NO_NUMBER;
	return number;
}

static uint32_t process_of(struct gn_tasks *tasks, int32_t pid)
{
	const uint32_t known = gn_number_of(&tasks->by_pid, (uint32_t)pid);

	return known == GN_NO_NUMBER ? new_process(tasks, pid) : known;
}

static uint64_t key_of(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static uint32_t new_thread(struct gn_tasks *tasks, int32_t pid, int32_t tid, uint32_t process)
{
	struct gn_file_thread *thread = gn_rows_add(&tasks->thread, sizeof(*thread));
	const uint32_t number = (uint32_t)tasks->thread.n - 1;

	if (!thread || gn_number_put(&tasks->by_tid, key_of(pid, tid), number))
		return GN_NO_NUMBER;
	thread->process = process;
	thread->tid = tid;
	thread->number = GN_NO_NUMBER;
	memcpy(thread->name, gn_file_process(tasks, process)->name, sizeof(thread->name));
	return number;
}

uint32_t gn_tasks_thread(struct gn_tasks *tasks, int32_t pid, int32_t tid)
{
	const uint32_t known = gn_number_of(&tasks->by_tid, key_of(pid, tid));
	uint32_t process;

	if (known != GN_NO_NUMBER)
		return known;
	process = process_of(tasks, pid);
	return process == GN_NO_NUMBER ? process : new_thread(tasks, pid, tid, process);
}

int gn_tasks_fork(struct gn_tasks *tasks, const uint8_t *record,
		  const struct gn_perf_header *header, bool swaps)
{
	struct gn_fields fields = {record + GN_RECORD_HEADER_BYTES,
				   header->size - GN_RECORD_HEADER_BYTES, swaps, false};
	const int32_t pid = (int32_t)gn_fields_32(&fields);
	const int32_t parent_pid = (int32_t)gn_fields_32(&fields);
	const int32_t tid = (int32_t)gn_fields_32(&fields);
	const int32_t parent_tid = (int32_t)gn_fields_32(&fields);
	uint32_t parent, process, thread;

	if (fields.is_short)
		return -EBADMSG;
	parent = gn_tasks_thread(tasks, parent_pid, parent_tid);
	if (parent == GN_NO_NUMBER)
		return -ENOMEM;
	process = pid == parent_pid ? gn_file_thread(tasks, parent)->process
				    : new_process(tasks, pid);
	if (process == GN_NO_NUMBER)
		return -ENOMEM;
	if (pid != parent_pid) {
		struct gn_file_process *own = gn_file_process(tasks, process);
		struct gn_file_process *other =
			gn_file_process(tasks, gn_file_thread(tasks, parent)->process);

		memcpy(own->name, other->name, sizeof(own->name));
		if (other->maps && !(header->misc & MISC_HAS_OWN_MAPS)) {
			own->maps = other->maps;
			own->maps->uses++;
		}
	}
	thread = new_thread(tasks, pid, tid, process);
	if (thread == GN_NO_NUMBER)
		return -ENOMEM;
	memcpy(gn_file_thread(tasks, thread)->name, gn_file_thread(tasks, parent)->name,
	       GN_TASK_NAME_BYTES);
	return 0;
}

int gn_tasks_name(struct gn_tasks *tasks, const uint8_t *record,
		  const struct gn_perf_header *header, bool swaps)
{
	struct gn_fields fields = {record + GN_RECORD_HEADER_BYTES,
				   header->size - GN_RECORD_HEADER_BYTES, swaps, false};
	const int32_t pid = (int32_t)gn_fields_32(&fields);
	const int32_t tid = (int32_t)gn_fields_32(&fields);
	struct gn_file_process *process;
	struct gn_file_thread *own;
	uint32_t thread;

	if (fields.is_short)
		return -EBADMSG;
	thread = gn_tasks_thread(tasks, pid, tid);
	if (thread == GN_NO_NUMBER)
		return -ENOMEM;
	own = gn_file_thread(tasks, thread);
	process = gn_file_process(tasks, own->process);
	if (header->misc & GN_MISC_IS_EXEC) {
		/* Another program: its samples are not those of the one before. */
		release(process->maps);
		process->maps = NULL;
		process->number = own->number = GN_NO_NUMBER;
	}
	snprintf(own->name, sizeof(own->name), "%.*s",
		 (int)strnlen((const char *)fields.next, fields.n), (const char *)fields.next);
	if (pid == tid)
		memcpy(process->name, own->name, sizeof(process->name));
	return 0;
}

/* --- maps ------------------------------------------------------------------------------------- */

static uint32_t first_behind(const struct gn_map_set *maps, uint64_t address)
{
	uint32_t low = 0, high = maps->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (maps->map[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct gn_code_map *gn_map_at(const struct gn_map_set *maps, uint64_t address)
{
	uint32_t at;

	if (!maps)
		return NULL;
	at = first_behind(maps, address);
	return at < maps->n && maps->map[at].start <= address ? &maps->map[at] : NULL;
}

/* Puts a map in the place of all that it lies over. */
static int put(struct gn_map_set *maps, const struct gn_code_map *map)
{
	struct gn_code_map part[3], *all = maps->map;
	const uint32_t first = first_behind(maps, map->start);
	uint32_t behind = first, n_parts = 0, n;

	while (behind < maps->n && all[behind].start < map->end)
		behind++;
	if (first < behind && all[first].start < map->start) {
		part[n_parts] = all[first];
		part[n_parts++].end = map->start;
	}
	part[n_parts++] = *map;
	if (first < behind && all[behind - 1].end > map->end) {
		part[n_parts] = all[behind - 1];
		part[n_parts].file_offset += map->end - part[n_parts].start;
		part[n_parts++].start = map->end;
	}
	n = maps->n - (behind - first) + n_parts;
	if (n > MAPS_MAX)
		return -ENOSPC;
	if (n > maps->room) {
		const uint32_t room = n < 16 ? 16 : 2 * n;

		all = realloc(all, room * sizeof(*all));
		if (!all)
			return -ENOMEM;
		maps->map = all;
		maps->room = room;
	}
	memmove(all + first + n_parts, all + behind, (maps->n - behind) * sizeof(*all));
	memcpy(all + first, part, n_parts * sizeof(*all));
	maps->n = n;
	return 0;
}

static int put_space(const struct gn_tasks *tasks, struct gn_unwind_space *space,
		     const struct gn_code_map *map)
{
	const struct gn_mapped_module *module = gn_module(tasks->files, map->module);
	const bool is_vdso = !strcmp(module->path, "[vdso]");
	const struct gn_unwind_mapping mapping = {
		.start = map->start,
		.length = map->end - map->start,
		.file_offset = map->file_offset,
		.path = is_vdso		     ? module->path
			: module->local_path ? module->local_path
					     : "",
		.prot = PROT_READ | PROT_EXEC,
		/* Files are told apart by these; that it is the one that ran was seen to. */
		.generation = map->module,
	};
	const int failed = gn_unwind_space_map(space, &mapping);

	return failed == -EINVAL ? 0 : failed;
}

/* The maps of a process, for itself alone. */
static struct gn_map_set *own_maps(struct gn_tasks *tasks, struct gn_file_process *process)
{
	struct gn_map_set *shared = process->maps, *own;
	uint64_t bytes;

	if (shared && shared->uses == 1)
		return shared;
	own = new_set(tasks);
	if (!own || !shared) {
		process->maps = own ? own : shared;
		return own;
	}
	bytes = shared->n * sizeof(*shared->map);
	if (tasks->copied_bytes + bytes > tasks->copied_most) {
		tasks->left_out += shared->n;
	} else if (bytes) {
		own->map = malloc(bytes);
		if (!own->map) {
			release(own);
			return NULL;
		}
		memcpy(own->map, shared->map, bytes);
		own->n = own->room = shared->n;
		tasks->copied_bytes += bytes;
	}
	release(shared);
	return process->maps = own;
}

int gn_tasks_map(struct gn_tasks *tasks, const struct gn_file_mapping *mapping, uint32_t module)
{
	const struct gn_code_map map = {mapping->start, mapping->start + mapping->length,
					mapping->file_offset, module};
	struct gn_map_set *maps = tasks->kernel;
	int failed;

	if (mapping->is_guest || !mapping->length)
		return 0;
	if (!mapping->is_kernel) {
		const uint32_t process = process_of(tasks, mapping->pid);

		maps = process == GN_NO_NUMBER ? NULL
					       : own_maps(tasks, gn_file_process(tasks, process));
		if (!maps)
			return -ENOMEM;
	}
	maps->serial = ++tasks->serials;
	failed = put(maps, &map);
	if (failed == -ENOSPC) {
		tasks->left_out++;
		return 0;
	}
	if (!failed && maps->space)
		failed = put_space(tasks, maps->space, &map);
	return failed;
}

struct gn_unwind_space *gn_tasks_space(struct gn_tasks *tasks, struct gn_map_set *maps)
{
	int failed = 0;

	if (maps->space)
		return maps->space;
	if (!tasks->unwound && gn_unwind_files_new(&tasks->unwound))
		return NULL;
	if (gn_unwind_space_new(&maps->space, tasks->unwound, NO_PID))
		return NULL;
	for (uint32_t i = 0; !failed && i < maps->n; i++)
		failed = put_space(tasks, maps->space, &maps->map[i]);
	if (failed) {
		gn_unwind_space_free(maps->space);
		maps->space = NULL;
	}
	return maps->space;
}
