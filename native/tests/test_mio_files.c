/* Specifications of Modular I/O: what they mean, where they make no sense, and nonsense. */
#include "check.h"
#include "mio_debug.h"
#include "mio_files.h"
#include "mio_number.h"
#include "mio_template.h"
#include "random.h"

#include <string.h>

static struct gn_mio_registry registry;
static struct gn_mio_defaults defaults;
static struct gn_mio_files files;
static struct gn_mio_error error;

static int read_all(const char *defaults_text, const char *files_text)
{
	int result;

	gn_mio_registry_begin(&registry);
	result = gn_mio_defaults_read(&defaults, &registry, defaults_text, &error);
	if (!result)
		result = gn_mio_files_read(&files, &defaults, files_text, &error);
	else
		files = (struct gn_mio_files){0};
	return result;
}

static void free_all(void)
{
	gn_mio_files_free(&files);
	gn_mio_defaults_free(&defaults);
}

/* The names of a path's modules; static. */
static const char *modules_of(const char *path)
{
	static char names[512];
	const char *name_template;
	const struct gn_mio_rule *rule = gn_mio_files_match(&files, path, &name_template);
	const struct gn_mio_list *list = rule ? rule->list : &files.plain;

	names[0] = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		strcat(names, i ? " " : "");
		strcat(names, list->layer[i].module->name);
	}
	return names;
}

#define CHECK_TEXT(actual, expected)                                                               \
	do {                                                                                       \
		const char *text_actual = (actual);                                                \
		if (strcmp(text_actual, (expected)) != 0)                                          \
			fprintf(stderr, "\"%s\"\n", text_actual);                                  \
		CHECK(!strcmp(text_actual, (expected)));                                           \
	} while (0)

static void numbers(void)
{
	static const struct {
		const char *text;
		int64_t number;
		int result;
	} expected[] = {
		{"0", 0, 0},
		{"64k", 65536, 0},
		{"0x10", 16, 0},
		{"0xfFk", 255 * 1024, 0},
		{"0640", 0640, 0},
		{"010m", 8 << 20, 0},
		{"2G", (int64_t)2 << 30, 0},
		{"3t", (int64_t)3 << 40, 0},
		{"-5", -5, 0},
		{"9223372036854775807", INT64_MAX, 0},
		{"9223372036854775808", 0, -ERANGE},
		{"8388608t", 0, -ERANGE},
		{"", 0, -EINVAL},
		{"0x", 0, -EINVAL},
		{"08", 0, -EINVAL},
		{"k", 0, -EINVAL},
		{"1kb", 0, -EINVAL},
		{"1 k", 0, -EINVAL},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const char *text = expected[i].text;
		int64_t number = 0;

		CHECK_EQ(gn_mio_number(text, strlen(text), &number), expected[i].result);
		CHECK_EQ(number, expected[i].number);
	}
}

static void templates(void)
{
	CHECK(gn_mio_template_matches("*.dat", "test.dat"));
	CHECK(gn_mio_template_matches("*.dat", "/a/b/test.dat"));
	CHECK(gn_mio_template_matches("*", "/a/b/c"));
	CHECK(gn_mio_template_matches("*", ""));
	CHECK(gn_mio_template_matches("a?c", "x/abc"));
	CHECK(gn_mio_template_matches("/a/*/c", "/a/b/c"));
	CHECK(gn_mio_template_matches("/a/**", "/a/b/c"));
	CHECK(gn_mio_template_matches("*a*b*", "xxaxxbxb"));
	CHECK(gn_mio_template_matches("*ab", "aab"));
	CHECK(!gn_mio_template_matches("*.dat", "test.data"));
	CHECK(!gn_mio_template_matches("/a/*", "/a/b/c"));
	CHECK(!gn_mio_template_matches("/a?b", "/a/b"));
	CHECK(!gn_mio_template_matches("a?c", "ac"));
	CHECK(!gn_mio_template_matches("/*/x", "/a/b/x"));
	CHECK(!gn_mio_template_matches("", "a"));
}

static void examples_of_the_manual(void)
{
	CHECK_EQ(read_all("trace/events=prob.events , aix/debug",
			  " *.dat:*.scr [ trace ] *.f01:*.f02:*.f03 [ trace | aix ] "),
		 0);
	CHECK_EQ(files.n, 2);
	CHECK_TEXT(modules_of("test.dat"), "mio trace aix");
	CHECK_TEXT(modules_of("dir/test.scr"), "mio trace aix");
	CHECK_TEXT(modules_of("test.f02"), "mio trace aix");
	CHECK_TEXT(modules_of("test.f04"), "mio aix");
	CHECK_TEXT(files.rule[0].list->layer[1].setting[1].text, "prob.events");
	CHECK_EQ(files.rule[0].list->layer[2].setting[0].number, 1);
	CHECK_EQ(files.plain.layer[1].setting[0].number, 1);
	free_all();
}

