/*
 * Overflow and profiles of event sets on the kernel's own events: PAPI's behaviours 13 to 18, what
 * is refused, and that the program around it goes on.
 */
#include "work.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PAGES 2000
#define THRESHOLD 50

/* Code whose bounds the linker knows, and that touches no page of a sanitizer's. */
#define REGION(name)                                                                               \
	__attribute__((noinline, section(#name), no_sanitize_address, no_sanitize_undefined))
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

static volatile char *new_pages(size_t n)
{
	volatile char *pages;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, n * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	CHECK(pages != MAP_FAILED);
	madvise((void *)pages, n * page_bytes, MADV_NOHUGEPAGE);
	return pages;
}

static void free_pages(volatile char *pages, size_t n)
{
	munmap((void *)pages, n * page_bytes);
}

static void touch_in(void (*touch)(volatile char *pages, size_t n), size_t n)
{
	volatile char *pages = new_pages(n);

	touch(pages, n);
	free_pages(pages, n);
}

/* In user mode, all that ticks of the timer may fall into without rights. */
static void burn_in_user_mode(uint64_t ms)
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

static void note(const struct gn_overflow *overflow, void *data)
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

static struct gn_overflow_info info_of(gn_set set, const char *event)
{
	struct gn_overflow_info info = {.size = sizeof(info)};

	OK(gn_set_overflow_info(set, event, &info));
	return info;
}

/* --- behaviours 13 to 16 ---------------------------------------------------------------------- */

static void test_overflows_are_the_total_over_the_threshold(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct gn_overflow_info info;

	for (int threshold = 1; threshold <= 1000; threshold *= 10) {
		struct seen seen = {0};
		int64_t count[2];

		OK(gn_set_overflow(set, "page-faults", threshold, 0, note, &seen));
		OK(gn_set_start(set));
		touch_in(touch_hot, PAGES);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= PAGES);
		CHECK_EQ(seen.calls, count[0] / threshold);
		CHECK_EQ(seen.weights, seen.calls * (uint64_t)threshold);
		CHECK_EQ(seen.set, set);
		CHECK_EQ(seen.tid, syscall(SYS_gettid));
		CHECK_EQ(seen.addresses, seen.calls);
		info = info_of(set, "page-faults");
		CHECK_EQ(info.overflows, seen.calls);
		CHECK_EQ(info.lost, 0);
		CHECK_EQ(info.threshold, threshold);
		CHECK_EQ(info.kind, GN_OVERFLOW_FAST);
	}
	end_set(set);
}

static void test_every_run_begins_with_a_whole_threshold(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 400, 0, note, &seen));
	for (int run = 0; run < 5; run++) {
		seen.calls = 0;
		OK(gn_set_start(set));
		touch_in(touch_hot, 700);
		OK(gn_set_stop(set, &count));
		CHECK_EQ(seen.calls, count / 400);
	}
	end_set(set);
}

static void test_a_timer_bounds_software_overflow(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct seen seen = {0};
	int64_t count[2];
	int64_t ticks;

	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	for (int i = 0; i < 20; i++) {
		touch_in(touch_hot, 100);
		burn_in_user_mode(5);
	}
	OK(gn_set_stop(set, count));
	ticks = count[1] / (int64_t)GN_OVERFLOW_TICK_NS;
	CHECK(count[0] >= 2000);
	/* Each tick finds that more than one page was touched, and says so once. */
	CHECK(seen.calls >= 1);
	CHECK((int64_t)seen.calls <= ticks + 1);
	CHECK_EQ(info_of(set, "page-faults").kind, GN_OVERFLOW_SLOW);
	CHECK_EQ(info_of(set, "page-faults").lost, -1);
	end_set(set);
}

