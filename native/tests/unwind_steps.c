/*
 * Runs a program one instruction at a time and compares, after each N-th, the unwound stack with
 * the calls and returns that were seen.
 *
 *	unwind_steps loader|program N MOST PROGRAM [ARGUMENT...]
 *
 * Begins with the loader's first instruction or with the program's. Prints how many stacks were
 * looked at, how many were the same as the calls, how many have a frame that was guessed, how many
 * of these were not the same, and how many end too early, which they say, with nothing wrong; stops
 * after MOST instructions. x86-64 only.
 */
#include <signal.h>
#include <sys/auxv.h>

#include "stopped_process.h"

#define STACK_BYTES 65536u
#define DEPTH_MAX 4096u
#define REGIONS_MAX 16u
#define SHOWN_MAX 5u

/* A return address on the stack, or where a signal interrupted. */
struct entry {
	uint64_t slot;
	uint64_t address;
	/* A signal's handler has a stack of its own: the interrupted one. */
	struct region *interrupted;
};

/* A stack: those of coroutines and signal handlers are others. */
struct region {
	uint64_t start, end;
	struct entry entries[DEPTH_MAX];
	uint32_t n;
};

static struct region regions[REGIONS_MAX], *current;
static uint32_t n_regions;
static struct gn_unwind_files *files;
static struct gn_unwind_space *space;
static pid_t child;

static struct region *region_of(uint64_t sp)
{
	char path[64], line[4200];
	struct region *region;
	FILE *maps;

	for (uint32_t i = 0; i < n_regions; i++)
		if (sp >= regions[i].start && sp < regions[i].end)
			return &regions[i];
	snprintf(path, sizeof(path), "/proc/%d/maps", child);
	maps = fopen(path, "r");
	CHECK(maps);
	CHECK(n_regions < REGIONS_MAX);
	region = &regions[n_regions++];
	while (fgets(line, sizeof(line), maps)) {
		CHECK(sscanf(line, "%" SCNx64 "-%" SCNx64, &region->start, &region->end) == 2);
		/* A stack grows downwards. */
		if (strstr(line, "[stack]"))
			region->start = region->end - (8u << 20);
		if (sp >= region->start && sp < region->end) {
			fclose(maps);
			return region;
		}
	}
	CHECK(!"the stack pointer is in a mapping");
	return NULL;
}

static void push(uint64_t slot, uint64_t address, struct region *interrupted)
{
	CHECK(current->n < DEPTH_MAX);
	current->entries[current->n++] = (struct entry){slot, address, interrupted};
}

/* What is below the stack pointer is gone, however it went. */
static void enter(uint64_t sp)
{
	struct region *next = region_of(sp);

	if (current && current != next && current->n &&
	    current->entries[current->n - 1].interrupted == next)
		current->n--;
	current = next;
	while (current->n && !current->entries[current->n - 1].interrupted &&
	       current->entries[current->n - 1].slot < sp)
		current->n--;
}

static uint32_t expected_stack(uint64_t pc, uint64_t *addresses, bool *is_coroutine)
{
	uint32_t n = 0;

	*is_coroutine = false;

	addresses[n++] = pc;
	for (const struct region *region = current; region;) {
		const struct region *outer = NULL;

		for (uint32_t i = region->n; i--;) {
			addresses[n++] = region->entries[i].address;
			outer = region->entries[i].interrupted;
		}
		*is_coroutine = region != &regions[0];
		region = outer;
	}
	return n;
}

static bool is_call(const uint8_t *code)
{
	code += *code == 0x3e || *code == 0xf2 || *code == 0x67;
	code += (*code & 0xf0) == 0x40;
	return *code == 0xe8 || (*code == 0xff && (code[1] & 0x38) == 0x10);
}

static void show(const char *what, const uint64_t *addresses, uint32_t n)
{
	printf("  %s:", what);
	for (uint32_t i = 0; i < n && i < 24; i++)
		printf(" %" PRIx64, addresses[i]);
	printf("\n");
}

static uint32_t n_stacks, n_equal, n_complete, n_guessed, n_misled, n_cut, n_shown;

