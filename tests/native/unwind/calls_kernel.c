/* Calls code that has no rules, which calls back. */
long kernel(long x, long (*callback)(long x));
long aligned_kernel(long x);

static __attribute__((noinline)) long callback(long x)
{
	volatile long copy = x;

	return copy * 2;
}

static __attribute__((noinline)) long middle(long x)
{
	volatile long saved = x;

	return kernel(x, callback) + kernel(saved, 0) + aligned_kernel(x);
}

int main(int argc, char **argv)
{
	(void)argv;
	return middle(argc) == 0;
}
