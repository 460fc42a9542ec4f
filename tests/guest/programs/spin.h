/* Work of a known number of instructions. */
#ifndef GNOMON_GUEST_SPIN_H
#define GNOMON_GUEST_SPIN_H

#include <stdint.h>

/* Exactly two instructions a round, n rounds, n above 0, whatever stands around them. */
static inline __attribute__((always_inline)) void spin(uint64_t n)
{
#if defined(__aarch64__)
	__asm__ volatile("1:	subs	%0, %0, #1\n"
			 "	b.ne	1b\n"
			 : "+r"(n)
			 :
			 : "cc");
#elif defined(__powerpc64__)
	__asm__ volatile("	mtctr	%0\n"
			 "1:	addi	%0, %0, -1\n"
			 "	bdnz	1b\n"
			 : "+b"(n)
			 :
			 : "ctr");
#else
#error "spin.h: the loop is written for arm64 and POWER only"
#endif
}

#endif
