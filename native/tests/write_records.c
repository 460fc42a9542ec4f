/*
 * Writes a record file for a reader in another language: `write_records FILE close|kill|leave`.
 * Two threads append 1000 records each, and name 100 of them; see records.h.
 */
#include <signal.h>

#include "records.h"

static struct gn_record_file *file;

static void *write_thread(void *argument)
{
	static __thread struct gn_record_stream records, names;
	const uint32_t thread = *(uint32_t *)argument;

	for (uint32_t number = 0; number < 1000; number++)
		CHECK_EQ(record(&records, file, thread, number), 0);
	for (uint32_t number = 0; number < 100; number++)
		CHECK_EQ(name(&names, file, 100 * thread + number), 0);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct gn_record_plan plan = {"test", record_kinds, KINDS, 3, 1 << 20};
	uint32_t numbers[] = {1, 2};
	pthread_t threads[2];

	CHECK_EQ(argc, 3);
	CHECK_EQ(gn_record_file_open(&file, argv[1], &plan), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, write_thread, &numbers[i]), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	if (!strcmp(argv[2], "kill"))
		raise(SIGKILL);
	if (!strcmp(argv[2], "close"))
		gn_record_file_free(file);
	return 0;
}
