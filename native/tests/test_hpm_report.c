/*
 * Files of libhpm where something is in the way: full disks, limits, closed pipes, no memory. The
 * program must not notice, and no part of a file may be left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "check.h"
#include "number_text.h"
#include "report.h"

/* Allocations to go until they fail once; negative: never. Linked with --wrap. */
static int until_failure = -1;

static int fails(void)
{
	return until_failure >= 0 && !until_failure--;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **out, const char *format, va_list arguments);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **out, const char *format, va_list arguments);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

int __wrap_vasprintf(char **out, const char *format, va_list arguments)
{
	return fails() ? -1 : __real_vasprintf(out, format, arguments);
}

static struct hpm_settings settings;
static const struct hpm_header header = {
	.program = "program",
	.command = "",
	.host = "host",
	.events = "",
	.notes = "a note\nand another",
	.process = 1,
	.task = -1,
	.started = 1e9,
	.stopped = 1e9 + 1,
	.wall_s = 1,
};

static hpm_event_info counts[] = {
	{.name = "PAPI_TOT_INS",
	 .component = "cpu",
	 .value = 4e6,
	 .enabled_s = 1,
	 .running_s = 1,
	 .modes = HPM_MODE_ALL},
	{.name = "PAPI_TOT_CYC",
	 .component = "cpu",
	 .value = 2e6,
	 .enabled_s = 1,
	 .running_s = 0.5,
	 .how = HPM_SCALED,
	 .modes = HPM_MODE_ALL},
	{.name = "PM_DATA_FROM_L2", .value = 7, .enabled_s = 1, .running_s = 1},
	{.name = "branches:u@cpu_core",
	 .component = "cpu",
	 .value = 7,
	 .enabled_s = 1,
	 .running_s = 0.5},
	{.name = "branches:u@cpu_atom",
	 .component = "cpu",
	 .value = 9,
	 .enabled_s = 1,
	 .running_s = 0.5},
	{.value = NAN, .how = HPM_UNAVAILABLE},
};

static hpm_data_item items[] = {
	{.is_rusage = 1, .num_data = 1, .data = counts, .mpi_task_id = -1},
	{.instr_id = 1,
	 .num_data = sizeof(counts) / sizeof(*counts),
	 .data = counts,
	 .count = 2,
	 .times = {1, NAN, 0.5, 0.25, 1e9, 1e9, 0.5, 1e9},
	 .mpi_task_id = -1,
	 .label = "label",
	 .description = "a line\nand one more"},
	{.instr_id = 2, .mpi_task_id = -1},
};

static char folder[] = "/tmp/hpm-report-XXXXXX";
static int said_fd, stderr_fd;

/* Every test has a folder of its own, the current one; what is said between hear() and ignore() on
 * stderr goes to `said` there. */
static void begin(void)
{
	CHECK(mkdtemp(folder));
	CHECK_EQ(chdir(folder), 0);
	said_fd = open("said", O_RDWR | O_CREAT | O_APPEND, 0600);
	stderr_fd = dup(STDERR_FILENO);
	CHECK(said_fd > STDERR_FILENO && stderr_fd > STDERR_FILENO);
	memset(&settings, 0, sizeof(settings));
	strcpy(settings.name, "out");
	settings.asc = settings.viz = settings.csv = 1;
	settings.constants.is_named = 1;
}

static void hear(void)
{
	CHECK(dup2(said_fd, STDERR_FILENO) == STDERR_FILENO);
}

static void ignore(void)
{
	CHECK(dup2(stderr_fd, STDERR_FILENO) == STDERR_FILENO);
}

static int write_report(void)
{
	int failed;

	hear();
	failed = hpm_report_write(&settings, &header, sizeof(items) / sizeof(*items), items);
	ignore();
	return failed;
}

/* How many lines of `said` have the text. */
static int times_said(const char *text)
{
	FILE *said = fopen("said", "r");
	char line[2048];
	int n = 0;

	CHECK(said);
	while (fgets(line, sizeof(line), said))
		n += strstr(line, text) != NULL;
	fclose(said);
	return n;
}

static long size_of(const char *name)
{
	struct stat status;

	return stat(name, &status) ? -1 : (long)status.st_size;
}