static void the_first_of_two_rules_counts(void)
{
	CHECK_EQ(read_all(NULL, "*.a[trace|trace]*[os]**[trace]"), 0);
	CHECK_TEXT(modules_of("x.a"), "mio trace trace aix");
	CHECK_TEXT(modules_of("/x/b"), "mio aix");
	free_all();
	CHECK_EQ(read_all(NULL, "*[mio/mode=0600/nodirect|aix]"), 0);
	CHECK_TEXT(modules_of("b"), "mio aix");
	CHECK_EQ(files.rule[0].list->layer[0].setting[0].number, 0600);
	CHECK_EQ(files.rule[0].list->layer[0].setting[1].number, 0);
	free_all();
	CHECK_EQ(read_all(NULL, ""), 0);
	CHECK_EQ(files.n, 0);
	free_all();
	CHECK_EQ(read_all(" ", "*[]"), 0);
	CHECK_TEXT(modules_of("b"), "mio aix");
	free_all();
}

static void values_in_braces_have_slashes(void)
{
	CHECK_EQ(read_all(NULL, "*[trace/stats={/tmp/a b|]}/sample=0x10|trace/stats= my file ]"),
		 0);
	CHECK_TEXT(files.rule[0].list->layer[1].setting[0].text, "/tmp/a b|]");
	CHECK_EQ(files.rule[0].list->layer[1].setting[2].number, 16);
	CHECK_TEXT(files.rule[0].list->layer[2].setting[0].text, "my file");
	free_all();
}

static void a_list_of_a_call(void)
{
	struct gn_mio_list list;

	gn_mio_registry_begin(&registry);
	CHECK_EQ(gn_mio_defaults_read(&defaults, &registry, NULL, &error), 0);
	CHECK_EQ(gn_mio_list_read(&list, &defaults, " [ trace ] ", &error), 0);
	CHECK_EQ(list.n, 3);
	gn_mio_list_free(&list);
	CHECK_EQ(gn_mio_list_read(&list, &defaults, "trace ] x", &error), -EINVAL);
	CHECK_EQ(error.offset, 6);
	gn_mio_list_free(&list);
	gn_mio_defaults_free(&defaults);
}

static void errors_have_their_place(void)
{
	static const struct {
		const char *defaults, *files;
		size_t offset;
		const char *message;
	} expected[] = {
		{NULL, "*.dat", 5, "'[' and modules are missing"},
		{NULL, "*.dat ] [", 6, "'[' and modules are missing"},
		{NULL, " [trace]", 1, "the name of a file is missing"},
		{NULL, "a::b[trace]", 2, "the name of a file is missing"},
		{NULL, "*[trace", 1, "']' is missing"},
		{NULL, "*[ trace | pg ]", 11,
		 "there is no module 'pg'; there are mio, trace, pf, wb, aix"},
		{NULL, "*[trace|]", 8, "the name of a module is missing"},
		{NULL, "*[|trace]", 2, "the name of a module is missing"},
		{NULL, "*[trace/]", 8, "an option of trace is missing"},
		{NULL, "*[trace/stat]", 8, "trace has no option 'stat'"},
		{NULL, "*[trace/nostats=1]", 8, "the option nostats has no value"},
		{NULL, "*[wb/nostats=1]", 5, "the option nostats has no value"},
		{NULL, "*[pf/notag=a]", 5, "the option notag has no value"},
		{NULL, "*[trace/sample=0]", 15, "sample is from 1 to"},
		{NULL, "*[trace/sample=1q]", 15, "is no integer"},
		{NULL, "*[trace/sample=99999999999999999999]", 15, "out of range"},
		{NULL, "*[trace/stats={a]", 14, "'}' is missing"},
		{NULL, "*[trace/stats={a}b]", 17, "is missing here"},
		{NULL, "*[trace aix]", 8, "is missing behind the module trace"},
		{NULL, "*[trace|mio]", 8, "mio is the program's side"},
		{NULL, "*[aix|trace]", 6, "nothing comes behind it"},
		{NULL, "a/**/b[trace]", 4, "nothing comes behind it"},
		{"trace,", NULL, 6, "the name of a module is missing"},
		{"trace aix", NULL, 6, "is missing behind the module trace"},
		{"trace/sample", "", 0, NULL},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const int result = read_all(expected[i].defaults, expected[i].files);

		CHECK_EQ(result, expected[i].message ? -EINVAL : 0);
		if (result && !strstr(error.message, expected[i].message))
			fprintf(stderr, "%s: %s\n", expected[i].files, error.message);
		CHECK(!result || strstr(error.message, expected[i].message));
		if (result)
			CHECK_EQ(error.offset, expected[i].offset);
		free_all();
	}
}

