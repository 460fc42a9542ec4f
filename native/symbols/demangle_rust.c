/*
 * Rust's own scheme (RFC 2603, "Rust symbol name mangling (v0)"), as it has no C interface. Hashes
 * of crates are left out, as rustfilt does.
 */
#include "demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 200

struct parser {
	const char *name; /* behind _R */
	size_t length, next;
	char *text;
	size_t size, n;
	unsigned int depth, lifetimes;
	bool is_quiet, has_failed;
};

static void print_path(struct parser *parser, bool in_value);
static void print_type(struct parser *parser);
static void print_const(struct parser *parser);

static void print_bytes(struct parser *parser, const char *bytes, size_t n)
{
	if (parser->is_quiet || parser->has_failed)
		return;
	if (n >= parser->size - parser->n) {
		parser->has_failed = true;
		return;
	}
	memcpy(parser->text + parser->n, bytes, n);
	parser->n += n;
}

static void print(struct parser *parser, const char *text)
{
	print_bytes(parser, text, strlen(text));
}

static char peek(const struct parser *parser)
{
	return parser->next < parser->length ? parser->name[parser->next] : '\0';
}

static char take(struct parser *parser)
{
	if (parser->next == parser->length) {
		parser->has_failed = true;
		return '\0';
	}
	return parser->name[parser->next++];
}

static bool accept(struct parser *parser, char letter)
{
	if (peek(parser) != letter)
		return false;
	parser->next++;
	return true;
}

/* Digits of 62, then "_"; nothing is 0, then 0 is 1. */
static uint64_t take_base62(struct parser *parser)
{
	uint64_t value = 0;

	if (accept(parser, '_'))
		return 0;
	while (!accept(parser, '_')) {
		const char digit = take(parser);

		if (value > UINT64_MAX / 62 - 62 || !isalnum((unsigned char)digit)) {
			parser->has_failed = true;
			return 0;
		}
		value *= 62;
		value += (uint64_t)(isdigit((unsigned char)digit)   ? digit - '0'
				    : islower((unsigned char)digit) ? digit - 'a' + 10
								    : digit - 'A' + 36);
	}
	return value + 1;
}

struct identifier {
	const char *bytes;
	size_t n;
	bool is_punycode;
	uint64_t disambiguator;
};

static struct identifier take_identifier(struct parser *parser)
{
	struct identifier identifier = {parser->name, 0, false, 0};

	if (accept(parser, 's'))
		identifier.disambiguator = take_base62(parser) + 1;
	identifier.is_punycode = accept(parser, 'u');
	if (!isdigit((unsigned char)peek(parser)))
		parser->has_failed = true;
	if (!accept(parser, '0'))
		while (isdigit((unsigned char)peek(parser)) && identifier.n <= parser->length)
			identifier.n = 10 * identifier.n + (size_t)(take(parser) - '0');
	accept(parser, '_');
	if (identifier.n > parser->length - parser->next) {
		parser->has_failed = true;
		identifier.n = 0;
	}
	identifier.bytes = parser->name + parser->next;
	parser->next += identifier.n;
	return identifier;
}

static void print_identifier(struct parser *parser, const struct identifier *identifier)
{
	if (identifier->is_punycode)
		print(parser, "punycode{");
	print_bytes(parser, identifier->bytes, identifier->n);
	if (identifier->is_punycode)
		print(parser, "}");
}

static void print_number(struct parser *parser, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	print(parser, text);
}

/* A back reference: goes on at the place, and returns where to return to; 0 if it is none. */
static size_t enter_back_reference(struct parser *parser)
{
	const size_t begin = parser->next - 1;
	const uint64_t place = take_base62(parser);
	const size_t after = parser->next;

	if (place >= begin)
		parser->has_failed = true;
	if (parser->has_failed)
		return 0;
	parser->next = place;
	return after;
}

static bool enter(struct parser *parser)
{
	if (++parser->depth > DEPTH_MAX)
		parser->has_failed = true;
	return !parser->has_failed;
}

static void print_lifetime(struct parser *parser, uint64_t index)
{
	char letter[2] = {'_', 0};

	print(parser, "'");
	if (index > parser->lifetimes)
		parser->has_failed = true;
	else if (index && parser->lifetimes - index < 26)
		letter[0] = (char)('a' + parser->lifetimes - index);
	print(parser, letter);
}

/* `for<'a, 'b> `; returns how many lifetimes go out of scope later. */
static unsigned int print_binder(struct parser *parser)
{
	const uint64_t n = accept(parser, 'G') ? take_base62(parser) + 1 : 0;

	if (n > 26)
		parser->has_failed = true;
	if (!n || parser->has_failed)
		return 0;
	print(parser, "for<");
	for (uint64_t i = 0; i < n; i++) {
		print(parser, i ? ", " : "");
		parser->lifetimes++;
		print_lifetime(parser, 1);
	}
	print(parser, "> ");
	return (unsigned int)n;
}

