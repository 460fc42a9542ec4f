#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char block[65536];

int main(void)
{
	int file = open("data.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	struct stat of_file;
	for (int k = 0; k < 16; k++)
		if (write(file, block, 4096) != 4096)
			return 1;
	fsync(file);
	fdatasync(file);
	fstat(file, &of_file);
	for (int k = 15; k >= 0; k--)
		if (pread(file, block, 1000, 4096 * k) != 1000)
			return 1;
	lseek(file, 0, SEEK_SET);
	if (read(file, block, 65536) != 65536 || read(file, block, 65536) != 0)
		return 1;
	if (mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED)
		return 1;
	close(file);
	file = open("strided.bin", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (int k = 0; k < 8; k++)
		if (pwrite(file, block, 512, 2048 * k) != 512)
			return 1;
	close(file);
	FILE *stream = fopen("notes.txt", "w+");
	for (int k = 0; k < 100; k++)
		fwrite("0123456789", 1, 10, stream);
	fflush(stream);
	fseek(stream, 500, SEEK_SET);
	fread(block, 1, 200, stream);
	fclose(stream);
	puts("done");
	return 0;
}
