/* Which share of its callee each arc has: by numbers of calls, or by what calls came to. */
#ifndef GNOMON_ARC_SHARES_H
#define GNOMON_ARC_SHARES_H

#include "call_order.h"
#include "call_profile.h"

/* Nodes are the functions, then the cycles. */
struct gn_arc_shares {
	int32_t *cycle;	   /* of each function the number of its cycle from 1 on, 0 for none */
	uint32_t *node_of; /* of each function itself, or its cycle */
	int64_t *calls;	   /* of each node those from elsewhere, GN_CALLS_UNKNOWN without counts */
	int64_t *self_calls; /* of functions those from themselves, of cycles between members */
	double *share;	     /* of each arc the part of what its callee comes to, */
	double *own_share, *children_share; /* of what that has itself, and of its callees */
	double *outside; /* of each node the part that no arc has: entered from an unknown place */
};

/* 0, or -ENOMEM. */
int gn_arc_shares_make(struct gn_arc_shares *shares, const struct gn_call_profile *profile,
		       const struct gn_call_order *order);
void gn_arc_shares_free(struct gn_arc_shares *shares);

#endif