static void print_generic_arguments(struct parser *parser)
{
	for (bool is_first = true; !parser->has_failed && !accept(parser, 'E'); is_first = false) {
		print(parser, is_first ? "" : ", ");
		if (accept(parser, 'L'))
			print_lifetime(parser, take_base62(parser));
		else if (accept(parser, 'K'))
			print_const(parser);
		else
			print_type(parser);
	}
}

static void skip_impl_path(struct parser *parser)
{
	const bool was_quiet = parser->is_quiet;

	if (accept(parser, 's'))
		take_base62(parser);
	parser->is_quiet = true;
	print_path(parser, false);
	parser->is_quiet = was_quiet;
}

static void print_nested(struct parser *parser, bool in_value)
{
	const char space = take(parser);
	struct identifier identifier;

	print_path(parser, in_value);
	identifier = take_identifier(parser);
	if (isupper((unsigned char)space)) {
		const char other[2] = {space, 0};

		print(parser, "::{");
		print(parser, space == 'C' ? "closure" : space == 'S' ? "shim" : other);
		if (identifier.n) {
			print(parser, ":");
			print_identifier(parser, &identifier);
		}
		print(parser, "#");
		print_number(parser, identifier.disambiguator);
		print(parser, "}");
	} else if (identifier.n) {
		print(parser, "::");
		print_identifier(parser, &identifier);
	}
}

