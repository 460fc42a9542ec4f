/* Items as bytes: what is written is read, and nothing that is damaged is believed. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "item_codec.h"
#include "random.h"

static const long long bins[] = {3, 0, 1};

static hpm_spread spread = {4, -1.5, 2.5, 0.25, 7, 9, 3, bins};

/* Everything that there can be, once. */
static void make(struct hpm_items *items, hpm_data_item item[2], hpm_event_info event[2],
		 hpm_spread times[HPM_NTIM])
{
	memset(item, 0, 2 * sizeof(*item));
	memset(event, 0, 2 * sizeof(*event));
	event[0] = (hpm_event_info){(char *)"PAPI_TOT_CYC",
				    (char *)"cpu",
				    (char *)"",
				    (char *)"total cycles",
				    NULL,
				    12345.5,
				    1.0,
				    0.5,
				    HPM_SCALED,
				    HPM_MODE_USER,
				    HPM_IS_DERIVED,
				    &spread};
	event[1].name = (char *)"n/a";
	event[1].reason = (char *)"no such event; name another";
	event[1].value = NAN;
	event[1].how = HPM_UNAVAILABLE;
	for (int i = 0; i < HPM_NTIM; i++) {
		item[0].times[i] = i;
		item[1].times[i] = NAN;
		times[i] = spread;
	}
	item[0].num_data = 2;
	item[0].data = event;
	item[0].mpi_task_id = 3;
	item[0].instr_id = 5;
	item[0].count = 17;
	item[0].description = (char *)"line one\nline two";
	item[0].label = (char *)"loop";
	item[0].n_tasks = 2;
	item[0].tasks = (char *)"3,5";
	item[0].times_spread = times;
	item[1].is_rusage = 1;
	item[1].mpi_task_id = -1;
	*items = (struct hpm_items){.task = 3,
				    .tasks = 64,
				    .process = 4711,
				    .exit_status = 2,
				    .signal = 11,
				    .started = 1.5,
				    .stopped = 2.5,
				    .wall_s = 1.0,
				    .program = (char *)"prog",
				    .command = (char *)"./prog \xff\xfe",
				    .host = (char *)"",
				    .n = 2,
				    .item = item};
}

static void write_made(unsigned char **bytes, size_t *size)
{
	struct hpm_items items;
	hpm_data_item item[2];
	hpm_event_info event[2];
	hpm_spread times[HPM_NTIM];

	make(&items, item, event, times);
	CHECK_EQ(hpm_items_write(&items, bytes, size), 0);
}

/* The checksum of what a test has changed, so that the rest is looked at. */
static void mend(unsigned char *bytes, size_t size)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i + 4 < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	crc = ~crc;
	memcpy(bytes + size - 4, &crc, 4);
}

/* Reads from memory that ends where the bytes do. */
static int reads(const unsigned char *bytes, size_t size, char why[256])
{
	unsigned char *copy = malloc(size ? size : 1), *again;
	struct hpm_items items;
	size_t used, length;
	int failed;

	CHECK(copy);
	memcpy(copy, bytes, size);
	failed = hpm_items_read(copy, size, &items, &used, why);
	if (!failed) {
		CHECK(used <= size);
		CHECK_EQ(hpm_items_write(&items, &again, &length), 0);
		free(again);
	} else {
		CHECK_EQ(strncmp(why, "byte ", 5), 0);
	}
	hpm_items_release(&items);
	free(copy);
	return failed;
}

static void what_is_written_is_read(void)
{
	unsigned char *bytes, *again;
	size_t size, used, length;
	struct hpm_items items;
	char why[256];

	write_made(&bytes, &size);
	CHECK_EQ(hpm_items_read(bytes, size, &items, &used, why), 0);
	CHECK_EQ(used, size);
	CHECK_EQ(items.task, 3);
	CHECK_EQ(items.signal, 11);
	CHECK(!strcmp(items.command, "./prog \xff\xfe"));
	CHECK(items.host && !*items.host);
	CHECK(!items.notes);
	CHECK_EQ(items.n, 2);
	CHECK(!strcmp(items.item[0].data[0].name, "PAPI_TOT_CYC"));
	CHECK(!items.item[0].data[0].reason);
	CHECK_EQ(items.item[0].data[0].spread->bins[2], 1);
	CHECK(items.item[0].data[0].value == 12345.5);
	CHECK(isnan(items.item[0].data[1].value));
	CHECK(!strcmp(items.item[0].tasks, "3,5"));
	CHECK_EQ(items.item[0].times_spread[7].max_task, 9);
	CHECK(isnan(items.item[1].times[0]));
	CHECK_EQ(hpm_items_write(&items, &again, &length), 0);
	CHECK_EQ(length, size);
	CHECK_EQ(memcmp(bytes, again, size), 0);
	hpm_items_release(&items);
	free(again);
	free(bytes);
}

