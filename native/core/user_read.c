/*
 * Reading a counter of the calling thread from user space.
 *
 * Source: the comment above struct perf_event_mmap_page in include/uapi/linux/perf_event.h, which
 * gives the sequence lock, the sign extension and the clock arithmetic used here.
 */
#include <gnomon/perf.h>

#if defined(__x86_64__)
#define GN_HAVE_USER_READ 1

static inline uint64_t read_counter(uint32_t index)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

static inline uint64_t read_cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)
#define GN_HAVE_USER_READ 1

#define CASE(n)                                                                                    \
	case n:                                                                                    \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value));                      \
		break

static inline uint64_t read_counter(uint32_t index)
{
	uint64_t value = 0;

	switch (index) {
		CASE(0);
		CASE(1);
		CASE(2);
		CASE(3);
		CASE(4);
		CASE(5);
		CASE(6);
		CASE(7);
		CASE(8);
		CASE(9);
		CASE(10);
		CASE(11);
		CASE(12);
		CASE(13);
		CASE(14);
		CASE(15);
		CASE(16);
		CASE(17);
		CASE(18);
		CASE(19);
		CASE(20);
		CASE(21);
		CASE(22);
		CASE(23);
		CASE(24);
		CASE(25);
		CASE(26);
		CASE(27);
		CASE(28);
		CASE(29);
		CASE(30);
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
	}
	return value;
}

static inline uint64_t read_cycles(void)
{
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#endif

#ifdef GN_HAVE_USER_READ

#define BARRIER() __asm__ volatile("" ::: "memory")

int gn_user_read(const struct perf_event_mmap_page *mapped, struct gn_count *out)
{
	const volatile struct perf_event_mmap_page *page = mapped;
	uint64_t count, enabled, running;
	uint32_t sequence;

	do {
		uint32_t index;

		sequence = page->lock;
		BARRIER();
		index = page->index;
		/* Index 0: a software event, or one that is not on the PMU at this moment. */
		if (!index || !page->cap_user_rdpmc || !page->cap_user_time)
			return 0;
		enabled = page->time_enabled;
		running = page->time_running;
		{
			uint64_t cycles = read_cycles();
			uint16_t shift = page->time_shift;
			uint32_t mult = page->time_mult;
			uint64_t whole, rest, delta;

			if (page->cap_user_time_short)
				cycles = page->time_cycles +
					 ((cycles - page->time_cycles) & page->time_mask);
			whole = cycles >> shift;
			rest = cycles & (((uint64_t)1 << shift) - 1);
			delta = page->time_offset + whole * mult + ((rest * mult) >> shift);
			enabled += delta;
			running += delta;
		}
		count = read_counter(index - 1);
		{
			const unsigned int unused = 64u - page->pmc_width;
			const int64_t extended = (int64_t)(count << unused) >> unused;

			count = (uint64_t)page->offset + (uint64_t)extended;
		}
		BARRIER();
	} while (page->lock != sequence);
	out->value = count;
	out->enabled = enabled;
	out->running = running;
	return 1;
}

#else

int gn_user_read(const struct perf_event_mmap_page *mapped, struct gn_count *out)
{
	(void)mapped;
	(void)out;
	return 0;
}

#endif
