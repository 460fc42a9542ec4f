/* Profiles of event sets, PAPI's behaviours 17 and 18, and totals from their samples. */
#include "overflows.h"

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
	/* A function may fault in its code, too, and pages that the kernel has just moved. */
	CHECK(sum_16(hot, BUCKETS) >= 900 && sum_16(hot, BUCKETS) <= 920);
	CHECK(sum_16(warm, BUCKETS) >= 300 && sum_16(warm, BUCKETS) <= 320);
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
	CHECK(sum_16(first, BUCKETS) >= 199 && sum_16(first, BUCKETS) <= 207);
	/* Weighted: in events, not in overflows. */
	CHECK(sum_16(second, BUCKETS) >= 495 && sum_16(second, BUCKETS) <= 520);
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
	CHECK(seen.within >= PAGES && seen.within <= PAGES + 20);
	CHECK(seen.in_hot >= PAGES && seen.in_hot <= PAGES + 20);
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
		CHECK(pages_of[i] >= 1);
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

int main(void)
{
	if (is_emulated())
		return 0;
	RUN(test_buckets_stay_at_their_largest_number);
	RUN(test_a_profile_falls_into_the_hot_function);
	RUN(test_regions_do_not_bleed);
	RUN(test_several_profiles_in_one_run);
	RUN(test_addresses_of_data);
	RUN(test_random_thresholds);
	RUN(test_totals_are_estimated_within_their_bound);
	return check_result;
}
