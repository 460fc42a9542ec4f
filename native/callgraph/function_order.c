#include "function_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is sorted by: smaller ones come first, those that are equal as they are numbered. */
struct gn_sort_key {
	double value;
	int64_t calls;
	const struct gn_label *name;
	uint32_t number;
	uint8_t group, kind; /* before the value, and behind it */
};

static int compare_names(const struct gn_label *one, const struct gn_label *other)
{
	const size_t common = one->size < other->size ? one->size : other->size;
	const int difference = memcmp(one->bytes, other->bytes, common);

	if (difference)
		return difference;
	return one->size < other->size ? -1 : one->size > other->size;
}

static int compare(const void *a, const void *b)
{
	const struct gn_sort_key *one = a, *other = b;

	if (one->group != other->group)
		return one->group < other->group ? -1 : 1;
	if (one->value < other->value || one->value > other->value)
		return one->value < other->value ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	if (one->calls != other->calls)
		return one->calls < other->calls ? -1 : 1;
	if (one->name && other->name) {
		const int difference = compare_names(one->name, other->name);

		if (difference)
			return difference;
	}
	return one->number < other->number ? -1 : one->number > other->number;
}

/* The smallest number cannot be negated. */
static int64_t negated(int64_t calls)
{
	return calls == INT64_MIN ? INT64_MAX : -calls;
}

/* Most functions have few arcs: for these qsort(), which copies, takes longer than the rest. */
static void sort(struct gn_sort_key *keys, uint32_t n)
{
	enum { FEW = 12 };

	if (n > FEW) {
		qsort(keys, n, sizeof(*keys), compare);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		const struct gn_sort_key moved = keys[i];
		uint32_t to = i;

		for (; to && compare(&moved, &keys[to - 1]) < 0; to--)
			keys[to] = keys[to - 1];
		keys[to] = moved;
	}
}

/* Keys for so many to be listed; NULL without memory. */
static struct gn_sort_key *room_for(struct gn_listed *listed, uint32_t n)
{
	listed->n = 0;
	if (!listed->keys || n > listed->room) {
		const uint32_t room = n + n / 2 + 16;

		gn_listed_free(listed);
		listed->numbers = gn_zeroed(room, sizeof(*listed->numbers));
		listed->keys = gn_zeroed(room, sizeof(*listed->keys));
		if (!listed->numbers || !listed->keys) {
			gn_listed_free(listed);
			return NULL;
		}
		listed->room = room;
	}
	return listed->keys;
}

static void list_sorted(struct gn_listed *listed, uint32_t n)
{
	sort(listed->keys, n);
	for (; listed->n < n; listed->n++)
		listed->numbers[listed->n] = listed->keys[listed->n].number;
}

void gn_listed_free(struct gn_listed *listed)
{
	free(listed->numbers);
	free(listed->keys);
	*listed = (struct gn_listed){0};
}

bool gn_is_of_profiling(const struct gn_label *name)
{
	/* Source: GNU gprof 2.40. */
	static const char *const names[] = {
		"_gprof_mcount",     "mcount",	   "_mcount",  "__mcount",
		"__mcount_internal", "__mcleanup", "<locore>", "<hicore>",
	};

	if (!name->size || !strchr("_m<", name->bytes[0]))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == name->size && !memcmp(names[i], name->bytes, name->size))
			return true;
	return false;
}

int gn_number_nodes(struct gn_call_graph *graph)
{
	const struct gn_call_profile *profile = graph->profile;
	enum { CYCLE, FUNCTION, WITH_UNDERSCORE };
	struct gn_listed listed = {0};
	struct gn_sort_key *keys = room_for(&listed, graph->n_nodes);

	if (!keys)
		return -ENOMEM;
	for (uint32_t node = 0; node < graph->n_nodes; node++) {
		keys[node] = (struct gn_sort_key){
			.value = -(graph->own[node] + graph->children[node]),
			.number = node,
			.kind = CYCLE,
		};
		if (node >= profile->n_functions)
			continue;
		keys[node].name = &profile->names[node];
		keys[node].calls = negated(graph->shares.calls[node]);
		keys[node].kind = keys[node].name->size && keys[node].name->bytes[0] == '_'
					  ? WITH_UNDERSCORE
					  : FUNCTION;
	}
	list_sorted(&listed, graph->n_nodes);
	for (uint32_t i = 0; i < listed.n; i++) {
		graph->by_index[i] = (int32_t)listed.numbers[i];
		graph->index[listed.numbers[i]] = (int32_t)i + 1;
	}
	gn_listed_free(&listed);
	return 0;
}

