/*
 * loop N: a program of which every instruction is known, from its first to its last.
 *
 * There is no C library in it and no start-up code: the kernel enters at _start, with argc, argv[0]
 * and argv[1] on the stack. It reads N, goes round a loop of two instructions N times and exits.
 *
 *	instructions = LOOP_FIXED + LOOP_PER_DIGIT * digits of N + 2 * N
 *
 * The numbers stand beside the code, and inside/work.py has them too. Source of the system call
 * numbers: asm-generic/unistd.h, and arch/powerpc/kernel/syscalls/syscall.tbl.
 */

#if defined(__aarch64__)
/* LOOP_FIXED 7, LOOP_PER_DIGIT 5 */
__asm__(".globl _start\n"
	"_start:\n"
	"	ldr	x1, [sp, #16]\n"
	"	mov	x0, #0\n"
	"	mov	x3, #10\n"
	"1:	ldrb	w2, [x1], #1\n" /* once for each digit and once for the end */
	"	cbz	w2, 2f\n"
	"	sub	w2, w2, #48\n"
	"	madd	x0, x0, x3, x2\n"
	"	b	1b\n"
	"2:	subs	x0, x0, #1\n"
	"	b.ne	2b\n"
	"	mov	x8, #93\n"
	"	svc	#0\n");
#elif defined(__powerpc64__)
/* LOOP_FIXED 9, LOOP_PER_DIGIT 8 */
__asm__(".globl _start\n"
	"_start:\n"
	"	ld	4, 16(1)\n"
	"	li	3, 0\n"
	"1:	lbz	5, 0(4)\n" /* once for each digit and once for the end */
	"	cmpwi	5, 0\n"
	"	beq	2f\n"
	"	addi	4, 4, 1\n"
	"	addi	5, 5, -48\n"
	"	mulli	3, 3, 10\n"
	"	add	3, 3, 5\n"
	"	b	1b\n"
	"2:	mtctr	3\n"
	"3:	addi	6, 6, 1\n"
	"	bdnz	3b\n"
	"	li	3, 0\n"
	"	li	0, 1\n"
	"	sc\n");
#else
#error "loop.c: its instructions are written for arm64 and POWER only"
#endif