/* Removes the folder and returns how many files it had beside `said`. */
static int end(void)
{
	DIR *files = opendir(folder);
	struct dirent *entry;
	int n = -1;

	CHECK(files);
	while ((entry = readdir(files)))
		if (entry->d_name[0] != '.') {
			n++;
			CHECK_EQ(unlink(entry->d_name), 0);
		}
	closedir(files);
	CHECK_EQ(rmdir(folder), 0);
	return n;
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void all_three_are_written(void)
{
	begin();
	int before = descriptors();

	CHECK_EQ(write_report(), 0);
	CHECK_EQ(descriptors(), before);
	CHECK(size_of("out.hpm") > 500);
	CHECK(size_of("out.viz") > 500);
	CHECK(size_of("out.csv") > 500);
	CHECK_EQ(times_said(""), 0);
	CHECK_EQ(end(), 3);
}

static void nothing_is_asked_for(void)
{
	begin();
	settings.asc = settings.viz = settings.csv = 0;
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(end(), 0);
}

static void a_full_disk(void)
{
	begin();
	CHECK_EQ(symlink("/dev/full", "out.viz"), 0);
	CHECK_EQ(write_report(), -1);
	CHECK_EQ(times_said("HPM WARNING - out.viz was not written: No space left on device; "), 1);
	CHECK_EQ(times_said(""), 1);
	CHECK(size_of("out.hpm") > 500);
	CHECK(size_of("out.csv") > 500);
	CHECK_EQ(end(), 3);
}

static void the_limit_of_a_file(void)
{
	const struct rlimit limit = {300, RLIM_INFINITY};
	sigset_t before, after, pending;
	int fd;

	begin();
	fd = open("out.hpm", O_WRONLY | O_CREAT, 0600);
	CHECK_EQ(write(fd, "kept", 4), 4);
	close(fd);
	sigprocmask(SIG_SETMASK, NULL, &before);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ(write_report(), -1);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&before, SIGXFSZ) == 0 && sigismember(&after, SIGXFSZ) == 0);
	CHECK(sigismember(&after, SIGPIPE) == 0);
	sigpending(&pending);
	CHECK(!sigismember(&pending, SIGXFSZ));
	/* What is said also stays below the limit. */
	CHECK(times_said("out.hpm was not written: File too large; raise the limit") <= 1);
	CHECK_EQ(size_of("out.hpm"), 4);
	CHECK_EQ(size_of("out.viz"), -1);
	CHECK_EQ(end(), 1);
}

static void no_such_folder(void)
{
	begin();
	settings.viz = settings.csv = 0;
	strcpy(settings.name, "nope/out");
	CHECK_EQ(write_report(), -1);
	CHECK_EQ(times_said("nope/out.hpm was not written: No such file or directory; make "
			    "the folder"),
		 1);
	CHECK_EQ(end(), 0);
}

static void a_name_that_is_too_long(void)
{
	begin();
	settings.viz = settings.csv = 0;
	memset(settings.name, 'x', 300);
	CHECK_EQ(write_report(), -1);
	CHECK_EQ(times_said("File name too long; set HPM_OUTPUT_NAME to a shorter name"), 1);
	CHECK_EQ(end(), 0);
}

static void a_closed_pipe(void)
{
	int ends[2];

	begin();
	settings.asc = settings.viz = settings.csv = 0;
	settings.to_stdout = 1;
	CHECK_EQ(pipe(ends), 0);
	close(ends[0]);
	CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
	close(ends[1]);
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(times_said(""), 0);
	CHECK_EQ(end(), 0);
}

static void a_closed_stdout(void)
{
	begin();
	settings.viz = settings.csv = 0;
	settings.to_stdout = 1;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	/* What is in a file is not lost. */
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(times_said("standard output was not written: Bad file descriptor"), 1);
	/* The file has not become what the program prints to. */
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) < 0);
	CHECK(size_of("out.hpm") > 500);
	settings.asc = 0;
	CHECK_EQ(write_report(), -1);
	CHECK_EQ(end(), 1);
}

static void a_pipe_with_a_name(void)
{
	char text[8] = "";
	int fd;

	begin();
	settings.viz = settings.csv = 0;
	CHECK_EQ(mkfifo("out.hpm", 0600), 0);
	CHECK_EQ(write_report(), -1);
	CHECK_EQ(times_said("out.hpm was not written: No such device or address"), 1);
	fd = open("out.hpm", O_RDONLY | O_NONBLOCK);
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(read(fd, text, 7), 7);
	CHECK(!strcmp(text, "libhpm:"));
	close(fd);
	CHECK_EQ(end(), 1);
}

