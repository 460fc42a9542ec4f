/* Layers of files, modules of other makers, what `trace` tells and records. */
#include "check.h"
#include "file_calls.h"
#include "mio_output.h"
#include "mio_settings.h"
#include "random.h"
#include "trace_events.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

static char folder[] = "/tmp/gnomon-mio-XXXXXX";

static void enter_folder(void)
{
	CHECK(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	CHECK(!system("rm -rf \"$PWD\""));
}

/* The text of a file; static. */
static const char *content_of(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t n;

	CHECK(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	return text;
}

static struct gn_mio_stack *open_stack(const char *modules, int flags)
{
	const struct gn_mio_request request = {
		.file = {.path = "data", .flags = flags, .mode = 0640}, .modules = modules};
	struct gn_mio_stack *stack = NULL;

	CHECK_EQ(gn_mio_request_open(&stack, &request), 0);
	return stack;
}

/* --- a module of a test ----------------------------------------------------------------------- */

struct upper_state {
	int n_seeks, n_tells;
};

static int upper_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	CHECK(layer->state && layer->below && layer->above);
	file->flags |= (int)layer->setting[0].number;
	return gn_mio_below_open(layer, file);
}

/* Writes capitals. */
static ssize_t upper_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			   int64_t offset)
{
	char copy[64];

	CHECK(bytes <= sizeof(copy));
	for (size_t i = 0; i < bytes; i++)
		copy[i] = (char)(((const char *)from)[i] & ~0x20);
	return gn_mio_below_write(layer, copy, bytes, offset);
}

static int upper_seek(struct gn_mio_layer *layer, int64_t from, int64_t to)
{
	((struct upper_state *)layer->state)->n_seeks++;
	return gn_mio_below_seek(layer, from, to);
}

static void upper_tell(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final)
{
	const struct upper_state *state = layer->state;

	CHECK_EQ(gn_mio_descriptor(layer) == -1, is_final);
	gn_mio_print(output, "upper: %d seeks%s\n", state->n_seeks, is_final ? " in all" : "");
}

static const struct gn_mio_option upper_options[] = {
	{.name = "append", .kind = GN_MIO_SWITCH, .setting = 0, .value = O_APPEND},
	{.name = "stats", .kind = GN_MIO_TEXT, .setting = 1, .text = "upper.stats"},
};
static const struct gn_mio_setting upper_defaults[] = {{0}, {0}};
static const struct gn_mio_module upper = {
	.version = GN_MIO_VERSION,
	.state_bytes = sizeof(struct upper_state),
	.name = "upper",
	.option = upper_options,
	.n_options = 2,
	.n_settings = 2,
	.defaults = upper_defaults,
	.open = upper_open,
	.write = upper_write,
	.seek = upper_seek,
	.tell = upper_tell,
};

static struct gn_mio_stack *open_upper(const char *text)
{
	const struct gn_mio_open file = {
		.path = "data", .flags = O_RDWR | O_CREAT | O_TRUNC, .mode = 0600};
	struct gn_mio_registry registry;
	struct gn_mio_defaults defaults;
	struct gn_mio_list list;
	struct gn_mio_error error;
	struct gn_mio_stack *stack = NULL;

	gn_mio_registry_begin(&registry);
	CHECK_EQ(gn_mio_registry_add(&registry, &upper, &error), 0);
	CHECK_EQ(gn_mio_defaults_read(&defaults, &registry, NULL, &error), 0);
	CHECK_EQ(gn_mio_list_read(&list, &defaults, text, &error), 0);
	CHECK_EQ(gn_mio_stack_open(&stack, &list, &file), 0);
	gn_mio_list_free(&list);
	gn_mio_defaults_free(&defaults);
	return stack;
}

static void layers_are_called_in_their_order(void)
{
	struct gn_mio_stack *stack;
	struct stat status;
	char text[8] = "";

	enter_folder();
	stack = open_upper("upper/stats");
	CHECK_EQ(gn_mio_stack_write(stack, "abc", 3, 2), 3);
	CHECK_EQ(gn_mio_stack_read(stack, text, 8, 2), 3);
	CHECK(!strcmp(text, "ABC"));
	CHECK_EQ(gn_mio_stack_seek(stack, 0, 5), 0);
	CHECK_EQ(gn_mio_stack_status(stack, &status), 0);
	CHECK_EQ(status.st_size, 5);
	CHECK_EQ(gn_mio_stack_truncate(stack, 1), 0);
	CHECK_EQ(gn_mio_stack_sync(stack, 1), 0);
	CHECK_EQ(gn_mio_stack_flush(stack), 0);
	CHECK_EQ(gn_mio_stack_drop(stack), 0);
	CHECK(fcntl(gn_mio_stack_descriptor(stack), F_GETFD) == 0);
	gn_mio_stack_tell(stack, 0);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	CHECK(strstr(content_of("upper.stats"), "upper: 1 seeks\nupper: 1 seeks in all\n"));
	CHECK(!strncmp(content_of("upper.stats"), "MIO statistics file: ", 21));
	leave_folder();
}

