/* The arithmetic of profiles, against the same in 128 bits, bucket by bucket. */
#include "check.h"
#include "random.h"

#include <string.h>

#include "profil.h"

#define REGIONS 5
#define BUCKETS 300

static uint64_t expected[REGIONS][BUCKETS];
static uint64_t outside;

static int has(const struct gn_profil *region, uint64_t address, size_t buckets, uint64_t *bucket)
{
	unsigned __int128 scaled;

	if (address < region->offset)
		return 0;
	scaled = ((unsigned __int128)(address - region->offset) * region->scale) >> 17;
	if (!region->offset && region->scale == 2)
		scaled = 0;
	*bucket = (uint64_t)scaled;
	return scaled < buckets;
}

/* Of the regions that have the address, the one that begins last; none of equal offsets here. */
static void expect(const struct gn_profil *region, uint64_t address, const size_t *buckets)
{
	uint64_t bucket, best_bucket = 0;
	int best = -1;

	for (int r = 0; r < REGIONS; r++) {
		if (has(&region[r], address, buckets[r], &bucket) &&
		    (best < 0 || region[r].offset > region[best].offset)) {
			best = r;
			best_bucket = bucket;
		}
	}
	if (best < 0)
		outside++;
	else
		expected[best][best_bucket]++;
}

/* Of any length up to 64 bits. */
static uint64_t wide_random(void)
{
	const uint64_t high = random_below(UINT32_MAX), low = random_below(UINT32_MAX);

	return (high << 32 | low) >> random_below(64);
}

static void test_random_regions(void)
{
	static uint32_t counted[REGIONS][BUCKETS];

	for (unsigned int round = 0; round < check_work(2000); round++) {
		struct gn_profil region[REGIONS];
		struct gn_histogram histogram;
		size_t buckets[REGIONS];

		memset(counted, 0, sizeof(counted));
		memset(expected, 0, sizeof(expected));
		outside = 0;
		for (int r = 0; r < REGIONS; r++) {
			buckets[r] = 1 + random_below(BUCKETS);
			region[r] = (struct gn_profil){
				.buckets = counted[r],
				.size = buckets[r] * sizeof(counted[r][0]),
				.offset = r ? wide_random() / REGIONS * REGIONS + (uint64_t)r : 0,
				.scale = 2 + random_below(0x1ffff),
			};
			if (!r && random_below(2))
				region[r].scale = 2;
		}
		CHECK_EQ(gn_histogram_begin(&histogram, region, REGIONS, GN_PROFIL_BUCKET_32),
			 GN_OK);
		for (int i = 0; i < 200; i++) {
			const uint64_t near = region[random_below(REGIONS)].offset;
			const uint64_t address = near + wide_random() % 4096 - 100;

			expect(region, address, buckets);
			gn_histogram_add(&histogram, address, 1);
		}
		CHECK_EQ(histogram.outside, outside);
		for (int r = 0; r < REGIONS; r++)
			for (int b = 0; b < BUCKETS; b++)
				CHECK_EQ(counted[r][b], expected[r][b]);
		gn_histogram_end(&histogram);
	}
}

static void test_large_increments_stay_at_the_largest_number(void)
{
	static const int flags[] = {GN_PROFIL_BUCKET_16, GN_PROFIL_BUCKET_32, GN_PROFIL_BUCKET_64};
	static const uint64_t largest[] = {UINT16_MAX, UINT32_MAX, UINT64_MAX};

	for (int w = 0; w < 3; w++) {
		uint64_t bucket = 0;
		struct gn_profil region = {&bucket, sizeof(bucket), 0, 2};
		struct gn_histogram histogram;

		CHECK_EQ(gn_histogram_begin(&histogram, &region, 1, flags[w]), GN_OK);
		gn_histogram_add(&histogram, 1, largest[w] - 1);
		CHECK(bucket == largest[w] - 1);
		gn_histogram_add(&histogram, 1, 1);
		CHECK(bucket == largest[w]);
		gn_histogram_add(&histogram, 1, 1);
		gn_histogram_add(&histogram, 1, UINT64_MAX);
		CHECK(bucket == largest[w]);
		gn_histogram_end(&histogram);
	}
}

int main(void)
{
	RUN(test_random_regions);
	RUN(test_large_increments_stay_at_the_largest_number);
	return check_result;
}
