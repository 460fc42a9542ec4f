/* Frames of code without rules: instructions, what they do to the stack, functions by symbols. */
#include <string.h>

#include "check.h"
#include "code_frame.h"
#include "code_functions.h"
#include "symbol_window.h"

#define CODE(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static struct gn_x86_instruction read_one(const uint8_t *bytes, size_t n)
{
	struct gn_x86_instruction instruction = {0};

	CHECK(gn_x86_read(bytes, n, &instruction));
	CHECK_EQ(instruction.bytes, n);
	/* However little of it there is. */
	for (size_t less = 0; less < n; less++)
		CHECK(!gn_x86_read(bytes, less, &(struct gn_x86_instruction){0}));
	return instruction;
}

#define CHECK_EFFECT(code, expected, number, amount)                                               \
	do {                                                                                       \
		const struct gn_x86_instruction check_read = read_one(CODE(code));                 \
		CHECK_EQ(check_read.effect, expected);                                             \
		CHECK_EQ(check_read.reg, number);                                                  \
		CHECK_EQ(check_read.value, amount);                                                \
	} while (0)

static void test_effects_of_instructions(void)
{
	CHECK_EFFECT("\x55", GN_X86_PUSH, 6, 0);		   /* push %rbp */
	CHECK_EFFECT("\x41\x5f", GN_X86_POP, 15, 0);		   /* pop %r15 */
	CHECK_EFFECT("\x6a\x22", GN_X86_PUSH, GN_X86_NONE, 0);	   /* push $34 */
	CHECK_EFFECT("\xff\x75\x08", GN_X86_PUSH, GN_X86_NONE, 0); /* push 8(%rbp) */
	CHECK_EFFECT("\x48\x83\xec\x60", GN_X86_SP_ADD, 7, -96);   /* sub $96, %rsp */
	CHECK_EFFECT("\x48\x81\xc4\x00\x01\x00\x00", GN_X86_SP_ADD, 7, 256);
	CHECK_EFFECT("\x48\x8d\x64\x24\xf8", GN_X86_SP_ADD, 7, -8);	    /* lea -8(%rsp), %rsp */
	CHECK_EFFECT("\x48\x81\xe4\x00\xf0\xff\xff", GN_X86_SP_LOST, 7, 0); /* and */
	CHECK_EFFECT("\x48\x29\xc4", GN_X86_SP_LOST, 7, 0);		    /* sub %rax, %rsp */
	CHECK_EFFECT("\x48\x89\xe3", GN_X86_COPY_SP, 3, 0);		    /* mov %rsp, %rbx */
	CHECK_EFFECT("\x48\x8b\xec", GN_X86_COPY_SP, 6, 0); /* the same of %rbp, as V8 writes it */
	CHECK_EFFECT("\x4c\x8d\x64\x24\x10", GN_X86_COPY_SP, 12, 16); /* lea 16(%rsp), %r12 */
	CHECK_EFFECT("\x48\x89\xdc", GN_X86_SP_FROM, 3, 0);	      /* mov %rbx, %rsp */
	CHECK_EFFECT("\x48\x8d\x65\xd8", GN_X86_SP_FROM, 6, -40);     /* lea -40(%rbp), %rsp */
	CHECK_EFFECT("\x4c\x89\x64\x24\x10", GN_X86_STORE, 12, 16);   /* mov %r12, 16(%rsp) */
	CHECK_EFFECT("\x48\x8b\x1c\x24", GN_X86_WRITE, 3, 0);	      /* mov (%rsp), %rbx */
	CHECK_EFFECT("\x31\xed", GN_X86_WRITE, 6, 0);		      /* xor %ebp, %ebp */
	CHECK_EFFECT("\x48\x83\xfc\x08", GN_X86_OTHER, 0, 0);	      /* cmp $8, %rsp */
	CHECK_EFFECT("\xc9", GN_X86_LEAVE, 0, 0);
	CHECK_EFFECT("\x75\xf3", GN_X86_BRANCH, 0, -13);
	CHECK_EFFECT("\x0f\x84\x40\x6d\x00\x00", GN_X86_BRANCH, 0, 0x6d40);
	CHECK_EFFECT("\xe9\x00\x01\x00\x00", GN_X86_JUMP, 0, 256);
	CHECK_EFFECT("\xff\xe0", GN_X86_END, 0, 0); /* jmp *%rax */
	CHECK_EFFECT("\xf3\xc3", GN_X86_END, 0, 0);
	CHECK_EFFECT("\xff\xd0", GN_X86_OTHER, 0, 0);	  /* call *%rax */
	CHECK_EFFECT("\xc5\xf8\x77", GN_X86_OTHER, 0, 0); /* vzeroupper */
	CHECK_EFFECT("\x62\xf1\x7c\x48\x10\x44\x24\x01", GN_X86_OTHER, 0, 0);
}

