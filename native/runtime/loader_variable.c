#include "loader_variable.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_calls.h"

#define VARIABLE "LD_PRELOAD="
#define SEPARATORS " :"
#define OURS "libgnomon_"

/* As the loader was told it; "" where it was not loaded so. */
static char own_path[PATH_MAX];
/* The beginning of our own file, up to its machine. */
static unsigned char own_head[offsetof(ElfW(Ehdr), e_version)];

static int read_head(const char *path, unsigned char head[sizeof(own_head)])
{
	struct stat status;
	ssize_t n;
	int fd;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) || !S_ISREG(status.st_mode))
		return -1;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	n = gn_read(fd, head, sizeof(own_head));
	syscall(SYS_close, fd);
	return n == sizeof(own_head) ? 0 : -1;
}

__attribute__((constructor)) static void look_up_own_path(void)
{
	Dl_info info;

	if (dladdr(own_head, &info) && info.dli_fname && info.dli_fname[0] == '/' &&
	    strlen(info.dli_fname) < sizeof(own_path) && !read_head(info.dli_fname, own_head))
		strcpy(own_path, info.dli_fname);
}

/* A program for another kind of machine has a loader of its own. */
static int is_of_other_machine(const char *program)
{
	unsigned char head[sizeof(own_head)];

	return program && strchr(program, '/') && !read_head(program, head) &&
	       !memcmp(head, ELFMAG, SELFMAG) &&
	       (head[EI_CLASS] != own_head[EI_CLASS] ||
		memcmp(&head[offsetof(ElfW(Ehdr), e_machine)],
		       &own_head[offsetof(ElfW(Ehdr), e_machine)], sizeof(ElfW(Half))));
}

/* All of them lie in folders of one installation, or of one user's cache. */
static int is_ours(const char *name, size_t n)
{
	const char *base = name + n;

	while (base > name && base[-1] != '/')
		base--;
	return !strncmp(base, OURS, strlen(OURS));
}

/* A library of Gnomon's in a list, and how long its name is with a separator; NULL: none. */
static const char *find_own(const char *list, size_t *length)
{
	for (const char *name = list; *name; name += *length) {
		const size_t n = strcspn(name, SEPARATORS);

		*length = n + !!name[n];
		if (is_ours(name, n))
			return name;
	}
	return NULL;
}

static const char *list_of(const char *entry)
{
	const size_t n = strlen(VARIABLE);

	return strncmp(entry, VARIABLE, n) ? NULL : entry + n;
}

size_t gn_loader_bytes(char *const environment[], const char *program)
{
	const int before = errno;
	size_t bytes = 0, n = 0, length;
	int is_out_of_reach;

	if (!own_path[0] || !environment)
		return 0;
	for (; environment[n]; n++) {
		const char *list = list_of(environment[n]);

		if (list && find_own(list, &length))
			bytes += strlen(environment[n]) + 1;
	}
	if (!bytes)
		return 0;
	/* As the real user, without capabilities that end with the execution (setpriv). Of
	 * set-user-ID programs the loader reads no such variable. */
	is_out_of_reach =
		syscall(SYS_faccessat, AT_FDCWD, own_path, R_OK) || is_of_other_machine(program);
	errno = before;
	return is_out_of_reach ? (n + 1) * sizeof(char *) + bytes : 0;
}

/* A list without the names of our libraries, behind what stands before it. */
static void copy_without_own(char *to, const char *list)
{
	const char *own;
	size_t length, n;

	while ((own = find_own(list, &length))) {
		memcpy(to, list, (size_t)(own - list));
		to += own - list;
		list = own + length;
	}
	n = strlen(list);
	memcpy(to, list, n + 1);
	/* Ours was the last of several. */
	if (!n && strchr(SEPARATORS, to[-1]))
		to[-1] = '\0';
}

char *const *gn_loader_environment(char *const environment[], void *bytes)
{
	char **copy = bytes, *text;
	size_t n = 0, kept = 0;

	while (environment[n])
		n++;
	text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *list = list_of(environment[i]);
		size_t length;

		if (!list || !find_own(list, &length)) {
			copy[kept++] = environment[i];
			continue;
		}
		memcpy(text, VARIABLE, strlen(VARIABLE));
		copy_without_own(text + strlen(VARIABLE), list);
		/* Without another one it was not set. */
		if (text[strlen(VARIABLE)])
			copy[kept++] = text;
		text += strlen(environment[i]) + 1;
	}
	copy[kept] = NULL;
	return copy;
}
