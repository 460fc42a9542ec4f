/*
 * Users' own presets, in PAPI's format of user-defined events:
 *
 *	CPU,skx
 *	PRESET,DP_LANES,DERIVED_POSTFIX,N0|N1|2|*|+|,FP_ARITH:SCALAR_DOUBLE,FP_ARITH:128B
 *
 * Every limit and every refusal is that of src/gnomon/counters/presets/papi_csv.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preset_files.h"

#define BYTES_MAX ((size_t)1 << 20)
#define LINE_MAX_CHARACTERS 8192
#define TEXT_MAX_CHARACTERS 1000
#define NAME_MAX_LETTERS 128
#define PRESETS_MAX 4096

/* A row taken apart. Each field takes two bytes of the row at least, but the last. */
struct row {
	int n;
	char **field;
};

struct reader {
	struct gn_preset_file *file;
	struct gn_error_text *why;
	int line;
	const char **pmus; /* of the CPU lines above */
	int n_pmus;
	int heads; /* the line before was a CPU line too */
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *reader,
							const char *format, ...)
{
	char problem[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	if (!reader->line)
		return gn_error_set(reader->why, GN_EINVAL, "%s: %s%s", reader->file->path, problem,
				    strstr(problem, "; ") ? "" : "; give a file of presets");
	return gn_error_set(reader->why, GN_EINVAL, "%s:%d: %s%s", reader->file->path, reader->line,
			    problem, strstr(problem, "; ") ? "" : "; correct this line");
}

static int no_memory(const struct reader *reader)
{
	return gn_error_set(reader->why, GN_ENOMEM, "%s: out of memory; free some memory",
			    reader->file->path);
}

static int read_all(const struct reader *reader, char **text, size_t *length)
{
	const int fd = open(reader->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = fd < 0 ? errno : 0;
	ssize_t got = 1;

	*length = 0;
	*text = gn_preset_keep(reader->file, BYTES_MAX + 2);
	if (!*text)
		error = ENOMEM;
	while (!error && got > 0 && *length <= BYTES_MAX) {
		got = read(fd, *text + *length, BYTES_MAX + 1 - *length);
		if (got > 0)
			*length += (size_t)got;
		else if (got < 0 && errno == EINTR)
			got = 1;
		else if (got < 0)
			error = errno;
	}
	if (fd >= 0)
		close(fd);
	if (error)
		return refuse(reader, "cannot be read: %s", strerror(error));
	if (*length > BYTES_MAX)
		return refuse(reader, "larger than %zu bytes: not a file of presets", BYTES_MAX);
	return GN_OK;
}

/* How many bytes the UTF-8 character at `text` has; 0 if it is none. Source: RFC 3629. */
static size_t character(const unsigned char *text)
{
	const unsigned char first = text[0];
	size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;

	if (!first || (first >= 0x80 && first < 0xc2) || first > 0xf4)
		return 0;
	if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
	    (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f))
		return 0;
	for (size_t i = 1; i <= more; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return more + 1;
}

/* Whether it is text, of lines that are not too long. */
static int check_text(struct reader *reader, const char *text, size_t length)
{
	const unsigned char *next = (const unsigned char *)text;
	const unsigned char *const end = next + length;
	int characters = 0;

	reader->line = 1;
	while (next < end) {
		const size_t size = character(next);

		if (!size)
			return refuse(reader, "not UTF-8 text");
		characters = *next == '\n' ? 0 : characters + 1;
		if (characters > LINE_MAX_CHARACTERS)
			return refuse(reader, "longer than %d characters", LINE_MAX_CHARACTERS);
		reader->line += *next == '\n';
		next += size;
	}
	reader->line = 0;
	return GN_OK;
}

static int is_word(const char *text, const char *word)
{
	return !gn_compare_folded(text, word);
}

/* Whether the first line that says anything begins as this format does. */
static int is_papi_format(const char *text)
{
	while (*text) {
		const char *end = strchr(text, '\n');
		const size_t length = end ? (size_t)(end - text) : strlen(text);
		char start[16], *word;

		snprintf(start, sizeof(start), "%.*s", (int)(length < 15 ? length : 15), text);
		word = gn_strip(start);
		if (*word && *word != '#') {
			word[strcspn(word, ",")] = '\0';
			word = gn_strip(word);
			return is_word(word, "CPU") || is_word(word, "PRESET") ||
			       is_word(word, "EVENT");
		}
		text += length + (end != NULL);
	}
	return 0;
}

static int is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return 0;
	return 1;
}

static size_t characters_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* What a field in quotation marks ends with: the comma behind it, the end of the row, or NULL. */
static char *quoted_end(char *text, char **begin, char **end)
{
	text += strspn(text, " \t");
	if (*text != '"' && *text != '\'')
		return NULL;
	*begin = text + 1;
	*end = strchr(text + 1, *text);
	if (!*end)
		return NULL;
	text = *end + 1 + strspn(*end + 1, " \t");
	return !*text || *text == ',' ? text : NULL;
}

static int take_apart(const struct reader *reader, char *text, struct row *row)
{
	char *next = text;

	row->n = 0;
	for (;;) {
		char *begin = next, *end, *stop = quoted_end(next, &begin, &end);
		int is_last;

		if (!stop) {
			begin = next;
			end = stop = next + strcspn(next, ",\"'");
			if (*stop && *stop != ',')
				return refuse(reader,
					      "a quotation mark is out of place at column %d",
					      (int)(next - text) + 1);
		}
		is_last = !*stop;
		*end = '\0';
		row->field[row->n++] = gn_strip(begin);
		if (is_last)
			return GN_OK;
		next = stop + 1;
	}
}

static int check_name(const struct reader *reader, const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				      "0123456789.-";
	const size_t length = strlen(name);

	if (length && length <= NAME_MAX_LETTERS && strspn(name, letters) == length &&
	    !strchr("0123456789.-", *name))
		return GN_OK;
	return refuse(reader,
		      "'%.60s' is no name of a preset: a letter, then letters, digits and _ - .",
		      name);
}

static int check_event(const struct reader *reader, const char *what, const char *name)
{
	if (!*name || !is_printable(name) || strpbrk(name, " \t"))
		return refuse(reader, "%s must hold names without blanks, not '%.60s'", what, name);
	if (strlen(name) >= GN_NAME_MAX)
		return refuse(reader, "%s: '%.60s...' is longer than %d characters", what, name,
			      GN_NAME_MAX - 1);
	return GN_OK;
}

static int read_cpu(struct reader *reader, const struct row *row)
{
	const char **pmus;
	int failed;

	if (row->n != 2 || !*row->field[1])
		return refuse(reader, "CPU takes one name of a PMU: CPU,skx");
	failed = check_event(reader, "CPU", row->field[1]);
	if (failed)
		return failed;
	if (!reader->heads)
		reader->n_pmus = 0;
	pmus = gn_preset_keep(reader->file, ((size_t)reader->n_pmus + 1) * sizeof(*pmus));
	if (!pmus)
		return no_memory(reader);
	if (reader->n_pmus)
		memcpy(pmus, reader->pmus, (size_t)reader->n_pmus * sizeof(*pmus));
	pmus[reader->n_pmus++] = row->field[1];
	reader->pmus = pmus;
	reader->heads = 1;
	return GN_OK;
}

enum derivation {
	NOT_DERIVED,
	DERIVED_ADD,
	DERIVED_SUB,
	DERIVED_PS,
	DERIVED_ADD_PS,
	DERIVED_CMPD,
	DERIVED_POSTFIX,
	DERIVED_INFIX,
	DERIVATIONS,
};

static const char *const derivations[DERIVATIONS] = {
	"NOT_DERIVED",	  "DERIVED_ADD",  "DERIVED_SUB",     "DERIVED_PS",
	"DERIVED_ADD_PS", "DERIVED_CMPD", "DERIVED_POSTFIX", "DERIVED_INFIX",
};

/* What a line says beside its events. */
struct notes {
	const char *text[4];
};

static const char *const note_names[4] = {"LDESC", "SDESC", "NOTE", "UNITS"};

static int note_of(const char *field)
{
	for (int i = 0; i < 4; i++)
		if (is_word(field, note_names[i]))
			return i;
	return -1;
}

/* Sorts what follows the derivation into events, which stay in row->field[0 .. n), and notes. */
static int read_rest(const struct reader *reader, const char *name, struct row *row,
		     struct notes *notes)
{
	int n = 0;

	memset(notes, 0, sizeof(*notes));
	for (int column = 0; column < row->n; column++) {
		const int note = note_of(row->field[column]);

		if (note < 0) {
			row->field[n++] = row->field[column];
			continue;
		}
		if (++column == row->n)
			return refuse(reader, "preset %s: %s without a text", name,
				      note_names[note]);
		if (!is_printable(row->field[column]) ||
		    characters_of(row->field[column]) > TEXT_MAX_CHARACTERS)
			return refuse(reader,
				      "%s must be one line of at most %d printable characters",
				      note_names[note], TEXT_MAX_CHARACTERS);
		notes->text[note] = row->field[column];
	}
	if (n && !*row->field[n - 1])
		n--;
	row->n = n;
	return GN_OK;
}

/* N0 - N1 - ..., or (N0 + N1 + ...) / seconds: what the derivation says instead of a formula. */
static const char *implied(struct gn_preset_file *file, enum derivation derivation, int n)
{
	const int is_timed = derivation == DERIVED_PS || derivation == DERIVED_ADD_PS;
	char *text, *end;

	if (!is_timed && derivation != DERIVED_SUB)
		return "";
	text = gn_preset_keep(file, 8 * (size_t)n + 16);
	if (!text)
		return NULL;
	end = text + sprintf(text, is_timed && n > 1 ? "(N0" : "N0");
	for (int i = 1; i < n; i++)
		end += sprintf(end, is_timed ? " + N%d" : " - N%d", i);
	if (is_timed)
		sprintf(end, n > 1 ? ") / seconds" : " / seconds");
	return text;
}

/* The sum that goes without saying. */
static int sum(struct gn_program *program, int n)
{
	program->n = 0;
	program->op = calloc(2 * (size_t)n, sizeof(*program->op));
	if (!program->op)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		gn_program_push(program, GN_OP_NATIVE, i, 0);
		if (i)
			gn_program_push(program, GN_OP_ADD, 0, 0);
	}
	return 0;
}