static void test_the_event_that_overflowed_is_named(void)
{
	struct seen seen = {0};
	int64_t count[2];
	gn_set set;

	if (gn_event_available("context-switches")) {
		printf("  skipped: %s\n", gn_message());
		return;
	}
	set = set_of("context-switches", "page-faults");

	OK(gn_set_overflow(set, "page-faults", THRESHOLD, 0, note, &seen));
	OK(gn_set_overflow(set, "context-switches", 1, 0, note, &seen));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	for (int i = 0; i < 10; i++)
		usleep(1000);
	OK(gn_set_stop(set, count));
	CHECK(!strcmp(gn_set_name(set, 0), "context-switches"));
	CHECK_EQ(seen.of_event[0], count[0]);
	CHECK_EQ(seen.of_event[1], count[1] / THRESHOLD);
	/* Indices follow the set. */
	memset(&seen, 0, sizeof(seen));
	OK(gn_set_remove(set, "context-switches"));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(seen.of_event[0], count[0] / THRESHOLD);
	CHECK_EQ(seen.calls, seen.of_event[0]);
	end_set(set);
}

static void test_two_events_have_thresholds_of_their_own(void)
{
	gn_set set = set_of("page-faults", "minor-faults");
	struct seen few = {0}, many = {0};
	int64_t count[2];

	OK(gn_set_overflow(set, "page-faults", 500, 0, note, &few));
	OK(gn_set_overflow(set, "minor-faults", 7, 0, note, &many));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(few.calls, count[0] / 500);
	CHECK_EQ(many.calls, count[1] / 7);
	/* One ends, the other goes on. */
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	few.calls = many.calls = 0;
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(few.calls, 0);
	CHECK_EQ(many.calls, count[1] / 7);
	end_set(set);
}

/* --- behaviours 17 and 18 --------------------------------------------------------------------- */

static uint64_t sum_16(const uint16_t *buckets, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += buckets[i];
	return sum;
}

#define BUCKETS 1024

/* Room for a bucket of each address of a function. */
static size_t bytes_16(const char *start, const char *stop)
{
	CHECK(stop > start && stop - start <= BUCKETS);
	return (size_t)(stop - start) * sizeof(uint16_t);
}

static void test_a_profile_falls_into_the_hot_function(void)
{
	static uint16_t small[BUCKETS];
	static uint32_t middle[BUCKETS];
	static uint64_t large[BUCKETS];
	const struct {
		void *buckets;
		size_t size;
		int flags;
	} widths[] = {{small, sizeof(small), GN_PROFIL_BUCKET_16},
		      {middle, sizeof(middle), GN_PROFIL_BUCKET_32},
		      {large, sizeof(large), GN_PROFIL_BUCKET_64}};

	for (int w = 0; w < 3; w++) {
		gn_set set = set_of("page-faults", NULL);
		struct gn_overflow_info info;
		uint64_t sum = 0;
		int64_t count;

		OK(gn_set_profil(set, "page-faults", widths[w].buckets, widths[w].size,
				 (uintptr_t)__start_hot, GN_PROFIL_SCALE_MAX, 10, widths[w].flags));
		OK(gn_set_start(set));
		touch_in(touch_hot, PAGES);
		OK(gn_set_stop(set, &count));
		info = info_of(set, "page-faults");
		for (int i = 0; i < BUCKETS; i++)
			sum += w == 0 ? small[i] : w == 1 ? middle[i] : large[i];
		CHECK_EQ(info.overflows, count / 10);
		CHECK_EQ(sum + info.outside, info.overflows);
		CHECK(sum >= PAGES / 10 - 1);
		end_set(set);
	}
}

static void test_regions_do_not_bleed(void)
{
	static uint16_t hot[BUCKETS], warm[BUCKETS], rest[1];
	const struct gn_profil regions[] = {
		{rest, sizeof(rest), 0, 2},
		{warm, bytes_16(__start_warm, __stop_warm), (uintptr_t)__start_warm,
		 GN_PROFIL_SCALE_MAX},
		{hot, bytes_16(__start_hot, __stop_hot), (uintptr_t)__start_hot,
		 GN_PROFIL_SCALE_MAX},
	};
	gn_set set = set_of("page-faults", NULL);
	int64_t count;

	OK(gn_set_sprofil(set, "page-faults", regions, 3, 1, 0));
	OK(gn_set_start(set));
	touch_in(touch_hot, 900);
	touch_in(touch_warm, 300);
	touch_pages(100);
	OK(gn_set_stop(set, &count));
	/* Beside its pages a function may fault in its code. */
	CHECK(sum_16(hot, BUCKETS) >= 900 && sum_16(hot, BUCKETS) <= 905);
	CHECK(sum_16(warm, BUCKETS) >= 300 && sum_16(warm, BUCKETS) <= 305);
	CHECK_EQ(sum_16(hot, BUCKETS) + sum_16(warm, BUCKETS) + rest[0], count);
	CHECK_EQ(info_of(set, "page-faults").outside, 0);
	end_set(set);
}

