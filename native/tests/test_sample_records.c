/* Samples with data addresses, branches and the counts of groups: as they are asked for and come.
 */
#include <gnomon/unwind.h>
#include <string.h>

#include "check.h"
#include "group_values.h"
#include "sample_record.h"
#include "sampled_events.h"

/* --- what is asked for ------------------------------------------------------------------------ */

#define DATA (PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

static const int cpus[] = {0};
static const pid_t targets[] = {1};

static struct gn_sampling_plan plan_of(const struct gn_sampled_event *event, uint32_t n)
{
	return (struct gn_sampling_plan){
		.event = event,
		.n_events = n,
		.cpu = cpus,
		.n_cpus = 1,
		.target = targets,
		.n_targets = 1,
		.starts_at_exec = 1,
		.stack_bytes = 8192,
		.signal_socket = -1,
	};
}

static struct perf_event_attr attr_of(const struct gn_sampling_plan *plan, uint32_t event)
{
	struct perf_event_attr attr;

	gn_sampled_events_attr(&attr, plan, event);
	return attr;
}

static void precise_events_have_addresses_and_weights(void)
{
	const struct gn_sampled_event events[] = {
		{.spec = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK},
		 .period = 997,
		 .is_frequency = 1},
		{.spec = {.type = PERF_TYPE_RAW, .config = 0x1cd, .config1 = 30, .leader = 1},
		 .period = 1000,
		 .more = DATA,
		 .precise = 2},
	};
	const struct gn_sampling_plan plan = plan_of(events, 2);
	struct perf_event_attr attr = attr_of(&plan, 0);

	CHECK_EQ(attr.sample_type & (DATA | PERF_SAMPLE_READ), 0);
	CHECK_EQ(attr.sample_type & PERF_SAMPLE_PERIOD, PERF_SAMPLE_PERIOD);
	CHECK_EQ(attr.precise_ip, 0);
	CHECK_EQ(attr.read_format, 0);
	attr = attr_of(&plan, 1);
	CHECK_EQ(attr.sample_type & DATA, DATA);
	CHECK_EQ(attr.precise_ip, 2);
	CHECK_EQ(attr.config, 0x1cd);
	CHECK_EQ(attr.config1, 30);
	CHECK_EQ(attr.freq, 0);
	CHECK_EQ(attr.sample_period, 1000);
	/* With it the kernel samples each of some events. */
	CHECK_EQ(attr.sample_type & PERF_SAMPLE_PERIOD, 0);
}

