#include "processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "group_values.h"
#include "waits.h"

#define MAPS_LINE 4352

/* The place of a task's number in a table, NULL without memory or beyond it. */
static void **slot(void ***pages, int32_t number)
{
	const uint32_t page = (uint32_t)number / GN_TASKS_PER_PAGE;

	if (number < 0 || page >= GN_TASK_PAGES)
		return NULL;
	if (!pages[page])
		pages[page] = calloc(GN_TASKS_PER_PAGE, sizeof(void *));
	return pages[page] ? &pages[page][(uint32_t)number % GN_TASKS_PER_PAGE] : NULL;
}

static struct gn_process **process_slot(struct gn_processes *all, int32_t pid)
{
	return (struct gn_process **)slot((void ***)all->process, pid);
}

static struct gn_thread **thread_slot(struct gn_processes *all, int32_t tid)
{
	return (struct gn_thread **)slot((void ***)all->thread, tid);
}

static void free_thread(struct gn_thread **place)
{
	if (*place) {
		gn_group_values_free(&(*place)->group_values);
		gn_waits_forget(*place);
	}
	free(*place);
	*place = NULL;
}

static void free_process(struct gn_processes *all, struct gn_process **place)
{
	if (*place) {
		all->n_alive--;
		gn_unwind_space_free((*place)->space);
		free(*place);
		*place = NULL;
	}
}

static void set_name(char *name, const char *text)
{
	snprintf(name, GN_TASK_NAME, "%s", text);
}

/* --- what is in /proc ------------------------------------------------------------------------- */

/* One line of /proc/PID/maps; proc_pid_maps(5). */
static int map_line(struct gn_unwind_space *space, const char *line)
{
	struct gn_unwind_mapping mapping = {0};
	unsigned int major, minor;
	uint64_t end;
	char rights[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping.start, &end, rights, &mapping.file_offset, &major, &minor,
		   &mapping.inode, &path) < 7 ||
	    end <= mapping.start || rights[2] != 'x')
		return 0;
	mapping.length = end - mapping.start;
	mapping.prot = PROT_READ | PROT_EXEC;
	mapping.device = makedev(major, minor);
	mapping.path = line + path;
	return gn_unwind_space_map(space, &mapping);
}

/* What a process has mapped now; nothing of one that is gone or not ours to look at. */
static int map_all(struct gn_unwind_space *space, int32_t pid)
{
	char name[40], line[MAPS_LINE];
	FILE *maps;
	int failed = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return 0;
	while (!failed && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		failed = map_line(space, line);
	}
	fclose(maps);
	return failed;
}

static void look_up_name(char *name, int32_t pid, int32_t tid)
{
	char path[64], text[GN_TASK_NAME + 1] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
	set_name(name, text);
}

/* --- tables ----------------------------------------------------------------------------------- */

int gn_processes_begin(struct gn_processes *all)
{
	memset(all, 0, sizeof(*all));
	return gn_unwind_files_new(&all->files);
}

void gn_processes_end(struct gn_processes *all)
{
	for (uint32_t page = 0; page < GN_TASK_PAGES; page++) {
		for (uint32_t i = 0; all->process[page] && i < GN_TASKS_PER_PAGE; i++)
			free_process(all, &all->process[page][i]);
		for (uint32_t i = 0; all->thread[page] && i < GN_TASKS_PER_PAGE; i++)
			free_thread(&all->thread[page][i]);
		free(all->process[page]);
		free(all->thread[page]);
	}
	gn_unwind_files_free(all->files);
	memset(all, 0, sizeof(*all));
}

/* A new process in its place, with the mappings of its parent or none. */
static struct gn_process *new_process(struct gn_processes *all, struct gn_process **place,
				      int32_t pid, const struct gn_process *parent)
{
	struct gn_process *process = calloc(1, sizeof(*process));
	int failed;

	free_process(all, place);
	if (!process)
		return NULL;
	failed = parent ? gn_unwind_space_fork(&process->space, parent->space, pid)
			: gn_unwind_space_new(&process->space, all->files, pid);
	if (failed) {
		free(process);
		return NULL;
	}
	process->pid = pid;
	process->serial = ++all->n;
	process->number = process->jit_module = GN_UNNUMBERED;
	if (parent) {
		set_name(process->name, parent->name);
		process->is_waiting = parent->is_waiting;
	}
	*place = process;
	all->n_alive++;
	return process;
}