static void test_several_profiles_in_one_run(void)
{
	static uint16_t first[BUCKETS], second[BUCKETS];
	gn_set set = set_of("page-faults", "minor-faults");
	int64_t count[2];

	OK(gn_set_profil(set, "page-faults", first, bytes_16(__start_hot, __stop_hot),
			 (uintptr_t)__start_hot, GN_PROFIL_SCALE_MAX, 3, 0));
	OK(gn_set_profil(set, "minor-faults", second, bytes_16(__start_warm, __stop_warm),
			 (uintptr_t)__start_warm, GN_PROFIL_SCALE_MAX, 5, GN_PROFIL_WEIGHTED));
	OK(gn_set_start(set));
	touch_in(touch_hot, 600);
	touch_in(touch_warm, 500);
	OK(gn_set_stop(set, count));
	CHECK(llabs((int64_t)sum_16(first, BUCKETS) - 200) <= 1);
	/* Weighted: in events, not in overflows. */
	CHECK(llabs((int64_t)sum_16(second, BUCKETS) - 500) <= 5);
	end_set(set);
}

static void test_buckets_stay_at_their_largest_number(void)
{
	static uint16_t bucket[2];
	gn_set set = set_of("page-faults", NULL);
	int64_t count;

	bucket[0] = UINT16_MAX - 20;
	OK(gn_set_profil(set, "page-faults", bucket, sizeof(bucket[0]), 0, 2, 1, 0));
	OK(gn_set_start(set));
	touch_in(touch_hot, 100);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(bucket[0], UINT16_MAX);
	CHECK_EQ(bucket[1], 0);
	end_set(set);
}

static void test_addresses_of_data(void)
{
	static uint32_t pages_of[PAGES];
	volatile char *pages = new_pages(PAGES);
	struct seen seen = {.from = (uintptr_t)pages,
			    .until = (uintptr_t)pages + PAGES * page_bytes};
	gn_set set = set_of("page-faults", NULL);
	uint64_t sum = 0;
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_DATA, note, &seen));
	OK(gn_set_start(set));
	touch_hot(pages, PAGES);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls, count);
	CHECK_EQ(seen.within, PAGES);
	CHECK(seen.in_hot >= PAGES && seen.in_hot <= PAGES + 5);
	free_pages(pages, PAGES);
	/* A bucket for each page. */
	pages = new_pages(PAGES);
	OK(gn_set_profil(set, "page-faults", pages_of, sizeof(pages_of), (uintptr_t)pages,
			 (uint32_t)(GN_PROFIL_SCALE_MAX / page_bytes), 1,
			 GN_OVERFLOW_DATA | GN_PROFIL_BUCKET_32));
	OK(gn_set_start(set));
	touch_hot(pages, PAGES);
	OK(gn_set_stop(set, &count));
	for (size_t i = 0; i < PAGES; i++) {
		CHECK(pages_of[i] == 1);
		sum += pages_of[i];
	}
	CHECK_EQ(info_of(set, "page-faults").outside, (uint64_t)count - sum);
	free_pages(pages, PAGES);
	end_set(set);
}

static void test_random_thresholds(void)
{
	static uint64_t bucket[1];
	gn_set set = set_of("page-faults", NULL);
	struct gn_estimate estimate;
	struct seen seen = {0};
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 20, GN_OVERFLOW_RANDOM, note, &seen));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, &count));
	/* Of 100 thresholds between 10 and 30 the mean is off by more than 3 once in 10^7 times. */
	CHECK(seen.calls > PAGES / 23 && seen.calls < PAGES / 17 + 2);
	CHECK(seen.weights <= (uint64_t)count);
	CHECK(seen.weights + 31 >= (uint64_t)count);
	CHECK(seen.odd_weights > seen.calls / 4);
	FAILS(gn_set_estimate(set, "page-faults", &estimate), GN_EINVAL, "random");
	OK(gn_set_profil(set, "page-faults", bucket, sizeof(bucket), 0, 2, 20,
			 GN_OVERFLOW_RANDOM | GN_PROFIL_WEIGHTED | GN_PROFIL_BUCKET_64));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, &count));
	CHECK(bucket[0] <= (uint64_t)count && bucket[0] + 31 >= (uint64_t)count);
	end_set(set);
}

