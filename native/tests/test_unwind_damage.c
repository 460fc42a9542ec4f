/*
 * Damaged rules and stacks: whatever they hold, the unwinder comes back, and reads only what is its
 * own, as the sanitizers see.
 *
 *	test_unwind_damage [MUTATIONS [SEED]]
 */
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "cfa_program.h"
#include "check.h"
#include "code_space.h"
#include "random.h"
#include "stack_memory.h"

#define SEED_BYTES_MAX 65536u
#define FRAMES_MAX 64u
#define STACK_BYTES 2048u
#define START 0x10000000u

/*
 * The vDSO: a small library that has all parts of a large one. That of arm64 has no rules: there it
 * is the beginning of this program.
 */
static uint8_t seed[SEED_BYTES_MAX];
static size_t seed_bytes;
static unsigned int n_rows, n_opened, n_followed;

static void read_seed(void)
{
	const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

	/* Programs of other processors are refused. */
	if (!vdso || gn_unwind_own_machine() < 0)
		return;
#if defined(__aarch64__)
	FILE *own = fopen("/proc/self/exe", "r");

	CHECK(own);
	seed_bytes = fread(seed, 1, sizeof(seed), own);
	fclose(own);
#else
	seed_bytes = gn_process_read(getpid(), vdso, seed, 8192);
#endif
	CHECK(seed_bytes >= 4096);
}

/* Where the parts are that are read, so that most damage is there. */
struct part {
	uint64_t offset, size;
};

static struct part part_of(const struct gn_elf_image *image)
{
	const struct gn_section *sections[] = {&image->frame_header, &image->eh_frame};
	const struct gn_section *section = sections[random_below(2)];

	if (!random_below(4) && image->symbols_bytes)
		return (struct part){image->symbols_at, image->symbols_bytes};
	/* Both are linked to 0, and their offsets are their addresses. */
	return (struct part){section->address, section->size};
}

static uint8_t random_byte(void)
{
	static const uint8_t likely[] = {0, 1, 4, 0x0f, 0x10, 0x7f, 0x80, 0xff};

	return random_below(2) ? likely[random_below(sizeof(likely))] : (uint8_t)random_below(256);
}

static void damage(uint8_t *bytes, size_t *n, const struct gn_elf_image *sound)
{
	struct part part = {0, *n};

	if (random_below(4))
		part = part_of(sound);
	else if (random_below(2))
		part = (struct part){0, 64 + 8 * 56};
	for (unsigned int i = 1 + random_below(8); i; i--) {
		uint64_t at = part.offset + random_below((uint32_t)part.size);

		if (at + 4 >= *n)
			continue;
		switch (random_below(4)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << random_below(8));
			break;
		case 1:
			memset(bytes + at, random_below(2) ? 0xff : 0, 4);
			break;
		case 2:
			memcpy(bytes + at, bytes + random_below((uint32_t)*n - 4), 4);
			break;
		default:
			bytes[at] = random_byte();
			break;
		}
	}
	if (!random_below(16))
		*n = random_below((uint32_t)*n);
}

/* A stack of addresses in the code, addresses in the stack, small numbers and anything else. */
static void fill_stack(uint64_t *stack, uint64_t address)
{
	for (unsigned int i = 0; i < STACK_BYTES / 8; i++) {
		switch (random_below(4)) {
		case 0:
			stack[i] = START + random_below((uint32_t)seed_bytes);
			break;
		case 1:
			stack[i] = address + random_below(STACK_BYTES);
			break;
		case 2:
			stack[i] = random_below(256);
			break;
		default:
			stack[i] = (uint64_t)random_below(UINT32_MAX) << 32;
			break;
		}
	}
}