static void a_caret_is_below_the_place(void)
{
	char text[300], lines[600], *caret, *line;

	CHECK_EQ(read_all(NULL, "*[ trace | pg ]"), -EINVAL);
	gn_mio_error_text(&error, "MIO_FILES", "*[ trace | pg ]", lines, sizeof(lines));
	CHECK(strstr(lines, "\n  *[ trace | pg ]\n             ^\n"));
	free_all();
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	memcpy(text + 100, "\x01[zz]", 5);
	CHECK_EQ(read_all(NULL, text), -EINVAL);
	CHECK_EQ(error.offset, 102);
	gn_mio_error_text(&error, "MIO_FILES", text, lines, sizeof(lines));
	CHECK(strstr(lines, "\n  ...a"));
	line = strchr(lines, '\n') + 1;
	caret = strchr(line, '\n') + 1;
	CHECK_EQ(strchr(caret, '^') - caret, strstr(line, "zz]") - line);
	CHECK(gn_mio_error_text(&error, "MIO_FILES", text, lines, 20) == 19);
	free_all();
}

static void texts_and_layers_are_bounded(void)
{
	char *text = malloc(GN_MIO_TEXT_MAX + 2);
	size_t used = 0;

	CHECK(text);
	memset(text, 'a', GN_MIO_TEXT_MAX + 1);
	text[GN_MIO_TEXT_MAX + 1] = 0;
	CHECK_EQ(read_all(NULL, text), -EINVAL);
	CHECK(strstr(error.message, "more than 65536 bytes"));
	free_all();
	used = (size_t)sprintf(text, "*[trace");
	for (int i = 0; i < 100; i++)
		used += (size_t)sprintf(text + used, "|trace");
	sprintf(text + used, "]");
	CHECK_EQ(read_all(NULL, text), -EINVAL);
	CHECK(strstr(error.message, "at most 62 modules"));
	free_all();
	for (used = 0; used + 4 < GN_MIO_TEXT_MAX;)
		used += (size_t)sprintf(text + used, "a[]");
	CHECK_EQ(read_all(NULL, text), -EINVAL);
	CHECK(strstr(error.message, "more than 1024 lists"));
	free_all();
	free(text);
}

static void debug_keywords(void)
{
	unsigned int debug;

	CHECK_EQ(gn_mio_debug_read("all", &debug, &error), 0);
	CHECK_EQ(debug, GN_MIO_DEBUG_ALL);
	CHECK_EQ(gn_mio_debug_read(" ENV, open:TimeStamp", &debug, &error), 0);
	CHECK_EQ(debug, GN_MIO_DEBUG_ENV | GN_MIO_DEBUG_OPEN | GN_MIO_DEBUG_TIMESTAMP);
	CHECK_EQ(gn_mio_debug_read("ENV,MODULE", &debug, &error), -EINVAL);
	CHECK_EQ(error.offset, 4);
}

/* Whatever they hold, texts are read or refused with a place in them. */
static void damaged_texts(void)
{
	static const char *const seed[] = {
		"*.dat:*.scr [ trace/events=x/sample=0x10k ] /a/**:?b [ trace/stats={a/b} | aix ]",
		"trace/events=prob.events , aix/debug , mio/mode=0640/direct",
	};
	static const char bytes[] = "*?/[]{}|:=, \t0x9kmgtaix-mio\x80\x01trace";

	for (unsigned int i = 0; i < check_work(40000); i++) {
		char text[200], path[40], lines[500];
		size_t length = (size_t)sprintf(text, "%s", seed[i % 2]);
		struct gn_mio_list list;
		int result;

		for (unsigned int n = random_below(6) + 1; n; n--) {
			const size_t place = random_below((uint32_t)length);
			const uint32_t kind = random_below(4);

			if (kind == 0)
				text[place] = bytes[random_below(sizeof(bytes) - 1)];
			else if (kind == 1)
				text[length = place + 1] = 0;
			else if (kind == 2 && length + 20 < sizeof(text)) {
				memmove(text + place + 10, text + place, length + 1 - place);
				length += 10;
			} else {
				memmove(text + place, text + place + 1, length - place);
				length -= length > 1;
				text[length] = 0;
			}
		}
		length = strlen(text);
		sprintf(path, "/a/%.20s", text);
		error = (struct gn_mio_error){0};
		result = read_all(i % 4 < 2 ? NULL : text, i % 4 < 2 ? text : "*[trace]");
		CHECK(result == 0 || result == -EINVAL);
		CHECK(!result || (error.offset <= length && error.message[0]));
		CHECK(gn_mio_error_text(&error, "MIO_FILES", text, lines, sizeof(lines)));
		if (!result)
			CHECK(!strncmp(modules_of(path), "mio", 3));
		free_all();
		gn_mio_defaults_read(&defaults, &registry, NULL, &error);
		result = gn_mio_list_read(&list, &defaults, text, &error);
		CHECK(result == 0 || result == -EINVAL);
		gn_mio_list_free(&list);
		gn_mio_defaults_free(&defaults);
	}
}

int main(void)
{
	RUN(numbers);
	RUN(templates);
	RUN(examples_of_the_manual);
	RUN(the_first_of_two_rules_counts);
	RUN(values_in_braces_have_slashes);
	RUN(a_list_of_a_call);
	RUN(errors_have_their_place);
	RUN(a_caret_is_below_the_place);
	RUN(texts_and_layers_are_bounded);
	RUN(debug_keywords);
	RUN(damaged_texts);
	return check_result;
}
