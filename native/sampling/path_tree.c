#include "path_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 4096u

/* The finalizer of MurmurHash3: every bit of the key moves half of those of the hash. */
static uint32_t hash_of(uint64_t first, uint64_t second)
{
	uint64_t h = first * 0x9e3779b97f4a7c15ull ^ second;

	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	return (uint32_t)(h ^ h >> 33);
}

static uint32_t hash_of_place(const struct gn_path_tree *tree, uint32_t number)
{
	return hash_of(tree->place[number].offset, tree->place[number].module);
}

static uint32_t hash_of_node(const struct gn_path_tree *tree, uint32_t number)
{
	return hash_of((uint64_t)tree->node[number].parent << 32 | tree->node[number].place, 0);
}

static int begin_table(struct gn_number_table *table, uint32_t slots)
{
	table->slot = calloc(slots, sizeof(*table->slot));
	table->mask = slots - 1;
	table->n = 0;
	return table->slot ? 0 : -ENOMEM;
}

static void put(struct gn_number_table *table, uint32_t hashed, uint32_t number)
{
	uint32_t at = hashed & table->mask;

	while (table->slot[at])
		at = (at + 1) & table->mask;
	table->slot[at] = number + 1;
	table->n++;
}

static int is_half_full(const struct gn_number_table *table)
{
	return table->n >= table->mask / 2;
}

static int make_room_for_place(struct gn_path_tree *tree)
{
	struct gn_number_table larger;

	if (!is_half_full(&tree->places_by_key))
		return 0;
	if (begin_table(&larger, 2 * (tree->places_by_key.mask + 1)))
		return -ENOMEM;
	for (uint32_t number = 0; number < tree->n_places; number++)
		put(&larger, hash_of_place(tree, number), number);
	free(tree->places_by_key.slot);
	tree->places_by_key = larger;
	return 0;
}

static uint32_t *first_child(struct gn_path_tree *tree, uint32_t parent)
{
	return parent == GN_PATH_NONE ? &tree->first_root : &tree->node[parent].first_child;
}

static int make_room_for_child(struct gn_path_tree *tree)
{
	struct gn_number_table larger;

	if (!is_half_full(&tree->later_children))
		return 0;
	if (begin_table(&larger, 2 * (tree->later_children.mask + 1)))
		return -ENOMEM;
	for (uint32_t number = 0; number < tree->n_nodes; number++)
		if (*first_child(tree, tree->node[number].parent) != number)
			put(&larger, hash_of_node(tree, number), number);
	free(tree->later_children.slot);
	tree->later_children = larger;
	return 0;
}

static int make_rows(void **rows, uint32_t *room, uint32_t n, size_t row_bytes)
{
	void *more;

	if (n < *room)
		return 0;
	more = realloc(*rows, 2 * (size_t)*room * row_bytes);
	if (!more)
		return -ENOMEM;
	*rows = more;
	*room *= 2;
	return 0;
}

int gn_path_tree_begin(struct gn_path_tree *tree, uint32_t nodes_max)
{
	memset(tree, 0, sizeof(*tree));
	tree->nodes_max = nodes_max;
	tree->first_root = tree->last_root = GN_PATH_NONE;
	tree->places_room = tree->nodes_room = SLOTS_FIRST / 2;
	tree->place = malloc(tree->places_room * sizeof(*tree->place));
	tree->node = malloc(tree->nodes_room * sizeof(*tree->node));
	if (tree->place && tree->node && !begin_table(&tree->places_by_key, SLOTS_FIRST) &&
	    !begin_table(&tree->later_children, SLOTS_FIRST))
		return 0;
	gn_path_tree_end(tree);
	return -ENOMEM;
}

void gn_path_tree_end(struct gn_path_tree *tree)
{
	free(tree->places_by_key.slot);
	free(tree->later_children.slot);
	free(tree->place);
	free(tree->node);
	memset(tree, 0, sizeof(*tree));
}

uint32_t gn_path_place(struct gn_path_tree *tree, uint32_t module, uint64_t offset)
{
	struct gn_number_table *table = &tree->places_by_key;
	const uint32_t hashed = hash_of(offset, module);

	for (uint32_t at = hashed; table->slot[at & table->mask]; at++) {
		const uint32_t number = table->slot[at & table->mask] - 1;

		if (tree->place[number].offset == offset && tree->place[number].module == module)
			return number;
	}
	if (make_rows((void **)&tree->place, &tree->places_room, tree->n_places,
		      sizeof(*tree->place)) ||
	    make_room_for_place(tree))
		return GN_PATH_NONE;
	tree->place[tree->n_places] = (struct gn_place){module, offset};
	put(table, hashed, tree->n_places);
	return tree->n_places++;
}

static uint32_t find_later_child(const struct gn_path_tree *tree, uint32_t parent, uint32_t place,
				 uint32_t hashed)
{
	const struct gn_number_table *table = &tree->later_children;

	for (uint32_t at = hashed; table->slot[at & table->mask]; at++) {
		const uint32_t number = table->slot[at & table->mask] - 1;

		if (tree->node[number].parent == parent && tree->node[number].place == place)
			return number;
	}
	return GN_PATH_NONE;
}

uint32_t gn_path_last(const struct gn_path_tree *tree, uint32_t parent, uint32_t module,
		      uint64_t offset)
{
	const uint32_t last =
		parent == GN_PATH_NONE ? tree->last_root : tree->node[parent].last_child;
	const struct gn_place *place;

	if (last == GN_PATH_NONE)
		return last;
	place = &tree->place[tree->node[last].place];
	return place->offset == offset && place->module == module ? last : GN_PATH_NONE;
}

static uint32_t remember_last(struct gn_path_tree *tree, uint32_t parent, uint32_t node)
{
	if (parent == GN_PATH_NONE)
		tree->last_root = node;
	else
		tree->node[parent].last_child = node;
	return node;
}

uint32_t gn_path_node(struct gn_path_tree *tree, uint32_t parent, uint32_t place)
{
	const uint32_t first = *first_child(tree, parent);
	uint32_t hashed = 0, later;

	if (first != GN_PATH_NONE) {
		if (tree->node[first].place == place)
			return remember_last(tree, parent, first);
		hashed = hash_of((uint64_t)parent << 32 | place, 0);
		later = find_later_child(tree, parent, place, hashed);
		if (later != GN_PATH_NONE)
			return remember_last(tree, parent, later);
	}
	if (tree->n_nodes >= tree->nodes_max ||
	    make_rows((void **)&tree->node, &tree->nodes_room, tree->n_nodes,
		      sizeof(*tree->node)) ||
	    (first != GN_PATH_NONE && make_room_for_child(tree))) {
		tree->refused++;
		return GN_PATH_NONE;
	}
	tree->node[tree->n_nodes] =
		(struct gn_path_node){parent, place, GN_PATH_NONE, GN_PATH_NONE};
	if (first == GN_PATH_NONE)
		*first_child(tree, parent) = tree->n_nodes;
	else
		put(&tree->later_children, hashed, tree->n_nodes);
	return remember_last(tree, parent, tree->n_nodes++);
}
