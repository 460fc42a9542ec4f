/* Values of derived events. */
#include <math.h>

#include "resolve.h"

static int apply(enum gn_op_kind kind, double left, double right, double *result)
{
	switch (kind) {
	case GN_OP_ADD:
		*result = left + right;
		return 0;
	case GN_OP_SUBTRACT:
		*result = left - right;
		return 0;
	case GN_OP_MULTIPLY:
		*result = left * right;
		return 0;
	case GN_OP_DIVIDE:
		if (right == 0)
			return -1;
		*result = left / right;
		return 0;
	default:
		return -1;
	}
}

int gn_event_evaluate(const struct gn_event *event, const double *counts, double *result)
{
	double stack[GN_STACK_MAX];
	int depth = 0;

	for (int i = 0; i < event->ops; i++) {
		const struct gn_op *op = &event->op[i];

		if (op->kind == GN_OP_NATIVE || op->kind == GN_OP_CONSTANT) {
			if (depth == GN_STACK_MAX)
				return -1;
			stack[depth++] =
				op->kind == GN_OP_NATIVE ? counts[op->native] : op->constant;
			continue;
		}
		if (depth < 2 ||
		    apply(op->kind, stack[depth - 2], stack[depth - 1], &stack[depth - 2]))
			return -1;
		depth--;
	}
	if (depth != 1 || !isfinite(stack[0]))
		return -1;
	*result = stack[0];
	return 0;
}
