/* The parts of the sampler: rings, processes, the tree of paths. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"
#include "path_tree.h"
#include "processes.h"
#include "ring.h"
#include "sample_jumps.h"

/* --- rings ------------------------------------------------------------------------------------ */

#define RING_BYTES 4096u

static _Alignas(8) char ring_data[RING_BYTES];
static struct perf_event_mmap_page ring_page;

static struct gn_ring empty_ring(void)
{
	memset(ring_data, 0, sizeof(ring_data));
	memset(&ring_page, 0, sizeof(ring_page));
	return (struct gn_ring){.page = &ring_page, .data = ring_data, .bytes = RING_BYTES};
}

/* As the kernel does: at the head, around the end. */
static void write_record(uint32_t type, uint16_t words, uint64_t time)
{
	uint64_t record[1024];
	struct perf_event_header header = {.type = type, .size = (uint16_t)(8 * words)};

	for (uint16_t i = 1; i < words; i++)
		record[i] = i;
	memcpy(record, &header, sizeof(header));
	record[type == PERF_RECORD_SAMPLE ? 4 : words - 3] = time;
	for (uint16_t i = 0; i < words; i++) {
		memcpy(&ring_data[ring_page.data_head % RING_BYTES], &record[i], 8);
		ring_page.data_head += 8;
	}
}

static void records_come_whole_and_in_order(void)
{
	static _Alignas(8) char whole[GN_RING_RECORD_MAX];
	struct gn_ring ring = empty_ring();
	const unsigned int n = check_work(20000);

	for (uint64_t i = 0; i < n; i++) {
		const uint16_t words = (uint16_t)(5 + i * 7 % 200);
		const uint32_t type = i % 3 ? PERF_RECORD_SAMPLE : PERF_RECORD_COMM;
		const struct perf_event_header *record;

		write_record(type, words, i);
		gn_ring_look(&ring);
		CHECK_EQ(gn_ring_next_time(&ring, 32, 24), i);
		record = gn_ring_next(&ring, whole);
		CHECK(record);
		CHECK_EQ(record->type, type);
		CHECK_EQ(record->size, 8 * words);
		gn_ring_pass(&ring, record);
		CHECK_EQ(ring_page.data_tail, ring_page.data_head);
		CHECK(!gn_ring_next(&ring, whole));
		CHECK_EQ(gn_ring_next_time(&ring, 32, 24), UINT64_MAX);
	}
	CHECK_EQ(ring.spoilt, 0);
}

static void what_is_no_record_is_left_out(void)
{
	static _Alignas(8) char whole[GN_RING_RECORD_MAX];
	static const uint16_t sizes[] = {0, 4, 7, 12, 41, 4088, 65528};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gn_ring ring = empty_ring();

		write_record(PERF_RECORD_SAMPLE, 6, 1);
		((struct perf_event_header *)(void *)ring_data)->size = sizes[i];
		gn_ring_look(&ring);
		CHECK(!gn_ring_next(&ring, whole));
		CHECK_EQ(ring.spoilt, 1);
		CHECK_EQ(ring_page.data_tail, ring_page.data_head);
	}
}

