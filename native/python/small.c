/*
 * A child that is small before it executes its program.
 *
 * The kernel keeps the peak of a process over execve (ru_maxrss): a fork of Python would give every
 * program a peak of 14 MiB. A smaller program cannot be executed in between, as that is what turns
 * the counters on. So the child gives back what it will never look at again, which is nearly all,
 * and has its peak begin anew.
 *
 * Source: proc(5), /proc/PID/clear_refs, value 5; kernel: fs/exec.c, exec_mmap().
 */
#include "small.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	KEPT_MAX = 64,
	LINE_BYTES = 4096 + 128,
	/* More than what the C library has of a thread, on either side of where it is found. */
	THREAD_BYTES = 1 << 13,
	/* More than the frames of who calls this, and of what is called from there on. */
	STACK_BYTES = 1 << 15,
};

struct range {
	uintptr_t begin, end;
};

/* What stays, in no order. */
struct kept {
	struct range range[KEPT_MAX];
	int n;
};

static void keep(struct kept *kept, uintptr_t begin, uintptr_t end)
{
	if (kept->n < KEPT_MAX)
		kept->range[kept->n++] = (struct range){begin, end};
}

/*
 * Keep the libraries whose functions the child calls: this one, the C library, the loader, and what
 * had recv() and its like before glibc 2.34, libpthread.
 */
static int keep_library(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const uintptr_t code[] = {(uintptr_t)small_prepare, (uintptr_t)execvp, (uintptr_t)recv,
				  (uintptr_t)getauxval(AT_BASE)};
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct kept *kept = data;
	int is_needed = 0;

	(void)bytes;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < info->dlpi_phnum; i++) {
			const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
			const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
			const uintptr_t end = begin + segment->p_memsz;

			if (segment->p_type != PT_LOAD)
				continue;
			for (size_t at = 0; at < sizeof(code) / sizeof(*code); at++)
				is_needed |= code[at] >= begin && code[at] < end;
			if (pass == 1 && is_needed)
				keep(kept, begin / page * page, (end + page - 1) / page * page);
		}
	}
	return 0;
}

/* Add to what is given back; neighbours are one, so that there is room for those of large
 * processes. */
static void give_back(struct small *small, uintptr_t begin, uintptr_t end)
{
	const int last = small->n - 1;

	if (last >= 0 && (uintptr_t)small->begin[last] + small->bytes[last] == begin) {
		small->bytes[last] += end - begin;
	} else if (small->n < SMALL_RANGES) {
		small->begin[small->n] = (void *)begin;
		small->bytes[small->n++] = end - begin;
	}
}

/* Add what is in a mapping and not kept. */
static void add(struct small *small, const struct kept *kept, uintptr_t begin, uintptr_t end)
{
	while (begin < end) {
		uintptr_t next = end, after = end;

		for (int i = 0; i < kept->n; i++) {
			const struct range *range = &kept->range[i];

			if (range->begin < next && range->end > begin) {
				next = range->begin > begin ? range->begin : begin;
				after = range->end;
			}
		}
		if (next > begin)
			give_back(small, begin, next);
		begin = after;
	}
}

void small_prepare(struct small *small, const void *words, size_t bytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t own = (uintptr_t)&errno / page * page;
	const uintptr_t thread = (uintptr_t)pthread_self() / page * page;
	struct kept kept = {.n = 0};
	char line[LINE_BYTES];
	FILE *maps;

	small->n = 0;
	/* Whoever wraps the C library's functions has state of its own, which they may ask for. */
	if (getenv("LD_PRELOAD") || getenv("LD_AUDIT") || !getauxval(AT_BASE))
		return;
	dl_iterate_phdr(keep_library, &kept);
	keep(&kept, own - THREAD_BYTES, own + THREAD_BYTES);
	keep(&kept, thread - THREAD_BYTES, thread + THREAD_BYTES);
	keep(&kept, (uintptr_t)words, (uintptr_t)words + bytes);
	/* `small` is in the caller's frame. Above it are those of Python. */
	keep(&kept, (uintptr_t)&kept / page * page - STACK_BYTES,
	     (uintptr_t)(small + 1) / page * page + STACK_BYTES);
	maps = fopen("/proc/self/maps", "re");
	if (!maps || kept.n == KEPT_MAX) {
		if (maps)
			fclose(maps);
		return;
	}
	while (fgets(line, sizeof(line), maps)) {
		struct range mapped;
		char flags[5];
		int name = 0;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n", &mapped.begin,
			   &mapped.end, flags, &name) != 3 ||
		    flags[3] != 'p')
			continue;
		/* What the kernel has there. */
		if (name && line[name] == '[' && strncmp(line + name, "[heap]", 6) != 0 &&
		    strncmp(line + name, "[stack]", 7) != 0)
			continue;
		add(small, &kept, mapped.begin, mapped.end);
	}
	fclose(maps);
}

void small_become(const struct small *small)
{
	int file;

	if (!small->n)
		return;
	for (int i = 0; i < small->n; i++)
		madvise(small->begin[i], small->bytes[i], MADV_DONTNEED);
	/* Without it the peak is that of the fork, and is told so. */
	file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return;
	if (write(file, "5", 1) < 0)
		errno = 0;
	close(file);
}
