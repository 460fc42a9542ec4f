/*
 * Writes a raw file for a reader in another language: `write_raw FILE close|kill|leave`.
 * Two threads append 1000 records each, of type 1 and 2, holding their number and that number of
 * bytes modulo 50; then one record is reserved and left, and one of type 9 appended.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"
#include "gnomon/buffer.h"

static struct gn_buffer *buffer;

static void *write_records(void *arg)
{
	uint16_t type = *(uint16_t *)arg;
	uint64_t payload[8];

	memset(payload, (char)type, sizeof(payload));
	for (uint64_t number = 0; number < 1000; number++) {
		payload[0] = number;
		CHECK_EQ(gn_buffer_append(buffer, type, payload, 8 + number % 50), 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint16_t types[] = {1, 2};
	pthread_t threads[2];

	CHECK_EQ(argc, 3);
	CHECK_EQ(gn_buffer_open(&buffer, argv[1], 1 << 20), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, write_records, &types[i]), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK(gn_buffer_reserve(buffer, 8, 100) != NULL);
	CHECK_EQ(gn_buffer_append(buffer, 9, "end", 3), 0);
	if (!strcmp(argv[2], "kill"))
		raise(SIGKILL);
	if (!strcmp(argv[2], "close"))
		gn_buffer_free(buffer);
	return 0;
}
