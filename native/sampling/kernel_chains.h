/*
 * What the kernel does when threads leave their CPUs. Its chain of calls costs more than all the
 * rest of a stack, so it is taken of some waits; others of the same process, at the same
 * instruction and with the same first argument (a descriptor, say), are believed to be in the same
 * functions.
 */
#ifndef GNOMON_SAMPLING_KERNEL_CHAINS_H
#define GNOMON_SAMPLING_KERNEL_CHAINS_H

#include <stdint.h>

/* The kernel's own limit of a chain: PERF_MAX_STACK_DEPTH. */
#define GN_KERNEL_CHAIN_MAX 127u
#define GN_KERNEL_CHAINS 4096u

struct gn_kernel_chain_key {
	uint32_t process;
	uint32_t place;	   /* that called the kernel */
	uint32_t argument; /* of the call, if it is as small as a descriptor */
};

struct gn_kernel_chain {
	struct gn_kernel_chain_key key;
	uint32_t n;
	uint64_t *address; /* innermost first, and PERF_CONTEXT_* */
};

/* Each key has one slot that it may stand in: a newer one takes the place of another. */
struct gn_kernel_chains {
	struct gn_kernel_chain slot[GN_KERNEL_CHAINS];
};

struct gn_kernel_chain_key gn_kernel_chain_key(uint32_t process, uint32_t place, uint64_t argument);

/* The last one of a key is kept; without memory none is. */
void gn_kernel_chains_keep(struct gn_kernel_chains *chains, const struct gn_kernel_chain_key *key,
			   const uint64_t *address, uint32_t n);

/* NULL: there is none. */
const struct gn_kernel_chain *gn_kernel_chains_find(const struct gn_kernel_chains *chains,
						    const struct gn_kernel_chain_key *key);

void gn_kernel_chains_end(struct gn_kernel_chains *chains);

#endif
