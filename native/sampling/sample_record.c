#include "sample_record.h"

#include <errno.h>
#include <gnomon/unwind.h>
#include <string.h>

#include "record_words.h"

#define ALWAYS                                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)
#define AT_TIMES                                                                                   \
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |        \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |                     \
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_BRANCH_STACK)
#define BRANCH_WORDS (sizeof(struct perf_branch_entry) / sizeof(uint64_t))

uint64_t gn_sample_record_id(const struct perf_event_header *header)
{
	struct gn_words words = gn_words_of(header);

	return gn_words_take_one(&words);
}

static void take_values(struct gn_sample_record *sample, struct gn_words *words)
{
	/* More than a record has room for would overflow when it is multiplied. */
	sample->n_values = gn_words_take_one(words);
	if (sample->n_values > words->n)
		words->is_short = 1;
	sample->value = (const void *)gn_words_take(words, 2 * sample->n_values);
}

static void take_branches(struct gn_sample_record *sample, struct gn_words *words)
{
	/* Without PERF_SAMPLE_BRANCH_HW_INDEX no word stands between number and branches. */
	sample->n_branches = gn_words_take_one(words);
	if (sample->n_branches > words->n)
		words->is_short = 1;
	sample->branch = (const void *)gn_words_take(words, BRANCH_WORDS * sample->n_branches);
}

static void take_registers(struct gn_sampled_stack *stack, struct gn_words *words)
{
	stack->abi = gn_words_take_one(words);
	if (stack->abi) {
		const int machine = gn_unwind_own_machine();

		stack->n_registers = (size_t)__builtin_popcountll(
			gn_unwind_perf_mask((enum gn_unwind_machine)machine));
		stack->registers = gn_words_take(words, stack->n_registers);
	}
}

static void take_stack(struct gn_sampled_stack *stack, struct gn_words *words)
{
	const uint64_t bytes = gn_words_take_one(words);

	stack->stack = gn_words_take(words, bytes / sizeof(uint64_t));
	if (bytes)
		stack->stack_bytes = gn_words_take_one(words);
	if (stack->stack_bytes > bytes)
		words->is_short = 1;
}

int gn_sample_record_read(struct gn_sample_record *sample, const struct perf_event_header *header,
			  uint64_t sample_type)
{
	struct gn_words words = gn_words_of(header);
	uint32_t task[2], cpu[2];

	memset(sample, 0, sizeof(*sample));
	if ((sample_type & ALWAYS) != ALWAYS || sample_type & ~(uint64_t)(ALWAYS | AT_TIMES))
		return -EBADMSG;
	gn_words_take_one(&words);
	sample->ip = gn_words_take_one(&words);
	gn_words_take_two(&words, task);
	sample->pid = (int32_t)task[0];
	sample->tid = (int32_t)task[1];
	sample->time_ns = gn_words_take_one(&words);
	if (sample_type & PERF_SAMPLE_ADDR)
		sample->data_address = gn_words_take_one(&words);
	gn_words_take_two(&words, cpu);
	sample->cpu = cpu[0];
	if (sample_type & PERF_SAMPLE_PERIOD)
		sample->period = gn_words_take_one(&words);
	if (sample_type & PERF_SAMPLE_READ)
		take_values(sample, &words);
	if (sample_type & PERF_SAMPLE_CALLCHAIN) {
		sample->stack.n_kernel = gn_words_take_one(&words);
		sample->stack.kernel = gn_words_take(&words, sample->stack.n_kernel);
	}
	if (sample_type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(sample, &words);
	if (sample_type & PERF_SAMPLE_REGS_USER)
		take_registers(&sample->stack, &words);
	if (sample_type & PERF_SAMPLE_STACK_USER)
		take_stack(&sample->stack, &words);
	if (sample_type & PERF_SAMPLE_WEIGHT)
		sample->weight = gn_words_take_one(&words);
	if (sample_type & PERF_SAMPLE_DATA_SRC)
		sample->data_source = gn_words_take_one(&words);
	return words.is_short ? -EBADMSG : 0;
}
