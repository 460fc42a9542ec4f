/* Records of a file: written, read from its first to its last one, and read backward. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORD_BYTES = 16384, RECORDS = 100 };

static char record[RECORD_BYTES];

static void write_all(int fd)
{
	for (int i = 0; i < RECORDS; i++)
		if (write(fd, record, sizeof(record)) != sizeof(record))
			exit(1);
}

static void read_forward(int fd)
{
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < RECORDS; i++)
		if (read(fd, record, sizeof(record)) != sizeof(record))
			exit(1);
}

static void read_backward(int fd)
{
	for (int i = RECORDS - 1; i >= 0; i--) {
		lseek(fd, (off_t)i * RECORD_BYTES, SEEK_SET);
		if (read(fd, record, sizeof(record)) != sizeof(record))
			exit(1);
	}
}

int main(void)
{
	const int fd = open("records.dat", O_RDWR | O_CREAT | O_TRUNC, 0640);

	if (fd < 0)
		return 1;
	write_all(fd);
	read_forward(fd);
	read_backward(fd);
	return close(fd);
}