/* --- estimates -------------------------------------------------------------------------------- */

static void test_totals_are_estimated_within_their_bound(void)
{
	static uint16_t hot[BUCKETS];
	gn_set set = set_of("page-faults", NULL);
	struct gn_estimate total, part;

	OK(gn_set_profil(set, "page-faults", hot, bytes_16(__start_hot, __stop_hot),
			 (uintptr_t)__start_hot, GN_PROFIL_SCALE_MAX, 10, 0));
	FAILS(gn_set_estimate(set, "page-faults", &total), GN_ENOTRUN, "never started");
	for (size_t pages = 1; pages < 1500; pages += 137) {
		int64_t count;

		memset(hot, 0, sizeof(hot));
		OK(gn_set_start(set));
		FAILS(gn_set_estimate(set, "page-faults", &total), GN_EISRUN, "running");
		touch_in(touch_hot, pages);
		touch_in(touch_warm, 1500 - pages);
		OK(gn_set_stop(set, &count));
		OK(gn_set_estimate(set, "page-faults", &total));
		CHECK(total.value - total.error <= (double)count);
		CHECK(total.value + total.error >= (double)count);
		CHECK_EQ(total.samples, count / 10);
		CHECK(total.weight == 10 && total.error == 5);
		OK(gn_estimate_part(&total, sum_16(hot, BUCKETS), &part));
		CHECK(part.value - part.error <= (double)pages);
		CHECK(part.value + part.error >= (double)pages);
	}
	FAILS(gn_estimate_part(&total, total.samples + 1, &part), GN_EINVAL, "more than all");
	end_set(set);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void load_sum(void)
{
	static const char preset[] = "PRESET,T_SUM,DERIVED_ADD,page-faults,minor-faults\n";
	char path[] = "/tmp/gnomon-presets-XXXXXX";
	const int fd = mkstemp(path);
	int loaded;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, preset, sizeof(preset) - 1), sizeof(preset) - 1);
	close(fd);
	loaded = gn_presets_load(path);
	unlink(path);
	OK(loaded);
}

