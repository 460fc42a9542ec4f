/* Source of the arithmetic: profil(3), and PAPI_sprofil(3) for several regions. */
#include "profil.h"

#include <stdlib.h>
#include <string.h>

#include "error_text.h"

#define SCALE_MIN 2u
#define SCALE_BITS 17 /* a scale of 1 << 17 has one bucket for each address */

static int compare(const void *first, const void *second)
{
	const struct gn_profil *left = first, *right = second;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

static int check(const struct gn_profil *region, int i, int width)
{
	if (!region->buckets || region->size < (size_t)width)
		return gn_fail(GN_EINVAL,
			       "profile region %d: no room for a bucket of %d bytes; give buckets "
			       "and their size in bytes",
			       i, width);
	if ((uintptr_t)region->buckets % (uintptr_t)width)
		return gn_fail(GN_EINVAL,
			       "profile region %d: its buckets begin at no multiple of %d; align "
			       "them as their type is",
			       i, width);
	if (region->scale < SCALE_MIN || region->scale > GN_PROFIL_SCALE_MAX)
		return gn_fail(GN_EINVAL,
			       "profile region %d: a scale of %u; take %u (a bucket for each "
			       "address) or less, down to %u",
			       i, region->scale, GN_PROFIL_SCALE_MAX, SCALE_MIN);
	return GN_OK;
}

static int width_of(int flags)
{
	const int width = flags & (GN_PROFIL_BUCKET_16 | GN_PROFIL_BUCKET_32 | GN_PROFIL_BUCKET_64);

	switch (width) {
	case 0:
	case GN_PROFIL_BUCKET_16:
		return 2;
	case GN_PROFIL_BUCKET_32:
		return 4;
	case GN_PROFIL_BUCKET_64:
		return 8;
	default:
		return 0;
	}
}

int gn_histogram_begin(struct gn_histogram *histogram, const struct gn_profil *regions, int n,
		       int flags)
{
	int error = GN_OK;

	memset(histogram, 0, sizeof(*histogram));
	histogram->width = width_of(flags);
	if (!histogram->width)
		return gn_fail(GN_EINVAL, "profile: several sizes of a bucket; choose one of "
					  "GN_PROFIL_BUCKET_16, _32 and _64");
	if (n < 1 || !regions)
		return gn_fail(GN_EINVAL, "profile: %d regions; give one or more", n);
	for (int i = 0; !error && i < n; i++)
		error = check(&regions[i], i, histogram->width);
	if (error)
		return error;
	histogram->region = calloc((size_t)n, sizeof(*regions));
	if (!histogram->region)
		return gn_fail(GN_ENOMEM, "profile: out of memory; give fewer regions");
	memcpy(histogram->region, regions, (size_t)n * sizeof(*regions));
	histogram->n = n;
	qsort(histogram->region, (size_t)n, sizeof(*regions), compare);
	return GN_OK;
}

void gn_histogram_end(struct gn_histogram *histogram)
{
	free(histogram->region);
	histogram->region = NULL;
	histogram->n = 0;
}

/* An offset of 0 and a scale of 2: what is in no other region, in one bucket. */
static int is_rest(const struct gn_profil *region)
{
	return !region->offset && region->scale == SCALE_MIN;
}

/* Which bucket of a region; its number of buckets or more: none. */
static uint64_t bucket_of(const struct gn_profil *region, uint64_t address)
{
	const uint64_t distance = address - region->offset;
	const uint64_t low = distance & ((1u << SCALE_BITS) - 1);

	if (is_rest(region))
		return 0;
	return (distance >> SCALE_BITS) * region->scale + (low * region->scale >> SCALE_BITS);
}

static void increase(void *buckets, int width, uint64_t bucket, uint64_t increment)
{
	uint16_t *small = buckets;
	uint32_t *middle = buckets;
	uint64_t *large = buckets;

	if (width == 2)
		small[bucket] = increment > UINT16_MAX - (uint64_t)small[bucket]
					? UINT16_MAX
					: (uint16_t)(small[bucket] + increment);
	else if (width == 4)
		middle[bucket] = increment > UINT32_MAX - (uint64_t)middle[bucket]
					 ? UINT32_MAX
					 : (uint32_t)(middle[bucket] + increment);
	else
		large[bucket] = increment > UINT64_MAX - large[bucket] ? UINT64_MAX
								       : large[bucket] + increment;
}

void gn_histogram_add(struct gn_histogram *histogram, uint64_t address, uint64_t increment)
{
	int first = 0, behind = histogram->n;

	while (first < behind) {
		const int middle = first + (behind - first) / 2;

		if (histogram->region[middle].offset <= address)
			first = middle + 1;
		else
			behind = middle;
	}
	/* Of regions that have it the one that begins last. */
	for (int i = first - 1; i >= 0; i--) {
		const struct gn_profil *region = &histogram->region[i];
		const uint64_t bucket = bucket_of(region, address);

		if (bucket >= region->size / (size_t)histogram->width)
			continue;
		increase(region->buckets, histogram->width, bucket, increment);
		return;
	}
	histogram->outside++;
}
