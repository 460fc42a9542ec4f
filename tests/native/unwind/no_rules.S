/* Hand-written code without a word about its frames, as kernels of numeric libraries are. */
	.text
	.globl	kernel
	.type	kernel, @function
kernel:
	push	%rbx
	push	%r12
	sub	$264, %rsp
	mov	%rdi, %rbx
	mov	%rsi, %r12
	mov	$20, %ecx
1:	add	%rcx, %rax
	mov	%rax, (%rsp, %rcx, 8)
	dec	%ecx
	jnz	1b
	test	%r12, %r12
	jz	2f
	mov	%rbx, %rdi
	call	*%r12
2:	add	$264, %rsp
	pop	%r12
	pop	%rbx
	ret
	.size	kernel, . - kernel

/* With a buffer that begins at a page: the end of the frame is in a register. */
	.globl	aligned_kernel
	.type	aligned_kernel, @function
aligned_kernel:
	push	%rbp
	push	%rbx
	push	%r12
	mov	%rsp, %rbx
	sub	$8448, %rsp
	and	$-4096, %rsp
	mov	$20, %ecx
1:	add	%rcx, %rax
	mov	%rax, (%rsp, %rcx, 8)
	dec	%ecx
	jnz	1b
	mov	%rbx, %rsp
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.size	aligned_kernel, . - aligned_kernel
	.section .note.GNU-stack, "", @progbits
