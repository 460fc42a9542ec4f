/* Names, codes and lists of events, by what libgnomon exports and by what it is made of. */
#include <fnmatch.h>
#include <pthread.h>

#include "query.h"
#include "random.h"
#include "read_file.h"
#include "sysfs_pmu.h"
#include "work.h"

#define FOUND_MAX 4096

static struct gn_event *found[FOUND_MAX];

static int resolve(const char *name, struct gn_error_text *why)
{
	int n;
	const int error = gn_resolve(name, found, FOUND_MAX, &n, why);

	CHECK((error == GN_OK) == (n > 0));
	for (int i = 0; i < n; i++)
		gn_event_free(found[i]);
	return error;
}

static void test_codes_round_trip(void)
{
	struct gn_event_info info = {.size = sizeof(info)}, again = {.size = sizeof(again)};
	char name[GN_NAME_MAX];
	uint32_t code, others = 0;

	for (int component = 0; component < gn_component_count(); component++) {
		const int n = gn_event_count(component);
		const int step = n > 100 ? n / (int)check_work(100) + 1 : 1;

		CHECK(n > 0 || component == 2);
		for (int i = 0; i < n; i += step) {
			OK(gn_event_at(component, i, &info));
			CHECK_EQ(info.component, component);
			CHECK(!(info.code & GN_PRESET_MASK));
			OK(gn_code_event(info.code, name, sizeof(name)));
			CHECK(!strcmp(name, info.name));
			OK(gn_event_code(name, &code));
			CHECK_EQ(code, info.code);
			OK(gn_event_describe(name, &again));
			CHECK_EQ(again.code, info.code);
			CHECK_EQ(again.flags, info.flags);
			CHECK(!strcmp(again.unit, info.unit));
			CHECK(!strcmp(again.description, info.description));
			others++;
		}
	}
	CHECK(others > 5);
}

static void test_presets_round_trip(void)
{
	struct gn_event_info info = {.size = sizeof(info)};
	char name[GN_NAME_MAX];
	uint32_t code, with_user;
	int defined = 0;

	CHECK(gn_preset_count() >= 20);
	for (int i = 0; i < gn_preset_count(); i++) {
		OK(gn_preset_at(i, &info));
		CHECK(info.code & GN_PRESET_MASK);
		CHECK_EQ(info.code & ~GN_PRESET_MASK, i);
		OK(gn_code_event(info.code, name, sizeof(name)));
		CHECK(!strcmp(name, info.name));
		OK(gn_preset_code(name, &code));
		CHECK_EQ(code, info.code);
		CHECK(*info.description);
		defined += info.natives > 0;
		CHECK((info.natives > 0) == (*info.kind != '\0'));
		CHECK((info.natives > 0) == (*info.definition != '\0'));
	}
	CHECK(defined > 5);
	OK(gn_event_code("papi_tot_cyc", &code));
	OK(gn_code_event(code, name, sizeof(name)));
	CHECK(!strcmp(name, "PAPI_TOT_CYC"));
	OK(gn_event_code("PAPI_TOT_CYC:u", &with_user));
	CHECK(with_user & GN_PRESET_MASK);
	CHECK(with_user != code);
	OK(gn_code_event(with_user, name, sizeof(name)));
	CHECK(!strcmp(name, "PAPI_TOT_CYC:u"));
}

