/* Stacks of aarch64, from rules as its compilers write them: tried on any machine. */
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "code_space.h"

#define CODE 0x400000u
#define STACK 0x7fff0000u
#define SIGNED ((uint64_t)0x2a << 48)

/* Two functions of 256 bytes: one that saves x29 and x30, and the outermost one. */
static const uint8_t rules[] = {
	/* CIE: version 1, "zR", factors 4 and -8, return address in x30, CFA is sp. */
	0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x00, 0x0c, 31, 0,
	/* FDE: after one instruction the CFA is sp + 32, x29 at -32, x30 at -24. */
	0x1c, 0, 0, 0, 0x18, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x41,
	0x0e, 32, 0x9d, 4, 0x9e, 3,
	/* FDE: undefined x30. */
	0x18, 0, 0, 0, 0x38, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x07,
	30, 0};

static struct gn_unwind_files *files;
static struct gn_unwind_space *space;
static struct gn_unwind_frame frames[8];
static struct gn_unwind_result result;
static uint64_t stack[128];

static void map_code(uint64_t start, const char *path)
{
	const struct gn_unwind_mapping mapping = {
		.start = start, .length = 0x10000, .prot = PROT_EXEC, .path = path};

	CHECK_EQ(gn_unwind_space_map(space, &mapping), 0);
}

/* A file that consists of these rules, linked to 0. */
static void open_rules(void)
{
	struct gn_rule_file *file;

	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, getpid()), 0);
	map_code(CODE, "/rules");
	file = files->files[0];
	file->image = (struct gn_elf_image){.descriptor = -1, .machine = GN_UNWIND_AARCH64};
	file->image.segments = calloc(1, sizeof(*file->image.segments));
	file->image.eh_frame.bytes = malloc(sizeof(rules));
	CHECK(file->image.segments && file->image.eh_frame.bytes);
	file->image.segments[0] = (struct gn_segment){0, 0x10000, 0};
	file->image.n_segments = 1;
	memcpy(file->image.eh_frame.bytes, rules, sizeof(rules));
	file->image.eh_frame.size = sizeof(rules);
	file->status = gn_entry_index_open(&file->index, &file->image);
	CHECK_EQ(file->status, 0);
	CHECK_EQ(gn_entry_index_count(&file->index), 2);
}

static void unwind(struct gn_unwind_registers *registers)
{
	registers->machine = GN_UNWIND_AARCH64;
	CHECK_EQ(gn_unwind_stack(space, registers, stack, STACK, sizeof(stack), frames, 8, &result),
		 0);
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
}

/* A leaf has its return address in x30, its caller on the stack; both are signed. */
static void test_leaf(void)
{
	struct gn_unwind_registers registers = {
		.value = {[30] = SIGNED | (CODE + 0x1040), [31] = STACK, [32] = CODE + 0x1000}};

	open_rules();
	stack[0] = 0;
	stack[1] = SIGNED | (CODE + 0x1120);
	unwind(&registers);
	CHECK_EQ(result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(result.n, 3);
	CHECK_EQ(frames[0].offset, 0x1000);
	CHECK_EQ(frames[1].address, CODE + 0x1040);
	CHECK_EQ(frames[1].offset, 0x103f);
	CHECK_EQ(frames[2].address, CODE + 0x1120);
	CHECK_EQ(result.n_guessed, 0);
}

static void test_end_of_copy(void)
{
	struct gn_unwind_registers registers = {
		.value = {[31] = STACK + sizeof(stack) - 16, [32] = CODE + 0x1040}};

	open_rules();
	stack[127] = CODE + 0x1040;
	unwind(&registers);
	CHECK_EQ(result.end, GN_UNWIND_STACK_CUT);
	CHECK_EQ(result.n, 2);
}

/* A handler returns to code that is known by its bytes, whatever rules it has. */
static void test_signal(void)
{
	static const uint8_t way_back[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	uint8_t *code =
		mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gn_unwind_registers registers = {.value = {[31] = STACK, [32] = CODE + 0x1040}};
	const unsigned int context = (32 + 128 + 176 + 8) / 8;

	CHECK(code != MAP_FAILED);
	memcpy(code + 64, way_back, sizeof(way_back));
	open_rules();
	map_code((uint64_t)(uintptr_t)code, "");
	stack[1] = (uint64_t)(uintptr_t)code + 64;
	stack[context + 30] = CODE + 0x1050;
	stack[context + 31] = STACK + 800;
	stack[context + 32] = CODE + 0x1000;
	stack[101] = CODE + 0x1120;
	unwind(&registers);
	CHECK_EQ(result.n, 5);
	CHECK_EQ(result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(frames[1].flags, GN_UNWIND_SIGNAL | GN_UNWIND_RETURN);
	CHECK_EQ(frames[2].flags, 0);
	CHECK_EQ(frames[2].offset, 0x1000);
	CHECK_EQ(frames[3].address, CODE + 0x1050);
	CHECK_EQ(frames[4].address, CODE + 0x1120);
}

int main(void)
{
	RUN(test_leaf);
	RUN(test_end_of_copy);
	RUN(test_signal);
	return check_result;
}
