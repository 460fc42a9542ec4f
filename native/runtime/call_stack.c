/* Unwinding by the unwind tables of this process, as exceptions of C++ do. */
#include "call_stack.h"

#include <pthread.h>
#include <stddef.h>
#include <unwind.h>

#define PAGE_BYTES 4096u

struct gn_stack_bounds gn_stack_bounds(void)
{
	struct gn_stack_bounds bounds = {0, 0};
	pthread_attr_t attributes;
	void *begin;
	size_t bytes;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return bounds;
	if (!pthread_attr_getstack(&attributes, &begin, &bytes))
		bounds = (struct gn_stack_bounds){(uintptr_t)begin, (uintptr_t)begin + bytes};
	pthread_attr_destroy(&attributes);
	return bounds;
}

struct unwinding {
	struct gn_stack *stack;
	struct gn_stack_callers *callers;
	struct gn_stack_bounds bounds;
	uintptr_t return_address, frame;
	int is_outside; /* of what was called: its caller has been reached */
};

/*
 * Where a return address lies on the stack, and that it does. Of a stack that is not the thread's
 * own it is not known how far it goes: there the caller's page is all that is looked at.
 */
static void check_later(struct unwinding *unwinding, uintptr_t slot, uintptr_t address)
{
	struct gn_stack_callers *callers = unwinding->callers;
	const uintptr_t frame = unwinding->frame;
	const int is_own = frame >= unwinding->bounds.begin && slot < unwinding->bounds.end;

	if (callers->n == GN_STACK_CHECKED || slot < frame || slot % sizeof(uintptr_t) ||
	    (!is_own && slot / PAGE_BYTES != frame / PAGE_BYTES) ||
	    *(const uintptr_t *)slot != address)
		return;
	callers->caller[callers->n].slot = slot;
	callers->caller[callers->n++].address = address;
}

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *context, void *argument)
{
	struct unwinding *unwinding = argument;
	struct gn_stack *stack = unwinding->stack;
	const uintptr_t address = _Unwind_GetIP(context);

	if (!unwinding->is_outside && address != unwinding->return_address)
		return _URC_NO_REASON;
	unwinding->is_outside = 1;
	if (!address || stack->n == GN_STACK_FRAMES_MAX)
		return _URC_END_OF_STACK;
	stack->address[stack->n++] = address;
	/* Before a frame begins, the address that its callee returns to. */
	if (stack->n > 1)
		check_later(unwinding, _Unwind_GetCFA(context) - sizeof(uintptr_t), address);
	return _URC_NO_REASON;
}

void gn_stack_unwind(struct gn_stack *stack, struct gn_stack_callers *callers,
		     uintptr_t return_address, uintptr_t frame, struct gn_stack_bounds bounds)
{
	struct unwinding unwinding = {
		.stack = stack,
		.callers = callers,
		.bounds = bounds,
		.return_address = return_address,
		.frame = frame,
	};

	stack->n = 0;
	callers->n = 0;
	_Unwind_Backtrace(look_at_frame, &unwinding);
	if (!stack->n)
		stack->address[stack->n++] = return_address;
}