static void test_what_is_refused(void)
{
	static uint16_t buckets[4];
	struct gn_overflow_info info = {.size = sizeof(info)};
	struct gn_profil region = {buckets, sizeof(buckets), 0, 2};
	struct seen seen = {0};
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set, other;

	load_sum();
	set = set_of("page-faults", "task-clock");
	FAILS(gn_set_overflow(set, "cpu-clock", 1, 0, note, NULL), GN_ENOEVNT, "not in event set");
	FAILS(gn_set_overflow(set, "no-such-event", 1, 0, note, NULL), GN_ENOEVNT, "no-such-event");
	FAILS(gn_set_overflow(set, NULL, 1, 0, note, NULL), GN_EINVAL, "no name");
	FAILS(gn_set_overflow(set, "page-faults", -1, 0, note, NULL), GN_EINVAL, "threshold of -1");
	FAILS(gn_set_overflow(set, "page-faults", 1, 0, NULL, NULL), GN_EINVAL, "no handler");
	FAILS(gn_set_overflow(set, "page-faults", 1, 0x1000, note, NULL), GN_EINVAL, "0x1000");
	FAILS(gn_set_overflow(set, "page-faults", 1, GN_PROFIL_WEIGHTED, note, NULL), GN_EINVAL,
	      "0x2");
	FAILS(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE | GN_OVERFLOW_DATA, note,
			      NULL),
	      GN_EINVAL, "sees no address");
	FAILS(gn_set_overflow(set, "page-faults:pppp", 1, 0, note, NULL), GN_EINVAL, "three");
	FAILS(gn_set_overflow_info(set, "page-faults", &info), GN_ENOEVNT, "nothing waits");
	info.size = 4;
	FAILS(gn_set_overflow_info(set, "page-faults", &info), GN_EINVAL, "size");
	FAILS(gn_set_overflow(4711, "page-faults", 1, 0, note, NULL), GN_ENOEVST, "4711");
	FAILS(gn_set_sprofil(set, "page-faults", &region, 0, 1, 0), GN_EINVAL, "0 regions");
	FAILS(gn_set_sprofil(set, "page-faults", NULL, 1, 1, 0), GN_EINVAL, "regions");
	FAILS(gn_set_profil(set, "page-faults", NULL, 8, 0, 2, 1, 0), GN_EINVAL, "no room");
	FAILS(gn_set_profil(set, "page-faults", buckets, 1, 0, 2, 1, 0), GN_EINVAL, "no room");
	FAILS(gn_set_profil(set, "page-faults", (char *)buckets + 1, 4, 0, 2, 1, 0), GN_EINVAL,
	      "align");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, 1, 1, 0), GN_EINVAL, "scale of 1");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, GN_PROFIL_SCALE_MAX + 1, 1, 0),
	      GN_EINVAL, "scale of");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, 2, 1,
			    GN_PROFIL_BUCKET_16 | GN_PROFIL_BUCKET_32),
	      GN_EINVAL, "several sizes");
	/* Some with a timer and some without. */
	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	FAILS(gn_set_overflow(set, "task-clock", 1000000, GN_OVERFLOW_SOFTWARE, note, NULL),
	      GN_ECNFLCT, "page-faults");
	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	/* Of several counts. */
	OK(gn_set_add(set, "T_SUM"));
	FAILS(gn_set_overflow(set, "T_SUM", 1, 0, note, NULL), GN_EINVAL, "derived");
	OK(gn_set_overflow(set, "T_SUM", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	FAILS(gn_set_overflow(set, "T_SUM", 0, 0, NULL, NULL), GN_EISRUN, "running");
	FAILS(gn_set_profil(set, "T_SUM", buckets, 8, 0, 2, 1, GN_OVERFLOW_SOFTWARE), GN_EISRUN,
	      "running");
	touch_in(touch_hot, 100);
	burn_in_user_mode(100);
	OK(gn_set_stop(set, NULL));
	CHECK(seen.of_event[2] >= 1);
	/* Where a handler cannot run, and what takes turns. */
	FAILS(gn_set_multiplex(set, 0), GN_EINVAL, "overflow");
	FAILS(gn_set_attach(set, getppid(), -1), GN_EINVAL, "overflow");
	end_set(set);
	options.multiplex = 1;
	OK(gn_set_create(&other, &options));
	OK(gn_set_add(other, "page-faults"));
	FAILS(gn_set_overflow(other, "page-faults", 1, 0, note, NULL), GN_EINVAL, "turns");
	end_set(other);
	options.multiplex = 0;
	options.inherit = 1;
	OK(gn_set_create(&other, &options));
	OK(gn_set_add(other, "page-faults"));
	FAILS(gn_set_overflow(other, "page-faults", 1, 0, note, NULL), GN_ENOSUPP, "thread");
	end_set(other);
}

static void test_components_say_how_they_overflow(void)
{
	int kernel, cpu, tsc;

	OK(gn_component_index("kernel", &kernel));
	OK(gn_component_index("cpu", &cpu));
	OK(gn_component_index("tsc", &tsc));
	CHECK_EQ(gn_component_overflow(kernel), GN_OVERFLOW_FAST);
	CHECK(gn_component_overflow(tsc) != GN_OVERFLOW_FAST);
	CHECK_EQ(gn_component_overflow(cpu) == GN_OVERFLOW_IMPOSSIBLE,
		 gn_event_available("instructions") != GN_OK);
	FAILS(gn_component_overflow(17), GN_ENOCMP, "17");
}

/* --- the program around it -------------------------------------------------------------------- */

static void test_nothing_stays_open(void)
{
	static uint16_t buckets[4];
	struct seen seen = {0};
	gn_set set = set_of("page-faults", "task-clock");
	int files = 0, maps = 0;
	FILE *file;

	for (int round = 0; round < 3; round++) {
		OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_DATA, note, &seen));
		OK(gn_set_profil(set, "task-clock", buckets, sizeof(buckets), 0, 2, 1000000, 0));
		OK(gn_set_start(set));
		OK(gn_set_stop(set, NULL));
		OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
		OK(gn_set_profil(set, "task-clock", NULL, 0, 0, 0, 0, 0));
		OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_SOFTWARE, note, &seen));
		OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
		if (!round)
			files = open_descriptors();
		CHECK_EQ(open_descriptors(), files);
	}
	OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_DATA, note, &seen));
	end_set(set);
	CHECK_EQ(open_descriptors(), files - 2);
	file = fopen("/proc/self/maps", "r");
	CHECK(file);
	for (char line[512]; fgets(line, sizeof(line), file);)
		maps += strstr(line, "perf_event") != NULL;
	fclose(file);
	CHECK_EQ(maps, 0);
}

