/* Operations on streams. */
#define _GNU_SOURCE
#include "player.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_BYTES 2000

static void close_stream(struct player *player, struct stream *stream)
{
	if (stream->file)
		RESULT(player, fclose(stream->file), "fclose");
	free(stream->buffer);
	free(stream->memory);
	memset(stream, 0, sizeof(*stream));
}

static struct stream *keep_stream(struct player *player, FILE *file)
{
	struct stream *stream = &player->stream[below(player, STREAMS)];

	close_stream(player, stream);
	stream->file = file;
	return stream;
}

static const char *some_mode(struct player *player)
{
	static const char *const modes[] = {"r",  "r+", "r+",  "w",   "w+", "w+", "a",
					    "a+", "rb", "w+x", "r+e", "q",  "a+"};

	return modes[below(player, sizeof(modes) / sizeof(modes[0]))];
}

static void set_buffer(struct player *player, struct stream *stream)
{
	static const int kinds[] = {_IOFBF, _IOLBF, _IONBF};
	const int kind = kinds[below(player, 3)];
	const size_t bytes = 16 + below(player, 6000);

	/* C allows it before all else. */
	if (stream->is_used)
		return;
	stream->is_used = 1;
	stream->buffer = malloc(bytes);
	RESULT(player, setvbuf(stream->file, stream->buffer, kind, bytes), "setvbuf %d %zu", kind,
	       bytes);
}

static void open_memory(struct player *player)
{
	/* Bytes that were never written may be read. */
	char *memory = calloc(1, MEMORY_BYTES);
	FILE *file;

	errno = 0;
	file = fmemopen(memory, MEMORY_BYTES, "w+");

	note(player, file ? fileno(file) : 0, errno, "fmemopen");
	if (file)
		keep_stream(player, file)->memory = memory;
}

static FILE *open_same(struct player *player, const char *mode)
{
	const int slot = (int)below(player, SLOTS);
	FILE *file = NULL;
	struct stat status;
	int fd;

	/* A line of /dev/zero has no end. */
	if (syscall(SYS_fstat, player->fd[slot], &status) || !S_ISREG(status.st_mode) ||
	    syscall(SYS_fcntl, player->fd[slot], F_GETFL) & O_DIRECT)
		return NULL;
	fd = dup(player->fd[slot]);
	RESULT(player, (file = fdopen(fd, mode)) != NULL, "fdopen %s", mode);
	if (!file)
		close(fd);
	return file;
}

void play_stream_open(struct player *player)
{
	const char *path = some_path(player), *mode = some_mode(player);
	struct stream *stream = &player->stream[below(player, STREAMS)];
	FILE *file = NULL;

	switch (below(player, 8)) {
	case 0:
		RESULT(player, (file = tmpfile()) != NULL, "tmpfile");
		break;
	case 1:
		open_memory(player);
		return;
	case 2:
		file = open_same(player, mode);
		break;
	case 3:
		/* glibc cannot, of a stream in memory. */
		if (!stream->file || fileno(stream->file) < 0)
			return;
		/* Where it fails, the stream is closed all the same. */
		RESULT(player, (file = freopen(path, mode, stream->file)) != NULL, "freopen %s %s",
		       path, mode);
		stream->file = file;
		stream->last = 0;
		stream->is_used = 1;
		if (!file)
			close_stream(player, stream);
		return;
	case 4:
		close_stream(player, stream);
		return;
	default:
		RESULT(player, (file = fopen(path, mode)) != NULL, "fopen %s %s", path, mode);
	}
	if (file)
		keep_stream(player, file);
}

/* Between reads and writes C wants one of these. */
static void turn(struct player *player, struct stream *stream, int to)
{
	if (stream->last && stream->last != to) {
		if (stream->last == 'w' && below(player, 2))
			RESULT(player, fflush(stream->file), "fflush");
		else
			RESULT(player, fseek(stream->file, 0, SEEK_CUR), "fseek 0 1");
	}
	stream->last = to;
}

