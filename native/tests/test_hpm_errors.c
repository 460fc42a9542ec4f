/* Mistakes of the program: the guide's errors, counted, said once, and never its end. */
#include "hpm.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define ILLEGAL "hpmcount ERROR - Illegal instance id specified: "

static void begin(void)
{
	setenv("GNOMON_EVENTS", "page-faults", 1);
	enter_folder();
	listen();
	hpmInit(0, "errors");
	CHECK_EQ(hpm_error_count, 0);
}

/* Ends it and checks how much went wrong, and that it was said with this in it. */
static void end(int errors, const char *part)
{
	const char *text;

	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, errors);
	text = said();
	if (!strstr(text, part))
		fprintf(stderr, "said: %s\n", text);
	CHECK(strstr(text, part));
	if (*part)
		CHECK(strstr(text, "; "));
	else
		CHECK_EQ(strlen(text), 0);
	clean();
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void test_ids_out_of_range(void)
{
	begin();
	hpmStart(0, "zero");
	hpmTstart(1001, "too large");
	hpmTstart(-1, "negative");
	hpmStop(0);
	hpmTstart(1000, "the last one");
	hpmTstop(1000);
	end(4, ILLEGAL "hpmStart(0): sections are numbered from 1 to 1000; ");
}

static void test_more_sections(void)
{
	setenv("HPM_NUM_INST_PTS", "5000", 1);
	begin();
	hpmTstart(4999, "the last one");
	hpmTstop(4999);
	hpmTstart(5000, "one too many");
	end(1, ILLEGAL "hpmTstart(5000): sections are numbered from 1 to 4999; ");
}

static void test_thousands_of_sections(void)
{
	const int n = (int)check_work(20000);

	setenv("HPM_NUM_INST_PTS", "20001", 1);
	setenv("GNOMON_EVENTS", "page-faults", 1);
	enter_folder();
	hpmInit(0, "many");
	for (int id = 1; id <= n; id++) {
		hpmTstart(id, "one of many");
		hpmTstop(id);
	}
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 0);
	CHECK_EQ(measured_n, n + 1);
	CHECK_EQ(measured[n].instr_id, n);
	clean();
}

static void test_parents(void)
{
	begin();
	hpmTstart(1, "thread's");
	hpmStart(2, "everybody's");
	hpmTstartx(3, 77, "of none");
	hpmTstop(3);
	hpmTstartx(4, 2, "of all threads");
	hpmTstop(4);
	hpmStartx(8, 1, "of one thread");
	hpmStop(8);
	hpmTstartx(5, 5, "of itself");
	hpmTstop(5);
	hpmTstartx(6, -7, "of nothing known");
	hpmTstop(6);
	hpmTstartx(7, 1, "well");
	hpmTstop(7);
	hpmStop(2);
	hpmTstop(1);
	hpmTerminate(0);
	/* They were measured all the same, as orphans. */
	for (int id = 3; id <= 7; id++) {
		CHECK_EQ(item_of(id, 0)->count, 1);
		CHECK_EQ(item_of(id, 0)->parent_id, id == 7 ? 1 : id == 4 ? 2 : 0);
	}
	CHECK_EQ(item_of(8, 0)->parent_id, 0);
	CHECK_EQ(hpm_error_count, 4);
	CHECK(strstr(said(), ILLEGAL "hpmTstartx(3, 77): "));
	clean();
}

static void test_unbalanced_stops(void)
{
	begin();
	hpmTstop(1);
	hpmTstart(2, "once");
	hpmTstop(2);
	hpmTstop(2);
	hpmTstop(2);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 3);
	CHECK_EQ(item_of(2, 0)->count, 1);
	/* The third is no news. */
	CHECK_EQ(lines(said()), 2);
	clean();
}

static void test_the_other_kind_of_stop(void)
{
	begin();
	hpmTstart(1, "thread's");
	hpmStop(1);
	hpmTstop(1);
	end(1, ILLEGAL "hpmStop(1): section 1 was started by hpmTstart, which counts one thread; ");
}

static void *start_one(void *unused)
{
	(void)unused;
	hpmTstart(1, "also mine");
	hpmTstop(1);
	return NULL;
}

