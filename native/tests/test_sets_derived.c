/* Event sets with derived events: presets of a user's file over events of known counts. */
#include "work.h"

#include <math.h>

static const char presets[] =
	"PRESET,T_PLAIN,NOT_DERIVED,page-faults\n"
	"PRESET,T_SUM,DERIVED_ADD,page-faults,minor-faults\n"
	"PRESET,T_DIFFERENCE,DERIVED_SUB,page-faults,minor-faults\n"
	"PRESET,T_NEGATIVE,DERIVED_POSTFIX,N0|2|N1|*|-|,minor-faults,page-faults\n"
	"PRESET,T_RATIO,DERIVED_POSTFIX,N0|N1|/|,page-faults,minor-faults\n"
	"PRESET,T_QUARTER,DERIVED_INFIX,N0/4,page-faults\n"
	"PRESET,T_NONE,DERIVED_POSTFIX,N0|N1|/|,page-faults,alignment-faults\n"
	"PRESET,T_RATE,DERIVED_PS,page-faults\n";

enum { PLAIN, SUM, DIFFERENCE, NEGATIVE, RATIO, QUARTER, NONE, RATE, FAULTS, MINOR, N };

static const char *const names[N] = {"T_PLAIN",	    "T_SUM",	   "T_DIFFERENCE", "T_NEGATIVE",
				     "T_RATIO",	    "T_QUARTER",   "T_NONE",	   "T_RATE",
				     "page-faults", "minor-faults"};

static void load(void)
{
	char path[] = "/tmp/gnomon-presets-XXXXXX";
	const int fd = mkstemp(path);
	int loaded;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, presets, sizeof(presets) - 1), sizeof(presets) - 1);
	close(fd);
	loaded = gn_presets_load(path);
	unlink(path);
	OK(loaded);
}

static void check_counts(const int64_t *count, const struct gn_value *value)
{
	const int64_t faults = count[FAULTS], minor = count[MINOR];

	CHECK(faults >= 200);
	CHECK_EQ(count[PLAIN], faults);
	CHECK_EQ(count[SUM], faults + minor);
	CHECK_EQ(count[DIFFERENCE], faults - minor);
	CHECK_EQ(count[NEGATIVE], minor - 2 * faults);
	CHECK_EQ(count[RATIO], llround((double)faults / (double)minor));
	CHECK_EQ(count[QUARTER], llround((double)faults / 4));
	CHECK_EQ(count[NONE], GN_NO_COUNT);
	if (!value)
		return;
	CHECK_EQ(value[SUM].flags, GN_VALUE_DERIVED);
	CHECK_EQ(value[NEGATIVE].flags, GN_VALUE_DERIVED | GN_VALUE_NEGATIVE);
	CHECK(value[NEGATIVE].value == (double)(minor - 2 * faults));
	/* Nothing is rounded here. */
	CHECK(value[QUARTER].value == (double)faults / 4);
	CHECK(value[RATIO].value == (double)faults / (double)minor);
	CHECK(value[NONE].flags & GN_VALUE_MISSING);
	CHECK(isnan(value[NONE].value));
	CHECK(value[RATE].value > 0);
	CHECK(fabs(value[RATE].value - 1e9 * (double)faults / (double)value[RATE].enabled_ns) <
	      1e-6 * value[RATE].value);
	for (int i = 0; i < N; i++)
		CHECK_EQ(value[i].how, GN_HOW_COUNTED);
}

static void test_derived_events_are_what_their_formulas_say(void)
{
	struct gn_value value[N];
	int64_t count[N], total[N] = {0};
	const int files = open_descriptors();
	gn_set set;
	int added;

	load();
	OK(gn_set_create(&set, NULL));
	OK(gn_set_add_all(set, names, N, &added));
	CHECK_EQ(gn_set_size(set), N);
	/* One open per native event, however many share it. */
	CHECK_EQ(open_descriptors(), files + 3);
	OK(gn_set_start(set));
	touch_pages(200);
	OK(gn_set_read(set, count));
	check_counts(count, NULL);
	OK(gn_set_accumulate(set, total));
	touch_pages(300);
	OK(gn_set_stop(set, count));
	OK(gn_set_values(set, value));
	check_counts(count, value);
	OK(gn_set_accumulate(set, total));
	CHECK(total[FAULTS] >= 500);
	CHECK_EQ(total[SUM], total[FAULTS] + total[MINOR]);
	CHECK_EQ(total[NONE], GN_NO_COUNT);

	/* What is shared stays while another event is made of it. */
	OK(gn_set_remove(set, "page-faults"));
	CHECK_EQ(open_descriptors(), files + 3);
	OK(gn_set_remove(set, "T_NONE"));
	CHECK_EQ(open_descriptors(), files + 2);
	CHECK(!strcmp(gn_set_name(set, NONE), "T_RATE"));
	OK(gn_set_start(set));
	touch_pages(100);
	OK(gn_set_stop(set, count));
	CHECK(count[PLAIN] >= 100 && count[PLAIN] < 1000);
	CHECK_EQ(count[SUM], count[PLAIN] + count[MINOR - 2]);
	end_set(set);
	CHECK_EQ(open_descriptors(), files);
}

static void test_formulas_over_turns_take_scaled_counts(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	struct gn_value value[2];
	int64_t count[2], pages = 0;
	uint64_t turns = 0;
	gn_set set;

	load();
	options.multiplex = 1;
	options.slice_ns = GN_SLICE_MIN_NS;
	options.limit = 1;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "T_SUM"));
	OK(gn_set_add(set, "T_RATIO"));
	CHECK(gn_set_state(set) & GN_STATE_ROTATING);
	OK(gn_set_start(set));
	while (turns < 20 || value[0].flags & GN_VALUE_MISSING) {
		touch_pages(20);
		pages += 20;
		burn_ms(2);
		OK(gn_set_turns(set, &turns));
		OK(gn_set_values(set, value));
	}
	OK(gn_set_stop(set, count));
	OK(gn_set_values(set, value));
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value[i].how, GN_HOW_SCALED);
		CHECK(value[i].flags & GN_VALUE_DERIVED);
		CHECK_EQ(count[i], llround(value[i].value));
	}
	/* Every page is counted twice, in half of the time each. */
	CHECK(count[0] > pages / 2 && count[0] < 8 * pages + 8 * slack());
	CHECK(value[1].value > 0.2 && value[1].value < 5);
	end_set(set);
}

static void test_a_name_changes_its_meaning_with_a_file(void)
{
	gn_set set;

	OK(gn_set_create(&set, NULL));
	FAILS(gn_set_add(set, "T_SUM"), GN_ENOEVNT, "T_SUM");
	load();
	OK(gn_set_add(set, "T_SUM"));
	CHECK_EQ(gn_presets_load("/no/such/file.csv"), GN_EINVAL);
	CHECK(strstr(gn_message(), "/no/such/file.csv"));
	end_set(set);
}

int main(void)
{
	RUN(test_derived_events_are_what_their_formulas_say);
	RUN(test_formulas_over_turns_take_scaled_counts);
	RUN(test_a_name_changes_its_meaning_with_a_file);
	return check_result;
}
