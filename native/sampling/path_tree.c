#include "path_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const struct gn_slots *slots, uint64_t first, uint64_t second)
{
	return gn_slots_hash(slots, gn_mixed(slots, first, second));
}

static bool is_place(const void *tree, uint32_t number, const void *sought)
{
	const struct gn_place *own = &((const struct gn_path_tree *)tree)->place[number];
	const struct gn_place *place = sought;

	return own->offset == place->offset && own->module == place->module;
}

static bool is_child(const void *tree, uint32_t number, const void *sought)
{
	const struct gn_path_node *own = &((const struct gn_path_tree *)tree)->node[number];
	const struct gn_path_node *node = sought;

	return own->parent == node->parent && own->place == node->place;
}

static uint32_t *first_child(struct gn_path_tree *tree, uint32_t parent)
{
	return parent == GN_PATH_NONE ? &tree->first_root : &tree->node[parent].first_child;
}

int gn_path_tree_begin(struct gn_path_tree *tree, uint32_t nodes_max)
{
	memset(tree, 0, sizeof(*tree));
	tree->nodes_max = nodes_max;
	tree->first_root = tree->last_root = GN_PATH_NONE;
	if (!gn_slots_begin(&tree->places_by_key) && !gn_slots_begin(&tree->later_children))
		return 0;
	gn_path_tree_end(tree);
	return -ENOMEM;
}

void gn_path_tree_end(struct gn_path_tree *tree)
{
	gn_slots_free(&tree->places_by_key);
	gn_slots_free(&tree->later_children);
	free(tree->place);
	free(tree->node);
	memset(tree, 0, sizeof(*tree));
}

uint32_t gn_path_place(struct gn_path_tree *tree, uint32_t module, uint64_t offset)
{
	const struct gn_place place = {module, offset};
	const uint32_t hash = hash_of(&tree->places_by_key, offset, module);
	struct gn_slot *slot = gn_slots_place(&tree->places_by_key, hash, is_place, tree, &place);
	struct gn_place *places;

	if (slot->number)
		return slot->number - 1;
	places = gn_with_room(tree->place, tree->n_places, &tree->places_room, sizeof(*places));
	if (!places)
		return GN_PATH_NONE;
	tree->place = places;
	places[tree->n_places] = place;
	if (gn_slots_put(&tree->places_by_key, slot, hash, tree->n_places) < 0)
		return GN_PATH_NONE;
	return tree->n_places++;
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
	const struct gn_path_node node = {parent, place, GN_PATH_NONE, GN_PATH_NONE};
	const uint32_t first = *first_child(tree, parent);
	struct gn_path_node *nodes = NULL;
	struct gn_slot *slot = NULL;
	uint32_t hash = 0;

	if (first != GN_PATH_NONE) {
		if (tree->node[first].place == place)
			return remember_last(tree, parent, first);
		hash = hash_of(&tree->later_children, parent, place);
		slot = gn_slots_place(&tree->later_children, hash, is_child, tree, &node);
		if (slot->number)
			return remember_last(tree, parent, slot->number - 1);
	}
	if (tree->n_nodes < tree->nodes_max)
		nodes = gn_with_room(tree->node, tree->n_nodes, &tree->nodes_room, sizeof(*nodes));
	if (!nodes) {
		tree->refused++;
		return GN_PATH_NONE;
	}
	tree->node = nodes;
	nodes[tree->n_nodes] = node;
	if (!slot) {
		*first_child(tree, parent) = tree->n_nodes;
	} else if (gn_slots_put(&tree->later_children, slot, hash, tree->n_nodes) < 0) {
		tree->refused++;
		return GN_PATH_NONE;
	}
	return remember_last(tree, parent, tree->n_nodes++);
}
