/* The unwinder's parts, and stacks of this very process; unwind_steps tries it on whole programs.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "check.h"
#include "code_space.h"
#include "expression.h"
#include "machine_code.h"
#include "unwind_maps.h"

#define FRAMES_MAX 256u
#define STACK_BYTES 65536u

static void test_registers_of_perf(void)
{
	struct gn_unwind_registers registers;
	uint64_t values[33];

	for (unsigned int i = 0; i < 33; i++)
		values[i] = 100 + i;
	CHECK_EQ(__builtin_popcountll(gn_unwind_perf_mask(GN_UNWIND_X86_64)), 17);
	CHECK_EQ(gn_unwind_from_perf(GN_UNWIND_X86_64, PERF_SAMPLE_REGS_ABI_64, values, 17,
				     &registers),
		 0);
	/* ax, bx, cx, dx, si, di, bp, sp, ip, r8 */
	CHECK_EQ(registers.value[0], 100);
	CHECK_EQ(registers.value[3], 101);
	CHECK_EQ(registers.value[2], 102);
	CHECK_EQ(registers.value[1], 103);
	CHECK_EQ(registers.value[6], 106);
	CHECK_EQ(registers.value[7], 107);
	CHECK_EQ(registers.value[16], 108);
	CHECK_EQ(registers.value[8], 109);
	CHECK_EQ(registers.value[15], 116);
	CHECK_EQ(gn_unwind_from_perf(GN_UNWIND_AARCH64, PERF_SAMPLE_REGS_ABI_64, values, 33,
				     &registers),
		 0);
	CHECK_EQ(registers.value[32], 132);
	CHECK_EQ(registers.machine, GN_UNWIND_AARCH64);
	CHECK_EQ(gn_unwind_from_perf(GN_UNWIND_X86_64, PERF_SAMPLE_REGS_ABI_32, values, 17,
				     &registers),
		 -ENOTSUP);
	for (unsigned int i = 0; i < 2; i++) {
		const enum gn_unwind_machine machine = i ? GN_UNWIND_AARCH64 : GN_UNWIND_X86_64;
		const size_t n = gn_unwind_to_perf(machine, 5, 6, values);
		uint64_t sum = 0;

		CHECK_EQ(n, (size_t)__builtin_popcountll(gn_unwind_perf_mask(machine)));
		CHECK_EQ(gn_unwind_from_perf(machine, PERF_SAMPLE_REGS_ABI_64, values, n,
					     &registers),
			 0);
		CHECK_EQ(registers.value[gn_machine(machine)->stack_pointer], 5);
		CHECK_EQ(registers.value[gn_machine(machine)->program_counter], 6);
		for (unsigned int j = 0; j < GN_UNWIND_REGISTERS_MAX; j++)
			sum += registers.value[j];
		CHECK_EQ(sum, 11);
	}
	CHECK_EQ(gn_unwind_from_perf(GN_UNWIND_X86_64, PERF_SAMPLE_REGS_ABI_NONE, values, 0,
				     &registers),
		 -ENODATA);
	CHECK_EQ(gn_unwind_from_perf(GN_UNWIND_X86_64, PERF_SAMPLE_REGS_ABI_64, values, 16,
				     &registers),
		 -EINVAL);
}

static bool is_call(enum gn_unwind_machine machine, const char *bytes, size_t n)
{
	return gn_code_is_call(machine, (const uint8_t *)bytes, n);
}

static void test_calls(void)
{
	CHECK(is_call(GN_UNWIND_X86_64, "\x90\x90\x90\xe8\x01\x02\x03\x04", 8));
	CHECK(is_call(GN_UNWIND_X86_64, "\x90\x90\x90\x90\x90\x90\xff\xd0", 8)); /* *%rax */
	CHECK(is_call(GN_UNWIND_X86_64, "\x90\x90\xff\x15\x01\x02\x03\x04", 8)); /* *N(%rip) */
	CHECK(is_call(GN_UNWIND_X86_64, "\x90\x90\x90\x90\x90\xff\x50\x08", 8)); /* *8(%rax) */
	CHECK(is_call(GN_UNWIND_X86_64, "\x90\xff\x94\xc8\x01\x02\x03\x04",
		      8)); /* *N(%rax,%rcx,8) */
	CHECK(!is_call(GN_UNWIND_X86_64, "\x90\x90\x90\x90\x90\x90\x90\x90", 8));
	CHECK(!is_call(GN_UNWIND_X86_64, "\x90\x90\x90\x90\x90\x90\xff\xe0", 8)); /* jmp *%rax */
	CHECK(!is_call(GN_UNWIND_X86_64, "\xd0", 1));
	CHECK(is_call(GN_UNWIND_AARCH64, "\x00\x00\x00\x94", 4));  /* bl */
	CHECK(is_call(GN_UNWIND_AARCH64, "\x00\x00\x3f\xd6", 4));  /* blr x0 */
	CHECK(!is_call(GN_UNWIND_AARCH64, "\x1f\x20\x03\xd5", 4)); /* nop */
}

