/* phases A MS B: writes into A fresh pages, sleeps MS milliseconds, writes into B others. */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const size_t room = (size_t)1 << 28;

static void touch(volatile char *page, size_t n)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < n; i++)
		page[i * page_size] = 1;
}

int main(int argc, char **argv)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const size_t first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const long ms = argc > 2 ? atol(argv[2]) : 0;
	const size_t second = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	volatile char *page = mmap(NULL, room, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (page == MAP_FAILED || (first + second) > room / page_size)
		return 2;
	/* Huge pages would take one fault for many; a kernel without them refuses the advice. */
	(void)madvise((void *)page, room, MADV_NOHUGEPAGE);
	touch(page, first);
	nanosleep(&pause, NULL);
	touch(page + first * page_size, second);
	return 0;
}