static void read_stream(struct player *player, struct stream *stream)
{
	const size_t bytes = some_bytes(player), size = 1 + below(player, 9);
	FILE *file = stream->file;
	char *text = player->buffer, *line = NULL;
	size_t line_size = 0;
	int64_t n;
	int a = 0, b = 0;

	turn(player, stream, 'r');
	switch (below(player, 8)) {
	case 0:
	case 1:
		n = RESULT(player, fread(text, size, bytes / size, file), "fread %zu %zu", size,
			   bytes / size);
		note_data(player, text, n * (int64_t)size);
		break;
	case 2:
		text[0] = 0;
		RESULT(player, fgets(text, (int)(2 + below(player, 100)), file) != NULL, "fgets");
		note_data(player, text, (int64_t)strnlen(text, 102));
		break;
	case 3:
		n = RESULT(player, getline(&line, &line_size, file), "getline");
		note_data(player, line, n);
		break;
	case 4:
		n = RESULT(player, getdelim(&line, &line_size, 'z', file), "getdelim");
		note_data(player, line, n);
		break;
	case 5:
		RESULT(player, fscanf(file, "%4d%3d", &a, &b), "fscanf");
		note(player, a, 0, "and %d", b);
		break;
	case 6:
		RESULT(player, getc(file), "getc");
		break;
	default:
		RESULT(player, fgetc(file), "fgetc");
	}
	free(line);
}

static void write_stream(struct player *player, struct stream *stream)
{
	const size_t bytes = some_bytes(player), size = 1 + below(player, 9);
	const char *text = some_data(player, bytes);
	FILE *file = stream->file;

	turn(player, stream, 'w');
	switch (below(player, 7)) {
	case 0:
	case 1:
		RESULT(player, fwrite(text, size, bytes / size, file), "fwrite %zu %zu", size,
		       bytes / size);
		break;
	case 2:
		RESULT(player, fprintf(file, "%zu of %d\n", bytes, 17), "fprintf");
		break;
	case 3:
		RESULT(player, fputs("a line\nand more", file), "fputs");
		break;
	case 4:
		RESULT(player, putc('x', file), "putc");
		break;
	case 5:
		RESULT(player, putw(77, file), "putw");
		break;
	default:
		RESULT(player, fputc('\n', file), "fputc");
	}
}

static void move_stream(struct player *player, struct stream *stream)
{
	static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END};
	const int whence = whences[below(player, 3)];
	const long offset =
		whence == SEEK_SET ? (long)some_offset(player) : (long)below(player, 200) - 100;
	FILE *file = stream->file;
	fpos_t position;
	int letter;

	switch (below(player, 8)) {
	case 0:
		RESULT(player, ftell(file), "ftell");
		return;
	case 1:
		rewind(file);
		note(player, ftell(file), 0, "rewind");
		break;
	case 2:
		if (RESULT(player, fgetpos(file, &position), "fgetpos"))
			return;
		RESULT(player, fseek(file, 10, SEEK_SET), "fseek");
		RESULT(player, fsetpos(file, &position), "fsetpos");
		break;
	case 3:
		if (stream->last != 'r')
			return;
		/* Another one than was read glibc 2.36 keeps where it frees what is not its own. */
		letter = getc(file);
		if (letter != EOF)
			RESULT(player, ungetc(letter, file), "ungetc");
		RESULT(player, getc(file), "getc");
		return;
	case 4:
		RESULT(player, feof(file) | ferror(file) << 4, "feof and ferror");
		clearerr(file);
		return;
	default:
		RESULT(player, fseeko(file, offset, whence), "fseeko %ld %d", offset, whence);
	}
	stream->last = 0;
}

void play_stream(struct player *player)
{
	int flags;
	uint32_t choice;
	struct stream *stream = &player->stream[below(player, STREAMS)];

	if (!stream->file) {
		play_stream_open(player);
		return;
	}
	/* Whether its buffer suits the device is a matter of where memory is. */
	flags = fcntl(fileno(stream->file), F_GETFL);
	if (flags >= 0 && flags & O_DIRECT)
		return;
	choice = stream->is_used ? below(player, 12) : 4 + below(player, 2) * 7;
	switch (choice) {
	case 0:
	case 1:
	case 2:
		move_stream(player, stream);
		break;
	case 3:
		RESULT(player, fflush(stream->file), "fflush");
		if (stream->last == 'w')
			stream->last = 0;
		break;
	case 4:
		set_buffer(player, stream);
		return;
	case 5:
		if (!player->is_thread && !below(player, 8))
			RESULT(player, fflush(NULL), "fflush NULL");
		else if (stream->last != 'r')
			RESULT(player, dprintf(fileno(stream->file), "%d\n", 5), "dprintf");
		break;
	case 6:
	case 7:
	case 8:
		read_stream(player, stream);
		break;
	default:
		write_stream(player, stream);
	}
	stream->is_used = 1;
}
