#include "python_stack.h"

#include "python_records.h"

/* _PyInterpreterFrame.owner */
enum { OWNED_BY_THREAD, OWNED_BY_GENERATOR, OWNED_BY_FRAME_OBJECT, OWNED_BY_C_STACK };

#define INSTRUCTION_BYTES 2
#define CHUNK_SIZE_AT 8

/* A frame as it lies in memory. */
struct frame {
	uintptr_t address, code, previous, instruction;
	uint8_t owner, is_entry;
};

/* The current frame of a thread's innermost evaluation loop, and of the one around it. */
struct loops {
	uintptr_t innermost;
	uintptr_t around; /* 0: not known in this version, or none */
	int has_around;
};

static int read_frame(const struct gn_python_reader *reader, uintptr_t address, struct frame *frame)
{
	const struct gn_python_layout *layout = &reader->python->layout;

	if (address & 7 || !gn_probe(reader->probe, address, layout->frame_bytes))
		return -1;
	frame->address = address;
	frame->code = gn_word_at(address + layout->frame_code);
	frame->previous = gn_word_at(address + layout->frame_previous);
	frame->instruction = gn_word_at(address + layout->frame_instruction);
	frame->owner = gn_byte_at(address + layout->frame_owner);
	frame->is_entry = layout->frame_is_entry && gn_byte_at(address + layout->frame_is_entry);
	return frame->owner <= OWNED_BY_C_STACK ? 0 : -1;
}

/* 0, or -1: it cannot be read. */
static int read_loops(const struct gn_python_reader *reader, uintptr_t thread, struct loops *loops)
{
	const struct gn_python_layout *layout = &reader->python->layout;
	uintptr_t cframe, outer;

	memset(loops, 0, sizeof(*loops));
	if (!gn_probe(reader->probe, thread, layout->datastack_top + sizeof(void *)))
		return -1;
	if (!layout->thread_cframe) {
		loops->innermost = gn_word_at(thread + layout->thread_current_frame);
		return 0;
	}
	cframe = gn_word_at(thread + layout->thread_cframe);
	if (cframe & 7 || !gn_probe(reader->probe, cframe, 3 * sizeof(void *)))
		return -1;
	loops->innermost = gn_word_at(cframe + layout->cframe_current_frame);
	outer = gn_word_at(cframe + layout->cframe_previous);
	if (!outer)
		return 0;
	if (outer & 7 || !gn_probe(reader->probe, outer, 3 * sizeof(void *)))
		return -1;
	loops->around = gn_word_at(outer + layout->cframe_current_frame);
	loops->has_around = 1;
	return 0;
}

/*
 * Whether a frame in the newest chunk of the thread's stack of frames lies beyond its top: one that
 * ended, to which a pointer is left over.
 */
static int is_beyond_top(const struct gn_python_reader *reader, uintptr_t thread,
			 const struct frame *frame, const struct gn_code *code)
{
	const struct gn_python_layout *layout = &reader->python->layout;
	const uintptr_t chunk = gn_word_at(thread + layout->datastack_chunk);
	const uintptr_t top = gn_word_at(thread + layout->datastack_top);
	uintptr_t size;

	if (frame->owner != OWNED_BY_THREAD || !chunk || chunk & 7 ||
	    !gn_probe(reader->probe, chunk, CHUNK_SIZE_AT + sizeof(size)))
		return 0;
	size = gn_word_at(chunk + CHUNK_SIZE_AT);
	if (frame->address < chunk || frame->address - chunk >= size)
		return 0;
	return frame->address + layout->frame_bytes + code->n_slots * sizeof(void *) > top;
}

/* 0, or -1: the frame is none. */
static int push(const struct gn_python_reader *reader, uintptr_t thread, const struct frame *frame,
		struct gn_python_stack *stack)
{
	const struct gn_python_layout *layout = &reader->python->layout;
	struct gn_python_frame *pushed = &stack->frame[stack->n];
	struct gn_code code;
	uintptr_t first;

	if (gn_code_find(reader->codes, reader->python, reader->probe, reader->streams, frame->code,
			 &code))
		return -1;
	first = frame->code + layout->code_instructions;
	if (frame->instruction & 1 || frame->instruction + INSTRUCTION_BYTES < first ||
	    frame->instruction >= first + (uintptr_t)code.n_instructions * INSTRUCTION_BYTES)
		return -1;
	if (!stack->n && is_beyond_top(reader, thread, frame, &code))
		return -1;
	pushed->code = code.number;
	pushed->instruction = frame->instruction < first
				      ? -1
				      : (int32_t)((frame->instruction - first) / INSTRUCTION_BYTES);
	pushed->is_entry = frame->is_entry;
	stack->n++;
	return 0;
}

/*
 * At the frame of C's call. A loop may have no function any more while what its last one had is
 * freed: it stands there as one without code.
 */
static void end_loop(struct gn_python_stack *stack)
{
	struct gn_python_frame *outermost;

	if (!stack->n || stack->frame[stack->n - 1].is_entry) {
		outermost = &stack->frame[stack->n++];
		outermost->code = GN_CODE_NONE;
		outermost->instruction = -1;
	} else {
		outermost = &stack->frame[stack->n - 1];
	}
	outermost->is_entry = 1;
}

/*
 * Up to 3.12 an evaluation loop has a structure with its current frame, which is not yet filled in
 * for a moment after the loop has begun. Then the chain of frames does not lead to where the loop
 * around this one is.
 */
int gn_python_stack_read(const struct gn_python_reader *reader, uintptr_t thread,
			 struct gn_python_stack *stack)
{
	const int has_shims = !reader->python->layout.frame_is_entry;
	struct loops loops;
	int is_first_loop = 1;

	stack->n = 0;
	if (read_loops(reader, thread, &loops))
		return GN_PYTHON_UNREADABLE;
	for (uintptr_t next = loops.innermost; next;) {
		struct frame frame;
		int ends_loop;

		if (stack->n == GN_PYTHON_DEPTH_MAX)
			return GN_PYTHON_CUT;
		if (read_frame(reader, next, &frame))
			goto unreadable;
		ends_loop = has_shims ? frame.owner == OWNED_BY_C_STACK : frame.is_entry;
		if (has_shims && ends_loop) {
			end_loop(stack);
		} else if (push(reader, thread, &frame, stack)) {
			goto unreadable;
		}
		if (ends_loop && is_first_loop) {
			if (loops.has_around && frame.previous != loops.around)
				goto unreadable;
			is_first_loop = 0;
		}
		next = frame.previous;
	}
	if (stack->n && !stack->frame[stack->n - 1].is_entry)
		goto unreadable;
	return stack->n ? GN_PYTHON_READ : GN_PYTHON_OUTSIDE;
unreadable:
	stack->n = 0;
	return GN_PYTHON_UNREADABLE;
}
