/*
 * Prints its environment. It needs no C library, so that it can be built for 32 bits anywhere:
 * gcc -m32 -nostdlib -static -fno-pie -no-pie -fno-stack-protector.
 */
static int call(int number, int first, const char *second, int third)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third)
			 : "memory");
	return result;
}

/* What the kernel leaves on the stack: argc, arguments, NULL, variables, NULL. */
__attribute__((used)) static void run(char **stack)
{
	for (char **variable = stack + 2 + *(int *)stack; *variable; variable++) {
		int length = 0;

		while ((*variable)[length])
			length++;
		(*variable)[length] = '\n';
		call(4, 1, *variable, length + 1);
	}
	call(1, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tpush %eax\n\tcall run\n");
