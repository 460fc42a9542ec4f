/* Runs code that it made itself, and tells profilers its name by a perf map; x86-64. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; mov rcx, rdi; 1: dec rcx; jnz 1b; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
				     0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};

__attribute__((noinline)) static void call(void (*compiled)(unsigned long))
{
	for (int i = 0; i < 1000; i++)
		compiled(1000000);
}

int main(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*compiled)(unsigned long);
	char path[64];
	FILE *map;

	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	memcpy(&compiled, &page, sizeof(page));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx script::count_down\n", (unsigned long)page, sizeof(code));
	fclose(map);
	call(compiled);
	puts(path);
	return 0;
}
