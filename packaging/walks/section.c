/* A section with a number of page faults that nothing else has: it touches so many fresh pages. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libhpm.h"

int main(int argc, char **argv)
{
	long pages = argc > 1 ? atol(argv[1]) : 1, size = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(pages * size), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, (size_t)(pages * size), MADV_NOHUGEPAGE))
		return 1;
	hpmInit(0, "section");
	/* The first start and stop of all have page faults of their own. */
	hpmStart(2, "warm");
	hpmStop(2);
	hpmStart(1, "touch");
	for (long i = 0; i < pages; i++)
		memory[i * size] = 1;
	hpmStop(1);
	hpmTerminate(0);
	return hpm_error_count ? 1 : 0;
}
