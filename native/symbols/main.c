/*
 * gnomon-symbols: names of functions, files and lines for addresses, module by module.
 *
 * `gnomon-symbols SECONDS`: a question that takes longer ends it. Gnomon asks through standard
 * input and reads from standard output, in this machine's byte order. What a damaged or hostile
 * file does to this process it does to nobody else: who asks sees the end of it, or waits no
 * longer.
 *
 * A question of names: magic "GNSQ" and version (u32 each), n (u32), sizes of four texts (u32
 * each), n addresses (u64; ascending, each once), and the texts, with no zeros: path, build id,
 * path of debug information, folders.
 *
 * An answer: magic "GNSA", version, outcome, errno, flags, numbers of addresses, frames, texts and
 * inputs (u32 each), a zero, sizes of all texts and of all inputs (u64 each); then first frames
 * (u32, one more than addresses), frames (struct gn_frame), ends of texts (u64), their bytes, and
 * inputs with a zero behind each.
 *
 * A question of code, "GNCQ", is the same but for its magic; the last two texts do not matter. Its
 * answer: magic "GNCA", version, outcome, errno, machine (of ELF), numbers of addresses and
 * functions (u32 each), a zero, size of all code (u64); then the number of each address's function
 * (u32, all ones: not known), start and size of each function (u64), and the code of all.
 *
 * A question of text symbols, "GNTQ", is the same; it has no addresses, and with folders it is one
 * of source files, too. Its answer: magic "GNTA", version, outcome, errno, machine, flags (1: of 64
 * bits, 2: of the other byte order, 4: it has text), numbers of symbols and of files (u32 each),
 * start and end of the text, size of all names (u64 each); then start, end (u64), flags (struct
 * gn_text_symbol) and the number of its file from 1 on (u32; 0: none) of each symbol, of which only
 * static ones have one; then of each two names with a zero behind: its own and as people wrote it,
 * and the files' likewise.
 */
#include "code_bytes.h"
#include "demangle.h"
#include "resolve.h"
#include "text_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define QUESTION_MAGIC 0x51534e47u
#define ANSWER_MAGIC 0x41534e47u
#define CODE_QUESTION_MAGIC 0x51434e47u
#define CODE_ANSWER_MAGIC 0x41434e47u
#define SYMBOLS_QUESTION_MAGIC 0x51544e47u
#define SYMBOLS_ANSWER_MAGIC 0x41544e47u
#define VERSION 1u
#define ADDRESSES_MAX (1u << 24)
#define TEXT_MAX (1u << 16)
#define NAME_MAX_SIZE 4096

enum { N_TEXTS = 4, EXIT_PROTOCOL = 2 };
enum { FLAG_HAS_SYMBOLS = 1, FLAG_HAS_DEBUG = 2 };
enum { FLAG_IS_WIDE = 1, FLAG_IS_SWAPPED = 2, FLAG_HAS_TEXT = 4 };

struct question_head {
	uint32_t magic, version, n, sizes[N_TEXTS];
};

struct answer_head {
	uint32_t magic, version, outcome, error, flags, n_addresses, n_frames, n_texts, n_inputs,
		zero;
	uint64_t texts_size, inputs_size;
};

struct code_answer_head {
	uint32_t magic, version, outcome, error, machine, n_addresses, n_functions, zero;
	uint64_t code_size;
};

struct symbols_answer_head {
	uint32_t magic, version, outcome, error, machine, flags, n_symbols, n_files;
	uint64_t text_start, text_end, names_size;
};

struct symbol_answer {
	uint64_t start, end;
	uint32_t flags, file;
};

/* False at the end of the questions. */
static bool read_whole(void *to, size_t size)
{
	size_t n = 0;

	while (n < size) {
		const ssize_t got = read(STDIN_FILENO, (char *)to + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (!n && !got)
				return false;
			_exit(EXIT_PROTOCOL);
		}
		n += (size_t)got;
	}
	return true;
}