static int uses_native(const struct gn_program *program)
{
	for (int i = 0; i < program->n; i++)
		if (program->op[i].kind == GN_OP_NATIVE)
			return 1;
	return 0;
}

static int set_program(struct reader *reader, struct gn_preset *preset)
{
	struct gn_formula_problem problem = {.column = 0};
	struct gn_program program = {.n = 0};
	struct gn_op *op;
	int failed = *preset->formula
			     ? gn_formula_parse(preset->formula, preset->n, &program, &problem)
			     : sum(&program, preset->n);

	if (failed == -ENOMEM)
		return no_memory(reader);
	if (failed)
		return refuse(reader, "preset %s: at column %d of its formula: %s", preset->name,
			      problem.column, problem.text);
	if (!uses_native(&program))
		failed =
			refuse(reader, "preset %s: its formula measures nothing: it names no event",
			       preset->name);
	op = failed ? NULL : gn_preset_keep(reader->file, (size_t)program.n * sizeof(*op));
	if (op)
		memcpy(op, program.op, (size_t)program.n * sizeof(*op));
	else if (!failed)
		failed = no_memory(reader);
	free(program.op);
	preset->program.n = program.n;
	preset->program.op = op;
	return failed;
}

/* The names of the events, one after the other. */
static int set_events(struct reader *reader, struct gn_preset *preset, const struct row *row)
{
	char what[NAME_MAX_LETTERS + 16];
	size_t length = 0;
	char *next;

	snprintf(what, sizeof(what), "preset %s", preset->name);
	for (int i = 0; i < row->n; i++) {
		const int failed = check_event(reader, what, row->field[i]);

		if (failed)
			return failed;
		length += strlen(row->field[i]) + 1;
	}
	if (!row->n)
		return refuse(reader, "preset %s: it has no events", preset->name);
	if (row->n > GN_NATIVES_MAX)
		return refuse(reader, "preset %s: %d native events; at most %d can be",
			      preset->name, row->n, GN_NATIVES_MAX);
	preset->events = next = gn_preset_keep(reader->file, length);
	if (!next)
		return no_memory(reader);
	for (int i = 0; i < row->n; i++)
		next = stpcpy(next, row->field[i]) + 1;
	preset->n = row->n;
	return GN_OK;
}