static void print_path(struct parser *parser, bool in_value)
{
	struct identifier identifier;
	size_t after;
	char tag;

	if (!enter(parser))
		return;
	tag = take(parser);
	switch (tag) {
	case 'C':
		identifier = take_identifier(parser);
		print_identifier(parser, &identifier);
		break;
	case 'N':
		print_nested(parser, in_value);
		break;
	case 'M':
	case 'X':
		skip_impl_path(parser);
		/* fall through */
	case 'Y':
		print(parser, "<");
		print_type(parser);
		if (tag != 'M') {
			print(parser, " as ");
			print_path(parser, false);
		}
		print(parser, ">");
		break;
	case 'I':
		print_path(parser, in_value);
		print(parser, in_value ? "::<" : "<");
		print_generic_arguments(parser);
		print(parser, ">");
		break;
	case 'B':
		after = enter_back_reference(parser);
		if (after) {
			print_path(parser, in_value);
			parser->next = after;
		}
		break;
	default:
		parser->has_failed = true;
	}
	parser->depth--;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		"i8",	 "bool", "char", "f64", "str",	"f32",	NULL,  "u8", "isize",
		"usize", NULL,	 "i32",	 "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",	 "u16",	 "()",	 "...", NULL,	"i64",	"u64", "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void print_function_type(struct parser *parser)
{
	const unsigned int bound = print_binder(parser);

	if (accept(parser, 'U'))
		print(parser, "unsafe ");
	if (accept(parser, 'K')) {
		print(parser, "extern \"");
		if (accept(parser, 'C')) {
			print(parser, "C");
		} else {
			const struct identifier abi = take_identifier(parser);

			for (size_t i = 0; i < abi.n; i++)
				print_bytes(parser, abi.bytes[i] == '_' ? "-" : abi.bytes + i, 1);
		}
		print(parser, "\" ");
	}
	print(parser, "fn(");
	for (bool is_first = true; !parser->has_failed && !accept(parser, 'E'); is_first = false) {
		print(parser, is_first ? "" : ", ");
		print_type(parser);
	}
	print(parser, ")");
	if (!accept(parser, 'u')) {
		print(parser, " -> ");
		print_type(parser);
	}
	parser->lifetimes -= bound;
}

/* A trait of `dyn`, whose associated types stand among its arguments: `Trait<T, Item = U>`. */
static void print_trait(struct parser *parser)
{
	bool is_open = false;

	if (accept(parser, 'I')) {
		print_path(parser, false);
		print(parser, "<");
		print_generic_arguments(parser);
		is_open = true;
	} else {
		print_path(parser, false);
	}
	while (!parser->has_failed && accept(parser, 'p')) {
		struct identifier identifier;

		print(parser, is_open ? ", " : "<");
		is_open = true;
		identifier = take_identifier(parser);
		print_identifier(parser, &identifier);
		print(parser, " = ");
		print_type(parser);
	}
	if (is_open)
		print(parser, ">");
}

static void print_dyn(struct parser *parser)
{
	uint64_t lifetime;
	unsigned int bound;

	print(parser, "dyn ");
	bound = print_binder(parser);
	for (bool is_first = true; !parser->has_failed && !accept(parser, 'E'); is_first = false) {
		print(parser, is_first ? "" : " + ");
		print_trait(parser);
	}
	parser->lifetimes -= bound;
	if (!accept(parser, 'L')) {
		parser->has_failed = true;
		return;
	}
	lifetime = take_base62(parser);
	if (lifetime) {
		print(parser, " + ");
		print_lifetime(parser, lifetime);
	}
}

static void print_reference(struct parser *parser, const char *mutable)
{
	print(parser, "&");
	if (accept(parser, 'L')) {
		const uint64_t lifetime = take_base62(parser);

		if (lifetime) {
			print_lifetime(parser, lifetime);
			print(parser, " ");
		}
	}
	print(parser, mutable);
	print_type(parser);
}

static void print_tuple(struct parser *parser)
{
	unsigned int n = 0;

	print(parser, "(");
	for (; !parser->has_failed && !accept(parser, 'E'); n++) {
		print(parser, n ? ", " : "");
		print_type(parser);
	}
	print(parser, n == 1 ? ",)" : ")");
}

static void print_type(struct parser *parser)
{
	size_t after;
	char tag;

	if (!enter(parser))
		return;
	tag = take(parser);
	if (basic_type(tag)) {
		print(parser, basic_type(tag));
	} else {
		switch (tag) {
		case 'R':
			print_reference(parser, "");
			break;
		case 'Q':
			print_reference(parser, "mut ");
			break;
		case 'P':
			print(parser, "*const ");
			print_type(parser);
			break;
		case 'O':
			print(parser, "*mut ");
			print_type(parser);
			break;
		case 'A':
		case 'S':
			print(parser, "[");
			print_type(parser);
			if (tag == 'A') {
				print(parser, "; ");
				print_const(parser);
			}
			print(parser, "]");
			break;
		case 'T':
			print_tuple(parser);
			break;
		case 'F':
			print_function_type(parser);
			break;
		case 'D':
			print_dyn(parser);
			break;
		case 'B':
			after = enter_back_reference(parser);
			if (after) {
				print_type(parser);
				parser->next = after;
			}
			break;
		default:
			parser->next -= tag != '\0';
			print_path(parser, false);
		}
	}
	parser->depth--;
}

static void print_const_digits(struct parser *parser, char type)
{
	const char *digits = parser->name + parser->next;
	size_t n = 0;
	uint64_t value = 0;

	while (isxdigit((unsigned char)peek(parser)) && !isupper((unsigned char)peek(parser))) {
		const char digit = take(parser);

		value = value << 4 |
			(uint64_t)(isdigit((unsigned char)digit) ? digit - '0' : digit - 'a' + 10);
		n++;
	}
	if (!accept(parser, '_'))
		parser->has_failed = true;
	if (type == 'b') {
		print(parser, value ? "true" : "false");
	} else if (type == 'c') {
		char text[16];

		snprintf(text, sizeof(text), value >= ' ' && value < 0x7f ? "'%c'" : "'\\u{%x}'",
			 (unsigned int)value);
		print(parser, text);
	} else if (n > 16) {
		print(parser, "0x");
		print_bytes(parser, digits, n);
	} else {
		print_number(parser, value);
	}
}

static void print_const(struct parser *parser)
{
	size_t after;
	char tag;

	if (!enter(parser))
		return;
	tag = take(parser);
	if (tag == 'p') {
		print(parser, "_");
	} else if (tag == 'B') {
		after = enter_back_reference(parser);
		if (after) {
			print_const(parser);
			parser->next = after;
		}
	} else if (tag && strchr("hjmotyabcilnsx", tag)) {
		if (strchr("ailnsx", tag) && accept(parser, 'n'))
			print(parser, "-");
		print_const_digits(parser, tag);
	} else {
		parser->has_failed = true;
	}
	parser->depth--;
}

bool gn_demangle_rust(const char *name, char *text, size_t size)
{
	struct parser parser = {.name = name + 2, .text = text, .size = size};

	/* What compilers append, .llvm.123 and the like, is none of it. */
	parser.length = strcspn(parser.name, ".$");
	if (!size || isdigit((unsigned char)peek(&parser)) ||
	    !isupper((unsigned char)peek(&parser)))
		return false;
	print_path(&parser, true);
	if (parser.next < parser.length) {
		/* The crate that made this instance of it. */
		parser.is_quiet = true;
		print_path(&parser, false);
	}
	if (parser.has_failed || parser.next < parser.length)
		return false;
	text[parser.n] = '\0';
	return true;
}
