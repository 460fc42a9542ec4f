/* Presets: the table, formulas, and users' files, also broken ones. */
#include <errno.h>
#include <math.h>

#include "preset_files.h"
#include "random.h"
#include "work.h"

static void test_the_table_is_sound(void)
{
	int64_t factor[GN_NATIVES_MAX];
	int defined = 0;

	CHECK(gn_preset_family_count > 1);
	CHECK(!strcmp(gn_preset_texts + gn_preset_families[gn_preset_family_count - 1].name,
		      "generic"));
	for (int i = 0; i < gn_preset_family_count * gn_preset_meaning_count; i++) {
		const struct gn_preset_row *row = &gn_preset_rows[i];
		struct gn_program program = {
			.n = row->ops,
			.op = (struct gn_op *)(uintptr_t)&gn_preset_ops[row->first_op]};
		const char *text = gn_preset_texts + row->formula;
		struct gn_formula_problem problem;
		struct gn_program parsed;

		CHECK((row->n > 0) == !gn_preset_texts[row->reason]);
		CHECK((row->n > 0) == (row->ops > 0));
		CHECK(gn_preset_texts[row->description]);
		if (!row->n)
			continue;
		defined++;
		CHECK(gn_program_is_sound(&program, row->n));
		CHECK(*text || gn_program_factors(&program, row->n, factor));
		if (!*text)
			continue;
		CHECK_EQ(gn_formula_parse(text, row->n, &parsed, &problem), 0);
		CHECK_EQ(parsed.n, program.n);
		for (int k = 0; k < parsed.n; k++) {
			CHECK_EQ(parsed.op[k].kind, program.op[k].kind);
			CHECK_EQ(parsed.op[k].native, program.op[k].native);
			CHECK(parsed.op[k].constant == program.op[k].constant);
		}
		free(parsed.op);
	}
	CHECK(defined > 50);
}

static double value_of(const char *formula, double first, double second, double seconds)
{
	const double counts[2] = {first, second};
	struct gn_formula_problem problem;
	struct gn_event event = {.n = 2};
	struct gn_program program;
	double value = NAN;

	CHECK_EQ(gn_formula_parse(formula, 2, &program, &problem), 0);
	event.ops = program.n;
	event.op = program.op;
	if (gn_event_evaluate_timed(&event, counts, seconds, &value))
		value = NAN;
	free(program.op);
	return value;
}

static void test_formulas(void)
{
	CHECK(value_of("N0 + 2*N1", 1, 10, 1) == 21);
	CHECK(value_of("N0|2|N1|*|+|", 1, 10, 1) == 21);
	CHECK(value_of("N0 - N1 - 1", 10, 3, 1) == 6);
	CHECK(value_of("N0 - (N1 - 1)", 10, 3, 1) == 8);
	CHECK(value_of("N0 / N1 / 2", 12, 3, 1) == 2);
	CHECK(value_of("-N0 * -N1", 2, 3, 1) == 6);
	CHECK(value_of("2 * -(N0 + N1)", 2, 3, 1) == -10);
	CHECK(value_of("N0 / seconds", 3, 0, 0.5) == 6);
	CHECK(value_of("1e3 * .5 * N0 + 2.", 1, 0, 0) == 502);
	CHECK(isnan(value_of("N0 / N1", 1, 0, 1)));
	CHECK(isnan(value_of("1 / (N0 / N1)", 0, 1, 1)));
	CHECK(isnan(value_of("N0 * 1e308 * 1e308", 10, 0, 1)));
	CHECK(isnan(value_of("1 / (N0 * 1e308 * 1e308)", 10, 0, 1)));
	CHECK(isnan(value_of("N0 / seconds", 3, 0, NAN)));
}

static void test_kinds(void)
{
	static const struct {
		const char *formula, *kind;
		int natives;
	} known[] = {
		{"N0", "not derived", 1},
		{"N0 + N1", "sum", 2},
		{"N0|N1|+|", "sum", 2},
		{"N0 - N1", "difference", 2},
		{"N0 + 2*N1", "infix", 2},
		{"N0|N1|2|*|+|", "postfix", 2},
		{"N0 / seconds", "per second", 1},
		{"N0 / N1", "infix", 2},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct gn_formula_problem problem;
		struct gn_program program;

		CHECK_EQ(gn_formula_parse(known[i].formula, known[i].natives, &program, &problem),
			 0);
		CHECK(!strcmp(gn_program_kind(&program, known[i].formula, known[i].natives),
			      known[i].kind));
		free(program.op);
	}
}

