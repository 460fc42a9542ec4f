/*
 * The stack of a process, a line for each frame: address, flags, file, address in the file. A last
 * line says how it ended (enum gn_unwind_end).
 *
 *	unwind_process PID
 */
#include "stopped_process.h"

#define FRAMES_MAX 1024u
/* What is copied of a stack at most. */
#define STACK_BYTES (1u << 20)

int main(int argc, char **argv)
{
	static struct gn_unwind_frame frames[FRAMES_MAX];
	struct gn_unwind_files *files;
	struct gn_unwind_space *space;
	struct gn_unwind_result result;
	struct stopped_stack stack;
	pid_t pid;

	if (argc != 2) {
		fprintf(stderr, "usage: unwind_process PID\n");
		return 2;
	}
	pid = (pid_t)strtol(argv[1], NULL, 10);
	CHECK(copy_stack(pid, &stack, STACK_BYTES));
	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, pid), 0);
	map_all(space, pid);
	CHECK_EQ(gn_unwind_stack(space, &stack.registers, stack.bytes, stack.registers.value[7],
				 stack.size, frames, FRAMES_MAX, &result),
		 0);
	for (uint32_t i = 0; i < result.n; i++) {
		const char *path = gn_unwind_file_path(files, frames[i].file);

		printf("%" PRIx64 " %" PRIu32 " %s %" PRIx64 "\n", frames[i].address,
		       frames[i].flags, path ? path : "-", frames[i].offset);
	}
	printf("end %d\n", (int)result.end);
	free(stack.bytes);
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
	return 0;
}