static void errors_of_the_system_are_returned(void)
{
	struct gn_mio_request request = {.file = {.path = "none/there", .flags = O_RDWR},
					 .modules = "trace/stats=none.stats"};
	struct gn_mio_stack *stack = NULL;

	enter_folder();
	errno = 77;
	CHECK_EQ(gn_mio_request_open(&stack, &request), -ENOENT);
	request.file.path = ".";
	request.file.flags = O_RDONLY;
	CHECK_EQ(gn_mio_request_open(&stack, &request), 0);
	CHECK_EQ(gn_mio_stack_read(stack, folder, 4, 0), -EISDIR);
	CHECK_EQ(gn_mio_stack_write(stack, folder, 4, 0), -EBADF);
	CHECK_EQ(errno, 77);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	CHECK(strstr(content_of("none.stats"), " 1 failed\n"));
	leave_folder();
}

static void modules_are_looked_at_before_they_are_used(void)
{
	struct gn_mio_module module = upper;
	struct gn_mio_option option = upper_options[0];
	struct gn_mio_registry registry;
	struct gn_mio_error error;

	gn_mio_registry_begin(&registry);
	module.version = 2;
	CHECK_EQ(gn_mio_registry_add(&registry, &module, &error), -EINVAL);
	CHECK(strstr(error.message, "version 2"));
	module.version = GN_MIO_VERSION;
	module.name = "a/b";
	CHECK_EQ(gn_mio_registry_add(&registry, &module, &error), -EINVAL);
	module.name = "trace";
	CHECK_EQ(gn_mio_registry_add(&registry, &module, &error), -EINVAL);
	CHECK(strstr(error.message, "there is a module trace already"));
	module.name = "os";
	CHECK_EQ(gn_mio_registry_add(&registry, &module, &error), -EINVAL);
	module = upper;
	module.option = &option;
	module.n_options = 1;
	option.setting = 2;
	CHECK_EQ(gn_mio_registry_add(&registry, &module, &error), -EINVAL);
	CHECK_EQ(registry.n, 5);
	CHECK_EQ(gn_mio_registry_load(&registry, ":/none/there.so", &error), -EINVAL);
	CHECK_EQ(error.offset, 1);
	CHECK_EQ(gn_mio_registry_load(&registry, "", &error), 0);
}

/* --- trace ------------------------------------------------------------------------------------ */