static void test_code_without_rules(void)
{
	static const uint8_t trampoline[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	static const uint8_t pops[] = {0x48, 0x83, 0xc4, 0x10, 0x5b, 0x41, 0x5c, 0xc3};
	static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t other[] = {0x48, 0x89, 0xc7, 0xc3};
	static const uint8_t arm_restorer[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	struct gn_rule_row row;

	CHECK(gn_code_row(GN_UNWIND_X86_64, trampoline, sizeof(trampoline), &row));
	CHECK_EQ(row.cfa_value, 16);
	CHECK_EQ(row.n_rules, 1);
	CHECK(gn_code_row(GN_UNWIND_X86_64, pops, sizeof(pops), &row));
	CHECK_EQ(row.cfa_value, 16 + 2 * 8 + 8);
	CHECK_EQ(row.rules[0].target, 3);
	CHECK_EQ(row.rules[0].value, 16 - row.cfa_value);
	CHECK_EQ(row.rules[1].target, 12);
	CHECK_EQ(row.rules[2].value, -8);
	CHECK(gn_code_row(GN_UNWIND_X86_64, restorer, sizeof(restorer), &row));
	CHECK_EQ(row.flags, GN_ROW_SIGNAL);
	CHECK(!gn_code_row(GN_UNWIND_X86_64, other, sizeof(other), &row));
	CHECK(gn_code_row(GN_UNWIND_AARCH64, arm_restorer, sizeof(arm_restorer), &row));
	CHECK_EQ(row.flags, GN_ROW_SIGNAL);
	/* However little of it there is. */
	for (size_t n = 0; n < sizeof(pops); n++)
		CHECK(!gn_code_row(GN_UNWIND_X86_64, pops, n, &row));
	for (size_t n = 0; n < sizeof(restorer); n++)
		CHECK(!gn_code_row(GN_UNWIND_X86_64, restorer, n, &row));
}

/* What an expression yields with 7 on its stack, rsp 0x1000 and 0x1122334455667788 there. */
static int evaluate(const char *bytes, size_t n, uint64_t *result)
{
	static const uint64_t words[2] = {0x1122334455667788, 5};
	struct gn_stack_memory memory = {(const uint8_t *)words, 0x1000, sizeof(words), NULL};
	const struct gn_unwind_registers registers = {.value[7] = 0x1000};
	const uint64_t first = 7;

	return gn_expression((const uint8_t *)bytes, n, &first, &registers, &memory, result);
}

#define CHECK_EXPRESSION(bytes, expected)                                                          \
	do {                                                                                       \
		uint64_t check_result_of = 0;                                                      \
		CHECK_EQ(evaluate(bytes, sizeof(bytes) - 1, &check_result_of), 0);                 \
		CHECK_EQ(check_result_of, expected);                                               \
	} while (0)

#define CHECK_NO_EXPRESSION(bytes, error)                                                          \
	do {                                                                                       \
		uint64_t check_result_of;                                                          \
		CHECK_EQ(evaluate(bytes, sizeof(bytes) - 1, &check_result_of), error);             \
	} while (0)

static void test_expressions(void)
{
	CHECK_EXPRESSION("", 7);
	CHECK_EXPRESSION("\x35\x22", 12);		 /* lit5 plus */
	CHECK_EXPRESSION("\x77\x08\x06", 5);		 /* breg7+8 deref */
	CHECK_EXPRESSION("\x77\x00\x94\x02", 0x7788);	 /* breg7 deref_size 2 */
	CHECK_EXPRESSION("\x92\x07\x08", 0x1008);	 /* bregx 7+8 */
	CHECK_EXPRESSION("\x33\x1c", 4);		 /* lit3 minus */
	CHECK_EXPRESSION("\x32\x24", 28);		 /* lit2 shl */
	CHECK_EXPRESSION("\x08\xc8\x24", 0);		 /* shl by 200 */
	CHECK_EXPRESSION("\x1f\x31\x26", -4);		 /* neg, lit1 shra */
	CHECK_EXPRESSION("\x09\xff\x1b", -7);		 /* const1s -1 div */
	CHECK_EXPRESSION("\x34\x1d", 3);		 /* lit4 mod */
	CHECK_EXPRESSION("\x12\x1e", 49);		 /* dup mul */
	CHECK_EXPRESSION("\x31\x32\x17\x13\x13", 2);	 /* lit1 lit2 rot drop drop */
	CHECK_EXPRESSION("\x31\x16\x13", 1);		 /* lit1 swap drop */
	CHECK_EXPRESSION("\x31\x28\x01\x00\x30\x96", 7); /* lit1 bra over a lit0 */
	CHECK_EXPRESSION("\x23\x80\x01", 135);		 /* plus_uconst 128 */
	CHECK_EXPRESSION("\x37\x2b", 0);		 /* lit7 gt */
	/* The rule of every PLT: is the address in the last 5 of 16 bytes? */
	CHECK_EXPRESSION("\x3f\x1a\x3b\x2a\x33\x24\x38\x22", 8);
	CHECK_NO_EXPRESSION("\x2f\xfd\xff", -EBADMSG); /* for ever */
	CHECK_NO_EXPRESSION("\x2f\xf0\xff", -EBADMSG); /* before the beginning */
	CHECK_NO_EXPRESSION("\x2f\x10\x00", -EBADMSG); /* behind the end */
	CHECK_NO_EXPRESSION("\x30\x1b", -EBADMSG);     /* division by 0 */
	CHECK_NO_EXPRESSION("\x30\x1d", -EBADMSG);
	CHECK_NO_EXPRESSION("\x13\x13", -EBADMSG); /* nothing left */
	CHECK_NO_EXPRESSION("\x13", -EBADMSG);
	CHECK_NO_EXPRESSION("\x15\x05", -EBADMSG);
	CHECK_NO_EXPRESSION("\x94\x03", -EBADMSG);
	CHECK_NO_EXPRESSION("\x0c\x00", -EBADMSG);	   /* cut off */
	CHECK_NO_EXPRESSION("\xe0", -EBADMSG);		   /* of no standard */
	CHECK_NO_EXPRESSION("\x12\x2f\xfc\xff", -EBADMSG); /* until there is no room */
	CHECK_NO_EXPRESSION("\x77\x09\x06", -ENODATA);	   /* half beyond the copy */
	CHECK_NO_EXPRESSION("\x77\x7f\x06", -EFAULT);	   /* below it */
}

static void map(struct gn_unwind_space *space, uint64_t start, uint64_t length, uint32_t prot)
{
	const struct gn_unwind_mapping mapping = {
		.start = start, .length = length, .prot = prot, .path = ""};

	CHECK_EQ(gn_unwind_space_map(space, &mapping), 0);
}

static void test_mappings_replace(void)
{
	struct gn_unwind_files *files;
	struct gn_unwind_space *space, *child;

	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, getpid()), 0);
	map(space, 0x1000, 0x9000, PROT_EXEC);
	map(space, 0x3000, 0x1000, PROT_READ);
	CHECK_EQ(space->n, 3);
	CHECK(gn_space_is_code(space, 0x2fff));
	CHECK(!gn_space_is_code(space, 0x3000));
	CHECK(gn_space_is_code(space, 0x4000));
	CHECK_EQ(space->mappings[2].file_offset, 0x3000);
	CHECK_EQ(gn_unwind_space_fork(&child, space, getpid()), 0);
	map(space, 0, 0x20000, PROT_READ);
	CHECK_EQ(space->n, 1);
	CHECK(!gn_space_is_code(space, 0x4000));
	CHECK(gn_space_is_code(child, 0x4000));
	gn_unwind_space_clear(child);
	CHECK(!gn_space_is_code(child, 0x4000));
	CHECK_EQ(gn_unwind_space_map(child, &(struct gn_unwind_mapping){.start = 1}), -EINVAL);
	CHECK_EQ(gn_unwind_space_map(child,
				     &(struct gn_unwind_mapping){.start = UINT64_MAX, .length = 2}),
		 -EINVAL);
	gn_unwind_space_free(child);
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
}

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)