/* A function from its first instruction to its last, without jumps. */
static struct gn_code_frame after(const uint8_t *code, size_t n)
{
	struct gn_code_frame frame = gn_code_frame_first();

	for (size_t at = 0; at < n;) {
		struct gn_x86_instruction instruction;

		CHECK(gn_x86_read(code + at, n - at, &instruction));
		gn_code_frame_step(&frame, &instruction);
		at += instruction.bytes;
	}
	return frame;
}

static int32_t saved_at(const struct gn_rule_row *row, unsigned int target)
{
	for (unsigned int i = 0; i < row->n_rules; i++)
		if (row->rules[i].target == target)
			return row->rules[i].value;
	return 0;
}

static void test_a_frame_that_is_aligned(void)
{
	/* As OpenBLAS's kernels begin: sub $96, %rsp; mov %rbx, (%rsp); mov %rbp, 8(%rsp);
	 * mov %rsp, %rbx; sub $0x7080, %rsp; and $-4096, %rsp; mov %rsi, 40(%rsp) */
	static const char code[] = "\x48\x83\xec\x60\x48\x89\x1c\x24\x48\x89\x6c\x24\x08"
				   "\x48\x89\xe3\x48\x81\xec\x80\x70\x00\x00"
				   "\x48\x81\xe4\x00\xf0\xff\xff\x48\x89\x74\x24\x28";
	struct gn_code_frame frame = after(CODE(code));
	struct gn_rule_row row;

	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.flags, GN_ROW_BY_CODE);
	CHECK_EQ(row.base, 3);
	CHECK_EQ(row.cfa_value, 104);
	CHECK_EQ(saved_at(&row, 3), -104);
	CHECK_EQ(saved_at(&row, 6), -96);
	CHECK_EQ(saved_at(&row, 16), -8);
}

static void test_a_frame_that_grows_and_shrinks(void)
{
	/* push %rbx; push %r12; sub $24, %rsp */
	static const char begin[] = "\x53\x41\x54\x48\x83\xec\x18";
	/* and add $24, %rsp; pop %r12 */
	static const char end[] = "\x53\x41\x54\x48\x83\xec\x18\x48\x83\xc4\x18\x41\x5c";
	struct gn_code_frame frame = after(CODE(begin));
	struct gn_rule_row row;

	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.base, 7);
	CHECK_EQ(row.cfa_value, 48);
	CHECK_EQ(saved_at(&row, 3), -16);
	CHECK_EQ(saved_at(&row, 12), -24);
	frame = after(CODE(end));
	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.cfa_value, 16);
	CHECK_EQ(saved_at(&row, 3), -16);
	CHECK_EQ(saved_at(&row, 12), 0);
}

static void test_what_does_not_tell(void)
{
	/* sub %rax, %rsp: how much is known by nobody */
	struct gn_code_frame frame = after(CODE("\x48\x29\xc4"));
	struct gn_rule_row row;

	CHECK(!gn_code_frame_row(&frame, &row));
	/* but a frame pointer still tells: push %rbp; mov %rsp, %rbp; sub %rax, %rsp */
	frame = after(CODE("\x55\x48\x89\xe5\x48\x29\xc4"));
	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.base, 6);
	CHECK_EQ(row.cfa_value, 16);
	/* A value of its own is not the caller's: xor %ebx, %ebx; push %rbx */
	frame = after(CODE("\x31\xdb\x53"));
	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.cfa_value, 16);
	CHECK_EQ(saved_at(&row, 3), 0);
}

static void test_a_return_address_that_is_moved(void)
{
	/* pop %rax; push %rdx; push $0; push %rax; push %rbp; mov %rsp, %rbp; push $6 */
	static const char moved[] = "\x58\x52\x6a\x00\x50\x55\x48\x89\xe5\x6a\x06";
	/* add $8, %rsp; push %rbp: that of the caller is next */
	static const char given_up[] = "\x48\x83\xc4\x08\x55";
	struct gn_code_frame frame = after(CODE(moved));
	struct gn_rule_row row;

	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.base, 6);
	CHECK_EQ(row.cfa_value, 16);
	CHECK_EQ(saved_at(&row, 6), -16);
	frame = after(CODE(given_up));
	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.base, 7);
	CHECK_EQ(row.cfa_value, 16);
	/* pop %rax; push %rdx; mov %rsp, %rax; push %rax: it is something else by then */
	frame = after(CODE("\x58\x52\x48\x89\xe0\x50"));
	CHECK(gn_code_frame_row(&frame, &row));
	CHECK_EQ(row.cfa_value, 24);
}

static void test_ways_that_meet(void)
{
	struct gn_code_frame pushed = after(CODE("\x53\x55"));
	const struct gn_code_frame other = after(CODE("\x53")), same = after(CODE("\x53\x55"));
	struct gn_rule_row row;

	gn_code_frame_merge(&pushed, &same);
	CHECK(!memcmp(&pushed, &same, sizeof(same)));
	gn_code_frame_merge(&pushed, &other);
	CHECK(!gn_code_frame_row(&pushed, &row));
}