static void test_wrong_formulas(void)
{
	static const struct {
		const char *formula;
		int column;
	} wrong[] = {
		{"", 1},       {"N0 +", 5},	 {"N0 N1", 4},	 {"(N0", 1},	  {"N0)", 3},
		{"N2", 1},     {"N0 $ N1", 4},	 {"N0 + ()", 7}, {"x", 1},	  {"1e999", 1},
		{"N0|N1|", 7}, {"N0|+|", 4},	 {"N0|x|+|", 4}, {"N", 1},	  {"N00000", 1},
		{"N0||+|", 4}, {"N0 + * N1", 6}, {"|", 1},	 {"N0|N1|^|", 7},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct gn_formula_problem problem = {.column = -1};
		struct gn_program program;

		CHECK_EQ(gn_formula_parse(wrong[i].formula, 2, &program, &problem), -1);
		if (problem.column != wrong[i].column)
			fprintf(stderr, "%s: column %d: %s\n", wrong[i].formula, problem.column,
				problem.text);
		CHECK_EQ(problem.column, wrong[i].column);
		CHECK(*problem.text);
	}
}

/* Deeper than the stack is refused, deep brackets that need no stack are not. */
static void test_deep_formulas(void)
{
	static char text[4096];
	struct gn_formula_problem problem;
	struct gn_program program;

	memset(text, '(', 1000);
	strcpy(text + 1000, "N0");
	memset(text + 1002, ')', 1000);
	CHECK_EQ(gn_formula_parse(text, 1, &program, &problem), 0);
	CHECK_EQ(program.n, 1);
	free(program.op);
	text[0] = '\0';
	for (int i = 0; i <= GN_STACK_MAX; i++)
		strcat(text, "N0+(");
	strcat(text, "N0");
	for (int i = 0; i <= GN_STACK_MAX; i++)
		strcat(text, ")");
	CHECK_EQ(gn_formula_parse(text, 1, &program, &problem), -1);
	CHECK(strstr(problem.text, "64 numbers"));
}

#define FORMULA_MAX 4096

/* Writes the same random formula both ways. */
static void write_both(char *infix, char *postfix, int depth)
{
	static const char symbols[] = "+-*/";
	char left[2][FORMULA_MAX], right[2][FORMULA_MAX];
	char symbol;

	if (!depth || !random_below(4)) {
		const uint32_t n = random_below(4);

		sprintf(infix, n < 2 ? "N%u" : "%u.5", n);
		sprintf(postfix, n < 2 ? "N%u|" : "%u.5|", n);
		return;
	}
	symbol = symbols[random_below(4)];
	write_both(left[0], left[1], depth - 1);
	write_both(right[0], right[1], depth - 1);
	CHECK(snprintf(infix, FORMULA_MAX, "(%s %c %s)", left[0], symbol, right[0]) < FORMULA_MAX);
	CHECK(snprintf(postfix, FORMULA_MAX, "%s%s%c|", left[1], right[1], symbol) < FORMULA_MAX);
}

static void test_infix_and_postfix_agree(void)
{
	for (unsigned int i = check_work(2000); i; i--) {
		char infix[FORMULA_MAX], postfix[FORMULA_MAX];
		double one, other;

		write_both(infix, postfix, 5);
		one = value_of(infix, 3, 7, 1);
		other = value_of(postfix, 3, 7, 1);
		CHECK(one == other || (isnan(one) && isnan(other)));
	}
}

static void test_whatever_a_formula_says(void)
{
	unsigned int good = 0;

	for (unsigned int i = check_work(30000); i; i--) {
		struct gn_formula_problem problem = {.column = 0};
		struct gn_program program;
		char text[200];
		int error;

		random_text(text, sizeof(text), "N0 N1 N9 2 1e3 .5 + - * / ( ) seconds | x", 12);
		error = gn_formula_parse(text, 2, &program, &problem);
		good += !error;
		CHECK(error ? problem.column > 0 && *problem.text
			    : gn_program_is_sound(&program, 2));
		CHECK(problem.column <= (int)strlen(text) + 1);
		if (!error)
			free(program.op);
	}
	CHECK(good > 0);
}

static char *file_of(const char *text, size_t length)
{
	static char path[64];
	FILE *file;

	strcpy(path, "/tmp/gnomon-presets-XXXXXX");
	file = fdopen(mkstemp(path), "w");
	CHECK(file && fwrite(text, 1, length, file) == length && !fclose(file));
	return path;
}

static int load(const char *text)
{
	char *path = file_of(text, strlen(text));
	const int error = gn_presets_load(path);

	CHECK(!error || !strncmp(gn_message(), path, strlen(path)));
	CHECK_EQ(unlink(path), 0);
	return error;
}

