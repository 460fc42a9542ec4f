/* Operations on paths and directories. */
#define _GNU_SOURCE
#include "player.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int64_t seen(const struct stat *status, int result)
{
	if (result)
		return -1;
	/* Of a directory's size file systems have their own ideas. */
	return S_ISDIR(status->st_mode) ? status->st_mode
					: status->st_size * 100 + status->st_nlink;
}

void play_path(struct player *player)
{
	const char *path = some_path(player);
	char *text = player->buffer;
	struct stat status = {0};
	struct statx more = {0};
	int64_t n;

	memset(text, 0, 200);
	switch (below(player, 12)) {
	case 0:
	case 1:
	case 2:
		RESULT(player, seen(&status, stat(path, &status)), "stat %s", path);
		break;
	case 3:
		RESULT(player, seen(&status, lstat(path, &status)), "lstat %s", path);
		break;
	case 4:
		RESULT(player, seen(&status, fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW)),
		       "fstatat %s", path);
		break;
	case 5:
		RESULT(player,
		       statx(AT_FDCWD, path, 0, STATX_SIZE | STATX_MODE, &more) ? -1
										: more.stx_mode,
		       "statx %s", path);
		break;
	case 6:
		RESULT(player, access(path, R_OK | X_OK), "access %s", path);
		break;
	case 7:
		n = RESULT(player, readlink(path, text, 100), "readlink %s", path);
		note_data(player, text, n);
		break;
	case 8: {
		char *full = realpath(path, NULL);

		note(player, full ? (int64_t)strlen(full) : -1, full ? 0 : errno, "realpath %s",
		     path);
		free(full);
		break;
	}
	case 9:
		RESULT(player, chmod(path, 0600 | below(player, 0200)), "chmod %s", path);
		break;
	case 10:
		RESULT(player, getxattr(path, "user.none", text, 10), "getxattr %s", path);
		break;
	default:
		RESULT(player, utimensat(AT_FDCWD, path, NULL, 0), "utimensat %s", path);
	}
}

void play_rename(struct player *player)
{
	const char *path = some_path(player), *other = some_path(player);

	switch (below(player, 8)) {
	case 0:
		RESULT(player, link(path, other), "link %s %s", path, other);
		break;
	case 1:
		RESULT(player, symlink(below(player, 2) ? "a" : "b", other), "symlink %s", other);
		break;
	case 2:
	case 3:
		RESULT(player, unlink(path), "unlink %s", path);
		break;
	case 4:
		RESULT(player, renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE),
		       "exchange %s %s", path, other);
		break;
	case 5:
		/* Not the folder that all is in. */
		if (!strstr(path, "sub/.") && !strcmp(path + strlen(path) - 1, "a"))
			RESULT(player, remove(path), "remove %s", path);
		break;
	default:
		RESULT(player, rename(path, other), "rename %s %s", path, other);
	}
}

static uint32_t sum_of(DIR *directory, int most)
{
	const struct dirent *entry;
	uint32_t sum = 0;

	/* In whatever order. */
	for (int i = 0; i < most && (entry = readdir(directory)); i++)
		sum += hash_of(entry->d_name, strlen(entry->d_name)) + entry->d_type;
	return sum;
}

void play_directory(struct player *player)
{
	const char *path = path_below(player, below(player, 2)	 ? "sub"
					      : below(player, 4) ? "."
								 : "a");
	struct dirent **entry;
	int n, fd;

	switch (below(player, 5)) {
	case 0:
		n = (int)RESULT(player, scandir(path, &entry, NULL, alphasort), "scandir %s", path);
		for (int i = 0; i < n; i++) {
			note(player, entry[i]->d_type, 0, "%.20s", entry[i]->d_name);
			free(entry[i]);
		}
		if (n >= 0)
			free(entry);
		break;
	case 1:
		path = path_below(player, "new");
		RESULT(player, mkdir(path, 0750), "mkdir %s", path);
		break;
	case 2:
		path = path_below(player, "new");
		RESULT(player, rmdir(path), "rmdir %s", path);
		break;
	case 3:
		fd = DESCRIPTOR(player, open(path, O_RDONLY | O_DIRECTORY), "open %s", path);
		if (fd < 0)
			break;
		player->directory = fdopendir(fd);
		note(player, sum_of(player->directory, 1000), 0, "fdopendir and readdir");
		rewinddir(player->directory);
		note(player, sum_of(player->directory, 1000), 0, "again");
		RESULT(player, closedir(player->directory), "closedir");
		break;
	default:
		RESULT(player, (player->directory = opendir(path)) != NULL, "opendir %s", path);
		if (!player->directory)
			break;
		errno = 0;
		note(player, sum_of(player->directory, 1000), errno, "readdir %s", path);
		RESULT(player, closedir(player->directory), "closedir");
	}
}

void play_temporary(struct player *player)
{
	char path[PATH_BYTES];
	const char *fixed = path_below(player, "made");
	int fd;

	snprintf(path, sizeof(path), "%smadeXXXXXX", player->folder);
	fd = DESCRIPTOR(player, below(player, 2) ? mkstemp(path) : mkostemp(path, O_APPEND),
			"mkstemp");
	if (fd < 0)
		return;
	RESULT(player, write(fd, some_data(player, 3000), 3000), "write");
	RESULT(player, rename(path, fixed), "rename to %s", fixed);
	RESULT(player, pread(fd, player->buffer, 5000, 1000), "pread");
	note_data(player, player->buffer, 2000);
	RESULT(player, close(fd), "close");
}

/* From another working directory. */
void play_place(struct player *player)
{
	int fd;

	if (RESULT(player, chdir("sub"), "chdir sub"))
		return;
	fd = DESCRIPTOR(player, open("../a", O_RDWR | O_CREAT, 0600), "open ../a");
	RESULT(player, write(fd, "from below", 10), "write");
	if (fd >= 0)
		RESULT(player, close(fd), "close");
	RESULT(player, access("b", F_OK), "access b");
	RESULT(player, chdir(".."), "chdir ..");
}
