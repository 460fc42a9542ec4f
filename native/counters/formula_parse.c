/* Formulas as text: infix and postfix, both to the same program. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "read_file.h"

#define DIGITS "0123456789"

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER,
	TOKEN_NAME,
	TOKEN_SYMBOL,
	TOKEN_NONE, /* a character that does not belong in a formula */
};

struct token {
	enum token_kind kind;
	const char *at;
	size_t length;
};

struct parser {
	const char *text;
	int natives;
	struct gn_program *program;
	struct gn_formula_problem *problem;
};

static locale_t plain;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_plain(void)
{
	plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int gn_real_number(const char *text, double *number)
{
	char *end;

	pthread_once(&plain_once, make_plain);
	*number = plain ? strtod_l(text, &end, plain) : strtod(text, &end);
	return end == text || *end || !isfinite(*number) ? -1 : 0;
}

void gn_program_push(struct gn_program *program, enum gn_op_kind kind, int native, double constant)
{
	program->op[program->n++] =
		(struct gn_op){.kind = kind, .native = native, .constant = constant};
}

static int is_letter(char one)
{
	return (one >= 'A' && one <= 'Z') || (one >= 'a' && one <= 'z') || one == '_';
}

static size_t number_length(const char *text)
{
	size_t length = strspn(text, DIGITS), fraction = 0, exponent;

	if (text[length] == '.') {
		fraction = strspn(text + length + 1, DIGITS);
		if (!length && !fraction)
			return 0;
		length += 1 + fraction;
	}
	if (!length || (text[length] != 'e' && text[length] != 'E'))
		return length;
	exponent = length + 1;
	exponent += text[exponent] == '+' || text[exponent] == '-';
	fraction = strspn(text + exponent, DIGITS);
	return fraction ? exponent + fraction : length;
}

static struct token next_token(const char *text)
{
	struct token token = {.kind = TOKEN_NONE, .length = 1};

	text += strspn(text, " \t");
	token.at = text;
	if (!*text) {
		token.kind = TOKEN_END;
		token.length = 0;
	} else if (number_length(text)) {
		token.kind = TOKEN_NUMBER;
		token.length = number_length(text);
	} else if (is_letter(*text)) {
		token.kind = TOKEN_NAME;
		while (is_letter(text[token.length]) || strchr(DIGITS, text[token.length])) {
			if (!text[token.length])
				break;
			token.length++;
		}
	} else if (strchr("-+*/()", *text)) {
		token.kind = TOKEN_SYMBOL;
	}
	return token;
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct parser *parser,
							const char *where, const char *format, ...)
{
	va_list arguments;

	parser->problem->column = (int)(where - parser->text) + 1;
	va_start(arguments, format);
	vsnprintf(parser->problem->text, sizeof(parser->problem->text), format, arguments);
	va_end(arguments);
	return -1;
}

static int shown(const struct token *token)
{
	return token->length > 40 ? 40 : (int)token->length;
}

static int push_number(const struct parser *parser, const struct token *token)
{
	char *copy = strndup(token->at, token->length);
	double number = 0;
	int failed;

	if (!copy)
		return -ENOMEM;
	failed = gn_real_number(copy, &number);
	free(copy);
	if (failed)
		return refuse(parser, token->at, "the number '%.*s' is too large", shown(token),
			      token->at);
	gn_program_push(parser->program, GN_OP_CONSTANT, 0, number);
	return 0;
}

static int push_operand(const struct parser *parser, const struct token *token)
{
	int native = 0;

	if (token->kind == TOKEN_NUMBER)
		return push_number(parser, token);
	if (token->length == strlen("seconds") && !strncmp(token->at, "seconds", token->length)) {
		gn_program_push(parser->program, GN_OP_SECONDS, 0, 0);
		return 0;
	}
	if (*token->at != 'N' || token->length < 2 ||
	    strspn(token->at + 1, DIGITS) < token->length - 1)
		return refuse(parser, token->at, "expected N0, a number or seconds, found '%.*s'",
			      shown(token), token->at);
	for (size_t i = 1; i < token->length && native < parser->natives; i++)
		native = 10 * native + (token->at[i] - '0');
	if (token->length > 4 || native >= parser->natives)
		return refuse(parser, token->at,
			      "there is no '%.*s': the preset has %d native "
			      "event%s",
			      shown(token), token->at, parser->natives,
			      parser->natives == 1 ? "" : "s");
	gn_program_push(parser->program, GN_OP_NATIVE, native, 0);
	return 0;
}

static enum gn_op_kind operator_of(char symbol)
{
	switch (symbol) {
	case '+':
		return GN_OP_ADD;
	case '-':
		return GN_OP_SUBTRACT;
	case '*':
		return GN_OP_MULTIPLY;
	default:
		return GN_OP_DIVIDE;
	}
}

static int is_operator(const struct token *token)
{
	return token->kind == TOKEN_SYMBOL && *token->at != '(' && *token->at != ')';
}

/* One word of a postfix formula, which begins at `word_begin` and ends at `end`. */
static int push_word(const struct parser *parser, const char *word_begin, const char *end,
		     int *depth)
{
	char *copy = strndup(word_begin, (size_t)(end - word_begin)), *word;
	struct parser inside = *parser;
	struct token token;
	int failed;

	if (!copy)
		return -ENOMEM;
	inside.text = copy;
	word = gn_strip(copy);
	token = next_token(word);
	if (is_operator(&token) && !word[1]) {
		failed = *depth < 2 ? refuse(parser, word_begin,
					     "'%c' needs two operands before it", *word)
				    : 0;
		if (!failed)
			gn_program_push(parser->program, operator_of(*word), 0, 0);
		(*depth)--;
	} else if ((token.kind == TOKEN_NUMBER || token.kind == TOKEN_NAME) &&
		   token.length == strlen(word)) {
		failed = push_operand(&inside, &token);
		if (failed == -1)
			parser->problem->column = (int)(word_begin - parser->text) + 1;
		(*depth)++;
	} else {
		failed = refuse(parser, word_begin,
				"expected N0, a number, seconds or one of + - * /, found '%.40s'",
				word);
	}
	free(copy);
	return failed;
}

static int parse_postfix(const struct parser *parser)
{
	const char *last = parser->text + strlen(parser->text);
	int depth = 0;

	while (last > parser->text && strchr(" \t\r\n\v\f", last[-1]))
		last--;
	if (last > parser->text && last[-1] == '|')
		last--;
	for (const char *word_begin = parser->text;; word_begin++) {
		const char *bar = memchr(word_begin, '|', (size_t)(last - word_begin));
		const char *end = bar ? bar : last;
		const int failed = push_word(parser, word_begin, end, &depth);

		if (failed)
			return failed;
		if (!bar)
			break;
		word_begin = bar;
	}
	if (depth != 1)
		return refuse(parser, parser->text + strlen(parser->text),
			      "%d values are left, not one", depth);
	return 0;
}

/* An operator that waits for its right operand. */
struct pending {
	char symbol;
	int binding;
	const char *at;
};

static int binding_of(char symbol)
{
	switch (symbol) {
	case '+':
	case '-':
		return 1;
	case '*':
	case '/':
		return 2;
	default:
		return 0;
	}
}

#define UNARY 3

struct infix {
	struct pending *pending;
	int n;
	int at_operand;
};

static int take_operand(const struct parser *parser, struct infix *infix, const struct token *token)
{
	const char symbol = token->kind == TOKEN_SYMBOL ? *token->at : '\0';

	if (symbol == '(') {
		infix->pending[infix->n++] = (struct pending){'(', 0, token->at};
		return 0;
	}
	if (symbol == '-') {
		gn_program_push(parser->program, GN_OP_CONSTANT, 0, 0);
		infix->pending[infix->n++] = (struct pending){'-', UNARY, token->at};
		return 0;
	}
	if (symbol)
		return refuse(parser, token->at,
			      "expected N0, a number, seconds or '(', found "
			      "'%c'",
			      symbol);
	infix->at_operand = 0;
	return push_operand(parser, token);
}

static int take_operator(const struct parser *parser, struct infix *infix,
			 const struct token *token)
{
	const char symbol = *token->at;
	const int binding = binding_of(symbol);

	if (token->kind != TOKEN_SYMBOL || symbol == '(')
		return refuse(parser, token->at, "expected an operator, found '%.*s'", shown(token),
			      token->at);
	while (infix->n && infix->pending[infix->n - 1].binding >= (binding ? binding : 1))
		gn_program_push(parser->program, operator_of(infix->pending[--infix->n].symbol), 0,
				0);
	if (symbol != ')') {
		infix->pending[infix->n++] = (struct pending){symbol, binding, token->at};
		infix->at_operand = 1;
		return 0;
	}
	if (!infix->n)
		return refuse(parser, token->at, "')' without its '('");
	infix->n--;
	return 0;
}

static int parse_infix_with(const struct parser *parser, struct infix *infix)
{
	struct token token = next_token(parser->text);

	for (; token.kind != TOKEN_END; token = next_token(token.at + token.length)) {
		int failed;

		if (token.kind == TOKEN_NONE)
			return refuse(parser, token.at, "'%c' does not belong in a formula",
				      *token.at >= ' ' && *token.at < 0x7f ? *token.at : '?');
		failed = infix->at_operand ? take_operand(parser, infix, &token)
					   : take_operator(parser, infix, &token);
		if (failed)
			return failed;
	}
	if (infix->at_operand)
		return refuse(parser, parser->text + strlen(parser->text),
			      "the formula ends where an operand is expected");
	while (infix->n) {
		const struct pending *last = &infix->pending[--infix->n];

		if (last->symbol == '(')
			return refuse(parser, last->at, "'(' is not closed");
		gn_program_push(parser->program, operator_of(last->symbol), 0, 0);
	}
	return 0;
}

static int parse_infix(const struct parser *parser)
{
	struct infix infix = {.at_operand = 1};
	int failed;

	infix.pending = calloc(strlen(parser->text) + 1, sizeof(*infix.pending));
	if (!infix.pending)
		return -ENOMEM;
	failed = parse_infix_with(parser, &infix);
	free(infix.pending);
	return failed;
}

/* Each character gives two steps at most: a minus before an operand is "0 -". */
int gn_formula_parse(const char *text, int natives, struct gn_program *program,
		     struct gn_formula_problem *problem)
{
	const struct parser parser = {
		.text = text, .natives = natives, .program = program, .problem = problem};
	int failed;

	program->n = 0;
	program->op = calloc(2 * strlen(text) + 2, sizeof(*program->op));
	if (!program->op)
		return -ENOMEM;
	failed = strchr(text, '|') ? parse_postfix(&parser) : parse_infix(&parser);
	if (!failed && !gn_program_is_sound(program, natives))
		failed = refuse(&parser, text, "it holds more than %d numbers at a time",
				GN_STACK_MAX);
	if (failed) {
		free(program->op);
		program->op = NULL;
		program->n = 0;
	}
	return failed;
}
