/*
 * Reading memory that may not be there, in a signal handler and fast: a page is read only after the
 * kernel has read it. Nothing of it is trusted, as a sample may come between any two instructions.
 */
#ifndef GNOMON_MEMORY_PROBE_H
#define GNOMON_MEMORY_PROBE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GN_PROBE_PAGES 64u /* a power of two */
#define GN_PROBE_PAGE_BITS 12

/* The pages that could be read a moment ago; zero at first. */
struct gn_probe {
	uintptr_t page[GN_PROBE_PAGES];
};

/*
 * rt_sigprocmask(2) copies the set before it looks at `how`, which is none here: EFAULT where the
 * address cannot be read, else EINVAL.
 */
static inline int gn_probe_word(uintptr_t address)
{
	const int before = errno;
	int is_readable;

	syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8);
	is_readable = errno == EINVAL;
	errno = before;
	return is_readable;
}

static inline int gn_probe_page(struct gn_probe *probe, uintptr_t page)
{
	uintptr_t *last = &probe->page[page & (GN_PROBE_PAGES - 1)];

	/* What is not filled in yet is zero, and no page is there. */
	if (!page)
		return 0;
	if (*last == page)
		return 1;
	if (!gn_probe_word(page << GN_PROBE_PAGE_BITS))
		return 0;
	*last = page;
	return 1;
}

/* Whether so many bytes can be read, at most a page. */
static inline int gn_probe(struct gn_probe *probe, uintptr_t address, size_t bytes)
{
	const uintptr_t first = address >> GN_PROBE_PAGE_BITS;
	const uintptr_t last = (address + bytes - 1) >> GN_PROBE_PAGE_BITS;

	return last >= first && gn_probe_page(probe, first) &&
	       (last == first || gn_probe_page(probe, last));
}

static inline uintptr_t gn_word_at(uintptr_t address)
{
	uintptr_t word;

	memcpy(&word, (const void *)address, sizeof(word));
	return word;
}

static inline int32_t gn_int_at(uintptr_t address)
{
	int32_t number;

	memcpy(&number, (const void *)address, sizeof(number));
	return number;
}

static inline uint8_t gn_byte_at(uintptr_t address)
{
	return *(const volatile uint8_t *)address;
}

#endif