static void test_wrong_thread(void)
{
	pthread_t thread;

	begin();
	hpmTstart(1, "mine");
	hpmTstop(1);
	CHECK_EQ(pthread_create(&thread, NULL, start_one, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	end(2, "hpmcount ERROR - Instance ID on wrong thread: hpmTstart(1): ");
}

static void test_a_thread_that_ended_keeps_its_sections(void)
{
	pthread_t thread;

	begin();
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, start_one, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	CHECK_EQ(hpm_error_count, 2);
	end(2, "hpmcount ERROR - Instance ID on wrong thread: hpmTstart(1): ");
}

static void test_too_early_and_too_late(void)
{
	long long values[2] = {5, 5};
	double seconds = 5;
	const char *text;

	setenv("GNOMON_EVENTS", "page-faults", 1);
	enter_folder();
	listen();
	hpmStart(1, "early");
	hpmTstop(1);
	hpmTerminate(0);
	hpmGetTimeAndCounters(1, &seconds, values);
	CHECK_EQ(hpm_error_count, 4);
	CHECK(seconds == 5 && values[0] == 5);
	hpmInit(0, "errors");
	hpmInit(0, "again");
	CHECK_EQ(hpm_error_count, 5);
	hpmTstart(1, "in time");
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 5);
	hpmTerminate(0);
	hpmTstop(1);
	hpmTstart(2, "late");
	hpmInit(0, "late");
	CHECK_EQ(hpm_error_count, 9);
	text = said();
	CHECK(strstr(text, "not initialised: hpmStart(1): it comes before hpmInit; "));
	CHECK(strstr(text, "initialised twice: hpmInit: "));
	CHECK(strstr(text, "already terminated: "));
	CHECK_EQ(lines(text), 3);
	clean();
}

static void test_events_that_are_none(void)
{
	setenv("GNOMON_EVENTS", "no-such-event,page-faults", 1);
	enter_folder();
	listen();
	hpmInit(0, "events");
	hpmTstart(1, "section");
	hpmTstop(1);
	hpmTstart(1, "section");
	touch_pages(20);
	hpmTstop(1);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 1);
	CHECK(strstr(said(), "event 'no-such-event': "));
	/* What is left is counted. */
	CHECK_EQ(item_of(1, 0)->num_data, 2);
	CHECK_EQ(item_of(1, 0)->data[0].how, HPM_UNAVAILABLE);
	CHECK(isnan(item_of(1, 0)->data[0].value));
	CHECK(strlen(item_of(1, 0)->data[0].reason) > 5);
	CHECK(value_of(item_of(1, 0), "page-faults") >= 20);
	clean();
}

static void test_nothing_to_count(void)
{
	setenv("GNOMON_EVENTS", "no-such-event", 1);
	setenv("HPM_EXCLUSIVE_VALUES", "yes", 1);
	enter_folder();
	listen();
	hpmInit(0, "nothing");
	for (int i = 0; i < 2; i++) {
		hpmTstart(1, "thread");
		hpmStart(2, "all");
		hpmStop(2);
		hpmTstop(1);
	}
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 1);
	said();
	/* Times are known all the same. */
	for (int id = 1; id <= 2; id++) {
		for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
			CHECK_EQ(item_of(id, is_exclusive)->count, 2);
			CHECK(item_of(id, is_exclusive)->times[HPM_TIME_WALLCLOCK] > 0);
			CHECK_EQ(item_of(id, is_exclusive)->data[0].how, HPM_UNAVAILABLE);
		}
	}
	clean();
}

static void test_groups_that_are_none(void)
{
	setenv("HPM_EVENT_SET", "99999", 1);
	unsetenv("GNOMON_EVENTS");
	enter_folder();
	listen();
	hpmInit(0, "groups");
	hpmTstart(1, "section");
	hpmTstop(1);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 1);
	CHECK(strstr(said(), "hpmcount ERROR - pm_set_program_mygroup:\n"
			     "pm_api : event group ID is invalid: HPM_EVENT_SET: "));
	/* The default group is counted. */
	CHECK(item_of(1, 0)->num_data > 0);
	clean();
}

static void test_out_of_descriptors(void)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	begin();
	limit.rlim_cur = 4;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	hpmTstart(1, "blind");
	hpmTstop(1);
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 1);
	CHECK(strstr(said(), "no counters: the counters of a thread cannot be opened"));
	/* The time is known. */
	CHECK(item_of(1, 0)->times[HPM_TIME_WALLCLOCK] >= 0);
	CHECK_EQ(item_of(1, 0)->data[0].how, HPM_UNAVAILABLE);
	clean();
}