static int defined_before(const struct reader *reader, const struct gn_preset *preset)
{
	for (int i = 0; i < reader->file->n; i++) {
		const struct gn_preset *before = &reader->file->preset[i];

		if (strcmp(before->name, preset->name))
			continue;
		if (!before->n_pmus && !preset->n_pmus)
			return before->line;
		for (int j = 0; j < before->n_pmus; j++)
			for (int k = 0; k < preset->n_pmus; k++)
				if (!strcmp(before->pmus[j], preset->pmus[k]))
					return before->line;
	}
	return 0;
}

static int add_preset(struct reader *reader, const struct gn_preset *preset)
{
	struct gn_preset_file *file = reader->file;
	const int before = defined_before(reader, preset);

	if (before)
		return refuse(reader, "preset %s is defined on line %d too", preset->name, before);
	if (file->n == PRESETS_MAX)
		return refuse(reader, "more than %d presets; no more are read", PRESETS_MAX);
	return gn_preset_file_append(file, preset) ? no_memory(reader) : GN_OK;
}

static int read_derivation(const struct reader *reader, const char *name, const char *text)
{
	for (int i = 0; i < DERIVATIONS; i++)
		if (is_word(text, derivations[i]))
			return i;
	return refuse(reader,
		      "preset %s: no derivation '%.60s'; there are NOT_DERIVED, DERIVED_ADD, "
		      "DERIVED_SUB, DERIVED_PS, DERIVED_ADD_PS, DERIVED_CMPD, DERIVED_POSTFIX, "
		      "DERIVED_INFIX",
		      name, text);
}

