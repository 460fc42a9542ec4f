/* Names taken apart: modifiers, terms between slashes, numbers, patterns. */
#include "event_grammar.h"

#include <stdio.h>
#include <string.h>

#include "gnomon/perf.h"
#include "read_file.h"

#define LEVELS "ukh"
#define LETTERS "ukhGHI"
#define PRECISE_LETTERS "ukhGHIDS"

/* Where the letters of `set` at the end of a text begin. */
static size_t trailing(const char *text, const char *set)
{
	size_t length = strlen(text);

	while (length && strchr(set, text[length - 1]))
		length--;
	return length;
}

/* Whether what follows the last : or / is letters, a block of p, letters: perf's `:ppp`. */
static int is_precise(const char *name)
{
	const char *colon = strrchr(name, ':');
	const char *slash = strrchr(name, '/');
	const char *letters = !colon || (slash && slash > colon) ? slash : colon;
	size_t block;

	if (!slash || letters == name || strchr(name, '\n'))
		return 0;
	letters++;
	letters += strspn(letters, PRECISE_LETTERS);
	block = strspn(letters, "pP");
	letters += block;
	return block && !letters[strspn(letters, PRECISE_LETTERS)];
}

int gn_modifiers(const char *name, char *base, struct gn_modifiers *modifiers,
		 struct gn_error_text *why)
{
	const size_t begin = trailing(name, LETTERS);
	const char *letters = name + begin;
	const size_t base_length = begin && name[begin - 1] == ':' ? begin - 1 : begin;
	int user, kernel, hypervisor;

	memset(modifiers, 0, sizeof(*modifiers));
	snprintf(base, GN_NAME_MAX, "%s", name);
	if (!*letters || !base_length || (name[begin - 1] != ':' && name[begin - 1] != '/') ||
	    memchr(name, '\n', base_length)) {
		if (!is_precise(name))
			return GN_OK;
		gn_error_event(why, GN_ENOEVNT, name,
			       "the precise modifier 'p' is for sampling, not for counts");
		return gn_error_remedy(why, "omit it");
	}
	base[base_length < GN_NAME_MAX ? base_length : GN_NAME_MAX - 1] = '\0';
	user = strchr(letters, 'u') != NULL;
	kernel = strchr(letters, 'k') != NULL;
	hypervisor = strchr(letters, 'h') != NULL;
	if (hypervisor && user != kernel) {
		gn_error_event(why, GN_ENOEVNT, name, "no counter counts '%s'", user ? "hu" : "hk");
		return gn_error_remedy(why, "use u, k, h, uk or ukh");
	}
	modifiers->letters = (int)strlen(letters);
	if (user || kernel || hypervisor) {
		modifiers->exclude |= user ? 0 : GN_EXCLUDE_USER;
		modifiers->exclude |= kernel ? 0 : GN_EXCLUDE_KERNEL;
		modifiers->exclude |= hypervisor ? 0 : GN_EXCLUDE_HYPERVISOR;
		modifiers->domain |= user ? GN_DOMAIN_USER : 0;
		modifiers->domain |= kernel ? GN_DOMAIN_KERNEL : 0;
		modifiers->domain |= hypervisor ? GN_DOMAIN_HYPERVISOR : 0;
	}
	if (strchr(letters, 'G') && !strchr(letters, 'H'))
		modifiers->exclude |= GN_EXCLUDE_HOST;
	if (strchr(letters, 'H') && !strchr(letters, 'G'))
		modifiers->exclude |= GN_EXCLUDE_GUEST;
	if (strchr(letters, 'I'))
		modifiers->exclude |= GN_EXCLUDE_IDLE;
	return GN_OK;
}

int gn_is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

int gn_terms(const char *base, struct gn_terms *terms, struct gn_error_text *why)
{
	const size_t length = strlen(base);
	size_t pmu = 0;
	char *next;

	while (gn_is_word(base[pmu]) || base[pmu] == '.' || base[pmu] == '-')
		pmu++;
	if (!pmu || base[pmu] != '/' || length < pmu + 2 || length >= GN_NAME_MAX ||
	    strchr(base + pmu + 1, '/') != base + length - 1)
		return 0;
	memcpy(terms->text, base, length);
	terms->text[pmu] = '\0';
	terms->text[length - 1] = '\0';
	terms->pmu = terms->text;
	terms->n = 0;
	for (char *term = terms->text + pmu + 1; term; term = next) {
		char *value;

		next = strchr(term, ',');
		if (next)
			*next++ = '\0';
		term = gn_strip(term);
		value = strchr(term, '=');
		if (value)
			*value++ = '\0';
		if (!*term || terms->n == GN_TERMS_MAX) {
			gn_error_event(why, GN_ENOEVNT, base, "an empty term between the slashes");
			return gn_error_remedy(why,
					       "write pmu/event/ or pmu/parameter=number,.../");
		}
		terms->term[terms->n].key = term;
		terms->term[terms->n].value = value;
		terms->n++;
	}
	return 1;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

int gn_number(const char *text, uint64_t *number)
{
	char copy[GN_FILE_MAX];
	const char *digits;
	unsigned int base = 10;
	int is_large = 0;

	if (strlen(text) >= sizeof(copy))
		return -1;
	digits = gn_strip(strcpy(copy, text));
	*number = 0;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
		base = 16;
		digits += 2;
	} else if (digits[0] == '0') {
		base = 8;
	}
	if (!*digits)
		return -1;
	for (; *digits; digits++) {
		const unsigned int digit = (unsigned int)digit_of(*digits);

		if (digit >= base)
			return -1;
		is_large |= __builtin_mul_overflow(*number, (uint64_t)base, number);
		is_large |= __builtin_add_overflow(*number, (uint64_t)digit, number);
	}
	return is_large ? -2 : 0;
}

/* Where the set that begins after a [ ends, NULL if it is not closed; a ] at its start is in it. */
static const char *set_end(const char *set)
{
	if (*set == '!')
		set++;
	return *set ? strchr(set + 1, ']') : NULL;
}

static int is_in(unsigned char c, const char *set, const char *end)
{
	const int inverted = *set == '!';
	int is_member = 0;

	for (set += inverted; set < end; set++) {
		if (end - set > 2 && set[1] == '-') {
			is_member |= c >= (unsigned char)set[0] && c <= (unsigned char)set[2];
			set += 2;
		} else {
			is_member |= c == (unsigned char)*set;
		}
	}
	return is_member != inverted;
}

/* How much of the pattern one character takes, 0 if it does not fit; `*` is the caller's. */
static size_t step(char c, const char *pattern)
{
	const char *end;

	if (*pattern == '?')
		return 1;
	end = *pattern == '[' ? set_end(pattern + 1) : NULL;
	if (!end)
		return *pattern == c;
	return is_in((unsigned char)c, pattern + 1, end) ? (size_t)(end - pattern) + 1 : 0;
}

int gn_matches(const char *name, const char *pattern)
{
	const char *retry_name = NULL, *retry_pattern = NULL;

	while (*name) {
		size_t taken;

		if (*pattern == '*') {
			retry_pattern = ++pattern;
			retry_name = name;
			continue;
		}
		taken = *pattern ? step(*name, pattern) : 0;
		if (taken) {
			pattern += taken;
			name++;
		} else if (retry_pattern) {
			pattern = retry_pattern;
			name = ++retry_name;
		} else {
			return 0;
		}
	}
	return !pattern[strspn(pattern, "*")];
}