#define DWARF_SP 7

/* Order of gregset_t: what <ucontext.h> numbers, by DWARF's numbers. */
static const uint8_t context_order[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static struct gn_unwind_registers registers_of(const ucontext_t *context)
{
	struct gn_unwind_registers registers = {.machine = GN_UNWIND_X86_64};

	for (unsigned int i = 0; i < 17; i++)
		registers.value[i] = (uint64_t)context->uc_mcontext.gregs[context_order[i]];
	return registers;
}

static uint64_t pc_of(const ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

#else

#define DWARF_SP 31

static struct gn_unwind_registers registers_of(const ucontext_t *context)
{
	struct gn_unwind_registers registers = {.machine = GN_UNWIND_AARCH64};

	for (unsigned int i = 0; i < 31; i++)
		registers.value[i] = context->uc_mcontext.regs[i];
	registers.value[31] = context->uc_mcontext.sp;
	registers.value[32] = context->uc_mcontext.pc;
	return registers;
}

static uint64_t pc_of(const ucontext_t *context)
{
	return context->uc_mcontext.pc;
}

#endif

struct own {
	struct gn_unwind_files *files;
	struct gn_unwind_space *space;
	struct gn_unwind_frame frames[FRAMES_MAX];
	struct gn_unwind_result result;
};

static struct own own;
static uint8_t copy[STACK_BYTES];

static void open_own(void)
{
	CHECK_EQ(gn_unwind_files_new(&own.files), 0);
	CHECK_EQ(gn_unwind_space_new(&own.space, own.files, getpid()), 0);
	map_all(own.space, getpid());
}

static void close_own(void)
{
	gn_unwind_space_free(own.space);
	gn_unwind_files_free(own.files);
}

static void unwind_own(const ucontext_t *context, size_t bytes, int thread)
{
	struct gn_unwind_registers registers = registers_of(context);
	const uint64_t sp = registers.value[DWARF_SP];
	size_t n = gn_process_read(getpid(), sp, copy, bytes);

	registers.thread = thread;
	CHECK_EQ(gn_unwind_stack(own.space, &registers, copy, sp, n, own.frames, FRAMES_MAX,
				 &own.result),
		 0);
}

static uint64_t outer_return;

static __attribute__((noinline)) void inner(size_t bytes)
{
	ucontext_t context;

	CHECK_EQ(getcontext(&context), 0);
	unwind_own(&context, bytes, 0);
	CHECK_EQ(own.frames[0].flags, 0);
	CHECK(own.result.n < 2 ||
	      own.frames[1].address == (uint64_t)(uintptr_t)__builtin_return_address(0));
}

static __attribute__((noinline)) void outer(size_t bytes)
{
	outer_return = (uint64_t)(uintptr_t)__builtin_return_address(0);
	inner(bytes);
	/* No tail call. */
	__asm__ volatile("");
}

static void test_own_stack(void)
{
	uint64_t start, end;
	uint32_t n;

	open_own();
	outer(STACK_BYTES);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.result.n_guessed, 0);
	CHECK(own.result.n > 4);
	CHECK_EQ(own.frames[2].address, outer_return);
	CHECK_EQ(own.frames[2].flags, GN_UNWIND_RETURN);
	n = own.result.n;
	/* The bounds of inner() in this program. */
	CHECK_EQ(gn_unwind_entry_bounds(own.files, own.frames[0].file, own.frames[0].offset, &start,
					&end),
		 0);
	CHECK_EQ(own.frames[0].address - (own.frames[0].offset - start),
		 (uint64_t)(uintptr_t)inner);
	CHECK(end > own.frames[0].offset);
	CHECK_EQ(gn_unwind_entry_bounds(own.files, own.frames[0].file, 1, &start, &end), -ENOENT);
	CHECK_EQ(gn_unwind_entry_bounds(own.files, UINT32_MAX, 1, &start, &end), -EINVAL);
	CHECK_EQ(gn_unwind_file_status(own.files, own.frames[0].file), 0);
	/* Cut somewhere: what there is of it is right. */
	for (size_t bytes = 0; bytes < 4096; bytes += 64) {
		outer(bytes);
		CHECK(own.result.n <= n);
		CHECK(own.result.end == GN_UNWIND_COMPLETE ||
		      own.result.end == GN_UNWIND_STACK_CUT);
		CHECK(own.result.n < 3 || own.frames[2].address == outer_return);
	}
	close_own();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t here;

	(void)number;
	(void)info;
	CHECK_EQ(getcontext(&here), 0);
	/* arm64 has 5 KiB of registers in a signal's frame. */
	unwind_own(&here, 16384, (int)syscall(SYS_gettid));
	/* This handler, the kernel's way back, what was interrupted. */
	CHECK(own.result.n > 3);
	CHECK_EQ(own.frames[1].flags, GN_UNWIND_SIGNAL | GN_UNWIND_RETURN);
	CHECK_EQ(own.frames[2].flags, 0);
	CHECK_EQ(own.frames[2].address, pc_of(context));
}

static void handle(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

static void test_signal_handler(void)
{
	open_own();
	handle(0);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.result.n_guessed, 0);
	close_own();
}

static __attribute__((noinline)) void raise_deep(unsigned int depth)
{
	if (depth)
		raise_deep(depth - 1);
	else
		CHECK_EQ(raise(SIGUSR1), 0);
	__asm__ volatile("");
}

/* The copy has the handler's stack alone; the other one is read from the process. */
static void test_alternate_stack(void)
{
	const stack_t alternate = {.ss_sp = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				   .ss_size = 1 << 16};
	unsigned int n = 0;

	open_own();
	CHECK_EQ(sigaltstack(&alternate, NULL), 0);
	handle(SA_ONSTACK);
	raise_deep(30);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK(own.result.n_guessed > 30);
	for (unsigned int i = 0; i + 1 < own.result.n; i++)
		n += own.frames[i].address == own.frames[i + 1].address;
	CHECK(n >= 28);
	close_own();
}

static ucontext_t coroutine, caller;

static void in_coroutine(void)
{
	outer(STACK_BYTES);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.result.n_guessed, 0);
	/* inner, outer, this function, the coroutine's outermost. */
	CHECK_EQ(own.result.n, 4);
	CHECK_EQ(own.frames[2].address, outer_return);
}