static void unwind(struct gn_unwind_space *space)
{
	static struct gn_unwind_frame frames[FRAMES_MAX];
	struct gn_unwind_registers registers = {.machine = GN_UNWIND_X86_64};
	uint64_t stack[STACK_BYTES / 8], address = 0x7ffc0000;
	struct gn_unwind_result result;

	if (!random_below(8))
		registers.machine = GN_UNWIND_AARCH64;
	if (!random_below(16))
		address = UINT64_MAX - STACK_BYTES;
	fill_stack(stack, address);
	for (unsigned int i = 0; i < GN_UNWIND_REGISTERS_MAX; i++)
		registers.value[i] = stack[random_below(STACK_BYTES / 8)];
	registers.value[7] = registers.value[31] = address + 8 * random_below(16);
	registers.value[16] = registers.value[32] = START + random_below((uint32_t)seed_bytes);
	CHECK_EQ(gn_unwind_stack(space, &registers, stack, address, STACK_BYTES, frames, FRAMES_MAX,
				 &result),
		 0);
	CHECK(result.n >= 1);
	CHECK(result.n <= FRAMES_MAX);
	CHECK(result.n_guessed <= result.n);
	CHECK(result.end <= GN_UNWIND_TOO_DEEP);
}

static void look_up(struct gn_rule_file *file)
{
	for (unsigned int i = 0; i < 16; i++) {
		uint32_t number = gn_rule_file_row(file, random_below((uint32_t)seed_bytes), i & 1);

		CHECK(number == GN_ROW_NONE || number == GN_ROW_ROOT ||
		      number < file->cache.n_rows);
		n_rows += number < file->cache.n_rows;
	}
}

/* The rules of code, whatever that is by now. */
static void follow_functions(struct gn_rule_file *file)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct gn_rule_row row;

		if (!gn_code_functions_row(&file->functions, &file->image,
					   random_below((uint32_t)seed_bytes), &row))
			continue;
		CHECK(row.n_rules >= 1);
		CHECK(row.n_rules <= 7);
		n_followed++;
	}
}

/* Puts the damaged image in the place of a mapping's file. */
static void try_image(const uint8_t *bytes, size_t n)
{
	const struct gn_unwind_mapping mapping = {
		.start = START, .length = SEED_BYTES_MAX, .prot = PROT_EXEC, .path = "/damaged"};
	uint8_t *copy = malloc(n ? n : 1);
	struct gn_unwind_files *files;
	struct gn_unwind_space *space;
	struct gn_rule_file *file;

	CHECK(copy);
	memcpy(copy, bytes, n);
	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, getpid()), 0);
	CHECK_EQ(gn_unwind_space_map(space, &mapping), 0);
	file = files->files[0];
	file->tries = UINT32_MAX;
	file->tried_pid = getpid();
	file->status = gn_elf_image_adopt(&file->image, copy, n);
	if (!file->status) {
		file->status = gn_entry_index_open(&file->index, &file->image);
		CHECK_EQ(file->status, 0);
		n_opened++;
		look_up(file);
		follow_functions(file);
	}
	for (unsigned int i = 0; i < 4; i++)
		unwind(space);
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
}

static void test_damaged_images(unsigned int mutations)
{
	static uint8_t bytes[SEED_BYTES_MAX];
	struct gn_elf_image sound;
	uint8_t *copy = malloc(seed_bytes);

	CHECK(copy);
	memcpy(copy, seed, seed_bytes);
	CHECK_EQ(gn_elf_image_adopt(&sound, copy, seed_bytes), 0);
	CHECK(sound.frame_header.bytes);
	CHECK(sound.eh_frame.bytes);
	for (unsigned int i = 0; i < mutations; i++) {
		size_t n = seed_bytes;

		memcpy(bytes, seed, n);
		if (i)
			damage(bytes, &n, &sound);
		/* Without the header's table the entries are looked for one by one. */
		if (!random_below(4) && sound.frame_header.address + 4 < n)
			bytes[sound.frame_header.address + 3] = 0xff;
		try_image(bytes, n);
	}
	/* Damage is not all that there is: most files open, and many addresses have their row. */
	CHECK(n_opened > mutations / 4);
	CHECK(n_rows > mutations);
	/* Instructions are those of one machine. */
	CHECK(gn_unwind_own_machine() != GN_UNWIND_X86_64 || n_followed > mutations / 4);
	gn_elf_image_close(&sound);
}