/* --- functions -------------------------------------------------------------------------------- */

/* Comes back early, or pushes, works and calls, in a block behind the end. */
#define LINKED_TO 0x1000u
static const char function[] = "\x48\x85\xff"	      /* test %rdi, %rdi */
			       "\x75\x01"	      /* jnz 6 */
			       "\xc3"		      /* ret */
			       "\x53"		      /* 6: push %rbx */
			       "\xeb\x01"	      /* jmp 10 */
			       "\xcc"		      /* int3 */
			       "\xe8\x00\x00\x00\x00" /* 10: call */
			       "\x5b"		      /* 15: pop %rbx */
			       "\xc3";		      /* 16: ret */

struct linked {
	uint8_t code[64];
	/* Elf64_Sym */
	struct {
		uint32_t name;
		uint8_t info, other;
		uint16_t section;
		uint64_t value, size;
	} symbols[3];
};

static void link_function(struct linked *linked, struct gn_elf_image *image,
			  struct gn_segment *segment)
{
	memset(linked, 0xcc, sizeof(*linked));
	memcpy(linked->code, function, sizeof(function) - 1);
	memset(linked->symbols, 0, sizeof(linked->symbols));
	/* A function without a size, an object, and the next function. */
	linked->symbols[0].info = 2;
	linked->symbols[0].value = LINKED_TO;
	linked->symbols[1].info = 1;
	linked->symbols[1].value = LINKED_TO + 8;
	linked->symbols[2].info = 2;
	linked->symbols[2].value = LINKED_TO + 32;
	linked->symbols[2].size = 16;
	for (unsigned int i = 0; i < 3; i++)
		linked->symbols[i].section = 1;
	*segment = (struct gn_segment){0, sizeof(linked->code), LINKED_TO};
	*image = (struct gn_elf_image){.descriptor = -1,
				       .memory = (uint8_t *)linked,
				       .file_bytes = sizeof(*linked),
				       .machine = GN_UNWIND_X86_64,
				       .segments = segment,
				       .n_segments = 1,
				       .symbols_at = sizeof(linked->code),
				       .symbols_bytes = sizeof(linked->symbols)};
}

static int32_t depth_at(struct gn_code_functions *functions, const struct gn_elf_image *image,
			uint64_t offset)
{
	struct gn_rule_row row;

	return gn_code_functions_row(functions, image, LINKED_TO + offset, &row) ? row.cfa_value
										 : 0;
}

static void test_every_way_through_a_function(void)
{
	struct gn_code_functions functions = {0};
	struct gn_segment segment;
	struct gn_elf_image image;
	struct linked linked;

	link_function(&linked, &image, &segment);
	CHECK_EQ(depth_at(&functions, &image, 0), 8);
	CHECK_EQ(depth_at(&functions, &image, 5), 8);
	CHECK_EQ(depth_at(&functions, &image, 6), 8);
	CHECK_EQ(depth_at(&functions, &image, 7), 16);
	CHECK_EQ(depth_at(&functions, &image, 14), 16);
	CHECK_EQ(depth_at(&functions, &image, 15), 16);
	CHECK_EQ(depth_at(&functions, &image, 16), 8);
	CHECK_EQ(functions.n, 1);
	/* The next function, and what is none. */
	CHECK_EQ(depth_at(&functions, &image, 40), 8);
	CHECK_EQ(functions.n, 2);
	CHECK_EQ(depth_at(&functions, &image, 48), 0);
	CHECK_EQ(depth_at(&functions, &image, GN_SYMBOL_WINDOW_BYTES), 0);
	gn_code_functions_free(&functions);
	/* Elsewhere instructions are others. */
	image.machine = GN_UNWIND_AARCH64;
	CHECK_EQ(depth_at(&functions, &image, 0), 0);
}

static void test_a_file_without_symbols(void)
{
	struct gn_code_functions functions = {0};
	struct gn_segment segment;
	struct gn_elf_image image;
	struct linked linked;

	link_function(&linked, &image, &segment);
	image.symbols_bytes = 0;
	CHECK_EQ(depth_at(&functions, &image, 0), 0);
	gn_code_functions_free(&functions);
	/* More symbols than the file has bytes. */
	image.symbols_bytes = UINT64_MAX;
	CHECK_EQ(depth_at(&functions, &image, 0), 0);
	gn_code_functions_free(&functions);
}

int main(void)
{
	RUN(test_effects_of_instructions);
	RUN(test_a_frame_that_is_aligned);
	RUN(test_a_frame_that_grows_and_shrinks);
	RUN(test_what_does_not_tell);
	RUN(test_a_return_address_that_is_moved);
	RUN(test_ways_that_meet);
	RUN(test_every_way_through_a_function);
	RUN(test_a_file_without_symbols);
	return check_result;
}
