/* descriptors FILE: writes into FILE what its descriptors are: number, flags, what they lead to. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

int main(int argc, char **argv)
{
	static struct {
		int status, own;
		char target[256];
	} seen[DESCRIPTORS];
	char path[32];
	FILE *out;

	if (argc != 2)
		return 2;
	/* All is looked at before the file is opened: it would take the first free number. */
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		seen[fd].own = fcntl(fd, F_GETFD);
		seen[fd].status = fcntl(fd, F_GETFL);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (seen[fd].own >= 0 &&
		    readlink(path, seen[fd].target, sizeof(seen[fd].target) - 1) < 0)
			return 3;
	}
	out = fopen(argv[1], "w");
	if (!out)
		return 4;
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		if (seen[fd].own >= 0)
			fprintf(out, "%d %x %x %s\n", fd, (unsigned int)seen[fd].own,
				(unsigned int)seen[fd].status, seen[fd].target);
	}
	return fclose(out) ? 5 : 0;
}
