/* Source: linux/perf_event.h, enum perf_callchain_context. */
#include "stack_frames.h"

#include <errno.h>

#include "kernel_records.h"

/* What is no less is no address. */
#define CONTEXT_LEAST ((uint64_t)-4095)
#define CONTEXT_HYPERVISOR ((uint64_t)-32)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_GUEST ((uint64_t)-2048)
#define CONTEXT_GUEST_LEAST ((uint64_t)-2560)
#define BRANCH_BYTES 24u

static enum gn_frame_mode mode_of_sample(uint64_t ip, unsigned int mode)
{
	switch (mode) {
	case GN_MISC_KERNEL:
		return GN_MODE_KERNEL;
	case GN_MISC_USER:
		return GN_MODE_USER;
	case GN_MISC_HYPERVISOR:
		return GN_MODE_HYPERVISOR;
	case GN_MISC_GUEST_KERNEL:
	case GN_MISC_GUEST_USER:
		return GN_MODE_GUEST;
	default:
		return ip >> 63 ? GN_MODE_KERNEL : GN_MODE_USER;
	}
}

static enum gn_frame_mode mode_of_context(uint64_t context, enum gn_frame_mode before)
{
	if (context == CONTEXT_HYPERVISOR)
		return GN_MODE_HYPERVISOR;
	if (context == CONTEXT_KERNEL)
		return GN_MODE_KERNEL;
	if (context == CONTEXT_USER || context == CONTEXT_USER_DEFERRED)
		return GN_MODE_USER;
	return context >= CONTEXT_GUEST_LEAST && context <= CONTEXT_GUEST ? GN_MODE_GUEST : before;
}

static void push(struct gn_stack_frames *frames, uint64_t address, enum gn_frame_mode mode)
{
	if (frames->n == GN_STACK_FRAMES_MAX) {
		frames->end = GN_UNWIND_TOO_DEEP;
		return;
	}
	frames->has_user |= mode == GN_MODE_USER && frames->n;
	frames->frame[frames->n].address = address;
	frames->frame[frames->n++].mode = mode;
}

void gn_stack_frames_begin(struct gn_stack_frames *frames, uint64_t ip, unsigned int mode)
{
	frames->n = 0;
	frames->end = GN_UNWIND_COMPLETE;
	frames->is_guessed = frames->has_user = frames->has_stack = false;
	push(frames, ip, mode_of_sample(ip, mode));
}

/* Addresses of one mode: of all but the first one the calls before them. */
static void push_all(struct gn_stack_frames *frames, const uint8_t *address, uint64_t n, bool swaps)
{
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t one = gn_field_64(address + 8 * i, swaps);

		if (one < CONTEXT_LEAST)
			push(frames, one - (i && one), GN_MODE_USER);
	}
}

static int push_deferred(struct gn_stack_frames *frames, struct gn_perf_file *file, uint64_t cookie)
{
	struct gn_perf_header header;
	struct gn_fields fields;
	const uint8_t *record, *address;
	uint64_t position, n;

	if (gn_perf_deferred(file, cookie, &position))
		return -ENOENT;
	record = gn_perf_record(file, position, &header);
	if (!record)
		return gn_perf_refuse(file, file->at, "it cannot be read any more");
	fields = (struct gn_fields){record + GN_RECORD_HEADER_BYTES,
				    header.size - GN_RECORD_HEADER_BYTES, file->swaps, false};
	gn_fields_64(&fields);
	n = gn_fields_64(&fields);
	address = gn_fields_words(&fields, n);
	if (!address)
		return gn_perf_refuse(file, file->at, "a call chain that is shorter than it says");
	/* It may begin with the mark of its mode. */
	if (n && gn_field_64(address, file->swaps) >= CONTEXT_LEAST) {
		address += 8;
		n--;
	}
	push_all(frames, address, n, file->swaps);
	return 0;
}

