/* Text that came from a program or a name, made safe to print, and for XML and CSV. */
#include "text_escape.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 character at `text`, whose number goes to *code; 0: it is none. */
static size_t decode(const unsigned char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80	 ? 1
			: text[0] < 0xc2 ? 0
			: text[0] < 0xe0 ? 2
			: text[0] < 0xf0 ? 3
			: text[0] < 0xf5 ? 4
					 : 0;

	*code = length > 1 ? text[0] & (0x7fU >> length) : text[0];
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3fU);
	}
	if (length &&
	    (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)))
		return 0;
	return length;
}

/* Controls, and what changes the direction of writing or cannot be seen. */
static int is_plain(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{0, 0x1f},	     {0x7f, 0x9f},     {0xad, 0xad},	 {0x61c, 0x61c},
		{0x200b, 0x200f},    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xe000, 0xf8ff},
		{0xfdd0, 0xfdef},    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff},
		{0xe0000, 0x10ffff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return 0;
	return (code & 0xfffe) != 0xfffe;
}

size_t hpm_piece(const char **text, char piece[HPM_PIECE_SIZE])
{
	const unsigned char *next = (const unsigned char *)*text;
	uint32_t code;
	size_t length;
	int printed;

	if (!*next)
		return 0;
	length = decode(next, &code);
	*text += length ? length : 1;
	if (length && is_plain(code)) {
		memcpy(piece, next, length);
		piece[length] = 0;
		return length;
	}
	if (*next == '\t')
		printed = snprintf(piece, HPM_PIECE_SIZE, " ");
	else if (*next == '\n' || *next == '\r')
		printed = snprintf(piece, HPM_PIECE_SIZE, "\\%c", *next == '\n' ? 'n' : 'r');
	else if (!length || code < 0x100)
		printed = snprintf(piece, HPM_PIECE_SIZE, "\\x%02x", length ? code : *next);
	else if (code < 0x10000)
		printed = snprintf(piece, HPM_PIECE_SIZE, "\\u%04x", code);
	else
		printed = snprintf(piece, HPM_PIECE_SIZE, "\\U%08x", code);
	return (size_t)printed;
}

char *hpm_printable(const char *text)
{
	char piece[HPM_PIECE_SIZE], *copy, *end;
	const char *next = text;
	size_t length, whole = 1;

	while ((length = hpm_piece(&next, piece)))
		whole += length;
	end = copy = malloc(whole);
	if (!copy)
		return NULL;
	for (next = text; (length = hpm_piece(&next, piece)); end += length)
		memcpy(end, piece, length);
	*end = 0;
	return copy;
}

size_t hpm_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

void hpm_put_printable(struct gn_atomic_file *output, const char *text)
{
	char piece[HPM_PIECE_SIZE];
	size_t length;

	while ((length = hpm_piece(&text, piece)))
		gn_put(output, piece, length);
}

void hpm_put_xml(struct gn_atomic_file *output, const char *text)
{
	char piece[HPM_PIECE_SIZE];
	size_t length;

	while (*text) {
		if (*text == '\n' || *text == '\t') {
			gn_puts(output, *text++ == '\n' ? "&#10;" : "&#9;");
			continue;
		}
		length = hpm_piece(&text, piece);
		if (piece[0] == '&')
			gn_puts(output, "&amp;");
		else if (piece[0] == '<')
			gn_puts(output, "&lt;");
		else if (piece[0] == '>')
			gn_puts(output, "&gt;");
		else if (piece[0] == '"')
			gn_puts(output, "&quot;");
		else
			gn_put(output, piece, length);
	}
}

void hpm_put_csv(struct gn_atomic_file *output, const char *text)
{
	int is_quoted = strpbrk(text, ",\"") != NULL || text[0] == ' ';
	char piece[HPM_PIECE_SIZE];
	size_t length;

	if (is_quoted)
		gn_puts(output, "\"");
	while ((length = hpm_piece(&text, piece))) {
		if (piece[0] == '"')
			gn_puts(output, "\"");
		gn_put(output, piece, length);
	}
	if (is_quoted)
		gn_puts(output, "\"");
}