/* Takes the formula off the fields that follow the derivation. */
static int take_formula(const struct reader *reader, struct gn_preset *preset, int derivation,
			struct row *row)
{
	const char *text = row->n ? row->field[0] : "";

	if (derivation != DERIVED_POSTFIX && derivation != DERIVED_INFIX)
		return GN_OK;
	if (!*text)
		return refuse(reader, "preset %s: %s without a formula", preset->name,
			      derivations[derivation]);
	if ((strchr(text, '|') != NULL) != (derivation == DERIVED_POSTFIX) && strcmp(text, "N0"))
		return refuse(reader, "preset %s: '%.60s' is not what %s says", preset->name, text,
			      derivations[derivation]);
	preset->formula = text;
	row->field++;
	row->n--;
	return GN_OK;
}

static void describe(struct gn_preset *preset, const struct notes *notes)
{
	const int number = gn_preset_number_exactly(preset->name);
	const char *known_unit = "", *meaning = "";

	if (number >= 0) {
		meaning = gn_preset_texts + gn_preset_meanings[number].description;
		known_unit = gn_preset_texts + gn_preset_meanings[number].unit;
		preset->differs = "defined by the user, in place of Gnomon's own";
	}
	preset->description = meaning;
	for (int i = 2; i >= 0; i--)
		if (notes->text[i] && *notes->text[i])
			preset->description = notes->text[i];
	preset->unit = gn_program_is_timed(&preset->program) ? "/s" : "";
	if (*known_unit)
		preset->unit = known_unit;
	if (notes->text[3] && *notes->text[3])
		preset->unit = notes->text[3];
}