int gn_stack_frames_chain(struct gn_stack_frames *frames, struct gn_perf_file *file,
			  const uint8_t *chain, uint64_t n)
{
	enum gn_frame_mode mode = frames->frame[0].mode;
	bool is_first = true, is_of_leaf = true;

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t one = gn_field_64(chain + 8 * i, file->swaps);

		if (one == CONTEXT_USER_DEFERRED && i + 1 < n)
			return push_deferred(frames, file,
					     gn_field_64(chain + 8 * (i + 1), file->swaps));
		if (one >= CONTEXT_LEAST) {
			mode = mode_of_context(one, mode);
			is_first = true;
			continue;
		}
		/* The chain begins with the sample itself, or what is close to it. */
		if (!is_of_leaf || mode != frames->frame[0].mode)
			push(frames, one - (!is_first && one), mode);
		is_first = is_of_leaf = false;
	}
	return 0;
}

void gn_stack_frames_branches(struct gn_stack_frames *frames, const uint8_t *branch, uint64_t n,
			      bool swaps)
{
	uint32_t kept = 0;

	/* What frame pointers led to in user code is told better by these. */
	for (uint32_t i = 0; i < frames->n; i++)
		if (!i || frames->frame[i].mode != GN_MODE_USER)
			frames->frame[kept++] = frames->frame[i];
	frames->n = kept;
	if (frames->frame[0].mode != GN_MODE_USER)
		push(frames, gn_field_64(branch + 8, swaps), GN_MODE_USER);
	for (uint64_t i = 0; i < n; i++)
		push(frames, gn_field_64(branch + BRANCH_BYTES * i, swaps), GN_MODE_USER);
}

/* The registers that are needed, of those that were asked for; 0 for others. The number, 0 where
 * the stack pointer or the program counter is missing. */
static size_t chosen_registers(const struct gn_event_attr *attr, const uint8_t *registers,
			       enum gn_unwind_machine machine,
			       uint64_t values[GN_UNWIND_REGISTERS_MAX])
{
	const uint64_t wanted = gn_unwind_perf_mask(machine);
	/* Source: Linux, arch/{x86,arm64}/include/uapi/asm/perf_regs.h: SP and IP, SP and PC. */
	const uint64_t needed = (uint64_t)3 << (machine == GN_UNWIND_X86_64 ? 7 : 31);
	size_t n = 0, at = 0;

	if ((attr->user_registers & needed) != needed)
		return 0;
	for (unsigned int bit = 0; bit < 64; bit++) {
		const bool is_there = attr->user_registers >> bit & 1;

		if (wanted >> bit & 1)
			values[n++] = is_there ? gn_field_64(registers + 8 * at, false) : 0;
		at += is_there;
	}
	return n;
}

void gn_stack_frames_unwind(struct gn_stack_frames *frames, struct gn_unwind_space *space,
			    const struct gn_event_attr *attr, const struct gn_file_sample *sample,
			    int machine)
{
	uint64_t values[GN_UNWIND_REGISTERS_MAX];
	struct gn_unwind_registers registers;
	struct gn_unwind_result result = {.end = GN_UNWIND_NO_RULES};
	size_t n = 0;

	if (space && machine >= 0)
		n = chosen_registers(attr, sample->registers, (enum gn_unwind_machine)machine,
				     values);
	if (n && !gn_unwind_from_perf((enum gn_unwind_machine)machine, sample->registers_abi,
				      values, n, &registers))
		gn_unwind_stack(space, &registers, sample->stack,
				registers.value[machine == GN_UNWIND_X86_64 ? 7 : 31],
				sample->stack_bytes, frames->unwound, GN_STACK_FRAMES_MAX, &result);
	frames->is_guessed = result.n_guessed > 0;
	/* A sample in user code is the first of them itself. */
	for (uint32_t i = frames->frame[0].mode == GN_MODE_USER; i < result.n; i++) {
		const struct gn_unwind_frame *frame = &frames->unwound[i];

		push(frames, frame->address - (frame->flags & GN_UNWIND_RETURN ? 1 : 0),
		     GN_MODE_USER);
	}
	if (frames->end == GN_UNWIND_COMPLETE)
		frames->end = result.end;
}
