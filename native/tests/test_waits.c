/* Waits as the kernel tells of them, in order and out of order: what is written of them. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "waits.c"

#define MS 1000000ull
#define RECORDS 4096

static struct gn_sample_sample sample[RECORDS];
static struct gn_sample_wait wait_record[RECORDS];
static struct gn_sample_rest rest[RECORDS];
static struct gn_sample_span span[RECORDS];
static uint32_t n_samples, n_waits, n_rest, n_spans, n_written;

/* In place of that of the record file. */
void gn_sample_append(struct gn_sample_file *file, enum gn_sample_kind kind, const void *record)
{
	(void)file;
	if (kind == GN_SAMPLE_SAMPLE)
		sample[n_samples++] = *(const struct gn_sample_sample *)record;
	else if (kind == GN_SAMPLE_WAIT)
		wait_record[n_waits++] = *(const struct gn_sample_wait *)record;
	else if (kind == GN_SAMPLE_REST)
		rest[n_rest++] = *(const struct gn_sample_rest *)record;
	else
		span[n_spans++] = *(const struct gn_sample_span *)record;
}

static struct gn_waits begin(uint64_t since_ns)
{
	struct gn_waits waits;

	n_samples = n_waits = n_rest = n_spans = n_written = 0;
	CHECK_EQ(gn_waits_begin(&waits, NULL, &n_written, since_ns), 0);
	return waits;
}

static void take_stack(struct gn_waits *waits, struct gn_thread *thread, uint64_t time_ns,
		       uint8_t flags)
{
	const struct gn_sample_sample taken = {
		.time_ns = time_ns, .node = 7, .event = 1, .flags = flags};

	gn_waits_sample(waits, thread, &taken);
}

static void a_wait_has_its_begin_duration_and_who_ended_it(void)
{
	struct gn_waits waits = begin(0);
	struct gn_thread thread = {.tid = 5, .number = 3};

	gn_waits_create(&waits, &thread, 1 * MS, 1);
	gn_waits_return(&waits, &thread, 3 * MS);
	take_stack(&waits, &thread, 10 * MS, 0);
	gn_waits_leave(&waits, &thread, 11 * MS, 0);
	gn_waits_wake(&thread, 80 * MS, 9, 0);
	gn_waits_wake(&thread, 85 * MS, 8, 1);
	gn_waits_return(&waits, &thread, 90 * MS);
	take_stack(&waits, &thread, 95 * MS, 0);
	gn_waits_leave(&waits, &thread, 96 * MS, 1);
	gn_waits_return(&waits, &thread, 99 * MS);
	gn_waits_exit(&waits, &thread, 100 * MS);
	CHECK_EQ(n_samples, 2);
	CHECK_EQ(sample[0].time_ns, 11 * MS);
	CHECK_EQ(sample[0].weight, 79 * MS);
	CHECK_EQ(sample[0].thread, 3);
	CHECK_EQ(sample[0].node, 7);
	CHECK_EQ(wait_record[0].sample, 0);
	CHECK_EQ(wait_record[0].woken_ns, 80 * MS);
	CHECK_EQ(wait_record[0].waker, 9);
	CHECK_EQ(wait_record[0].flags, 0);
	CHECK_EQ(wait_record[1].flags, GN_WAIT_RUNNABLE);
	CHECK_EQ(sample[1].weight, 3 * MS);
	/* From its creation until it first ran. */
	CHECK_EQ(n_rest, 1);
	CHECK_EQ(rest[0].ns, 2 * MS);
	CHECK_EQ(rest[0].is_runnable, 1);
	CHECK_EQ(span[0].begin_ns, 1 * MS);
	CHECK_EQ(span[0].end_ns, 100 * MS);
	CHECK(!thread.waits);
	gn_waits_end(&waits);
}

