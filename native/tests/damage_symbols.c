/*
 * damage_symbols N SEED FILE...: names addresses of damaged copies of programs, N of each.
 *
 * Built with the sanitizers, which end it at the first read or write that is not right.
 */
#include "check.h"
#include "code_bytes.h"
#include "random.h"
#include "resolve.h"
#include "text_symbols.h"

#include <stdio.h>
#include <stdlib.h>

#define N_ADDRESSES 64

static unsigned int n_parsed, n_named, n_inlined;
static volatile unsigned int code_sum;

/* Numbers at which things overflow, and any other. */
static uint8_t odd_byte(void)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x10};

	return random_below(2) ? odd[random_below(sizeof(odd))] : (uint8_t)random_below(256);
}

/* Somewhere in a section that is read: debug information rather than code. */
static size_t position_in(const struct gn_elf *sound, size_t size)
{
	for (int i = 0; i < 100; i++) {
		const struct gn_section *section =
			&sound->sections[random_below(sound->n_sections)];

		if (section->size && section->type != SHT_NOBITS &&
		    (section->flags & SHF_EXECINSTR) == 0 && section->offset < size &&
		    section->size <= size - section->offset && !random_below(2))
			return section->offset + random_below((uint32_t)section->size);
	}
	return random_below((uint32_t)size);
}

static void damage(const struct gn_elf *sound, uint8_t *bytes, size_t *size)
{
	const uint32_t n = 1 + random_below(8);

	for (uint32_t i = 0; i < n; i++) {
		size_t position = position_in(sound, *size);
		uint32_t length = random_below(4) ? 1 : 1 + random_below(8);

		/* Headers of the file and of its sections. */
		if (!random_below(12))
			position = random_below(64);
		else if (!random_below(12))
			position = *size - 1 - random_below((uint32_t)*size / 8);
		for (; length && position < *size; length--)
			bytes[position++] = odd_byte();
	}
	if (!random_below(20))
		*size = random_below((uint32_t)*size);
}

static void try_code(struct gn_elf *module, const uint64_t *addresses)
{
	struct gn_codes codes = {0};
	const struct gn_code *functions;

	gn_codes_find(&codes, module, addresses, N_ADDRESSES);
	functions = codes.functions.data;
	for (size_t i = 0; i < N_ADDRESSES; i++)
		CHECK(codes.function_of[i] == GN_NO_CODE ||
		      codes.function_of[i] < codes.functions.n);
	for (size_t i = 0; i < codes.functions.n; i++)
		code_sum += functions[i].bytes.data[0] +
			    functions[i].bytes.data[functions[i].bytes.size - 1];
	gn_vector_free(&codes.functions);
}

static void try_text_symbols(struct gn_elf *module)
{
	struct gn_text_symbols found = {0};
	const struct gn_text_symbol *symbols;

	gn_text_symbols_find(&found, module);
	symbols = found.symbols.data;
	for (size_t i = 0; i < found.symbols.n; i++) {
		CHECK(!i || symbols[i - 1].start < symbols[i].start);
		code_sum += (unsigned int)strlen(symbols[i].name);
	}
	gn_text_symbols_free(&found);
}

static void try_file(uint8_t *bytes, size_t size, const uint64_t *addresses)
{
	const struct gn_question question = {.path = "/folder/program",
					     .build_id = "",
					     .debug_path = "",
					     .folders = "",
					     .addresses = addresses,
					     .n = N_ADDRESSES};
	/* Of its own size, so that a read beyond it is noticed. */
	uint8_t *copy = malloc(size ? size : 1);
	struct gn_answer answer;
	struct gn_elf module;

	CHECK(copy);
	memcpy(copy, bytes, size);
	gn_answer_init(&answer);
	if (!gn_elf_parse(&module, &answer.arena, (struct gn_span){copy, size})) {
		const struct gn_frame *frames;

		n_parsed++;
		gn_resolve_files(&module, NULL, NULL, &question, &answer);
		frames = answer.frames.data;
		CHECK_EQ(answer.first.n, N_ADDRESSES + 1);
		for (size_t i = 0; i < answer.frames.n; i++) {
			CHECK(frames[i].function < answer.texts.ends.n);
			CHECK(frames[i].file < answer.texts.ends.n);
			n_named += frames[i].function != 0;
			n_inlined += (frames[i].flags & GN_FRAME_INLINED) != 0;
		}
		try_code(&module, addresses);
		try_text_symbols(&module);
	}
	gn_answer_free(&answer);
	free(copy);
}

static int compare(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static void damage_file(const char *path, unsigned int n)
{
	struct gn_arena arena = {0};
	struct gn_elf sound;
	uint64_t addresses[N_ADDRESSES];
	uint8_t *bytes;

	CHECK_EQ(gn_elf_open(&sound, &arena, path), 0);
	CHECK(sound.n_code);
	bytes = malloc(sound.file.size);
	CHECK(bytes);
	for (unsigned int i = 0; i < n; i++) {
		size_t size = sound.file.size;

		memcpy(bytes, sound.file.data, size);
		if (i)
			damage(&sound, bytes, &size);
		for (int j = 0; j < N_ADDRESSES; j++)
			addresses[j] =
				sound.code[0].address + random_below((uint32_t)sound.code[0].size);
		qsort(addresses, N_ADDRESSES, sizeof(*addresses), compare);
		try_file(bytes, size, addresses);
	}
	free(bytes);
	gn_elf_close(&sound);
	gn_arena_free(&arena);
}

int main(int argc, char **argv)
{
	const unsigned int n = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;

	if (argc > 2)
		random_state = (uint32_t)strtoul(argv[2], NULL, 10) | 1;
	for (int i = 3; i < argc; i++)
		damage_file(argv[i], n);
	printf("%u damaged files, of which %u were parsed; %u names, %u inlined\n",
	       n * (unsigned int)(argc - 3), n_parsed, n_named, n_inlined);
	return 0;
}
