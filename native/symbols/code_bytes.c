#include "code_bytes.h"

#include "elf_symbols.h"
#include "unwind_bounds.h"

/* Of no bytes where nothing tells of a function, or the file does not hold it. */
static struct gn_code code_at(const struct gn_elf *module, const struct gn_elf_symbols *symbols,
			      const struct gn_intervals *bounds, uint64_t address)
{
	const struct gn_function *function = gn_elf_symbols_find(symbols, address);
	const struct gn_interval *entry = function ? NULL : gn_intervals_find(bounds, address);
	struct gn_code code = {0};
	uint64_t size = 0;

	if (function)
		code.start = function->start, size = function->size;
	else if (entry)
		code.start = entry->start, size = entry->end - entry->start;
	if (size <= GN_CODE_SIZE_MAX)
		code.bytes = gn_elf_code(module, code.start, size);
	return code;
}

void gn_codes_find(struct gn_codes *codes, struct gn_elf *module, const uint64_t *addresses,
		   uint32_t n)
{
	struct gn_elf_symbols symbols = {0};
	struct gn_intervals bounds = {0};
	uint64_t all = 0;

	codes->function_of = gn_arena_array(module->arena, n, sizeof(*codes->function_of));
	gn_elf_symbols_add(&symbols, module, module);
	gn_elf_symbols_add_mini(&symbols, module);
	gn_elf_symbols_sort(&symbols);
	gn_unwind_bounds(&bounds, module);
	for (uint32_t i = 0; i < n; i++) {
		const struct gn_code code = code_at(module, &symbols, &bounds, addresses[i]);
		const struct gn_code *functions = codes->functions.data;
		const size_t known = codes->functions.n;

		codes->function_of[i] = GN_NO_CODE;
		if (!code.bytes.size)
			continue;
		if (!known || functions[known - 1].start != code.start) {
			if (code.bytes.size > GN_CODE_ALL_MAX - all)
				continue;
			all += code.bytes.size;
			memcpy(gn_vector_push(&codes->functions, sizeof(code)), &code,
			       sizeof(code));
		}
		codes->function_of[i] = (uint32_t)codes->functions.n - 1;
	}
	gn_intervals_free(&bounds);
	gn_elf_symbols_free(&symbols);
}