/* Programs of rules that no compiler writes. */
static void test_random_programs(unsigned int programs)
{
	uint8_t bytes[64];
	unsigned int n_sound = 0;

	for (unsigned int i = 0; i < programs; i++) {
		const struct gn_section section = {bytes, sizeof(bytes), 0};
		const struct gn_frame_entry entry = {.section = &section,
						     .end = UINT64_MAX,
						     .code_factor = random_below(3),
						     .data_factor = -8,
						     .return_column = 16,
						     .initial_end = 8,
						     .program_at = 8,
						     .program_end = sizeof(bytes)};
		struct gn_rule_row row;

		for (unsigned int at = 0; at < sizeof(bytes); at++)
			bytes[at] = random_below(3) ? (uint8_t)random_below(0x18)
						    : (uint8_t)random_below(256);
		memcpy(bytes, "\x0c\x07\x08\x90\x01\x00\x00\x00", 8);
		if (gn_cfa_row(&entry, GN_UNWIND_X86_64, random_below(64), &row))
			continue;
		CHECK(row.n_rules <= 17);
		n_sound++;
	}
	CHECK(n_sound);
}

/* Functions of bytes that no compiler writes: among them many that push, pop and jump. */
static void test_random_functions(unsigned int functions)
{
	static const uint8_t likely[] = {0x50, 0x55, 0x53, 0x5d, 0x5b, 0x48, 0x41,
					 0x89, 0xe5, 0xec, 0x83, 0xeb, 0x74, 0x75,
					 0xe8, 0xc9, 0xc3, 0x90, 0x04, 0xf0};
	/* The code, then a symbol: no name, a function, in a section, at 0, of no size. */
	static uint8_t bytes[4096 + 24];
	unsigned int n_rows_before = n_followed;

	bytes[4096 + 4] = 2;
	bytes[4096 + 6] = 1;
	for (unsigned int i = 0; i < functions; i++) {
		struct gn_segment segment = {0, 1 + random_below(4096), 0};
		struct gn_elf_image image = {.descriptor = -1,
					     .memory = bytes,
					     .file_bytes = sizeof(bytes),
					     .machine = GN_UNWIND_X86_64,
					     .segments = &segment,
					     .n_segments = 1,
					     .symbols_at = 4096,
					     .symbols_bytes = 24};
		struct gn_code_functions found = {0};
		struct gn_rule_row row;

		for (uint64_t at = 0; at < segment.file_bytes; at++)
			bytes[at] = random_below(8) ? likely[random_below(sizeof(likely))]
						    : (uint8_t)random_below(256);
		for (unsigned int look = 0; look < 4; look++)
			n_followed += gn_code_functions_row(
				&found, &image, random_below((uint32_t)segment.file_bytes), &row);
		gn_code_functions_free(&found);
	}
	CHECK(n_followed > n_rows_before);
}

int main(int argc, char **argv)
{
	unsigned int mutations = argc > 1 ? (unsigned int)atoi(argv[1]) : check_work(5000);

	if (argc > 2)
		random_state = (uint32_t)strtoul(argv[2], NULL, 10) | 1;
	read_seed();
	if (seed_bytes)
		test_damaged_images(mutations);
	else
		printf("no vDSO that can be read, as under Valgrind: only programs of rules are "
		       "tried\n");
	test_random_programs(mutations);
	test_random_functions(mutations / 8 + 1);
	if (seed_bytes)
		printf("%u damaged images, of which %u were opened; %u rows\n", mutations, n_opened,
		       n_rows);
	return 0;
}