static void two_in_a_row(void)
{
	unsigned char *bytes;
	size_t size, used;
	struct hpm_items items;
	char why[256];

	write_made(&bytes, &size);
	bytes = realloc(bytes, 2 * size);
	CHECK(bytes);
	memcpy(bytes + size, bytes, size);
	CHECK_EQ(hpm_items_read(bytes, 2 * size, &items, &used, why), 0);
	CHECK_EQ(used, size);
	hpm_items_release(&items);
	free(bytes);
}

static void cut_off_anywhere(void)
{
	unsigned char *bytes;
	size_t size;
	char why[256];

	write_made(&bytes, &size);
	for (size_t length = 0; length < size; length++)
		CHECK_EQ(reads(bytes, length, why), EBADMSG);
	/* Also where the size says that it is all. */
	for (uint64_t length = 24; length < size; length++) {
		unsigned char *shorter = malloc(length);

		CHECK(shorter);
		memcpy(shorter, bytes, length);
		memcpy(shorter + 16, &length, 8);
		mend(shorter, length);
		CHECK_EQ(reads(shorter, length, why), EBADMSG);
		free(shorter);
	}
	free(bytes);
}

/* One wrong byte is found, whatever it is. */
static void one_byte_is_wrong(void)
{
	unsigned char *bytes;
	size_t size;
	char why[256];

	write_made(&bytes, &size);
	for (size_t at = 0; at < size; at++) {
		bytes[at] ^= 1 << at % 8;
		CHECK_EQ(reads(bytes, size, why), EBADMSG);
		bytes[at] ^= 1 << at % 8;
	}
	CHECK_EQ(reads(bytes, size, why), 0);
	free(bytes);
}

static const uint32_t nasty[] = {0,	     1,		 0x7fffffff, 0x80000000, 0xffffffff,
				 0xfffffffe, 0x10000000, 0x00100001, 0x01000000, 255};

/* Wrong numbers with a right checksum: read as they are, or refused, but never a crash. */
static void numbers_that_cannot_be(void)
{
	unsigned char *bytes;
	int refused = 0;
	size_t size;
	char why[256];

	write_made(&bytes, &size);
	for (size_t at = 8; at + 8 <= size; at++)
		for (size_t i = 0; i < sizeof(nasty) / sizeof(*nasty); i++) {
			unsigned char before[4];

			memcpy(before, bytes + at, 4);
			memcpy(bytes + at, &nasty[i], 4);
			mend(bytes, size);
			refused += reads(bytes, size, why) != 0;
			memcpy(bytes + at, before, 4);
		}
	CHECK(refused > 500);
	free(bytes);
}

static void any_damage(void)
{
	const unsigned int rounds = check_work(50000);
	unsigned char *bytes, *copy;
	size_t size;
	char why[256];

	write_made(&bytes, &size);
	copy = malloc(size);
	CHECK(copy);
	for (unsigned int round = 0; round < rounds; round++) {
		const uint32_t wrong = 1 + random_below(8);

		memcpy(copy, bytes, size);
		for (uint32_t i = 0; i < wrong; i++) {
			const size_t at = 8 + random_below((uint32_t)size - 12);

			if (random_below(2))
				copy[at] = (unsigned char)random_below(256);
			else if (at + 8 < size)
				memcpy(copy + at,
				       &nasty[random_below(sizeof(nasty) / sizeof(*nasty))], 4);
		}
		mend(copy, size);
		reads(copy, size, why);
	}
	free(copy);
	free(bytes);
}