static void members_of_a_group_are_read_and_take_no_samples(void)
{
	const struct gn_sampled_event events[] = {
		{.spec = {.type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_PAGE_FAULTS,
			  .leader = 0},
		 .period = 1},
		{.spec = {.type = PERF_TYPE_HARDWARE, .leader = 1},
		 .period = 99,
		 .is_frequency = 1},
		{.spec = {.type = PERF_TYPE_HARDWARE, .config = 1, .leader = 1}, .period = 99},
	};
	const struct gn_sampling_plan plan = plan_of(events, 3);
	const struct perf_event_attr alone = attr_of(&plan, 0), leader = attr_of(&plan, 1);
	const struct perf_event_attr member = attr_of(&plan, 2);

	CHECK_EQ(alone.read_format, 0);
	CHECK_EQ(alone.sample_type & PERF_SAMPLE_READ, 0);
	CHECK_EQ(leader.read_format, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	CHECK(leader.sample_type & PERF_SAMPLE_READ);
	CHECK(leader.sample_type & PERF_SAMPLE_TID);
	CHECK_EQ(leader.inherit, 1);
	CHECK_EQ(leader.enable_on_exec, 1);
	CHECK_EQ(leader.sample_freq, 99);
	CHECK_EQ(member.sample_type, leader.sample_type);
	CHECK_EQ(member.read_format, leader.read_format);
	CHECK_EQ(member.sample_period, 0);
	CHECK_EQ(member.freq, 0);
	CHECK_EQ(member.inherit, 1);
	/* It counts while its leader does. */
	CHECK_EQ(member.disabled, 0);
	CHECK_EQ(member.enable_on_exec, 0);
}

static void branches_are_of_user_code_and_of_samples_alone(void)
{
	const struct gn_sampled_event events[] = {
		{.spec = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
		 .period = 99},
		{.spec = {.type = PERF_TYPE_HARDWARE, .leader = 1},
		 .period = 997,
		 .is_frequency = 1,
		 .more = PERF_SAMPLE_BRANCH_STACK},
		{.spec = {.type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_PAGE_FAULTS,
			  .leader = 1},
		 .period = 997},
	};
	const struct gn_sampling_plan plan = plan_of(events, 3);
	const struct perf_event_attr without = attr_of(&plan, 0), with = attr_of(&plan, 1);
	const struct perf_event_attr member = attr_of(&plan, 2);

	CHECK_EQ(without.sample_type & PERF_SAMPLE_BRANCH_STACK, 0);
	CHECK_EQ(without.branch_sample_type, 0);
	CHECK_EQ(with.sample_type & PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_STACK);
	CHECK_EQ(with.branch_sample_type, PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
	CHECK(with.size > offsetof(struct perf_event_attr, branch_sample_type));
	/* The kernel refuses an event of software that has any. */
	CHECK_EQ(member.sample_type, with.sample_type & ~(uint64_t)PERF_SAMPLE_BRANCH_STACK);
	CHECK_EQ(member.branch_sample_type, 0);
}

static void nobody_is_led_by_who_comes_later(void)
{
	struct gn_sampled_event events[] = {{.spec = {.leader = 1}, .period = 1},
					    {.spec = {.leader = 1}, .period = 1},
					    {.spec = {.leader = 0}, .period = 1}};
	const struct gn_sampling_plan plan = plan_of(events, 3);
	struct gn_sampling_failure failure;
	struct gn_sampled_events opened;

	CHECK_EQ(gn_sampled_events_open(&opened, &plan, &failure), -EINVAL);
	events[0].spec.leader = -1;
	CHECK_EQ(gn_sampled_events_open(&opened, &plan, &failure), -EINVAL);
}

/* --- what comes ------------------------------------------------------------------------------- */

#define ALWAYS                                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)
#define EVERYTHING                                                                                 \
	(ALWAYS | PERF_SAMPLE_PERIOD | DATA | PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK |        \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static uint64_t record[256];
static size_t n_words;

static void put(uint64_t word)
{
	record[n_words++] = word;
}

static void put_two(uint32_t first, uint32_t second)
{
	const uint32_t halves[] = {first, second};

	memcpy(&record[n_words++], halves, sizeof(halves));
}

static const struct perf_event_header *finished(size_t words)
{
	const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
						 .size = (uint16_t)(8 * words)};

	memcpy(record, &header, sizeof(header));
	return (const void *)record;
}

/* struct perf_branch_entry, by bits as <linux/perf_event.h> lays them out here. */
static void put_branch(uint64_t from, uint64_t to, struct perf_branch_entry bits)
{
	bits.from = from;
	bits.to = to;
	memcpy(&record[n_words], &bits, sizeof(bits));
	n_words += sizeof(bits) / sizeof(*record);
}

#define MISPREDICTED ((struct perf_branch_entry){.mispred = 1, .cycles = 17, .type = 1})
#define ABORTED ((struct perf_branch_entry){.predicted = 1, .in_tx = 1, .abort = 1})

static void put_branches(void)
{
	put(2);
	put_branch(0x401010, 0x402000, MISPREDICTED);
	put_branch(0x401ff0, 0x401000, ABORTED);
}

/* In the order of perf_output_sample(): the kernel's. */
static void put_everything(void)
{
	const int machine = gn_unwind_own_machine();
	const unsigned int n_registers = (unsigned int)__builtin_popcountll(
		gn_unwind_perf_mask((enum gn_unwind_machine)machine));

	n_words = 1;
	put(77);	 /* identifier */
	put(0x401000);	 /* ip */
	put_two(50, 51); /* pid, tid */
	put(123456789);	 /* time */
	put(0xdada);	 /* addr */
	put_two(3, 0);	 /* cpu */
	put(4000);	 /* period */
	put(3);		 /* read: nr, then counts with identifiers */
	for (uint64_t i = 0; i < 3; i++) {
		put(1000 + i);
		put(77 + i);
	}
	put(2); /* callchain */
	put((uint64_t)PERF_CONTEXT_KERNEL);
	put(0xffffffff81000000u);
	put_branches();
	put(PERF_SAMPLE_REGS_ABI_64);
	for (unsigned int i = 0; i < n_registers; i++)
		put(500 + i);
	put(32); /* stack: room, bytes, how many of them hold */
	for (unsigned int i = 0; i < 4; i++)
		put(900 + i);
	put(24);
	put(210);	  /* weight */
	put(0x68100142u); /* data_src */
}

static void each_part_is_where_the_kernel_puts_it(void)
{
	struct gn_sample_record sample;
	const struct perf_event_header *header;

	if (gn_unwind_own_machine() < 0) {
		printf("no registers of this processor are known: not tried\n");
		return;
	}
	put_everything();
	header = finished(n_words);
	CHECK_EQ(gn_sample_record_id(header), 77);
	CHECK_EQ(gn_sample_record_read(&sample, header, EVERYTHING), 0);
	CHECK_EQ(sample.ip, 0x401000);
	CHECK_EQ(sample.pid, 50);
	CHECK_EQ(sample.tid, 51);
	CHECK_EQ(sample.time_ns, 123456789);
	CHECK_EQ(sample.data_address, 0xdada);
	CHECK_EQ(sample.cpu, 3);
	CHECK_EQ(sample.period, 4000);
	CHECK_EQ(sample.n_values, 3);
	CHECK_EQ(sample.value[2].count, 1002);
	CHECK_EQ(sample.value[2].id, 79);
	CHECK_EQ(sample.stack.n_kernel, 2);
	CHECK_EQ(sample.stack.kernel[1], 0xffffffff81000000u);
	CHECK_EQ(sample.n_branches, 2);
	CHECK_EQ(sample.branch[0].from, 0x401010);
	CHECK_EQ(sample.branch[0].to, 0x402000);
	CHECK_EQ(sample.branch[0].mispred, 1);
	CHECK_EQ(sample.branch[0].predicted, 0);
	CHECK_EQ(sample.branch[0].cycles, 17);
	CHECK_EQ(sample.branch[1].from, 0x401ff0);
	CHECK_EQ(sample.branch[1].predicted, 1);
	CHECK_EQ(sample.branch[1].abort, 1);
	CHECK_EQ(sample.stack.registers[1], 501);
	CHECK_EQ(sample.stack.stack_bytes, 24);
	CHECK_EQ(((const uint64_t *)sample.stack.stack)[2], 902);
	CHECK_EQ(sample.weight, 210);
	CHECK_EQ(sample.data_source, 0x68100142u);
}

static void short_records_are_none(void)
{
	struct gn_sample_record sample;
	size_t n;

	if (gn_unwind_own_machine() < 0)
		return;
	put_everything();
	n = n_words;
	for (size_t words = 1; words < n; words++)
		CHECK_EQ(gn_sample_record_read(&sample, finished(words), EVERYTHING), -EBADMSG);
	/* Sizes within that are larger than the record, and than any number of words. */
	for (size_t word = 1; word < n; word++) {
		static const uint64_t nonsense[] = {UINT64_MAX, UINT64_MAX / 2 + 1, 1u << 20};
		const uint64_t kept = record[word];

		for (size_t i = 0; i < 3; i++) {
			record[word] = nonsense[i];
			if (gn_sample_record_read(&sample, finished(n), EVERYTHING))
				continue;
			CHECK(sample.n_values <= n && sample.stack.n_kernel <= n);
			CHECK(3 * sample.n_branches <= n);
			CHECK(sample.stack.stack_bytes <= 8 * n);
		}
		record[word] = kept;
	}
	CHECK_EQ(gn_sample_record_read(&sample, finished(n), EVERYTHING | PERF_SAMPLE_RAW),
		 -EBADMSG);
	CHECK_EQ(gn_sample_record_read(&sample, finished(n), PERF_SAMPLE_IDENTIFIER), -EBADMSG);
}

/* Of samples without a stack: branches are the last of them. */
#define BRANCHES_ALONE (ALWAYS | PERF_SAMPLE_BRANCH_STACK)

static const struct perf_event_header *with_branches(uint64_t n, size_t words)
{
	n_words = 1;
	/* identifier, ip, tasks, time, CPU, and no callchain. */
	for (uint64_t i = 0; i < 6; i++)
		put(0);
	put(n);
	for (size_t i = 0; i < words; i++)
		put(0x401000 + i);
	return finished(n_words);
}

static void branches_are_as_many_as_the_record_has(void)
{
	struct gn_sample_record sample;

	CHECK_EQ(gn_sample_record_read(&sample, with_branches(0, 0), BRANCHES_ALONE), 0);
	CHECK_EQ(sample.n_branches, 0);
	for (uint64_t n = 1; n <= 64; n *= 4) {
		const struct perf_event_header *header = with_branches(n, 3 * n);

		CHECK_EQ(gn_sample_record_read(&sample, header, BRANCHES_ALONE), 0);
		CHECK_EQ(sample.n_branches, n);
		CHECK_EQ(sample.branch[n - 1].to, 0x401000 + 3 * n - 2);
		header = with_branches(n, 3 * n - 1);
		CHECK_EQ(gn_sample_record_read(&sample, header, BRANCHES_ALONE), -EBADMSG);
		header = with_branches(n + 1, 3 * n);
		CHECK_EQ(gn_sample_record_read(&sample, header, BRANCHES_ALONE), -EBADMSG);
	}
	/* Times three words these are 1, 3 and 0. */
	for (uint64_t n = UINT64_MAX / 3; n <= UINT64_MAX / 3 + 2; n++)
		CHECK_EQ(gn_sample_record_read(&sample, with_branches(n, 6), BRANCHES_ALONE),
			 -EBADMSG);
	CHECK_EQ(gn_sample_record_read(&sample, with_branches(UINT64_MAX, 6), BRANCHES_ALONE),
		 -EBADMSG);
}

/* --- counts of groups ------------------------------------------------------------------------- */

static void take(struct gn_group_values **values, uint64_t leader, uint64_t first, uint64_t second,
		 uint64_t since[2])
{
	const struct gn_sampled_value counted[] = {{first, leader}, {second, leader + 1}};

	CHECK_EQ(gn_group_values_take(values, counted, 2, since), 0);
}

static void counts_are_since_the_last_sample_of_the_leader(void)
{
	struct gn_group_values *values = NULL;
	uint64_t since[2];

	take(&values, 10, 100, 7, since);
	CHECK_EQ(since[0], 100);
	CHECK_EQ(since[1], 7);
	/* On another CPU another event leads. */
	take(&values, 20, 5, 1, since);
	CHECK_EQ(since[0], 5);
	take(&values, 10, 150, 7, since);
	CHECK_EQ(since[0], 50);
	CHECK_EQ(since[1], 0);
	take(&values, 20, 6, 4, since);
	CHECK_EQ(since[0], 1);
	CHECK_EQ(since[1], 3);
	/* It began anew. */
	take(&values, 20, 2, 5, since);
	CHECK_EQ(since[0], 2);
	CHECK_EQ(since[1], 1);
	CHECK_EQ(gn_group_values_take(&values, NULL, 0, since), 0);
	gn_group_values_free(&values);
	CHECK(!values);
}

int main(void)
{
	RUN(precise_events_have_addresses_and_weights);
	RUN(members_of_a_group_are_read_and_take_no_samples);
	RUN(branches_are_of_user_code_and_of_samples_alone);
	RUN(nobody_is_led_by_who_comes_later);
	RUN(each_part_is_where_the_kernel_puts_it);
	RUN(short_records_are_none);
	RUN(branches_are_as_many_as_the_record_has);
	RUN(counts_are_since_the_last_sample_of_the_leader);
	return check_result;
}