static void test_coroutine(void)
{
	static char stack[1 << 18];

	open_own();
	CHECK_EQ(getcontext(&coroutine), 0);
	coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
	coroutine.uc_link = &caller;
	makecontext(&coroutine, in_coroutine, 0);
	CHECK_EQ(swapcontext(&caller, &coroutine), 0);
	CHECK(own.result.n);
	close_own();
}

static void *in_thread(void *nothing)
{
	outer(STACK_BYTES);
	return nothing;
}

static void test_thread(void)
{
	pthread_t thread;

	open_own();
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.result.n_guessed, 0);
	CHECK_EQ(own.frames[2].address, outer_return);
	close_own();
}

/* Code that a compiler made at run time: it keeps frame pointers and has no rules. */
static void test_generated_code(void)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp, %rbp; sub $0x40, %rsp; call *%rdi; nop; leave; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec,
				       0x40, 0xff, 0xd7, 0x90, 0xc9, 0xc3};
	const uint64_t behind_call = 10;
#else
	/* stp x29, x30, [sp, #-32]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #32; ret */
	static const uint32_t code[] = {0xa9be7bfd, 0x910003fd, 0xd63f0000, 0xa8c27bfd, 0xd65f03c0};
	const uint64_t behind_call = 12;
#endif
	void (*generated)(void (*function)(void));
	uint8_t *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int by_pointer = 0;

	memcpy(memory, code, sizeof(code));
	CHECK_EQ(mprotect(memory, 4096, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache((char *)memory, (char *)memory + sizeof(code));
	memcpy(&generated, &memory, sizeof(generated));
	open_own();
	generated((void (*)(void))in_thread);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.result.n_guessed, 0);
	CHECK_EQ(own.frames[3].address, (uint64_t)(uintptr_t)memory + behind_call);
	CHECK_EQ(own.frames[3].file, GN_UNWIND_NO_FILE);
	CHECK_EQ(own.frames[3].offset, own.frames[3].address - 1);
	for (unsigned int i = 0; i < own.result.n; i++)
		by_pointer += (own.frames[i].flags & GN_UNWIND_FRAME_POINTER) != 0;
	CHECK_EQ(by_pointer, 1);
	close_own();
}