static void trace_counts_seeks_sizes_and_bytes(void)
{
	struct gn_mio_stack *stack;
	const char *text;
	char buffer[100] = "";

	enter_folder();
	stack = open_stack("trace/stats=own.stats", O_RDWR | O_CREAT | O_TRUNC);
	CHECK_EQ(gn_mio_stack_write(stack, buffer, 100, 0), 100);
	CHECK_EQ(gn_mio_stack_write(stack, buffer, 10, 100), 10);
	CHECK_EQ(gn_mio_stack_seek(stack, 110, 10), 0);
	CHECK_EQ(gn_mio_stack_seek(stack, 10, 0), 0);
	CHECK_EQ(gn_mio_stack_seek(stack, 0, 40), 0);
	CHECK_EQ(gn_mio_stack_read(stack, buffer, 100, 40), 70);
	CHECK_EQ(gn_mio_stack_truncate(stack, 7), 0);
	CHECK_EQ(gn_mio_stack_control(stack, F_GETFL, NULL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	text = content_of("own.stats");
	CHECK(strstr(text, "Trace close: program <-> aix: data: (180/"));
	CHECK(strstr(text, " bytes/s=180/("));
	CHECK(strstr(text, "open size=0, current size=7 max size=110\n"));
	CHECK(strstr(text, " mode =0640 FileSystemType="));
	CHECK(strstr(text, "  oflags =0x242=RDWR CREAT TRUNC\n"));
	CHECK(strstr(text, " 110 ==            110         10        100\n"));
	CHECK(strstr(text, " 100 !=             70        100        100\n"));
	CHECK(strstr(text, " 1 forward seeks average=40\n"));
	CHECK(strstr(text, " 2 backward seeks average=55\n"));
	CHECK(strstr(text, "  fcntl           1 "));
	leave_folder();
}

static void trace_in_units_and_above_another(void)
{
	struct gn_mio_stack *stack;
	const char *text;
	char buffer[1536] = "";

	enter_folder();
	stack = open_stack("trace/stats=a/kbytes|trace/nostats", O_WRONLY | O_CREAT);
	CHECK_EQ(gn_mio_stack_write(stack, buffer, 1536, 0), 1536);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	text = content_of("a");
	CHECK(strstr(text, "Trace close: program <-> trace: data: (1.50/"));
	CHECK(strstr(text, " kbytes/s\n"));
	CHECK(strstr(text, "max size=1.50\n"));
	CHECK(!strstr(text, "Trace close: trace"));
	leave_folder();
}

static void files_are_appended_or_overwritten(void)
{
	struct gn_mio_output *output;

	enter_folder();
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(i ? "new" : "old", "w");

		fputs("before\n", file);
		fclose(file);
	}
	output = gn_mio_output_begin("+old");
	gn_mio_print(output, "%s\n", "after");
	gn_mio_output_end(output);
	CHECK(!strncmp(content_of("old"), "before\nMIO statistics file", 26));
	CHECK(strstr(content_of("old"), "\nafter\n"));
	for (int i = 0; i < 2; i++) {
		output = gn_mio_output_begin("new");
		gn_mio_print(output, "line %d\n", i);
		gn_mio_output_end(output);
	}
	CHECK(!strncmp(content_of("new"), "MIO statistics file", 19));
	CHECK(strstr(content_of("new"), "\nline 0\nline 1\n"));
	gn_mio_output_end(gn_mio_output_begin("nothing"));
	CHECK(access("nothing", F_OK));
	output = gn_mio_output_begin("none/there");
	gn_mio_print(output, "lost");
	gn_mio_output_end(output);
	leave_folder();
}

/* --- events ----------------------------------------------------------------------------------- */

static struct gn_mio_events_header header;
static struct gn_mio_event events[8192];

/* How many whole records a file of events has. */
static size_t read_events(const char *path)
{
	const int fd = open(path, O_RDONLY);
	uint64_t bytes;

	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &header, sizeof(header)), sizeof(header));
	CHECK(!memcmp(header.magic, GN_MIO_EVENTS_MAGIC, sizeof(header.magic)));
	bytes = header.tail - header.records;
	CHECK(bytes <= sizeof(events) && bytes % sizeof(*events) == 0);
	CHECK_EQ(pread(fd, events, bytes, (off_t)header.records), bytes);
	close(fd);
	return bytes / sizeof(*events);
}

static void write_pages(struct gn_mio_stack *stack, int n)
{
	char buffer[16] = "";

	for (int i = 0; i < n; i++)
		CHECK_EQ(gn_mio_stack_write(stack, buffer, 16, i * 16), 16);
}

static void events_are_records_of_operations(void)
{
	struct gn_mio_event_text texts[2];
	struct gn_mio_stack *stack;
	char buffer[32];
	size_t n;

	enter_folder();
	stack = open_stack("trace/events=e/nostats", O_RDWR | O_CREAT);
	write_pages(stack, 3);
	CHECK_EQ(gn_mio_stack_seek(stack, 48, 32), 0);
	CHECK_EQ(gn_mio_stack_read(stack, buffer, 32, 32), 16);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	n = read_events("e");
	CHECK_EQ(n, 9);
	CHECK_EQ(header.flags, 0);
	gn_mio_events_close_all();
	CHECK_EQ(read_events("e"), 9);
	CHECK_EQ(header.flags, GN_MIO_EVENTS_CLOSED);
	memcpy(texts, events, sizeof(texts));
	CHECK(!strcmp(texts[0].text, "data"));
	CHECK(!strcmp(texts[1].text, "program <-> aix"));
	CHECK_EQ(events[2].operation, GN_MIO_OPEN);
	CHECK_EQ(events[4].operation, GN_MIO_WRITE);
	CHECK_EQ(events[4].offset, 16);
	CHECK_EQ(events[4].thread, getpid());
	CHECK(events[4].begin_ns <= events[4].end_ns && events[3].end_ns <= events[4].begin_ns);
	CHECK_EQ(events[6].operation, GN_MIO_SEEK);
	CHECK_EQ(events[6].offset, 48);
	CHECK_EQ(events[6].result, 32);
	CHECK_EQ(events[7].bytes, 32);
	CHECK_EQ(events[7].result, 16);
	CHECK_EQ(events[8].operation, GN_MIO_CLOSE);
	leave_folder();
}

