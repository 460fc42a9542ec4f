/* Reading by line and by character, which the C library does within itself; streams in memory. */
#define _GNU_SOURCE
#include "corpus.h"

enum { LINES = 300, LENGTH = 8 };

static const struct expected EXPECTED[] = {
	{"text", "fopen", "stdio", 6, 0, 0},
	{"text", "fwrite", "stdio", LINES, LENGTH * LINES, LENGTH * LINES},
	{"text", "getline", "stdio", LINES + 1, ANY, LENGTH * LINES},
	/* Also what the header makes of a getline. */
	{"text", "getdelim", "stdio", 2 * (LINES + 1), ANY, 2 * LENGTH * LINES},
	{"text", "fgets", "stdio", LINES + 1, ANY, LENGTH * LINES},
	{"text", "getc", "stdio", LENGTH, LENGTH, LENGTH},
	/* All but the first line and the rest of the second one's number, and the end. */
	{"text", "fgetc", "stdio", LENGTH * (LINES - 2) + 3, LENGTH * (LINES - 2) + 3,
	 LENGTH * (LINES - 2) + 2},
	{"text", "ungetc", "stdio", 1, ANY, ANY},
	{"text", "fscanf", "stdio", 1, ANY, ANY},
	{"text", "fclose", "stdio", 6, 0, 0},
};

/* glibc's header makes `__getdelim` of a getline that is compiled for speed, but not of this one.
 */
static ssize_t (*volatile read_line)(char **, size_t *, FILE *) = getline;

static FILE *opened(const char *mode)
{
	FILE *stream = fopen("text", mode);

	CHECK(stream);
	return stream;
}

static void by_line(void)
{
	char *line = NULL, part[64];
	size_t size = 0;
	FILE *stream = opened("r");

	for (int i = 0; i < LINES; i++)
		CHECK(read_line(&line, &size, stream) == LENGTH && atoi(line) == i);
	CHECK(read_line(&line, &size, stream) == -1 && fclose(stream) == 0);
	stream = opened("r");
	for (int i = 0; i < LINES; i++)
		CHECK(getline(&line, &size, stream) == LENGTH && atoi(line) == i);
	CHECK(getline(&line, &size, stream) == -1 && fclose(stream) == 0);
	stream = opened("r");
	for (int i = 0; i < LINES; i++)
		CHECK(getdelim(&line, &size, '\n', stream) == LENGTH && atoi(line) == i);
	CHECK(getdelim(&line, &size, '\n', stream) == -1 && fclose(stream) == 0);
	free(line);
	stream = opened("r");
	for (int i = 0; i < LINES; i++)
		CHECK(fgets(part, sizeof(part), stream) == part && atoi(part) == i);
	CHECK(fgets(part, sizeof(part), stream) == NULL && fclose(stream) == 0);
}

static void by_character(void)
{
	FILE *stream = opened("r");
	int number = -1;

	CHECK(fscanf(stream, "%d", &number) == 1 && number == 0);
	CHECK(ungetc('x', stream) == 'x');
	/* The one that was put back, and the rest of the first line. */
	for (int i = 0; i < LENGTH - 7 + 1; i++)
		CHECK(getc(stream) == (i ? '\n' : 'x'));
	for (int i = 0; i < LENGTH - 2; i++)
		CHECK(getc(stream) == '0');
	CHECK(fgetc(stream) == '1');
	for (int i = 0; i < LENGTH * (LINES - 1) - (LENGTH - 1); i++)
		CHECK(fgetc(stream) != EOF);
	CHECK(fgetc(stream) == EOF && fclose(stream) == 0);
}

/* No file has to do with them. */
static void in_memory(void)
{
	char bytes[64] = "", *grown = NULL;
	size_t size = 0;
	FILE *stream = fmemopen(bytes, sizeof(bytes), "w");

	CHECK(stream && fwrite("abcd", 1, 4, stream) == 4 && fclose(stream) == 0);
	CHECK(memcmp(bytes, "abcd", 4) == 0);
	stream = open_memstream(&grown, &size);
	CHECK(stream && fprintf(stream, "%d", 12345) == 5 && fclose(stream) == 0);
	CHECK(size == 5 && strcmp(grown, "12345") == 0);
	free(grown);
}

int main(int argc, char **argv)
{
	char line[LENGTH + 1];
	FILE *stream;

	TELL(argc, argv, EXPECTED);
	begin();
	stream = opened("w");
	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "%07d\n", i);
		CHECK(fwrite(line, LENGTH, 1, stream) == 1);
	}
	CHECK(fclose(stream) == 0);
	by_line();
	by_character();
	in_memory();
	end();
	say("lines: %d\n", LINES);
	return 0;
}
