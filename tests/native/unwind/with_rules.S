/* Hand-written code that says where its frames are, by a register of its own. */
	.text
	.globl	kernel
	.type	kernel, @function
kernel:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	mov	%rsp, %r12
	.cfi_def_cfa_register %r12
	sub	$1000, %rsp
	and	$-64, %rsp
	mov	%rdi, %rbx
	test	%rsi, %rsi
	jz	1f
	call	*%rsi
1:	mov	%r12, %rsp
	.cfi_def_cfa_register %rsp
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	kernel, . - kernel

/* Two ways out, of which the first one stands in the middle. */
	.globl	aligned_kernel
	.type	aligned_kernel, @function
aligned_kernel:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub	$128, %rsp
	mov	$20, %ecx
1:	add	%rcx, %rax
	dec	%ecx
	jnz	1b
	test	%rdi, %rdi
	jz	2f
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
2:	xor	%eax, %eax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	aligned_kernel, . - aligned_kernel
	.section .note.GNU-stack, "", @progbits