/* Of the events on the line those that are counted, in row->field[0 .. n). */
static int choose_events(const struct reader *reader, const char *name, int derivation,
			 struct row *row)
{
	if (derivation == NOT_DERIVED && row->n != 1)
		return refuse(reader, "preset %s: NOT_DERIVED takes one event, not %d", name,
			      row->n);
	if (derivation == DERIVED_PS && row->n > 2)
		return refuse(reader,
			      "preset %s: DERIVED_PS takes the cycles and one event, not %d", name,
			      row->n);
	/* The cycles come first, for the time, which the kernel says. */
	if ((derivation == DERIVED_PS || derivation == DERIVED_ADD_PS) && row->n > 1) {
		row->field++;
		row->n--;
	}
	if (derivation == DERIVED_CMPD && row->n > 1)
		row->n = 1;
	return GN_OK;
}

static int read_preset(struct reader *reader, struct row *row)
{
	struct gn_preset preset = {.reason = "", .differs = "", .formula = "", .is_users = 1};
	struct notes notes;
	int derivation, failed;

	if (row->n < 3)
		return refuse(reader, "a preset is NAME,DERIVATION,EVENT[,EVENT...]");
	preset.name = row->field[1];
	failed = check_name(reader, preset.name);
	if (failed)
		return failed;
	derivation = read_derivation(reader, preset.name, row->field[2]);
	if (derivation < 0)
		return derivation;
	row->field += 3;
	row->n -= 3;
	failed = take_formula(reader, &preset, derivation, row);
	if (!failed)
		failed = read_rest(reader, preset.name, row, &notes);
	if (failed)
		return failed;
	failed = choose_events(reader, preset.name, derivation, row);
	if (!failed)
		failed = set_events(reader, &preset, row);
	if (failed)
		return failed;
	if (!*preset.formula)
		preset.formula = implied(reader->file, (enum derivation)derivation, preset.n);
	if (!preset.formula)
		return no_memory(reader);
	failed = set_program(reader, &preset);
	if (failed)
		return failed;
	describe(&preset, &notes);
	preset.source = reader->file->path;
	preset.line = reader->line;
	preset.pmus = reader->pmus;
	preset.n_pmus = reader->n_pmus;
	return add_preset(reader, &preset);
}

static int read_row(struct reader *reader, char *text)
{
	char **fields;
	struct row row;
	int failed;

	text = gn_strip(text);
	if (!*text || *text == '#')
		return GN_OK;
	fields = calloc(strlen(text) + 2, sizeof(*fields));
	if (!fields)
		return no_memory(reader);
	row.field = fields;
	failed = take_apart(reader, text, &row);
	if (!failed && is_word(row.field[0], "CPU")) {
		failed = read_cpu(reader, &row);
	} else if (!failed) {
		reader->heads = 0;
		if (is_word(row.field[0], "PRESET") || is_word(row.field[0], "EVENT"))
			failed = read_preset(reader, &row);
		else
			failed = refuse(reader,
					"a line begins with CPU, PRESET or EVENT, not '%.60s'",
					row.field[0]);
	}
	free(fields);
	return failed;
}

static int is_toml(const char *path, const char *text)
{
	const size_t length = strlen(path);

	return (length >= 5 && !strcmp(path + length - 5, ".toml")) || !is_papi_format(text);
}

static int read_file(struct reader *reader)
{
	size_t length;
	char *text, *next;
	int failed = read_all(reader, &text, &length);

	if (!failed)
		failed = check_text(reader, text, length);
	if (failed)
		return failed;
	if (is_toml(reader->file->path, text))
		return refuse(reader,
			      "not in PAPI's format, which begins with CPU, PRESET or "
			      "EVENT; TOML is for Python and `gnomon`: write the presets as "
			      "PRESET,NAME,DERIVED_ADD,EVENT,EVENT");
	for (; text && !failed; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		reader->line++;
		failed = read_row(reader, text);
	}
	return failed;
}

int gn_preset_file_read(const char *path, struct gn_preset_file **file, struct gn_error_text *why)
{
	struct reader reader = {.why = why};
	int failed;

	*file = gn_preset_file_new(path);
	if (!*file)
		return gn_error_set(why, GN_ENOMEM, "%s: out of memory; free some memory", path);
	reader.file = *file;
	failed = read_file(&reader);
	if (failed) {
		gn_preset_file_free(*file);
		*file = NULL;
	}
	return failed;
}
