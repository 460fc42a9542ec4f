/* What the tests of libhpm share: a folder for their files, what was measured, what was said. */
#ifndef GNOMON_TESTS_HPM_H
#define GNOMON_TESTS_HPM_H

#include "check.h"
#include "pages.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

#include <gnomon/hpm_agg.h>
#include <gnomon/libhpm.h>

/* The library finds it in the program and calls it, as it does one of a plug-in linked in. */
static int measured_n;
static hpm_event_vector measured;

int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
	       int *is_print_task)
{
	measured_n = num_in;
	measured = calloc((size_t)num_in, sizeof(*measured));
	CHECK(measured);
	memcpy(measured, in, (size_t)num_in * sizeof(*measured));
	for (int i = 0; i < num_in; i++) {
		const size_t bytes = (size_t)in[i].num_data * sizeof(*in[i].data);

		measured[i].data = malloc(bytes + 1);
		CHECK(measured[i].data);
		memcpy(measured[i].data, in[i].data, bytes);
	}
	*num_out = num_in;
	*out = in;
	*is_print_task = 0;
	return 0;
}

/* An item; NULL if there is none. */
static inline const hpm_data_item *item_of(int id, int is_exclusive)
{
	for (int i = 0; i < measured_n; i++) {
		const hpm_data_item *item = &measured[i];

		if (item->instr_id == id && item->is_exclusive == is_exclusive && !item->is_rusage)
			return item;
	}
	return NULL;
}

static inline double value_of(const hpm_data_item *item, const char *event)
{
	CHECK(item);
	for (int i = 0; i < item->num_data; i++) {
		if (!strcmp(item->data[i].name, event))
			return item->data[i].value;
	}
	fprintf(stderr, "no event %s\n", event);
	CHECK(0);
	return NAN;
}

static inline void free_measured(void)
{
	for (int i = 0; i < measured_n; i++)
		free(measured[i].data);
	free(measured);
	measured_n = 0;
	measured = NULL;
}

/* Sanitizers and valgrind touch pages of their own in a section; nothing else does. */
static inline double own_pages(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 400;
#else
	return getenv("GNOMON_TEST_WORK") && strcmp(getenv("GNOMON_TEST_WORK"), "100") ? 400 : 0;
#endif
}

/* A new folder in memory, where nothing is written back while sections count. */
static inline void enter_folder(void)
{
	char shm[] = "/dev/shm/test_hpm_XXXXXX", tmp[] = "/tmp/test_hpm_XXXXXX";
	const char *made = mkdtemp(shm) ? shm : mkdtemp(tmp);

	CHECK(made);
	CHECK_EQ(chdir(made), 0);
}

/* Takes it away again with the files that are named, which must be there, and no others. */
static inline void leave_folder(const char *const *files)
{
	char path[4096];

	CHECK(getcwd(path, sizeof(path)));
	for (; files && *files; files++) {
		if (unlink(*files))
			fprintf(stderr, "no file %s\n", *files);
		else
			continue;
		CHECK(0);
	}
	CHECK_EQ(rmdir(path), 0);
}

/* Ends the measurement; nothing may have gone wrong. */
static inline void finish(void)
{
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 0);
}

static inline void clean(void)
{
	free_measured();
	leave_folder(NULL);
}

/* What goes to stderr until said() goes to a file. */
static int stderr_before = -1, stderr_file = -1;

static inline void listen(void)
{
	stderr_before = dup(2);
	stderr_file = open(".", O_TMPFILE | O_RDWR, 0600);
	CHECK(stderr_before >= 0 && stderr_file >= 0);
	CHECK(dup2(stderr_file, 2) == 2);
}

static inline const char *said(void)
{
	static char text[16384];
	ssize_t got;

	CHECK(dup2(stderr_before, 2) == 2);
	close(stderr_before);
	got = pread(stderr_file, text, sizeof(text) - 1, 0);
	CHECK(got >= 0);
	text[got] = '\0';
	close(stderr_file);
	return text;
}

#endif