static void write_whole(const void *from, size_t size)
{
	for (size_t n = 0; n < size;) {
		const ssize_t written = write(STDOUT_FILENO, (const char *)from + n, size - n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			_exit(EXIT_PROTOCOL);
		n += (size_t)written;
	}
}

static void write_answer(const struct gn_answer *answer, uint32_t n)
{
	char **inputs = answer->inputs.paths.data;
	struct answer_head head = {
		.magic = ANSWER_MAGIC,
		.version = VERSION,
		.outcome = answer->outcome,
		.error = (uint32_t)-answer->error,
		.flags = (answer->has_symbols ? FLAG_HAS_SYMBOLS : 0) |
			 (answer->has_debug ? FLAG_HAS_DEBUG : 0),
		.n_addresses = answer->outcome == GN_RESOLVED ? n : 0,
		.n_frames = (uint32_t)answer->frames.n,
		.n_texts = (uint32_t)answer->texts.ends.n,
		.n_inputs = (uint32_t)answer->inputs.paths.n,
		.texts_size = answer->texts.bytes.n,
	};

	if (answer->outcome != GN_RESOLVED)
		head.n_frames = head.n_texts = 0, head.texts_size = 0;
	for (uint32_t i = 0; i < head.n_inputs; i++)
		head.inputs_size += strlen(inputs[i]) + 1;
	write_whole(&head, sizeof(head));
	if (answer->outcome == GN_RESOLVED)
		write_whole(answer->first.data, answer->first.n * sizeof(uint32_t));
	write_whole(answer->frames.data, head.n_frames * sizeof(struct gn_frame));
	write_whole(answer->texts.ends.data, head.n_texts * sizeof(uint64_t));
	write_whole(answer->texts.bytes.data, head.texts_size);
	for (uint32_t i = 0; i < head.n_inputs; i++)
		write_whole(inputs[i], strlen(inputs[i]) + 1);
}

static void answer_names(const struct gn_question *question)
{
	struct gn_answer answer;

	gn_answer_init(&answer);
	gn_resolve(question, &answer);
	write_answer(&answer, question->n);
	gn_answer_free(&answer);
}

static void write_code(const struct gn_codes *codes, struct code_answer_head *head)
{
	const struct gn_code *functions = codes->functions.data;

	head->n_functions = (uint32_t)codes->functions.n;
	for (uint32_t i = 0; i < head->n_functions; i++)
		head->code_size += functions[i].bytes.size;
	write_whole(head, sizeof(*head));
	write_whole(codes->function_of, head->n_addresses * sizeof(uint32_t));
	for (uint32_t i = 0; i < head->n_functions; i++) {
		const uint64_t place[] = {functions[i].start, functions[i].bytes.size};

		write_whole(place, sizeof(place));
	}
	for (uint32_t i = 0; i < head->n_functions; i++)
		write_whole(functions[i].bytes.data, functions[i].bytes.size);
}

static void answer_code(const struct gn_question *question)
{
	struct code_answer_head head = {.magic = CODE_ANSWER_MAGIC, .version = VERSION};
	struct gn_codes codes = {0};
	struct gn_arena arena = {0};
	struct gn_elf module;
	int error;

	head.outcome = gn_open_module(&module, &arena, question, &error);
	head.error = (uint32_t)-error;
	if (head.outcome == GN_RESOLVED) {
		head.machine = module.machine;
		head.n_addresses = question->n;
		gn_codes_find(&codes, &module, question->addresses, question->n);
	}
	write_code(&codes, &head);
	if (head.outcome == GN_RESOLVED)
		gn_elf_close(&module);
	gn_vector_free(&codes.functions);
	gn_arena_free(&arena);
}

static void push_text(struct gn_texts *names, const char *text, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		*(char *)gn_vector_push(&names->bytes, 1) = text[i];
	*(char *)gn_vector_push(&names->bytes, 1) = '\0';
}

/* The outermost function's file at each static symbol, by the texts of an answer. */
static uint32_t *files_of(const struct gn_text_symbols *found, const struct gn_question *question,
			  struct gn_answer *answer)
{
	const struct gn_text_symbol *symbols = found->symbols.data;
	uint32_t *files = calloc(found->symbols.n + 1, sizeof(*files));
	uint64_t *starts = calloc(found->symbols.n + 1, sizeof(*starts));
	struct gn_question of_statics = *question;
	const struct gn_frame *frames;
	const uint32_t *first;
	uint32_t n = 0;

	if (!files || !starts)
		_exit(GN_EXIT_NO_MEMORY);
	for (size_t i = 0; i < found->symbols.n; i++)
		if (symbols[i].flags & GN_TEXT_SYMBOL_IS_STATIC)
			starts[n++] = symbols[i].start;
	of_statics.addresses = starts;
	of_statics.n = n;
	if (n)
		gn_resolve(&of_statics, answer);
	frames = answer->frames.data;
	first = answer->first.data;
	for (size_t i = 0, at = 0; n && answer->outcome == GN_RESOLVED && i < found->symbols.n; i++)
		if (symbols[i].flags & GN_TEXT_SYMBOL_IS_STATIC) {
			at++;
			if (first[at] > first[at - 1])
				files[i] = frames[first[at] - 1].file;
		}
	free(starts);
	return files;
}

/* Behind the names come the files, each once; texts of an answer get their numbers there. */
static uint32_t push_files(struct gn_texts *names, const struct gn_answer *answer, uint32_t *files,
			   size_t n)
{
	const uint64_t *ends = answer->texts.ends.data;
	uint32_t *number = calloc(answer->texts.ends.n + 1, sizeof(*number));
	uint32_t n_files = 0;

	if (!number)
		_exit(GN_EXIT_NO_MEMORY);
	for (size_t i = 0; i < n; i++) {
		const uint32_t text = files[i];

		if (text && !number[text]) {
			push_text(names, (const char *)answer->texts.bytes.data + ends[text - 1],
				  ends[text] - ends[text - 1]);
			number[text] = ++n_files;
		}
		files[i] = number[text];
	}
	free(number);
	return n_files;
}

static void write_symbols(const struct gn_text_symbols *found, const struct gn_question *question,
			  struct symbols_answer_head *head)
{
	const struct gn_text_symbol *symbols = found->symbols.data;
	const bool has_files = *question->folders;
	struct gn_vector records = {0};
	struct gn_texts names = {0};
	struct gn_answer answer;
	uint32_t *files = NULL;
	char name[NAME_MAX_SIZE];

	gn_answer_init(&answer);
	if (has_files)
		files = files_of(found, question, &answer);
	head->n_symbols = (uint32_t)found->symbols.n;
	head->text_start = found->text_start;
	head->text_end = found->text_end;
	for (uint32_t i = 0; i < head->n_symbols; i++) {
		const bool is_mangled = gn_demangle(symbols[i].name, name, sizeof(name));
		const char *title = is_mangled ? name : symbols[i].name;

		push_text(&names, symbols[i].name, strlen(symbols[i].name));
		push_text(&names, title, strlen(title));
	}
	if (has_files)
		head->n_files = push_files(&names, &answer, files, found->symbols.n);
	head->names_size = names.bytes.n;
	write_whole(head, sizeof(*head));
	for (uint32_t i = 0; i < head->n_symbols; i++)
		*(struct symbol_answer *)gn_vector_push(&records, sizeof(struct symbol_answer)) =
			(struct symbol_answer){symbols[i].start, symbols[i].end, symbols[i].flags,
					       files ? files[i] : 0};
	write_whole(records.data, records.n * sizeof(struct symbol_answer));
	write_whole(names.bytes.data, names.bytes.n);
	gn_vector_free(&records);
	gn_vector_free(&names.bytes);
	gn_answer_free(&answer);
	free(files);
}

static void answer_symbols(const struct gn_question *question)
{
	struct symbols_answer_head head = {.magic = SYMBOLS_ANSWER_MAGIC, .version = VERSION};
	struct gn_text_symbols found = {0};
	struct gn_arena arena = {0};
	struct gn_elf module;
	int error;

	head.outcome = gn_open_module(&module, &arena, question, &error);
	head.error = (uint32_t)-error;
	if (head.outcome == GN_RESOLVED) {
		head.machine = module.machine;
		head.flags = (module.is_wide ? FLAG_IS_WIDE : 0) |
			     (module.is_swapped ? FLAG_IS_SWAPPED : 0) |
			     (gn_text_symbols_find(&found, &module) ? FLAG_HAS_TEXT : 0);
	}
	write_symbols(&found, question, &head);
	if (head.outcome == GN_RESOLVED)
		gn_elf_close(&module);
	gn_text_symbols_free(&found);
	gn_arena_free(&arena);
}

static void answer_one(const struct question_head *head)
{
	char *texts[N_TEXTS];
	uint64_t *addresses = calloc(head->n + (size_t)1, sizeof(*addresses));
	struct gn_question question = {.addresses = addresses, .n = head->n};

	if (!addresses)
		_exit(GN_EXIT_NO_MEMORY);
	if (head->n && !read_whole(addresses, head->n * sizeof(*addresses)))
		_exit(EXIT_PROTOCOL);
	for (int i = 0; i < N_TEXTS; i++) {
		texts[i] = calloc(1, (size_t)head->sizes[i] + 1);
		if (!texts[i])
			_exit(GN_EXIT_NO_MEMORY);
		if (head->sizes[i] && !read_whole(texts[i], head->sizes[i]))
			_exit(EXIT_PROTOCOL);
	}
	question.path = texts[0];
	question.build_id = texts[1];
	question.debug_path = texts[2];
	question.folders = texts[3];
	if (head->magic == CODE_QUESTION_MAGIC)
		answer_code(&question);
	else if (head->magic == SYMBOLS_QUESTION_MAGIC)
		answer_symbols(&question);
	else
		answer_names(&question);
	for (int i = 0; i < N_TEXTS; i++)
		free(texts[i]);
	free(addresses);
}

/* A crash leaves no trace; no more than half of the machine's memory; SIGALRM ends the process. */
static void limit_process(void)
{
	const rlim_t half = (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
	const struct rlimit no_core = {0, 0}, memory = {half, half};
	sigset_t none;

	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_DATA, &memory);
	signal(SIGINT, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	const unsigned int seconds_max = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	struct question_head head;

	limit_process();
	while (read_whole(&head, sizeof(head))) {
		bool is_question =
			(head.magic == QUESTION_MAGIC || head.magic == CODE_QUESTION_MAGIC ||
			 head.magic == SYMBOLS_QUESTION_MAGIC) &&
			head.version == VERSION && head.n <= ADDRESSES_MAX;

		for (int i = 0; i < N_TEXTS; i++)
			is_question &= head.sizes[i] < TEXT_MAX;
		if (!is_question) {
			fputs("gnomon-symbols: not a question of this version\n", stderr);
			return EXIT_PROTOCOL;
		}
		alarm(seconds_max);
		answer_one(&head);
		alarm(0);
	}
	return 0;
}
