/* pages N: writes into N fresh pages, so that the kernel has N page faults more to serve. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	/* One size for every N, so that runs differ in nothing but the pages touched. */
	const size_t room = (size_t)1 << 28;
	volatile char *page = mmap(NULL, room, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (page == MAP_FAILED || n > room / page_size)
		return 2;
	/* Huge pages would take one fault for many; a kernel without them refuses the advice. */
	(void)madvise((void *)page, room, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		page[i * page_size] = 1;
	return 0;
}