/* --- paths ------------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void equal_paths_have_one_node(void)
{
	struct gn_path_tree tree;
	const unsigned int n = check_work(30000);
	uint64_t state = 1;

	CHECK_EQ(gn_path_tree_begin(&tree, UINT32_MAX - 1), 0);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t path = GN_PATH_NONE, place[8];
		const uint32_t depth = 1 + (uint32_t)next_random(&state) % 8;

		for (uint32_t level = 0; level < depth; level++) {
			const uint32_t module = (uint32_t)next_random(&state) % 3;
			const uint64_t offset = next_random(&state) % 50;

			place[level] = gn_path_place(&tree, module, offset);
			CHECK(place[level] < tree.n_places);
			CHECK_EQ(tree.place[place[level]].module, module);
			CHECK_EQ(tree.place[place[level]].offset, offset);
			path = gn_path_node(&tree, path, place[level]);
			CHECK(path < tree.n_nodes);
		}
		for (uint32_t level = depth; level-- > 0; path = tree.node[path].parent)
			CHECK_EQ(tree.node[path].place, place[level]);
		CHECK_EQ(path, GN_PATH_NONE);
	}
	CHECK_EQ(tree.n_places, n > 3000 ? 150 : tree.n_places);
	for (uint32_t i = 0; i < tree.n_nodes; i++) {
		const uint32_t before = tree.n_nodes;

		CHECK_EQ(gn_path_node(&tree, tree.node[i].parent, tree.node[i].place), i);
		CHECK_EQ(tree.n_nodes, before);
	}
	gn_path_tree_end(&tree);
}

static void a_full_tree_takes_no_more(void)
{
	struct gn_path_tree tree;
	uint32_t place;

	CHECK_EQ(gn_path_tree_begin(&tree, 2), 0);
	place = gn_path_place(&tree, 0, 1);
	CHECK_EQ(gn_path_node(&tree, GN_PATH_NONE, place), 0);
	CHECK_EQ(gn_path_node(&tree, 0, place), 1);
	CHECK_EQ(gn_path_node(&tree, 1, place), GN_PATH_NONE);
	CHECK_EQ(tree.refused, 1);
	CHECK_EQ(gn_path_node(&tree, 0, place), 1);
	gn_path_tree_end(&tree);
}

/* --- processes -------------------------------------------------------------------------------- */

/* Above pid_max: nobody in /proc has these numbers. */
#define PARENT ((1 << 22) - 10)
#define CHILD (PARENT + 1)

static void tasks_come_and_go(void)
{
	static struct gn_processes all;
	const struct gn_thread *parent, *thread, *child;

	CHECK_EQ(gn_processes_begin(&all), 0);
	parent = gn_processes_name(&all, PARENT, PARENT, "first", 1);
	CHECK(parent && !strcmp(parent->process->name, "first"));
	CHECK_EQ(gn_processes_fork(&all, PARENT, CHILD, PARENT, PARENT), 0);
	thread = gn_processes_thread(&all, PARENT, CHILD);
	CHECK(thread->process == parent->process);
	CHECK(!strcmp(thread->name, "first"));
	gn_processes_name(&all, PARENT, CHILD, "worker", 0);
	CHECK(!strcmp(thread->name, "worker") && !strcmp(parent->process->name, "first"));
	CHECK(gn_processes_other_thread(&all, parent) == thread);
	CHECK(gn_processes_other_thread(&all, thread) == parent);
	gn_processes_exit(&all, PARENT, CHILD);
	CHECK(!gn_processes_other_thread(&all, parent));

	/* The same number, as a process. */
	CHECK_EQ(gn_processes_fork(&all, CHILD, CHILD, PARENT, PARENT), 0);
	child = gn_processes_thread(&all, CHILD, CHILD);
	CHECK(child->process != parent->process);
	CHECK(!strcmp(child->process->name, "first"));
	gn_processes_name(&all, CHILD, CHILD, "second", 1);
	CHECK(!strcmp(child->process->name, "second"));

	/* A number that comes again without an end in between. */
	CHECK_EQ(gn_processes_fork(&all, CHILD, CHILD, PARENT, PARENT), 0);
	child = gn_processes_thread(&all, CHILD, CHILD);
	CHECK(!strcmp(child->process->name, "first"));
	CHECK_EQ(child->process->n_threads, 1);
	gn_processes_exit(&all, CHILD, CHILD);
	gn_processes_exit(&all, CHILD, CHILD);
	gn_processes_exit(&all, PARENT, PARENT);
	CHECK(!gn_processes_thread(&all, -1, -1));
	CHECK(!gn_processes_thread(&all, 1 << 22, 1 << 22));
	gn_processes_end(&all);
}

