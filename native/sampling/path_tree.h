/*
 * The call paths of all samples as one tree. A *place* is an address in a module; a *node* is a
 * place, called from its parent. Both are numbered in the order in which they come, and what is new
 * is handed to who writes it down.
 */
#ifndef GNOMON_SAMPLING_PATH_TREE_H
#define GNOMON_SAMPLING_PATH_TREE_H

#include <stdint.h>

#include "number_slots.h"

#define GN_PATH_NONE UINT32_MAX

struct gn_place {
	uint32_t module;
	uint64_t offset;
};

struct gn_path_node {
	uint32_t parent; /* GN_PATH_NONE: a root */
	uint32_t place;
	uint32_t first_child; /* GN_PATH_NONE: it has none yet */
	uint32_t last_child;  /* of those that were asked for */
};

/*
 * Most nodes are the first child of their parent, and most new ones have a new parent: these are
 * met without slots, which the others have.
 */
struct gn_path_tree {
	struct gn_slots places_by_key, later_children;
	struct gn_place *place;
	struct gn_path_node *node;
	uint32_t first_root, last_root;
	uint32_t n_places, n_nodes;
	uint32_t places_room, nodes_room;
	uint32_t nodes_max;
	uint64_t refused; /* nodes that there was no room for */
};

/* At most `nodes_max` nodes. 0 or -ENOMEM. */
int gn_path_tree_begin(struct gn_path_tree *tree, uint32_t nodes_max);
void gn_path_tree_end(struct gn_path_tree *tree);

/* The number of a place, GN_PATH_NONE without memory. It is new where n_places has grown. */
uint32_t gn_path_place(struct gn_path_tree *tree, uint32_t module, uint64_t offset);

/* The node of a place below a parent, if it was the last one that was asked for there; else
 * GN_PATH_NONE. */
uint32_t gn_path_last(const struct gn_path_tree *tree, uint32_t parent, uint32_t module,
		      uint64_t offset);

/*
 * The node of a place below a parent (GN_PATH_NONE: a root); GN_PATH_NONE where there is no room
 * for a new one. It is new where n_nodes has grown.
 */
uint32_t gn_path_node(struct gn_path_tree *tree, uint32_t parent, uint32_t place);

#endif
