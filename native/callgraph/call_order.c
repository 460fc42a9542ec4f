#include "call_order.h"

#include <errno.h>
#include <stdlib.h>

enum { NEW = 0 };
#define BUSY UINT32_MAX
#define NOWHERE UINT32_MAX

/* A function while the graph is walked through. */
struct visited {
	uint32_t rank;	   /* NEW, BUSY, or from 1 on */
	uint32_t next_arc; /* where its arcs are gone on with */
	uint32_t position; /* on the stack */
	uint32_t head;	   /* the head of its cycle, or one that was taken in by it; else itself */
	uint32_t first_member, last_member, next_member; /* without the head, NOWHERE at the end */
};

struct walk {
	struct visited *functions;
	uint32_t *stack, n_stack;
	uint32_t *free, n_free; /* positions of functions on the stack that no cycle has taken in */
	uint32_t last_rank;
};

static uint32_t head_of(struct visited *functions, uint32_t function)
{
	while (functions[function].head != function) {
		struct visited *visited = &functions[function];

		visited->head = functions[visited->head].head;
		function = visited->head;
	}
	return function;
}

static void push(struct walk *walk, uint32_t function, uint32_t first_arc)
{
	struct visited *visited = &walk->functions[function];

	visited->rank = BUSY;
	visited->next_arc = first_arc;
	visited->position = walk->n_stack;
	walk->free[walk->n_free++] = walk->n_stack;
	walk->stack[walk->n_stack++] = function;
}

static void append(struct visited *functions, uint32_t head, uint32_t taken)
{
	struct visited *of_head = &functions[head], *of_taken = &functions[taken];

	of_taken->head = head;
	of_taken->next_member = of_taken->first_member;
	if (of_head->last_member == NOWHERE)
		of_head->first_member = taken;
	else
		functions[of_head->last_member].next_member = taken;
	of_head->last_member = of_taken->first_member == NOWHERE ? taken : of_taken->last_member;
	of_taken->first_member = of_taken->last_member = NOWHERE;
}

/* Make one cycle of all that is on the stack from a position on. */
static void take_in(struct walk *walk, uint32_t top)
{
	const uint32_t head = head_of(walk->functions, walk->stack[top]);
	uint32_t first = walk->n_free;

	while (first && walk->free[first - 1] > top)
		first--;
	for (uint32_t i = first; i < walk->n_free; i++)
		if (walk->stack[walk->free[i]] != head)
			append(walk->functions, head, walk->stack[walk->free[i]]);
	walk->n_free = first;
}

static void pop(struct walk *walk)
{
	const uint32_t function = walk->stack[--walk->n_stack];
	struct visited *visited = &walk->functions[function];

	visited->position = NOWHERE;
	if (visited->head != function)
		return;
	walk->n_free--;
	visited->rank = ++walk->last_rank;
	for (uint32_t member = visited->first_member; member != NOWHERE;
	     member = walk->functions[member].next_member)
		walk->functions[member].rank = walk->last_rank;
}

static void meet(struct walk *walk, uint32_t function, uint32_t first_arc)
{
	const struct visited *visited = &walk->functions[function];
	uint32_t top;

	if (visited->rank == NEW) {
		push(walk, function, first_arc);
	} else if (visited->rank == BUSY) {
		top = visited->position;
		if (top == NOWHERE)
			top = walk->functions[head_of(walk->functions, function)].position;
		if (top + 1 < walk->n_stack)
			take_in(walk, top);
	}
}

static void walk_through(struct walk *walk, uint32_t n, const struct gn_arc_lists *from,
			 const int32_t *callee)
{
	for (uint32_t root = 0; root < n; root++) {
		if (walk->functions[root].rank == NEW)
			push(walk, root, from->first[root]);
		while (walk->n_stack) {
			const uint32_t function = walk->stack[walk->n_stack - 1];
			struct visited *visited = &walk->functions[function];

			if (visited->next_arc == from->first[function + 1]) {
				pop(walk);
			} else {
				const uint32_t arc = from->arcs[visited->next_arc++];

				meet(walk, (uint32_t)callee[arc], from->first[callee[arc]]);
			}
		}
	}
}

/* Functions by rank; those of one rank as they are numbered. */
static int sort_by_rank(struct gn_call_order *order, const struct walk *walk, uint32_t n)
{
	uint32_t *next = gn_zeroed((size_t)walk->last_rank + 2, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		next[walk->functions[i].rank + 1]++;
	for (uint32_t rank = 1; rank <= walk->last_rank; rank++)
		next[rank] += next[rank - 1];
	for (uint32_t i = 0; i < n; i++)
		order->by_rank[next[walk->functions[i].rank]++] = i;
	free(next);
	return 0;
}

static void list_cycles(struct gn_call_order *order, const struct visited *functions, uint32_t n)
{
	uint32_t n_members = 0;

	for (uint32_t head = 0; head < n; head++) {
		if (functions[head].head != head || functions[head].first_member == NOWHERE)
			continue;
		order->first_member[order->n_cycles++] = n_members;
		order->members[n_members++] = head;
		for (uint32_t member = functions[head].first_member; member != NOWHERE;
		     member = functions[member].next_member)
			order->members[n_members++] = member;
	}
	order->first_member[order->n_cycles] = n_members;
}

int gn_call_order_make(struct gn_call_order *order, uint32_t n, const struct gn_arc_lists *from,
		       const int32_t *callee)
{
	struct walk walk = {
		.functions = gn_zeroed(n, sizeof(*walk.functions)),
		.stack = gn_zeroed(n, sizeof(*walk.stack)),
		.free = gn_zeroed(n, sizeof(*walk.free)),
	};
	int failed = -ENOMEM;

	order->by_rank = gn_zeroed(n, sizeof(*order->by_rank));
	order->members = gn_zeroed(n, sizeof(*order->members));
	order->first_member = gn_zeroed((size_t)n / 2 + 1, sizeof(*order->first_member));
	if (!walk.functions || !walk.stack || !walk.free || !order->by_rank || !order->members ||
	    !order->first_member)
		goto end;
	for (uint32_t i = 0; i < n; i++)
		walk.functions[i] = (struct visited){
			.head = i,
			.position = NOWHERE,
			.first_member = NOWHERE,
			.last_member = NOWHERE,
			.next_member = NOWHERE,
		};
	walk_through(&walk, n, from, callee);
	list_cycles(order, walk.functions, n);
	failed = sort_by_rank(order, &walk, n);
end:
	free(walk.functions);
	free(walk.stack);
	free(walk.free);
	return failed;
}

void gn_call_order_free(struct gn_call_order *order)
{
	free(order->by_rank);
	free(order->first_member);
	free(order->members);
	*order = (struct gn_call_order){0};
}
