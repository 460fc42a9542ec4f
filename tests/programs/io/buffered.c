/* stdio: its own calls are counted, not the system calls that it makes of them. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

enum { WORDS = 200 };

static const struct expected EXPECTED[] = {
	{"data", "fopen", "stdio", 3, 0, 0},
	{"data", "fwrite", "stdio", WORDS, 8 * WORDS, 8 * WORDS},
	{"data", "fread", "stdio", 3, 2400, 1500},
	{"data", "fseek", "stdio", 1, 0, 0},
	{"data", "fseeko", "stdio", 1, 0, 0},
	{"data", "ftell", "stdio", 1, 0, 0},
	{"data", "ftello", "stdio", 1, 0, 0},
	{"data", "rewind", "stdio", 1, 0, 0},
	{"data", "fflush", "stdio", 1, 0, 0},
	{"data", "fclose", "stdio", 3, 0, 0},
	{"text", "open", "posix", 1, 0, 0},
	{"text", "fdopen", "stdio", 1, 0, 0},
	{"text", "fputs", "stdio", 1, 6, 6},
	{"text", "fputc", "stdio", 2, 2, 2},
	{"text", "putc", "stdio", 1, 1, 1},
	{"text", "fprintf", "stdio", 2, 14, 14},
	{"text", "vfprintf", "stdio", 1, 7, 7},
	{"text", "fclose", "stdio", 1, 0, 0},
	{"absent", "fopen", "stdio", 1, 0, 0},
	{"out", "freopen", "stdio", 1, 0, 0},
	{"out", "fprintf", "stdio", 1, 7, 7},
	{"out", "fclose", "stdio", 1, 0, 0},
};

__attribute__((format(printf, 2, 3))) static int print(FILE *stream, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vfprintf(stream, format, arguments);
	va_end(arguments);
	return length;
}

static void write_data(void)
{
	FILE *stream = fopen("data", "w+");
	char word[8];

	CHECK(stream);
	for (size_t i = 0; i < WORDS; i++) {
		fill(word, 8, 8 * i);
		/* Of one size and of the other: an item is what is counted, bytes are what is told.
		 */
		CHECK(i % 2 ? fwrite(word, 1, 8, stream) == 8 : fwrite(word, 8, 1, stream) == 1);
	}
	CHECK(fflush(stream) == 0 && ftell(stream) == 8 * WORDS && fclose(stream) == 0);
}

static void read_data(void)
{
	char bytes[8 * WORDS];
	FILE *stream = fopen("data", "r");

	CHECK(stream && fseek(stream, 900, SEEK_SET) == 0);
	CHECK(fread(bytes, 1, 800, stream) == 700 && is_filled(bytes, 700, 900) && feof(stream));
	rewind(stream);
	CHECK(fread(bytes, 100, 6, stream) == 6 && is_filled(bytes, 600, 0) && fclose(stream) == 0);
	stream = fopen64("data", "r");
	CHECK(stream && fseeko(stream, 1400, SEEK_SET) == 0);
	/* Two whole items of 100 bytes and nothing more. */
	CHECK(fread(bytes, 100, 10, stream) == 2 && ftello(stream) == 1600 && fclose(stream) == 0);
}

static void write_text(void)
{
	const int fd = open("text", O_WRONLY | O_CREAT, 0600);
	FILE *stream = fdopen(fd, "w");

	CHECK(stream && fputs("sixes\n", stream) >= 0);
	CHECK(fputc('a', stream) == 'a' && fputc('b', stream) == 'b' && putc('\n', stream) == '\n');
	CHECK(fprintf(stream, "%d %s\n", 123, "ab") == 7 && fprintf(stream, "%6.2f\n", 1.5) == 7);
	CHECK(print(stream, "%x %x\n", 0xabc, 0xde) == 7 && fclose(stream) == 0);
}

int main(int argc, char **argv)
{
	FILE *stream;

	TELL(argc, argv, EXPECTED);
	begin();
	write_data();
	read_data();
	write_text();
	CHECK(fopen("absent", "r") == NULL && errno == ENOENT);
	/* The same stream, another file; the second close is the program's. */
	stream = freopen("out", "w", stderr);
	CHECK(stream == stderr && fprintf(stderr, "%06d\n", 42) == 7 && fclose(stderr) == 0);
	end();
	say("buffered: %d words\n", WORDS);
	return 0;
}