static void a_sample_has_every_tenth_transfer(void)
{
	struct gn_mio_stack *stack;

	enter_folder();
	stack = open_stack("trace/events=e/nostats/sample=10", O_RDWR | O_CREAT);
	write_pages(stack, 95);
	CHECK_EQ(gn_mio_stack_close(stack), 0);
	CHECK_EQ(read_events("e"), 2 + 2 + 10);
	leave_folder();
}

/* Also what another process has in use stays its own. */
static void events_outlive_a_kill(void)
{
	int ready[2], status;
	pid_t child;
	char name[40];
	struct gn_mio_stack *stack;

	enter_folder();
	CHECK(!pipe(ready));
	child = fork();
	if (!child) {
		write_pages(open_stack("trace/events=e", O_RDWR | O_CREAT), 5000);
		CHECK_EQ(write(ready[1], "", 1), 1);
		pause();
	}
	CHECK_EQ(read(ready[0], name, 1), 1);
	stack = open_stack("trace/events=e", O_RDWR);
	gn_mio_stack_close(stack);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	CHECK_EQ(read_events("e"), 5003);
	for (int i = 2; i < 5003; i++)
		CHECK_EQ(events[i].operation, i == 2 ? GN_MIO_OPEN : GN_MIO_WRITE);
	sprintf(name, "e.%d", (int)getpid());
	CHECK_EQ(read_events(name), 4);
	leave_folder();
}

/* There is a file that can be read, or none of this name. */
static void a_kill_at_any_moment(void)
{
	enter_folder();
	for (unsigned int i = 0; i < check_work(100); i++) {
		const pid_t child = fork();
		struct gn_mio_events_header start = {.pid = 0};
		int fd, status;

		if (!child)
			for (struct gn_mio_stack *stack =
				     open_stack("trace/events=e", O_RDWR | O_CREAT);
			     ;)
				write_pages(stack, 100);
		usleep(random_below(4000));
		CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
		fd = open("e", O_RDONLY);
		if (fd < 0)
			continue;
		CHECK_EQ(read(fd, &start, sizeof(start)), sizeof(start));
		CHECK(!memcmp(start.magic, GN_MIO_EVENTS_MAGIC, sizeof(start.magic)));
		CHECK_EQ(start.pid, child);
		CHECK(!close(fd) && !unlink("e"));
	}
	leave_folder();
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* A call of the system's own moves the position; a fork of another thread comes between. */
static void a_fork_leaves_a_position_that_the_system_moves(void)
{
	const struct gn_mio_request request = {
		.file = {.path = "data", .flags = O_RDWR | O_CREAT | O_APPEND, .mode = 0640}};
	struct gn_mio_file *file;
	char text[8] = "";
	int fd, error;

	enter_folder();
	fd = gn_mio_file_open(&request, false);
	CHECK(fd >= 0);
	file = gn_mio_file_lock(fd, &error);
	gn_mio_file_settle(file);
	gn_mio_file_unlock(file);
	CHECK_EQ(write(fd, "abcdef", 6), 6);
	file = gn_mio_file_lock(fd, &error);
	gn_mio_file_hand_over(file);
	gn_mio_file_unlock(file);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 6);
	file = gn_mio_file_lock(fd, &error);
	gn_mio_file_resume(file);
	CHECK_EQ(gn_mio_file_read(file, text, sizeof(text)), 0);
	gn_mio_file_unlock(file);
	CHECK(gn_mio_file_close(fd, &error) && !error);
	leave_folder();
}

int main(void)
{
	unsetenv("MIO_STATS");
	unsetenv("MIO_FILES");
	unsetenv("MIO_DEFAULTS");
	unsetenv("MIO_DEBUG");
	RUN(layers_are_called_in_their_order);
	RUN(errors_of_the_system_are_returned);
	RUN(modules_are_looked_at_before_they_are_used);
	RUN(trace_counts_seeks_sizes_and_bytes);
	RUN(trace_in_units_and_above_another);
	RUN(files_are_appended_or_overwritten);
	RUN(events_are_records_of_operations);
	RUN(a_sample_has_every_tenth_transfer);
	RUN(events_outlive_a_kill);
	RUN(a_kill_at_any_moment);
	RUN(a_fork_leaves_a_position_that_the_system_moves);
	return check_result;
}