static void test_users_presets_count(void)
{
	struct gn_event_info info = {.size = sizeof(info)};
	struct gn_value value;
	uint32_t code, again;
	char name[GN_NAME_MAX];
	gn_set set;

	OK(load("PRESET,FAULTS_TWICE,DERIVED_INFIX,2*N0,page-faults,LDESC,'twice'\n"
		"PRESET,SHARE,DERIVED_INFIX,N0/(2*N1),page-faults,page-faults\n"
		"PRESET,RATE,DERIVED_PS,page-faults\n"));
	CHECK_EQ(gn_preset_count(), gn_preset_meaning_count + 3);
	OK(gn_preset_at(0, &info));
	CHECK(!strcmp(info.name, "FAULTS_TWICE"));
	CHECK(!strcmp(info.description, "twice"));
	OK(gn_preset_code("SHARE", &code));
	OK(gn_event_code("SHARE", &again));
	CHECK_EQ(code, again);
	CHECK(code & GN_PRESET_MASK);
	OK(gn_code_event(code, name, sizeof(name)));
	CHECK(!strcmp(name, "SHARE"));
	OK(gn_event_describe("RATE", &info));
	CHECK(!strcmp(info.kind, "per second"));
	CHECK(!strcmp(info.unit, "/s"));
	OK(gn_set_create(&set, NULL));
	OK(gn_set_add(set, "FAULTS_TWICE"));
	OK(gn_set_start(set));
	touch_pages(100);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, &value));
	CHECK(value.value >= 200 && fmod(value.value, 2) == 0);
	OK(gn_set_clear(set));
	OK(gn_set_add(set, "SHARE"));
	OK(gn_set_start(set));
	touch_pages(100);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, &value));
	CHECK(value.value == 0.5);
	OK(gn_set_clear(set));
	OK(gn_set_destroy(&set));
}

static void test_what_was_loaded_last_comes_first(void)
{
	struct gn_event_info info = {.size = sizeof(info)};

	OK(load("PRESET,MINE,NOT_DERIVED,cs\n"));
	OK(load("PRESET,MINE,NOT_DERIVED,page-faults\n"));
	OK(gn_event_describe("MINE", &info));
	CHECK(!strcmp(info.definition, "page-faults"));
	OK(load("PRESET,PAPI_TOT_INS,NOT_DERIVED,cs\n"));
	OK(gn_event_describe("papi_tot_ins", &info));
	CHECK(!strcmp(info.definition, "cs"));
	CHECK(strstr(info.description, "in place of Gnomon's own"));
}

static void test_broken_files_change_nothing(void)
{
	const int before = gn_preset_count();

	FAILS(load("PRESET,GOOD,NOT_DERIVED,cs\nPRESET,BAD,NOT_DERIVED,cs,cs\n"), GN_EINVAL,
	      ":2: preset BAD: NOT_DERIVED takes one event");
	CHECK_EQ(gn_preset_count(), before);
	FAILS(gn_presets_load("/nonexistent/presets.csv"), GN_EINVAL, "cannot be read");
	FAILS(gn_presets_load("/dev/zero"), GN_EINVAL, "larger than");
	FAILS(load("[preset.X]\nevents = [\"cs\"]\n"), GN_EINVAL, "TOML is for Python");
}

#define FIELDS                                                                                     \
	"PRESET, PRESET,X, CPU,icl CPU, EVENT, NOT_DERIVED, DERIVED_ADD, DERIVED_SUB, "            \
	"DERIVED_PS, "                                                                             \
	"DERIVED_POSTFIX,N0|N1|+|, DERIVED_INFIX,N0/N1, cs page-faults, , , ' \" # \n \n \n "      \
	"LDESC, "                                                                                  \
	"UNITS, nope PAPI_TOT_INS \303\251 \t"

static void test_whatever_a_file_says(void)
{
	unsigned int good = 0;

	for (unsigned int i = check_work(3000); i; i--) {
		struct gn_preset_file *file;
		struct gn_error_text why = {.text = ""};
		char text[600], *path;
		size_t length;
		int error;

		strcpy(text, random_below(3) ? "PRESET,A,NOT_DERIVED,cs\n" : "");
		length = strlen(text);
		random_text(text + length, sizeof(text) - length, FIELDS, 25);
		length = strlen(text);
		if (!random_below(10) && length)
			text[random_below((uint32_t)length)] = '\0';
		path = file_of(text, length);
		error = gn_preset_file_read(path, &file, &why);
		CHECK(error == GN_OK || error == GN_EINVAL);
		CHECK(error ? !file && !strncmp(why.text, path, strlen(path)) : file->n >= 0);
		good += !error;
		if (!error)
			gn_preset_file_free(file);
		CHECK_EQ(unlink(path), 0);
	}
	CHECK(good > 0);
}

int main(void)
{
	RUN(test_the_table_is_sound);
	RUN(test_formulas);
	RUN(test_kinds);
	RUN(test_wrong_formulas);
	RUN(test_deep_formulas);
	RUN(test_infix_and_postfix_agree);
	RUN(test_whatever_a_formula_says);
	RUN(test_users_presets_count);
	RUN(test_what_was_loaded_last_comes_first);
	RUN(test_broken_files_change_nothing);
	RUN(test_whatever_a_file_says);
	return check_result;
}