static void compare(const struct user_regs_struct *user)
{
	static uint8_t stack[STACK_BYTES];
	static struct gn_unwind_frame frames[DEPTH_MAX];
	static uint64_t expected[DEPTH_MAX], unwound[DEPTH_MAX];
	const struct gn_unwind_registers registers = dwarf_registers(user, child);
	bool is_coroutine, is_equal, is_cut;
	const uint32_t n = expected_stack(user->rip, expected, &is_coroutine);
	struct gn_unwind_result result;
	size_t bytes = copy_memory(child, user->rsp, stack, STACK_BYTES);

	CHECK_EQ(gn_unwind_stack(space, &registers, stack, user->rsp, bytes, frames, DEPTH_MAX,
				 &result),
		 0);
	for (uint32_t i = 0; i < result.n; i++)
		unwound[i] = frames[i].address;
	n_stacks++;
	n_complete += result.end == GN_UNWIND_COMPLETE;
	n_guessed += result.n_guessed != 0;
	/* Nobody called what a coroutine's first function returns to. */
	is_equal = (result.n == n || (is_coroutine && result.n == n + 1)) &&
		   !memcmp(unwound, expected, n * sizeof(*expected));
	n_equal += is_equal;
	/* It ends too early, and says so. */
	is_cut = !is_equal && result.end != GN_UNWIND_COMPLETE && result.n < n &&
		 !memcmp(unwound, expected, result.n * sizeof(*expected));
	n_cut += is_cut;
	n_misled += !is_equal && !is_cut && result.n_guessed;
	if (!is_equal && !is_cut && n_shown++ < SHOWN_MAX) {
		printf("at %" PRIx64 ", sp %" PRIx64 ", end %d:\n", (uint64_t)user->rip,
		       (uint64_t)user->rsp, (int)result.end);
		show("unwound", unwound, result.n);
		show("called", expected, n);
		if (result.n)
			printf("  last in %s+%" PRIx64 "\n",
			       frames[result.n - 1].file == GN_UNWIND_NO_FILE
				       ? "?"
				       : gn_unwind_file_path(files, frames[result.n - 1].file),
			       frames[result.n - 1].offset);
	}
}

/* A signal comes: its handler will return to code that the kernel put there. */
static void deliver(int signal, const struct user_regs_struct *before)
{
	struct region *interrupted = current;
	struct user_regs_struct after;
	uint64_t restorer;
	int status;

	CHECK(!ptrace(PTRACE_SINGLESTEP, child, 0, (long)signal));
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, 0, &after))
		return;
	if (after.rsp == before->rsp)
		return;
	CHECK(copy_memory(child, after.rsp, &restorer, 8) == 8);
	current = region_of(after.rsp);
	push(before->rsp - 1, before->rip, current == interrupted ? NULL : interrupted);
	push(after.rsp, restorer, NULL);
	compare(&after);
}

static void follow(unsigned long every, unsigned long most)
{
	struct user_regs_struct before, after;
	uint8_t code[16] = {0};
	int status;

	CHECK(!ptrace(PTRACE_GETREGS, child, 0, &before));
	enter(before.rsp);
	for (unsigned long i = 0; i < most; i++) {
		bool is_syscall;

		copy_memory(child, before.rip, code, sizeof(code));
		is_syscall = code[0] == 0x0f && code[1] == 0x05;
		CHECK(!ptrace(PTRACE_SINGLESTEP, child, 0, 0));
		CHECK(waitpid(child, &status, 0) == child);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return;
		CHECK(!ptrace(PTRACE_GETREGS, child, 0, &after));
		if (WSTOPSIG(status) != SIGTRAP) {
			deliver(WSTOPSIG(status), &after);
			if (ptrace(PTRACE_GETREGS, child, 0, &before))
				return;
			continue;
		}
		enter(after.rsp);
		if (is_call(code)) {
			uint64_t address;

			CHECK(copy_memory(child, after.rsp, &address, 8) == 8);
			push(after.rsp, address, NULL);
		}
		if (is_syscall)
			map_all(space, child);
		if (i % every == 0)
			compare(&after);
		before = after;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

static uint64_t entry_point(void)
{
	char path[64];
	uint64_t pair[2] = {0};
	FILE *vector;

	snprintf(path, sizeof(path), "/proc/%d/auxv", child);
	vector = fopen(path, "r");
	CHECK(vector);
	while (pair[0] != AT_ENTRY)
		CHECK(fread(pair, sizeof(pair), 1, vector) == 1);
	fclose(vector);
	return pair[1];
}

/* Lets the loader do its work, up to a breakpoint. */
static void run_to(uint64_t address)
{
	struct user_regs_struct user;
	int status;
	long code;

	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, child, address, 0);
	CHECK(!errno);
	CHECK(!ptrace(PTRACE_POKETEXT, child, address, (code & ~0xffL) | 0xcc));
	CHECK(!ptrace(PTRACE_CONT, child, 0, 0));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_GETREGS, child, 0, &user));
	CHECK_EQ(user.rip, address + 1);
	user.rip = address;
	CHECK(!ptrace(PTRACE_SETREGS, child, 0, &user));
	CHECK(!ptrace(PTRACE_POKETEXT, child, address, code));
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 5) {
		fprintf(stderr,
			"usage: unwind_steps loader|program N MOST PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	child = fork();
	if (!child) {
		CHECK(!ptrace(PTRACE_TRACEME, 0, 0, 0));
		execvp(argv[4], argv + 4);
		perror(argv[4]);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, child), 0);
	if (!strcmp(argv[1], "program"))
		run_to(entry_point());
	map_all(space, child);
	follow(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
	printf("%" PRIu32 " stacks: %" PRIu32 " as called, %" PRIu32 " complete, %" PRIu32
	       " with a guess, %" PRIu32 " guessed wrong, %" PRIu32 " cut\n",
	       n_stacks, n_equal, n_complete, n_guessed, n_misled, n_cut);
	return n_stacks && n_equal == n_stacks ? 0 : 1;
}
