/* Programs of known work for x86-64, without a C library: what each executes is stated below.
 *
 * With -DLOOP:  COUNT times a load, a store, a decrement and a conditional branch, and a call and
 *               an indirect jump in every round of it with -DJUMPS:
 *               4 * COUNT + 4 instructions, COUNT loads, stores and branches;
 *               JUMPS: 7 * COUNT + 4 instructions, 2 * COUNT loads and stores (the return address),
 *               COUNT conditional and COUNT indirect branches.
 * With -DCHASE: COUNT loads, each of the address of the next, through LINES cache lines of 64
 *               bytes in a circle: 3 * COUNT + 5 instructions, COUNT loads and branches.
 */
	.globl _start
	.text
_start:
#ifdef LOOP
	mov $COUNT, %ecx
1:	mov cell(%rip), %rax
	mov %rax, cell + 8(%rip)
#ifdef JUMPS
	call 2f
#endif
	dec %ecx
	jnz 1b
#else
	mov $COUNT, %ecx
	lea first(%rip), %rax
1:	mov (%rax), %rax
	dec %ecx
	jnz 1b
#endif
	mov $60, %eax
	xor %edi, %edi
	syscall
#ifdef JUMPS
2:	jmp *target(%rip)
3:	ret
#endif
	.data
	.balign 64
cell:	.quad 0, 0
#ifdef JUMPS
target:	.quad 3b
#endif
#ifdef CHASE
	.balign 64
first:
	.set at, 1
	.rept LINES - 1
	.quad first + 64 * at
	.skip 56
	.set at, at + 1
	.endr
	.quad first
	.skip 56
#endif