static void test_too_deep(void)
{
	struct gn_unwind_registers registers;
	struct gn_unwind_result result;
	ucontext_t context;

	open_own();
	CHECK_EQ(getcontext(&context), 0);
	registers = registers_of(&context);
	CHECK_EQ(gn_unwind_stack(own.space, &registers, NULL, 0, 0, own.frames, 0, &result),
		 -EINVAL);
	gn_process_read(getpid(), registers.value[DWARF_SP], copy, STACK_BYTES);
	CHECK_EQ(gn_unwind_stack(own.space, &registers, copy, registers.value[DWARF_SP],
				 STACK_BYTES / 4, own.frames, 2, &result),
		 0);
	CHECK_EQ(result.n, 2);
	CHECK_EQ(result.end, GN_UNWIND_TOO_DEEP);
	close_own();
}

#if defined(__aarch64__)

/* Its functions have no rules and keep their return addresses in x30. */
static __attribute__((noinline)) void in_vdso(uint64_t address)
{
	struct gn_unwind_registers registers;
	ucontext_t context;
	size_t n;

	CHECK_EQ(getcontext(&context), 0);
	registers = registers_of(&context);
	registers.value[30] = pc_of(&context);
	registers.value[32] = address;
	n = gn_process_read(getpid(), registers.value[31], copy, STACK_BYTES);
	CHECK_EQ(gn_unwind_stack(own.space, &registers, copy, registers.value[31], n, own.frames,
				 FRAMES_MAX, &own.result),
		 0);
	CHECK_EQ(own.result.end, GN_UNWIND_COMPLETE);
	CHECK_EQ(own.frames[0].address, address);
	CHECK_EQ(own.frames[1].address, pc_of(&context));
	CHECK_EQ(own.frames[1].flags, GN_UNWIND_RETURN | GN_UNWIND_GUESSED);
	CHECK_EQ(own.frames[2].address, (uint64_t)(uintptr_t)__builtin_return_address(0));
	CHECK_EQ(own.result.n_guessed, 1);
}

