/* Values of derived events, and what their programs come to. */
#include "formula.h"

#include <math.h>
#include <string.h>

/* Larger factors could carry a sum of counts beyond 64 bits. */
#define FACTOR_MAX 4096

static int apply(enum gn_op_kind kind, double left, double right, double *result)
{
	switch (kind) {
	case GN_OP_ADD:
		*result = left + right;
		break;
	case GN_OP_SUBTRACT:
		*result = left - right;
		break;
	case GN_OP_MULTIPLY:
		*result = left * right;
		break;
	case GN_OP_DIVIDE:
		if (right == 0)
			return -1;
		*result = left / right;
		break;
	default:
		return -1;
	}
	return isfinite(*result) ? 0 : -1;
}

static int is_operand(enum gn_op_kind kind)
{
	return kind == GN_OP_NATIVE || kind == GN_OP_CONSTANT || kind == GN_OP_SECONDS;
}

int gn_event_evaluate_timed(const struct gn_event *event, const double *counts, double seconds,
			    double *result)
{
	double stack[GN_STACK_MAX];
	int depth = 0;

	for (int i = 0; i < event->ops; i++) {
		const struct gn_op *op = &event->op[i];

		if (is_operand(op->kind)) {
			if (depth == GN_STACK_MAX)
				return -1;
			stack[depth++] = op->kind == GN_OP_NATIVE    ? counts[op->native]
					 : op->kind == GN_OP_SECONDS ? seconds
								     : op->constant;
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

int gn_program_is_sound(const struct gn_program *program, int natives)
{
	int depth = 0;

	for (int i = 0; i < program->n; i++) {
		const struct gn_op *op = &program->op[i];

		if (!is_operand(op->kind)) {
			if (op->kind < GN_OP_ADD || op->kind > GN_OP_DIVIDE || depth < 2)
				return 0;
			depth--;
			continue;
		}
		if (op->kind == GN_OP_NATIVE && (op->native < 0 || op->native >= natives))
			return 0;
		if (depth++ == GN_STACK_MAX)
			return 0;
	}
	return depth == 1;
}

int gn_program_is_timed(const struct gn_program *program)
{
	for (int i = 0; i < program->n; i++)
		if (program->op[i].kind == GN_OP_SECONDS)
			return 1;
	return 0;
}

/* An operand as a constant and a factor for each native. */
struct linear {
	double constant;
	double factor[GN_NATIVES_MAX];
	int is_constant;
};

static void add(struct linear *left, const struct linear *right, double sign)
{
	left->constant += sign * right->constant;
	for (int i = 0; i < GN_NATIVES_MAX; i++)
		left->factor[i] += sign * right->factor[i];
	left->is_constant &= right->is_constant;
}

/* 0 where the result is no such sum. */
static int scale(struct linear *left, const struct linear *right, enum gn_op_kind kind)
{
	const struct linear copy = *left;
	double by;

	if (kind == GN_OP_MULTIPLY && left->is_constant) {
		*left = *right;
		right = &copy;
	}
	by = right->constant;
	if (!right->is_constant || (kind == GN_OP_DIVIDE && by == 0))
		return 0;
	left->constant = kind == GN_OP_MULTIPLY ? left->constant * by : left->constant / by;
	for (int i = 0; i < GN_NATIVES_MAX; i++) {
		double *factor = &left->factor[i];

		*factor = kind == GN_OP_MULTIPLY ? *factor * by : *factor / by;
	}
	return 1;
}

int gn_program_factors(const struct gn_program *program, int natives, int64_t *factor)
{
	struct linear stack[GN_STACK_MAX];
	int depth = 0, is_any = 0;

	for (int i = 0; i < program->n; i++) {
		const struct gn_op *op = &program->op[i];
		struct linear *top = &stack[depth];

		switch (op->kind) {
		case GN_OP_NATIVE:
		case GN_OP_CONSTANT:
			memset(top, 0, sizeof(*top));
			top->is_constant = op->kind == GN_OP_CONSTANT;
			top->constant = top->is_constant ? op->constant : 0;
			if (!top->is_constant)
				top->factor[op->native] = 1;
			depth++;
			break;
		case GN_OP_ADD:
		case GN_OP_SUBTRACT:
			depth--;
			add(&stack[depth - 1], &stack[depth], op->kind == GN_OP_ADD ? 1 : -1);
			break;
		case GN_OP_MULTIPLY:
		case GN_OP_DIVIDE:
			depth--;
			if (!scale(&stack[depth - 1], &stack[depth], op->kind))
				return 0;
			break;
		default:
			return 0;
		}
	}
	if (stack[0].constant != 0)
		return 0;
	for (int i = 0; i < natives; i++) {
		const double native_factor = stack[0].factor[i];

		if (!isfinite(native_factor) || fabs(native_factor) >= FACTOR_MAX ||
		    native_factor != trunc(native_factor))
			return 0;
		is_any |= native_factor != 0;
		factor[i] = (int64_t)native_factor;
	}
	return is_any;
}

const char *gn_program_kind(const struct gn_program *program, const char *text, int natives)
{
	int64_t factor[GN_NATIVES_MAX];
	int is_sum = 1, is_difference = 1;

	if (gn_program_is_timed(program))
		return "per second";
	if (!gn_program_factors(program, natives, factor))
		return strchr(text, '|') ? "postfix" : "infix";
	for (int i = 0; i < natives; i++) {
		is_sum &= factor[i] == 1;
		is_difference &= factor[i] == (i ? -1 : 1);
	}
	if (natives == 1 && is_sum)
		return "not derived";
	if (is_sum)
		return "sum";
	/* One native alone is no difference: its set of subtracted factors is empty. */
	if (natives > 1 && is_difference)
		return "difference";
	return strchr(text, '|') ? "postfix" : "infix";
}
