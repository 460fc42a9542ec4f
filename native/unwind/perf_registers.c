/* The kernel's order of registers in samples. */
#include <errno.h>
#include <gnomon/unwind.h>
#include <linux/perf_event.h>
#include <string.h>

#include "machine_code.h"

/* DWARF's numbers in the order of the bits of sample_regs_user. Source: Linux,
 * arch/{x86,arm64}/include/uapi/asm/perf_regs.h; psABI of x86-64, figure 3.36. */
static const uint8_t x86_order[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

static size_t count(enum gn_unwind_machine machine)
{
	return machine == GN_UNWIND_X86_64 ? sizeof(x86_order) : GN_UNWIND_REGISTERS_MAX;
}

static size_t number_of(enum gn_unwind_machine machine, size_t place)
{
	return machine == GN_UNWIND_X86_64 ? x86_order[place] : place;
}

uint64_t gn_unwind_perf_mask(enum gn_unwind_machine machine)
{
	/* ax to ip, r8 to r15; x0 to x30, sp and pc. */
	return machine == GN_UNWIND_X86_64 ? 0xff01ff : ((uint64_t)1 << 33) - 1;
}

int gn_unwind_own_machine(void)
{
#if defined(__x86_64__)
	return GN_UNWIND_X86_64;
#elif defined(__aarch64__)
	return GN_UNWIND_AARCH64;
#else
	return -ENOTSUP;
#endif
}

int gn_unwind_from_perf(enum gn_unwind_machine machine, uint64_t abi, const uint64_t *values,
			size_t n, struct gn_unwind_registers *registers)
{
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return -ENODATA;
	if (abi != PERF_SAMPLE_REGS_ABI_64)
		return -ENOTSUP;
	if (n != count(machine))
		return -EINVAL;
	memset(registers, 0, sizeof(*registers));
	registers->machine = machine;
	for (size_t i = 0; i < n; i++)
		registers->value[number_of(machine, i)] = values[i];
	return 0;
}

size_t gn_unwind_to_perf(enum gn_unwind_machine machine, uint64_t stack_pointer,
			 uint64_t program_counter, uint64_t values[GN_UNWIND_REGISTERS_MAX])
{
	const struct gn_machine *known = gn_machine(machine);
	const size_t n = count(machine);

	for (size_t i = 0; i < n; i++) {
		const size_t number = number_of(machine, i);

		values[i] = number == known->stack_pointer     ? stack_pointer
			    : number == known->program_counter ? program_counter
							       : 0;
	}
	return n;
}
