/*
 * Tables of what comes out of files. Keys that all fell into one place, while hashes were the same
 * in each process, are spread now: no slot that is sought is behind a long run of taken ones.
 */
#include "check.h"
#include "event_attr.h"
#include "key_table.h"
#include "number_map.h"
#include "path_tree.h"
#include "text_table.h"

enum { KEYS = 6000, RUN_MOST = KEYS / 8 };

/* How many slots a look-up may have to pass. */
static uint32_t longest_run(const struct gn_slots *slots)
{
	uint32_t run = 0, longest = 0;

	for (uint32_t i = 0; i < slots->n_slots; i++) {
		run = slots->slot[i].number ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* What was the hash of keys: the finalizer of MurmurHash3. */
static uint64_t former_hash(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ull;
	return key ^ key >> 33;
}

/* Of an odd number, modulo 2 to the 64th: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t found = odd;

	for (int i = 0; i < 5; i++)
		found *= 2 - odd * found;
	return found;
}

/* Keys whose former hashes had no bits in which slots differ. */
static uint64_t hostile_key(uint64_t i)
{
	uint64_t key = i << 40;

	key ^= key >> 33;
	key *= inverse(0xc4ceb9fe1a85ec53ull);
	key ^= key >> 33;
	key *= inverse(0xff51afd7ed558ccdull);
	key ^= key >> 33;
	CHECK_EQ(former_hash(key), i << 40);
	return key;
}

static void a_key_has_the_number_that_it_was_given_last(void)
{
	struct gn_number_map map = {0};

	CHECK_EQ(gn_number_of(&map, 1), GN_NO_NUMBER);
	for (uint32_t i = 0; i < KEYS; i++)
		CHECK_EQ(gn_number_put(&map, (uint64_t)i << 32, i), 0);
	for (uint32_t i = 0; i < KEYS; i += 2)
		CHECK_EQ(gn_number_put(&map, (uint64_t)i << 32, 2 * i), 0);
	CHECK_EQ(map.slots.n, KEYS);
	for (uint32_t i = 0; i < KEYS; i++)
		CHECK_EQ(gn_number_of(&map, (uint64_t)i << 32), i % 2 ? i : 2 * i);
	CHECK_EQ(gn_number_of(&map, 1), GN_NO_NUMBER);
	gn_number_map_free(&map);
	CHECK_EQ(gn_number_of(&map, 0), GN_NO_NUMBER);
}

static void two_tables_of_one_content_have_other_orders(void)
{
	struct gn_key_table tables[2] = {0};
	uint32_t others = 0;

	for (uint32_t i = 0; i < 100; i++)
		for (int table = 0; table < 2; table++)
			CHECK_EQ(gn_key_number(&tables[table], (struct gn_key){{i, 0, 0}}), i);
	CHECK_EQ(tables[0].slots.n_slots, tables[1].slots.n_slots);
	for (uint32_t i = 0; i < tables[0].slots.n_slots; i++)
		others += tables[0].slots.slot[i].number != tables[1].slots.slot[i].number;
	CHECK(others > 50);
	for (int table = 0; table < 2; table++)
		gn_key_table_free(&tables[table]);
}

static void keys_of_few_differences_are_spread(void)
{
	struct gn_key_table keys = {0};
	struct gn_number_map map = {0};

	for (uint32_t i = 0; i < KEYS; i++) {
		CHECK_EQ(gn_number_put(&map, (uint64_t)i << 51, i), 0);
		CHECK_EQ(gn_key_number(&keys, (struct gn_key){{i << 19, 0, 0}}), i);
	}
	CHECK(longest_run(&map.slots) < RUN_MOST);
	CHECK(longest_run(&keys.slots) < RUN_MOST);
	gn_number_map_free(&map);
	gn_key_table_free(&keys);
}

static void hostile_ids_of_events_are_spread(void)
{
	const uint8_t attr[64] = {0};
	struct gn_event_attrs attrs = {0};

	CHECK_EQ(gn_event_attr_add(&attrs, attr, sizeof(attr)), 0);
	for (uint64_t i = 0; i < KEYS; i++)
		CHECK_EQ(gn_event_id_add(&attrs, hostile_key(i)), 0);
	CHECK_EQ(attrs.ids.slots.n, KEYS);
	CHECK(longest_run(&attrs.ids.slots) < RUN_MOST);
	gn_event_attrs_free(&attrs);
}

static void hostile_addresses_and_paths_are_spread(void)
{
	const uint64_t factor = inverse(0x9e3779b97f4a7c15ull);
	struct gn_path_tree tree;

	CHECK_EQ(gn_path_tree_begin(&tree, UINT32_MAX - 1), 0);
	for (uint64_t i = 0; i < KEYS; i++) {
		const uint32_t place = gn_path_place(&tree, 3, (hostile_key(i) ^ 3) * factor);

		CHECK_EQ(place, i);
		CHECK_EQ(gn_path_node(&tree, GN_PATH_NONE, place), i);
	}
	CHECK(longest_run(&tree.places_by_key) < RUN_MOST);
	CHECK(longest_run(&tree.later_children) < RUN_MOST);
	gn_path_tree_end(&tree);
}

/* The word took all before it out of the former hash of a text, its seed too. */
static void hostile_texts_are_spread(void)
{
	static uint64_t words[KEYS][2];
	struct gn_text_table table = {0};

	for (uint32_t i = 0; i < KEYS; i++) {
		words[i][0] = i;
		words[i][1] = 0xd6e8feb86659fd93u;
		CHECK_EQ(gn_text_number(&table,
					(struct gn_text){(const char *)words[i], sizeof(words[i])}),
			 i);
	}
	CHECK(longest_run(&table.slots) < RUN_MOST);
	gn_text_table_free(&table);
}

int main(void)
{
	RUN(a_key_has_the_number_that_it_was_given_last);
	RUN(two_tables_of_one_content_have_other_orders);
	RUN(keys_of_few_differences_are_spread);
	RUN(hostile_ids_of_events_are_spread);
	RUN(hostile_addresses_and_paths_are_spread);
	RUN(hostile_texts_are_spread);
	return check_result;
}
