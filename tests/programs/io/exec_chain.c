/* Images that follow one another in a process; the last finds the descriptors of the first. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

enum { IMAGES = 4 };

static const struct expected EXPECTED[] = {
	{"kept", "open", "posix", 1, 0, 0},
	{"kept", "write", "posix", IMAGES, 10 * IMAGES, 10 * IMAGES},
	{"kept", "close", "posix", 1, 0, 0},
	{"closed", "open", "posix", 1, 0, 0},
	{"closed", "write", "posix", 1, 10, 10},
	{"second", "open", "posix", 1, 0, 0},
	{"second", "write", "posix", 1, 10, 10},
};

int main(int argc, char **argv)
{
	static char *const variables[] = {(char *)"CORPUS=1", NULL};
	char bytes[10], number[16], kept_number[16];
	int image = argc > 2 ? atoi(argv[1]) : 0;
	int kept = argc > 2 ? atoi(argv[2]) : -1;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	if (image == 0) {
		int closed;

		begin();
		kept = open("kept", O_WRONLY | O_CREAT, 0600);
		closed = open("closed", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		CHECK(kept >= 0 && closed == kept + 1 && write(closed, bytes, 10) == 10);
	}
	CHECK(write(kept, bytes, 10) == 10);
	if (image == 1) {
		/* The number of the one that exec has closed. */
		const int second = open("second", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		CHECK(second == kept + 1 && write(second, bytes, 10) == 10);
	}
	if (++image == IMAGES) {
		CHECK(close(kept) == 0);
		end();
		say("exec_chain: %d images\n", IMAGES);
		return 0;
	}
	snprintf(number, sizeof(number), "%d", image);
	snprintf(kept_number, sizeof(kept_number), "%d", kept);
	if (image == 1)
		execl("/proc/self/exe", argv[0], number, kept_number, NULL);
	else if (image == 2)
		execv("/proc/self/exe", (char *[]){argv[0], number, kept_number, NULL});
	else if (getenv("LD_PRELOAD")) /* what it is measured with stays with it */
		execvp("/proc/self/exe", (char *[]){argv[0], number, kept_number, NULL});
	else
		execve("/proc/self/exe", (char *[]){argv[0], number, kept_number, NULL}, variables);
	CHECK(!"exec returned");
}
