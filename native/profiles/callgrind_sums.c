/* Sums of the costs of callgrind's files: of lines, and of calls. */
#include "callgrind_parts.h"

#include <errno.h>
#include <stdlib.h>

/* Add costs to a chain; both are in the order of events, so that one walk finds all. */
static int add_to_chain(struct gn_callgrind *scan, struct gn_cost_chains *chains, uint32_t *head,
			const int64_t *costs, int n_costs)
{
	uint32_t before = GN_NO_NUMBER, at = *head;

	for (uint32_t event = 0; event < (uint32_t)n_costs; event++) {
		struct gn_cost_cell *cells = chains->cells;

		if (!costs[event])
			continue;
		if (costs[event] < 0)
			scan->is_negative[event] = true;
		for (; at != GN_NO_NUMBER && cells[at].event < event; at = cells[at].next)
			before = at;
		if (at != GN_NO_NUMBER && cells[at].event == event) {
			if (__builtin_add_overflow(cells[at].value, costs[event], &cells[at].value))
				return gn_callgrind_refuse(scan, "costs come to more than a number "
								 "of 64 bits holds");
			continue;
		}
		cells = gn_with_room(cells, chains->n, &chains->room, sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		chains->cells = cells;
		cells[chains->n] = (struct gn_cost_cell){costs[event], at, event};
		at = chains->n++;
		if (before == GN_NO_NUMBER)
			*head = at;
		else
			cells[before].next = at;
	}
	return 0;
}

/* The head of a chain by its number; NULL without memory. */
static uint32_t *head_of(struct gn_heads *heads, uint32_t number)
{
	while (heads->n <= number) {
		uint32_t *of = gn_with_room(heads->of, heads->n, &heads->room, sizeof(*of));

		if (!of)
			return NULL;
		heads->of = of;
		of[heads->n++] = GN_NO_NUMBER;
	}
	return &heads->of[number];
}

int gn_callgrind_number_function(struct gn_callgrind *scan, uint32_t name, uint32_t file,
				 uint32_t object, uint32_t *function)
{
	const uint32_t n = scan->functions.slots.n;
	const int64_t number =
		gn_key_number(&scan->functions, (struct gn_key){{name, file, object}});
	struct gn_callgrind_function *facts;

	if (number < 0)
		return (int)number;
	*function = (uint32_t)number;
	facts = gn_with_room(scan->function_facts, (uint32_t)number, &scan->function_room,
			     sizeof(*facts));
	if (!facts)
		return -ENOMEM;
	scan->function_facts = facts;
	if (number == n)
		facts[number] =
			(struct gn_callgrind_function){.home = *function, .line = GN_NO_NUMBER};
	return 0;
}

int gn_callgrind_number_line(struct gn_callgrind *scan, uint32_t function, uint32_t file,
			     uint32_t line, uint32_t *number)
{
	const int64_t own = gn_key_number(&scan->lines, (struct gn_key){{function, file, line}});

	if (own < 0)
		return (int)own;
	if (own >= scan->lines_most)
		return gn_callgrind_refuse(scan, "more than %u lines of functions",
					   scan->lines_most);
	*number = (uint32_t)own;
	return 0;
}

int gn_callgrind_add_self(struct gn_callgrind *scan, const int64_t *costs, int n_costs)
{
	uint32_t number = scan->line;
	struct gn_heads *heads = &scan->first_place;
	uint32_t *head;

	if (scan->place) {
		const int64_t position = gn_key_number(
			&scan->positions, (struct gn_key){{scan->place, scan->line, 0}});

		if (position < 0)
			return (int)position;
		number = (uint32_t)position;
		heads = &scan->position_heads;
	}
	head = head_of(heads, number);
	if (!head)
		return -ENOMEM;
	for (int event = 0; event < n_costs; event++) {
		struct gn_callgrind_sample *samples;

		if (__builtin_add_overflow(scan->part_sums[event], costs[event],
					   &scan->part_sums[event]))
			return gn_callgrind_refuse(scan, "costs come to more than a number of 64 "
							 "bits holds");
		if (!costs[event] || !scan->has_instructions)
			continue;
		samples = gn_with_room(scan->samples, scan->n_samples, &scan->sample_room,
				       sizeof(*samples));
		if (!samples)
			return -ENOMEM;
		scan->samples = samples;
		samples[scan->n_samples++] = (struct gn_callgrind_sample){
			costs[event], scan->position.address, scan->line,
			scan->place,  (uint32_t)event,	      0};
	}
	scan->n_costs += n_costs > 0;
	return add_to_chain(scan, &scan->self, head, costs, n_costs);
}

int gn_callgrind_add_calls(struct gn_callgrind *scan, const int64_t *costs, int n_costs)
{
	const int64_t arc = gn_key_number(&scan->arcs,
					  (struct gn_key){{scan->place, scan->line, scan->callee}});
	struct gn_callgrind_function *callee = &scan->function_facts[scan->callee];
	uint64_t *calls;
	uint32_t *head;

	if (arc < 0)
		return (int)arc;
	calls = gn_with_room(scan->arc_calls, (uint32_t)arc, &scan->arc_room, sizeof(*calls));
	if (!calls)
		return -ENOMEM;
	scan->arc_calls = calls;
	/* A chain that is not there yet is that of a new arc. */
	if ((uint32_t)arc >= scan->arc_heads.n)
		calls[arc] = 0;
	head = head_of(&scan->arc_heads, (uint32_t)arc);
	if (!head)
		return -ENOMEM;
	if (__builtin_add_overflow(calls[arc], scan->calls, &calls[arc]) || calls[arc] > INT64_MAX)
		return gn_callgrind_refuse(scan, "more calls than a number of 64 bits holds");
	if (!callee->entry_line)
		callee->entry_line = scan->target_line;
	return add_to_chain(scan, &scan->inclusive, head, costs, n_costs);
}

/*
 * Who calls a function may say another file of it than the one that has its costs, or none: it is
 * the one of the same number, else of the same name and object if there is one such only.
 */
int gn_callgrind_find_homes(struct gn_callgrind *scan)
{
	const uint32_t n = scan->functions.slots.n;
	struct gn_key_table alike = {0};
	uint32_t *bodies = malloc((n ? n : 1) * sizeof(*bodies));
	int error = bodies ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < scan->ids.slots.n && !error; i++) {
		const struct gn_callgrind_id *id = &scan->id_facts[i];

		if (id->callee != GN_NO_NUMBER && id->home != GN_NO_NUMBER &&
		    !scan->function_facts[id->callee].has_body)
			scan->function_facts[id->callee].home = id->home;
	}
	for (int pass = 0; pass < 2 && !error; pass++) {
		for (uint32_t i = 0; i < n && !error; i++) {
			struct gn_callgrind_function *facts = &scan->function_facts[i];
			const uint32_t *part = scan->functions.keys[i].part;
			const uint32_t known = alike.slots.n;
			int64_t number;

			if (facts->has_body != !pass || facts->home != i)
				continue;
			number = gn_key_number(&alike, (struct gn_key){{part[0], part[2], 0}});
			if (number < 0)
				error = (int)number;
			else if (number == known)
				bodies[number] = pass ? GN_NO_NUMBER : i;
			else if (!pass)
				bodies[number] = GN_NO_NUMBER;
			else if (bodies[number] != GN_NO_NUMBER)
				facts->home = bodies[number];
		}
	}
	for (uint32_t i = 0; i < n && !error; i++) {
		const struct gn_callgrind_function *facts = &scan->function_facts[i];

		if (facts->home != i && !scan->function_facts[facts->home].entry_line)
			scan->function_facts[facts->home].entry_line = facts->entry_line;
	}
	for (uint32_t i = 0; i < scan->arc_heads.n && !error; i++) {
		const uint32_t home = scan->function_facts[scan->arcs.keys[i].part[2]].home;
		struct gn_callgrind_function *facts = &scan->function_facts[home];

		if (facts->line == GN_NO_NUMBER)
			error = gn_callgrind_number_line(scan, home,
							 scan->functions.keys[home].part[1],
							 facts->entry_line, &facts->line);
	}
	gn_key_table_free(&alike);
	free(bodies);
	return error;
}