static void what_is_told_twice_counts_once(void)
{
	struct gn_waits waits = begin(0);
	struct gn_thread thread = {.tid = 5};

	gn_waits_create(&waits, &thread, 1, 0);
	gn_waits_leave(&waits, &thread, 10 * MS, 0);
	gn_waits_leave(&waits, &thread, 11 * MS, 1);
	gn_waits_return(&waits, &thread, 20 * MS);
	gn_waits_return(&waits, &thread, 21 * MS);
	gn_waits_exit(&waits, &thread, 30 * MS);
	CHECK_EQ(n_rest, 1);
	CHECK_EQ(rest[0].ns, 10 * MS);
	CHECK_EQ(rest[0].n, 1);
	CHECK_EQ(rest[0].duration, 23);
	CHECK_EQ(rest[0].is_runnable, 0);
	gn_waits_end(&waits);
}

static void a_look_counts_only_within_the_wait(void)
{
	const struct gn_wait_look look = {
		.from_ns = 50 * MS, .until_ns = 51 * MS, .call = 2, .subject = 64, .holder = 6};
	const struct gn_sample_sample stack = {.node = 4};
	const uint64_t until[] = {60 * MS, 50 * MS + 1};

	for (int i = 0; i < 2; i++) {
		struct gn_waits waits = begin(0);
		struct gn_thread thread = {.tid = 5};

		gn_waits_create(&waits, &thread, 1, 0);
		gn_waits_leave(&waits, &thread, 1 * MS, 0);
		CHECK(gn_waits_next(&waits) == &thread);
		CHECK(!gn_waits_next(&waits));
		gn_waits_look(&thread, &look, &stack);
		gn_waits_return(&waits, &thread, until[i]);
		gn_waits_release(&waits);
		gn_waits_exit(&waits, &thread, 70 * MS);
		CHECK_EQ(n_samples, i == 0);
		CHECK_EQ(n_rest, i);
		if (!i) {
			CHECK_EQ(sample[0].node, 4);
			CHECK_EQ(sample[0].flags, GN_SAMPLE_LOOKED);
			CHECK_EQ(wait_record[0].holder, 6);
			CHECK_EQ(wait_record[0].subject, 64);
		}
		gn_waits_end(&waits);
	}
}

static void a_stack_is_of_the_next_wait_alone(void)
{
	struct gn_waits waits = begin(0);
	struct gn_thread thread = {.tid = 5};

	gn_waits_create(&waits, &thread, 1, 0);
	take_stack(&waits, &thread, 9 * MS, 0);
	for (uint64_t i = 1; i < 4; i++) {
		gn_waits_leave(&waits, &thread, 10 * i * MS, 0);
		gn_waits_return(&waits, &thread, (10 * i + 5) * MS);
	}
	gn_waits_release(&waits);
	gn_waits_exit(&waits, &thread, 70 * MS);
	CHECK_EQ(n_samples, 1);
	CHECK_EQ(rest[0].n, 2);
	CHECK_EQ(rest[0].ns, 10 * MS);
	gn_waits_end(&waits);
}

static void a_thread_that_was_there_waits_if_it_returns_or_a_look_says_so(void)
{
	const struct gn_wait_look look = {.from_ns = 20 * MS, .until_ns = 21 * MS, .call = 3};
	struct gn_waits waits = begin(10 * MS);
	struct gn_thread waits_until = {.tid = 1}, runs = {.tid = 2}, silent = {.tid = 3};
	struct gn_thread asleep = {.tid = 4};

	gn_waits_suppose(&waits, &waits_until);
	gn_waits_suppose(&waits, &runs);
	gn_waits_suppose(&waits, &silent);
	gn_waits_suppose(&waits, &asleep);
	gn_waits_return(&waits, &waits_until, 40 * MS);
	gn_waits_leave(&waits, &runs, 50 * MS, 0);
	gn_waits_return(&waits, &runs, 51 * MS);
	gn_waits_look(&asleep, &look, NULL);
	gn_waits_exit(&waits, &waits_until, 100 * MS);
	gn_waits_exit(&waits, &runs, 100 * MS);
	gn_waits_exit(&waits, &silent, 100 * MS);
	gn_waits_exit(&waits, &asleep, 100 * MS);
	CHECK_EQ(n_rest, 3);
	CHECK_EQ(rest[0].ns, 30 * MS);
	CHECK_EQ(rest[1].ns, 1 * MS);
	CHECK_EQ(rest[2].ns, 90 * MS);
	CHECK_EQ(n_spans, 4);
	gn_waits_end(&waits);
}

