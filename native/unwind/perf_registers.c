/* The kernel's order of registers in samples. */
#include <errno.h>
#include <gnomon/unwind.h>
#include <linux/perf_event.h>
#include <string.h>

/* DWARF's numbers in the order of the bits of sample_regs_user. Source: Linux,
 * arch/{x86,arm64}/include/uapi/asm/perf_regs.h; psABI of x86-64, figure 3.36. */
static const uint8_t x86_order[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};

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
	const size_t expected = machine == GN_UNWIND_X86_64 ? sizeof(x86_order) : 33;

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return -ENODATA;
	if (abi != PERF_SAMPLE_REGS_ABI_64)
		return -ENOTSUP;
	if (n != expected)
		return -EINVAL;
	memset(registers, 0, sizeof(*registers));
	registers->machine = machine;
	for (size_t i = 0; i < n; i++)
		registers->value[machine == GN_UNWIND_X86_64 ? x86_order[i] : i] = values[i];
	return 0;
}