static void many_forks(void)
{
	static struct gn_processes all;
	const int n = (int)check_work(20000);

	CHECK_EQ(gn_processes_begin(&all), 0);
	gn_processes_name(&all, 1 << 20, 1 << 20, "bomb", 1);
	for (int i = 0; i < n; i++) {
		const int pid = (1 << 20) + 1 + i % 5000;

		CHECK_EQ(gn_processes_fork(&all, pid, pid, 1 << 20, 1 << 20), 0);
		if (i % 3)
			gn_processes_exit(&all, pid, pid);
	}
	gn_processes_end(&all);
}

static void a_process_that_was_there_is_looked_up(void)
{
	static struct gn_processes all;
	const struct gn_thread *own;
	char name[16];

	/* Under valgrind it is valgrind's. */
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK_EQ(gn_processes_begin(&all), 0);
	own = gn_processes_thread(&all, getpid(), getpid());
	CHECK(own && *name && !strcmp(own->name, name));
	CHECK(gn_unwind_files_count(all.files) > 0);
	gn_processes_end(&all);
}

/* --- branches --------------------------------------------------------------------------------- */

#define KERNEL_ADDRESS 0xffffffff81000000u

static void branches_are_between_places(void)
{
	static struct gn_processes all;
	static struct gn_stack_paths paths;
	const uint64_t own = (uint64_t)(uintptr_t)&branches_are_between_places;
	const struct perf_branch_entry branches[] = {
		{.from = own, .to = own + 1, .mispred = 1, .cycles = UINT16_MAX},
		{.from = KERNEL_ADDRESS, .to = own},
		{.from = 0, .to = 0x10},
	};
	const struct gn_sample_record taken = {.branch = branches, .n_branches = 3};
	char path[] = "/tmp/branches.XXXXXX";
	struct gn_sample_file file;
	struct gn_process *process;
	uint32_t place;

	CHECK(mkstemp(path) >= 0 && !unlink(path));
	CHECK_EQ(gn_sample_file_open(&file, path, -1), 0);
	CHECK_EQ(gn_processes_begin(&all), 0);
	CHECK_EQ(gn_stack_paths_begin(&paths, &file, all.files), 0);
	process = gn_processes_thread(&all, getpid(), getpid())->process;

	place = gn_stack_paths_place(&paths, process, own);
	CHECK_EQ(place, 0);
	CHECK(paths.tree.place[place].module >= GN_MODULES_RESERVED);
	CHECK_EQ(gn_stack_paths_place(&paths, process, own), place);
	place = gn_stack_paths_place(&paths, process, KERNEL_ADDRESS);
	CHECK_EQ(paths.tree.place[place].module, GN_MODULE_KERNEL);
	CHECK_EQ(paths.tree.place[place].offset, KERNEL_ADDRESS);
	CHECK_EQ(gn_stack_paths_place(&paths, process, 0), GN_PATH_NONE);
	/* Data are no code. */
	CHECK_EQ(gn_stack_paths_place(&paths, process, (uint64_t)(uintptr_t)&all), GN_PATH_NONE);

	/* A place is written once, and all branches are, wherever they lead. */
	gn_sample_jumps_write(&paths, process, &taken, 7);
	CHECK_EQ(paths.tree.n_places, 3);
	CHECK_EQ(gn_record_file_status(file.file), 0);
	gn_stack_paths_end(&paths);
	gn_processes_end(&all);
	gn_sample_file_close(&file);
	CHECK_EQ(unlink(path), 0);
}

int main(void)
{
	RUN(records_come_whole_and_in_order);
	RUN(what_is_no_record_is_left_out);
	RUN(equal_paths_have_one_node);
	RUN(a_full_tree_takes_no_more);
	RUN(tasks_come_and_go);
	RUN(many_forks);
	RUN(a_process_that_was_there_is_looked_up);
	RUN(branches_are_between_places);
	return check_result;
}
