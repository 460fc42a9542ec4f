/* Page faults in functions whose bounds are known, and what a handler saw of their overflows. */
#ifndef GNOMON_TESTS_OVERFLOWS_H
#define GNOMON_TESTS_OVERFLOWS_H

#include "work.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 2000
#define THRESHOLD 50

/* Code whose bounds the linker knows, and that touches no page of a sanitizer's. */
#define REGION(name)                                                                               \
	__attribute__((noinline, unused, section(#name), no_sanitize_address,                      \
		       no_sanitize_undefined))
extern const char __start_hot[], __stop_hot[], __start_warm[], __stop_warm[];

/* A page fault for each page, at an instruction of this function. */
#define TOUCH(pages, n)                                                                            \
	for (size_t touch_i = 0; touch_i < (n); touch_i++)                                         \
	(pages)[touch_i * page_bytes] = 1

static size_t page_bytes;

REGION(hot) static void touch_hot(volatile char *pages, size_t n)
{
	TOUCH(pages, n);
}

REGION(warm) static void touch_warm(volatile char *pages, size_t n)
{
	TOUCH(pages, n);
}

static inline volatile char *new_pages(size_t n)
{
	volatile char *pages;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, n * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	CHECK(pages != MAP_FAILED);
	madvise((void *)pages, n * page_bytes, MADV_NOHUGEPAGE);
	return pages;
}

static inline void free_pages(volatile char *pages, size_t n)
{
	munmap((void *)pages, n * page_bytes);
}

static inline void touch_in(void (*touch)(volatile char *pages, size_t n), size_t n)
{
	volatile char *pages = new_pages(n);

	touch(pages, n);
	free_pages(pages, n);
}

/* In user mode, all that ticks of the timer may fall into without rights. */
static inline void burn_in_user_mode(uint64_t ms)
{
	const uint64_t end = cpu_time_ns() + ms * 1000000u;

	while (cpu_time_ns() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

/* What a handler saw. */
struct seen {
	uint64_t calls;
	uint64_t of_event[4];
	uint64_t weights, odd_weights;
	uint64_t addresses, in_hot, data_addresses, within;
	uintptr_t from, until;
	gn_set set;
	pid_t tid;
};

static inline void note(const struct gn_overflow *overflow, void *data)
{
	struct seen *seen = data;

	seen->calls++;
	seen->of_event[overflow->event & 3]++;
	seen->weights += overflow->weight;
	seen->odd_weights += overflow->weight % 2;
	seen->addresses += overflow->address != 0;
	seen->in_hot += overflow->address >= (uintptr_t)__start_hot &&
			overflow->address < (uintptr_t)__stop_hot;
	seen->data_addresses += overflow->data_address != 0;
	seen->within +=
		overflow->data_address >= seen->from && overflow->data_address < seen->until;
	seen->set = overflow->set;
	seen->tid = (pid_t)syscall(SYS_gettid);
}

static inline struct gn_overflow_info info_of(gn_set set, const char *event)
{
	struct gn_overflow_info info = {.size = sizeof(info)};

	OK(gn_set_overflow_info(set, event, &info));
	return info;
}

/*
 * Valgrind runs a translation, at other addresses, holds signals back until a block of it ends, and
 * has SIGRTMAX for itself.
 */
static inline int is_emulated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

#endif