static struct gn_thread *new_thread(struct gn_thread **place, struct gn_process *process,
				    int32_t tid, const char *name)
{
	struct gn_thread *thread = calloc(1, sizeof(*thread));

	free_thread(place);
	*place = thread;
	if (!thread)
		return NULL;
	thread->process = process;
	thread->serial = process->serial;
	thread->pid = process->pid;
	thread->tid = tid;
	thread->number = GN_UNNUMBERED;
	set_name(thread->name, name);
	process->n_threads++;
	return thread;
}

/* `is_new`: it has just executed a program, and what /proc says may be later than that. */
static struct gn_thread *thread_of(struct gn_processes *all, int32_t pid, int32_t tid, int is_new)
{
	struct gn_process **process = process_slot(all, pid);
	struct gn_thread **thread = thread_slot(all, tid);
	char name[GN_TASK_NAME] = "";

	if (!process || !thread)
		return NULL;
	if (!*process) {
		if (!new_process(all, process, pid, NULL))
			return NULL;
		if (!is_new) {
			look_up_name((*process)->name, pid, pid);
			if (map_all((*process)->space, pid))
				return NULL;
		}
	}
	if (*thread && (*thread)->serial == (*process)->serial)
		return *thread;
	set_name(name, (*process)->name);
	if (!is_new)
		look_up_name(name, pid, tid);
	return new_thread(thread, *process, tid, name);
}

struct gn_thread *gn_processes_thread(struct gn_processes *all, int32_t pid, int32_t tid)
{
	return thread_of(all, pid, tid, 0);
}

struct gn_process *gn_processes_find(struct gn_processes *all, int32_t pid)
{
	struct gn_process **process = process_slot(all, pid);

	return process ? *process : NULL;
}

struct gn_thread *gn_processes_find_thread(struct gn_processes *all, int32_t tid)
{
	const uint32_t page = (uint32_t)tid / GN_TASKS_PER_PAGE;
	struct gn_thread *thread;
	struct gn_process *process;

	if (tid < 0 || page >= GN_TASK_PAGES || !all->thread[page])
		return NULL;
	thread = all->thread[page][(uint32_t)tid % GN_TASKS_PER_PAGE];
	process = thread ? gn_processes_find(all, thread->pid) : NULL;
	return process && process->serial == thread->serial ? thread : NULL;
}

struct gn_thread *gn_processes_other_thread(struct gn_processes *all,
					    const struct gn_thread *thread)
{
	if (thread->process->n_threads < 2)
		return NULL;
	for (uint32_t page = 0; page < GN_TASK_PAGES; page++) {
		for (uint32_t i = 0; all->thread[page] && i < GN_TASKS_PER_PAGE; i++) {
			struct gn_thread *other = all->thread[page][i];

			if (other && other != thread && other->pid == thread->pid &&
			    other->serial == thread->serial)
				return other;
		}
	}
	return NULL;
}

/* --- records ---------------------------------------------------------------------------------- */

int gn_processes_fork(struct gn_processes *all, int32_t pid, int32_t tid, int32_t parent_pid,
		      int32_t parent_tid)
{
	struct gn_process **process = process_slot(all, pid);
	struct gn_thread **thread = thread_slot(all, tid);
	const struct gn_thread *parent = gn_processes_thread(all, parent_pid, parent_tid);

	if (!process || !thread || !parent)
		return -ENOMEM;
	if (pid != parent_pid && !new_process(all, process, pid, parent->process))
		return -ENOMEM;
	return new_thread(thread, *process, tid, parent->name) ? 0 : -ENOMEM;
}

void gn_processes_exit(struct gn_processes *all, int32_t pid, int32_t tid)
{
	struct gn_process **process = process_slot(all, pid);
	struct gn_thread **thread = thread_slot(all, tid);

	if (!process || !thread || !*process || !*thread || (*thread)->serial != (*process)->serial)
		return;
	free_thread(thread);
	if (--(*process)->n_threads == 0)
		free_process(all, process);
}

struct gn_thread *gn_processes_name(struct gn_processes *all, int32_t pid, int32_t tid,
				    const char *name, int is_exec)
{
	struct gn_thread *thread = thread_of(all, pid, tid, is_exec);

	if (!thread)
		return NULL;
	set_name(thread->name, name);
	if (pid == tid)
		set_name(thread->process->name, name);
	if (is_exec) {
		gn_unwind_space_clear(thread->process->space);
		thread->process->jit_module = GN_UNNUMBERED;
		thread->process->is_waiting = 0;
	}
	return thread;
}

int gn_processes_map(struct gn_processes *all, int32_t pid, int32_t tid,
		     const struct gn_unwind_mapping *mapping)
{
	struct gn_thread *thread = gn_processes_thread(all, pid, tid);

	return thread ? gn_unwind_space_map(thread->process->space, mapping) : -ENOMEM;
}