uint32_t gn_callgrind_chains(const struct gn_callgrind *scan)
{
	return scan->first_place.n + scan->position_heads.n;
}

static uint32_t chain_costs(const struct gn_cost_chains *chains, uint32_t at, uint32_t of,
			    uint32_t place, struct gn_callgrind_cost *costs, uint32_t most)
{
	uint32_t n = 0;

	for (; at != GN_NO_NUMBER && n < most; at = chains->cells[at].next)
		costs[n++] = (struct gn_callgrind_cost){chains->cells[at].value, of, place,
							chains->cells[at].event, 0};
	return n;
}

uint32_t gn_callgrind_self(const struct gn_callgrind *scan, uint32_t *chain,
			   struct gn_callgrind_cost *costs, uint32_t most)
{
	const uint32_t n_first = scan->first_place.n;
	uint32_t n = 0;

	for (; *chain < gn_callgrind_chains(scan) && most - n >= scan->n_events; ++*chain) {
		if (*chain < n_first) {
			n += chain_costs(&scan->self, scan->first_place.of[*chain], *chain, 0,
					 costs + n, most - n);
		} else {
			const uint32_t at = *chain - n_first;
			const struct gn_key *key = &scan->positions.keys[at];

			n += chain_costs(&scan->self, scan->position_heads.of[at], key->part[1],
					 key->part[0], costs + n, most - n);
		}
	}
	return n;
}

uint32_t gn_callgrind_inclusive(const struct gn_callgrind *scan, uint32_t *arc,
				struct gn_callgrind_cost *costs, uint32_t most)
{
	uint32_t n = 0;

	for (; *arc < scan->arc_heads.n && most - n >= scan->n_events; ++*arc)
		n += chain_costs(&scan->inclusive, scan->arc_heads.of[*arc], *arc,
				 scan->arcs.keys[*arc].part[0], costs + n, most - n);
	return n;
}

struct gn_callgrind_arc gn_callgrind_arc_of(const struct gn_callgrind *scan, uint32_t arc)
{
	const uint32_t *part = scan->arcs.keys[arc].part;

	const struct gn_callgrind_function *callee = &scan->function_facts[part[2]];

	return (struct gn_callgrind_arc){scan->arc_calls[arc], part[0], part[1],
					 scan->function_facts[callee->home].line, 0};
}