int gn_list_flat(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused)
{
	const struct gn_call_profile *profile = graph->profile;
	struct gn_sort_key *keys = room_for(listed, profile->n_functions);
	uint32_t n = 0;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->n_functions; i++) {
		if (!with_unused && profile->own[i] == 0 && graph->shares.calls[i] <= 0)
			continue;
		if (gn_is_of_profiling(&profile->names[i]))
			continue;
		keys[n++] = (struct gn_sort_key){.value = -profile->own[i],
						 .calls = negated(graph->shares.calls[i]),
						 .name = &profile->names[i],
						 .number = i};
	}
	list_sorted(listed, n);
	return 0;
}

bool gn_has_entry(const struct gn_call_graph *graph, uint32_t node, bool with_unused)
{
	return graph->is_shown[node] &&
	       (with_unused || graph->own[node] != 0 || graph->children[node] != 0 ||
		graph->shares.calls[node] > 0 || graph->shares.self_calls[node] > 0);
}

int gn_list_entries(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused)
{
	if (!room_for(listed, graph->n_nodes))
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n_nodes; i++)
		if (gn_has_entry(graph, (uint32_t)graph->by_index[i], with_unused))
			listed->numbers[listed->n++] = (uint32_t)graph->by_index[i];
	return 0;
}

int gn_list_index(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused,
		  bool has_paths)
{
	const struct gn_call_profile *profile = graph->profile;
	enum { FUNCTION, CYCLE };
	struct gn_sort_key *keys = room_for(listed, graph->n_nodes);
	uint32_t n = 0;

	if (!keys)
		return -ENOMEM;
	for (uint32_t node = 0; node < graph->n_nodes; node++) {
		const bool is_cycle = node >= profile->n_functions;

		if (is_cycle || with_unused || profile->own[node] != 0 ||
		    graph->shares.calls[node] > 0 || (has_paths && graph->children_time[node] != 0))
			keys[n++] = (struct gn_sort_key){.group = is_cycle ? CYCLE : FUNCTION,
							 .name = is_cycle ? NULL
									  : &profile->names[node],
							 .number = node};
	}
	list_sorted(listed, n);
	return 0;
}

/* Calls of a function by itself come first, then those within its cycle, then the others. */
static int list_arcs(struct gn_listed *listed, const struct gn_call_graph *graph,
		     const struct gn_arc_lists *lists, uint32_t function, bool is_reversed)
{
	const struct gn_call_profile *profile = graph->profile;
	enum { ITSELF, WITHIN, OTHER };
	const uint32_t first = lists->first[function], n = lists->first[function + 1] - first;
	struct gn_sort_key *keys = room_for(listed, n);

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t arc = lists->arcs[first + i];
		const int32_t caller = profile->caller[arc], callee = profile->callee[arc];
		struct gn_sort_key *key = &keys[i];

		*key = (struct gn_sort_key){.group = OTHER, .number = arc};
		if (caller == callee)
			key->group = ITSELF;
		else if (graph->shares.node_of[caller] == graph->shares.node_of[callee])
			key->group = WITHIN;
		if (key->group == OTHER)
			key->value = graph->arc_own[arc] + graph->arc_children[arc];
		if (key->group != ITSELF)
			key->calls = profile->calls[arc];
		if (is_reversed) {
			key->group = OTHER - key->group;
			key->value = -key->value;
			key->calls = negated(key->calls);
		}
	}
	list_sorted(listed, n);
	return 0;
}

int gn_list_callers(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t function)
{
	return list_arcs(listed, graph, &graph->to, function, false);
}

int gn_list_callees(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t function)
{
	return list_arcs(listed, graph, &graph->from, function, true);
}

int gn_list_members(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t node)
{
	const uint32_t cycle = node - graph->profile->n_functions;
	const uint32_t first = graph->order.first_member[cycle];
	const uint32_t n = graph->order.first_member[cycle + 1] - first;
	struct gn_sort_key *keys = room_for(listed, n);

	if (!keys)
		return -ENOMEM;
	/* Those that are equal keep their order in the cycle. */
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t member = graph->order.members[first + i];
		const int64_t calls = (int64_t)((uint64_t)graph->shares.calls[member] +
						(uint64_t)graph->shares.self_calls[member]);

		keys[i] = (struct gn_sort_key){
			.value = -(graph->own[member] + graph->children[member]),
			.calls = negated(calls),
			.number = i};
	}
	list_sorted(listed, n);
	for (uint32_t i = 0; i < n; i++)
		listed->numbers[i] = graph->order.members[first + listed->numbers[i]];
	return 0;
}
