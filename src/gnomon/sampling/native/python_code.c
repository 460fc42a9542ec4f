#include "python_code.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "python_records.h"
#include "python_streams.h"
#include "python_text.h"

#define CODES_MAX 65536u
#define SLOTS (4 * CODES_MAX) /* a power of two */
#define LINE_TABLE_MAX (1u << 20)

/* PyVarObject and PyBytesObject: the same in all versions. */
#define OBJECT_TYPE_AT 8
#define OBJECT_SIZE_AT 16
#define BYTES_AT 32

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/*
 * An object and what tells it from another one that is at its address later, when it was freed. The
 * number is written last.
 */
struct entry {
	_Atomic uintptr_t address;
	uintptr_t line_table, name, consts;
	int32_t first_line;
	uint32_t n_instructions, n_slots;
	_Atomic uint32_t number;
};

struct gn_code_table {
	_Atomic uint32_t n_codes;
	struct entry entry[SLOTS];
};

struct gn_code_table *gn_code_table_new(void)
{
	struct gn_code_table *table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (table == MAP_FAILED)
		return NULL;
	if (madvise(table, sizeof(*table), MADV_WIPEONFORK)) {
		munmap(table, sizeof(*table));
		return NULL;
	}
	return table;
}

/* --- recording -------------------------------------------------------------------------------- */

static void record_text(const struct gn_python_layout *layout, struct gn_probe *probe,
			struct gn_code_streams *streams, uintptr_t text, uint32_t number)
{
	const size_t length =
		gn_python_text(layout, probe, text, streams->utf8, sizeof(streams->utf8));

	gn_recorder_append_text(&streams->text, GN_PYTHON_TEXT, number, streams->utf8, length);
}

static void record_lines(struct gn_probe *probe, struct gn_code_streams *streams, uintptr_t table,
			 struct gn_python_code *code)
{
	struct gn_python_lines piece = {.code = code->code};
	uintptr_t bytes;

	if (!gn_probe(probe, table, BYTES_AT))
		return;
	bytes = gn_word_at(table + OBJECT_SIZE_AT);
	if (bytes > LINE_TABLE_MAX)
		return;
	for (; piece.offset < bytes; piece.offset += sizeof(piece.bytes)) {
		const size_t rest = bytes - piece.offset;
		const size_t n = rest < sizeof(piece.bytes) ? rest : sizeof(piece.bytes);

		if (!gn_probe(probe, table + BYTES_AT + piece.offset, n))
			return;
		memset(piece.bytes, 0, sizeof(piece.bytes));
		memcpy(piece.bytes, (const void *)(table + BYTES_AT + piece.offset), n);
		gn_recorder_append(&streams->lines, GN_PYTHON_LINES, &piece);
	}
	code->line_table_bytes = (uint32_t)bytes;
}

static void record_code(const struct gn_python *python, struct gn_probe *probe,
			struct gn_code_streams *streams, uintptr_t address,
			const struct entry *entry, uint32_t number)
{
	struct gn_python_code code = {.code = number, .first_line = entry->first_line};
	const struct gn_python_layout *layout = &python->layout;

	record_text(layout, probe, streams, entry->name, 2 * number);
	record_text(layout, probe, streams, gn_word_at(address + layout->code_file),
		    2 * number + 1);
	record_lines(probe, streams, entry->line_table, &code);
	gn_recorder_append(&streams->code, GN_PYTHON_CODE, &code);
}

/* --- finding ---------------------------------------------------------------------------------- */

static int is_same(const struct entry *entry, const struct entry *other)
{
	return entry->line_table == other->line_table && entry->name == other->name &&
	       entry->consts == other->consts && entry->first_line == other->first_line &&
	       entry->n_instructions == other->n_instructions && entry->n_slots == other->n_slots;
}

static int look_at(const struct gn_python *python, struct gn_probe *probe, uintptr_t address,
		   struct entry *seen)
{
	const struct gn_python_layout *layout = &python->layout;

	if (address & 7 || !gn_probe(probe, address, layout->code_instructions) ||
	    gn_word_at(address + OBJECT_TYPE_AT) != python->code_type)
		return -1;
	seen->line_table = gn_word_at(address + layout->code_line_table);
	seen->name = gn_word_at(address + layout->code_name);
	seen->consts = gn_word_at(address + layout->code_consts);
	seen->first_line = gn_int_at(address + layout->code_first_line);
	seen->n_instructions = (uint32_t)gn_word_at(address + OBJECT_SIZE_AT);
	seen->n_slots = (uint32_t)(gn_int_at(address + layout->code_locals) +
				   gn_int_at(address + layout->code_stack));
	return 0;
}

static void set_code(struct gn_code *code, const struct entry *entry, uint32_t number)
{
	code->number = number;
	code->n_instructions = entry->n_instructions;
	code->n_slots = entry->n_slots;
}

/* Objects that were at one address are spread, too. */
static uint32_t first_slot(uintptr_t address, const struct entry *entry)
{
	const uint64_t mixed = address ^ entry->line_table << 7 ^ entry->consts << 13 ^
			       (uint64_t)(uint32_t)entry->first_line << 32;

	return (uint32_t)((mixed >> 4) * 0x9e3779b97f4a7c15u >> 40) & (SLOTS - 1);
}

int gn_code_find(struct gn_code_table *table, const struct gn_python *python,
		 struct gn_probe *probe, struct gn_code_streams *streams, uintptr_t address,
		 struct gn_code *code)
{
	struct entry seen = {0};
	uint32_t slot;

	if (look_at(python, probe, address, &seen))
		return -1;
	slot = first_slot(address, &seen);
	for (uint32_t tries = 0; tries < SLOTS; tries++, slot = (slot + 1) & (SLOTS - 1)) {
		struct entry *entry = &table->entry[slot];
		uintptr_t owner = atomic_load_explicit(&entry->address, memory_order_acquire);
		uint32_t number = atomic_load_explicit(&entry->number, memory_order_acquire);

		if (owner == address && number && is_same(entry, &seen)) {
			set_code(code, &seen, number);
			return 0;
		}
		if (owner)
			continue;
		if (table->n_codes >= CODES_MAX)
			return -1;
		number = atomic_fetch_add(&table->n_codes, 1) + 1;
		if (!atomic_compare_exchange_strong(&entry->address, &owner, address))
			continue;
		entry->line_table = seen.line_table;
		entry->name = seen.name;
		entry->consts = seen.consts;
		entry->first_line = seen.first_line;
		entry->n_instructions = seen.n_instructions;
		entry->n_slots = seen.n_slots;
		record_code(python, probe, streams, address, &seen, number);
		atomic_store_explicit(&entry->number, number, memory_order_release);
		set_code(code, &seen, number);
		return 0;
	}
	return -1;
}