static void test_wrong_arguments(void)
{
	struct gn_event_info info = {.size = 1};
	struct gn_component_info component = {.size = 1};
	char name[4];
	uint32_t code;
	int index;

	FAILS(gn_event_code(NULL, &code), GN_EINVAL, "NULL");
	FAILS(gn_event_code("cs", NULL), GN_EINVAL, "NULL");
	FAILS(gn_code_event(0x7fffffff, name, sizeof(name)), GN_ENOEVNT, "no event has it");
	FAILS(gn_code_event(0x80001000, name, sizeof(name)), GN_ENOEVNT, "no event has it");
	FAILS(gn_code_event(0, NULL, 0), GN_EINVAL, "NULL");
	OK(gn_event_code("context-switches", &code));
	FAILS(gn_code_event(code, name, sizeof(name)), GN_EBUF, "too few");
	FAILS(gn_event_describe("cs", &info), GN_EINVAL, "sizeof");
	FAILS(gn_event_describe(NULL, &info), GN_EINVAL, "NULL");
	FAILS(gn_event_at(0, 0, &info), GN_EINVAL, "sizeof");
	FAILS(gn_event_at(0, 0, NULL), GN_EINVAL, "NULL");
	info.size = sizeof(info);
	FAILS(gn_event_at(0, -1, &info), GN_EINVAL, "count from 0");
	FAILS(gn_event_at(0, gn_event_count(0), &info), GN_EINVAL, "count from 0");
	FAILS(gn_event_at(-1, 0, &info), GN_ENOCMP, "count from 0");
	FAILS(gn_event_count(gn_component_count()), GN_ENOCMP, "count from 0");
	FAILS(gn_preset_at(gn_preset_count(), &info), GN_EINVAL, "count from 0");
	FAILS(gn_preset_code("cs", &code), GN_ENOTPRESET, "not a preset");
	FAILS(gn_preset_code("PAPI_NOPE", &code), GN_ENOTPRESET, "not a preset");
	FAILS(gn_component_describe(99, &component), GN_ENOCMP, "count from 0");
	FAILS(gn_component_describe(0, &component), GN_EINVAL, "sizeof");
	FAILS(gn_component_index("io", &index), GN_ENOCMP, "in Python");
	FAILS(gn_component_index(NULL, &index), GN_EINVAL, "NULL");
	FAILS(gn_presets_load(NULL), GN_EINVAL, "NULL");
}

static void test_messages_name_the_nearest(void)
{
	struct gn_error_text why;

	CHECK_EQ(resolve("page-fualts", &why), GN_ENOEVNT);
	CHECK(strstr(why.text, "did you mean page-faults"));
	CHECK_EQ(resolve("PAPI_TOT_ISN", &why), GN_ENOEVNT);
	CHECK(strstr(why.text, "did you mean PAPI_TOT_INS"));
	CHECK_EQ(resolve("no such thing anywhere", &why), GN_ENOEVNT);
	CHECK(!strstr(why.text, "did you mean"));
	CHECK_EQ(resolve("page-faults,cs", &why), GN_ENOEVNT);
	CHECK(strstr(why.text, "gn_set_add_all"));
	CHECK_EQ(resolve("kernal:::x", &why), GN_ENOCMP);
	CHECK(strstr(why.text, "did you mean kernel"));
}

static void test_components(void)
{
	struct gn_component_info info = {.size = sizeof(info)};
	int index;

	for (int i = 0; i < gn_component_count(); i++) {
		OK(gn_component_describe(i, &info));
		OK(gn_component_index(info.name, &index));
		CHECK_EQ(index, i);
		CHECK(*info.description);
		CHECK(!info.is_disabled);
		CHECK(!*info.reason || strstr(info.reason, "; "));
	}
	OK(gn_component_index("kernel", &index));
	OK(gn_component_describe(index, &info));
	CHECK_EQ(info.counters, -1);
	OK(gn_component_index("cpu", &index));
	OK(gn_component_describe(index, &info));
	/* Without a PMU there is nothing that libpfm4's tables could tell of. */
	CHECK(info.counters == 0 || !strstr(info.reason, "no core PMU"));
}

static void test_a_component_is_disabled_only_before_use(void)
{
	struct gn_component_info info = {.size = sizeof(info)};
	uint32_t code;

	FAILS(gn_component_disable("nope"), GN_ENOCMP, "libgnomon has");
	OK(gn_component_disable("kernel"));
	FAILS(gn_event_code("page-faults", &code), GN_ENOCMP, "has disabled component kernel");
	FAILS(gn_component_disable("cpu"), GN_ENOINIT, "already");
	OK(gn_component_describe(1, &info));
	CHECK(info.is_disabled);
	CHECK(strstr(info.reason, "has disabled it"));
	OK(gn_event_code("cycles", &code));
}