/* Every number the other way round is the same items. */
static void the_other_byte_order(void)
{
	static const size_t lengths[] = {4, 4, 8, 4, 4, 8, 4, 4, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4};
	const struct hpm_items made = {.task = 5,
				       .tasks = 258,
				       .process = 4711,
				       .exit_status = 3,
				       .signal = 9,
				       .started = 1.5,
				       .stopped = 2.5,
				       .wall_s = 1.0};
	unsigned char *bytes;
	struct hpm_items items;
	char why[256];
	uint32_t crc;
	size_t size, used, at = 8;

	CHECK_EQ(hpm_items_write(&made, &bytes, &size), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); at += lengths[i++])
		for (size_t k = 0; k < lengths[i] / 2; k++) {
			const unsigned char byte = bytes[at + k];

			bytes[at + k] = bytes[at + lengths[i] - 1 - k];
			bytes[at + lengths[i] - 1 - k] = byte;
		}
	CHECK_EQ(at, size);
	mend(bytes, size);
	memcpy(&crc, bytes + size - 4, 4);
	crc = __builtin_bswap32(crc);
	memcpy(bytes + size - 4, &crc, 4);
	if (hpm_items_read(bytes, size, &items, &used, why))
		fprintf(stderr, "%s\n", why);
	CHECK_EQ(used, size);
	CHECK_EQ(items.task, 5);
	CHECK_EQ(items.tasks, 258);
	CHECK_EQ(items.process, 4711);
	CHECK_EQ(items.exit_status, 3);
	CHECK_EQ(items.signal, 9);
	CHECK(items.started == 1.5 && items.stopped == 2.5 && items.wall_s == 1.0);
	CHECK_EQ(items.n, 0);
	hpm_items_release(&items);
	free(bytes);
}

/* --- what an aggregator says that it is ------------------------------------------------------- */

static void memory_that_is_not_there(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hpm_items items;
	hpm_data_item item[2];
	hpm_event_info event[2];
	hpm_spread times[HPM_NTIM];
	char why[256];

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(munmap(pages + page, page), 0);
	make(&items, item, event, times);
	CHECK_EQ(hpm_items_check(2, item, why), 0);
	CHECK_EQ(hpm_items_check(0, NULL, why), 0);
	CHECK_EQ(hpm_items_check(3, (void *)(pages + page - 2 * sizeof(*item)), why), EFAULT);
	CHECK(!strcmp(why, "out (3 items) is not readable memory"));
	CHECK_EQ(hpm_items_check(1, NULL, why), EFAULT);
	CHECK_EQ(hpm_items_check(-1, item, why), EOVERFLOW);
	CHECK(!strcmp(why, "num_out is -1, which is impossible"));

	/* A string that has no end. */
	memset(pages, 'x', page);
	item[1].label = pages + page - 10;
	CHECK_EQ(hpm_items_check(2, item, why), EFAULT);
	CHECK(!strcmp(why, "item 1: label is not readable memory"));
	pages[page - 1] = 0;
	CHECK_EQ(hpm_items_check(2, item, why), 0);

	item[0].num_data = 1000;
	item[0].data = (void *)(pages + page);
	CHECK_EQ(hpm_items_check(2, item, why), EFAULT);
	CHECK(!strcmp(why, "item 0: data is not readable memory"));
	item[0].num_data = -5;
	CHECK_EQ(hpm_items_check(2, item, why), EOVERFLOW);
	CHECK(!strcmp(why, "item 0: num_data is -5, which is impossible"));

	make(&items, item, event, times);
	event[1].spread = (void *)16;
	CHECK_EQ(hpm_items_check(2, item, why), EFAULT);
	event[1].spread = NULL;
	times[7].bins = (void *)8;
	CHECK_EQ(hpm_items_check(2, item, why), EFAULT);
	CHECK(!strcmp(why, "item 0: bins is not readable memory"));
	munmap(pages, page);
}

int main(void)
{
	RUN(what_is_written_is_read);
	RUN(two_in_a_row);
	RUN(cut_off_anywhere);
	RUN(one_byte_is_wrong);
	RUN(numbers_that_cannot_be);
	RUN(any_damage);
	RUN(the_other_byte_order);
	RUN(memory_that_is_not_there);
	return check_result;
}
