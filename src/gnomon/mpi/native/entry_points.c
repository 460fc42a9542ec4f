/*
 * MPI's functions, by all their names, as jumps: what a program calls is found here first, as this
 * library is preloaded, and goes on to the wrappers of the MPI that the process turns out to have.
 * The common stub has what every MPI has; from the same source is that which an MPI has beyond.
 *
 * Nothing is looked up before the first call, and nothing relocated when the library is loaded: of
 * a process that never calls MPI the jumps and their table stay untouched. Arguments lie where the
 * program put them; a wrapper sees the program's own return address.
 */
#include "entry_points.h"

#include <stddef.h>
#include <stdint.h>

#include "wrapper_library.h"

/* Where each function is, 0: not looked up. Only the jumps and the resolver use it. */
__attribute__((visibility("hidden"))) uintptr_t gn_mpi_slots[GN_ENTRY_POINTS];
__attribute__((visibility("hidden"))) uintptr_t gn_mpi_resolve(uintptr_t number);

uintptr_t gn_mpi_resolve(uintptr_t number)
{
	int is_final = 0;
	const uintptr_t address = gn_mpi_find(gn_entry_names + gn_entry_name[number], &is_final);

	if (is_final)
		__atomic_store_n(&gn_mpi_slots[number], address, __ATOMIC_RELAXED);
	return address;
}

/* clang-format off */
#define ALIAS(alias, name) __asm__(".globl " #alias "\n.set " #alias ", " #name "\n");

#if defined(__x86_64__)

/* Source: System V ABI for AMD64, 3.2.3: eight arguments in vectors, six and AL in others. */
__asm__(".text\n"
	".hidden gn_mpi_first_call\n"
	".type gn_mpi_first_call, @function\n"
	"gn_mpi_first_call:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register rbp\n"
	"and $-16, %rsp\n"
	"sub $192, %rsp\n"
	"mov %rdi, (%rsp)\n"
	"mov %rsi, 8(%rsp)\n"
	"mov %rdx, 16(%rsp)\n"
	"mov %rcx, 24(%rsp)\n"
	"mov %r8, 32(%rsp)\n"
	"mov %r9, 40(%rsp)\n"
	"mov %rax, 48(%rsp)\n"
	"movaps %xmm0, 64(%rsp)\n"
	"movaps %xmm1, 80(%rsp)\n"
	"movaps %xmm2, 96(%rsp)\n"
	"movaps %xmm3, 112(%rsp)\n"
	"movaps %xmm4, 128(%rsp)\n"
	"movaps %xmm5, 144(%rsp)\n"
	"movaps %xmm6, 160(%rsp)\n"
	"movaps %xmm7, 176(%rsp)\n"
	"mov %r11, %rdi\n"
	"call gn_mpi_resolve\n"
	"mov %rax, %r11\n"
	"movaps 64(%rsp), %xmm0\n"
	"movaps 80(%rsp), %xmm1\n"
	"movaps 96(%rsp), %xmm2\n"
	"movaps 112(%rsp), %xmm3\n"
	"movaps 128(%rsp), %xmm4\n"
	"movaps 144(%rsp), %xmm5\n"
	"movaps 160(%rsp), %xmm6\n"
	"movaps 176(%rsp), %xmm7\n"
	"mov (%rsp), %rdi\n"
	"mov 8(%rsp), %rsi\n"
	"mov 16(%rsp), %rdx\n"
	"mov 24(%rsp), %rcx\n"
	"mov 32(%rsp), %r8\n"
	"mov 40(%rsp), %r9\n"
	"mov 48(%rsp), %rax\n"
	"mov %rbp, %rsp\n"
	"pop %rbp\n"
	".cfi_def_cfa rsp, 8\n"
	"jmp *%r11\n"
	".cfi_endproc\n"
	".size gn_mpi_first_call, .-gn_mpi_first_call\n");

#define ENTRY(number, name)                                                                        \
	__asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"     \
		".cfi_startproc\n"                                                                 \
		"endbr64\n"                                                                        \
		"mov gn_mpi_slots+8*" #number "(%rip), %r11\n"                                     \
		"test %r11, %r11\n"                                                                \
		"jz 1f\n"                                                                          \
		"jmp *%r11\n"                                                                      \
		"1: mov $" #number ", %r11d\n"                                                     \
		"jmp gn_mpi_first_call\n"                                                          \
		".cfi_endproc\n"                                                                   \
		".size " #name ", .-" #name "\n");

GN_EACH_ENTRY_POINT(ENTRY, ALIAS)

#elif defined(__aarch64__)

/* Source: Procedure Call Standard for the Arm 64-bit Architecture, 6.4; x16 and x17 are free. */
__asm__(".text\n"
	".hidden gn_mpi_first_call\n"
	".type gn_mpi_first_call, %function\n"
	"gn_mpi_first_call:\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, #-224]!\n"
	".cfi_def_cfa_offset 224\n"
	".cfi_offset x29, -224\n"
	".cfi_offset x30, -216\n"
	"mov x29, sp\n"
	"stp x0, x1, [sp, #16]\n"
	"stp x2, x3, [sp, #32]\n"
	"stp x4, x5, [sp, #48]\n"
	"stp x6, x7, [sp, #64]\n"
	"str x8, [sp, #80]\n"
	"stp q0, q1, [sp, #96]\n"
	"stp q2, q3, [sp, #128]\n"
	"stp q4, q5, [sp, #160]\n"
	"stp q6, q7, [sp, #192]\n"
	"mov x0, x16\n"
	"bl gn_mpi_resolve\n"
	"mov x16, x0\n"
	"ldp q0, q1, [sp, #96]\n"
	"ldp q2, q3, [sp, #128]\n"
	"ldp q4, q5, [sp, #160]\n"
	"ldp q6, q7, [sp, #192]\n"
	"ldp x0, x1, [sp, #16]\n"
	"ldp x2, x3, [sp, #32]\n"
	"ldp x4, x5, [sp, #48]\n"
	"ldp x6, x7, [sp, #64]\n"
	"ldr x8, [sp, #80]\n"
	"ldp x29, x30, [sp], #224\n"
	".cfi_def_cfa_offset 0\n"
	".cfi_restore x29\n"
	".cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n"
	".size gn_mpi_first_call, .-gn_mpi_first_call\n");

#define ENTRY(number, name)                                                                        \
	__asm__(".text\n.balign 16\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"     \
		".cfi_startproc\n"                                                                 \
		"hint #34\n"                                                                       \
		"adrp x16, gn_mpi_slots+8*" #number "\n"                                           \
		"ldr x16, [x16, #:lo12:gn_mpi_slots+8*" #number "]\n"                              \
		"cbz x16, 1f\n"                                                                    \
		"br x16\n"                                                                         \
		"1: mov w16, #" #number "\n"                                                       \
		"b gn_mpi_first_call\n"                                                            \
		".cfi_endproc\n"                                                                   \
		".size " #name ", .-" #name "\n");

GN_EACH_ENTRY_POINT(ENTRY, ALIAS)

#endif
/* On other machines the library has no such names; the capability says that it cannot be used. */
