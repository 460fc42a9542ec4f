#include "machine_code.h"

#include <string.h>

#include "x86_instruction.h"

static const struct gn_machine machines[] = {
	[GN_UNWIND_X86_64] = {6, 7, 16, 3, 15, UINT64_MAX},
	/* Above it are signatures (pointer authentication) and tags. */
	[GN_UNWIND_AARCH64] = {29, 31, 32, 19, 29, ((uint64_t)1 << 48) - 1},
};

const struct gn_machine *gn_machine(enum gn_unwind_machine machine)
{
	return &machines[machine];
}

static bool is_x86_call(const uint8_t *before, size_t n)
{
	if (n >= 5 && before[n - 5] == 0xe8)
		return true;
	/* call *operand: FF /2 */
	for (size_t length = 2; length <= 7 && length <= n; length++) {
		const uint8_t *call = before + n - length;

		if (call[0] == 0xff && (call[1] & 0x38) == 0x10 &&
		    gn_x86_operand_bytes(call + 1, length - 1) == length - 1)
			return true;
	}
	return false;
}

static bool is_arm_call(const uint8_t *before, size_t n)
{
	uint32_t word;

	if (n < 4)
		return false;
	memcpy(&word, before + n - 4, 4);
	/* bl; blr, blraa and their kin */
	return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

bool gn_code_is_call(enum gn_unwind_machine machine, const uint8_t *before, size_t n)
{
	return machine == GN_UNWIND_X86_64 ? is_x86_call(before, n) : is_arm_call(before, n);
}

uint64_t gn_code_call_target(enum gn_unwind_machine machine, const uint8_t before[5],
			     uint64_t address)
{
	uint32_t word;

	memcpy(&word, before + 1, 4);
	if (machine == GN_UNWIND_X86_64)
		return before[0] == 0xe8 ? address + (uint64_t)(int64_t)(int32_t)word : 0;
	/* bl: 26 bits of words, from the instruction on */
	if (word >> 26 != 0x25)
		return 0;
	return address - 4 + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
}

static void add_rule(struct gn_rule_row *row, unsigned int target, int32_t offset)
{
	row->rules[row->n_rules++] =
		(struct gn_rule){(uint8_t)target, GN_RULE_AT_OFFSET, 0, offset};
}

/* `add $N, %rsp`, any number of `pop`, `ret`: trampolines of interpreters, ends of assembly. */
static bool x86_epilogue(const uint8_t *bytes, size_t n, struct gn_rule_row *row)
{
	struct {
		uint8_t number;
		int32_t offset;
	} popped[16];
	int32_t depth = 0;
	unsigned int n_popped = 0;
	size_t at = 0;

	if (n >= 4 && !memcmp(bytes, "\x48\x83\xc4", 3) && bytes[3] < 0x80) {
		depth = bytes[3];
		at = 4;
	} else if (n >= 7 && !memcmp(bytes, "\x48\x81\xc4", 3) && bytes[6] == 0) {
		memcpy(&depth, bytes + 3, 4);
		at = 7;
	}
	while (at + 2 < n && n_popped < 16) {
		const unsigned int high = bytes[at] == 0x41 ? 8 : 0;
		const uint8_t operation = bytes[at + (high != 0)];

		if (operation < 0x58 || operation > 0x5f || (operation == 0x5c && !high))
			break;
		popped[n_popped].number = (uint8_t)gn_x86_register(operation - 0x58u + high);
		popped[n_popped++].offset = depth;
		depth += 8;
		at += high ? 2 : 1;
	}
	if (at < n && bytes[at] == 0xf3)
		at++;
	if (at >= n || (bytes[at] != 0xc3 && bytes[at] != 0xc2))
		return false;
	*row = (struct gn_rule_row){
		.return_column = 16, .cfa_kind = GN_RULE_OFFSET, .base = 7, .cfa_value = depth + 8};
	for (unsigned int i = 0; i < n_popped; i++)
		add_rule(row, popped[i].number, popped[i].offset - row->cfa_value);
	add_rule(row, 16, -8);
	return true;
}

/* The registers in a signal's frame. Source: Linux, arch/x86/include/uapi/asm/sigcontext.h and
 * ucontext.h; the stack pointer is at the ucontext. */
static bool x86_signal(const uint8_t *bytes, size_t n, struct gn_rule_row *row)
{
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};

	/* mov $15, %rax; syscall */
	if (n < 9 || memcmp(bytes, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9) != 0)
		return false;
	*row = (struct gn_rule_row){
		.flags = GN_ROW_SIGNAL, .return_column = 16, .cfa_kind = GN_RULE_OFFSET, .base = 7};
	for (unsigned int i = 0; i < sizeof(order); i++)
		add_rule(row, order[i], 40 + 8 * (int32_t)i);
	return true;
}

/* Source: Linux, arch/arm64/include/uapi/asm/sigcontext.h: behind siginfo, in the ucontext. */
static bool arm_signal(const uint8_t *bytes, size_t n, struct gn_rule_row *row)
{
	/* mov x8, #139; svc #0 */
	if (n < 8 || memcmp(bytes, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8) != 0)
		return false;
	*row = (struct gn_rule_row){.flags = GN_ROW_SIGNAL,
				    .return_column = 32,
				    .cfa_kind = GN_RULE_OFFSET,
				    .base = 31};
	for (unsigned int i = 0; i <= 32; i++)
		add_rule(row, i, 128 + 176 + 8 + 8 * (int32_t)i);
	return true;
}

bool gn_code_row(enum gn_unwind_machine machine, const uint8_t *bytes, size_t n,
		 struct gn_rule_row *row)
{
	if (machine == GN_UNWIND_AARCH64)
		return arm_signal(bytes, n, row);
	return x86_epilogue(bytes, n, row) || x86_signal(bytes, n, row);
}
