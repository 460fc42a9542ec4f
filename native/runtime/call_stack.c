/* Unwinding by the unwind tables of this process, as exceptions of C++ do. */
#include "call_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unwind.h>

#include "own_calls.h"

#define PAGE_BYTES 4096u
/* Of a main thread's stack without a limit. */
#define STACK_MOST ((uintptr_t)1 << 30)

/* Source: proc_pid_maps(5), in Linux since 6.11; the C library's headers may be older. */
struct mapping_query {
	uint64_t size, flags, address, begin, end, rest[8];
};
#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)

_Static_assert(sizeof(struct mapping_query) == 104, "as struct procmap_query");

/* The mapping's lines, "BEGIN-END ...", up to the one that has the address. */
static int search_lines(int maps, uintptr_t address, struct gn_stack_bounds *bounds)
{
	uintptr_t number[2] = {0, 0};
	int field = 0; /* BEGIN, END, the rest of the line */
	char text[1024];
	ssize_t n;

	while ((n = gn_read(maps, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			const char c = text[i];

			if (c == '\n') {
				number[0] = number[1] = 0;
				field = 0;
			} else if (field < 2 && (c == '-' || c == ' ')) {
				if (field++ && address >= number[0] && address < number[1]) {
					*bounds = (struct gn_stack_bounds){number[0], number[1]};
					return 0;
				}
			} else if (field < 2) {
				number[field] = number[field] * 16 +
						(uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
			}
		}
	return -1;
}

/* Not by pthread_getattr_np(3), which takes memory: a signal's handler may ask. */
static int mapping_of(uintptr_t address, struct gn_stack_bounds *bounds)
{
	struct mapping_query query = {.size = sizeof(query), .address = address};
	const int maps =
		(int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int failed = 0;

	if (maps < 0)
		return -1;
	if (!syscall(SYS_ioctl, maps, QUERY_MAPPING, &query))
		*bounds = (struct gn_stack_bounds){query.begin, query.end};
	else
		failed = search_lines(maps, address, bounds);
	syscall(SYS_close, maps);
	return failed;
}

struct gn_stack_bounds gn_stack_bounds(void)
{
	struct gn_stack_bounds bounds = {0, 0};
	const int before = errno;
	struct rlimit limit;

	if (!mapping_of((uintptr_t)__builtin_frame_address(0), &bounds) &&
	    syscall(SYS_gettid) == syscall(SYS_getpid) && !getrlimit(RLIMIT_STACK, &limit)) {
		/* That of the main thread grows. */
		const uintptr_t most = limit.rlim_cur < STACK_MOST ? limit.rlim_cur : STACK_MOST;

		if (bounds.end > most && bounds.end - most < bounds.begin)
			bounds.begin = bounds.end - most;
	}
	errno = before;
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