static void test_modifiers(void)
{
	static const struct {
		const char *name, *base;
		uint32_t exclude;
		int domain;
	} good[] = {
		{"a", "a", 0, 0},
		{"a:u", "a", GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER},
		{"a:ku", "a", GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER | GN_DOMAIN_KERNEL},
		{"a:hku", "a", 0, GN_DOMAIN_ALL},
		{"a:GH", "a", 0, 0},
		{"a:G", "a", GN_EXCLUDE_HOST, 0},
		{"a:H", "a", GN_EXCLUDE_GUEST, 0},
		{"a:I", "a", GN_EXCLUDE_IDLE, 0},
		{"p/x/u", "p/x/", GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER},
		{"p/x/:u", "p/x/", GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER},
		{"a:b:u", "a:b", GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER},
		{"a::u", "a:", GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR, GN_DOMAIN_USER},
		{":u", ":u", 0, 0},
		{"u", "u", 0, 0},
		{"", "", 0, 0},
		{"a:x", "a:x", 0, 0},
	};
	struct gn_modifiers modifiers;
	struct gn_error_text why;
	char base[GN_NAME_MAX];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(gn_modifiers(good[i].name, base, &modifiers, &why), GN_OK);
		CHECK(!strcmp(base, good[i].base));
		CHECK_EQ(modifiers.exclude, good[i].exclude);
		CHECK_EQ(modifiers.domain, good[i].domain);
	}
	CHECK_EQ(gn_modifiers("a:h", base, &modifiers, &why), GN_OK);
	CHECK_EQ(modifiers.domain, GN_DOMAIN_HYPERVISOR);
	CHECK_EQ(gn_modifiers("a:uh", base, &modifiers, &why), GN_ENOEVNT);
	CHECK_EQ(gn_modifiers("p/x/pp", base, &modifiers, &why), GN_ENOEVNT);
}

static void test_numbers(void)
{
	static const struct {
		const char *text;
		int result;
		uint64_t number;
	} texts[] = {
		{"0", 0, 0},
		{" 10\t", 0, 10},
		{"010", 0, 8},
		{"0x1F", 0, 31},
		{"0XfF", 0, 255},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -2, 0},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -2, 0},
		{"", -1, 0},
		{"08", -1, 0},
		{"0x", -1, 0},
		{"-1", -1, 0},
		{"+1", -1, 0},
		{"1_0", -1, 0},
		{"1 0", -1, 0},
		{"a", -1, 0},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t number;

		CHECK_EQ(gn_number(texts[i].text, &number), texts[i].result);
		CHECK(texts[i].result || number == texts[i].number);
	}
}

/* fnmatch(3) is asked only where it has Python's meaning: not of [^...] nor of ranges. */
static void test_patterns(void)
{
	CHECK(gn_matches("sched_switch", "sched_[st]*"));
	CHECK(!gn_matches("sched_switch", "sched_[!st]*"));
	CHECK(gn_matches("a-b", "a[a-]b"));
	CHECK(gn_matches("a]b", "a[]]b"));
	CHECK(gn_matches("a[b", "a[b"));
	CHECK(gn_matches("e", "[a-f]"));
	CHECK(!gn_matches("g", "[a-f]"));
	CHECK(!gn_matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "*a*a*a*a*a*a*a*a*a*a*a*a*b"));
	for (unsigned int i = check_work(50000); i; i--) {
		char name[16], pattern[16];

		random_text(name, sizeof(name), "a b c aa ab", 6);
		random_text(pattern, sizeof(pattern), "a b * ? [ab] [!a] ** *b", 5);
		if (strchr(pattern, '\\') || strchr(pattern, '^') || !strstr(pattern, "[") ||
		    strchr(pattern, '-'))
			continue;
		for (char *at = name; *at; at++)
			*at &= 0x7f;
		for (char *at = pattern; *at; at++)
			if (*at & 0x80)
				*at = '?';
		CHECK_EQ(gn_matches(name, pattern), !fnmatch(pattern, name, FNM_NOESCAPE));
	}
}

#define PARTS                                                                                      \
	"page-faults cs cycles L1-dcache-loads r1c2 msr/ tsc/ sched: sched_switch sched_s* PAPI_ " \
	"TOT_INS DP_OPS icl:: skx:: INST_RETIRED :ANY_P event=0x config= =? , / / : :: ::: @ cpu " \
	"cpu_core u k ukh G pp uncore_ power io 9 0x3c {} [ ] ! - . ~ \303\251"