#endif

/* An address in the vDSO has its rules from memory, where it has any. */
static void test_vdso(void)
{
	const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	uint8_t build_id[GN_UNWIND_BUILD_ID_MAX];
	struct gn_place place;

	if (!vdso) {
		printf("no vDSO here, as under Valgrind: not tried\n");
		return;
	}
	open_own();
	place = gn_space_place(own.space, vdso + 64);
	CHECK(place.file);
	CHECK(!strcmp(place.file->path, "[vdso]"));
#if defined(__aarch64__)
	in_vdso(vdso + 64);
#else
	CHECK(gn_entry_index_count(&place.file->index) > 0);
#endif
	CHECK(gn_unwind_file_build_id(own.files, place.mapping->file, build_id) > 0);
	close_own();
}

#endif

static void test_files_that_are_none(void)
{
	struct gn_unwind_files *files;
	uint32_t number;

	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_file_open(files, "/dev/null", &number), -ENOEXEC);
	CHECK_EQ(gn_unwind_file_open(files, "/", &number), -ENOEXEC);
	CHECK_EQ(gn_unwind_file_open(files, "/proc/self/cmdline", &number), -ENOEXEC);
	CHECK_EQ(gn_unwind_file_open(files, "/nowhere/at/all", &number), -ENOENT);
	CHECK_EQ(gn_unwind_files_count(files), 3);
	CHECK(!strcmp(gn_unwind_file_path(files, 0), "/dev/null"));
	CHECK(!gn_unwind_file_path(files, 3));
	CHECK_EQ(gn_unwind_file_status(files, 0), -ENOEXEC);
	gn_unwind_files_free(files);
}

int main(void)
{
	RUN(test_registers_of_perf);
	RUN(test_calls);
	RUN(test_code_without_rules);
	RUN(test_expressions);
	RUN(test_mappings_replace);
	RUN(test_files_that_are_none);
#if defined(__x86_64__) || defined(__aarch64__)
	RUN(test_own_stack);
	RUN(test_signal_handler);
	RUN(test_alternate_stack);
	RUN(test_coroutine);
	RUN(test_thread);
	RUN(test_generated_code);
	RUN(test_too_deep);
	RUN(test_vdso);
#endif
	return check_result;
}