static void little_is_held_back_until_there_is_more(void)
{
	struct gn_waits waits = begin(0);
	struct gn_thread thread = {.tid = 5};

	gn_waits_create(&waits, &thread, 1, 0);
	for (uint64_t i = 1; i <= 60; i++) {
		take_stack(&waits, &thread, 2 * i * MS, 0);
		gn_waits_leave(&waits, &thread, 2 * i * MS, 0);
		gn_waits_return(&waits, &thread, (2 * i + 1) * MS);
		CHECK_EQ(n_samples, i <= 50 ? 0 : i);
	}
	gn_waits_exit(&waits, &thread, 200 * MS);
	gn_waits_end(&waits);
	for (uint32_t i = 0; i < n_samples; i++) {
		CHECK_EQ(wait_record[i].sample, i);
		CHECK_EQ(sample[i].time_ns, 2 * (i + 1) * MS);
	}
}

/* Any order of records: time is neither lost nor counted twice. */
static void any_order_of_records(void)
{
	const unsigned int rounds = check_work(2000);

	srand(1);
	for (unsigned int round = 0; round < rounds; round++) {
		struct gn_waits waits = begin(rand() % 2 ? 1 : 0);
		struct gn_thread thread[3] = {{.tid = 1}, {.tid = 2}, {.tid = 3}};
		uint64_t now = 1, sum = 0;

		for (int i = 0; i < 100; i++) {
			struct gn_thread *one = &thread[rand() % 3];

			now += (uint64_t)(rand() % 1000) + 1;
			switch (rand() % 7) {
			case 0:
				gn_waits_create(&waits, one, now, rand() % 2);
				break;
			case 1:
				take_stack(&waits, one, now, 0);
				break;
			case 2:
				gn_waits_leave(&waits, one, now, rand() % 2);
				break;
			case 3:
				gn_waits_wake(one, now, 1, rand() % 2);
				break;
			case 4:
				gn_waits_return(&waits, one, now);
				break;
			case 5:
				one = gn_waits_next(&waits);
				if (one) {
					const struct gn_wait_look look = {.from_ns = now,
									  .until_ns = now};
					const struct gn_sample_sample stack = {.node = 1};

					gn_waits_look(one, &look, rand() % 2 ? &stack : NULL);
				}
				break;
			default:
				gn_waits_tell(&waits, now, rand() % 2);
			}
		}
		gn_waits_release(&waits);
		for (int i = 0; i < 3; i++)
			gn_waits_exit(&waits, &thread[i], now);
		CHECK(!waits.out_first);
		CHECK(!waits.rest_first);
		for (uint32_t i = 0; i < n_samples; i++)
			sum += sample[i].weight;
		for (uint32_t i = 0; i < n_rest; i++)
			sum += rest[i].ns;
		CHECK(sum <= 3 * now);
		CHECK_EQ(n_samples, n_waits);
		gn_waits_end(&waits);
	}
}

int main(void)
{
	RUN(a_wait_has_its_begin_duration_and_who_ended_it);
	RUN(what_is_told_twice_counts_once);
	RUN(a_look_counts_only_within_the_wait);
	RUN(a_stack_is_of_the_next_wait_alone);
	RUN(a_thread_that_was_there_waits_if_it_returns_or_a_look_says_so);
	RUN(little_is_held_back_until_there_is_more);
	RUN(any_order_of_records);
	return check_result;
}