static void test_whatever_is_typed(void)
{
	struct gn_error_text why;
	unsigned int good = 0;

	for (unsigned int i = check_work(1000); i; i--) {
		char name[300];
		int error;

		random_text(name, sizeof(name), PARTS, random_below(8) ? 5 : 60);
		why.text[0] = '\0';
		error = resolve(name, &why);
		good += error == GN_OK;
		if (error && strncmp(why.text, "event '", 7))
			fprintf(stderr, "%s: %s\n", name, why.text);
		CHECK(!error || !strncmp(why.text, "event '", 7));
		CHECK(error <= 0);
	}
	CHECK(good > 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void test_whatever_sysfs_says(void)
{
	static const char layouts[] =
		"config config1 config3 : 0 7 63 64 - , 0-7 8-15 32-35 9999 x";
	static const char aliases[] = "a b = , ? 0x3 077 1 config=5 ../a event period";
	char root[] = "/tmp/gnomon-names-XXXXXX", devices[128], command[400];
	struct gn_places places = {.sysfs = root, .models = ""};
	unsigned int good = 0;

	CHECK(mkdtemp(root));
	snprintf(devices, sizeof(devices), "%s/bus/event_source/devices/cpu", root);
	snprintf(command, sizeof(command), "mkdir -p %s/format %s/events", devices, devices);
	CHECK_EQ(system(command), 0);
	write_file(devices, "type", "4\n");
	for (unsigned int i = check_work(2000); i; i--) {
		struct gn_error_text why = {.text = ""};
		char text[200], name[GN_NAME_MAX];
		int error, n;

		random_text(text, sizeof(text), layouts, 6);
		write_file(devices, "format/a", random_below(2) ? text : "config:0-7\n");
		random_text(text, sizeof(text), aliases, 8);
		write_file(devices, "events/b", text);
		random_text(text, 100, aliases, 6);
		snprintf(name, sizeof(name), "cpu/%s/", random_below(2) ? text : "b");
		error = gn_resolve_at(&places, name, found, FOUND_MAX, &n, &why);
		good += !error;
		CHECK(error ? !n && *why.text : n == 1);
		for (int k = 0; k < n; k++)
			gn_event_free(found[k]);
	}
	CHECK(good > 0);
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_EQ(system(command), 0);
}

static void *resolve_often(void *unused)
{
	static const char *const names[] = {"cycles",	    "cs:u",	   "sched:sched_switch",
					    "PAPI_TOT_INS", "nope",	   "PAPI_L1_DCM",
					    "msr/tsc/",	    "INST_RETIRED"};

	for (unsigned int i = 0; i < check_work(300); i++) {
		const char *name = names[i % (sizeof(names) / sizeof(names[0]))];
		struct gn_event *mine[8];
		struct gn_error_text why;
		char again[GN_NAME_MAX];
		int n;

		if (gn_resolve(name, mine, 8, &n, &why))
			continue;
		for (int k = 0; k < n; k++) {
			OK(gn_code_event(mine[k]->code, again, sizeof(again)));
			CHECK(!strcmp(again, mine[k]->name));
			gn_event_free(mine[k]);
		}
		(void)gn_event_count(1);
	}
	return unused;
}

static void test_threads(void)
{
	pthread_t thread[6];

	for (int i = 0; i < 6; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, resolve_often, NULL), 0);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

/*
 * A child may resolve names, whatever the parent's threads were doing when it was forked. It ends
 * as another program, so that no checker takes what those threads held for lost.
 */
static void test_forks(void)
{
	pthread_t thread[3];

#ifdef __SANITIZE_ADDRESS__
	/* GCC 12's AddressSanitizer has an allocator whose own locks hang a child. */
	return;
#endif
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, resolve_often, NULL), 0);
	for (unsigned int i = check_work(40); i; i--) {
		const pid_t child = fork();
		struct gn_error_text why;
		int status;

		if (!child) {
			alarm(60);
			if (!resolve("cs", &why) && !resolve("PAPI_TOT_INS", &why) &&
			    resolve("nope", &why) == GN_ENOEVNT)
				execlp("true", "true", NULL);
			_exit(1);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void test_too_many_for_the_caller(void)
{
	struct gn_event *few[2];
	struct gn_error_text why;
	int n;

	if (gn_has_names("/sys/kernel/tracing/events/syscalls") <= 0)
		return;
	CHECK_EQ(gn_resolve("syscalls:*", few, 2, &n, &why), GN_ECOUNT);
	CHECK_EQ(n, 0);
	CHECK(strstr(why.text, "more than 2 events"));
}

int main(void)
{
	RUN(test_codes_round_trip);
	RUN(test_presets_round_trip);
	RUN(test_wrong_arguments);
	RUN(test_messages_name_the_nearest);
	RUN(test_components);
	RUN(test_a_component_is_disabled_only_before_use);
	RUN(test_modifiers);
	RUN(test_numbers);
	RUN(test_patterns);
	RUN(test_whatever_is_typed);
	RUN(test_whatever_sysfs_says);
	RUN(test_threads);
	RUN(test_forks);
	RUN(test_too_many_for_the_caller);
	return check_result;
}