static void test_no_folder_to_write_to(void)
{
	setenv("HPM_OUTPUT_NAME", "/no/such/folder/name", 1);
	begin();
	hpmTstart(1, "measured");
	hpmTstop(1);
	/* It is the end that fails, where anything is to be written. */
	end(0, "HPM WARNING - /no/such/folder/name.hpmraw cannot be created (No such file");
}

static void test_no_mutex(void)
{
	setenv("HPM_USE_PTHREAD_MUTEX", "no", 1);
	begin();
	hpmTstart(1, "alone");
	hpmStart(2, "all");
	hpmStop(2);
	hpmTstop(1);
	end(0, "");
}

/* Ours are not among the low numbers, which a program gets when it opens what it had closed. */
static void test_closed_descriptors(void)
{
	char text[100] = {0};
	int fd;

	begin();
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && fd < 10);
	hpmTstart(1, "section");
	hpmTstop(1);
	for (int closed = fd; closed < 2000; closed++)
		close(closed);
	fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK_EQ(write(fd, text, sizeof(text)), sizeof(text));
	for (int i = 0; i < 10; i++) {
		hpmTstart(1, "section");
		hpmTstop(1);
		CHECK_EQ(lseek(fd, 0, SEEK_CUR), (off_t)sizeof(text));
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		CHECK_EQ(read(fd, text, sizeof(text)), (ssize_t)sizeof(text));
	}
	hpmTerminate(0);
	CHECK_EQ(item_of(1, 0)->count, 11);
	CHECK_EQ(item_of(1, 0)->data[0].how, HPM_UNAVAILABLE);
	said();
	free_measured();
	leave_folder((const char *const[]){"file", NULL});
}

static void in_handler(int signal)
{
	(void)signal;
	errno = 77;
	hpmTstart(2, "in a handler");
	hpmTstop(2);
	CHECK_EQ(errno, 77);
	hpmTstop(99);
	CHECK_EQ(errno, 77);
}

static void test_signal_handlers(void)
{
	begin();
	hpmTstart(2, "before");
	hpmTstop(2);
	signal(SIGUSR1, in_handler);
	hpmTstart(1, "outer");
	raise(SIGUSR1);
	hpmTstop(1);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 1);
	CHECK_EQ(item_of(2, 0)->count, 2);
	CHECK(strstr(said(), ILLEGAL "hpmTstop(99): "));
	clean();
}

static void on_alarm(int signal)
{
	(void)signal;
	hpmTstart(2, "");
	hpmTstop(2);
}

/* Signals that come in the middle of calls are refused; nothing breaks, all others count. */
static void test_signals_at_any_moment(void)
{
	const int rounds = (int)check_work(200000);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	const struct itimerspec often = {{0, 50000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
	timer_t timer;

	begin();
	hpmTstart(2, "in a handler");
	hpmTstop(2);
	signal(SIGALRM, on_alarm);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
	for (int i = 0; i < rounds; i++) {
		hpmTstart(1, "outer");
		hpmTstop(1);
	}
	CHECK_EQ(timer_settime(timer, 0, &never, NULL), 0);
	timer_delete(timer);
	hpmTerminate(0);
	CHECK_EQ(item_of(1, 0)->count, rounds);
	/* Each refused handler is two errors: its start and its stop. */
	CHECK_EQ(hpm_error_count % 2, 0);
	said();
	clean();
}

int main(void)
{
	RUN(test_ids_out_of_range);
	RUN(test_more_sections);
	RUN(test_thousands_of_sections);
	RUN(test_parents);
	RUN(test_unbalanced_stops);
	RUN(test_the_other_kind_of_stop);
	RUN(test_wrong_thread);
	RUN(test_a_thread_that_ended_keeps_its_sections);
	RUN(test_too_early_and_too_late);
	RUN(test_events_that_are_none);
	RUN(test_nothing_to_count);
	RUN(test_groups_that_are_none);
	RUN(test_out_of_descriptors);
	RUN(test_no_folder_to_write_to);
	RUN(test_no_mutex);
	RUN(test_closed_descriptors);
	RUN(test_signal_handlers);
	RUN(test_signals_at_any_moment);
	return check_result;
}