static volatile int own_calls;

static void own_handler(int number)
{
	(void)number;
	own_calls++;
}

static int handled_signals(void)
{
	struct sigaction action;
	int n = 0;

	for (int number = 1; number <= SIGRTMAX; number++)
		n += !sigaction(number, NULL, &action) && action.sa_handler != SIG_DFL;
	return n;
}

static void test_no_signal_is_taken_before_the_first_overflow(void)
{
	struct seen seen = {0};
	const int before = handled_signals();
	gn_set set = set_of("page-faults", NULL);
	int kernel;

	OK(gn_set_start(set));
	OK(gn_set_stop(set, NULL));
	OK(gn_component_index("kernel", &kernel));
	CHECK_EQ(gn_component_overflow(kernel), GN_OVERFLOW_FAST);
	FAILS(gn_set_overflow(set, "page-faults", -1, 0, note, &seen), GN_EINVAL, "threshold");
	CHECK_EQ(handled_signals(), before);
	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	/* One of its own, and SIGIO. */
	CHECK_EQ(handled_signals(), before + 2);
	end_set(set);
}

/* A program that takes our signal later has it, and its overflows too. */
static void test_handlers_of_the_program_are_called(void)
{
	struct sigaction action = {.sa_handler = own_handler};
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	int number;
	int64_t count;

	/* One that is in use already is not taken. */
	CHECK_EQ(sigaction(SIGRTMAX, &action, NULL), 0);
	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	number = info_of(set, "page-faults").signal;
	CHECK(number < SIGRTMAX && number >= SIGRTMIN);
	raise(SIGRTMAX);
	CHECK_EQ(own_calls, 1);
	CHECK_EQ(sigaction(number, &action, NULL), 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 200);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls, count / 10);
	CHECK_EQ(own_calls, 1);
	raise(number);
	CHECK_EQ(own_calls, 2);
	end_set(set);
	/* A signal of nobody ends nothing. */
	action.sa_handler = SIG_DFL;
	raise(number);
}

static void test_blocked_signals_are_counted_as_lost(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	sigset_t all, before;
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(info_of(set, "page-faults").lost, count / 10);
	/* They come when the set has stopped: nobody is told. */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	CHECK_EQ(seen.calls, 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls, count / 10);
	end_set(set);
}

static void test_a_full_queue_of_signals_ends_nothing(void)
{
	gn_set set = set_of("page-faults", NULL);
	const struct rlimit none = {0, 0};
	struct gn_estimate estimate;
	struct seen seen = {0};
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls + (uint64_t)info_of(set, "page-faults").lost, count / 10);
	OK(gn_set_estimate(set, "page-faults", &estimate));
	CHECK(estimate.value + estimate.error >= (double)count);
	end_set(set);
}

static void *use_a_set(void *argument)
{
	struct seen *seen = argument;
	gn_set set = set_of("page-faults", NULL);
	const pid_t tid = (pid_t)syscall(SYS_gettid);

	for (int run = 0; run < 20; run++) {
		int64_t count;

		seen->calls = 0;
		OK(gn_set_overflow(set, "page-faults", 7, 0, note, seen));
		OK(gn_set_start(set));
		touch_in(touch_hot, 100);
		OK(gn_set_stop(set, &count));
		CHECK_EQ(seen->calls, count / 7);
		CHECK_EQ(seen->tid, tid);
	}
	end_set(set);
	return NULL;
}

