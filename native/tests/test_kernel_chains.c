/* The kernel's chains of calls, by what called the kernel. */
#include "check.h"
#include "kernel_chains.c"

static struct gn_kernel_chains chains;
static const uint64_t pipe_read[] = {1, 2, 3}, sock_read[] = {4, 5};

static void the_last_chain_of_a_key_is_kept(void)
{
	const struct gn_kernel_chain_key key = gn_kernel_chain_key(1, 20, 3);
	const struct gn_kernel_chain *chain;

	CHECK(!gn_kernel_chains_find(&chains, &key));
	gn_kernel_chains_keep(&chains, &key, pipe_read, 3);
	chain = gn_kernel_chains_find(&chains, &key);
	CHECK(chain && chain->n == 3 && chain->address[2] == 3);
	gn_kernel_chains_keep(&chains, &key, sock_read, 2);
	chain = gn_kernel_chains_find(&chains, &key);
	CHECK(chain && chain->n == 2 && chain->address[1] == 5);
	gn_kernel_chains_end(&chains);
	CHECK(!gn_kernel_chains_find(&chains, &key));
}

static void process_place_and_descriptor_tell_keys_apart(void)
{
	const struct gn_kernel_chain_key key = gn_kernel_chain_key(1, 20, 3);
	const struct gn_kernel_chain_key others[] = {
		gn_kernel_chain_key(2, 20, 3),
		gn_kernel_chain_key(1, 21, 3),
		gn_kernel_chain_key(1, 20, 4),
		gn_kernel_chain_key(1, 20, 1u << 20),
	};
	const struct gn_kernel_chain_key address = gn_kernel_chain_key(1, 20, 0x7f0000001000);

	gn_kernel_chains_keep(&chains, &key, pipe_read, 3);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(!gn_kernel_chains_find(&chains, &others[i]));
	/* Addresses tell nothing of a call: all are one. */
	gn_kernel_chains_keep(&chains, &others[3], sock_read, 2);
	CHECK(gn_kernel_chains_find(&chains, &address));
	gn_kernel_chains_end(&chains);
}

static void of_many_keys_each_find_is_its_own(void)
{
	uint32_t n = 0;

	for (uint32_t place = 0; place < 3 * GN_KERNEL_CHAINS; place++) {
		const struct gn_kernel_chain_key key = gn_kernel_chain_key(0, place, 0);
		const uint64_t address = place;

		gn_kernel_chains_keep(&chains, &key, &address, 1);
	}
	for (uint32_t place = 0; place < 3 * GN_KERNEL_CHAINS; place++) {
		const struct gn_kernel_chain_key key = gn_kernel_chain_key(0, place, 0);
		const struct gn_kernel_chain *chain = gn_kernel_chains_find(&chains, &key);

		CHECK(!chain || chain->address[0] == place);
		n += !!chain;
	}
	CHECK(n > GN_KERNEL_CHAINS / 2 && n <= GN_KERNEL_CHAINS);
	gn_kernel_chains_end(&chains);
}

int main(void)
{
	RUN(the_last_chain_of_a_key_is_kept);
	RUN(process_place_and_descriptor_tell_keys_apart);
	RUN(of_many_keys_each_find_is_its_own);
	return check_result;
}