static void a_link_stays_one(void)
{
	struct stat status;

	begin();
	settings.viz = settings.csv = 0;
	close(open("target", O_WRONLY | O_CREAT, 0600));
	CHECK_EQ(symlink("target", "out.hpm"), 0);
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(lstat("out.hpm", &status), 0);
	CHECK(S_ISLNK(status.st_mode));
	CHECK(size_of("target") > 500);
	CHECK_EQ(end(), 2);
}

static void what_a_dead_process_left(void)
{
	char name[64];

	begin();
	settings.viz = settings.csv = 0;
	snprintf(name, sizeof(name), "out.hpm.%ld.part", (long)getpid());
	close(open(name, O_WRONLY | O_CREAT, 0600));
	CHECK_EQ(write_report(), 0);
	CHECK_EQ(end(), 1);
}

static void the_program_has_a_locale(void)
{
	static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
	char text[HPM_QUANTITY_SIZE], shown[32];
	struct lconv *before;

	begin();
	for (size_t i = 0; i < sizeof(locales) / sizeof(*locales); i++)
		if (setlocale(LC_ALL, locales[i]))
			break;
	before = localeconv();
	snprintf(shown, sizeof(shown), "%s", before->decimal_point);
	CHECK_EQ(write_report(), 0);
	hpm_quantity(1.5, "s", text);
	CHECK(!strcmp(text, "1.5 s"));
	CHECK(!strcmp(localeconv()->decimal_point, shown));
	CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	CHECK_EQ(end(), 3);
}

static void signals_of_the_program_stay_its_own(void)
{
	sigset_t pipe_only, pending;

	begin();
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_only, NULL);
	raise(SIGPIPE);
	CHECK_EQ(write_report(), 0);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGPIPE));
	CHECK_EQ(end(), 3);
}

static void no_memory(void)
{
	int failures = 0, successes = 0;

	begin();
	settings.formulas = 1;
	for (int at = 0; successes < 2; at++) {
		int failed;

		until_failure = at;
		failed = write_report();
		CHECK(failed == 0 || failed == -1);
		failures += failed != 0;
		/* Beyond the last allocation nothing fails; a note without memory is left out. */
		successes += until_failure >= 0;
		until_failure = -1;
		CHECK(at < 100000);
	}
	CHECK(failures > 100);
	CHECK_EQ(times_said("Cannot allocate memory") + times_said("no memory") >= failures, 1);
	CHECK_EQ(end(), 3);
}

static void what_is_said_of_odd_variables(void)
{
	begin();
	hear();
	setenv("HPM_STDOUT", "per\033haps", 1);
	CHECK_EQ(hpm_env_flag("HPM_STDOUT", 0), 0);
	setenv("HPM_STDOUT", "no", 1);
	CHECK_EQ(hpm_env_flag("HPM_STDOUT", 1), 0);
	unsetenv("HPM_STDOUT");
	CHECK_EQ(hpm_env_flag("HPM_STDOUT", 1), 1);
	setenv("HPM_NUM_INST_PTS", "5000", 1);
	CHECK_EQ(hpm_env_number("HPM_NUM_INST_PTS", 1, 100000, 1000), 5000);
	for (const char *const *odd = (const char *const[]){"0", "-1", "+5", " 5", "5x", "1e3",
							    "99999999999999999999", NULL};
	     *odd; odd++) {
		setenv("HPM_NUM_INST_PTS", *odd, 1);
		CHECK_EQ(hpm_env_number("HPM_NUM_INST_PTS", 1, 100000, 1000), 1000);
	}
	ignore();
	CHECK_EQ(times_said("HPM WARNING - HPM_STDOUT=per?haps is neither yes nor no"), 1);
	CHECK_EQ(times_said("set it to a whole number from 1 to 100000"), 7);
	CHECK_EQ(end(), 0);
}

int main(void)
{
	RUN(all_three_are_written);
	RUN(nothing_is_asked_for);
	RUN(a_full_disk);
	RUN(the_limit_of_a_file);
	RUN(no_such_folder);
	RUN(a_name_that_is_too_long);
	RUN(a_closed_pipe);
	RUN(a_closed_stdout);
	RUN(a_pipe_with_a_name);
	RUN(a_link_stays_one);
	RUN(what_a_dead_process_left);
	RUN(the_program_has_a_locale);
	RUN(signals_of_the_program_stay_its_own);
	RUN(no_memory);
	RUN(what_is_said_of_odd_variables);
	return check_result;
}
