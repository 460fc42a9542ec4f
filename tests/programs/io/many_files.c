/* Five thousand files, three hundred of them open at once. */
#include "corpus.h"
#include <fcntl.h>

/* Most are further names of a file, which costs a hundredth of what a new file does. */
enum { FILES = 5000, HELD = 300, NAMES = 20 };

static const char *path_of(char *path, size_t size, int file)
{
	snprintf(path, size, "file-%04d", file);
	return path;
}

static void tell_all(void)
{
	char path[32];

	for (int file = 0; file < FILES; file++) {
		path_of(path, sizeof(path), file);
		tell(&(struct expected){path, "open", "posix", 1, 0, 0});
		tell(&(struct expected){path, "write", "posix", 1, 9, 9});
		tell(&(struct expected){path, "close", "posix", 1, 0, 0});
		if (file % NAMES == 0)
			tell(&(struct expected){path, "link", "posix", NAMES - 1, 0, 0});
	}
}

int main(int argc, char **argv)
{
	int held[HELD];
	char path[32], first[32];

	if (is_asked(argc, argv)) {
		tell_all();
		return 0;
	}
	begin();
	for (int file = 0; file < FILES; file++) {
		const int slot = file % HELD;

		path_of(path, sizeof(path), file);
		if (file % NAMES)
			CHECK(link(first, path) == 0);
		else
			memcpy(first, path, sizeof(path));
		if (file >= HELD)
			CHECK(close(held[slot]) == 0);
		held[slot] = open(path, O_WRONLY | O_CREAT, 0600);
		CHECK(held[slot] >= 0 && write(held[slot], path, 9) == 9);
	}
	for (int slot = 0; slot < HELD; slot++)
		CHECK(close(held[slot]) == 0);
	end();
	say("many_files: %d\n", FILES);
	return 0;
}