static void test_threads_have_overflows_of_their_own(void)
{
	struct seen seen[4] = {{0}};
	pthread_t thread[4];

	for (int t = 0; t < 4; t++)
		CHECK_EQ(pthread_create(&thread[t], NULL, use_a_set, &seen[t]), 0);
	for (int t = 0; t < 4; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
}

static void *end_overflow(void *argument)
{
	const gn_set set = *(const gn_set *)argument;

	OK(gn_set_stop(set, NULL));
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	return NULL;
}

static void test_another_thread_ends_it(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	pthread_t thread;
	uint64_t calls;

	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	OK(gn_set_start(set));
	CHECK_EQ(pthread_create(&thread, NULL, end_overflow, &set), 0);
	while (gn_set_state(set) & GN_STATE_RUNNING)
		touch_in(touch_hot, 10);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	calls = seen.calls;
	touch_in(touch_hot, 100);
	CHECK_EQ(seen.calls, calls);
	end_set(set);
}

static void test_a_forked_child_is_left_alone(void)
{
	static uint16_t buckets[2];
	gn_set set = set_of("page-faults", NULL), own;
	struct seen seen = {0};
	int64_t count;
	int status;
	pid_t child;

	OK(gn_set_profil(set, "page-faults", buckets, sizeof(buckets), 0, 2, 1, 0));
	OK(gn_set_start(set));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		touch_in(touch_hot, 100);
		OK(gn_set_destroy(&set));
		own = set_of("page-faults", NULL);
		OK(gn_set_overflow(own, "page-faults", 10, 0, note, &seen));
		OK(gn_set_start(own));
		touch_in(touch_hot, 100);
		OK(gn_set_stop(own, &count));
		CHECK_EQ(seen.calls, count / 10);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(buckets[0], count);
	end_set(set);
}

static void test_reading_goes_on(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct seen seen = {0};
	int64_t count[2], before = 0, total[2] = {0, 0};

	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_overflow(set, "task-clock", 1000000, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	for (int i = 0; i < 200; i++) {
		struct gn_value value[2];

		touch_in(touch_hot, 10);
		burn_ms(1);
		OK(gn_set_values(set, value));
		CHECK(value[0].raw >= before + 10);
		before = value[0].raw;
	}
	OK(gn_set_accumulate(set, total));
	CHECK(total[0] >= 2000);
	OK(gn_set_read(set, count));
	CHECK(count[0] < 100 + slack());
	OK(gn_set_stop(set, NULL));
	end_set(set);
}

/*
 * Valgrind runs a translation, at other addresses, holds signals back until a block of it ends, and
 * has SIGRTMAX for itself.
 */
static int is_emulated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

int main(void)
{
	RUN(test_overflows_are_the_total_over_the_threshold);
	RUN(test_every_run_begins_with_a_whole_threshold);
	RUN(test_a_timer_bounds_software_overflow);
	RUN(test_the_event_that_overflowed_is_named);
	RUN(test_two_events_have_thresholds_of_their_own);
	RUN(test_buckets_stay_at_their_largest_number);
	RUN(test_what_is_refused);
	RUN(test_components_say_how_they_overflow);
	RUN(test_nothing_stays_open);
	RUN(test_no_signal_is_taken_before_the_first_overflow);
	RUN(test_blocked_signals_are_counted_as_lost);
	RUN(test_a_full_queue_of_signals_ends_nothing);
	RUN(test_threads_have_overflows_of_their_own);
	RUN(test_another_thread_ends_it);
	RUN(test_a_forked_child_is_left_alone);
	RUN(test_reading_goes_on);
	if (!is_emulated()) {
		RUN(test_a_profile_falls_into_the_hot_function);
		RUN(test_regions_do_not_bleed);
		RUN(test_several_profiles_in_one_run);
		RUN(test_addresses_of_data);
		RUN(test_random_thresholds);
		RUN(test_totals_are_estimated_within_their_bound);
		RUN(test_handlers_of_the_program_are_called);
	}
	return check_result;
}
