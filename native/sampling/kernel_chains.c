#include "kernel_chains.h"

#include <stdlib.h>
#include <string.h>

/* Beyond it an argument is an address, or a number of bytes, which tells no kind of call. */
#define DESCRIPTORS_MAX 65536u
#define NO_DESCRIPTOR UINT32_MAX

struct gn_kernel_chain_key gn_kernel_chain_key(uint32_t process, uint32_t place, uint64_t argument)
{
	const struct gn_kernel_chain_key key = {
		.process = process,
		.place = place,
		.argument = argument < DESCRIPTORS_MAX ? (uint32_t)argument : NO_DESCRIPTOR,
	};

	return key;
}

static uint32_t slot_of(const struct gn_kernel_chain_key *key)
{
	uint64_t hash = key->place;

	hash = (hash ^ (uint64_t)key->process << 32 ^ (uint64_t)key->argument << 16) *
	       0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32) % GN_KERNEL_CHAINS;
}

void gn_kernel_chains_keep(struct gn_kernel_chains *chains, const struct gn_kernel_chain_key *key,
			   const uint64_t *address, uint32_t n)
{
	struct gn_kernel_chain *chain = &chains->slot[slot_of(key)];

	if (chain->n != n) {
		uint64_t *other = realloc(chain->address, n * sizeof(*other));

		if (!other)
			return;
		chain->address = other;
		chain->n = n;
	}
	chain->key = *key;
	memcpy(chain->address, address, n * sizeof(*address));
}

const struct gn_kernel_chain *gn_kernel_chains_find(const struct gn_kernel_chains *chains,
						    const struct gn_kernel_chain_key *key)
{
	const struct gn_kernel_chain *chain = &chains->slot[slot_of(key)];

	return chain->n && !memcmp(&chain->key, key, sizeof(*key)) ? chain : NULL;
}

void gn_kernel_chains_end(struct gn_kernel_chains *chains)
{
	for (uint32_t i = 0; i < GN_KERNEL_CHAINS; i++)
		free(chains->slot[i].address);
	memset(chains, 0, sizeof(*chains));
}
