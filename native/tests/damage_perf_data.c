/*
 * Damaged perf.data files: whatever they hold, the reader comes back, and reads only what is its
 * own, as the sanitizers see. Says how many were read.
 *
 *	damage_perf_data MUTATIONS SEED FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "file_reader.h"
#include "profile_reader.h"
#include "random.h"
#include "sample_file.h"

#define FILE_BYTES_MAX (1u << 20)

static uint8_t seed[FILE_BYTES_MAX], bytes[FILE_BYTES_MAX];
static unsigned long long n_files, n_opened, n_read, n_samples;

static uint64_t any_number(void)
{
	static const uint64_t likely[] = {0,
					  1,
					  7,
					  8,
					  0x7fff,
					  0xffff,
					  0x7fffffff,
					  0xffffffff,
					  (uint64_t)1 << 63,
					  (uint64_t)-4095,
					  (uint64_t)-640,
					  UINT64_MAX};

	return likely[random_below(sizeof(likely) / sizeof(*likely))];
}

static void damage(size_t *n)
{
	for (unsigned int i = 1 + random_below(4); i; i--) {
		const size_t at = random_below((uint32_t)*n - 8);
		const uint64_t number = any_number();

		switch (random_below(5)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << random_below(8));
			break;
		case 1:
			memcpy(bytes + (at & ~(size_t)7), &number, 8);
			break;
		case 2:
			memcpy(bytes + (at & ~(size_t)3), &number, 4);
			break;
		case 3:
			memcpy(bytes + at, bytes + random_below((uint32_t)*n - 8), 8);
			break;
		default:
			bytes[at] = (uint8_t)random_below(256);
			break;
		}
	}
	if (!random_below(16))
		*n = random_below((uint32_t)*n);
}

static int file_of(const uint8_t *content, size_t n)
{
	const int descriptor = memfd_create("damaged", MFD_CLOEXEC);

	CHECK(descriptor >= 0);
	CHECK_EQ(write(descriptor, content, n), (ssize_t)n);
	return descriptor;
}

/* Each module is this program, so that stacks are unwound. */
static void place_modules(struct gn_perf_file *file)
{
	const struct gn_segment segment = {0, UINT64_MAX, 0};

	for (uint32_t i = GN_FIXED_MODULES; i < file->mapped.module.n; i++)
		CHECK_EQ(
			gn_module_place(gn_module(&file->mapped, i), "/proc/self/exe", &segment, 1),
			0);
}

static void check_profile(const struct gn_profile *profile)
{
	const struct gn_sample_sample *sample = profile->sample.row;

	for (size_t i = 0; i < profile->sample.n; i++) {
		CHECK(sample[i].thread < profile->thread.n);
		CHECK(sample[i].node == GN_PATH_NONE || sample[i].node < profile->tree.n_nodes);
	}
	n_samples += profile->sample.n;
}

static void try_file(size_t n)
{
	const int damaged = file_of(bytes, n), unpacked = file_of(bytes, 0);
	struct gn_perf_file *file = malloc(sizeof(*file));
	struct gn_profile profile;
	int failed;

	CHECK(file);
	n_files++;
	failed = gn_perf_file_open(file, damaged, unpacked);
	CHECK(!failed || file->problem.text[0]);
	if (!failed) {
		n_opened++;
		place_modules(file);
		failed = gn_profile_read(&profile, file, GN_UNWIND_X86_64);
		CHECK(!failed || file->problem.text[0]);
		if (!failed) {
			n_read++;
			check_profile(&profile);
		}
		gn_profile_free(&profile);
	}
	gn_perf_file_close(file);
	free(file);
	close(damaged);
	close(unpacked);
}

static void try_all(const char *path, unsigned long mutations)
{
	FILE *whole = fopen(path, "r");
	size_t seed_bytes;

	CHECK(whole);
	seed_bytes = fread(seed, 1, sizeof(seed), whole);
	CHECK(seed_bytes > 16 && feof(whole));
	fclose(whole);
	for (unsigned long i = 0; i < mutations; i++) {
		size_t n = seed_bytes;

		memcpy(bytes, seed, n);
		if (i)
			damage(&n);
		try_file(n);
	}
}

int main(int n, char **words)
{
	CHECK(n > 3);
	random_state ^= (uint32_t)strtoul(words[2], NULL, 10) << 1;
	for (int i = 3; i < n; i++)
		try_all(words[i], strtoul(words[1], NULL, 10));
	printf("%llu damaged files, of which %llu were opened and %llu read; %llu samples\n",
	       n_files, n_opened, n_read, n_samples);
	return 0;
}
