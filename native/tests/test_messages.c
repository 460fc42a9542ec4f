/* What tasks send each other: gaps that are put together, and bytes that are not believed. */
#include <string.h>

#include "check.h"
#include "messages.h"
#include "random.h"

static struct gn_gaps gaps;
static struct gn_gap list[GN_GAPS_MAX];

static void expect(int i, int first, int last, int is_in, const char *why)
{
	CHECK(i < gn_gaps_list(&gaps, list));
	CHECK_EQ(list[i].first, first);
	CHECK_EQ(list[i].last, last);
	CHECK_EQ(list[i].is_in, is_in);
	CHECK(!strcmp(list[i].why, why));
}

static void what_touches_is_one(void)
{
	gn_gaps_add(&gaps, 7, 7, 0, "died");
	gn_gaps_add(&gaps, 5, 5, 0, "died");
	gn_gaps_add(&gaps, 1, 1, 0, "never came");
	CHECK_EQ(gn_gaps_list(&gaps, list), 3);
	gn_gaps_add(&gaps, 6, 6, 0, "died");
	gn_gaps_add(&gaps, 8, 8, 1, "died");
	CHECK_EQ(gn_gaps_list(&gaps, list), 3);
	expect(0, 1, 1, 0, "never came");
	expect(1, 5, 7, 0, "died");
	expect(2, 8, 8, 1, "died");
}

/* Every other task first, then those between. */
static void tasks_in_any_order(void)
{
	for (int task = 0; task < 100; task += 2)
		gn_gaps_add(&gaps, task, task, 0, "gone");
	CHECK_EQ(gaps.n, 50);
	for (int task = 99; task > 0; task -= 2)
		gn_gaps_add(&gaps, task, task, 0, "gone");
	CHECK_EQ(gaps.n, 1);
	expect(0, 0, 99, 0, "gone");
}

/* However many there are, memory is bounded, and no task is left out of what is told. */
static void more_than_there_is_room_for(void)
{
	int first = 1 << 30, last = -1;

	for (int task = 0; task < 1000; task += 2)
		gn_gaps_add(&gaps, task, task, 0, task % 4 ? "one" : "two");
	CHECK_EQ(gaps.n, GN_GAPS_MAX);
	for (int i = 0; i < gn_gaps_list(&gaps, list); i++) {
		first = list[i].first < first ? list[i].first : first;
		last = list[i].last > last ? list[i].last : last;
	}
	CHECK_EQ(first, 0);
	CHECK_EQ(last, 998);
	CHECK(strstr(list[GN_GAPS_MAX - 1].why, "more reasons"));
}

static void long_reasons_are_cut(void)
{
	char why[1000];

	memset(why, 'x', sizeof(why));
	why[sizeof(why) - 1] = 0;
	gn_gaps_add(&gaps, 1, 1, 0, why);
	CHECK_EQ(gn_gaps_list(&gaps, list), 1);
	CHECK_EQ(strlen(list[0].why), GN_REASON_SIZE - 1);
}

static void packed(unsigned char **bytes, size_t *size)
{
	struct gn_message load = {.has_blob = 1, .blob = {(void *)"partial", 7}};

	gn_gaps_add(&load.gaps, 3, 5, 0, "died");
	gn_gaps_add(&load.gaps, 9, 9, 1, "ended with exit status 3");
	CHECK_EQ(gn_message_pack(&load, bytes, size), 0);
}

static void what_is_packed_is_unpacked(void)
{
	struct gn_message load;
	unsigned char *bytes;
	size_t size;

	packed(&bytes, &size);
	CHECK_EQ(gn_message_unpack(bytes, size, &load), 0);
	CHECK_EQ(load.has_blob, 1);
	CHECK_EQ(load.blob.size, 7);
	CHECK_EQ(memcmp(load.blob.data, "partial", 7), 0);
	gaps = load.gaps;
	expect(0, 3, 5, 0, "died");
	expect(1, 9, 9, 1, "ended with exit status 3");
	gn_message_free(&load);
	free(bytes);
}

static void bytes_that_are_damaged(void)
{
	const unsigned int rounds = check_work(20000);
	struct gn_message load;
	unsigned char *bytes, *copy;
	size_t size;

	packed(&bytes, &size);
	for (size_t length = 0; length < size; length++) {
		copy = malloc(length + 1);
		CHECK(copy);
		memcpy(copy, bytes, length);
		CHECK_EQ(gn_message_unpack(copy, length, &load), EBADMSG);
		CHECK(!load.blob.data);
		free(copy);
	}
	copy = malloc(size);
	CHECK(copy);
	for (unsigned int round = 0; round < rounds; round++) {
		memcpy(copy, bytes, size);
		for (uint32_t i = random_below(6); i; i--)
			copy[random_below(random_below(2) ? 24 : (uint32_t)size)] =
				(unsigned char)random_below(256);
		if (gn_message_unpack(copy, size, &load))
			continue;
		gn_gaps_list(&load.gaps, list);
		for (int i = 0; i < load.gaps.n; i++)
			CHECK(strlen(list[i].why) < GN_REASON_SIZE);
		gn_message_free(&load);
	}
	free(copy);
	free(bytes);
}

/* --- merging ---------------------------------------------------------------------------------- */

static int append(struct gn_blob *into, const struct gn_blob *other, void *context)
{
	const int *failure = context;
	char *longer;

	if (*failure)
		return *failure;
	longer = realloc(into->data, into->size + other->size);
	CHECK(longer);
	memcpy(longer + into->size, other->data, other->size);
	*into = (struct gn_blob){longer, into->size + other->size};
	return 0;
}

static struct gn_message of(const char *text)
{
	return (struct gn_message){.has_blob = text != NULL,
				   .blob = {text ? strdup(text) : NULL, text ? strlen(text) : 0}};
}

static void a_load_that_cannot_be_merged(void)
{
	int failure = 0;
	const struct gn_merging merging = {append, &failure, "append failed"};
	struct gn_message into = of(NULL), one = of("one"), none = of(NULL), two = of("two"),
			  three = of("three");

	gn_gaps_add(&none.gaps, 4, 4, 0, "died");
	gn_message_merge(&into, &one, 1, &merging);
	gn_message_merge(&into, &none, 4, &merging);
	gn_message_merge(&into, &two, 2, &merging);
	failure = ENOMEM;
	gn_message_merge(&into, &three, 3, &merging);
	CHECK_EQ(into.blob.size, 6);
	CHECK_EQ(memcmp(into.blob.data, "onetwo", 6), 0);
	gaps = into.gaps;
	expect(0, 3, 3, 0,
	       "could not be merged, with those below it in the tree: Cannot allocate memory");
	expect(1, 4, 4, 0, "died");
	gn_message_free(&into);
}

int main(void)
{
	RUN(what_touches_is_one);
	RUN(tasks_in_any_order);
	RUN(more_than_there_is_room_for);
	RUN(long_reasons_are_cut);
	RUN(what_is_packed_is_unpacked);
	RUN(bytes_that_are_damaged);
	RUN(a_load_that_cannot_be_merged);
	return check_result;
}
